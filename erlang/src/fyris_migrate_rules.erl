%% @doc What becomes of a use of `ets' when a project moves: for {@link fyris_migrate}, and for `mix fyris.migrate'.
%% @hidden
-module(fyris_migrate_rules).

-export([change/2, exists/2, is_type/1, table_argument/1, is_of_otp/1, takes_table/2]).

-export_type([use/0]).

%% A call, a call of another module of OTP that is handed a table, a type, a module that calls are made with, an atom
%% that may mean something else, or a native record.
-type use() :: {atom(), arity() | unknown} | {module(), atom(), arity() | unknown} | type | module | reference
             | native_record.

%% @doc Returns what a use becomes, or `keep', and perhaps a note. The second argument is the table of OTP that a call
%% is about, or `none'.
-spec change(use(), atom()) -> #{becomes := string() | keep, note => string()}.
change(_, Table) when Table =/= none ->
    #{becomes => keep, note => lists:concat([Table, " is a table of OTP's own"])};
change(Use, none) ->
    change(Use).

change(reference) ->
    #{becomes => keep, note => "an atom: is the module meant?"};
change(module) ->
    #{becomes => "fyris", note => "the module, for the calls that are made with it"};
change(type) ->
    #{becomes => "the type of the same name in fyris"};
change(native_record) ->
    #{becomes => keep, note => "a native record of OTP 29: what tables do with them is in FROM_ETS.md"};
change({dets, to_ets, _}) ->
    #{becomes => keep, note => "writes to tables of ets only: fyris:from_dets(Table, Dets) empties the table and fills it"};
change({dets, from_ets, _}) ->
    #{becomes => keep, note => "reads tables of ets only: fyris:to_dets(Table, Dets)"};
change({_, _, _}) ->
    #{becomes => keep, note => "takes a table of ets only"};
change({'_', _}) ->
    #{becomes => "fyris:F", note => "the function is known at run time only"};
change({F, Arity}) ->
    case {exists(F, Arity), attention(F)} of
        {false, _} -> #{becomes => keep, note => "fyris has no such " ++ thing(Arity)};
        {true, none} -> #{becomes => call_text(F, Arity)};
        {true, Note} -> #{becomes => call_text(F, Arity), note => Note}
    end.

%% Names the kind of thing. Without arguments it can be the name of a type.
thing(0) -> "function or type";
thing(_) -> "function".

call_text(F, unknown) -> lists:concat(["fyris:", F]);
call_text(F, Arity) -> lists:concat(["fyris:", F, "/", Arity]).

%% @doc Returns whether `fyris' has a function of this name, with this arity if it is known.
-spec exists(atom(), arity() | unknown) -> boolean().
exists(F, Arity) ->
    lists:any(fun({G, A}) -> F =:= G andalso (Arity =:= unknown orelse A =:= Arity) end,
              fyris:module_info(exports)).

%% @doc Returns whether `ets' has a type of this name, in some release.
-spec is_type(atom()) -> boolean().
is_type(Name) ->
    lists:member(Name, [tid, tab, table, continuation, table_type, table_access, match_pattern, match_spec,
                        compiled_match_spec, comp_match_spec]).

%% @doc Returns whether a function of another module of OTP is handed a table.
-spec takes_table(module(), atom()) -> boolean().
takes_table(Module, F) ->
    lists:member({Module, F}, [{dets, to_ets}, {dets, from_ets}, {httpd_util, lookup}, {httpd_util, multi_lookup},
                               {httpd_util, lookup_mime}, {httpd_util, lookup_mime_default}]).

%% @doc Returns which argument of a function is the table.
-spec table_argument(atom()) -> pos_integer().
table_argument(F) when F =:= foldl; F =:= foldr -> 3;
table_argument(_) -> 1.

%% @doc Returns whether OTP or Elixir makes a table of this name with `ets', for itself.
-spec is_of_otp(atom()) -> boolean().
is_of_otp(Name) ->
    lists:member(Name, [ac_tab, code_names, cookies, dets, dets_owners, dets_registry, disk_log_names, disk_log_pids,
                        file_io_servers, global_locks, global_lost_connections, global_names, global_names_ext,
                        global_node_resources, global_pid_ids, global_pid_names, inet_cache, inet_db,
                        inet_hosts_byaddr, inet_hosts_byname, inet_hosts_file_byaddr, inet_hosts_file_byname,
                        inet_sockets, logger, pg, schema, ssl_pem_cache, sys_dist, timer_interval_tab, timer_tab])
        orelse lists:any(fun(Prefix) -> lists:prefix(Prefix, atom_to_list(Name)) end,
                         ["mnesia_", "snmpa_", "snmpm_", "snmp_", "megaco_", "httpc_", "elixir_"]).

attention(fun2ms) ->
    "needs -compile({parse_transform, fyris_ms}) for ms_transform.hrl";
attention(all) ->
    "lists tables of fyris only";
attention(F) when F =:= first; F =:= next; F =:= last; F =:= prev;
                  F =:= slot; F =:= tab2list; F =:= foldl; F =:= foldr ->
    "the order of set and bag is another";
attention(give_away) ->
    "the receiver must use fyris too";
attention(info) ->
    "memory and stats are those of fyris";
attention(whereis) ->
    "names of fyris and ets are apart";
attention(_) ->
    none.

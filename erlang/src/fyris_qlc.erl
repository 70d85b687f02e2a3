%% @doc Tables for `qlc'.
%% @hidden
-module(fyris_qlc).

-export([table/2]).

%% @doc A query handle; throws `badarg' for options that are none.
-spec table(fyris:table(), term()) -> qlc:query_handle().
table(Table, Options) ->
    {Traverse, N} = options(Options),
    Fix = fun(Fixed) -> fun(_) -> fyris:safe_fixtable(Table, Fixed) end end,
    Release = fun() -> fyris:safe_fixtable(Table, false) end,
    qlc:table(traverse(Traverse, Table, N),
              [{pre_fun, Fix(true)},
               {post_fun, Release},
               {info_fun, fun(Item) -> info(Table, Item) end},
               {format_fun, fun(How) -> format(How, Table, Options) end},
               {key_equality, equality(Table)}
              | lookup(Traverse, Table)]).

options(Options) when is_list(Options) ->
    lists:foldl(fun option/2, {select, 100}, Options);
options(Option) ->
    options([Option]).

option({traverse, Traverse}, {_, N}) when Traverse =:= first_next;
                                          Traverse =:= last_prev;
                                          Traverse =:= select ->
    {Traverse, N};
option({traverse, {select, Spec}}, {_, N}) -> {{select, Spec}, N};
option({n_objects, default}, {Traverse, _}) -> {Traverse, 100};
option({n_objects, N}, {Traverse, _}) when is_integer(N), N > 0 ->
    {Traverse, N};
option(_, _) -> throw(badarg).

traverse(first_next, Table, _) ->
    fun() -> keys(Table, fyris:first(Table), fun fyris:next/2) end;
traverse(last_prev, Table, _) ->
    fun() -> keys(Table, fyris:last(Table), fun fyris:prev/2) end;
traverse(select, Table, N) ->
    fun(Spec) -> chunks(fyris:select(Table, Spec, N)) end;
traverse({select, Spec}, Table, N) ->
    fun() -> chunks(fyris:select(Table, Spec, N)) end.

keys(_, '$end_of_table', _) ->
    [];
keys(Table, Key, Next) ->
    fyris:lookup(Table, Key) ++
        fun() -> keys(Table, Next(Table, Key), Next) end.

chunks('$end_of_table') ->
    [];
chunks({Objects, Continuation}) ->
    Objects ++ fun() -> chunks(fyris:select(Continuation)) end.

lookup({select, _}, _) ->
    [];
lookup(_, Table) ->
    KeyPos = fyris:info(Table, keypos),
    Find = fun(Position, [Key]) when Position =:= KeyPos ->
                   fyris:lookup(Table, Key);
              (Position, Keys) when Position =:= KeyPos ->
                   lists:append([fyris:lookup(Table, Key) || Key <- Keys])
           end,
    [{lookup_fun, Find}].

info(Table, keypos) -> fyris:info(Table, keypos);
info(Table, num_of_objects) -> fyris:info(Table, size);
info(Table, is_sorted_key) -> fyris:info(Table, type) =:= ordered_set;
info(Table, is_unique_objects) -> fyris:info(Table, type) =/= duplicate_bag;
info(_, _) -> undefined.

equality(Table) ->
    case fyris:info(Table, type) of
        ordered_set -> '==';
        _ -> '=:='
    end.

format({all, _, _}, Table, Options) ->
    {fyris, table, [Table, Options]};
format({match_spec, Spec}, Table, Options) ->
    {fyris, table, [Table, [{traverse, {select, Spec}} | traverse_not(Options)]]};
format({lookup, _, [Key], _, _}, Table, _) ->
    io_lib:format("~w:lookup(~w, ~w)", [fyris, Table, Key]);
format({lookup, _, Keys, _, _}, Table, _) ->
    io_lib:format("lists:flatmap(fun(Key) -> ~w:lookup(~w, Key) end, ~w)",
                  [fyris, Table, Keys]).

traverse_not(Options) when is_list(Options) ->
    lists:keydelete(traverse, 1, Options);
traverse_not({traverse, _}) -> [];
traverse_not(Option) -> [Option].

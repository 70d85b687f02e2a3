%% @doc Tables for `qlc'.
%% @hidden
-module(fyris_qlc).

-export([table/2]).

%% @doc A query handle; fails with `badarg' for options that are none. As with `ets:table/2' what is no option here may
%% be one of `qlc:table/2', which refuses any that is given twice.
-spec table(fyris:table(), term()) -> qlc:query_handle().
table(Table, Options) ->
    {Traverse, Rest} = option(traverse, select, listed(Options)),
    {N, More} = option(n_objects, 100, Rest),
    Fix = fun(Fixed) -> fun(_) -> fyris:safe_fixtable(Table, Fixed) end end,
    Release = fun() -> fyris:safe_fixtable(Table, false) end,
    qlc:table(traverse(Traverse, Table, objects(N)),
              [{pre_fun, Fix(true)},
               {post_fun, Release},
               {info_fun, fun(Item) -> info(Table, Item) end},
               {format_fun, fun(How) -> format(How, Table, Options) end},
               {key_equality, equality(Table)},
               {lookup_fun, lookup(Traverse, Table)}
              | More]).

listed(Options) when length(Options) >= 0 -> Options;
listed(Option) -> [Option].

option(Key, Default, Options) ->
    case lists:keytake(Key, 1, Options) of
        {value, {Key, Value}, Rest} -> {Value, Rest};
        false -> {Default, Options};
        _ -> error(badarg)
    end.

objects(default) -> 100;
objects(N) when is_integer(N), N > 0 -> N;
objects(_) -> error(badarg).

traverse(first_next, Table, _) ->
    fun() -> keys(Table, fyris:first(Table), fun fyris:next/2) end;
traverse(last_prev, Table, _) ->
    fun() -> keys(Table, fyris:last(Table), fun fyris:prev/2) end;
traverse(select, Table, N) ->
    fun(Spec) -> chunks(fyris:select(Table, Spec, N)) end;
traverse({select, Spec}, Table, N) ->
    fun() -> chunks(fyris:select(Table, Spec, N)) end;
traverse(_, _, _) ->
    error(badarg).

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
    undefined;
lookup(_, Table) ->
    fun(_, [Key]) -> fyris:lookup(Table, Key);
       (_, Keys) -> lists:append([fyris:lookup(Table, Key) || Key <- Keys])
    end.

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

%% The call that makes the handle, or looks the keys up: `Element' shortens a key to the depth that was asked for.
format({all, _, _}, Table, []) ->
    {fyris, table, [Table]};
format({all, _, _}, Table, Options) ->
    {fyris, table, [Table, Options]};
format({match_spec, Spec}, Table, Options) ->
    {fyris, table, [Table, [{traverse, {select, Spec}} | lists:keydelete(traverse, 1, listed(Options))]]};
format({lookup, _, [Key], _, Element}, Table, _) ->
    io_lib:format("~w:lookup(~w, ~w)", [fyris, Table, Element(Key)]);
format({lookup, _, Keys, _, Element}, Table, _) ->
    io_lib:format("lists:flatmap(fun(V) -> ~w:lookup(~w, V) end, ~w)",
                  [fyris, Table, [Element(Key) || Key <- Keys]]).

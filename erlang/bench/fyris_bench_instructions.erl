%% One operation again and again on a table of 1,000 objects, for `instructions.sh`, which counts instructions.
-module(fyris_bench_instructions).

-export([main/0]).

-import(fyris_bench_cases, [shuffled/2]).

-define(OBJECTS, 1000).

%% `-extra MODULE TYPE ROW OPERATION ROUNDS`; without arguments prints the names of the rows.
main() ->
    run(init:get_plain_arguments()),
    erlang:halt(0, [{flush, false}]).

run([]) ->
    [io:put_chars([Name, $\n]) || {Name, _} <- fyris_bench_objects:rows()],
    init:stop(),
    timer:sleep(infinity);
run([Name, Type, Row, Operation, Rounds]) ->
    Module = list_to_atom(Name),
    {_, Make} = lists:keyfind(Row, 1, fyris_bench_objects:rows()),
    Numbers = shuffled(1, lists:seq(1, ?OBJECTS)),
    [Objects, Others] = [[Make(I, Turn) || I <- Numbers] || Turn <- [0, 1]],
    Keys = [element(1, Make(I, 0)) || I <- shuffled(2, Numbers)],
    New = fun() -> Module:new(t, [list_to_atom(Type), public]) end,
    Table = New(),
    insert(Module, Table, Objects),
    Work = work(Operation, Module, {New, Table}, Keys, [Objects, Others], tuple_size(hd(Objects))),
    [Work() || _ <- lists:seq(1, list_to_integer(Rounds))].

work("lookup", Module, {_, Table}, Keys, _, _) -> fun() -> lookup(Module, Table, Keys) end;
work("lookup_element", Module, {_, Table}, Keys, _, Last) -> fun() -> element_of(Module, Table, Keys, Last) end;
work("insert", Module, {New, _}, _, [Objects, _], _) ->
    fun() ->
            Table = New(),
            insert(Module, Table, Objects),
            Module:delete(Table)
    end;
work("overwrite", Module, {_, Table}, _, [Objects, Others], _) ->
    fun() -> insert(Module, Table, Others), insert(Module, Table, Objects) end.

lookup(Module, Table, [Key | Keys]) -> Module:lookup(Table, Key), lookup(Module, Table, Keys);
lookup(_, _, []) -> ok.

element_of(Module, Table, [Key | Keys], At) ->
    Module:lookup_element(Table, Key, At),
    element_of(Module, Table, Keys, At);
element_of(_, _, [], _) -> ok.

insert(Module, Table, [Object | Objects]) -> Module:insert(Table, Object), insert(Module, Table, Objects);
insert(_, _, []) -> ok.

#!/usr/bin/env escript
%% Makes logs of disk_log, and beside each NAME the terms that disk_log has in it, as an external term in NAME.terms.
%%
%%     escript crates/files/tests/erlang/logs.escript FOLDER
-mode(compile).

main([Dir]) ->
    make(Dir, halt, [], lists:seq(1, 50)),
    make(Dir, empty, [], []),
    make(Dir, large, [], [binary:copy(<<"x">>, N) || N <- [65000, 65510, 65528, 200000]]),
    [make(Dir, list_to_atom("wrap" ++ integer_to_list(N)), [{type, wrap}, {size, {400, 4}}], lists:seq(1, N))
     || N <- [1, 10, 25, 40, 55, 70, 300]],
    make(Dir, reopened, [{type, wrap}, {size, {400, 3}}], lists:seq(1, 30)),
    make(Dir, reopened, [{type, wrap}, {size, {400, 3}}], lists:seq(31, 40)).

make(Dir, Name, Options, Terms) ->
    File = filename:join(Dir, atom_to_list(Name)),
    {ok, L} = disk_log:open([{name, Name}, {file, File} | Options]),
    [ok = disk_log:log(L, {Name, T}) || T <- Terms],
    All = read(L, disk_log:chunk(L, start)),
    ok = disk_log:close(L),
    ok = file:write_file(File ++ ".terms", term_to_binary(All)).

read(_, eof) -> [];
read(L, {Next, Terms}) -> Terms ++ read(L, disk_log:chunk(L, Next)).

%% @doc Listings for people: `fyris:i/0..3'.
%% @hidden
-module(fyris_browse).

-export([tables/0, table/3]).

%% @doc Prints what tables there are.
-spec tables() -> ok.
tables() ->
    line(["id", "name", "type", "size", "mem", "owner"]),
    io:format("~s~n", [lists:duplicate(76, $-)]),
    Tables = fyris:all(),
    lists:foreach(fun describe/1, Tables),
    [{total, Total}, {objects, Objects}, {indexes, Indexes}] = fyris:memory(),
    Number = case length(Tables) of 1 -> "1 table"; Many -> [integer_to_list(Many), " tables"] end,
    io:format("~s, ~b bytes: objects ~b, indexes ~b~n", [Number, Total, Objects, Indexes]).

describe(Table) ->
    Items = [id, name, type, size, memory, owner],
    case [fyris:info(Table, Item) || Item <- Items] of
        [undefined | _] -> ok;
        Values -> line([io_lib:format("~tp", [Value]) || Value <- Values])
    end.

line(Columns) ->
    io:format(" ~-15ts ~-17ts ~-13ts ~-6ts ~-8ts ~ts~n",
              [unicode:characters_to_list(Column) || Column <- Columns]).

%% @doc Shows the objects of a table, `Height' lines a page, until told to stop.
-spec table(fyris:table(), pos_integer(), pos_integer()) -> ok.
table(Table, Height, Width) ->
    fyris:safe_fixtable(Table, true),
    try page(fyris:match_object(Table, '_', Height), 1, Width)
    after
        fyris:safe_fixtable(Table, false)
    end.

page('$end_of_table', _, _) ->
    io:format("EOT~n");
page({Objects, Continuation}, From, Width) ->
    Print = fun(Object, N) ->
                    Text = lists:flatten(io_lib:format("<~b> ~tp", [N, Object])),
                    io:format("~ts~n", [lists:sublist(Text, Width)]),
                    N + 1
            end,
    To = lists:foldl(Print, From, Objects),
    case io:get_line("(q)uit, any other key for more: ") of
        Answer when is_list(Answer), hd(Answer) =/= $q ->
            page(fyris:match_object(Continuation), To, Width);
        _ ->
            ok
    end.

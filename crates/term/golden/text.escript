#!/usr/bin/env escript
%%! +pc unicode
%% Makes the golden file for text: how real OTP prints terms.
%%
%%     escript crates/term/golden/text.escript
%%
%% writes text.gz beside this script: blocks of a header line, the term as `~tw` prints it, and the layout.
%% A header is `% LineWidth Column Encoding Depth` (Depth 0: everything). The terms are random but always the same.
-mode(compile).

main(_) ->
    rand:seed(exsss, {25, 2, 3}),
    Dir = filename:dirname(escript:script_name()),
    Blocks = [block(N) || N <- lists:seq(1, 2600)],
    ok = file:write_file(filename:join(Dir, "text.gz"), zlib:gzip(unicode:characters_to_binary(Blocks))),
    io:format("~w cases~n", [length(Blocks)]).

block(N) ->
    Term = small(N),
    Width = one([80, 80, 60, 40, 30, 20, 120]),
    Column = one([1, 1, 1, 1, 5, 17]),
    Encoding = one([unicode, unicode, latin1]),
    Depth = one([-1, -1, -1, -1, 3, 6, 12]),
    Options = [{column, Column}, {line_length, Width}, {encoding, Encoding}, {depth, Depth}],
    Text = io_lib_pretty:print(Term, Options),
    io_lib:format("% ~w ~w ~w ~w~n~tw~n~ts~n",
                  [Width, Column, Encoding, max(Depth, 0), Term, Text]).

%% A term of at most 700 characters: the file stays small and failures readable.
small(N) ->
    Term = root(N),
    case length(lists:flatten(io_lib:format("~tw", [Term]))) of
        Length when Length =< 700 -> Term;
        _ -> small(N)
    end.

root(N) when N rem 40 =:= 0 -> leaf();
root(N) -> nested(3 + N rem 4).

nested(0) -> leaf();
nested(D) ->
    case rand:uniform(12) of
        1 -> leaf();
        2 -> list_to_tuple(some(D, 4));
        3 -> list_to_tuple([tag() | some(D, 4)]);
        4 -> list_to_tuple([tag() | some(D, 3)]);
        5 -> some(D, 6);
        6 -> some(D, 4);
        7 -> [nested(D - 1) | leaf()];
        8 -> some(D, 2) ++ nested(D - 1);
        9 -> map(D);
        10 -> map(D);
        11 -> [{tag(), nested(D - 1)} || _ <- lists:seq(1, rand:uniform(4))];
        12 -> [leaf() || _ <- lists:seq(1, rand:uniform(30))]
    end.

some(D, Most) -> [nested(D - 1) || _ <- lists:seq(1, rand:uniform(Most + 1) - 1)].

map(D) ->
    maps:from_list([{key(D), nested(D - 1)} || _ <- lists:seq(1, rand:uniform(5) - 1)]).

key(D) ->
    case rand:uniform(5) of
        1 -> nested(max(D - 2, 0));
        2 -> leaf();
        _ -> tag()
    end.

tag() ->
    one([a, ok, error, user, value, undefined, 'Quoted Tag', state, a_tag_that_is_rather_long,
         'été', '日本', '']).

leaf() ->
    case rand:uniform(14) of
        1 -> rand:uniform(10);
        2 -> rand:uniform(1 bsl 70) - (1 bsl 69);
        3 -> float();
        4 -> tag();
        5 -> string(0);
        6 -> string(rand:uniform(40));
        7 -> list_to_binary([rand:uniform(95) + 31 || _ <- lists:seq(1, rand:uniform(40))]);
        8 -> rand:bytes(rand:uniform(40));
        9 -> <<(rand:uniform(1 bsl 60)):(rand:uniform(70))>>;
        10 -> unicode:characters_to_binary(string(rand:uniform(12)));
        11 -> one([[], {}, #{}, <<>>, "", fun lists:map/2, fun erlang:'+'/2, <<0>>, "\e\t\"\\"]);
        12 -> list_to_pid("<0." ++ integer_to_list(rand:uniform(1000)) ++ ".0>");
        13 -> rand:uniform(100000);
        14 -> reference(rand:uniform(200000))
    end.

reference(N) ->
    binary_to_term(<<131, 90, 3:16, 119, 13, "nonode@nohost", 0:32, N:32, 1:32, 3:32>>).

string(N) ->
    Chars = one(["abcdefghij klmnopq", "abc\n\t\"\\'", "aéüß ", "日本 ab", "ab\x{7f}", "ab\x{a0}\x{ad}"]),
    [one(Chars) || _ <- lists:seq(1, N)].

float() ->
    case rand:uniform(4) of
        1 -> rand:uniform();
        2 -> float(rand:uniform(1000));
        3 -> <<B:11>> = <<(rand:uniform(2046)):11>>, <<F/float>> = <<0:1, B:11, (rand:uniform(1 bsl 52) - 1):52>>, F;
        4 -> one([0.1, 1.0e22, 1.0e15, 1.0e16, 123456.0, 1.0e-5, 0.0001, 5.0e-324, 100000.0])
    end.

one(List) -> lists:nth(rand:uniform(length(List)), List).

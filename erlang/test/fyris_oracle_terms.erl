%% What the oracle's commands are about: nasty terms, and patterns and match specifications over them.
-module(fyris_oracle_terms).

-export([one/1, key/1, pool/0, value/0, nasty/0, object/1, put_key/3, counters/1, pattern/1, spec/1, guard/0]).

-import(fyris_same, [otp/0]).

one(List) -> lists:nth(rand:uniform(length(List)), List).

%% The keys of one run: few, so that they meet, and some of them nearly alike.
pool() -> lists:append([alike(), [nasty() || _ <- lists:seq(1, 4)]]).

%% Equal by `==' or close in order, but different terms.
alike() ->
    one([[1, 1.0, {1}, {1.0}],
         [0, 0.0, [0], [0.0], zero(), [zero()]],
         [#{1 => a}, #{1.0 => a}, #{a => 1}, #{a => 1.0}],
         [1 bsl 53, (1 bsl 53) + 1, float(1 bsl 53), (1 bsl 53) - 1],
         [(1 bsl 59) - 1, 1 bsl 59, float(1 bsl 59), -(1 bsl 59)],
         [(1 bsl 64) - 1, 1 bsl 64, float(1 bsl 64), -(1 bsl 64)],
         [<<1>>, <<1, 0:1>>, <<1:7>>, <<1, 0>>],
         ["ab", [97, 98.0], [97 | 98], [97, 98, 99]],
         [a, 'A', '', 'ä'],
         [{}, {{}}, [], [[]]]]).

key(Pool) ->
    case rand:uniform(4) of
        1 -> nasty();
        _ -> one(Pool)
    end.

nasty() -> nasty(rand:uniform(20)).

nasty(1) -> rand:uniform(10);
nasty(2) -> (1 bsl one([7, 8, 31, 32, 59, 60, 62, 63, 64, 65, 200])) - rand:uniform(3) + 1;
nasty(3) -> -(1 bsl one([7, 15, 16, 31, 32, 59, 60, 63, 64, 127])) + rand:uniform(3) - 2;
nasty(4) -> one([zero(), 1.0, 1.5, -1.0e300, 5.0e-324, 1.0e22, float(1 bsl 53), 1.0e10]);
nasty(5) -> one([a, b, '', 'with space', 'ä', 'λ', true, '_x', '$', '$a']);
nasty(6) -> binary:copy(<<"xy">>, one([0, 1, 7, 8, 31, 32, 33, 500]));
nasty(7) -> one([<<5:3>>, <<0:1>>, <<1, 2:2>>, <<0:7, 1:800>>]);
nasty(8) -> list_to_tuple([nasty() || _ <- lists:seq(1, rand:uniform(4) - 1)]);
nasty(9) -> [nasty() || _ <- lists:seq(1, rand:uniform(4) - 1)];
nasty(10) -> [nasty() | one([b, <<>>, {}, 2])];
nasty(11) -> maps:from_list([{nasty(), nasty()} || _ <- lists:seq(1, rand:uniform(3) - 1)]);
nasty(12) -> maps:from_list([{I, {I}} || I <- lists:seq(1, one([31, 32, 33, 100]))]);
nasty(13) -> whereis(one([init, kernel_sup, code_server, logger]));
nasty(14) -> one([binary_to_term(<<131, 88, 119, 3, "a@b", 1:32, 2:32, 3:32>>),
                  binary_to_term(<<131, 90, 3:16, 119, 3, "a@b", 1:32, 1:32, 2:32, 3:32>>),
                  binary_to_term(<<131, 89, 119, 3, "a@b", 7:32, 1:32>>)]);
nasty(15) -> one([fun lists:map/2, fun nowhere:at_all/3, fun erlang:'+'/2]);
nasty(16) -> lists:seq(1, one([3, 255, 256]));
nasty(17) -> one(["text", "tex", [300], [255, 0]]);
nasty(18) -> hd(erlang:ports());
nasty(19) -> lists:foldl(fun(_, T) -> {T} end, x, lists:seq(1, 50));
nasty(20) -> rand:uniform(1 bsl 20).

%% OTP 27 tells -0.0 from 0.0. Of two literals the compiler of OTP 25 makes one.
zero() -> list_to_float([$- || otp() >= 27] ++ "0.0").

value() ->
    case rand:uniform(3) of
        1 -> nasty();
        _ -> rand:uniform(5)
    end.

%% Of up to four elements; sometimes too short for a key position behind the first.
object({KeyPos, Pool}) ->
    Arity = max(KeyPos, one([1, 2, 2, 2, 3, 4])) - one([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    put_key(KeyPos, key(Pool), list_to_tuple([value() || _ <- lists:seq(1, Arity)])).

put_key(KeyPos, Key, Object) when KeyPos > 0, KeyPos =< tuple_size(Object) -> setelement(KeyPos, Object, Key);
put_key(_, _, Object) -> Object.

%% With integers behind the key.
counters({1, Pool}) -> {key(Pool), rand:uniform(9), one([0, 1 bsl 59, -(1 bsl 63)])};
counters({2, Pool}) -> {a, key(Pool), rand:uniform(9)}.

pattern(Keys) ->
    case rand:uniform(3) of
        1 -> one(['_', '$1', {'$1', '_'}, {'_', '$2', '$1'}, {'$1', '$1'}, {'$1'}, a, {}, '$0x',
                  {'_', {'$1'}}, {'_', ['$1' | '_']}, {'$3', #{a => '$1'}}, {'_', '_', #{}}, {'$1', '$2', '_', '$2'}]);
        _ -> holes(object(Keys))
    end.

%% An object with some places open. Not a map as a key: ets looks it up, though a map in a pattern matches larger ones.
holes(Object) ->
    list_to_tuple([case {rand:uniform(3), E} of
                       {1, _} -> one(['_', '$1', '$2', '$1']);
                       {_, E} -> without_maps(E)
                   end || E <- tuple_to_list(Object)]).

without_maps(T) when is_map(T) -> '_';
without_maps(T) when is_tuple(T) -> list_to_tuple(without_maps(tuple_to_list(T)));
without_maps([H | T]) -> [without_maps(H) | without_maps(T)];
without_maps(T) -> T.

spec(Keys) ->
    case rand:uniform(12) of
        1 -> [];
        2 -> one([foo, [foo], [{'$1', [], []}], [{'$1', [{foo, 1}], ['$1']}], [{'$1', [], ['$2']}],
                  [{'$1', [], ['$1'], x}], [{#{'$1' => 1}, [], [true]}], [{'_', [], [true]} | x]]);
        3 -> [{'_', [], [true]}];
        4 -> [clause(Keys), clause(Keys)];
        _ -> [clause(Keys)]
    end.

clause(Keys) ->
    {pattern(Keys), [guard() || _ <- lists:seq(1, one([0, 0, 1, 1, 2]))], body()}.

body() ->
    one([[true], [true], ['$_'], ['$$'], ['$1'], [{{'$2', '$1'}}], [['$1' | '$2']], [{'+', '$2', 1}],
         [#{k => '$1'}], [{element, 1, '$_'}], [{const, {'$1'}}], [false], [{{}}], ['$_', '$1'],
         [{size, '$1'}], [{self}, '$1']]).

%% Of the functions that this OTP knows in match specifications.
guard() ->
    case otp() >= 27 andalso rand:uniform(8) of
        1 -> newer_guard();
        _ -> common_guard()
    end.

newer_guard() ->
    V = one(['$1', '$2', '$_']),
    one([{'==', {one([ceil, floor]), V}, {one([ceil, floor]), 1.5}}, {'=<', {one([max, min]), V, '$1'}, one([1, a, {{1}}])}
         | [{is_integer, V, one([0, -5, a]), one([3, 1 bsl 65, '$1'])} || otp() >= 29]]).

common_guard() ->
    V = fun() -> one(['$1', '$2', '$_']) end,
    C = fun() -> one([1, 2.0, a, {const, {1}}, {const, nasty()}, <<"xy">>]) end,
    case rand:uniform(6) of
        1 -> {one(['<', '>=', '==', '=:=', '/=', '=/=', '>', '=<']), V(), C()};
        2 -> {one([is_integer, is_float, is_atom, is_list, is_tuple, is_map, is_binary, is_number, is_pid,
                   is_reference, is_port, is_function]), V()};
        3 -> {one(['andalso', 'orelse', 'and', 'xor', 'or']), guard(), guard()};
        4 -> {'not', guard()};
        5 -> {'==', {one(['+', '-', '*', 'div', 'rem', 'band', 'bsl']), V(), 2}, C()};
        6 -> {one(['>', '==']), {one([size, round, map_size, byte_size, hd, tl, length, abs, node]), V()}, C()}
    end.

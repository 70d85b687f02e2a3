#!/usr/bin/env escript
%%! +fnu
%% Remakes the golden files of fyris-term (all but the text ones) with a real OTP, 25 or 26: later
%% releases tell 0.0 from -0.0, which the files mark by themselves. From the root of the repository:
%%
%%     escript crates/term/golden/generate.escript
%%
%% The same seed gives the same terms. Each file is gzipped lines of fields, bytes in hexadecimal:
%%
%%   etf.gz    WHAT V0 V1 V2 DET   a term: what it is, told without the external format (see what/1), then
%%             term_to_binary/2 with minor_version 0, 1 and 2, and 2 with deterministic
%%   odd.gz    BYTES ANSWER        bytes that few would write, and what binary_to_term(_, [used]) said of
%%             them: "refused", or USED:V2 for the term it made
%%   order.gz  FLAG V2             terms as lists:sort/1 leaves them; FLAG compares with the next line:
%%             < less, = equal by ==, ! equal by =:=, z equal by =:= but for the sign of zeros, . the last
%%   exact.gz  V2                  a list: the keys of a map in the order that deterministic gives them
-mode(compile).

main([]) ->
    Dir = filename:dirname(escript:script_name()),
    _ = rand:seed(exsss, {2026, 11, 21}),
    Etf = uniq(numbers() ++ leaves() ++ large() ++ containers() ++ repeat(1500, fun() -> nasty(4) end)),
    write(Dir, "etf.gz", [etf_line(T) || T <- Etf]),
    Corpus = uniq(Etf ++ neighbours() ++ repeat(4500, fun() -> nasty(3) end)),
    write(Dir, "order.gz", order_lines(lists:sort([T || T <- Corpus, in_corpus(T)]))),
    write(Dir, "exact.gz", [[hex(v2(Keys))] || Keys <- exact()]),
    write(Dir, "odd.gz", [odd_line(B) || B <- odd() ++ mutants(Etf)]).

write(Dir, Name, Lines) ->
    Path = filename:join(Dir, Name),
    Text = [[lists:join($\s, Fields), $\n] || Fields <- Lines],
    ok = file:write_file(Path, zlib:gzip(Text)),
    io:format("~ts: ~w lines, ~w bytes~n", [Path, length(Lines), filelib:file_size(Path)]).

%% ---- the lines ----

etf_line(T) ->
    [what(T) | [hex(term_to_binary(T, O)) || O <- [[{minor_version, 0}], [{minor_version, 1}],
                                                    [{minor_version, 2}], [{minor_version, 2}, deterministic]]]].

odd_line(B) ->
    Answer = try binary_to_term(B, [used]) of {T, Used} -> [integer_to_list(Used), $:, hex(v2(T))]
             catch error:badarg -> "refused" end,
    [hex(B), Answer].

order_lines([A]) -> [[".", hex(v2(A))]];
order_lines([A, B | Rest]) -> [[flag(A, B), hex(v2(A))] | order_lines([B | Rest])].

flag(A, B) when A =:= B -> case signs(A) =:= signs(B) of true -> "!"; false -> "z" end;
flag(A, B) when A == B -> "=";
flag(A, B) when A < B -> "<".

v2(T) -> term_to_binary(T, [{minor_version, 2}, deterministic]).

hex(B) -> string:lowercase(binary:encode_hex(B)).

%% The terms that differ in any byte.
uniq(Terms) -> uniq(Terms, #{}).
uniq([], _) -> [];
uniq([T | Rest], Seen) ->
    case v2(T) of
        B when is_map_key(B, Seen) -> uniq(Rest, Seen);
        B -> [T | uniq(Rest, Seen#{B => 1})]
    end.

%% The term with each zero float told by its sign.
signs(F) when is_float(F), F == 0 -> <<F/float>>;
signs([H | T]) -> [signs(H) | signs(T)];
signs(T) when is_tuple(T) -> list_to_tuple([signs(E) || E <- tuple_to_list(T)]);
signs(M) when is_map(M) -> maps:map(fun(_, V) -> signs(V) end, M);
signs(T) -> T.

%% The order of a map whose keys hold -0.0 changed with OTP 27, and what is very long proves no more than what is not.
in_corpus(T) -> byte_size(v2(T)) < 3000 andalso no_negative_zero_key(T).

no_negative_zero_key([H | T]) -> no_negative_zero_key(H) andalso no_negative_zero_key(T);
no_negative_zero_key(T) when is_tuple(T) -> no_negative_zero_key(tuple_to_list(T));
no_negative_zero_key(M) when is_map(M) ->
    binary:match(v2(maps:keys(M)), <<70, 128, 0:56>>) =:= nomatch andalso no_negative_zero_key(maps:values(M));
no_negative_zero_key(_) -> true.

%% ---- what a term is, without the external format ----

what(T) when is_integer(T) -> integer_to_list(T);
what(T) when is_float(T) -> [$f, hex(<<T/float>>)];
what(T) when is_atom(T) -> [$a, hex(atom_to_binary(T))];
what(T) when is_bitstring(T) ->
    Pad = (8 - bit_size(T) rem 8) rem 8,
    [$b, integer_to_list(bit_size(T)), $:, hex(<<T/bitstring, 0:Pad>>)];
what(T) when is_tuple(T) -> ["{", whats(tuple_to_list(T)), "}"];
what(T) when is_map(T) -> ["#", whats(lists:append([[K, maps:get(K, T)] || K <- exact_keys(T)])), "#"];
what(T) when is_list(T) -> list_what(T, []);
what(T) when is_pid(T) -> [$p, what(node(T)), $,, numbers_of(pid_to_list(T))];
what(T) when is_port(T) -> [$o, what(node(T)), $,, numbers_of(port_to_list(T))];
what(T) when is_reference(T) -> [$r, what(node(T)), $,, numbers_of(ref_to_list(T))];
what(T) when is_function(T) ->
    case erlang:fun_info(T, type) of
        {type, external} -> [$e, whats([get_info(T, I) || I <- [module, name, arity]])];
        {type, local} -> [$l, whats([get_info(T, I) || I <- [module, arity, new_uniq, new_index, index, uniq, pid, env]])]
    end.

get_info(F, Item) -> element(2, erlang:fun_info(F, Item)).

whats(Terms) -> lists:join($,, [what(T) || T <- Terms]).

list_what([H | T], Seen) -> list_what(T, [what(H) | Seen]);
list_what([], Seen) -> ["[", lists:join($,, lists:reverse(Seen)), "]"];
list_what(Tail, Seen) -> ["[", lists:join($,, lists:reverse(Seen)), "|", what(Tail), "]"].

%% "<9.1.2>", "#Port<9.1>" and "#Ref<9.3.2.1>" without the 9, which is a number of this node's for the other.
numbers_of(Text) ->
    [_, Inside] = string:split(string:trim(Text, trailing, ">"), "<"),
    [_, Numbers] = string:split(Inside, "."),
    Numbers.

exact_keys(M) -> keys(term_to_binary(M, [deterministic])).

keys(<<131, 116, N:32, Rest/binary>>) -> keys(N, Rest).
keys(0, <<>>) -> [];
keys(N, Bytes) ->
    {Key, Rest} = next(Bytes),
    {_, Rest1} = next(Rest),
    [Key | keys(N - 1, Rest1)].

next(Bytes) ->
    {T, Used} = binary_to_term(<<131, Bytes/binary>>, [used]),
    {T, binary:part(Bytes, Used - 1, byte_size(Bytes) - Used + 1)}.

%% ---- terms ----

numbers() ->
    Powers = [S * ((1 bsl K) + D) || K <- lists:seq(0, 70) ++ [127, 128, 255, 256, 511, 1022, 1023, 1024, 1025, 2039, 2040, 2047, 2048, 4000],
                                     S <- [1, -1], D <- [-2, -1, 0, 1, 2]],
    Tens = [S * (pow(10, K) + D) || K <- [15, 16, 17, 18, 19, 20, 22, 23, 100, 308], S <- [1, -1], D <- [-1, 0, 1]],
    Floats = [0.0, -0.0, 1.0, 1.5, 0.1, 0.5, 1.0e-5, 1.0e15, 1.0e16, 1.0e21, 1.0e22, 1.0e23, 3.141592653589793, 123456789.125]
        ++ [bits_float(B) || B <- [1, 2, 16#000fffffffffffff, 16#0010000000000000, 16#0010000000000001, 16#7fefffffffffffff,
                                   16#3ff0000000000001, 16#3fefffffffffffff, 16#7fe0000000000000]],
    Near = [bits_float(B + D) || K <- lists:seq(0, 70) ++ [127, 128, 1022, 1023], <<B:64>> <- [<<(float(1 bsl K)):64/float>>], D <- [-1, 0, 1]],
    Powers ++ Tens ++ Floats ++ [-F || F <- Floats] ++ Near ++ [-F || F <- Near]
        ++ [float(I) || I <- Tens] ++ repeat(40, fun random_float/0) ++ repeat(60, fun random_big/0).

pow(_, 0) -> 1;
pow(B, N) -> B * pow(B, N - 1).

bits_float(Bits) -> <<F/float>> = <<Bits:64>>, F.

random_float() ->
    case <<(rand:uniform(1 bsl 64) - 1):64>> of
        <<F/float>> -> F;
        _ -> random_float()
    end.

random_big() -> random_sign() * rand:uniform(1 bsl rand:uniform(2600)).

random_sign() -> pick([1, -1]).

leaves() -> atoms() ++ bitstrings() ++ lists:append([identifiers(N) || N <- nodes_()]) ++ funs().

atoms() ->
    ['', a, aa, b, 'A', 'a b', true, false, undefined, nil, '[]', ok, 'å', 'åäö', 'ÿ', [], 'ж', 'жук', '\x{100}', '\x{ff}a',
     '\x{FFFD}', list_to_atom([16#FFFE]), list_to_atom([16#FFFF]), '\x{E000}', '\x{1F600}', '\x{10FFFF}', 'e\x{301}', '\x{e9}', 'a\0b', '\0', '\n\t\'', '%', '日本語', 'Ünïcode', '_',
     list_to_atom(lists:duplicate(255, $a)), list_to_atom(lists:duplicate(254, $a)), list_to_atom(lists:duplicate(255, 16#e5)),
     list_to_atom(lists:duplicate(127, 16#436)), list_to_atom(lists:duplicate(128, 16#436)), list_to_atom(lists:duplicate(255, 16#1F600))].

bitstrings() ->
    Bytes = [<<>>, <<0>>, <<0, 0>>, <<1>>, <<0, 1>>, <<0, 255>>, <<127>>, <<128>>, <<255>>, <<255, 255>>, <<255, 0>>, <<"a">>, <<"aa">>, <<"ab">>, <<"å"/utf8>>,
             <<"hello">>, <<"hello, world">>, binary:copy(<<0>>, 20), binary:copy(<<255>>, 63), binary:copy(<<"x">>, 64), binary:copy(<<"x">>, 65), binary:copy(<<"y">>, 300)],
    Bytes ++ [<<B/binary, X:N>> || B <- [<<>>, <<0>>, <<255>>, <<"ab">>], N <- lists:seq(1, 7), X <- [0, 1, (1 bsl N) - 1]]
        ++ repeat(60, fun random_bits/0).

random_bits() -> N = rand:uniform(90) - 1, <<(rand:uniform(1 bsl (N + 1)) - 1):N>>.

nodes_() -> [nonode@nohost, 'a@b', 'b@a', 'node-1@example.com', 'å@ö', 'ж@дом', '', noat].

%% Identifiers of `Node`, made from bytes: no other node is running.
identifiers(Node) ->
    N = atom_bytes(Node),
    Local = Node =:= node(),
    Creations = case Local of true -> [0]; false -> [0, 1, 3, 16#ffffffff] end,
    Max = case Local of true -> 32766; false -> 16#ffffffff end,
    [from_bytes(<<88, N/binary, Id:32, Serial:32, C:32>>) || {Id, Serial} <- [{0, 0}, {1, 0}, {0, 1}, {5, 7}, {32767, 8191}, {Max, 1}], C <- Creations]
    ++ [from_bytes(<<120, N/binary, Id:64, C:32>>) || Id <- [0, 1, 2, Max] ++ [X || not Local, X <- [1 bsl 27, (1 bsl 28) - 1, 1 bsl 28, 1 bsl 32, (1 bsl 64) - 1]], C <- Creations]
    ++ [from_bytes(<<90, 3:16, N/binary, C:32, A:32, B:32, D:32>>) || {A, B, D} <- [{1, 0, 0}, {0, 1, 0}, {0, 0, 1}, {1, 2, 3}, {16#3ffff, 16#ffffffff, 16#ffffffff}], C <- Creations]
    ++ [from_bytes(<<90, (length(Ws)):16, N/binary, C:32, <<<<W:32>> || W <- Ws>>/binary>>)
        || not Local, C <- Creations, Ws <- [[1], [16#ffffffff], [1, 2], [2, 1], [1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3, 4, 5], [5, 4, 3, 2, 1], [0, 0, 0, 0, 1], [1, 0, 0, 0, 1]]]
    ++ [from_bytes(<<103, N/binary, 3:32, 4:32, C>>) || not Local, C <- [0, 2, 3]]
    ++ [from_bytes(<<102, N/binary, 77:32, C>>) || not Local, C <- [0, 2, 3]]
    ++ [from_bytes(<<101, N/binary, 9:32, C>>) || not Local, C <- [0, 2, 3]]
    ++ [from_bytes(<<114, 3:16, N/binary, C, 9:32, 8:32, 7:32>>) || not Local, C <- [0, 2, 3]].

atom_bytes(A) -> <<131, Bytes/binary>> = term_to_binary(A, [{minor_version, 2}]), Bytes.

from_bytes(Bytes) -> binary_to_term(<<131, Bytes/binary>>).

funs() ->
    [fun M:F/A || M <- [lists, maps, 'å', 'ж', ''], F <- [map, '', '-x-', 'ö'], A <- [0, 1, 2, 254, 255]]
    ++ [local_fun(M, A, U, I, OI, OU, P, Env)
        || {M, A} <- [{golden, 0}, {golden, 1}, {'Ж', 2}, {golden2, 255}], {U, I} <- [{0, 0}, {1, 0}, {(1 bsl 128) - 1, 7}],
           {OI, OU} <- [{0, 0}, {1, 123456789}, {300, -5}],
           P <- [hd(identifiers('a@b'))],
           Env <- [[], [1], [1.0], [-1.0, a], [{x, [1, 2], #{1 => 2}}, <<"env">>]]]
    ++ [local_fun(golden, 1, 5, 1, 1, 1, P, [self_like]) || N <- nodes_(), P <- lists:sublist(identifiers(N), 3)]
    ++ [local_fun(golden, 1, 5, 1, 1, 1, hd(identifiers('a@b')), [local_fun(golden, 2, 5, 2, 2, 2, hd(identifiers('b@a')), [fun lists:map/2])])].

%% The index follows from the rest: OTP 25 keeps one entry for a module's fun, and a second with another arity under
%% the same numbers stops the runtime.
local_fun(M, Arity, Uniq, Number, OldIndex, OldUniq, Pid, Env) ->
    Index = erlang:phash2({Arity, Uniq, Number, OldIndex, OldUniq}, 100000),
    Rest = [atom_bytes(M) | [binary:part(B, 1, byte_size(B) - 1) || B <- [term_to_binary(T) || T <- [OldIndex, OldUniq, Pid | Env]]]],
    from_bytes(iolist_to_binary([112, <<0:32, Arity, Uniq:128, Index:32, (length(Env)):32>>, Rest])).

large() ->
    [lists:duplicate(255, 1), lists:duplicate(65535, 7), lists:duplicate(65536, 7), lists:duplicate(65535, 7) ++ [256],
     list_to_tuple(lists:duplicate(255, a)), list_to_tuple(lists:duplicate(256, a)), list_to_tuple(lists:duplicate(300, [])),
     from_pairs([{I, -I} || I <- lists:seq(1, 32)]), from_pairs([{I, -I} || I <- lists:seq(1, 33)]), from_pairs([{float(I), I} || I <- lists:seq(1, 300)]),
     deep(400, fun(T) -> {T} end), deep(400, fun(T) -> [T] end), deep(400, fun(T) -> #{T => T} end, 7), deep(300, fun(T) -> [a | T] end, b)].

deep(N, F) -> deep(N, F, x).
deep(0, _, T) -> T;
deep(N, F, #{} = T) when N < 390 -> deep(0, F, T);
deep(N, F, T) -> deep(N - 1, F, F(T)).

containers() ->
    Small = [1, 1.0, 0, 0.0, -0.0, a, 1 bsl 64, float(1 bsl 64), (1 bsl 53) + 1, float(1 bsl 53), <<>>, [], {}, #{}, "a", <<1:3>>],
    [{X} || X <- Small] ++ [[X] || X <- Small] ++ [{X, Y} || X <- Small, Y <- Small] ++ [[X | Y] || X <- Small, Y <- Small]
        ++ [#{X => Y} || X <- Small, Y <- Small] ++ [#{X => 1, Y => 2} || X <- Small, Y <- Small, X =/= Y]
        ++ [#{#{X => 1} => Y} || X <- Small, Y <- [1, 1.0]].

%% Terms that lie close to each other in the order.
neighbours() ->
    [{X, Y} || X <- [1, 1.0, 2, 2.0, -0.0, 0.0, 0], Y <- [1, 1.0, 2, -0.0, 0.0, 0]]
    ++ [[X, Y | Z] || X <- [1, 1.0], Y <- [1, 1.0, a], Z <- [[], 1, 1.0, [[]], {}, <<>>]]
    ++ [[N] || N <- [(1 bsl K) + D || K <- [52, 53, 54, 59, 60, 62, 63, 64, 100], D <- [-1, 0, 1]]]
    ++ [[float(N)] || N <- [1 bsl K || K <- [52, 53, 54, 59, 60, 62, 63, 64, 100]]]
    ++ [#{1 => X, 1.0 => Y} || X <- [1, 1.0, a], Y <- [1, 1.0, a]] ++ [#{X => Y, a => Z} || X <- [1, 1.0, {1}, {1.0}], Y <- [1, 1.0], Z <- [2, 2.0]]
    ++ [from_pairs([{I, V} || I <- lists:seq(1, 40)]) || V <- [1, 1.0, 2, a]] ++ [from_pairs([{float(I), V} || I <- lists:seq(1, 40)]) || V <- [1, 1.0, 2, a]]
    ++ ["abc" ++ T || T <- [[], "d", [100.0], [0], [[]]]] ++ [list_to_binary(lists:sublist("prefixed", N)) || N <- lists:seq(1, 8)].

nasty(Depth) ->
    case rand:uniform(12) of
        N when N =< 5; Depth =:= 0 -> nasty_leaf();
        6 -> list_to_tuple(nasties(Depth));
        7 -> list_to_tuple(nasties(Depth));
        8 -> nasties(Depth);
        9 -> nasties(Depth) ++ nasty(Depth - 1);
        10 -> from_pairs([{nasty(Depth - 1), nasty(Depth - 1)} || _ <- lists:seq(1, rand:uniform(5) - 1)]);
        11 -> from_pairs([{nasty_leaf(), nasty_leaf()} || _ <- lists:seq(1, pick([1, 2, 3, 10, 31, 33, 34]))]);
        12 -> local_fun(golden, rand:uniform(3), rand:uniform(3), rand:uniform(3), rand:uniform(3), rand:uniform(3), hd(identifiers('a@b')), nasties(1))
    end.

%% References of one, two or four words are no keys here: OTP 25.2.3 hashes words that they do not have, loses such
%% keys in large maps, and may stop the runtime.
from_pairs(Pairs) -> maps:from_list([{K, V} || {K, V} <- Pairs, keyable(v2(K))]).

keyable(Bytes) -> binary:match(Bytes, [<<90, 0, 1>>, <<90, 0, 2>>, <<90, 0, 4>>]) =:= nomatch.

nasties(Depth) -> [nasty(Depth - 1) || _ <- lists:seq(1, rand:uniform(4) - 1)].

nasty_leaf() ->
    case rand:uniform(10) of
        1 -> rand:uniform(600) - 300;
        2 -> random_sign() * ((1 bsl rand:uniform(70)) + pick([-1, 0, 1]));
        3 -> float(random_sign() * ((1 bsl rand:uniform(70)) + pick([-1, 0, 1])));
        4 -> pick([0, 0.0, -0.0, 1, 1.0, -1, -1.0, 0.5, 1.5]);
        5 -> random_float();
        6 -> random_bits();
        7 -> [rand:uniform(256) - 1 || _ <- lists:seq(1, rand:uniform(6) - 1)];
        8 -> pick(cached(numbers, fun numbers/0));
        _ -> pick(cached(leaves, fun leaves/0))
    end.

pick(Tuple) when is_tuple(Tuple) -> element(rand:uniform(tuple_size(Tuple)), Tuple);
pick(List) -> pick(list_to_tuple(List)).

cached(Name, Make) ->
    case get(Name) of
        undefined -> T = list_to_tuple(Make()), put(Name, T), T;
        T -> T
    end.

repeat(N, Make) -> [Make() || _ <- lists:seq(1, N)].

%% ---- maps, for the exact order ----

exact() ->
    Keys = [K || K <- uniq(numbers() ++ atoms() ++ bitstrings() ++ containers() ++ neighbours()), byte_size(v2(K)) < 600],
    Maps = [set(Keys)]
        ++ repeat(300, fun() -> set(repeat(30, fun nasty_number/0)) end)
        ++ repeat(300, fun() -> set(repeat(25, fun() -> nasty(2) end)) end)
        ++ repeat(100, fun() -> set(repeat(60, fun() -> {nasty_number(), nasty_number()} end)) end),
    [exact_keys(M) || M <- Maps].

set(Keys) -> from_pairs([{K, 1} || K <- Keys, no_negative_zero_key(#{K => 1})]).

nasty_number() -> case nasty_leaf() of N when is_number(N) -> N; _ -> nasty_number() end.

%% ---- bytes that few would write ----

odd() ->
    A = fun(Len, Byte) -> binary:copy(<<Byte>>, Len) end,
    Text = fun(S) -> <<99, (list_to_binary(string:pad(S, 31, trailing, 0)))/binary>> end,
    N = <<119, 3, "a@b">>,
    M = <<119, 5, "lists">>,
    P = <<88, N/binary, 1:32, 2:32, 3:32>>,
    Fun = fun(Size, Arity, Free, Mod, OldIndex, OldUniq, Pid, Env) ->
              <<112, Size:32, Arity, 1:128, (erlang:phash2({Arity, Free, OldIndex, OldUniq})):32, Free:32, Mod/binary, OldIndex/binary, OldUniq/binary, Pid/binary, Env/binary>>
          end,
    Z = fun(Declared, Plain) -> <<80, Declared:32, (zlib:compress(Plain))/binary>> end,
    One = zlib:compress(<<97, 1>>),
    %% Tags that the runtime keeps for itself (index of an atom, pointer to a binary), and yet reads from anybody.
    Internal = [71, 72, 73, 74, 75, 76, 78, 79],
    [<<>>, <<131>>, <<97, 1>>, <<130, 97, 1>>] ++ [<<131, Tag, 0:200>> || Tag <- lists:seq(0, 255), not lists:member(Tag, [88, 90, 112, 117 | Internal])] ++ [<<131, B/binary>> || B <- [
        <<97, 1, 2, 3>>, <<110, 1, 0, 5>>, <<110, 1, 2, 5>>, <<110, 1, 255, 5>>, <<110, 3, 0, 5, 0, 0>>, <<110, 0, 0>>, <<110, 0, 1>>, <<110, 2, 1, 0, 0>>,
        <<111, 1:32, 0, 5>>, <<111, 0:32, 0>>, <<111, 12:32, 1, 1:96/little>>, <<111, 300:32, 0, 1:2400/little>>, <<110, 20, 0, (1 bsl 59):160/little>>,
        <<110, 8, 1, (1 bsl 63):64/little>>, <<110, 8, 0, (1 bsl 63):64/little>>, <<110, 8, 0, ((1 bsl 63) - 1):64/little>>, <<110, 4, 0, 255:32/little>>, <<110, 2, 0, 5>>, <<111, 16#ffffffff:32, 0, 5>>,
        Text("1.5e0"), Text(" 1.5e0"), Text("15"), Text("1e5"), Text("1.e5"), Text(".5"), Text("+1.5"), Text("-1.5"), Text("--1.5"), Text("1,5"), Text("1.5E+03"), Text("1.5E-03"), Text("1.5E3x"),
        Text("1.5E"), Text("1.5E+"), Text("1.5 "), Text("inf"), Text("nan"), Text("1.0e999"), Text("1.0e-999"), Text("-1.0e-999"), Text("-0.0"), Text("0x1.8p1"), Text(""), Text("00001.50"), Text("1.7976931348623157e308"), Text("1_0.0"),
        <<99, "1.50000000000000000000e+00">>, <<70, 16#7ff8:16, 0:48>>, <<70, 16#7ff0:16, 0:48>>, <<70, 16#fff0:16, 0:48>>, <<70, 16#8000:16, 0:48>>, <<70, 0:56>>,
        <<100, 1:16, 229>>, <<115, 1, 229>>, <<118, 2:16, 195, 165>>, <<119, 2, 195, 165>>, <<119, 1, 195>>, <<119, 2, 16#c0, 16#80>>, <<119, 3, 16#ed, 16#a0, 16#80>>, <<119, 4, 16#f4, 16#8f, 16#bf, 16#bf>>, <<119, 4, 16#f4, 16#90, 16#80, 16#80>>,
        <<119, 3, 16#ef, 16#bf, 16#be>>, <<119, 1, 0>>, <<119, 0>>, <<100, 0:16>>, <<100, 256:16, (A(256, $a))/binary>>, <<100, 255:16, (A(255, $a))/binary>>, <<115, 255, (A(255, 229))/binary>>, <<115, 10, "abc">>,
        <<118, 510:16, (binary:copy(<<195, 165>>, 255))/binary>>, <<118, 512:16, (binary:copy(<<195, 165>>, 256))/binary>>, <<118, 1020:16, (binary:copy(<<240, 159, 152, 128>>, 255))/binary>>, <<118, 1024:16, (binary:copy(<<240, 159, 152, 128>>, 256))/binary>>,
        <<82, 0>>, <<68, 0, 97, 1>>, <<69, 0:64, 97, 1>>, <<121, 1:64, 97, 1>>, <<117, 0:32, P/binary, M/binary, 97, 1, 97, 1>>,
        <<103, N/binary, 1:32, 2:32, 3>>, <<103, N/binary, 1:32, 2:32, 4>>, <<103, N/binary, -1:32, -1:32, 0>>, <<103, 97, 1, 1:32, 2:32, 3>>, <<103, 82, 0, 1:32, 2:32, 3>>,
        <<88, N/binary, -1:32, -1:32, -1:32>>, <<88, 118, 3:16, "a@b", 1:32, 2:32, 0:32>>, <<88, 115, 1, 229, 1:32, 2:32, 0:32>>, <<88, N/binary, 1:32, 2:32, 0:24>>,
        <<102, N/binary, 1:32, 3>>, <<102, N/binary, -1:32, 3>>, <<102, N/binary, 1:32, 4>>, <<89, N/binary, 1:32, -1:32>>, <<89, N/binary, -1:32, -1:32>>, <<120, N/binary, -1:64, -1:32>>, <<120, N/binary, 5:64, 1:32>>, <<120, N/binary, 5:56>>,
        <<101, N/binary, 1:32, 3>>, <<101, N/binary, 16#3ffff:32, 3>>, <<101, N/binary, 16#40000:32, 3>>, <<101, N/binary, 1:32, 4>>,
        <<114, 1:16, N/binary, 3, 1:32>>, <<114, 1:16, N/binary, 3, 16#40000:32>>, <<114, 3:16, N/binary, 3, 16#3ffff:32, -1:32, -1:32>>, <<114, 5:16, N/binary, 2, 1:32, 2:32, 3:32, 4:32, 5:32>>, <<114, 6:16, N/binary, 2, 1:192>>, <<114, 1:16, N/binary, 4, 1:32>>,
        <<90, 1:16, N/binary, -1:32, -1:32>>, <<90, 5:16, N/binary, -1:32, -1:160>>, <<90, 6:16, N/binary, -1:32, -1:192>>, <<90, 65535:16, N/binary, -1:32, -1:192>>, <<90, 3:16, N/binary, 1:32, 1:32>>,
        <<104, 0>>, <<105, 0:32>>, <<105, 1:32, 97, 1>>, <<105, -1:32, 97, 1>>, <<104, 2, 97, 1>>, <<104, 1, 131, 97, 1>>, <<104, 1, (Z(2, <<97, 1>>))/binary>>,
        <<116, 2:32, 97, 1, 97, 2, 97, 1, 97, 3>>, <<116, 2:32, 97, 1, 97, 2, 70, 1.0:64/float, 97, 3>>, <<116, 2:32, 97, 1, 97, 2, 110, 1, 0, 1, 97, 3>>, <<116, 2:32, 97, 2, 97, 2, 97, 1, 97, 3>>, <<116, 0:32>>, <<116, -1:32>>, <<116, 1:32, 97, 1>>,
        <<116, 41:32, (<< <<97, I, 97, 1>> || I <- lists:seq(1, 40) >>)/binary, 97, 5, 97, 6>>, <<116, 40:32, (<< <<97, I, 97, 1>> || I <- lists:seq(40, 1, -1) >>)/binary>>, <<116, 2:32, 104, 1, 70, 1.0:64/float, 97, 1, 104, 1, 97, 1, 97, 1>>,
        <<107, 0:16>>, <<107, 5:16, "abc">>, <<108, 0:32, 97, 1>>, <<108, 0:32, 106>>, <<108, 1:32, 97, 1, 108, 1:32, 97, 2, 106>>, <<108, 1:32, 97, 1, 107, 1:16, 97>>, <<108, 1:32, 97, 1, 108, 0:32, 97, 9>>, <<108, -1:32, 97, 1, 106>>, <<108, 1:32, 97, 1>>, <<108, 0:32, 108, 0:32, 107, 0:16>>,
        <<108, 1:32, 97, 1, 108, 1:32, 97, 2, 97, 3>>, <<108, 0:32, 108, 0:32, 104, 0>>, <<109, 5:32, "abc">>, <<109, -1:32, "abc">>,
        <<77, 1:32, 8, 255>>, <<77, 0:32, 0>>, <<77, 0:32, 3>>, <<77, 1:32, 0, 255>>, <<77, 1:32, 9, 255>>, <<77, 1:32, 3, 255>>, <<77, 2:32, 7, 255, 255>>, <<77, 2:32, 7, 255>>,
        <<113, M/binary, 119, 3, "map", 97, 2>>, <<113, M/binary, 119, 3, "map", 98, 2:32>>, <<113, M/binary, 119, 3, "map", 110, 1, 0, 2>>, <<113, M/binary, 119, 3, "map", 98, 255:32>>, <<113, M/binary, 119, 3, "map", 98, -1:32>>, <<113, M/binary, 119, 3, "map", 119, 1, $a>>,
        <<113, 106, 119, 3, "map", 97, 1>>, <<113, 115, 1, 229, 118, 2:16, 195, 165, 97, 2>>, <<113, M/binary, 107, 1:16, 1, 97, 1>>,
        Fun(0, 2, 1, M, <<97, 1>>, <<98, 9999:32>>, P, <<97, 5>>), Fun(70, 2, 1, M, <<97, 1>>, <<98, 9999:32>>, P, <<97, 5>>), Fun(0, 2, 0, M, <<97, 1>>, <<110, 8, 0, -1:64>>, P, <<>>), Fun(0, 2, 0, M, <<97, 1>>, <<110, 6, 0, 0, 0, 0, 0, 0, 1>>, P, <<>>),
        Fun(0, 2, 0, M, <<110, 8, 0, -1:56, 7>>, <<97, 1>>, P, <<>>), Fun(0, 2, 0, M, <<110, 8, 0, 0:56, 8>>, <<97, 1>>, P, <<>>), Fun(0, 2, 0, M, <<110, 8, 1, 0:56, 8>>, <<97, 1>>, P, <<>>), Fun(0, 2, 0, M, <<110, 8, 1, 1, 0:48, 8>>, <<97, 1>>, P, <<>>),
        Fun(0, 2, 0, M, <<98, -1:32>>, <<98, -5:32>>, P, <<>>), Fun(0, 2, 0, M, <<70, 1.0:64/float>>, <<98, -5:32>>, P, <<>>), Fun(0, 2, 0, M, <<97, 1>>, <<97, 1>>, <<103, N/binary, 1:32, 2:32, 3>>, <<>>), Fun(0, 255, 0, M, <<97, 1>>, <<97, 1>>, P, <<>>),
        Fun(0, 255, 255, M, <<97, 1>>, <<97, 1>>, P, binary:copy(<<97, 1>>, 255)), Fun(0, 255, 256, M, <<97, 1>>, <<97, 1>>, P, binary:copy(<<97, 1>>, 256)), Fun(0, 0, -1, M, <<97, 1>>, <<97, 1>>, P, <<>>), Fun(0, 0, 3, M, <<97, 1>>, <<97, 1>>, P, <<97, 1>>),
        Z(2, <<97, 1>>), <<(Z(2, <<97, 1>>))/binary, 1, 2, 3>>, Z(3, <<97, 1>>), Z(1, <<97, 1>>), Z(0, <<>>), Z(4, <<97, 1, 5, 5>>), Z(3, <<131, 97, 1>>), Z(5 + byte_size(One), <<80, 2:32, One/binary>>), <<80, 2:32, (binary:part(One, 0, byte_size(One) - 1))/binary>>,
        <<80, 2:32, 1, 2, 3, 4>>, <<80, 2:32>>, <<80, 2:16>>, Z(100005, <<109, 100000:32, (A(100000, $z))/binary>>), Z(100004, <<109, 100000:32, (A(100000, $z))/binary>>)]].

%% Terms with one to three bytes changed, cut short or put in. Not of funs and identifiers of odd kinds: OTP 25 takes
%% some damaged ones for sound, up to stopping the runtime.
mutants(Terms) ->
    Sound = list_to_tuple([B || T <- Terms, B <- [v2(T)], byte_size(B) < 120, binary:match(B, [<<112>>, <<113>>, <<90>>, <<"nonode">>]) =:= nomatch]),
    [M || M <- repeat(3000, fun() -> mutant(pick(Sound), rand:uniform(3)) end), binary:match(M, [<<112>>, <<117>>, <<90>>, <<131, 80>>]) =:= nomatch].

mutant(B, 0) -> B;
mutant(B, N) when byte_size(B) < 2 -> mutant(B, N - 1);
mutant(B, N) ->
    At = rand:uniform(byte_size(B) - 1),
    <<Before:At/binary, Byte, After/binary>> = B,
    mutant(case rand:uniform(5) of
               1 -> <<Before/binary, (rand:uniform(256) - 1), After/binary>>;
               2 -> <<Before/binary, (Byte bxor (1 bsl (rand:uniform(8) - 1))), After/binary>>;
               3 -> <<Before/binary, (lists:nth(rand:uniform(12), [0, 1, 255, 70, 77, 97, 104, 106, 107, 108, 110, 116])), After/binary>>;
               4 -> <<Before/binary, After/binary>>;
               5 -> <<Before/binary, (rand:uniform(256) - 1), Byte, After/binary>>
           end, N - 1).

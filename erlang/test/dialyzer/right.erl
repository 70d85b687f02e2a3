%% Calls in which dialyzer must find nothing (../dialyzer.sh): every option and every form of an argument.
-module(right).
-export([tables/0, objects/1, queries/1, ranges/1, watching/1, files/1]).

tables() ->
    Options = [ordered_set, public, named_table, {keypos, 2}, {heir, self(), data}, {write_concurrency, auto},
               {read_concurrency, true}, {decentralized_counters, false}, compressed, {secondary, a, {element, 2}},
               {secondary, b, {path, [2, k]}}, {secondary, c, {body, [{element, 1, '$_'}]}}],
    T = fyris:new(t, Options),
    U = fyris:open(u, [{heir, none}, {index, linear_hash}, {bucket_locks, 64}, {reader_groups, 4}]),
    true = fyris:setopts(T, {heir, none}),
    undefined = fyris:whereis(nobody),
    {fyris:info(T, index_info), fyris:info(U), fyris:memory(total), fyris:memory()}.

objects(T) ->
    true = fyris:insert(T, [{a, 1}, {b, 2}]),
    [{a, _}] = fyris:lookup(T, a),
    [{b, _}] = fyris:lookup_by(T, by_value, 2),
    _ = fyris:update_counter(T, a, [{2, 1}, {2, 1, 9, 0}]),
    _ = fyris:update_counter(T, c, {2, 1}, {c, 0}),
    true = fyris:update_element(T, a, {2, x}),
    case fyris:compare_and_swap(T, {a, x}, {a, y}) of
        true -> fyris:take(T, a);
        false -> fyris:upsert(T, a, {a, 0}, fun({a, N}) -> {a, N + 1} end)
    end.

queries(T) ->
    Spec = [{{'$1', '$2'}, [{'>', '$2', 1}], ['$1']}],
    case fyris:select(T, Spec, 10) of
        {Keys, More} -> {Keys, fyris:select(More), fyris:select_count(T, Spec)};
        '$end_of_table' -> fyris:match(T, {'$1', '_'})
    end.

ranges(T) ->
    [_ | _] = fyris:range(T, 1, 9, [reverse, keys, {limit, 3}, {from, excluded}]),
    {fyris:prefix(T, {a, '_'}, [keys]), fyris:seek(T, 1, down), fyris:get_in(T, k, [2, name])}.

watching(T) ->
    S = fyris:subscribe([T], {range, 1, '_'}, [{from, snapshot}, {active, 10}]),
    true = fyris:set_active(S, true),
    fyris:unsubscribe(S).

files(T) ->
    ok = fyris:tab2file(T, "t.ets", [{extended_info, [md5sum]}, {sync, true}]),
    {ok, U} = fyris:file2tab("t.ets", [{verify, true}]),
    fyris:tab2list(U).

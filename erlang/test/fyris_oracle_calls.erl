%% Commands of the oracle that are more than one call: walks, chunks, files. `M' is `ets' or `fyris', and functions that
%% this ets does not have yet are made of those that it has.
-module(fyris_oracle_calls).

-compile(export_all).
-compile(nowarn_export_all).

call(M, F, Args) ->
    case erlang:function_exported(M, F, length(Args)) of
        true -> apply(M, F, Args);
        false -> apply(?MODULE, F, [M | Args])
    end.

%% ---------------------------------------------------------------------------
%% Newer than OTP 25

lookup_element(M, T, Key, Position, Default) ->
    try M:lookup_element(T, Key, Position)
    catch error:badarg ->
            case M:member(T, Key) of
                true -> M:lookup_element(T, Key, Position);
                false when is_integer(Position), Position > 0 -> Default
            end
    end.

update_element(M, T, Key, Edits, Default) ->
    Position = M:info(T, keypos),
    case M:info(T, type) of
        Type when Type =:= set; Type =:= ordered_set ->
            M:update_element(T, Key, Edits) orelse
                begin
                    S = M:new(scratch, [{keypos, Position}]),
                    true = M:insert(S, setelement(Position, Default, Key)),
                    true = M:update_element(S, Key, Edits),
                    [New] = M:lookup(S, Key),
                    M:delete(S),
                    M:insert(T, New)
                end;
        _ -> M:update_element(T, Key, Edits)
    end.

first_lookup(M, T) -> with_objects(M, T, M:first(T)).
last_lookup(M, T) -> with_objects(M, T, M:last(T)).
next_lookup(M, T, Key) -> with_objects(M, T, M:next(T, Key)).
prev_lookup(M, T, Key) -> with_objects(M, T, M:prev(T, Key)).

with_objects(_, _, '$end_of_table') -> '$end_of_table';
with_objects(M, T, Key) -> {Key, M:lookup(T, Key)}.

%% ---------------------------------------------------------------------------
%% From key to key

walk(M, T) -> walk(M, T, next, M:first(T)).

walk_back(M, T) -> walk(M, T, prev, M:last(T)).

walk(_, _, _, '$end_of_table') -> [];
walk(M, T, F, Key) -> [Key | walk(M, T, F, M:F(T, Key))].

walk_lookup(M, T) -> walk_lookup(M, T, call(M, first_lookup, [T])).

walk_lookup(_, _, '$end_of_table') -> [];
walk_lookup(M, T, {Key, Objects}) -> [{Key, Objects} | walk_lookup(M, T, call(M, next_lookup, [T, Key]))].

slots(M, T) -> slots(M, T, 0).

slots(M, T, N) ->
    case M:slot(T, N) of
        '$end_of_table' -> [];
        Objects -> Objects ++ slots(M, T, N + 1)
    end.

%% ---------------------------------------------------------------------------
%% Chunks

collect(M, T, F, What, Limit) -> collected(M, F, M:F(T, What, Limit)).

collected(_, _, '$end_of_table') -> [];
collected(M, F, {Found, Continuation}) -> Found ++ collected(M, F, M:F(Continuation)).

start(M, T, F, What, Limit) -> chunk(F, M:info(T, type), M:F(T, What, Limit)).

continue(M, _, _) ->
    case get(continuation) of
        undefined -> none;
        {_, _, '$end_of_table'} -> ended;
        {F, Type, Continuation} -> chunk(F, Type, M:F(Continuation))
    end.

%% Which objects come first is told of ordered tables only; in the others what was inserted meanwhile may stand before
%% or behind the continuation, so that one side may have come to its end and the other not.
chunk(F, Type, {Found, Continuation}) ->
    put(continuation, {F, Type, Continuation}),
    case Type of
        ordered_set -> Found;
        _ -> chunk
    end;
chunk(F, Type, '$end_of_table') ->
    put(continuation, {F, Type, '$end_of_table'}),
    case Type of
        ordered_set -> [];
        _ -> chunk
    end.

%% Of what passed through the external format, with a specification that has nothing to do with it.
repair(M, _, Spec) ->
    '$end_of_table' = M:repair_continuation('$end_of_table', Spec),
    case get(continuation) of
        {_, _, Continuation} -> M:repair_continuation(binary_to_term(term_to_binary(Continuation)), Spec);
        undefined -> none
    end,
    repaired.

%% ---------------------------------------------------------------------------
%% Match specifications by themselves

compile(M, Spec, _) ->
    put(compiled, M:match_spec_compile(Spec)),
    compiled.

run(M, Spec, Terms) ->
    case get(compiled) of
        undefined -> compile(M, Spec, Terms);
        Compiled -> {M:match_spec_run(Terms, Compiled), M:match_spec_run_r(Terms, Compiled, [tail])}
    end.

%% The texts of errors are each side's own.
test_one(M, Spec, Terms) ->
    [case M:test_ms(Term, Spec) of
         {ok, Value} -> {ok, Value};
         {error, [_ | _]} -> error
     end || Term <- Terms, is_tuple(Term)].

is_compiled(M, T) -> [M:is_compiled_ms(X) || X <- [get(compiled), T, foo, make_ref()], X =/= undefined].

%% ---------------------------------------------------------------------------
%% Tables

delete_some_object(M, T) ->
    case sorted(M:tab2list(T)) of
        [] -> none;
        Some -> M:delete_object(T, element(2, lists:last(Some)))
    end.

init(M, T, Objects) ->
    M:init_table(T, fun(read) -> {Objects, fun(read) -> end_of_input; (close) -> ok end};
                       (close) -> ok
                    end).

%% With an option list of its own, and gone again.
new_again(M, Options) ->
    T = M:new(again, Options),
    Info = [Item || {What, _} = Item <- M:info(T), What =/= memory, What =/= id],
    M:delete(T),
    Info.

all(M, T) -> lists:member(T, M:all()).

safe_fixed(M, T) ->
    case M:info(T, safe_fixed_monotonic_time) of
        {_, By} ->
            {_, Same} = M:info(T, safe_fixed),
            true = lists:sort(By) =:= lists:sort(Same),
            lists:sort(By);
        Other -> Other
    end.

qlc(M, T, Options) ->
    Handle = M:table(T, Options),
    sorted(qlc:e(Handle)).

%% By more than `==', under which 1 and 1.0 come in any order.
sorted(Objects) -> lists:sort([{term_to_binary(Object), Object} || Object <- Objects]).

file(M, T, Write, Read) ->
    File = filename:join("/tmp", lists:concat(["fyris_oracle_", os:getpid(), M])),
    try
        Written = tab2file(M, T, File, Write),
        Info = M:tabfile_info(File),
        {Written, kept(Info), loaded(M, M:file2tab(File, Read))}
    after
        file:delete(File)
    end.

%% Before OTP 29 ets looks at the options first, and fails where it may not read.
tab2file(ets, T, File, Options) ->
    case fyris_same:otp() < 29 andalso ets:info(T) =:= undefined of
        true -> {error, badtab};
        false ->
            try ets:tab2file(T, File, Options)
            catch error:badarg -> {error, badtab}
            end
    end;
tab2file(fyris, T, File, Options) ->
    fyris:tab2file(T, File, Options).

kept({ok, Info}) -> lists:sort(Info);
kept(Error) -> error_of(Error).

loaded(M, {ok, T}) ->
    Objects = sorted(M:tab2list(T)),
    M:delete(T),
    Objects;
loaded(_, Error) ->
    error_of(Error).

%% Without the name of the file.
error_of({error, Why}) when is_tuple(Why) -> {error, element(1, Why)};
error_of({error, Why}) -> {error, Why}.

%% Of a private table ets reads what comes in its first chunk.
dets(M, T) ->
    case M:info(T, protection) =:= private andalso M:info(T, size) > 50 of
        true -> left_out;
        false -> through_dets(M, T)
    end.

through_dets(M, T) ->
    File = filename:join("/tmp", lists:concat(["fyris_oracle_dets_", os:getpid(), M])),
    Types = #{set => set, ordered_set => set, bag => bag, duplicate_bag => duplicate_bag},
    KeyPos = M:info(T, keypos),
    {ok, D} = dets:open_file({?MODULE, M}, [{file, File}, {keypos, KeyPos}, {type, maps:get(M:info(T, type), Types)},
                                            {ram_file, true}]),
    try
        D = M:to_dets(T, D),
        Back = M:new(back, [{keypos, KeyPos}, M:info(T, type)]),
        true = M:from_dets(Back, D),
        Objects = sorted(M:tab2list(Back)),
        M:delete(Back),
        Objects
    after
        dets:close(D),
        file:delete(File)
    end.

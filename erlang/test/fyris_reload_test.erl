%% The native part goes and comes again: purged, restarted with the system, loaded from a copy. Each in an emulator of
%% its own.
-module(fyris_reload_test).

-compile(export_all).
-include("fyris_same.hrl").

-define(LARGE, 100_000).

reload_test_() ->
    {timeout, 600, [{atom_to_list(F), {timeout, 120, fun ?MODULE:F/0}}
                    || F <- [purged, purged_and_restarted, restarted, release_restarted, a_copy_after_a_purge, a_copy_over_it,
                             another_build_after_a_purge, another_build_over_it]]}.

%% ---------------------------------------------------------------------------
%% Purged: every kind of thing that was there before goes on.

purged() -> in_peer(fun() -> purge_and_compare(fun purge/0) end).

purge() ->
    true = code:delete(fyris_nif),
    _ = code:purge(fyris_nif).

purge_and_compare(Reload) ->
    Blob = binary:copy(<<7>>, ?LARGE),
    T = fyris:new(t, [ordered_set, public]),
    named = fyris:new(named, [named_table, public]),
    fyris:insert(T, [{I, Blob} || I <- lists:seq(1, 1000)]),
    Counter = atomics:new(1, []),
    fyris:insert(named, {t, Counter}),
    Owner = owner(),
    {Owner, Theirs} = receive {Owner, _} = Made -> Made end,
    {First, Continuation} = fyris:select(T, [{{'$1', '_'}, [], ['$1']}], 10),
    Spec = fyris:match_spec_compile([{{'$1'}, [], ['$1']}]),
    Handle = fyris:table(T),
    Before = fyris_nif:counts(),
    [begin
         Reload(),
         %% Tids, names, large binaries, references, continuations, specifications.
         ?assertEqual([{5, Blob}], fyris:lookup(T, 5)),
         ?assertEqual([{t, Counter}], fyris:lookup(named, t)),
         ?assertEqual(Round, atomics:add_get(fyris:lookup_element(named, t, 2), 1, 1)),
         ?assertEqual(lists:seq(1, 1000), First ++ chunks(fyris:select(Continuation))),
         ?assertEqual([3], fyris:match_spec_run([{3}], Spec)),
         ?assertEqual(1000, length(qlc:e(Handle))),
         ?assertEqual(T, fyris:info(T, id)),
         %% New ones beside them.
         New = fyris:new(new, [public]),
         fyris:insert(New, {1, Blob}),
         ?assertEqual(Blob, fyris:lookup_element(New, 1, 2)),
         ?assert(lists:member(New, fyris:all()) andalso lists:member(T, fyris:all())),
         fyris:delete(New)
     end || Round <- lists:seq(1, 5)],
    ?assertEqual([{x, 1}], fyris:lookup(Theirs, x)),
    %% Who owned a table before can still end.
    Monitor = monitor(process, Owner),
    exit(Owner, kill),
    receive {'DOWN', Monitor, process, Owner, _} -> ok end,
    ?assertEqual(undefined, fyris:info(Theirs)),
    receive {'ETS-TRANSFER', Left, Owner, heir_data} -> ?assertEqual([{y, 2}], fyris:lookup(Left, y)) end,
    {Tables, _, _} = Before,
    {TablesNow, _, _} = fyris_nif:counts(),
    ?assertEqual(Tables - 1, TablesNow).

%% A process with a table, and one that this process inherits.
owner() ->
    Self = self(),
    spawn(fun() ->
                  T = fyris:new(theirs, [public]),
                  fyris:insert(T, {x, 1}),
                  Left = fyris:new(left, [public, {heir, Self, heir_data}]),
                  fyris:insert(Left, {y, 2}),
                  Self ! {self(), T},
                  receive stop -> ok end
          end).

chunks('$end_of_table') -> [];
chunks({Found, Continuation}) -> Found ++ chunks(fyris:select(Continuation)).

%% ---------------------------------------------------------------------------
%% The system restarts inside the emulator.

restarted() ->
    ?assertEqual("1 works\n2 works\n3 works\n", restarts("", "ok", "-pa " ++ ebin())).

%% Purged while there are tables and terms that refer to them, and then restarted.
purged_and_restarted() ->
    Before = "code:delete(fyris_nif), code:purge(fyris_nif), 1 = fyris:info(T, size)",
    ?assertEqual("1 works\n2 works\n3 works\n", restarts("", Before, "-pa " ++ ebin())).

%% A release that loads all its code when it boots.
release_restarted() ->
    with_dir(fun(Dir) ->
        App = copy_app(Dir, "lib"),
        Vsn = fun(Name) -> ok = application_loaded(Name), {ok, V} = application:get_key(Name, vsn), V end,
        Release = {release, {"fyris_rel", "1"}, {erts, erlang:system_info(version)},
                   [{kernel, Vsn(kernel)}, {stdlib, Vsn(stdlib)}, {fyris, app_vsn(App)}]},
        Rel = filename:join(Dir, "fyris_rel"),
        ok = file:write_file(Rel ++ ".rel", io_lib:format("~p.~n", [Release])),
        ok = systools:make_script(Rel, [silent, {path, [filename:join(App, "ebin")]}, local]) =:= error orelse ok,
        Outcome = restarts("", "ok", "-mode embedded -boot " ++ Rel),
        ?assertEqual("1 works\n2 works\n3 works\n", Outcome)
    end).

application_loaded(Name) ->
    case application:load(Name) of
        ok -> ok;
        {error, {already_loaded, _}} -> ok
    end.

app_vsn(App) ->
    {ok, [{application, fyris, Keys}]} = file:consult(filename:join([App, "ebin", "fyris.app"])),
    proplists:get_value(vsn, Keys).

%% What an emulator prints that restarts its system twice; a table, also one that nobody owns, is there each time.
restarts(Setup, Before, Flags) ->
    with_dir(fun(Dir) ->
        File = filename:join(Dir, "rounds"),
        Code = lists:flatten(io_lib:format(
            "~s N = case file:read_file(~p) of {ok, B} -> byte_size(B) + 1; _ -> 1 end, "
            "T = fyris:new(t, [public, named_table]), true = fyris:insert(T, {1, binary:copy(<<7>>, 100000)}), "
            "[{1, Blob}] = fyris:lookup(T, 1), register(holder, spawn(fun() -> receive _ -> {T, Blob} end end)), "
            "fyris:open(nobodys, [public, {owner, none}]), true = fyris:insert(nobodys, {N, x}), N = fyris:info(nobodys, size), "
            "~s, io:format(\"~~p works~~n\", [N]), file:write_file(~p, lists:duplicate(N, $x)), "
            "case N of 3 -> halt(); _ -> init:restart() end.", [Setup, File, Before, File])),
        os:cmd(lists:flatten(["timeout 60 erl -noshell -noinput ", Flags, " -eval '", Code, "' 2>&1"]))
    end).

%% ---------------------------------------------------------------------------
%% Another file

a_copy_after_a_purge() -> with_copy(fun(Copy) -> purge_and_compare(fun() -> purge(), from(Copy) end) end, fun same/1).
a_copy_over_it() -> with_copy(fun(Copy) -> purge_and_compare(fun() -> load_over(Copy) end) end, fun same/1).

%% While it has tables the first one is not replaced; then it is.
another_build_after_a_purge() ->
    with_copy(fun(Copy) ->
        T = fyris:new(t, [public]),
        fyris:insert(T, {1}),
        purge(),
        from(Copy),
        ?assertError(undef, fyris:lookup(T, 1)),
        ?assertEqual({error, on_load_failure}, code:ensure_loaded(fyris_nif)),
        true = code:del_path(Copy),
        ?assertEqual([{1}], fyris:lookup(T, 1)),
        fyris:delete(T),
        purge(),
        from(Copy),
        New = fyris:new(t, [public]),
        ?assertEqual([], fyris:lookup(New, 1)),
        ?assertError(badarg, fyris:lookup(T, 1))
    end, fun other/1).

another_build_over_it() ->
    with_copy(fun(Copy) ->
        T = fyris:new(t, [public]),
        fyris:insert(T, {1}),
        ?assertEqual({error, on_load_failure}, load_over(Copy)),
        ?assertEqual([{1}], fyris:lookup(T, 1)),
        fyris:delete(T),
        ?assertEqual({error, on_load_failure}, load_over(Copy)),
        ?assertEqual([], fyris:all())
    end, fun other/1).

%% From now on the module comes from there.
from(Ebin) ->
    true = code:add_patha(Ebin),
    ok.

load_over(Ebin) ->
    from(Ebin),
    _ = code:purge(fyris_nif),
    case code:load_file(fyris_nif) of
        {module, fyris_nif} -> ok;
        Error -> Error
    end.

same(Library) -> Library.

%% Another name of a function, of the same length.
other(Library) -> binary:replace(Library, <<"fyris_long">>, <<"fyris_lone">>).

with_copy(Test, Change) ->
    with_dir(fun(Dir) ->
        App = copy_app(Dir, "copy"),
        File = filename:join([App, "priv", "fyris_nif.so"]),
        {ok, Library} = file:read_file(File),
        ok = file:delete(File),
        ok = file:write_file(File, Change(Library)),
        in_peer(fun() -> Test(filename:join(App, "ebin")) end)
    end).

copy_app(Dir, Name) ->
    App = filename:join([Dir, Name, "fyris-0.1.0"]),
    [begin
         To = filename:join([App, Part, filename:basename(File)]),
         ok = filelib:ensure_dir(To),
         {ok, _} = file:copy(File, To)
     end || Part <- ["ebin", "priv"], File <- filelib:wildcard(filename:join([filename:dirname(ebin()), Part, "*"]))],
    App.

%% ---------------------------------------------------------------------------

ebin() -> filename:absname(filename:dirname(code:which(fyris))).

with_dir(Fun) ->
    Dir = filename:join("/tmp", lists:concat(["fyris_reload_", os:getpid(), "_", erlang:unique_integer([positive])])),
    ok = filelib:ensure_dir(filename:join(Dir, "x")),
    try Fun(Dir) after ok = file:del_dir_r(Dir) end.

%% Runs a fun in an emulator of its own.
in_peer(Fun) ->
    {ok, Peer, _} = peer:start_link(#{connection => standard_io,
                                      args => ["-pa", ebin(), filename:absname(filename:dirname(code:which(?MODULE)))]}),
    try peer:call(Peer, erlang, apply, [Fun, []], 240_000)
    after peer:stop(Peer)
    end.

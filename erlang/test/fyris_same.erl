%% Side by side: one fun, run with `ets' and with `fyris' in processes of their own.
-module(fyris_same).

-export([check/3, try_it/1, in_process/1, equal/4, raises/4, otp/0]).

%% Fails unless both give the same: the same value, or the same exception from a call with the same arguments.
check(Module, Line, Fun) ->
    Real = outcome(ets, Fun),
    Ours = outcome(fyris, Fun),
    case Ours =:= Real of
        true -> ok;
        false -> error({different, [{at, {Module, Line}}, {ets, Real},
                                    {fyris, Ours}]})
    end.

outcome(M, Fun) ->
    in_process(fun() -> plain(try_it(fun() -> Fun(M) end)) end).

%% The value, or what was raised and by which call.
try_it(Fun) ->
    try {value, Fun()}
    catch Class:Reason:Stack -> {Class, Reason, call(Stack)}
    end.

%% These ets makes of others, and it shows.
call([{_, F, _, _} | _])
  when F =:= internal_delete_all; F =:= internal_select_delete;
       F =:= delete_all_objects; F =:= select_delete; F =:= match_delete;
       F =:= init_table; F =:= tab2list; F =:= foldl; F =:= foldr ->
    elsewhere;
call([{M, F, Args, _} | _]) when is_list(Args), M =:= ets;
                                 is_list(Args), M =:= fyris ->
    {F, Args};
call(_) ->
    elsewhere.

%% Tids and the module's name differ; nothing else may.
plain(T) when is_reference(T) -> tid;
plain(T) when is_tuple(T) -> list_to_tuple(plain(tuple_to_list(T)));
plain([H | T]) -> [plain(H) | plain(T)];
plain(T) when is_map(T) -> maps:from_list(plain(maps:to_list(T)));
plain(fyris) -> ets;
plain(T) when is_pid(T) -> pid;
plain(T) when is_function(T) -> function;
plain(T) -> T.

in_process(Fun) ->
    {Pid, Monitor} = spawn_monitor(fun() -> exit({done, Fun()}) end),
    receive
        {'DOWN', Monitor, process, Pid, {done, Value}} -> Value;
        {'DOWN', Monitor, process, Pid, Reason} -> error({died, Reason})
    after 60_000 ->
            exit(Pid, kill),
            error(timeout)
    end.

equal(_, _, Same, Same) -> ok;
equal(Module, Line, Want, Got) ->
    error({different, [{at, {Module, Line}}, {want, Want}, {got, Got}]}).

raises(Module, Line, Reason, Fun) ->
    equal(Module, Line, {error, Reason},
          try {value, Fun()} catch Class:Raised -> {Class, Raised} end).

%% The release of OTP that this is.
otp() -> list_to_integer(erlang:system_info(otp_release)).

%% Runs a native call and raises what it raises as `ets' would have: in the name of the function that the
%% macro stands in, with its arguments.
-define(CALL(Call, Args),
        try Call
        catch error:{'$fyris_error', Class__, Cause__, Text__} ->
                erlang:error(Class__, Args,
                             [{error_info, #{cause => Cause__,
                                             module => fyris,
                                             text => Text__}}])
        end).

-define(BADARG(Args),
        erlang:error(badarg, Args,
                     [{error_info, #{cause => none, module => fyris}}])).

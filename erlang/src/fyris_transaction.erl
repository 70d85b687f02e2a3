%% @doc Runs transactions: {@link fyris:transaction/2}.
%%
%% The process that runs one has its reference in its dictionary, so that a transaction within it joins it. The library
%% keeps what was written; if the process ends, or is killed, that goes with the last reference.
%% @hidden
-module(fyris_transaction).

-export([options/1, run/3, current/0]).

-type retries() :: non_neg_integer() | infinity.

-include("fyris_call.hrl").

-define(KEY, '$fyris_transaction').

%% Where nothing else is asked for; no hold is longer than a day.
-define(RETRIES, 1000).
-define(HOLD, 100).
-define(LONGEST_HOLD, 86400000).

%% Attempts that follow each other at once; those after them wait, ever longer, up to so many milliseconds.
-define(AT_ONCE, 5).
-define(LONGEST, 16).

%% @doc Returns how often to try again, and for how many milliseconds writers may wait; `false' for what says neither.
-spec options(term()) -> {retries(), non_neg_integer()} | false.
options(Options) when is_list(Options) -> options(Options, {?RETRIES, ?HOLD});
options(Retries) -> options([{retries, Retries}]).

options([], Known) -> Known;
options([{retries, infinity} | Rest], {_, Hold}) -> options(Rest, {infinity, Hold});
options([{retries, N} | Rest], {_, Hold}) when is_integer(N), N >= 0 -> options(Rest, {N, Hold});
options([{hold, Ms} | Rest], {Retries, _}) when is_integer(Ms), Ms >= 0, Ms =< ?LONGEST_HOLD ->
    options(Rest, {Retries, Ms});
options(_, _) -> false.

%% @doc Runs `Fun' in a transaction, which is tried again up to `Retries' times; in the end writers wait for it, up to
%% `Hold' milliseconds.
-spec run(fun((reference()) -> Result), retries(), non_neg_integer()) -> {atomic, Result} | {aborted, term()}.
run(Fun, Retries, Hold) ->
    case current() of
        undefined -> outermost(Fun, Retries, Hold);
        Transaction -> nested(Transaction, Fun)
    end.

%% @doc Returns the transaction that the process runs, or `undefined'.
-spec current() -> reference() | undefined.
current() -> get(?KEY).

outermost(Fun, Retries, Hold) ->
    Transaction = fyris_nif:transaction(Hold),
    put(?KEY, Transaction),
    try attempt(Transaction, Fun, Retries, 1)
    after
        erase(?KEY),
        fyris_nif:transaction_abort(Transaction)
    end.

attempt(Transaction, Fun, Retries, N) ->
    Result = result(Transaction, Fun),
    case is_committed(Transaction, Result) of
        true ->
            Result;
        {aborted, _} = Refused ->
            Refused;
        {conflict, _, _} = Conflict when Retries =:= 0 ->
            {aborted, Conflict};
        {conflict, _, _} ->
            wait(N),
            fyris_nif:transaction_again(Transaction),
            attempt(Transaction, Fun, less(Retries), N + 1)
    end.

%% Commits what has gone well. Returns the conflict that is a reason to try again, or `{aborted, {Reason, Stack}}' for
%% an error.
is_committed(Transaction, {atomic, _}) ->
    try ?CALL(fyris_nif:transaction_commit(Transaction), [])
    catch error:Reason:Stack -> {aborted, {Reason, Stack}}
    end;
is_committed(Transaction, {aborted, Reason}) ->
    case fyris_nif:transaction_has_conflict(Transaction) of
        false -> true;
        true when element(1, Reason) =:= conflict -> Reason;
        %% It was caught, or has led to another error.
        true -> {conflict, undefined, undefined}
    end.

less(infinity) -> infinity;
less(Retries) -> Retries - 1.

wait(N) when N =< ?AT_ONCE -> erlang:yield();
wait(N) -> timer:sleep(rand:uniform(min(N - ?AT_ONCE, ?LONGEST))).

nested(Transaction, Fun) ->
    fyris_nif:transaction_begin_nested(Transaction),
    Result = result(Transaction, Fun),
    fyris_nif:transaction_end_nested(Transaction, element(1, Result) =:= atomic),
    Result.

%% In the forms of Mnesia.
result(Transaction, Fun) ->
    try
        {atomic, Fun(Transaction)}
    catch
        throw:Thrown -> {aborted, {throw, Thrown}};
        exit:{aborted, Reason} -> {aborted, Reason};
        exit:Reason -> {aborted, Reason};
        error:Reason:Stack -> {aborted, {Reason, Stack}}
    end.

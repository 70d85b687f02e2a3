%% @doc Reads what {@link fyris:subscribe/3} is asked for.
%% @hidden
-module(fyris_watch).

-export([subscribe/3]).

%% Changes that a queue has room for where no other number is given, and the largest number: a small integer.
-define(QUEUE, 65536).
-define(MOST, (1 bsl 59 - 1)).

%% @doc Subscribes the calling process, or that of the option `to', to tables.
-spec subscribe([fyris:table()], fyris:watch_filter(), [fyris:subscribe_option()]) -> reference().
subscribe(Tables, What, Options) ->
    Filter = filter(What),
    #{queue := Queue, from := From, conflate := Conflate, active := Active, to := To} =
        options(Options, #{queue => ?QUEUE, from => now, conflate => false, active => true, to => self()}),
    fyris_nif:subscribe(Tables, Filter, Queue, From =:= snapshot, Conflate, Active, To).

filter(all) -> all;
filter({key, Key}) -> {key, Key};
filter({range, From, To}) -> {range, bound(From), bound(To)};
filter({pattern, Pattern}) -> {pattern, Pattern};
filter([_ | _] = Spec) -> {spec, Spec};
filter(What) -> bad(filter, "bad filter ~0tP: filters are all, {key,Key}, {range,From,To}, {pattern,Pattern} and a "
                            "match specification", What).

bound('_') -> unbounded;
bound(Key) -> {included, Key}.

options([Option | Rest], Sofar) ->
    case Option of
        {from, snapshot} -> options(Rest, Sofar#{from := snapshot});
        {queue, N} when is_integer(N), N > 0, N =< ?MOST -> options(Rest, Sofar#{queue := N});
        {conflate, Conflate} when is_boolean(Conflate) -> options(Rest, Sofar#{conflate := Conflate});
        {active, true} -> options(Rest, Sofar#{active := true});
        {active, N} when is_integer(N), N > 0, N =< ?MOST -> options(Rest, Sofar#{active := N});
        {to, Pid} when is_pid(Pid), node(Pid) =:= node() -> options(Rest, Sofar#{to := Pid});
        _ -> bad_option(Option)
    end;
options([], Options) ->
    Options;
options(Rest, _) ->
    bad_option(Rest).

-spec bad_option(term()) -> no_return().
bad_option(Option) ->
    bad(option, "bad option ~0tP: options are a proper list of {from,snapshot}, {queue,N}, {conflate,Boolean}, "
                "{active,true}, {active,N}, {to,Pid} of a local process (N from 1 below 2^59)", Option).

-spec bad(atom(), string(), term()) -> no_return().
bad(Cause, Format, What) ->
    error({'$fyris_error', badarg, Cause, unicode:characters_to_binary(io_lib:format(Format, [What, 20]))}).

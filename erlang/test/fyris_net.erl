%% A network of three addresses for nodes: network namespaces joined by a bridge, where the machine allows that (root,
%% `ip'); else three addresses of the loopback. A split is a cable pulled out there, and cookies that differ here.
-module(fyris_net).

-export([make/0, remove/1, node_options/2, cut/3, join/3]).

-define(NUMBERS, [1, 2, 3]).

%% The kind of network, and what its parts are called.
make() ->
    Id = string:slice(os:getpid(), 0, 7),
    Net = {namespaces, "fy" ++ Id},
    case os:find_executable("ip") of
        false -> loopback;
        _ ->
            case all_ok(wires(Net)) of
                true -> Net;
                false -> remove(Net), loopback
            end
    end.

wires({namespaces, Id} = Net) ->
    [["link add ", bridge(Net), " type bridge"], ["link set ", bridge(Net), " up"]
     | lists:append([wires(Net, Id, I) || I <- ?NUMBERS])].

wires(Net, Id, I) ->
    Inside = [Id, "i", digit(I)],
    [["netns add ", namespace(Net, I)],
     ["link add ", cable(Net, I), " type veth peer name ", Inside],
     ["link set ", cable(Net, I), " master ", bridge(Net), " up"],
     ["link set ", Inside, " netns ", namespace(Net, I)],
     ["-n ", namespace(Net, I), " addr add ", address(Net, I), "/24 dev ", Inside],
     ["-n ", namespace(Net, I), " link set ", Inside, " up"],
     ["-n ", namespace(Net, I), " link set lo up"]].

%% Each namespace has an epmd of its own, which nobody else would end.
remove(loopback) ->
    ok;
remove(Net) ->
    [kill_epmd(namespace(Net, I), 40) || I <- ?NUMBERS],
    [ip(["netns del ", namespace(Net, I)]) || I <- ?NUMBERS],
    ip(["link del ", bridge(Net)]),
    ok.

%% It stays while it believes that a node is there.
kill_epmd(_, 0) -> ok;
kill_epmd(Namespace, N) ->
    case os:cmd("ip netns exec " ++ Namespace ++ " epmd -kill") of
        "Killing not allowed" ++ _ -> timer:sleep(50), kill_epmd(Namespace, N - 1);
        _ -> ok
    end.

all_ok(Commands) -> lists:all(fun ip/1, Commands).

ip(Arguments) ->
    os:cmd(lists:flatten(["ip ", Arguments, " >/dev/null 2>&1; echo $?"])) =:= "0\n".

bridge({_, Id}) -> Id ++ "b".
cable({_, Id}, I) -> Id ++ "c" ++ digit(I).
namespace({_, Id}, I) -> Id ++ "n" ++ digit(I).

address(loopback, I) -> "127.0.0." ++ digit(I);
address(_, I) -> "10.213.87." ++ digit(I).

digit(I) -> integer_to_list(I).

%% Options of `peer:start/1' for node I.
node_options(loopback, I) ->
    #{host => address(loopback, I)};
node_options(Net, I) ->
    Ip = os:find_executable("ip"),
    #{host => address(Net, I),
      exec => {Ip, ["netns", "exec", namespace(Net, I), os:find_executable("erl")]}}.

%% Takes the third node away from the others; Side and Other are {Peer, Name}.
cut(loopback, Side, {Other, OtherName}) ->
    [begin
         peer:call(N, erlang, set_cookie, [OtherName, away]),
         peer:call(Other, erlang, set_cookie, [Name, gone])
     end || {N, Name} <- Side],
    [peer:call(Other, erlang, disconnect_node, [Name]) || {_, Name} <- Side],
    ok;
cut(Net, _, _) ->
    true = ip(["link set ", cable(Net, 3), " down"]),
    ok.

join(loopback, Side, {Other, OtherName}) ->
    [begin
         peer:call(N, erlang, set_cookie, [OtherName, fyris]),
         peer:call(Other, erlang, set_cookie, [Name, fyris])
     end || {N, Name} <- Side],
    meet(Side, Other);
join(Net, Side, {Other, _}) ->
    true = ip(["link set ", cable(Net, 3), " up"]),
    meet(Side, Other).

meet(Side, Other) ->
    [true = meet(Other, Name, 100) || {_, Name} <- Side],
    ok.

meet(_, _, 0) -> false;
meet(Other, Name, N) ->
    peer:call(Other, net_kernel, connect_node, [Name], 30_000) orelse
        begin timer:sleep(50), meet(Other, Name, N - 1) end.

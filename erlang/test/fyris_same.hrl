%% Runs a fun with `ets' and with `fyris' and compares what comes of it.
-define(same(Body), fyris_same:check(?MODULE, ?LINE, fun(M) -> Body end)).
%% The same for every type of table: T is a fresh public table.
-define(same_types(Types, Body),
        [fyris_same:check(?MODULE, {?LINE, Type__},
                          fun(M) -> T = M:new(t, [Type__, public]), Body end)
         || Type__ <- Types]).
-define(ALL, [set, ordered_set, bag, duplicate_bag]).
-define(HASH, [set, bag, duplicate_bag]).
-define(UNIQUE, [set, ordered_set]).
-define(BAGS, [bag, duplicate_bag]).

%% Debian keeps eunit's header in a package for developers; these few are all that is needed of it.
-define(assertEqual(Want, Expr), fyris_same:equal(?MODULE, ?LINE, Want, Expr)).
-define(assert(Expr), ?assertEqual(true, Expr)).
-define(assertMatch(Pattern, Expr),
        ?assertEqual(matches, (fun(Pattern) -> matches; (Got__) -> Got__ end)(Expr))).
-define(assertError(Reason, Expr),
        ?assertEqual(raised, (fun() -> try {value, Expr} catch error:Reason -> raised end end)())).

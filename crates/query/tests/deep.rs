//! Specifications of any depth, on a small stack.

mod common;

use common::Stored;
use fyris_query::{Machine, MatchSpec, Place, PlanKind, SpecError, TableOrder};
use fyris_term::{Map, Term};

/// More than the stack of these tests takes, at a hundred bytes a level.
const LEVELS: usize = 20_000;
/// More than any stack takes.
const MANY_LEVELS: usize = 1_000_000;

fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(128 << 10);
    let thread = thread.spawn(run).expect("a thread");
    thread.join().expect("no panic");
}

/// Returns `inner` inside so many levels.
fn nested(levels: usize, inner: Term, wrap: impl Fn(Term) -> Term) -> Term {
    (0..levels).fold(inner, |inner, _| wrap(inner))
}

fn term(text: &str) -> Term {
    Term::parse(text).expect("a term")
}

fn call<const N: usize>(name: &str, arguments: [Term; N]) -> Term {
    let call = [Term::atom(name)].into_iter().chain(arguments);
    Term::tuple(call.collect::<Vec<Term>>())
}

fn spec(head: Term, guards: Vec<Term>, body: Term) -> Term {
    let clause = vec![head, Term::list(guards), Term::list(vec![body])];
    Term::list(vec![Term::tuple(clause)])
}

/// Compiles a specification, and does with it what can be done without an object.
fn compiled(source: Term) -> MatchSpec {
    let spec = MatchSpec::new(&source).expect("a specification");
    assert_eq!(spec, MatchSpec::of(source).expect("a specification"));
    assert!(format!("{spec:?}").starts_with("MatchSpec(["));
    for order in [TableOrder::Hash, TableOrder::Ordered] {
        let plan = spec.plan(1, order);
        assert!(plan.describe().as_map().is_some());
    }
    spec.clone()
}

/// Runs a specification over a tuple, as a term and as it is stored by each key.
fn run(spec: &MatchSpec, object: &Term) -> Option<Term> {
    let machine = Machine::default();
    let value = spec.run_term(object, &machine);
    for keypos in 1..=object.as_tuple().map_or(0, <[Term]>::len) {
        let stored = Stored::new(object, keypos);
        assert_eq!(spec.run(&stored.view(), &machine), value);
        let is_true = value == Some(term("true"));
        assert_eq!(spec.matches_true(&stored.view(), &machine), is_true);
    }
    value
}

/// A million levels of each kind, in guards, bodies and heads.
#[test]
fn specifications_nest_a_million_times() {
    on_a_small_stack(|| {
        let machine = Machine::default();
        let many = |inner, wrap: &dyn Fn(Term) -> Term| nested(MANY_LEVELS, inner, wrap);
        let one = || term("'$1'");
        let chain = many(term("true"), &|inner| {
            call("andalso", [call("=/=", [one(), Term::Int(9)]), inner])
        });
        let sum = many(one(), &|inner| call("+", [inner, Term::Int(1)]));
        let tuple = |inner| Term::tuple(vec![inner]);
        let tuples = many(one(), &|inner| tuple(tuple(inner)));
        let body = Term::tuple(vec![Term::tuple(vec![sum, tuples])]);
        let spec_of =
            |head, guards, body| MatchSpec::of(spec(head, guards, body)).expect("a specification");
        let of_calls = spec_of(term("{'$1'}"), vec![chain], body);
        let sum = Term::Int(MANY_LEVELS as i64 + 7);
        let value = Term::tuple(vec![sum, many(Term::Int(7), &tuple)]);
        assert_eq!(of_calls.run_term(&term("{7}"), &machine), Some(value));
        assert_eq!(of_calls.run_term(&term("{9}"), &machine), None);

        let list = |inner| Term::list(vec![inner, Term::Int(1)]);
        let map = |inner| Term::Map(Map::new([(Term::atom("k"), inner)]));
        let object = |inner| Term::tuple(vec![many(inner, &list), Term::Int(1)]);
        let of_lists = spec_of(object(one()), vec![], one());
        let stored = Stored::new(&object(Term::Int(7)), 2);
        assert_eq!(of_lists.run(&stored.view(), &machine), Some(Term::Int(7)));
        let object = |inner| Term::tuple(vec![many(inner, &map), Term::Int(1)]);
        let of_maps = spec_of(object(one()), vec![], one());
        let stored = Stored::new(&object(Term::Int(7)), 2);
        assert_eq!(of_maps.run(&stored.view(), &machine), Some(Term::Int(7)));
    });
}

#[test]
fn calls_nest_in_guards_and_bodies() {
    on_a_small_stack(|| {
        let head = || term("{'$1'}");
        let sum = nested(LEVELS, term("'$1'"), |inner| {
            call("+", [inner, Term::Int(1)])
        });
        let enough = call("=:=", [sum.clone(), Term::Int(LEVELS as i64 + 5)]);
        let adds = compiled(spec(head(), vec![enough], sum));
        assert_eq!(run(&adds, &term("{5}")), Some(Term::Int(LEVELS as i64 + 5)));
        assert_eq!(run(&adds, &term("{6}")), None);
        assert_eq!(run(&adds, &term("{a}")), None);

        let not = nested(LEVELS + 1, term("'$1'"), |inner| call("not", [inner]));
        let denies = compiled(spec(head(), vec![not.clone()], term("true")));
        assert_eq!(run(&denies, &term("{false}")), Some(term("true")));
        assert_eq!(run(&denies, &term("{true}")), None);
        // The innermost call fails; its value `'EXIT'` is no boolean, so all around it fail.
        let exits = compiled(spec(head(), vec![], not));
        assert_eq!(run(&exits, &term("{1}")), Some(term("'EXIT'")));
    });
}

/// What `fun2ms` makes of `X =/= 1 andalso X =/= 2 ...`, and what a fold over a list makes.
#[test]
fn chains_nest_on_either_side() {
    on_a_small_stack(|| {
        for (name, comparison, on_the_right) in [
            ("andalso", "=/=", true),
            ("andalso", "=/=", false),
            ("orelse", "=:=", true),
            ("orelse", "=:=", false),
            ("and", "=/=", true),
        ] {
            let one = |n: usize| call(comparison, [term("'$1'"), Term::Int(n as i64)]);
            let chain = (1..LEVELS).fold(one(0), |inner, n| match on_the_right {
                true => call(name, [one(n), inner]),
                false => call(name, [inner, one(n)]),
            });
            let spec = compiled(spec(term("{'$1'}"), vec![chain], term("'$1'")));
            for (object, is_listed) in [("{7}", true), ("{-1}", false), ("{a}", false)] {
                let matches = run(&spec, &term(object)).is_some();
                assert_eq!(matches, is_listed == (name == "orelse"), "{name} {object}");
            }
            let points = spec.plan(1, TableOrder::Hash).points().len();
            assert_eq!(points, if name == "orelse" { LEVELS } else { 0 });
        }
    });
}

/// No two neighbours are one operator.
#[test]
fn operators_alternate() {
    on_a_small_stack(|| {
        let levels = LEVELS;
        let alternating = (0..levels).fold(term("'$2'"), |inner, n| {
            let key = call("=:=", [term("'$1'"), Term::Int(n as i64)]);
            match n % 2 {
                0 => call("andalso", [call("not", [key]), inner]),
                _ => call("orelse", [key, inner]),
            }
        });
        let spec = compiled(spec(term("{'$1','$2'}"), vec![alternating], term("'$2'")));
        for (object, value) in [
            ("{7,false}", Some("false")),
            ("{8,true}", None),
            ("{-1,true}", Some("true")),
            ("{-1,false}", None),
            ("{-1,1}", None),
        ] {
            assert_eq!(run(&spec, &term(object)), value.map(term), "{object}");
        }
    });
}

#[test]
fn structures_nest_in_bodies() {
    on_a_small_stack(|| {
        let value = || term("'$1'");
        let in_braces = |inner| Term::tuple(vec![Term::tuple(vec![inner])]);
        let tuple = |inner| Term::tuple(vec![inner]);
        let list = |inner| Term::list(vec![inner, Term::Int(1)]);
        let cell = |inner| Term::improper(vec![inner], Term::atom("t"));
        let map = |inner| Term::Map(Map::new([(Term::atom("k"), inner)]));
        type Wrap = fn(Term) -> Term;
        let kinds: [(Wrap, Wrap); 4] = [(in_braces, tuple), (list, list), (cell, cell), (map, map)];
        for (build, built) in kinds {
            // Of a variable, and of a constant.
            for (inner, innermost) in [(value(), 7), (Term::Int(8), 8)] {
                let body = nested(LEVELS, inner, build);
                let spec = compiled(spec(term("{'$1'}"), vec![], body));
                let expected = nested(LEVELS, Term::Int(innermost), built);
                assert_eq!(run(&spec, &term("{7}")), Some(expected));
            }
        }
    });
}

#[test]
fn heads_nest() {
    on_a_small_stack(|| {
        let tuple = |inner| Term::tuple(vec![Term::atom("a"), inner]);
        let list = |inner| Term::list(vec![inner, Term::Int(1)]);
        let cell = |inner| Term::improper(vec![Term::Int(1)], Term::tuple(vec![inner]));
        let map = |inner| Term::Map(Map::new([(Term::atom("k"), inner)]));
        for wrap in [tuple, list, cell, map] as [fn(Term) -> Term; 4] {
            let around = |inner| Term::tuple(vec![nested(LEVELS, inner, wrap), term("x")]);
            let (seven, eight) = (around(Term::Int(7)), around(Term::Int(8)));
            let binds = compiled(spec(around(term("'$1'")), vec![], term("'$1'")));
            assert_eq!(run(&binds, &seven), Some(Term::Int(7)));
            assert_eq!(run(&binds, &eight), Some(Term::Int(8)));
            let skips = compiled(spec(around(term("'_'")), vec![], term("true")));
            assert_eq!(run(&skips, &seven), Some(term("true")));
            let names = compiled(spec(seven.clone(), vec![], term("true")));
            assert_eq!(run(&names, &seven), Some(term("true")));
            assert_eq!(run(&names, &eight), None);
        }
    });
}

#[test]
fn deep_keys_are_planned_and_kept() {
    on_a_small_stack(|| {
        let wrap = |inner| Term::tuple(vec![Term::atom("a"), inner]);
        let key = |inner| nested(LEVELS, inner, wrap);
        let head = |inner| Term::tuple(vec![key(inner), term("'$9'")]);
        let plan = |guard: &str, order| {
            let spec = compiled(spec(head(term("'$1'")), vec![term(guard)], term("'$9'")));
            (spec.plan(1, order).kind(), spec.preserves_key(1).is_ok())
        };
        assert_eq!(plan("true", TableOrder::Ordered), (PlanKind::Prefix, false));
        assert_eq!(
            plan("{'>','$1',5}", TableOrder::Ordered),
            (PlanKind::Range, false)
        );
        assert_eq!(
            plan("{'=:=','$1',5}", TableOrder::Hash),
            (PlanKind::Point, false)
        );

        let build = |inner| Term::tuple(vec![Term::tuple(vec![Term::atom("a"), inner])]);
        let kept = call("const", [Term::Int(1)]);
        let body = |key| Term::tuple(vec![Term::tuple(vec![key, term("x")])]);
        for (inner, pattern, keeps) in [
            (term("'$1'"), term("'$1'"), true),
            (kept.clone(), Term::Int(1), true),
            (kept, Term::Int(2), false),
        ] {
            let body = body(nested(LEVELS, inner, build));
            let spec = compiled(spec(head(pattern), vec![], body));
            assert_eq!(spec.preserves_key(1).is_ok(), keeps);
        }
        // A literal as a whole, compared with the key by a guard.
        let equal = call("=:=", [term("'$1'"), call("const", [key(Term::Int(1))])]);
        let spec = compiled(spec(term("{'$1','_'}"), vec![equal], term("true")));
        assert_eq!(spec.plan(1, TableOrder::Hash).kind(), PlanKind::Point);
    });
}

#[test]
fn problems_are_found_at_any_depth() {
    on_a_small_stack(|| {
        let not = nested(LEVELS, term("'$1'"), |inner| call("not", [inner]));
        let Err(SpecError::Bad(problems)) = MatchSpec::of(spec(term("'_'"), vec![not], term("x")))
        else {
            panic!("the variable is not bound");
        };
        assert_eq!(problems[0].place, Place::Guard(1, 1));
        let lists = nested(LEVELS, term("x"), |inner| Term::list(vec![inner]));
        assert!(MatchSpec::new(&lists).is_err());
    });
}

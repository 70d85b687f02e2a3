//! Random specifications over random objects: two engines agree, and plans lose nothing.

mod common;

use common::Stored;
use fyris_query::arbitrary::{Case, case};
use fyris_query::{Machine, MatchSpec, PlanKind, TableOrder};
use fyris_term::{Term, arbitrary};
use proptest::prelude::*;

fn compiled(case: &Case) -> Option<MatchSpec> {
    MatchSpec::new(&case.spec).ok()
}

fn check_engines(case: &Case) -> Result<(), TestCaseError> {
    let Some(spec) = compiled(case) else {
        return Ok(());
    };
    let machine = Machine::default();
    for object in &case.objects {
        let over_term = spec.run_term(object, &machine);
        let same_into = |run: &dyn Fn(&mut Vec<Term>) -> bool| {
            let mut values = Vec::new();
            prop_assert_eq!(run(&mut values), over_term.is_some());
            prop_assert_eq!(
                values.pop(),
                over_term.clone(),
                "{:?} over {}",
                spec,
                object
            );
            Ok(())
        };
        same_into(&|values| spec.run_term_into(object, &machine, values))?;
        for keypos in 1..=object.as_tuple().map_or(0, <[Term]>::len) {
            let stored = Stored::new(object, keypos);
            let over_bytes = spec.run(&stored.view(), &machine);
            prop_assert_eq!(
                &over_bytes,
                &over_term,
                "{:?} over {} with key {}",
                spec,
                object,
                keypos
            );
            same_into(&|values| spec.run_into(&stored.view(), &machine, values))?;
            let is_true = over_term == Some(Term::atom("true"));
            prop_assert_eq!(spec.matches_true(&stored.view(), &machine), is_true);
            prop_assert_eq!(spec.matches(&stored.view(), &machine), over_term.is_some());
        }
    }
    Ok(())
}

/// Returns the specification with each guard inside `levels` times `not`, an even number, and each body inside as many
/// tuples.
fn deepened(spec: &Term, levels: usize) -> Option<Term> {
    let denied = |guard: &Term| {
        let deny = |inner, _| Term::tuple(vec![Term::atom("not"), inner]);
        (0..levels).fold(guard.clone(), deny)
    };
    let built = |body: &Term| {
        let build = |inner, _| Term::tuple(vec![Term::tuple(vec![inner])]);
        (0..levels).fold(body.clone(), build)
    };
    let clause = |clause: &Term| {
        let [head, guards, body] = clause.as_tuple()? else {
            return None;
        };
        let guards: Vec<Term> = guards.as_list()?.iter().map(denied).collect();
        let body: Vec<Term> = body.as_list()?.iter().map(built).collect();
        let parts = [head.clone(), Term::list(guards), Term::list(body)];
        Some(Term::tuple(parts.to_vec()))
    };
    let clauses: Option<Vec<Term>> = spec.as_list()?.iter().map(clause).collect();
    clauses.map(Term::list)
}

fn check_deep(case: &Case, levels: usize) -> Result<(), TestCaseError> {
    let (Some(spec), Some(deep)) = (compiled(case), deepened(&case.spec, levels)) else {
        return Ok(());
    };
    let deep = MatchSpec::of(deep).expect("a specification");
    let machine = Machine::default();
    for object in &case.objects {
        let unwrapped = |value: Term| match value.as_tuple() {
            Some([inner]) => inner.clone(),
            _ => panic!("{value}"),
        };
        let value = deep.run_term(object, &machine);
        let value = value.map(|value| (0..levels).fold(value, |value, _| unwrapped(value)));
        prop_assert_eq!(value, spec.run_term(object, &machine), "{:?}", spec);
    }
    Ok(())
}

/// Generates specifications of the common form: variables in the head, a comparison with an integer, an element or
/// `true`.
fn plain_case() -> impl Strategy<Value = Case> {
    let number = prop_oneof![
        -3i64..4,
        prop_oneof![Just(i64::MIN), Just(1 << 40), any::<i64>()]
    ];
    let element = prop_oneof![
        6 => number.clone().prop_map(Term::Int),
        1 => (-3i64..4).prop_map(|n| Term::parse(&format!("{n}.0")).expect("a float")),
        2 => arbitrary::term(),
    ];
    let signs = prop::sample::select(vec!["<", ">", "=<", ">=", "==", "/=", "=:=", "=/="]);
    let guard =
        (signs, 1usize..4, number).prop_map(|(sign, at, n)| format!("{{'{sign}','${at}',{n}}}"));
    let objects = prop::collection::vec(prop::collection::vec(element, 1..5), 1..12);
    let body = prop::sample::select(vec![
        "true",
        "'$1'",
        "'$2'",
        "'$3'",
        "'$_'",
        "{{'$2','$1'}}",
    ]);
    let guards = prop::collection::vec(guard, 1..3);
    (objects, guards, body).prop_map(|(objects, guards, body)| Case {
        keypos: 1,
        objects: objects.into_iter().map(Term::tuple).collect(),
        spec: Term::parse(&format!(
            "[{{{{'$1','$2','$3'}},[{}],[{body}]}}]",
            guards.join(",")
        ))
        .expect("a specification"),
    })
}

/// Generates heads in which an element is a small integer, mostly one that some objects have there.
fn integer_case() -> impl Strategy<Value = Case> {
    let object = prop_oneof![
        4 => (-3i64..4).prop_map(Term::Int),
        1 => (-3i64..4).prop_map(|n| Term::parse(&format!("{n}.0")).expect("a float")),
        1 => arbitrary::term(),
    ];
    let element = prop_oneof![
        2 => (-3i64..4).prop_map(|n| n.to_string()),
        1 => Just("'_'".to_owned()),
        2 => Just("'$'".to_owned()),
    ];
    let objects = prop::collection::vec(prop::collection::vec(object, 3..5), 1..20);
    let head = prop::collection::vec(element, 3..5);
    let body = prop::sample::select(vec!["true", "'$_'", "'$$'"]);
    (objects, head, body, 1usize..4).prop_map(|(objects, head, body, keypos)| {
        let head = (1..).zip(head).map(|(at, element)| match &*element {
            "'$'" => format!("'${at}'"),
            _ => element,
        });
        let head: Vec<_> = head.collect();
        let spec = format!("[{{{{{}}},[],[{body}]}}]", head.join(","));
        Case {
            keypos,
            objects: objects.into_iter().map(Term::tuple).collect(),
            spec: Term::parse(&spec).expect("a specification"),
        }
    })
}

fn check_plans(case: &Case) -> Result<(), TestCaseError> {
    let Some(spec) = compiled(case) else {
        return Ok(());
    };
    let machine = Machine::default();
    let ordered = spec.plan(case.keypos, TableOrder::Ordered);
    let hash = spec.plan(case.keypos, TableOrder::Hash);
    let apart = ordered
        .ranges()
        .windows(2)
        .all(|pair| match (&pair[0].upper, &pair[1].lower) {
            (std::ops::Bound::Unbounded, _) | (_, std::ops::Bound::Unbounded) => false,
            (
                std::ops::Bound::Included(a) | std::ops::Bound::Excluded(a),
                std::ops::Bound::Included(b) | std::ops::Bound::Excluded(b),
            ) => a <= b,
        });
    prop_assert!(apart, "{:?}", ordered);
    for object in &case.objects {
        let stored = Stored::new(object, case.keypos);
        if !spec.matches(&stored.view(), &machine) {
            continue;
        }
        let order = stored.key().order();
        let in_range = ordered.ranges().iter().any(|range| range.contains(order));
        prop_assert!(
            in_range,
            "{:?} loses {} by {}",
            spec,
            object,
            ordered.describe()
        );
        let found = hash.kind() == PlanKind::FullScan || hash.points().contains(stored.key());
        prop_assert!(found, "{:?} loses {} by {}", spec, object, hash.describe());
    }
    Ok(())
}

/// Checks that a body that provably preserves the key preserves it.
fn check_kept_keys(case: &Case) -> Result<(), TestCaseError> {
    let Some(spec) = compiled(case) else {
        return Ok(());
    };
    if spec.preserves_key(case.keypos).is_err() {
        return Ok(());
    }
    for object in &case.objects {
        let Some(new) = spec.run_term(object, &Machine::default()) else {
            continue;
        };
        let key = |tuple: &Term| Some(tuple.as_tuple()?.get(case.keypos - 1)?.clone());
        prop_assert_eq!(key(&new), key(object));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_and_terms_give_the_same(case in case()) {
        check_engines(&case)?;
    }

    #[test]
    fn the_prefilter_agrees(case in plain_case()) {
        check_engines(&case)?;
    }

    #[test]
    fn the_prefilter_of_an_integer_agrees(case in integer_case()) {
        check_engines(&case)?;
    }

    #[test]
    fn plans_lose_nothing(case in case()) {
        check_plans(&case)?;
    }

    #[test]
    fn kept_keys_are_kept(case in case()) {
        check_kept_keys(&case)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any term is a specification or refused with a reason.
    #[test]
    fn any_term_is_compiled_or_refused(term in arbitrary::term(), object in arbitrary::term()) {
        let machine = Machine::default();
        let candidates = [
            term.clone(),
            Term::list(vec![term.clone()]),
            Term::list(vec![Term::tuple(vec![
                term.clone(),
                Term::list(vec![term.clone()]),
                Term::list(vec![term]),
            ])]),
        ];
        for spec in candidates {
            match MatchSpec::compile(&spec) {
                Ok(spec) => {
                    spec.run_term(&object, &machine);
                }
                Err(error) => prop_assert!(!error.texts().is_empty()),
            }
        }
    }

    #[test]
    fn depth_changes_no_value(case in case()) {
        // Around the levels that are evaluated by recursion.
        for levels in [12, 14, 16, 20] {
            check_deep(&case, levels)?;
        }
    }

    /// Objects of every type, closures and blobs among them, match themselves and give themselves back.
    #[test]
    fn objects_match_themselves(elements in proptest::collection::vec(arbitrary::term(), 1..5)) {
        let object = Term::tuple(elements.clone());
        let machine = Machine::default();
        let names = ["$1", "$2", "$3", "$4", "$5"];
        let variables = names[..elements.len()].iter().map(|name| Term::atom(name)).collect();
        let spec = Term::tuple(vec![
            Term::Tuple(variables),
            Term::list(vec![]),
            Term::list(vec![Term::atom("$$")]),
        ]);
        let spec = MatchSpec::new(&Term::list(vec![spec])).expect("a spec");
        for keypos in 1..=elements.len() {
            let stored = Stored::new(&object, keypos);
            let list = spec.run(&stored.view(), &machine);
            prop_assert_eq!(list, Some(Term::list(elements.clone())));
            prop_assert_eq!(stored.view().to_term(), object.clone());
        }
    }
}

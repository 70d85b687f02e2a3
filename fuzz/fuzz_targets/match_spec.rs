//! Any term as a match specification over any tuple: checked, planned, compiled and run in both forms of the object.
//!
//! The input is external format: `{Spec, Object, KeyPos}`. What compiles gives the same over stored bytes and over the
//! term, and plans keep the keys of what matches.
#![no_main]

use fyris_query::{Machine, MatchSpec, ObjectView, PlanKind, TableOrder};
use fyris_term::key::KeyBuf;
use fyris_term::{Term, etf, value};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(Term::Tuple(input)) = etf::decode(bytes) else {
        return;
    };
    let [spec, Term::Tuple(elements), Term::Int(keypos)] = &input[..] else {
        return;
    };
    match MatchSpec::new(spec) {
        Ok(spec) => run(&spec, elements, *keypos),
        Err(error) => assert!(!error.texts().is_empty()),
    }
});

fn run(spec: &MatchSpec, elements: &[Term], keypos: i64) {
    let machine = Machine::default();
    let object = Term::tuple(elements.to_vec());
    let over_term = spec.run_term(&object, &machine);
    let mut values = Vec::new();
    spec.run_term_into(&object, &machine, &mut values);
    assert_eq!(values.pop(), over_term);
    let Some(keypos) = usize::try_from(keypos)
        .ok()
        .filter(|at| (1..=elements.len()).contains(at))
    else {
        return;
    };
    let key = KeyBuf::encode(&elements[keypos - 1]);
    let (mut stored, mut blobs) = (Vec::new(), Vec::new());
    for (i, element) in elements.iter().enumerate() {
        if i + 1 != keypos {
            value::encode(element, &mut stored, &mut blobs);
        }
    }
    let view = ObjectView {
        arity: elements.len(),
        keypos,
        key_order: key.order(),
        key_tail: &key.stored()[key.order_len()..],
        values: &stored,
        blobs: &blobs,
    };
    assert_eq!(spec.run(&view, &machine), over_term);
    spec.run_into(&view, &machine, &mut values);
    assert_eq!(values.pop(), over_term);
    assert_eq!(
        spec.matches_true(&view, &machine),
        over_term == Some(Term::atom("true"))
    );
    let ordered = spec.plan(keypos, TableOrder::Ordered);
    let hash = spec.plan(keypos, TableOrder::Hash);
    if over_term.is_some() {
        assert!(
            ordered
                .ranges()
                .iter()
                .any(|range| range.contains(key.order()))
        );
        assert!(hash.kind() == PlanKind::FullScan || hash.points().contains(&key));
    }
}

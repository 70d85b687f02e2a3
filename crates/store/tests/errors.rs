//! Tests of the texts of errors.

use fyris::dump::DumpError;
use fyris::{CounterOp, Error, MatchSpec, Options, Store};
use fyris_term::Term;

/// An error about a term names it in bounded time, however large the integers in it are: written out, each of these
/// took half a minute, some of them while the slot of the key was protected.
#[test]
fn errors_about_large_integers_are_short() {
    let big = Term::integer(num_bigint::BigInt::from(1) << 64_000_000_u32);
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", &Options::set()).expect("a table");
    let nested = Term::list(vec![big.clone()]);
    let object = Term::tuple(vec![Term::Int(1), nested.clone()]);
    table.insert(&object).expect("works");
    let errors = [
        table.insert(&nested).expect_err("no tuple"),
        table
            .update_counter(&Term::Int(1), &[CounterOp::add(1)])
            .expect_err("no counter"),
        table
            .update_counter_term(&Term::Int(1), &nested, None)
            .expect_err("no operation"),
        table
            .update_element_term(&Term::Int(1), &nested, None)
            .expect_err("no edit"),
        table
            .setopts_term(&nested, |_| None)
            .expect_err("no option"),
        Error::from(MatchSpec::new(&Term::list(vec![nested.clone()])).expect_err("no clause")),
    ];
    for error in errors {
        let text = error.to_string();
        assert!(text.len() < 300 && text.contains("64000001 bits"), "{text}");
    }
    let dumps = [
        DumpError::UnknownOption(nested.clone()),
        DumpError::MalformedOption(nested.clone()),
        DumpError::UnsupportedVersion {
            major: nested.clone(),
            minor: nested,
        },
    ];
    for error in dumps {
        for text in [error.to_string(), format!("{error:?}")] {
            assert!(text.len() < 200 && text.contains("64000001 bits"), "{text}");
        }
    }
}

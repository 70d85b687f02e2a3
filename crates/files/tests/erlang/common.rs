//! Files that Erlang has made, and what it reads of them.

use std::path::Path;
use std::process::Command;

use fyris_term::{Term, etf};

/// The files that are committed.
pub(crate) const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/erlang/golden");

/// Runs a script of this folder; false, and a word about it, where there is no Erlang.
///
/// # Panics
///
/// If the script fails.
pub(crate) fn escript(script: &str, args: &[&str]) -> bool {
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/erlang")
        .join(script);
    let Ok(output) = Command::new("escript").arg(script).args(args).output() else {
        eprintln!("skipped: no escript here");
        return false;
    };
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    true
}

/// Returns the term in a file.
pub(crate) fn term(path: &Path) -> Term {
    etf::decode(&std::fs::read(path).unwrap()).unwrap()
}

/// Returns the elements of a list.
pub(crate) fn list(term: Term) -> Vec<Term> {
    match term {
        Term::List(items) => items.into_vec(),
        other => panic!("{other} is no list"),
    }
}

/// Sorts by an order that tells all terms apart.
pub(crate) fn sorted(mut rows: Vec<Term>) -> Vec<Term> {
    rows.sort_by(Term::cmp_exact);
    rows
}

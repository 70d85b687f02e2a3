//! Real Erlang, where it is installed: random specifications over random objects give the same.
//!
//! Without `escript` the test says so and passes.

use std::process::Command;

use fyris_query::arbitrary::Case;
use fyris_query::{Machine, MatchSpec};
use fyris_term::{Term, etf};

const ORACLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle.escript");

/// The number of cases, unless `FYRIS_ORACLE_CASES` is set.
const CASES: u64 = 20_000;

/// Returns the result of Fyris for a case, in the form of the oracle.
fn answer(case: &Case, machine: &Machine) -> Term {
    let Ok(spec) = MatchSpec::compile(&case.spec) else {
        return Term::atom("badarg");
    };
    let one = |object| Term::List(spec.run_term(object, machine).into_iter().collect());
    Term::List(case.objects.iter().map(one).collect())
}

/// Returns the results of Erlang for the cases; `None` if it is not installed.
fn erlang(cases: &[Case]) -> Option<Vec<Term>> {
    let folder = std::env::temp_dir().join(format!("fyris-query-oracle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (questions, answers) = (folder.join("questions"), folder.join("answers"));
    let case = |case: &Case| Term::tuple(vec![case.spec.clone(), Term::list(case.objects.clone())]);
    let list = Term::List(cases.iter().map(case).collect());
    std::fs::write(&questions, etf::encode(&list)).expect("the questions");
    let output = Command::new("escript")
        .arg(ORACLE)
        .arg(&questions)
        .arg(&answers)
        .output();
    let Ok(output) = output else {
        eprintln!("skipped: no escript here");
        return None;
    };
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let bytes = std::fs::read(&answers).expect("the answers");
    std::fs::remove_dir_all(&folder).expect("an own folder");
    match etf::decode(&bytes).expect("a term") {
        Term::List(answers) => Some(answers.into_vec()),
        other => panic!("{other}"),
    }
}

/// Returns whether a case may depend on `0.0 =:= -0.0`, which holds before OTP 27; calculations make both zeros.
fn meets_negative_zero(case: &Case) -> bool {
    let text = format!("{} {:?}", case.spec, case.objects);
    text.contains("0.0")
        && ["'-'", "'*'", "'/'", "round"]
            .iter()
            .any(|name| text.contains(name))
}

/// Whether a case may take a part of a bitstring, which OTP 25 gives and 29 does not.
fn parts_a_bitstring(case: &Case) -> bool {
    let text = format!("{} {}", case.spec, Term::list(case.objects.clone()));
    let bits = (1..8).any(|bits| text.contains(&format!(":{bits}>>")));
    bits && text.contains("binary_part")
}

#[test]
fn erlang_gives_the_same() {
    let count = std::env::var("FYRIS_ORACLE_CASES")
        .ok()
        .and_then(|count| count.parse().ok());
    let first = std::env::var("FYRIS_ORACLE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok());
    let first = first.unwrap_or(0);
    let seeds = first..first + count.unwrap_or(CASES);
    let cases: Vec<Case> = seeds.map(Case::from_seed).collect();
    let Some(expected) = erlang(&cases) else {
        return;
    };
    let machine = Machine::default();
    let (mut refused, mut matched, mut exits) = (0, 0, 0);
    let mut different = Vec::new();
    for (case, expected) in cases.iter().zip(&expected) {
        let found = answer(case, &machine);
        refused += usize::from(found.as_atom().is_some());
        let answers = found.as_list().unwrap_or(&[]);
        matched += answers
            .iter()
            .filter(|one| one.as_list() != Some(&[]))
            .count();
        exits += usize::from(found.to_string().contains("'EXIT'"));
        if found != *expected && !meets_negative_zero(case) && !parts_a_bitstring(case) {
            different.push(format!(
                "{}\n  {}\n  fyris {found}\n  erlang {expected}",
                case.spec,
                Term::list(case.objects.clone())
            ));
        }
    }
    eprintln!(
        "{} cases: {refused} refused, {matched} matches, {exits} with 'EXIT'",
        cases.len()
    );
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different[..different.len().min(5)].join("\n")
    );
}

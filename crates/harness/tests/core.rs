//! The harness, over small tables: everything runs, answers are checked, wrong ones are found.

use clap::Parser;
use fyris_harness::{BenchArgs, BenchError, Contender, Registry, Seen, Subject};

fn args(line: &str) -> BenchArgs {
    BenchArgs::parse_from(line.split_whitespace())
}

/// All timed cases; memory is measured by running the program itself, which a test is not.
const POINTS: &str =
    "insert,hit,hit_dependent,miss,lookup,scan,range100,mix99,mix90,mix80,mix50,hot8,delete";

#[test]
fn every_subject_answers_right_in_every_case() {
    let args = args(&format!(
        "fyris-bench core --json --runs 1 --entries 3000 --ops 3000 --threads 1,3 --case {POINTS}"
    ));
    let lines = fyris_harness::run(&args, &Registry::own("test")).expect("all answers are right");
    for (keys, object) in [
        ("u64", None),
        ("bytes20", None),
        ("term_int", Some("{K, V}")),
    ] {
        for index in ["hash", "ordered"] {
            let cases = lines.iter().filter(|l| {
                (l.keys, l.index, l.object, l.threads) == (keys, Some(index), object, 3)
            });
            let ordered = usize::from(index == "ordered" && object.is_none());
            assert_eq!(cases.count(), 12 + ordered, "{index} {keys}");
        }
    }
}

#[test]
fn every_index_is_chosen_by_its_name() {
    for name in fyris_harness::judy::store().index_names() {
        let line = format!(
            "fyris-bench core --json --runs 1 --entries 500 --ops 500 --threads 2 --keys u64 --case {POINTS} --subject {name}"
        );
        let lines = fyris_harness::run(&args(&line), &Registry::own("test")).expect("it is known");
        let mut own = lines.iter().filter(|line| line.subject == "fyris");
        assert!(own.clone().count() >= 12, "{name}");
        assert!(own.all(|line| line.index == Some(name)), "{name}");
    }
}

#[test]
fn every_index_by_name_answers_right_in_the_programs_of_the_judy_study() {
    let timed = "insert_sequential,insert_random,lookup_sequential,lookup_random,traverse,update_counter,delete";
    let line = format!("bench judy --json --runs 1 --entries 800 --subject fyris --case {timed}");
    let lines = fyris_harness::run(&args(&line), &Registry::own("test")).expect("right answers");
    for name in fyris_harness::judy::store().index_names() {
        let of_index = lines.iter().filter(|line| line.index == Some(name));
        assert_eq!(of_index.clone().count(), 2 * 7, "{name}: two sizes");
        assert!(of_index.clone().all(|line| line.figure() > 0.0), "{name}");
    }
    let nobody = args("bench judy --subject nobody");
    let error = fyris_harness::run(&nobody, &Registry::own("test")).expect_err("no such subject");
    assert!(
        error.to_string().contains("each index by its name"),
        "{error}"
    );
}

/// A map that forgets every removal.
struct Forgetful(std::sync::Mutex<std::collections::HashMap<u64, u64>>);

impl Subject<u64> for Forgetful {
    const ORDERED: bool = false;
    const ADDS: Option<bool> = None;

    fn new() -> Self {
        Self(Default::default())
    }
    fn insert(&self, key: &u64, value: u64) {
        self.0.lock().unwrap().insert(*key, value);
    }
    fn get(&self, key: &u64) -> Option<u64> {
        self.0.lock().unwrap().get(key).copied()
    }
    fn remove(&self, _: &u64) -> bool {
        false
    }
    fn add(&self, _: &u64) {}
    fn scan(&self) -> Seen {
        let mut seen = Seen::default();
        self.0
            .lock()
            .unwrap()
            .values()
            .for_each(|value| seen.add(*value));
        seen
    }
}

fn only<S: Subject<u64>>() -> Registry {
    let none = Registry::own("test");
    Registry {
        u64: vec![Contender::peer::<S>("subject")],
        bytes20: Vec::new(),
        term_int: Vec::new(),
        term_bin20: Vec::new(),
        ..none
    }
}

#[test]
fn a_wrong_answer_is_an_error_and_not_a_fast_time() {
    let args = args("fyris-bench core --json --runs 1 --entries 100 --ops 100 --case hit,delete");
    match fyris_harness::run(&args, &only::<Forgetful>()) {
        Err(BenchError::WrongAnswer(what)) => {
            assert!(what.contains("subject, case delete"), "{what}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_not_there_is_named() {
    for (line, word) in [
        ("--keys u65", "u65"),
        ("--subject nobody", "nobody"),
        ("--case hot9", "hot9"),
        ("--range 3", "for `ets_bench`"),
    ] {
        let args = args(&format!("fyris-bench core {line}"));
        let error = fyris_harness::run(&args, &Registry::own("test")).expect_err("nothing to run");
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn hits_are_timed_without_being_asked_for_anything_else() {
    let args =
        args("fyris-bench core --json --runs 3 --entries 500 --ops 500 --case hit --keys u64");
    let lines = fyris_harness::run(&args, &Registry::own("test")).expect("all answers are right");
    assert!(
        lines
            .iter()
            .all(|l| l.case == "hit" && l.times.as_ref().is_some_and(|t| t.runs == 3))
    );
}

#[test]
fn queries_answer_right_beside_ets() {
    let args = args("bench query --json --runs 1 --entries 2000 --threads 1,2");
    let lines = fyris_harness::run(&args, &Registry::own("test")).expect("all answers are right");
    let of = |subject: &str| lines.iter().filter(|l| l.subject == subject).count();
    // Eight cases over four tables, one of them with two threads too, and two that need ranges of integers.
    assert_eq!(of("fyris"), 4 * 9 + 2);
    assert!([0, 4 * 8].contains(&of("ets")));
}

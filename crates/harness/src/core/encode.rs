//! The cases that encode terms as key bytes, beside the same loop without the encoding.
//!
//! The terms lie in memory as a caller would hand them in; the buffer is used again, as the store
//! does. Integers are below a million, binaries are random, the atom is one of eight.

use std::hint::black_box;
use std::time::Instant;

use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::case::Case;
use super::keys::random_bytes20;
use crate::args::{BenchArgs, Suite};
use crate::report::{Line, Series, Timing};
use crate::rng::Rng;

/// Terms in the working set: few enough to stay in the cache.
const TERMS: usize = 1024;

/// Passes over the working set in one run.
const ROUNDS: usize = 400;

/// Times the cases, interleaved.
pub(super) fn run(cases: &[Case], args: &BenchArgs) -> Vec<Line> {
    let sets: Vec<Vec<Term>> = cases.iter().map(|&case| terms(case)).collect();
    let mut series = vec![[Series::default(), Series::default()]; cases.len()];
    for _ in 0..args.run_count().max(9) {
        for (set, [ours, empty]) in sets.iter().zip(&mut series) {
            ours.push(&timed(set, KeyBuf::encode_into));
            empty.push(&timed(set, |term, _| _ = black_box(term)));
        }
    }
    let of_case = |(&case, series): (&Case, &[Series; 2])| {
        [("fyris", &series[0]), ("harness", &series[1])].map(|(subject, series)| Line {
            suite: Suite::Core.name(),
            case: case.name(),
            subject,
            index: None,
            object: None,
            options: None,
            keys: if case == Case::EncodeBin20 {
                "term_bin20"
            } else {
                "term_int"
            },
            threads: 1,
            n: TERMS,
            times: Some(series.times(false)),
            memory: None,
            extra: Vec::new(),
        })
    };
    cases.iter().zip(&series).flat_map(of_case).collect()
}

fn terms(case: Case) -> Vec<Term> {
    let mut rng = Rng::new(3);
    let mut int = || Term::Int(rng.below(1_000_000) as i64);
    let atom = |i: usize| {
        let names = [
            "user", "session", "node", "config", "cache", "route", "lock", "event",
        ];
        Term::atom(names[i % names.len()])
    };
    (0..TERMS)
        .map(|i| match case {
            Case::EncodeBin20 => Term::binary(random_bytes20(i as u64).as_slice()),
            Case::EncodeAtomInt => Term::tuple(vec![atom(i), int()]),
            _ => int(),
        })
        .collect()
}

fn timed(terms: &[Term], encode: impl Fn(&Term, &mut KeyBuf)) -> Timing {
    let mut buf = KeyBuf::new();
    let start = Instant::now();
    for _ in 0..ROUNDS {
        for term in terms {
            encode(term, &mut buf);
            black_box(&buf);
        }
    }
    let ns = start.elapsed().as_secs_f64() * 1e9 / (ROUNDS * terms.len()) as f64;
    Timing {
        wall: ns,
        cpu: ns,
        fairness: 1.0,
    }
}

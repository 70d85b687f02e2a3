//! The suite `array_mix` finds subjects that lose writes or go back in time.

use clap::Parser;
use fyris_harness::array_mix::{Array, ArrayContender};
use fyris_harness::{BenchArgs, BenchError, Registry};

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    args: BenchArgs,
}

/// An array that goes wrong in one way or another.
struct Broken {
    values: Vec<u64>,
    writes: u64,
    queries: u64,
    loses: bool,
}

impl Array for Broken {
    fn lookup(&mut self, at: usize) -> Result<u64, BenchError> {
        Ok(self.values[at])
    }
    fn write(&mut self, at: usize) -> Result<(), BenchError> {
        self.writes += 1;
        self.values[at] += u64::from(!self.loses || !self.writes.is_multiple_of(100));
        Ok(())
    }
    fn query(&mut self) -> Result<Option<u64>, BenchError> {
        self.queries += 1;
        let forgets = !self.loses && self.queries.is_multiple_of(5);
        Ok(self
            .values
            .iter()
            .max()
            .filter(|_| !forgets)
            .copied()
            .or(Some(0)))
    }
    fn total(&mut self) -> Result<u64, BenchError> {
        Ok(self.values.iter().sum())
    }
}

fn broken(elements: usize, loses: bool) -> Vec<Broken> {
    vec![Broken {
        values: vec![0; elements],
        writes: 0,
        queries: 0,
        loses,
    }]
}

/// Runs this subject alone and returns the error.
fn verdict(contender: ArrayContender) -> String {
    let line = "bench array_mix --quick --runs 1 --case 25:74:1/5K --json";
    let args = CommandLine::parse_from(line.split_whitespace()).args;
    let registry = Registry {
        array_mix: vec![contender],
        ..Registry::own("test")
    };
    let error = fyris_harness::run(&args, &registry).expect_err("a wrong answer");
    assert!(matches!(error, BenchError::WrongAnswer(_)), "{error}");
    error.to_string()
}

#[test]
fn a_lost_write_and_a_step_back_in_time_are_errors() {
    let lost = verdict(ArrayContender::alone("loses", |n, _| broken(n, true)));
    assert!(lost.contains("add up to"), "{lost}");
    let back = verdict(ArrayContender::alone("forgets", |n, _| broken(n, false)));
    assert!(back.contains("found 0 after one that found"), "{back}");
}

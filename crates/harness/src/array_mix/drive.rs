//! The loop of one worker, and what comes out of it.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::array::Array;
use super::job::ArrayJob;
use crate::clock::cpu_now;
use crate::cpus::Cpus;
use crate::error::BenchError;
use crate::process;
use crate::report::Timing;
use crate::rng::Rng;
use crate::stats::Samples;

/// Operations between two looks at the clock; a query, which is long, is followed by a look of its own.
const STEP: u32 = 16;

/// The counts of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ArrayTally {
    /// Operations in the timed part.
    pub(super) ops: u64,
    /// Nanoseconds of the timed part.
    pub(super) wall: f64,
    /// Processor time of it.
    pub(super) cpu: f64,
    /// Writes of the whole run: what the elements must add up to.
    pub(super) writes: u64,
    /// Queries in the timed part, and the median of their nanoseconds: 0 if there were none.
    pub(super) queries: usize,
    pub(super) query_ns: f64,
}

impl ArrayTally {
    /// Returns it as text, for the parent.
    pub(super) fn text(&self) -> String {
        format!(
            "{} {} {} {} {} {}",
            self.ops, self.wall, self.cpu, self.writes, self.queries, self.query_ns
        )
    }

    /// Reads it from text.
    pub(super) fn parse(text: &str) -> Result<Self, BenchError> {
        let mut words = text.split(' ');
        let words = &mut words;
        Ok(Self {
            ops: process::word(words)?,
            wall: process::word(words)?,
            cpu: process::word(words)?,
            writes: process::word(words)?,
            queries: process::word(words)?,
            query_ns: process::word(words)?,
        })
    }
}

/// Works on the array, on a CPU of its own as long as there are enough: a quarter of the job's time to warm up, then
/// the timed part.
pub(super) fn drive(array: &mut impl Array, job: &ArrayJob) -> Result<ArrayTally, BenchError> {
    let _bound = Cpus::take(job.worker)?;
    let seed = (job.run * 1024 + job.worker) as u64;
    let mut worker = Worker {
        array,
        job,
        rng: Rng::new(seed),
        greatest: 0,
        query_ns: Samples::default(),
        tally: ArrayTally::default(),
    };
    worker.work(job.time / 4)?;
    worker.query_ns = Samples::default();
    worker.tally = ArrayTally {
        writes: worker.tally.writes,
        ..ArrayTally::default()
    };
    let (cpu, start) = (cpu_now(), Instant::now());
    worker.work(job.time)?;
    worker.tally.wall = start.elapsed().as_secs_f64() * 1e9;
    worker.tally.cpu = cpu_now() - cpu;
    worker.tally.queries = worker.query_ns.runs();
    if worker.tally.queries > 0 {
        worker.tally.query_ns = worker.query_ns.median();
    }
    Ok(worker.tally)
}

struct Worker<'a, A> {
    array: &'a mut A,
    job: &'a ArrayJob,
    rng: Rng,
    /// The greatest element seen by a query.
    greatest: u64,
    query_ns: Samples,
    tally: ArrayTally,
}

impl<A: Array> Worker<'_, A> {
    /// Works until the time is over.
    fn work(&mut self, time: Duration) -> Result<(), BenchError> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            for _ in 0..STEP {
                let long = self.one()?;
                self.tally.ops += 1;
                if long {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Does one operation; returns true if it was a query.
    #[inline]
    fn one(&mut self) -> Result<bool, BenchError> {
        let case = &self.job.case;
        let dice = self.rng.below(100);
        let at = self.rng.below(case.elements as u64) as usize;
        if dice < case.lookups {
            black_box(self.array.lookup(at)?);
        } else if dice < case.lookups + case.writes {
            self.array.write(at)?;
            self.tally.writes += 1;
        } else {
            self.query()?;
            return Ok(true);
        }
        Ok(false)
    }

    fn query(&mut self) -> Result<(), BenchError> {
        let start = Instant::now();
        let found = self.array.query()?;
        self.query_ns.push(start.elapsed().as_secs_f64() * 1e9);
        match found {
            Some(greatest) if greatest < self.greatest => Err(BenchError::WrongAnswer(format!(
                "{}, case {}: a query found {greatest} after one that found {}",
                self.job.subject, self.job.case.name, self.greatest
            ))),
            Some(greatest) => {
                self.greatest = greatest;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

/// Checks that no write was lost.
pub(super) fn check(job: &ArrayJob, total: u64, tallies: &[ArrayTally]) -> Result<(), BenchError> {
    let writes: u64 = tallies.iter().map(|tally| tally.writes).sum();
    if total == writes {
        return Ok(());
    }
    Err(BenchError::WrongAnswer(format!(
        "{}, case {}, {} workers: the elements add up to {total} after {writes} writes",
        job.subject, job.case.name, job.workers
    )))
}

/// Returns the time of an operation, for one worker.
pub(super) fn timing(tallies: &[ArrayTally]) -> Timing {
    let mean =
        |f: fn(&ArrayTally) -> f64| tallies.iter().map(f).sum::<f64>() / tallies.len() as f64;
    let ops = mean(|t| t.ops as f64);
    let least = tallies.iter().map(|t| t.ops).min().unwrap_or(0) as f64;
    Timing {
        wall: mean(|t| t.wall) / ops,
        cpu: mean(|t| t.cpu) / ops,
        fairness: least / ops,
    }
}

/// Returns the time of a query in milliseconds, the mean of the workers' medians, if there were any.
pub(super) fn query_ms(tallies: &[ArrayTally]) -> Option<f64> {
    let (mut ns, mut workers) = (0.0, 0.0);
    for tally in tallies.iter().filter(|tally| tally.queries > 0) {
        ns += tally.query_ns;
        workers += 1.0;
    }
    (workers > 0.0).then(|| ns / workers / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_survives_the_pipe() {
        let tally = ArrayTally {
            ops: 5,
            wall: 1.5e9,
            cpu: 0.1,
            writes: 3,
            queries: 1,
            query_ns: 250.25,
        };
        assert_eq!(
            ArrayTally::parse(&tally.text()).expect("its own text"),
            tally
        );
        assert!(ArrayTally::parse("1 2").is_err());
    }
}

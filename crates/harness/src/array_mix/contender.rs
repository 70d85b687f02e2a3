//! A subject with its type forgotten, and where its workers live.

use std::sync::Barrier;

use super::array::{Array, SharedArray};
use super::drive::{ArrayTally, check, drive};
use super::job::ArrayJob;
use crate::args::BenchArgs;
use crate::error::BenchError;
use crate::process::{Partner, serve};

type Run = Box<dyn Fn(&BenchArgs, &ArrayJob) -> Result<Vec<ArrayTally>, BenchError>>;

/// An entry of a registry.
pub struct ArrayContender {
    /// The name in the vocabulary.
    pub name: &'static str,
    /// True if it cannot be shared at all: one worker, always.
    pub(super) alone: bool,
    run: Run,
    /// The role of a child process; only those that work in processes have one.
    play: fn(&ArrayJob) -> Result<(), BenchError>,
}

impl ArrayContender {
    /// Returns a subject whose workers are processes.
    pub fn processes<S: SharedArray + 'static>(name: &'static str) -> Self {
        Self {
            name,
            alone: false,
            run: Box::new(parent::<S>),
            play: play::<S>,
        }
    }

    /// Returns a subject whose workers are threads of this process; `make` gives each its access to one new array.
    pub fn threads<A: Array + Send + 'static>(
        name: &'static str,
        make: fn(elements: usize, workers: usize) -> Vec<A>,
    ) -> Self {
        Self {
            name,
            alone: false,
            run: Box::new(move |_, job| in_threads(job, make(job.case.elements, job.workers))),
            play: |_| Err(BenchError::Child("a thread is no process".to_owned())),
        }
    }

    /// Makes a subject that only one worker can use.
    pub fn alone<A: Array + Send + 'static>(
        name: &'static str,
        make: fn(usize, usize) -> Vec<A>,
    ) -> Self {
        Self {
            alone: true,
            ..Self::threads(name, make)
        }
    }

    /// Returns the number of workers when `processes` are asked for.
    pub(super) fn workers(&self, processes: usize) -> usize {
        if self.alone { 1 } else { processes }
    }

    /// Does one run; returns the tally of each worker, after the check that no write was lost.
    pub(super) fn run(
        &self,
        args: &BenchArgs,
        job: &ArrayJob,
    ) -> Result<Vec<ArrayTally>, BenchError> {
        (self.run)(args, job)
    }

    /// Does the part of a child process in a run.
    pub(super) fn play(&self, job: &ArrayJob) -> Result<(), BenchError> {
        (self.play)(job)
    }
}

fn parent<S: SharedArray>(args: &BenchArgs, job: &ArrayJob) -> Result<Vec<ArrayTally>, BenchError> {
    let mut array = S::make(&job.name, job.case.elements)?;
    let joined = join_all(args, job);
    // Taken away before anything else can fail, so that nothing stays behind.
    S::unlink(&job.name)?;
    let mut partners = joined?;
    array.query()?;
    for partner in &mut partners {
        partner.tell("go")?;
    }
    let mut tallies = vec![drive(&mut array, job)?];
    for partner in &mut partners {
        tallies.push(ArrayTally::parse(&partner.hear()?)?);
    }
    check(job, array.total()?, &tallies)?;
    Ok(tallies)
}

/// Returns the other workers, each with the array at hand.
fn join_all(args: &BenchArgs, job: &ArrayJob) -> Result<Vec<Partner>, BenchError> {
    let start = |worker| Partner::start(args, &job.of_worker(worker).text());
    let mut partners = (1..job.workers).map(start).collect::<Result<Vec<_>, _>>()?;
    for partner in &mut partners {
        partner.ask("join")?;
    }
    Ok(partners)
}

fn play<S: SharedArray>(job: &ArrayJob) -> Result<(), BenchError> {
    let mut array: Option<S> = None;
    serve(|line| match (line, &mut array) {
        ("join", _) => {
            let joined = array.insert(S::join(&job.name, job.case.elements)?);
            joined.query()?;
            Ok(String::new())
        }
        ("go", Some(array)) => drive(array, job).map(|tally| tally.text()),
        _ => Err(BenchError::Child(format!("`{line}` makes no sense now"))),
    })
}

fn in_threads<A: Array + Send>(
    job: &ArrayJob,
    mut arrays: Vec<A>,
) -> Result<Vec<ArrayTally>, BenchError> {
    let barrier = Barrier::new(arrays.len());
    let work = |(worker, array): (usize, &mut A)| {
        barrier.wait();
        drive(array, &job.of_worker(worker))
    };
    let tallies: Vec<ArrayTally> = std::thread::scope(|scope| {
        let handles: Vec<_> = arrays
            .iter_mut()
            .enumerate()
            .map(|worker| scope.spawn(|| work(worker)))
            .collect();
        let joined = handles.into_iter().map(|handle| handle.join());
        joined
            .map(|tally| tally.expect("a bench thread panicked"))
            .collect::<Result<_, _>>()
    })?;
    let total = arrays.first_mut().map_or(Ok(0), Array::total)?;
    check(job, total, &tallies)?;
    Ok(tallies)
}

//! Processes that change one segment, are stopped and are killed at random moments, with its content checked by each of
//! them and the memory and the file watched. Two seconds in an ordinary test run; `make soak` runs the ignored test for
//! `FYRIS_SOAK_SECONDS`.
//!
//! The words of the segment are dealt out to the processes in turn. Each process writes one number to all of its words
//! and commits, so at every version the words of a process are equal, also those of one that was killed.

#[path = "../names/mod.rs"]
mod names;
mod sizes;
mod worker;

use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use fyris_segment::{Doctor, Options, PAGE, Segment};
use rand::Rng;
use rand::rngs::ThreadRng;
use rustix::process::{Pid, Signal, kill_process};

use names::Name;
use sizes::Sizes;
use worker::{CHILD, WORKERS, check_all};

/// Bytes in the segment.
const SIZE: usize = 16 * PAGE;

/// Not a test: a process at work.
#[test]
fn child_main() {
    if let Ok(what) = std::env::var(CHILD) {
        worker::run(&what);
    }
}

#[test]
fn a_short_run_keeps_the_content() {
    run(Duration::from_secs(2), 1);
}

#[test]
#[ignore = "long: `make soak`"]
fn a_long_run_keeps_the_content_and_the_sizes() {
    let seconds = std::env::var("FYRIS_SOAK_SECONDS").map_or(60, |s| s.parse().expect("seconds"));
    run(Duration::from_secs(seconds), 40);
}

fn run(time: Duration, samples: u32) {
    let name = Name::new("soak");
    let mut segment = Segment::checkout(&name.0, SIZE, &Options::new()).expect("a new segment");
    let mut random = rand::rng();
    let mut sizes = Sizes::new(segment.path());
    let mut workers: Vec<Worker> = (0..WORKERS).map(|w| Worker::start(&name.0, w)).collect();
    let (begun, mut killed) = (Instant::now(), 0);
    for sample in 1..=samples {
        while begun.elapsed() < time * sample / samples {
            thread::sleep(Duration::from_millis(random.random_range(1..40)));
            killed += disturb(&name.0, &mut workers, &mut random);
            segment.update().expect("nothing of ours to merge");
            check_all(&segment);
        }
        let pids = workers.iter().map(|worker| worker.child.id());
        sizes.take(pids, segment.version(), killed);
    }
    drop(workers);
    segment.update().expect("nothing of ours to merge");
    check_all(&segment);
    drop(segment);
    let doctor = Doctor::open(&name.0).expect("our segment");
    doctor.repair().expect("nobody is attached");
    doctor.check().expect("a sound segment");
    sizes.check_flat();
}

/// Kills or stops a process, or lets all be. Returns the number of those killed.
fn disturb(name: &str, workers: &mut [Worker], random: &mut ThreadRng) -> u64 {
    let which = random.random_range(0..workers.len());
    match random.random_range(0..10) {
        0 => {
            // The old one is killed when it is dropped, and its slot is cleared by another process.
            workers[which] = Worker::start(name, which);
            1
        }
        1..=4 => {
            workers[which].signal(Signal::STOP);
            thread::sleep(Duration::from_millis(random.random_range(0..20)));
            workers[which].signal(Signal::CONT);
            0
        }
        _ => 0,
    }
}

/// A process at work, killed when it is dropped.
struct Worker {
    child: Child,
}

impl Worker {
    fn start(name: &str, number: usize) -> Worker {
        let child = Command::new(std::env::current_exe().expect("Linux"))
            .args(["child_main", "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD, format!("{name} {number}"))
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("this program");
        Worker { child }
    }

    /// Sends a signal; panics if the process has ended by itself, which is what it does when it finds a fault.
    fn signal(&mut self, signal: Signal) {
        let ended = self.child.try_wait().expect("our child");
        assert!(ended.is_none(), "a worker has failed: {ended:?}");
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).expect("our child");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let ended = self.child.try_wait().expect("our child");
        let _ = self.child.kill();
        let _ = self.child.wait();
        assert!(
            ended.is_none() || thread::panicking(),
            "a worker has failed: {ended:?}"
        );
    }
}

//! Random work of several threads on shared and on short-lived tables, with invariants checked throughout and memory
//! watched. Two seconds in an ordinary test run; `make soak` runs the ignored test for `FYRIS_SOAK_SECONDS`.
//!
//! It fails if an invariant breaks, if tables are left at the end, or if in the last quarter the process takes more
//! memory than in the second one.
#![cfg(target_os = "linux")]

mod churn;
mod memory;
mod shared;
#[path = "../stall/mod.rs"]
mod stall;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use fyris::Store;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

use memory::Memory;
use shared::Shared;

/// Steps of a thread between two changes: it is stalled at random in every second stretch.
const STRETCH: usize = 1000;

/// Threads at work, more than this machine may have cores.
const WORKERS: u64 = 4;

#[test]
fn a_short_run_keeps_every_invariant() {
    run(Duration::from_secs(2), 1);
}

#[test]
#[ignore = "long: `make soak`"]
fn a_long_run_keeps_every_invariant_and_its_memory() {
    let seconds = std::env::var("FYRIS_SOAK_SECONDS").map_or(60, |s| s.parse().expect("seconds"));
    run(Duration::from_secs(seconds), 40);
}

/// Works for `time` and takes `samples` of the memory.
fn run(time: Duration, samples: u32) {
    let store = Store::new();
    let owner = store.owner();
    let shared = Shared::new(&owner);
    let (stop, steps) = (AtomicBool::new(false), AtomicU64::new(0));
    let seed: u64 = rand::random();
    println!("seed {seed}");
    let memory = stall::with_stalls(|| {
        thread::scope(|s| {
            for worker in 0..WORKERS {
                let (store, shared, stop, steps) = (&store, &shared, &stop, &steps);
                s.spawn(move || {
                    let _stop = StopOnPanic(stop);
                    work(store, shared, seed + worker, stop, steps);
                });
            }
            let memory = Memory::watch(time, samples, &stop, &steps);
            // Relaxed: a flag alone; joining the threads publishes what they did.
            stop.store(true, Ordering::Relaxed);
            memory
        })
    });
    shared.check_at_the_end();
    drop((shared, owner));
    assert_eq!(store.all(), [], "tables of owners that have ended");
    memory.check_flat();
}

fn work(store: &Store, shared: &Shared, seed: u64, stop: &AtomicBool, steps: &AtomicU64) {
    let mut random = SmallRng::seed_from_u64(seed);
    let mut stalled = None;
    for step in 0.. {
        // Relaxed: a flag alone.
        if stop.load(Ordering::Relaxed) {
            break;
        }
        if step % STRETCH == 0 {
            stalled = match stalled {
                None => Some(stall::join()),
                Some(_) => None,
            };
        }
        match random.random_range(0..100) {
            0 => churn::life_of_an_owner(store, &mut random),
            1..=2 => shared.check_pairs(&mut random),
            3 => shared.scan(&mut random),
            4..=9 => shared.write_pair(&mut random),
            _ => shared.one_key(&mut random),
        }
        // Relaxed: a count to print.
        steps.fetch_add(1, Ordering::Relaxed);
    }
}

/// Stops the other threads when one has failed.
struct StopOnPanic<'a>(&'a AtomicBool);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

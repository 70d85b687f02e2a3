//! The memory of this process over time, as the kernel counts it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Growth from the second quarter to the last that passes: a tenth, and this many megabytes.
const SLACK_MB: u64 = 16;

/// Samples of the resident memory, in megabytes.
pub(crate) struct Memory(Vec<u64>);

impl Memory {
    /// Takes `samples` evenly over `time`, printing each; ends early when `stop` is set.
    pub(crate) fn watch(
        time: Duration,
        samples: u32,
        stop: &AtomicBool,
        steps: &AtomicU64,
    ) -> Memory {
        let begun = Instant::now();
        let mut sizes = Vec::new();
        println!("{:>8} {:>12} {:>14}", "seconds", "memory MB", "steps");
        for sample in 1..=samples {
            let until = begun + time * sample / samples;
            // Relaxed: a flag alone; joining the threads publishes what they did.
            while Instant::now() < until {
                if stop.load(Ordering::Relaxed) {
                    return Memory(sizes);
                }
                thread::sleep(Duration::from_millis(20));
            }
            sizes.push(resident());
            let (seconds, done) = (begun.elapsed().as_secs(), steps.load(Ordering::Relaxed));
            println!("{seconds:>8} {:>12} {done:>14}", resident());
        }
        Memory(sizes)
    }

    /// Panics if the memory of the last quarter is above that of the second.
    pub(crate) fn check_flat(&self) {
        let quarter = self.0.len() / 4;
        if quarter == 0 {
            return;
        }
        let median = |n: usize| {
            let mut sizes = self.0[n * quarter..(n + 1) * quarter].to_vec();
            sizes.sort_unstable();
            sizes[sizes.len() / 2]
        };
        let (second, last) = (median(1), median(3));
        println!("median MB of the second quarter: {second}, of the last: {last}");
        assert!(last <= second * 11 / 10 + SLACK_MB, "memory grows");
    }
}

/// Megabytes of this process in memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let words = line.expect("Linux").split_whitespace();
    words
        .skip(1)
        .find_map(|n| n.parse::<u64>().ok())
        .expect("a number")
        / 1024
}

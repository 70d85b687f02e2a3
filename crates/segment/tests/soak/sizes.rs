//! Checks the memory of the processes and the size of the file of a segment over time.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Growth from the second quarter to the last that passes: a tenth, and this many kilobytes.
const SLACK_KB: u64 = 8 * 1024;

/// Samples, in kilobytes.
pub(crate) struct Sizes {
    begun: Instant,
    file: PathBuf,
    /// Memory of this process alone, and blocks of the file.
    samples: Vec<(u64, u64)>,
}

impl Sizes {
    pub(crate) fn new(file: &Path) -> Sizes {
        println!(
            "{:>8} {:>10} {:>12} {:>10} {:>12} {:>8}",
            "seconds", "own KB", "workers KB", "file KB", "version", "killed"
        );
        Sizes {
            begun: Instant::now(),
            file: file.to_owned(),
            samples: Vec::new(),
        }
    }

    /// Takes and prints a sample.
    pub(crate) fn take(&mut self, workers: impl Iterator<Item = u32>, version: u64, killed: u64) {
        let own = resident(std::process::id());
        let file = std::fs::metadata(&self.file).expect("our file").blocks() / 2;
        let workers: u64 = workers.map(resident).sum();
        let seconds = self.begun.elapsed().as_secs();
        println!("{seconds:>8} {own:>10} {workers:>12} {file:>10} {version:>12} {killed:>8}");
        self.samples.push((own, file));
    }

    /// Panics if the memory or the file of the last quarter are above those of the second.
    pub(crate) fn check_flat(&self) {
        let quarter = self.samples.len() / 4;
        if quarter == 0 {
            return;
        }
        let median = |n: usize, of: fn(&(u64, u64)) -> u64| {
            let quarter = &self.samples[n * quarter..(n + 1) * quarter];
            let mut sizes: Vec<u64> = quarter.iter().map(of).collect();
            sizes.sort_unstable();
            sizes[sizes.len() / 2]
        };
        for (what, of) in [
            ("memory", (|s| s.0) as fn(&(u64, u64)) -> u64),
            ("file", |s| s.1),
        ] {
            let (second, last) = (median(1, of), median(3, of));
            println!("{what}: median KB of the second quarter {second}, of the last {last}");
            assert!(last <= second * 11 / 10 + SLACK_KB, "{what} grows");
        }
    }
}

/// Returns the kilobytes of a process in memory; 0 if it has gone.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS:"));
    let words = line.unwrap_or_default().split_whitespace();
    words.skip(1).find_map(|n| n.parse().ok()).unwrap_or(0)
}

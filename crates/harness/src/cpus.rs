//! The CPUs on which the processes and threads of a suite run.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::BenchError;

/// The CPUs that a thread had when a run began. It goes back to all of them when this is dropped.
pub(super) struct Cpus {
    allowed: Vec<usize>,
    before: CpuSet,
}

impl Cpus {
    /// Binds this thread to one of its CPUs: workers with consecutive numbers to different ones, as long as there are
    /// enough.
    pub(super) fn take(worker: usize) -> Result<Self, BenchError> {
        let before = sched_getaffinity(None).map_err(std::io::Error::from)?;
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU)
            .filter(|&cpu| before.is_set(cpu))
            .collect();
        bind(allowed[worker % allowed.len()])?;
        Ok(Self { allowed, before })
    }

    /// Returns the first CPU.
    pub(super) fn first(&self) -> usize {
        self.allowed[0]
    }

    /// Returns another CPU, if there is one.
    pub(super) fn second(&self) -> Option<usize> {
        self.allowed.get(1).copied()
    }
}

impl Drop for Cpus {
    fn drop(&mut self) {
        // Bound to one CPU the program is slower and not wrong.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Binds this thread to a CPU.
pub(super) fn bind(cpu: usize) -> Result<(), BenchError> {
    let mut set = CpuSet::new();
    set.set(cpu);
    Ok(sched_setaffinity(None, &set).map_err(std::io::Error::from)?)
}

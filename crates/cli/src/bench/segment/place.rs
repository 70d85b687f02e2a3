//! Which CPUs the two processes run on.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::bench::BenchError;

/// The CPUs of a run. The thread goes back to all its CPUs when this is dropped.
pub(super) struct Cpus {
    /// Where the measuring process is.
    pub(super) own: usize,
    /// Another, if there is one.
    pub(super) other: Option<usize>,
    before: CpuSet,
}

impl Cpus {
    /// Binds this thread to its first CPU.
    pub(super) fn take() -> Result<Self, BenchError> {
        let before = sched_getaffinity(None).map_err(std::io::Error::from)?;
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu));
        let own = allowed.next().unwrap_or(0);
        let other = allowed.next();
        bind(own)?;
        Ok(Self { own, other, before })
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

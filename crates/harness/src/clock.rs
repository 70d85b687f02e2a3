//! Processor time.

use rustix::time::{ClockId, clock_gettime};

/// Returns the processor time of this thread so far, in nanoseconds.
pub fn cpu_now() -> f64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec as f64 * 1e9 + now.tv_nsec as f64
}

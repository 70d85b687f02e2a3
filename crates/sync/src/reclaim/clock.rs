//! The time, as cheap as it can be had.

/// Returns milliseconds since some moment of the past, 1 or more: a few nanoseconds, some milliseconds exact.
#[cfg(target_os = "linux")]
pub(super) fn millis() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: writes the time.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut now) };
    now.tv_sec as u64 * 1000 + now.tv_nsec as u64 / 1_000_000 + 1
}

/// Returns milliseconds since the first call, 1 or more.
#[cfg(not(target_os = "linux"))]
pub(super) fn millis() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;

    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_millis() as u64 + 1
}

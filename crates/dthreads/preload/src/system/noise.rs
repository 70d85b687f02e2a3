//! Delays that disturb a run: what must not depend on time is shown not to.

use std::cell::Cell;

use crate::system::local::{LOCAL, Solo};

/// The seed; 0: no noise.
static STATE: Solo<Cell<u64>> = Solo::new(Cell::new(0));

/// Makes noise from now on, here and in processes forked from here.
pub(crate) fn make(seed: u64) {
    STATE.set(seed | 1);
}

/// Returns whether there is noise.
pub(crate) fn is_made() -> bool {
    STATE.get() != 0
}

/// Waits for up to 200 us, one time in eight.
pub(crate) fn delay() {
    let before = STATE.get();
    if before == 0 {
        return;
    }
    let slot = LOCAL.me.get() as u64;
    let mut x = before
        .wrapping_add(slot << 32 | 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x ^= x >> 29;
    STATE.set(x | 1);
    if (x >> 40).is_multiple_of(8) {
        let time = libc::timespec {
            tv_sec: 0,
            tv_nsec: ((x >> 16) % 200_000) as libc::c_long,
        };
        // SAFETY: a time of this frame.
        unsafe { libc::syscall(libc::SYS_nanosleep, &raw const time, 0) };
    }
}

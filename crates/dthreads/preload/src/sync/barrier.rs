//! Barriers. A barrier's memory has the number of threads it is for.

use std::ffi::c_int;

use fyris_dthreads_tools::record::Operation;
use libc::{
    EBUSY, EINVAL, PTHREAD_BARRIER_SERIAL_THREAD, pthread_barrier_t, pthread_barrierattr_t,
};

use crate::shared::control::NEVER;
use crate::sync::name;
use crate::system::{apart, on};
use crate::turn::{take, waiters};

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    _: *const pthread_barrierattr_t,
    count: u32,
) -> c_int {
    if count == 0 {
        return EINVAL;
    }
    // SAFETY: the caller's barrier, which is longer.
    unsafe {
        barrier.write_bytes(0, 1);
        barrier.cast::<u32>().write(count);
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int {
    match on() && waiters(Operation::Barrier, name(barrier)).next().is_some() {
        true => EBUSY,
        false => 0,
    }
}

pub(crate) unsafe extern "C" fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    if !on() {
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    apart(|| {
        let object = name(barrier);
        let turn = take(Operation::Barrier, object);
        // SAFETY: the caller's barrier.
        let count = unsafe { barrier.cast::<u32>().read() } as usize;
        if waiters(Operation::Barrier, object).count() + 1 < count {
            turn.sleep(Operation::Barrier, object, NEVER).0.pass();
            return 0;
        }
        while turn.wake_first(Operation::Barrier, object).is_some() {}
        turn.pass();
        PTHREAD_BARRIER_SERIAL_THREAD
    })
}

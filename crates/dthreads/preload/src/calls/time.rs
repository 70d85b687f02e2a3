//! Virtual time: clocks show how many turns there were, not how long they took.
//!
//! It begins at [`EPOCH`], goes on by a microsecond a turn and by a little each time that it is looked at, and jumps to
//! the earliest deadline when every thread waits. So timed waits end at the same turn in every run, and sleeping costs
//! nothing. With the real clock (`--real-time`) timed waits are refused.

use std::ffi::{c_int, c_uint, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use fyris_dthreads_tools::record::Operation;
use libc::{EINVAL, clockid_t, timespec, timeval};

use crate::shared::control::NEVER;
use crate::shared::end;
use crate::system::{LOCAL, apart, on, real, sys};
use crate::turn::take;

/// The virtual time at which a program begins, in nanoseconds: 9 September 2001.
pub(crate) const EPOCH: u64 = 1_000_000_000 * SECOND;
const SECOND: u64 = 1_000_000_000;
/// Nanoseconds that a look at the clock takes.
const LOOK: u64 = 50;

static REAL: AtomicBool = AtomicBool::new(false);

/// Leaves clocks real.
pub(crate) fn leave_real() {
    // Relaxed: stored before the program begins.
    REAL.store(true, Ordering::Relaxed);
}

fn is_virtual() -> bool {
    // Relaxed: as above.
    on() && !REAL.load(Ordering::Relaxed)
}

/// Ends the program if clocks are real: a deadline cannot be kept the same in every run.
fn virtual_only() {
    // Relaxed: as above.
    if on() && REAL.load(Ordering::Relaxed) {
        sys::say(format_args!(
            "a timed wait with the real clock cannot be deterministic (see --real-time)"
        ));
        end::end(sys::REFUSED);
    }
}

/// Returns what `wait` returns for a deadline in virtual time; `EINVAL` if there is none, or none that is a time.
///
/// # Safety
///
/// The pointer is null or leads to a time.
pub(crate) unsafe fn until(time: *const libc::timespec, wait: impl FnOnce(u64) -> i32) -> i32 {
    if time.is_null() {
        return libc::EINVAL;
    }
    // SAFETY: the caller's.
    unsafe { deadline(time) }.map_or_else(|error| error, wait)
}

/// Returns a deadline in virtual time: all clocks are one.
///
/// # Safety
///
/// The pointer is null (no deadline) or leads to a time.
pub(crate) unsafe fn deadline(time: *const libc::timespec) -> Result<u64, i32> {
    if time.is_null() {
        return Ok(NEVER);
    }
    // SAFETY: the caller's.
    let time = unsafe { time.read() };
    virtual_only();
    match time.tv_nsec {
        0..1_000_000_000 if time.tv_sec < 0 => Ok(0),
        nanos @ 0..1_000_000_000 => {
            let seconds = (time.tv_sec as u64).min(1 << 33);
            Ok(seconds * 1_000_000_000 + nanos as u64)
        }
        _ => Err(libc::EINVAL),
    }
}

/// Returns the deadline that is a time from now.
///
/// # Safety
///
/// As of [`deadline`].
pub(crate) unsafe fn after(time: *const libc::timespec) -> Result<u64, i32> {
    // SAFETY: as the caller promises.
    match unsafe { deadline(time)? } {
        NEVER => Ok(NEVER),
        span => Ok(look() + span),
    }
}

fn look() -> u64 {
    let now = LOCAL.time.get() + LOOK;
    LOCAL.time.set(now);
    now
}

fn split(time: u64) -> timespec {
    timespec {
        tv_sec: (time / SECOND) as libc::time_t,
        tv_nsec: (time % SECOND) as libc::c_long,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn clock_gettime(clock: clockid_t, time: *mut timespec) -> c_int {
    let cpu = [
        libc::CLOCK_PROCESS_CPUTIME_ID,
        libc::CLOCK_THREAD_CPUTIME_ID,
    ]
    .contains(&clock);
    if !is_virtual() || clock < 0 || time.is_null() {
        // SAFETY: as the caller promises.
        return unsafe { real::clock_gettime()(clock, time) };
    }
    let now = if cpu { used() } else { look() };
    // SAFETY: the caller's variable.
    unsafe { time.write(split(now)) };
    0
}

/// Returns the time that the program has taken of processors: all that there was.
fn used() -> u64 {
    look() - EPOCH
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn clock() -> libc::clock_t {
    let used = match is_virtual() {
        true => used(),
        false => real::clock(libc::CLOCK_PROCESS_CPUTIME_ID),
    };
    (used / 1000) as libc::clock_t
}

/// Time alone: what else the system counts depends on it.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn getrusage(who: c_int, usage: *mut libc::rusage) -> c_int {
    // SAFETY: as the caller promises; zeros are a valid description.
    unsafe {
        let done = libc::syscall(libc::SYS_getrusage, who, usage) as c_int;
        if done == 0 && is_virtual() {
            let time = split(used());
            usage.write_bytes(0, 1);
            (*usage).ru_utime.tv_sec = time.tv_sec;
            (*usage).ru_utime.tv_usec = time.tv_nsec / 1000;
        }
        done
    }
}

/// The processor that a thread is on: always the first.
#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn sched_getcpu() -> c_int {
    if on() {
        return 0;
    }
    let mut number: c_int = 0;
    // SAFETY: a variable of this frame.
    match unsafe { libc::syscall(libc::SYS_getcpu, &raw mut number, 0, 0) } {
        0 => number,
        _ => -1,
    }
}

/// C11's: libc's own looks at the real clock by itself.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn timespec_get(time: *mut timespec, base: c_int) -> c_int {
    const TIME_UTC: c_int = 1;
    // SAFETY: as the caller promises.
    match base == TIME_UTC && unsafe { clock_gettime(libc::CLOCK_REALTIME, time) } == 0 {
        true => base,
        false => 0,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn gettimeofday(time: *mut timeval, _: *mut c_void) -> c_int {
    let now = match is_virtual() {
        true => look(),
        false => real::clock(libc::CLOCK_REALTIME),
    };
    if !time.is_null() {
        let now = split(now);
        let value = timeval {
            tv_sec: now.tv_sec,
            tv_usec: now.tv_nsec / 1000,
        };
        // SAFETY: the caller's variable.
        unsafe { time.write(value) };
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn time(time: *mut libc::time_t) -> libc::time_t {
    let now = match is_virtual() {
        true => look(),
        false => real::clock(libc::CLOCK_REALTIME),
    };
    let seconds = split(now).tv_sec;
    if !time.is_null() {
        // SAFETY: the caller's variable.
        unsafe { time.write(seconds) };
    }
    seconds
}

/// Sleeps until virtual time is there.
fn sleep_until(time: u64) {
    apart(|| {
        let turn = take(Operation::Sleep, 0);
        turn.sleep(Operation::Sleep, 0, time).0.pass();
    });
}

/// Sleeps for a span of virtual time; false if clocks are real.
pub(crate) fn sleep_for(time: timespec) -> bool {
    if is_virtual() {
        sleep_until(look() + time.tv_sec as u64 * SECOND + time.tv_nsec as u64);
    }
    is_virtual()
}

/// Sleeps by the real clock: this thread's turn waits for it.
fn sleep_really(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    rest: *mut timespec,
) -> c_int {
    // SAFETY: the caller's times.
    let done = unsafe { libc::syscall(libc::SYS_clock_nanosleep, clock, flags, time, rest) };
    match done {
        0 => 0,
        _ => sys::error(),
    }
}

pub(crate) unsafe extern "C" fn clock_nanosleep(
    clock: clockid_t,
    flags: c_int,
    time: *const timespec,
    rest: *mut timespec,
) -> c_int {
    if !is_virtual() {
        return sleep_really(clock, flags, time, rest);
    }
    // SAFETY: the caller's time.
    let wanted = unsafe { time.read() };
    if wanted.tv_sec < 0 || !(0..SECOND as i64).contains(&wanted.tv_nsec) {
        return EINVAL;
    }
    let wanted = (wanted.tv_sec as u64).min(1 << 33) * SECOND + wanted.tv_nsec as u64;
    let absolute = flags & libc::TIMER_ABSTIME != 0;
    sleep_until(if absolute { wanted } else { look() + wanted });
    0
}

pub(crate) unsafe extern "C" fn nanosleep(time: *const timespec, rest: *mut timespec) -> c_int {
    // SAFETY: as the caller promises.
    match unsafe { clock_nanosleep(libc::CLOCK_REALTIME, 0, time, rest) } {
        0 => 0,
        error => sys::fail(error),
    }
}

pub(crate) extern "C" fn usleep(micros: c_uint) -> c_int {
    let time = split(u64::from(micros) * 1000);
    // SAFETY: a time of this frame.
    unsafe { nanosleep(&time, ptr::null_mut()) }
}

pub(crate) extern "C" fn sleep(seconds: c_uint) -> c_uint {
    let time = split(u64::from(seconds) * SECOND);
    // SAFETY: a time of this frame.
    match unsafe { nanosleep(&time, ptr::null_mut()) } {
        0 => 0,
        _ => 1,
    }
}

pub(crate) extern "C" fn sched_yield() -> c_int {
    if on() {
        apart(|| take(Operation::Yield, 0).pass_now());
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
extern "C" fn pthread_yield() -> c_int {
    sched_yield()
}

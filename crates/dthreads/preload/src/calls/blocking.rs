//! System calls that may wait for something outside of the program, made outside of the ring (`outside.rs`).
//!
//! A call whose result is there is made at once, as ever. So is one of the only thread that runs: it holds up no other.

use std::ffi::{c_int, c_short, c_void};
use std::ptr;

use fyris_dthreads_tools::record::Operation;
use libc::{
    ECHILD, POLLIN, epoll_event, fd_set, msghdr, nfds_t, pollfd, sigset_t, sockaddr, socklen_t,
};
use libc::{iovec, rusage, timespec, timeval};

use crate::calls::{signals, time};
use crate::shared::control::{NEVER, control};
use crate::shared::end;
use crate::system::{LOCAL, apart, on, sys};
use crate::turn::{skip, token};

/// Returns whether no other thread can get on before this one: then it need not leave the ring.
fn alone() -> bool {
    let (control, me) = (control(), LOCAL.me.get());
    LOCAL.holding.get()
        && control.thread(me).next.get() as usize == me
        && control.outside.get() == 0
        && control.earliest.get() == NEVER
}

/// Makes a call that may last outside of the ring. `errno` is the call's.
fn outside<R>(operation: Operation, object: u64, call: impl FnOnce() -> R) -> R {
    apart(|| token::take(operation, object).step_out(0));
    let result = call();
    apart(|| token::come_back(object).pass());
    result
}

/// Makes a call outside of the ring if it would wait.
fn make<R>(
    operation: Operation,
    object: u64,
    waits: impl FnOnce() -> bool,
    call: impl FnOnce() -> R,
) -> R {
    match on() && !alone() && waits() {
        true => outside(operation, object, call),
        false => call(),
    }
}

/// Returns whether a call for input would wait for it: nothing is there, and the descriptor says nothing else.
pub(crate) fn would_wait(file: c_int) -> bool {
    let mut one = pollfd {
        fd: file,
        events: POLLIN as c_short,
        revents: 0,
    };
    // SAFETY: plain system calls; a struct of this frame. Regular files are always ready.
    unsafe {
        libc::syscall(
            libc::SYS_ppoll,
            &raw mut one,
            1,
            &raw const NOW,
            ptr::null::<c_void>(),
            8,
        ) == 0
            && libc::syscall(libc::SYS_fcntl, file, libc::F_GETFL) as c_int & libc::O_NONBLOCK == 0
    }
}

/// Waits until there is input of a descriptor, outside of the ring.
pub(crate) fn wait_for_input(file: c_int) {
    let mut one = pollfd {
        fd: file,
        events: POLLIN as c_short,
        revents: 0,
    };
    let wait = || {
        let forever = ptr::null::<timespec>();
        // SAFETY: a plain system call; a struct of this frame.
        unsafe { libc::syscall(libc::SYS_ppoll, &raw mut one, 1, forever, 0, 8) }
    };
    make(Operation::Read, file as u64, || true, wait);
}

static NOW: timespec = timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Functions that wait for input of a descriptor: each is the system call of its number.
macro_rules! input {
    ($($name:ident as $operation:ident = $number:ident
        ($file:ident: c_int $(, $argument:ident: $type:ty)*) -> $result:ty;)*) => {
        $(
            pub(crate) unsafe extern "C" fn $name($file: c_int $(, $argument: $type)*) -> $result {
                let call = || {
                    // SAFETY: as the caller promises.
                    let done = unsafe { libc::syscall(libc::$number, $file $(, $argument)*) };
                    if let Operation::Read = Operation::$operation {
                        skip::filled(done);
                    }
                    done
                };
                make(Operation::$operation, $file as u64, || would_wait($file), call) as $result
            }
        )*
    };
}

input! {
    read as Read = SYS_read(file: c_int, to: *mut c_void, len: usize) -> isize;
    readv as Read = SYS_readv(file: c_int, parts: *const iovec, count: c_int) -> isize;
    recvmsg as Read = SYS_recvmsg(file: c_int, message: *mut msghdr, flags: c_int) -> isize;
    recvfrom as Read = SYS_recvfrom(
        file: c_int, to: *mut c_void, len: usize, flags: c_int, from: *mut sockaddr, size: *mut socklen_t
    ) -> isize;
    accept4 as Accept = SYS_accept4(
        file: c_int, from: *mut sockaddr, size: *mut socklen_t, flags: c_int
    ) -> c_int;
}

pub(crate) unsafe extern "C" fn recv(
    file: c_int,
    to: *mut c_void,
    len: usize,
    flags: c_int,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe { recvfrom(file, to, len, flags, ptr::null_mut(), ptr::null_mut()) }
}

pub(crate) unsafe extern "C" fn accept(
    file: c_int,
    from: *mut sockaddr,
    size: *mut socklen_t,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { accept4(file, from, size, 0) }
}

/// What `read` is in programs that check their buffers' lengths.
pub(crate) unsafe extern "C" fn __read_chk(
    file: c_int,
    to: *mut c_void,
    len: usize,
    room: usize,
) -> isize {
    if len > room {
        end::abort();
    }
    // SAFETY: as the caller promises.
    unsafe { read(file, to, len) }
}

/// Looks first whether a call that takes a time is done at once, and makes it outside of the ring otherwise.
///
/// # Safety
///
/// `call` makes the system call with the time that it is given.
unsafe fn polled(
    files: u64,
    time: Option<timespec>,
    mut call: impl FnMut(*mut timespec) -> c_int,
) -> c_int {
    let mut given = time.unwrap_or(timespec { ..NOW });
    let until = match time {
        Some(_) => &raw mut given,
        None => ptr::null_mut(),
    };
    let ends = time.is_some_and(|time| time.tv_sec == 0 && time.tv_nsec == 0);
    if !on() || ends {
        return call(until);
    }
    if files == 0 && time.is_some() && time::sleep_for(given) {
        return 0;
    }
    if alone() {
        return call(until);
    }
    match call(&mut timespec { ..NOW }) {
        0 => outside(Operation::Poll, files, || call(until)),
        done => done,
    }
}

/// Returns the signals that a call is to hold back, if it is given some: none of the library's own.
unsafe fn own_mask(mask: *const sigset_t) -> Option<u64> {
    // SAFETY: the caller's set.
    (!mask.is_null()).then(|| unsafe { signals::mask_of(mask) })
}

pub(crate) unsafe extern "C" fn ppoll(
    files: *mut pollfd,
    count: nfds_t,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let own = own_mask(mask);
        let mask = own.as_ref().map_or(ptr::null(), ptr::from_ref);
        polled(count, time.as_ref().copied(), |time| {
            libc::syscall(libc::SYS_ppoll, files, count, time, mask, 8) as c_int
        })
    }
}

pub(crate) unsafe extern "C" fn poll(files: *mut pollfd, count: nfds_t, millis: c_int) -> c_int {
    let time = timespec {
        tv_sec: libc::time_t::from(millis / 1000),
        tv_nsec: libc::c_long::from(millis % 1000) * 1_000_000,
    };
    let time = if millis < 0 { ptr::null() } else { &time };
    // SAFETY: as the caller promises.
    unsafe { ppoll(files, count, time, ptr::null()) }
}

/// What `poll` is in programs that check their buffers' lengths.
pub(crate) unsafe extern "C" fn __poll_chk(
    files: *mut pollfd,
    count: nfds_t,
    millis: c_int,
    room: usize,
) -> c_int {
    if room / size_of::<pollfd>() < count as usize {
        end::abort();
    }
    // SAFETY: as the caller promises.
    unsafe { poll(files, count, millis) }
}

/// The sets of `select`, which a call replaces by its result.
type Sets = [*mut fd_set; 3];

pub(crate) unsafe extern "C" fn pselect(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *const timespec,
    mask: *const sigset_t,
) -> c_int {
    let sets: Sets = [read, write, except];
    // SAFETY: the caller's sets; those that are not given are not read. A set is of `count` bits at least.
    unsafe {
        let words = (count.max(0) as usize).div_ceil(64);
        let mut wanted = [[0u64; 16]; 3];
        let each = || sets.iter().enumerate().filter(|(_, set)| !set.is_null());
        for (at, set) in each() {
            wanted[at][..words.min(16)]
                .copy_from_slice(std::slice::from_raw_parts(set.cast::<u64>(), words.min(16)));
        }
        let own = own_mask(mask);
        let mask = own.as_ref().map_or(ptr::null(), ptr::from_ref);
        let masks = [mask.addr(), 8];
        polled(count as u64, time.as_ref().copied(), |time| {
            for (at, set) in each() {
                let to = set.cast::<u64>();
                to.copy_from_nonoverlapping(wanted[at].as_ptr(), words.min(16));
            }
            let [read, write, except] = sets;
            libc::syscall(
                libc::SYS_pselect6,
                count,
                read,
                write,
                except,
                time,
                masks.as_ptr(),
            ) as c_int
        })
    }
}

pub(crate) unsafe extern "C" fn select(
    count: c_int,
    read: *mut fd_set,
    write: *mut fd_set,
    except: *mut fd_set,
    time: *mut timeval,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe {
        let given = time.as_ref().map(|time| timespec {
            tv_sec: time.tv_sec + time.tv_usec / 1_000_000,
            tv_nsec: time.tv_usec % 1_000_000 * 1000,
        });
        let given = given.as_ref().map_or(ptr::null(), ptr::from_ref);
        pselect(count, read, write, except, given, ptr::null())
    }
}

pub(crate) unsafe extern "C" fn epoll_pwait(
    file: c_int,
    events: *mut epoll_event,
    most: c_int,
    millis: c_int,
    mask: *const sigset_t,
) -> c_int {
    let time = timespec {
        tv_sec: libc::time_t::from(millis / 1000),
        tv_nsec: libc::c_long::from(millis % 1000) * 1_000_000,
    };
    let time = (millis >= 0).then_some(time);
    // SAFETY: as the caller promises.
    unsafe {
        let own = own_mask(mask);
        let mask = own.as_ref().map_or(ptr::null(), ptr::from_ref);
        polled(file as u64 + 1, time, |time| {
            let millis = time.as_ref().map_or(-1, |time| {
                (time.tv_sec * 1000 + time.tv_nsec / 1_000_000) as c_int
            });
            libc::syscall(libc::SYS_epoll_pwait, file, events, most, millis, mask, 8) as c_int
        })
    }
}

pub(crate) unsafe extern "C" fn epoll_wait(
    file: c_int,
    events: *mut epoll_event,
    most: c_int,
    millis: c_int,
) -> c_int {
    // SAFETY: as the caller promises.
    unsafe { epoll_pwait(file, events, most, millis, ptr::null()) }
}

/// Returns the options of a call that waits for children, so that it does not see the processes of threads; `None` if
/// it would see nothing else.
fn without_threads(options: c_int) -> Option<c_int> {
    (options & libc::__WCLONE == 0).then_some(options & !libc::__WALL)
}

pub(crate) unsafe extern "C" fn waitid(
    which: libc::idtype_t,
    id: libc::id_t,
    info: *mut libc::siginfo_t,
    options: c_int,
) -> c_int {
    let Some(options) = without_threads(options) else {
        return sys::fail(ECHILD);
    };
    // SAFETY: as the caller promises.
    let call = |info: *mut libc::siginfo_t, options: c_int| unsafe {
        libc::syscall(libc::SYS_waitid, which, id, info, options, 0) as c_int
    };
    if !on() || alone() || options & libc::WNOHANG != 0 {
        return call(info, options);
    }
    // SAFETY: zeros are a valid description.
    let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let look = libc::WNOHANG | libc::WNOWAIT;
    let done = call(&mut found, options | look);
    // SAFETY: filled by the kernel: no child, or one for which the call would not wait.
    match done == 0 && unsafe { found.si_pid() } == 0 {
        true => outside(Operation::WaitPid, u64::from(id), || call(info, options)),
        false => call(info, options),
    }
}

pub(crate) unsafe extern "C" fn wait4(
    pid: libc::pid_t,
    status: *mut c_int,
    options: c_int,
    usage: *mut rusage,
) -> libc::pid_t {
    let Some(options) = without_threads(options) else {
        return sys::fail(ECHILD);
    };
    // SAFETY: as the caller promises.
    let call = |options: c_int| unsafe {
        libc::syscall(libc::SYS_wait4, pid, status, options, usage) as libc::pid_t
    };
    if !on() || alone() || options & libc::WNOHANG != 0 {
        return call(options);
    }
    match call(options | libc::WNOHANG) {
        0 => outside(Operation::WaitPid, pid as u64, || call(options)),
        done => done,
    }
}

pub(crate) unsafe extern "C" fn waitpid(
    pid: libc::pid_t,
    status: *mut c_int,
    options: c_int,
) -> libc::pid_t {
    // SAFETY: as the caller promises.
    unsafe { wait4(pid, status, options, ptr::null_mut()) }
}

pub(crate) unsafe extern "C" fn wait(status: *mut c_int) -> libc::pid_t {
    // SAFETY: as the caller promises.
    unsafe { wait4(-1, status, 0, ptr::null_mut()) }
}

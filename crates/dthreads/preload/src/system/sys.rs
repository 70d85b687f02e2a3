//! System calls, and messages.

use std::ffi::{CStr, c_int, c_void};
use std::fmt::{self, Write};
use std::ops::Range;
use std::ptr;

use fyris_sync::atomic::AtomicU32;

/// The exit status of a program that the library ends for a reason that it names.
pub(crate) const REFUSED: i32 = 120;

/// Writes to standard error without a block of memory: the line is cut at its buffer's end.
struct Line {
    bytes: [u8; 1024],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        Ok(())
    }
}

/// Prints a line on standard error.
pub(crate) fn say(message: fmt::Arguments<'_>) {
    let mut line = Line {
        bytes: [0; 1024],
        len: 0,
    };
    let _ = writeln!(line, "fyris dthreads: {message}");
    // SAFETY: the buffer's bytes.
    unsafe { libc::syscall(libc::SYS_write, 2, line.bytes.as_ptr(), line.len) };
}

/// Returns the program's `errno`.
pub(crate) fn error() -> c_int {
    // SAFETY: this thread's variable.
    unsafe { *libc::__errno_location() }
}

/// Sets the program's `errno`.
pub(crate) fn set_error(error: c_int) {
    // SAFETY: this thread's variable.
    unsafe { *libc::__errno_location() = error };
}

/// Sets the program's `errno`, and returns what a call returns then.
pub(crate) fn fail(error: c_int) -> c_int {
    set_error(error);
    -1
}

/// Calls `work` and leaves the program's `errno` as it was.
pub(crate) fn keep_error<R>(work: impl FnOnce() -> R) -> R {
    let before = error();
    let result = work();
    set_error(before);
    result
}

/// Ends this process.
pub(crate) fn exit_now(status: i32) -> ! {
    loop {
        // SAFETY: ends the process.
        unsafe { libc::syscall(libc::SYS_exit_group, status) };
    }
}

/// Returns this process's own id.
pub(crate) fn pid() -> i32 {
    // SAFETY: only asks.
    unsafe { libc::syscall(libc::SYS_getpid) as i32 }
}

/// Returns the number of processors that this process may have.
pub(crate) fn processors() -> u32 {
    // SAFETY: zeros are valid, and the call fills the set.
    let count = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::sched_getaffinity(0, size_of_val(&set), &mut set);
        libc::CPU_COUNT(&set)
    };
    count.max(1) as u32
}

/// Lets others have this processor.
pub(crate) fn yield_now() {
    // SAFETY: a plain system call.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

/// Sends a signal to a process; errors are its absence.
pub(crate) fn kill(pid: i32, signal: i32) -> i32 {
    // SAFETY: a plain system call.
    unsafe { libc::syscall(libc::SYS_kill, pid, signal) as i32 }
}

/// Waits while `word` is `value`; at most a second.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32) {
    let second = libc::timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    // SAFETY: a word in shared memory.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            ptr::from_ref(word),
            libc::FUTEX_WAIT,
            value,
            ptr::from_ref(&second),
        )
    };
}

/// Wakes the process that waits for `word`.
pub(crate) fn futex_wake(word: &AtomicU32) {
    // SAFETY: a word in shared memory.
    unsafe { libc::syscall(libc::SYS_futex, ptr::from_ref(word), libc::FUTEX_WAKE, 1) };
}

/// Wakes all processes that wait for `word`.
pub(crate) fn futex_wake_all(word: &AtomicU32) {
    let all = i32::MAX;
    // SAFETY: a word in shared memory.
    unsafe { libc::syscall(libc::SYS_futex, ptr::from_ref(word), libc::FUTEX_WAKE, all) };
}

fn map(address: usize, len: usize, protection: c_int, flags: c_int) -> *mut c_void {
    let at = ptr::without_provenance_mut::<c_void>(address);
    // SAFETY: a new mapping that replaces none.
    let address = unsafe {
        libc::syscall(
            libc::SYS_mmap,
            at,
            len,
            protection,
            flags | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        )
    };
    match address {
        -1 => ptr::null_mut(),
        address => ptr::with_exposed_provenance_mut(address as usize),
    }
}

const WRITABLE: c_int = libc::PROT_READ | libc::PROT_WRITE;

/// Keeps the kernel from choosing a range for something else.
pub(crate) fn reserve(address: usize, len: usize) {
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE;
    map(address, len, libc::PROT_NONE, flags);
}

/// Maps private memory of zeros at an address where nothing is; false if that cannot be.
pub(crate) fn map_fixed(address: usize, len: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE;
    map(address, len, WRITABLE, flags).addr() == address
}

/// Maps private memory of zeros; null if that cannot be.
pub(crate) fn map_private(len: usize) -> *mut u8 {
    map(0, len, WRITABLE, libc::MAP_PRIVATE).cast()
}

/// Maps memory of zeros that forked processes share; null if that cannot be.
pub(crate) fn map_shared(len: usize) -> *mut u8 {
    map(0, len, WRITABLE, libc::MAP_SHARED).cast()
}

/// Makes whole pages of private memory zeros without a frame; false if that cannot be.
///
/// # Safety
///
/// The caller's memory, whose content goes.
pub(crate) unsafe fn drop_pages(range: Range<usize>) -> bool {
    let advice = libc::MADV_DONTNEED;
    // SAFETY: as the caller promises.
    unsafe { libc::syscall(libc::SYS_madvise, range.start, range.len(), advice) == 0 }
}

/// Gives whole pages other rights; where the kernel cannot they stay as they are.
pub(crate) fn protect(range: Range<usize>, rights: c_int) {
    try_protect(range, rights);
}

/// Gives whole pages other rights; false if the kernel does not.
pub(crate) fn try_protect(range: Range<usize>, rights: c_int) -> bool {
    // SAFETY: the caller's memory.
    unsafe { libc::syscall(libc::SYS_mprotect, range.start, range.len(), rights) == 0 }
}

/// Maps private memory of zeros at an address; false if that cannot be, or something is there.
#[cfg(target_arch = "x86_64")]
pub(crate) fn map_new(address: usize, len: usize) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED_NOREPLACE;
    map(address, len, WRITABLE, flags).addr() == address
}

/// Returns the value of an environment variable.
pub(crate) fn variable(name: &CStr) -> Option<&'static str> {
    // SAFETY: called before the program runs, which may change its environment; the text stays where it is.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    if value.is_null() {
        return None;
    }
    // SAFETY: a string of the environment.
    unsafe { CStr::from_ptr(value) }.to_str().ok()
}

//! The streams of stdio: a call locks its stream, as POSIX says, in the order of turns.
//!
//! A stream is memory that threads share, also the standard ones (`shared/variables.rs`), so what is buffered there
//! appears once. Of calls that libc makes for itself, and of those whose names end in `_unlocked`, nothing is known
//! here: they are as accesses to memory. While there is no other thread nothing is locked.

use std::ffi::c_int;

use fyris_dthreads_tools::record::Operation;
use libc::{FILE, PTHREAD_MUTEX_RECURSIVE};

use crate::calls::blocking;
use crate::common::alone;
use crate::shared::control::NEVER;
use crate::shared::variables::{MODE_AT, WIDE_AT};
use crate::sync::{mutex, name};
use crate::system::around::{Arguments, around};
use crate::system::on;

/// The lock of the list of streams, for calls that have no stream yet, or mean all: no address of a program.
const LIST: u64 = 2;

unsafe extern "C" {
    static stdin: *mut FILE;
    static stdout: *mut FILE;
    static stderr: *mut FILE;
    fn __flbf(stream: *mut FILE) -> c_int;
}

/// Locks a stream for a call, and returns its lock. If the call is for input that is not there waits for it first, and
/// holds up no other thread meanwhile.
fn lock(stream: *mut FILE, is_input: bool) -> Option<u64> {
    if !on() || alone() {
        return None;
    }
    let lock = match stream.is_null() {
        true => LIST,
        false => name(stream),
    };
    mutex::lock_as(Operation::Stream, lock, PTHREAD_MUTEX_RECURSIVE, NEVER);
    // SAFETY: the caller's stream, locked.
    while is_input && lock != LIST && unsafe { waits(stream) } {
        unlock(lock);
        // SAFETY: as above.
        blocking::wait_for_input(unsafe { libc::fileno(stream) });
        mutex::lock_as(Operation::Stream, lock, PTHREAD_MUTEX_RECURSIVE, NEVER);
    }
    Some(lock)
}

fn unlock(lock: u64) {
    mutex::unlock_as(Operation::StreamEnd, lock, PTHREAD_MUTEX_RECURSIVE);
}

/// Flags of a stream: it is not for reading, it has ended, it reads what was pushed back.
const NO_READS: i32 = 4;
const EOF_SEEN: i32 = 0x10;
const IN_BACKUP: i32 = 0x100;
/// Where in a stream the words about its buffer begin.
const BUFFER_AT: usize = 8;

/// Returns whether a buffer has input: bytes or, of a stream of wide characters, these. `words` say where it goes on
/// and ends first, and the ninth and eleventh what is behind that which was pushed back.
unsafe fn has_input(words: *const usize, flags: i32) -> bool {
    // SAFETY: the words about a buffer of a stream, as libc has them.
    let word = |n: usize| unsafe { words.add(n).read() };
    word(0) < word(1) || flags & IN_BACKUP != 0 && word(8) < word(10)
}

/// Returns whether a call for input of a stream would wait for it.
unsafe fn waits(stream: *mut FILE) -> bool {
    // SAFETY: the caller's stream, locked; one of wide characters has a buffer of these, too.
    unsafe {
        let flags = stream.cast::<i32>().read();
        if flags & (NO_READS | EOF_SEEN) != 0 || has_input(stream.byte_add(BUFFER_AT).cast(), flags)
        {
            return false;
        }
        let is_wide = stream.byte_add(MODE_AT).cast::<i32>().read() > 0;
        let wide = stream.byte_add(WIDE_AT).cast::<*const usize>().read();
        if is_wide && !wide.is_null() && has_input(wide, flags) {
            return false;
        }
        let file = libc::fileno(stream);
        if file < 0 || !blocking::would_wait(file) {
            return false;
        }
    }
    // What was asked is to be seen before the answer is waited for, as libc does.
    // SAFETY: libc's stream; the token is here.
    unsafe {
        if !stdout.is_null() && __flbf(stdout) != 0 {
            libc::fflush(stdout);
        }
    }
    true
}

/// Returns the stream of a variable: libc's, or one of the program in its place.
fn standard(variable: *const *mut FILE) -> *mut FILE {
    // SAFETY: a variable that is always there, which this thread alone uses (invariant ONE).
    unsafe { variable.read() }
}

/// Returns what locks the stream that is argument `N`, for input if the two arguments before say that there is some to
/// be read: `fread`'s sizes.
const fn blocks<const N: usize>() -> fn(&Arguments) -> Option<u64> {
    |arguments| {
        let is_input = arguments[N - 2] != 0 && arguments[N - 1] != 0;
        lock(
            std::ptr::with_exposed_provenance_mut(arguments[N]),
            is_input,
        )
    }
}

/// Likewise, if the argument before leaves room for more than the end of a text: `fgets`'s length.
const fn line<const N: usize>() -> fn(&Arguments) -> Option<u64> {
    |arguments| {
        let is_input = arguments[N - 1] as c_int > 1;
        lock(
            std::ptr::with_exposed_provenance_mut(arguments[N]),
            is_input,
        )
    }
}

/// Returns what locks the stream that is argument `N`.
const fn at<const N: usize, const INPUT: bool>() -> fn(&Arguments) -> Option<u64> {
    |arguments| lock(std::ptr::with_exposed_provenance_mut(arguments[N]), INPUT)
}

around! { at::<0, false>(), unlock;
    fprintf vfprintf __fprintf_chk __vfprintf_chk fwprintf vfwprintf __fwprintf_chk __vfwprintf_chk fflush fclose pclose
    fseek fseeko fseeko64 ftell ftello ftello64 rewind fgetpos fgetpos64 fsetpos fsetpos64 setvbuf setbuf setbuffer
    setlinebuf clearerr feof ferror fwide
}
around! { at::<0, true>(), unlock;
    fgetc getc _IO_getc getw fgetwc getwc fscanf vfscanf __isoc99_fscanf __isoc99_vfscanf __isoc23_fscanf
    __isoc23_vfscanf fwscanf vfwscanf __isoc99_fwscanf __isoc99_vfwscanf __isoc23_fwscanf __isoc23_vfwscanf
}
around! { at::<1, false>(), unlock; fputs fputc putc _IO_putc putw ungetc fputws fputwc putwc ungetwc }
around! { at::<2, false>(), unlock; freopen freopen64 }
around! { at::<2, true>(), unlock; getline }
around! { at::<3, false>(), unlock; fwrite }
around! { at::<3, true>(), unlock; getdelim __getdelim }
around! { line::<2>(), unlock; fgets fgetws }
around! { line::<3>(), unlock; __fgets_chk __fgetws_chk }
around! { blocks::<3>(), unlock; fread }
around! { blocks::<4>(), unlock; __fread_chk }
around! { |_| lock(standard(&raw const stdout), false), unlock;
    printf vprintf __printf_chk __vprintf_chk puts putchar wprintf vwprintf __wprintf_chk __vwprintf_chk putwchar
}
around! { |_| lock(standard(&raw const stdin), true), unlock;
    scanf vscanf __isoc99_scanf __isoc99_vscanf __isoc23_scanf __isoc23_vscanf getchar gets getwchar wscanf vwscanf
    __isoc99_wscanf __isoc99_vwscanf __isoc23_wscanf __isoc23_vwscanf
}
around! { |_| lock(standard(&raw const stderr), false), unlock;
    perror psignal psiginfo warn vwarn warnx vwarnx error error_at_line
}
around! { |_| lock(std::ptr::null_mut(), false), unlock;
    fopen fopen64 fdopen popen tmpfile tmpfile64 fmemopen open_memstream open_wmemstream fopencookie fcloseall setmntent
    endmntent
}

pub(crate) extern "C" fn flockfile(stream: *mut FILE) {
    if on() {
        mutex::lock_as(
            Operation::Stream,
            name(stream),
            PTHREAD_MUTEX_RECURSIVE,
            NEVER,
        );
    }
}

pub(crate) extern "C" fn ftrylockfile(stream: *mut FILE) -> c_int {
    match on() {
        true => mutex::try_lock_as(Operation::Stream, name(stream), PTHREAD_MUTEX_RECURSIVE),
        false => 0,
    }
}

pub(crate) extern "C" fn funlockfile(stream: *mut FILE) {
    if on() {
        unlock(name(stream));
    }
}

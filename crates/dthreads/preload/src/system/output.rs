//! Standard output: what a thread prints appears once, in the order of the token.
//!
//! libc's stream is private to each process. Once there are several threads it is fully buffered, and flushed in turns;
//! what does not fit the buffer goes out before. Processes are forked with an empty one.

use std::cell::Cell;
use std::ffi::c_char;

use libc::FILE;

use crate::system::local::Solo;

const LEN: usize = 1 << 20;

unsafe extern "C" {
    fn __fpending(stream: *mut FILE) -> usize;
    static stdout: *mut FILE;
}

struct Output {
    stream: Cell<*mut FILE>,
    buffered: Cell<bool>,
    buffer: std::cell::UnsafeCell<[c_char; LEN]>,
}

static OUTPUT: Solo<Output> = Solo::new(Output {
    stream: Cell::new(std::ptr::null_mut()),
    buffered: Cell::new(false),
    buffer: std::cell::UnsafeCell::new([0; LEN]),
});

/// Remembers libc's stream, since the program may give the variable another one, and gives it a private buffer; a
/// terminal still gets whole lines.
pub(crate) fn find() {
    // SAFETY: a variable of libc, set since it was loaded; nothing was printed yet; the buffer stays for ever and is
    // given to nothing else.
    unsafe {
        OUTPUT.stream.set(stdout);
        let terminal = libc::isatty(1) == 1;
        let mode = if terminal { libc::_IOLBF } else { libc::_IOFBF };
        libc::setvbuf(stdout, OUTPUT.buffer.get().cast(), mode, LEN);
    }
}

/// Buffers the stream: there are several threads from now on.
pub(crate) fn buffer() {
    let stream = OUTPUT.stream.get();
    if OUTPUT.buffered.replace(true) || stream.is_null() {
        return;
    }
    // SAFETY: libc's stream; it keeps the buffer that it has.
    unsafe {
        libc::fflush(stream);
        libc::setvbuf(stream, std::ptr::null_mut(), libc::_IOFBF, 0);
    }
}

/// Writes what is buffered.
pub(crate) fn flush() {
    let stream = OUTPUT.stream.get();
    // SAFETY: libc's stream; this process has one thread.
    unsafe {
        if OUTPUT.buffered.get() && __fpending(stream) > 0 {
            libc::fflush(stream);
        }
    }
}

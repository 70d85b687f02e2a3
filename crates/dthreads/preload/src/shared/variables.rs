//! Variables of libc that threads share: the standard streams, the list of all streams, the environment.
//!
//! libc's own variables are private to each process, since most of them are what a process needs to run. These few are
//! brought up to date and committed with the program's memory, word by word, by way of memory that all processes share
//! (invariant TOKEN). A word that this thread has changed since its last commit stays as it is until the next one.

use std::cell::Cell;
use std::ffi::CStr;
use std::ops::Range;

use fyris_dthreads_tools::record::Number;

use crate::shared::control::control;
use crate::system::{Solo, real};

/// Words that there is room for.
pub(crate) const WORDS: usize = 192;

/// Words of a stream and of what libc has behind it, and of what it has for wide characters, by libc's ABI.
const STREAM: usize = 28;
const WIDE: usize = 29;
/// Where in a stream the address of the latter is; and whether the stream is one of wide characters.
const WIDE_AT: usize = 160;
const MODE_AT: usize = 192;

const STREAMS: [&CStr; 3] = [c"_IO_2_1_stdin_", c"_IO_2_1_stdout_", c"_IO_2_1_stderr_"];
const POINTERS: [&CStr; 5] = [
    c"_IO_list_all",
    c"stdin",
    c"stdout",
    c"stderr",
    c"__environ",
];

/// Changes of the variable `TZ` so far, and the address of the environment's array, if the library has made it. The
/// library's own, and shared as libc's are.
pub(crate) static ZONES: Solo<Cell<usize>> = Solo::new(Cell::new(0));
pub(crate) static ENVIRONMENT: Solo<Cell<usize>> = Solo::new(Cell::new(0));

/// A word of libc's, and what it was when this process was last up to date.
struct Word {
    at: Cell<*mut usize>,
    known: Cell<usize>,
}

struct Words {
    all: [Word; WORDS],
    len: Cell<usize>,
    /// Of these the words that are used while no standard stream is one of wide characters.
    narrow: Cell<usize>,
    streams: [Cell<*mut usize>; 3],
    /// The number of the last change that has come here.
    version: Cell<u64>,
}

static OWN: Solo<Words> = Solo::new(Words {
    all: [const {
        Word {
            at: Cell::new(std::ptr::null_mut()),
            known: Cell::new(0),
        }
    }; WORDS],
    len: Cell::new(0),
    narrow: Cell::new(0),
    streams: [const { Cell::new(std::ptr::null_mut()) }; 3],
    version: Cell::new(0),
});

/// Finds the variables, before the program begins. A program may have one among its own, which are shared.
pub(crate) fn find(globals: &[Range<usize>]) {
    let add = |at: *mut usize, words| {
        let is_shared = |range: &Range<usize>| range.contains(&at.addr());
        if !at.is_null() && !globals.iter().any(is_shared) {
            add(at, words);
        }
    };
    for own in [&ZONES, &ENVIRONMENT] {
        add(own.as_ptr(), 1);
    }
    for name in POINTERS {
        add(real::variable(name).cast(), 1);
    }
    for (name, stream) in STREAMS.iter().zip(&OWN.streams) {
        stream.set(real::variable(name).cast());
        add(stream.get(), STREAM);
    }
    OWN.narrow.set(OWN.len.get());
    for stream in &OWN.streams {
        // SAFETY: libc's stream.
        add(
            unsafe { stream.get().byte_add(WIDE_AT).cast::<*mut usize>().read() },
            WIDE,
        );
    }
}

/// Returns whether a standard stream is one of wide characters.
fn any_wide() -> bool {
    // SAFETY: libc's streams.
    let mode =
        |stream: &Cell<*mut usize>| unsafe { stream.get().byte_add(MODE_AT).cast::<i32>().read() };
    OWN.streams.iter().any(|stream| mode(stream) > 0)
}

fn add(at: *mut usize, words: usize) {
    let len = OWN.len.get();
    OWN.len.set(len + words);
    for (n, word) in OWN.all[len..len + words].iter().enumerate() {
        word.at.set(at.wrapping_add(n));
        // SAFETY: a word of a variable.
        word.known.set(unsafe { word.at.get().read() });
        control().variables[len + n].set(word.known.get() as u64);
    }
}

fn words() -> impl Iterator<Item = (&'static Word, &'static Number)> {
    OWN.all[..OWN.len.get()].iter().zip(&control().variables)
}

/// Brings in what others have committed.
pub(crate) fn update() {
    let version = control().variables_version.get();
    if OWN.version.replace(version) == version {
        return;
    }
    for (word, shared) in words() {
        let new = shared.get() as usize;
        // SAFETY: a word of a variable, which this thread alone uses (invariant ONE).
        unsafe {
            if word.at.get().read() == word.known.get() {
                word.at.get().write(new);
            }
        }
        word.known.set(new);
    }
}

/// Publishes what this thread has changed.
pub(crate) fn commit() {
    let mut any = false;
    let len = match any_wide() {
        true => OWN.len.get(),
        false => OWN.narrow.get(),
    };
    for (word, shared) in words().take(len) {
        // SAFETY: as above.
        let now = unsafe { word.at.get().read() };
        if now != word.known.get() {
            word.known.set(now);
            shared.set(now as u64);
            any = true;
        }
    }
    if any {
        let version = &control().variables_version;
        version.add(1);
        OWN.version.set(version.get());
    }
}

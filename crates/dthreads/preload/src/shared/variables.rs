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
use crate::system::{Lent, Solo, real, sys};

/// Words that there is room for.
pub(crate) const WORDS: usize = 192;

/// Words of a stream and of what libc has behind it, and of what it has for wide characters, by libc's ABI.
const STREAM: usize = 28;
const WIDE: usize = 29;
/// Where in a stream the address of the latter is; and whether the stream is one of wide characters.
pub(crate) const WIDE_AT: usize = 160;
pub(crate) const MODE_AT: usize = 192;

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
/// What `lcong48` has set: the second and third word of the state of `drand48`.
pub(crate) static FACTORS: Solo<[Cell<usize>; 2]> = Solo::new([const { Cell::new(0) }; 2]);

/// A variable: its words, what they were when this process was last up to date, and where they are in shared memory.
struct Variable {
    words: &'static [Cell<usize>],
    known: Box<[usize]>,
    shared: &'static [Number],
    /// Used only when this is above 0: whether a stream is one of wide characters.
    mode: Option<&'static Cell<i32>>,
}

static OWN: Solo<Lent<Vec<Variable>>> = Solo::new(Lent::new());
/// The number of the last change that has come here.
static VERSION: Solo<Cell<u64>> = Solo::new(Cell::new(0));

/// Finds the variables, before the program begins. A program may have one among its own, which are shared.
pub(crate) fn find(globals: &[Range<usize>]) {
    let mut all = Vec::new();
    let mut room = &control().variables[..];
    let mut add = |at: *mut usize, len, mode| {
        let is_shared = |range: &Range<usize>| range.contains(&at.addr());
        if at.is_null() || globals.iter().any(is_shared) {
            return;
        }
        // SAFETY: a variable of this many words, which this thread alone uses (invariant ONE).
        let words = unsafe { std::slice::from_raw_parts(at.cast::<Cell<usize>>(), len) };
        let (shared, rest) = room.split_at(len);
        room = rest;
        let known: Box<[usize]> = words.iter().map(Cell::get).collect();
        for (shared, &known) in shared.iter().zip(&known) {
            shared.set(known as u64);
        }
        all.push(Variable {
            words,
            known,
            shared,
            mode,
        });
    };
    for own in [&ZONES, &ENVIRONMENT, &FACTORS[0], &FACTORS[1]] {
        add(own.as_ptr(), 1, None);
    }
    for name in POINTERS {
        add(real::variable(name).cast(), 1, None);
    }
    for name in STREAMS {
        let stream: *mut usize = real::variable(name).cast();
        if real::size_of_variable(stream.cast()) != STREAM * size_of::<usize>() {
            sys::say(format_args!(
                "{name:?} of this libc is not as in those that are known: it cannot be shared"
            ));
            sys::exit_now(sys::REFUSED);
        }
        add(stream, STREAM, None);
        // SAFETY: libc's stream.
        let (wide, mode) = unsafe {
            let wide = stream.byte_add(WIDE_AT).cast::<*mut usize>().read();
            (wide, &*stream.byte_add(MODE_AT).cast::<Cell<i32>>())
        };
        add(wide, WIDE, Some(mode));
    }
    OWN.put(all);
}

/// Brings in what others have committed.
pub(crate) fn update() {
    let version = control().variables_version.get();
    if VERSION.replace(version) == version {
        return;
    }
    OWN.with(|all| all.iter_mut().for_each(Variable::update));
}

/// Publishes what this thread has changed.
pub(crate) fn commit() {
    let published = OWN.with(|all| {
        all.iter_mut()
            .map(Variable::commit)
            .fold(false, |a, b| a | b)
    });
    if published == Some(true) {
        let version = &control().variables_version;
        version.add(1);
        VERSION.set(version.get());
    }
}

impl Variable {
    fn update(&mut self) {
        let both = self.words.iter().zip(&mut self.known);
        for ((word, known), shared) in both.zip(self.shared) {
            let new = shared.get() as usize;
            if word.get() == *known {
                word.set(new);
            }
            *known = new;
        }
    }

    /// Publishes its words, and returns whether any has changed.
    fn commit(&mut self) -> bool {
        if self.mode.is_some_and(|mode| mode.get() <= 0) {
            return false;
        }
        let both = self.words.iter().zip(&self.known);
        // All words in few instructions: most often none has changed.
        if both.fold(0, |all, (word, known)| all | (word.get() ^ known)) == 0 {
            return false;
        }
        let both = self.words.iter().zip(&mut self.known);
        for ((word, known), shared) in both.zip(self.shared) {
            if word.get() != *known {
                *known = word.get();
                shared.set(word.get() as u64);
            }
        }
        true
    }
}

//! The machine's atoms and ours, each by the other.
//!
//! Fyris has a number for an atom and so has the machine; neither forgets one. Two arrays, filled as atoms
//! are met, turn one into the other with one load. An entry is written once (every writer writes the same),
//! so a reader needs no order beyond that of the entry itself.

use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use fyris::Error;
use fyris_term::{Atom, AtomError, Term as Owned};

use crate::machine::{Env, Term};

/// Entries that need no chunk, and then in the first one; each further one has twice as many as the one before. The
/// machine has some ten thousand atoms before a program begins. Memory that no entry is in is never touched.
const FIRST: usize = 1 << 16;
/// Chunks: room for 2^32 entries.
const CHUNKS: usize = 16;

/// Words by number, zero where there is none yet.
struct Words {
    /// The atoms of most programs: one load.
    near: [AtomicUsize; FIRST],
    far: [OnceLock<Box<[AtomicUsize]>>; CHUNKS],
}

impl Words {
    const fn new() -> Words {
        Words {
            near: [const { AtomicUsize::new(0) }; FIRST],
            far: [const { OnceLock::new() }; CHUNKS],
        }
    }

    /// Returns the chunk of an entry that needs one, and the place there.
    fn place(at: usize) -> (usize, usize) {
        let chunk = (at / FIRST).ilog2() as usize;
        (chunk, at - (FIRST << chunk))
    }

    #[inline(always)]
    fn get(&self, at: usize) -> usize {
        match self.near.get(at) {
            // Relaxed: as in `get_far`.
            Some(word) => word.load(Ordering::Relaxed),
            None => self.get_far(at),
        }
    }

    #[inline(never)]
    fn get_far(&self, at: usize) -> usize {
        let (chunk, at) = Words::place(at);
        match self.far.get(chunk).and_then(OnceLock::get) {
            // Relaxed: the word is all there is to see; what it names was there before it was written.
            Some(words) => words[at].load(Ordering::Relaxed),
            None => 0,
        }
    }

    fn set(&self, at: usize, word: usize) {
        if let Some(near) = self.near.get(at) {
            // Relaxed: as in `get_far`.
            return near.store(word, Ordering::Relaxed);
        }
        let (chunk, at) = Words::place(at);
        let fresh = || (0..FIRST << chunk).map(|_| AtomicUsize::new(0)).collect();
        if let Some(words) = self.far.get(chunk) {
            // Relaxed: as in `get_far`.
            words.get_or_init(fresh)[at].store(word, Ordering::Relaxed);
        }
    }
}

/// Tags of the external format, with lengths of one byte and of two.
const SMALL_ATOM_UTF8: u8 = 119;
const ATOM_UTF8: u8 = 118;

/// The machine's word by our number.
static TO_MACHINE: Words = Words::new();
/// Our number plus one by the machine's.
static FROM_MACHINE: Words = Words::new();

/// Returns our atom for one of the machine's; `None` if it is no atom, or our table is full.
#[inline]
pub(crate) fn from_machine(env: Env, term: Term) -> Option<Atom> {
    met(term).or_else(|| learn(env, term))
}

/// Returns our atom for one of the machine's, if it was met before.
#[inline]
pub(crate) fn met(term: Term) -> Option<Atom> {
    match FROM_MACHINE.get(term.atom_index()?) {
        0 => None,
        id => Atom::from_id(id as u32 - 1),
    }
}

/// Returns our atom for a term that is an atom of the machine's; an error if our table is full.
#[inline]
pub(crate) fn stored(env: Env, term: Term) -> Result<Atom, Error> {
    from_machine(env, term).ok_or_else(no_more)
}

/// Returns the error for an atom that our table has no room for.
#[cold]
pub(crate) fn no_more() -> Error {
    Error::Atom(AtomError::TableFull)
}

#[cold]
#[inline(never)]
fn learn(env: Env, term: Term) -> Option<Atom> {
    let name = name(env, term)?;
    let atom = match KNOWN_ONLY.get() {
        true => Atom::known(&name)?,
        false => Atom::new(&name).ok()?,
    };
    meet(term, atom);
    Some(atom)
}

/// Notes that an atom of the machine is this one of ours.
fn meet(term: Term, atom: Atom) {
    if let Some(index) = term.atom_index() {
        FROM_MACHINE.set(index, atom.id() as usize + 1);
        TO_MACHINE.set(atom.id() as usize, term.0);
    }
}

/// Returns our atom for one of the machine's, or its name if we have none; none is made.
#[inline]
pub(crate) fn known(env: Env, term: Term) -> Option<Result<Atom, String>> {
    met(term).map(Ok).or_else(|| find(env, term))
}

#[cold]
#[inline(never)]
fn find(env: Env, term: Term) -> Option<Result<Atom, String>> {
    let name = name(env, term)?;
    let atom = Atom::known(&name).ok_or(name);
    if let Ok(atom) = atom {
        meet(term, atom);
    }
    Some(atom)
}

/// Returns the name of an atom of the machine; `None` if it is no atom.
fn name(env: Env, term: Term) -> Option<String> {
    term.atom_index()?;
    if let Some(name) = env.latin1_name(term) {
        return Some(name.into_iter().map(char::from).collect());
    }
    // Characters beyond Latin-1 (or none at all): older machines tell such a name in this form only.
    match env.write_external(term)?.as_slice() {
        [_, SMALL_ATOM_UTF8, _, name @ ..] | [_, ATOM_UTF8, _, _, name @ ..] => {
            String::from_utf8(name.to_vec()).ok()
        }
        _ => None,
    }
}

thread_local! {
    static KNOWN_ONLY: Cell<bool> = const { Cell::new(false) };
}

/// Runs `f`, which makes no atoms of ours: reading a term that has another one fails as if the table were full. So what
/// is looked up has never been stored.
pub(crate) fn known_only<R>(f: impl FnOnce() -> R) -> R {
    struct Off;
    impl Drop for Off {
        fn drop(&mut self) {
            KNOWN_ONLY.set(false);
        }
    }
    KNOWN_ONLY.set(true);
    let _off = Off;
    f()
}

/// Returns whether [`known_only`] is under way in this thread.
pub(crate) fn is_known_only() -> bool {
    KNOWN_ONLY.get()
}

/// Returns the machine's atom with this number of ours; `None` if we never gave it out.
#[inline(always)]
pub(crate) fn numbered(env: Env, id: u32) -> Option<Term> {
    match TO_MACHINE.get(id as usize) {
        0 => Atom::from_id(id).map(|atom| teach(env, atom)),
        word => Some(Term(word)),
    }
}

/// Returns the machine's atom for one of ours.
#[inline]
pub(crate) fn to_machine(env: Env, atom: Atom) -> Term {
    match TO_MACHINE.get(atom.id() as usize) {
        0 => teach(env, atom),
        word => Term(word),
    }
}

#[cold]
#[inline(never)]
fn teach(env: Env, atom: Atom) -> Term {
    let latin1: Option<Vec<u8>> = atom
        .as_str()
        .chars()
        .map(|c| u8::try_from(c).ok())
        .collect();
    let term = match latin1 {
        Some(name) => env.make_atom(&name),
        None => env
            .encoded(&Owned::Atom(atom))
            .expect("an atom's external form"),
    };
    meet(term, atom);
    term
}

/// Atoms that this crate itself makes.
macro_rules! words {
    ($($name:ident = $text:literal;)*) => {
        $(
            /// Returns the atom of that name.
            #[inline]
            pub(crate) fn $name(env: Env) -> Term {
                static WORD: AtomicUsize = AtomicUsize::new(0);
                // Relaxed: as in `Words::get_far`.
                match WORD.load(Ordering::Relaxed) {
                    0 => {
                        let term = env.make_atom($text.as_bytes());
                        WORD.store(term.0, Ordering::Relaxed);
                        term
                    }
                    word => Term(word),
                }
            }
        )*
    };
}

words! {
    r#true = "true";
    r#false = "false";
    undefined = "undefined";
    none = "none";
    end_of_table = "$end_of_table";
    failure = "$fyris_error";
    transfer = "ETS-TRANSFER";
    nif_panicked = "fyris_panicked";
    more = "more";
    done = "done";
    ok = "ok";
    error = "error";
    check = "check";
    insert = "insert";
    unchanged = "unchanged";
    too_large = "too_large";
    anything = "_";
    whole = "$_";
    bindings = "$$";
    fyris = "fyris";
    objects = "objects";
    current = "current";
    changes = "changes";
    update = "update";
    delete = "delete";
    cleared = "cleared";
    deleted = "deleted";
    overflow = "overflow";
    passive = "passive";
}

/// Variables of match specifications that are known by their words: `'$0'` and so on.
pub(crate) const VARIABLES: usize = 16;

/// Returns the number of a variable, if it is one of these.
#[inline]
pub(crate) fn variable(env: Env, term: Term) -> Option<usize> {
    static WORDS: OnceLock<[Term; VARIABLES]> = OnceLock::new();
    let words = WORDS.get_or_init(|| {
        std::array::from_fn(|number| env.make_atom(format!("${number}").as_bytes()))
    });
    words.iter().position(|word| *word == term)
}

/// Returns the empty list: a word too, and the same for ever.
#[inline]
pub(crate) fn nil(env: Env) -> Term {
    static WORD: AtomicUsize = AtomicUsize::new(0);
    // Relaxed: as in `Words::get_far`.
    match WORD.load(Ordering::Relaxed) {
        0 => {
            let term = env.make_list(&[]);
            WORD.store(term.0, Ordering::Relaxed);
            term
        }
        word => Term(word),
    }
}

/// Returns `true` or `false`.
#[inline]
pub(crate) fn boolean(env: Env, value: bool) -> Term {
    if value { r#true(env) } else { r#false(env) }
}

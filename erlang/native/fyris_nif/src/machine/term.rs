//! Terms of one word.
//!
//! Small integers, atoms and local pids are single words with a tag in the low bits, and asking the machine what they
//! are costs more than looking. The tags have been the same since OTP R12.

use std::sync::atomic::{AtomicUsize, Ordering};

use rustler::sys as raw;

use super::{BOXED, Env, ErlNifPid, ErlNifTerm, PRIMARY, SUBTAG, header};

/// A term of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Term(pub(crate) usize);

const IMMEDIATE: usize = 0xF;
const SMALL: usize = 0xF;
const PID: usize = 0x3;
const PORT: usize = 0x7;
const ATOM_MASK: usize = 0x3F;
const ATOM: usize = 0xB;
/// Of no header, whose last bits are zero.
const NO_RECORDS: usize = 1;
/// The subtag of the headers of native records.
static RECORD: AtomicUsize = AtomicUsize::new(NO_RECORDS);

/// Small integers have 60 bits.
const SMALL_BITS: u32 = 60;

impl Term {
    /// Returns the value of a small integer.
    #[inline(always)]
    pub(crate) fn small(self) -> Option<i64> {
        (self.0 & IMMEDIATE == SMALL).then_some(self.0 as i64 >> 4)
    }

    /// Returns whether it is a small integer or an atom: a word that is the same term everywhere on the node.
    #[inline(always)]
    pub(crate) fn is_small_or_atom(self) -> bool {
        self.small().is_some() || self.atom_index().is_some()
    }

    /// Returns whether it points to words with a header.
    #[inline(always)]
    pub(crate) fn is_boxed(self) -> bool {
        self.0 & PRIMARY == BOXED
    }

    /// Returns the place in the machine's atom table.
    #[inline(always)]
    pub(crate) fn atom_index(self) -> Option<usize> {
        (self.0 & ATOM_MASK == ATOM).then_some(self.0 >> 6)
    }

    /// Returns the word that identifies a local process.
    #[inline(always)]
    pub(crate) fn local_pid(self) -> Option<u64> {
        (self.0 & IMMEDIATE == PID).then_some(self.0 as u64 >> 4)
    }

    /// Returns the local process that [`Term::local_pid`] identified so.
    #[inline(always)]
    pub(crate) fn from_local_pid(id: u64) -> Term {
        Term((id << 4) as usize | PID)
    }

    /// Returns the word that identifies a local port.
    pub(crate) fn local_port(self) -> Option<u64> {
        (self.0 & IMMEDIATE == PORT).then_some(self.0 as u64 >> 4)
    }

    /// Returns the local port that [`Term::local_port`] identified so.
    pub(crate) fn from_local_port(id: u64) -> Term {
        Term((id << 4) as usize | PORT)
    }

    /// Returns a small integer; `None` if it is too large to be one.
    #[inline(always)]
    pub(crate) fn from_small(value: i64) -> Option<Term> {
        let fits = (value << (64 - SMALL_BITS)) >> (64 - SMALL_BITS) == value;
        fits.then_some(Term((value << 4) as usize | SMALL))
    }

    /// Returns whether it is a native record, of which the machine itself does not tell the kind: OTP 29 ends at once
    /// when it is asked.
    #[inline(always)]
    pub(super) fn is_record(self) -> bool {
        // Relaxed: written when the library is loaded, before any call.
        let record = RECORD.load(Ordering::Relaxed);
        record != NO_RECORDS && self.subtag() == Some(record)
    }

    /// Returns the kind of a boxed term, from its header; `None` of any other.
    #[inline(always)]
    pub(crate) fn subtag(self) -> Option<usize> {
        header(self).map(|header| header & SUBTAG)
    }

    #[inline(always)]
    pub(crate) fn c(self) -> ErlNifTerm {
        // SAFETY: both are one word, `repr(transparent)`.
        unsafe { std::mem::transmute(self.0) }
    }

    #[inline(always)]
    pub(crate) fn from_c(term: ErlNifTerm) -> Term {
        // SAFETY: as in `c`.
        Term(unsafe { std::mem::transmute::<ErlNifTerm, usize>(term) })
    }

    /// Returns the pid as the machine's C interface has it.
    pub(crate) fn as_pid(self) -> ErlNifPid {
        // SAFETY: `ErlNifPid` is one word, the pid's; callers pass local pids.
        unsafe { std::mem::transmute(self.0) }
    }
}

/// The layout of the words of terms.
pub(crate) struct WordLayout;

impl WordLayout {
    /// Returns whether the machine's words are those we know.
    pub(crate) fn probe(env: Env) -> bool {
        let smalls = [0, 1, -1, 42, i64::from(i32::MIN), (1 << 59) - 1, -1 << 59];
        let integers = smalls.iter().all(|&value| {
            // SAFETY: the environment is that of the load under way (CALL), and the new term is used with it.
            let made = Term::from_c(unsafe { raw::enif_make_long(env.as_ptr(), value) });
            made.small() == Some(value) && Term::from_small(value) == Some(made)
        });
        // SAFETY: as above.
        let large = Term::from_c(unsafe { raw::enif_make_long(env.as_ptr(), 1 << 59) });
        let atoms = ["true", "fyris", "undefined"]
            .iter()
            .all(|name| env.make_atom(name.as_bytes()).atom_index().is_some());
        let others = [large, env.make_tuple(&[large]), env.make_list(&[large])];
        let is_none =
            |t: &Term| t.small().is_none() && t.atom_index().is_none() && t.local_pid().is_none();
        let pid = env.self_pid().is_none_or(|pid| {
            pid.local_pid().map(Term::from_local_pid) == Some(pid) && pid.small().is_none()
        });
        integers && atoms && pid && others.iter().all(is_none)
    }
}

/// Learns what native records look like, where there are any.
pub(crate) fn learn_records(env: Env) {
    // `#true:ok{}` in the external format, which machines without records do not read.
    let external = b"\x83C\0\0\0\0\x01w\x04truew\x02ok";
    if let Some(record) = env.read_external(external)
        && let Some(subtag) = record.subtag()
        && Some(subtag) != env.make_tuple(&[record]).subtag()
    {
        // Relaxed: the machine publishes the library after its loading.
        RECORD.store(subtag, Ordering::Relaxed);
    }
}

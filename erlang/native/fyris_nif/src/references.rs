//! Local references, read where they are.
//!
//! All references of this node begin with the same header word. In a reference to nothing there follow a half word, the
//! same in all, and the three numbers of the reference. In a reference to a resource there follows the address of the
//! machine's block (a magic binary), which has the numbers, and behind them the object of the library. An alias of a
//! process has a header of its own, the half word and numbers of a reference to nothing, and the word of the process.
//! As with the words of other terms (see `words`), the machine does not promise this: it is learned when the library is
//! loaded, and where references look otherwise they go by way of the external format.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use crate::load;
use crate::sys::{self, BOXED, Env, ErlNifTermType, POINTER_TAGS, PRIMARY, SUBTAG, Term};

impl Term {
    /// Returns the words that a local reference points to: a header word, and a half word that is always the same in
    /// references to nothing.
    fn reference_words(self) -> (usize, u32) {
        let first: *const usize = std::ptr::with_exposed_provenance(self.0 & !POINTER_TAGS);
        // SAFETY: callers pass references, which are pointers, with a tag in the low bits, to at least two words.
        unsafe { (first.read(), first.add(1).cast::<u32>().read()) }
    }
}

impl Env {
    /// Returns whether it is a reference to a resource, of whatever library.
    pub(crate) fn refers_to_resource(self, term: Term) -> bool {
        let Some((header, plain)) = layout() else {
            return false;
        };
        let is_reference = matches!(self.kind(term), ErlNifTermType::ERL_NIF_TERM_TYPE_REFERENCE);
        is_reference && {
            let words = term.reference_words();
            words.0 == header && words.1 != plain
        }
    }

    /// Returns whether a term is a reference of this node, to a resource or not; `false` also where that is not known.
    pub(crate) fn is_local_reference(self, term: Term) -> bool {
        layout().is_some_and(|(header, _)| {
            term.0 & PRIMARY == BOXED && term.subtag() == header & SUBTAG
        })
    }

    /// Returns the numbers of a local reference to nothing, read where they are; `None` for anything else.
    #[inline]
    pub(crate) fn plain_reference(self, term: Term) -> Option<[u32; 3]> {
        let (header, plain) = layout()?;
        if header >> 6 != 2 {
            return None;
        }
        let at = boxed_with(term, header)?;
        // SAFETY: behind this header there are two words, as it says itself.
        let [kind, numbers @ ..] = unsafe { at.add(1).cast::<[u32; 4]>().read() };
        (kind == plain).then_some(numbers)
    }

    /// Returns the numbers of an alias, read where they are, and its process; `None` for anything else.
    #[inline]
    pub(crate) fn alias(self, term: Term) -> Option<Alias> {
        let (header, plain) = alias_layout()?;
        let at = boxed_with(term, header)?;
        // SAFETY: behind this header there are three words, as it says itself (`learn_aliases`).
        let ([half, numbers @ ..], process) =
            unsafe { (at.add(1).cast::<[u32; 4]>().read(), Term(at.add(3).read())) };
        (half == plain && process.local_pid().is_some()).then_some((numbers, process))
    }

    /// Returns the block of the machine that a reference to a resource points to; `None` for anything else.
    #[inline]
    fn resource_block(self, term: Term) -> Option<*const u8> {
        let (header, plain) = layout()?;
        if term.0 & PRIMARY != BOXED {
            return None;
        }
        let at: *const usize = std::ptr::with_exposed_provenance(term.0 & !POINTER_TAGS);
        // SAFETY: a boxed term points to its header (CALL); behind this one there are two words at least.
        unsafe {
            let found = at.read() == header && at.add(1).cast::<u32>().read() != plain;
            found.then(|| std::ptr::with_exposed_provenance(at.add(1).read()))
        }
    }

    /// Returns the numbers of a reference to a resource, read where they are; `None` for anything else.
    ///
    /// # Safety
    ///
    /// The offset is that of [`Env::offset_of_numbers`].
    #[inline]
    pub(crate) unsafe fn resource_numbers(self, term: Term, offset: usize) -> Option<[u32; 3]> {
        let block = self.resource_block(term)?;
        // SAFETY: all such blocks begin alike, and the numbers are part of the beginning.
        Some(unsafe { block.add(offset).cast::<[u32; 3]>().read() })
    }

    /// Returns the offset of the numbers of a reference to a resource in the machine's block, in bytes. `object` is a
    /// resource of ours, and `term` its reference, with these numbers. `None` where such look otherwise than we know.
    pub(crate) fn offset_of_numbers(
        self,
        term: Term,
        object: *const c_void,
        numbers: [u32; 3],
    ) -> Option<usize> {
        /// The most that is before an object in its block.
        const BEFORE: usize = 256;
        let block = self.resource_block(term)?;
        let before = object.addr().checked_sub(block.addr())?;
        if before > BEFORE || !block.addr().is_multiple_of(8) {
            return None;
        }
        let mut offsets = (0..(before + 1).saturating_sub(size_of_val(&numbers))).step_by(4);
        // SAFETY: the block holds the object, so all of it that is before the object is there.
        offsets.find(|&offset| unsafe { block.add(offset).cast::<[u32; 3]>().read() == numbers })
    }
}

/// The header word of references to resources, which those to nothing share, and the half word that tells the latter.
static REFERENCES: OnceLock<Option<(usize, u32)>> = OnceLock::new();

/// Returns the two: `None` where references look otherwise than we know.
#[inline]
pub(crate) fn layout() -> Option<(usize, u32)> {
    REFERENCES.get().copied().flatten()
}

/// Returns the address of a boxed term's header word, if it is this one.
#[inline]
fn boxed_with(term: Term, header: usize) -> Option<*const usize> {
    if term.0 & PRIMARY != BOXED {
        return None;
    }
    let at: *const usize = std::ptr::with_exposed_provenance(term.0 & !POINTER_TAGS);
    // SAFETY: a boxed term points to its header (CALL).
    (unsafe { at.read() } == header).then_some(at)
}

/// The numbers of an alias, and its process.
pub(crate) type Alias = ([u32; 3], Term);

/// The header word of aliases, and whether their external form has the word of their process.
static ALIASES: OnceLock<Option<(usize, bool)>> = OnceLock::new();

/// Returns the header word of aliases, and the half word behind it: `None` where aliases look otherwise than we know.
#[inline]
pub(crate) fn alias_layout() -> Option<(usize, u32)> {
    let (header, _) = ALIASES.get().copied().flatten()?;
    layout().map(|(_, plain)| (header, plain))
}

/// Returns whether the external form of aliases is known, and has the word of their process behind the three numbers:
/// from OTP 27 on.
#[inline]
pub(crate) fn aliases_name_process() -> bool {
    matches!(ALIASES.get(), Some(Some((_, true))))
}

/// Returns the halves of a process's word, the low one first.
pub(crate) fn halves(process: Term) -> [u32; 2] {
    let word = process.0 as u64;
    [word as u32, (word >> u32::BITS) as u32]
}

/// Learns what aliases look like, from some of which the process and the external numbers are known. They are different
/// ones.
pub(crate) fn learn_aliases(aliases: &[(Term, Vec<u32>)], process: Term) {
    ALIASES.get_or_init(|| {
        let ((first, ids), (plain_header, plain)) = (aliases.first()?, layout()?);
        let header = (first.0 & PRIMARY == BOXED).then(|| first.reference_words().0)?;
        let is_header = header >> 6 == 3 && header & SUBTAG == plain_header & SUBTAG;
        let more: &[u32] = match ids.len() {
            3 => &[],
            _ => &halves(process),
        };
        let is_so = |(term, ids): &(Term, Vec<u32>)| {
            ids.split_first_chunk().is_some_and(|(numbers, behind)| {
                is_alias(*term, (header, plain), (*numbers, process)) && behind == more
            })
        };
        let known = is_header && aliases.len() > 1 && aliases.iter().all(is_so);
        known.then_some((header, !more.is_empty()))
    });
}

/// Returns whether a reference has the words of this alias, behind this header of three words and half word.
fn is_alias(term: Term, layout: (usize, u32), ([a, b, c], process): Alias) -> bool {
    if term.0 & PRIMARY != BOXED || term.reference_words() != layout {
        return false;
    }
    let at: *const usize = std::ptr::with_exposed_provenance(term.0 & !POINTER_TAGS);
    // SAFETY: the header says that three words follow.
    let (halves, last) = unsafe { (at.add(1).cast::<[u32; 4]>().read(), at.add(3).read()) };
    halves == [layout.1, a, b, c] && last == process.0
}

/// Learns what references to resources look like, when the kinds of resources are known. If the machine has them look
/// otherwise than we know, they are not told from others: objects then do not keep resources alive.
pub(crate) fn learn(env: Env) {
    // SAFETY: the destroyer of the type drops an `Arc<[u8]>`.
    let resource = unsafe { sys::wrap(env, load::types().blob, Arc::<[u8]>::from([])) };
    let (header, half) = resource.reference_words();
    let plain = [env.make_ref(), env.make_ref()].map(Term::reference_words);
    let known = plain.iter().all(|p| *p == plain[0]) && plain[0].0 == header && plain[0].1 != half;
    REFERENCES.get_or_init(|| known.then_some((header, plain[0].1)));
}

/// Returns whether references to resources are told from others.
pub(crate) fn are_known() -> bool {
    matches!(REFERENCES.get(), Some(Some(_)))
}

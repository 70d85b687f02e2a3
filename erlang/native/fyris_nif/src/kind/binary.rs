//! The machine's own large binaries, held by objects and terms without a copy.
//!
//! A binary of more than 64 bytes is a *block* of the machine's, which counts its holders: terms in the heaps of
//! processes, and here the [`Blob`]s of objects. Its content does not change. To hold one takes an addition to its
//! count; to make a term of it takes a call of `enif_make_binary`, which takes over a count; and `enif_release_binary`
//! gives one back. So a large binary goes into a table and comes out as it does with `ets`, and lives as long.
//!
//! A *part* of another binary is copied, to a block of its own: the whole may be much larger, and would live as long as
//! the object. Up to OTP 26 what a program has built by appending is a part for the machine, until it is sent or
//! copied. A block that a process may append to is never held: `enif_inspect_binary` ends that, before anything is
//! looked at.
//!
//! # Layout
//!
//! | term | words |
//! |---|---|
//! | up to OTP 26 | a header, size, (next), block, address of the bytes, flags; a part has another header |
//! | from OTP 27 on | a header, address of the bytes and flags, first bit, bit behind the last, reference |
//! | reference | a header, block, (next) |
//! | block | flags, words among which is the count, size, bytes |
//!
//! (`ProcBin` of the machine's `global.h` and `Binary` of its `erl_binary.h`; later `ErlSubBits` and `BinRef` of
//! `erl_bits.h`.) All of it is learned and tried when the library is loaded. Where anything is otherwise, large binaries
//! are copied.

use std::ffi::c_void;
use std::ptr::{NonNull, null_mut, with_exposed_provenance};
use std::sync::atomic::{AtomicUsize, Ordering};

use fyris_term::{Blob, ForeignBlobs, set_foreign_blobs};
use rustler::sys as raw;

use crate::machine::{ARITY_SHIFT, Env, Learned, Term, address, header, words_of, words_with};

const WORD: usize = size_of::<usize>();
/// The most words of a block before its bytes.
const MOST: usize = 8;

/// How a term refers to its block.
#[derive(Clone, Copy)]
enum Form {
    /// By an address in the term.
    Direct,
    /// By a reference with this header.
    Through(usize),
}

/// What was learned.
#[derive(Clone, Copy)]
struct BinaryLayout {
    form: Form,
    /// The header of the term.
    header: usize,
    /// Bytes of a block before those of the binary.
    head: usize,
    /// The place of the count in a block, in bytes.
    count: usize,
    /// The first words of blocks of binaries that a process has made, and that a library has made.
    flags: [usize; 2],
}

static LAYOUT: Learned<BinaryLayout> = Learned::new();

/// A binary for the machine's functions: `ErlNifBinary` of its header file.
#[repr(C)]
struct Binary {
    size: usize,
    data: *mut u8,
    block: *mut c_void,
    spare: [*mut c_void; 2],
}
const _: () = assert!(size_of::<Binary>() == size_of::<raw::ErlNifBinary>());

impl Binary {
    fn c(&mut self) -> *mut raw::ErlNifBinary {
        (&raw mut *self).cast()
    }
}

/// Returns a word of a block.
///
/// # Safety
///
/// The block has it.
#[inline]
unsafe fn word(at: usize) -> usize {
    // SAFETY: the caller's contract. Volatile: learning looks again at what the machine changes meanwhile.
    unsafe { with_exposed_provenance::<usize>(at).read_volatile() }
}

impl BinaryLayout {
    /// Returns the address of the block, if the term is all of the binary that it has.
    ///
    /// # Safety
    ///
    /// These are the bytes of the term, as the machine has just said: from then on no process appends to them in place.
    #[inline]
    unsafe fn block_of(&self, term: Term, bytes: &[u8]) -> Option<usize> {
        let (at, len) = (bytes.as_ptr().addr(), bytes.len());
        let block = match self.form {
            Form::Direct => {
                let [_, size, _, block, bytes, flags] = words_with(term, self.header)?;
                ((size, bytes, flags) == (len, at, 0)).then_some(block)?
            }
            Form::Through(header) => {
                let [_, bytes, first, end, reference] = words_with(term, self.header)?;
                let is_all = (bytes, first, end) == (at, 0, 8 * len);
                let [_, block] = is_all.then(|| words_with(Term(reference), header))??;
                block
            }
        };
        if block + self.head != at {
            return None;
        }
        // SAFETY: the block lives as long as the term, and as it was learned its flags and size are before its bytes.
        let (flags, size) = unsafe { (word(block), word(at - WORD)) };
        (size == len && self.flags.contains(&flags)).then_some(block)
    }

    /// Returns the count of the block with these bytes.
    ///
    /// # Safety
    ///
    /// There is one, with such bytes, and the caller holds a count of it.
    #[inline]
    unsafe fn count<'c>(&self, bytes: NonNull<u8>) -> &'c AtomicUsize {
        let count = with_exposed_provenance::<usize>(bytes.addr().get() - self.head + self.count);
        // SAFETY: the machine changes the word by atomic instructions alone (`learn`).
        unsafe { AtomicUsize::from_ptr(count.cast_mut()) }
    }

    fn binary(&self, bytes: NonNull<[u8]>) -> Binary {
        let at = bytes.cast::<u8>().as_ptr();
        Binary {
            size: bytes.len(),
            data: at,
            block: at.wrapping_sub(self.head).cast(),
            spare: [null_mut(); 2],
        }
    }
}

fn known() -> &'static BinaryLayout {
    LAYOUT.get().expect("learned before anything was held")
}

unsafe fn retain(bytes: NonNull<u8>) {
    if cfg!(fyris_mutant = "nif_binary_uncounted") {
        return;
    }
    // Relaxed: as the machine itself does; whoever holds a count got the bytes in an orderly way.
    // SAFETY: forwarded.
    unsafe { known().count(bytes).fetch_add(1, Ordering::Relaxed) };
}

unsafe fn holders(bytes: NonNull<u8>) -> usize {
    // Relaxed: a number to be shown.
    // SAFETY: forwarded.
    unsafe { known().count(bytes).load(Ordering::Relaxed) }
}

unsafe fn release(bytes: NonNull<u8>) {
    if cfg!(fyris_mutant = "nif_binary_held_on") {
        return;
    }
    let mut binary = known().binary(NonNull::slice_from_raw_parts(bytes, 0));
    // SAFETY: the caller's count of this block goes to the machine.
    unsafe { raw::enif_release_binary(binary.c()) }
}

/// Returns a blob with the bytes of a term, which are more than 64; the machine has just said that they are: the
/// machine's own, if they are all of a binary, else a copy of them. O(length) at most.
pub(crate) fn blob(term: Term, bytes: &[u8]) -> Blob {
    let Some(layout) = LAYOUT.get() else {
        return Blob::from(bytes);
    };
    // SAFETY: the machine has just said so; the term holds a count, so the block is there and may get another one.
    unsafe {
        if layout.block_of(term, bytes).is_some() {
            let bytes = NonNull::from(bytes);
            retain(bytes.cast());
            return Blob::foreign(bytes);
        }
    }
    copied(layout, bytes).unwrap_or_else(|| Blob::from(bytes))
}

/// Returns a block of the machine's with a copy of the bytes.
fn copied(layout: &BinaryLayout, bytes: &[u8]) -> Option<Blob> {
    let mut binary = Binary::allocate(bytes.len())?;
    // SAFETY: the block was allocated for as many bytes, and its one count becomes the blob's.
    unsafe {
        binary
            .data
            .copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        if binary.block.addr() + layout.head != binary.data.addr() {
            raw::enif_release_binary(binary.c());
            return None;
        }
        let data = NonNull::new_unchecked(binary.data);
        Some(Blob::foreign(NonNull::slice_from_raw_parts(
            data,
            bytes.len(),
        )))
    }
}

impl Binary {
    /// Returns a new one; `None` if there is no memory.
    fn allocate(size: usize) -> Option<Binary> {
        let mut binary = Binary {
            size: 0,
            data: null_mut(),
            block: null_mut(),
            spare: [null_mut(); 2],
        };
        // SAFETY: the machine fills it.
        let made = unsafe { raw::enif_alloc_binary(size, binary.c()) };
        (made != 0).then_some(binary)
    }

    /// Makes a term of it, which gets the caller's count.
    fn into_term(mut self, env: Env) -> Term {
        // SAFETY: the environment is that of the call under way (CALL).
        Term::from_c(unsafe { raw::enif_make_binary(env.as_ptr(), self.c()) })
    }
}

/// Makes a term of a foreign blob.
#[inline]
pub(crate) fn make(env: Env, blob: &Blob) -> Term {
    debug_assert!(blob.is_foreign());
    let bytes = NonNull::from(&**blob);
    // SAFETY: the blob holds a count, so there may be another one, which becomes the term's.
    unsafe { retain(bytes.cast()) };
    known().binary(bytes).into_term(env)
}

/// Learns how binaries are held, and tells terms. To be called when the library is loaded. `native_atomics`: whether
/// the machine counts by atomic instructions, as it does unless it was built to use locks in their place.
pub(super) fn learn(env: Env, native_atomics: bool) {
    let known = LAYOUT.learn(|| {
        let layout = native_atomics.then(|| learned(env)).flatten()?;
        is_so(env, &layout).then_some(layout)
    });
    if known.is_some() {
        let counts = ForeignBlobs {
            retain,
            holders,
            release,
        };
        // SAFETY: the machine frees a block when its count is zero, and does not move or change it before, as no
        // process appends to it (`BinaryLayout::block_of`).
        unsafe { set_foreign_blobs(counts) };
    }
}

/// Returns whether large binaries are held as they are.
pub(crate) fn is_known() -> bool {
    LAYOUT.is_known()
}

/// Returns the layout of a large binary, from a look at one.
fn learned(env: Env) -> Option<BinaryLayout> {
    let term = env.make_binary(&[0xA5; 1000]);
    let bytes = env.binary(term)?;
    let (form, block) = form_of(term, bytes)?;
    let head = bytes.as_ptr().addr().checked_sub(block)?;
    if !head.is_multiple_of(WORD) || !(3..=MOST).contains(&(head / WORD)) {
        return None;
    }
    // SAFETY: the term was made just now, and it alone has these bytes: a word of it, or of its reference, that is an
    // address shortly before them is that of the block that they lie in. So all up to the bytes is of the block.
    let look = || (0..head / WORD).map(|i| unsafe { word(block + WORD * i) });
    let before: Vec<usize> = look().collect();
    // SAFETY: the environment is that of the load under way (CALL).
    let copy = Term::from_c(unsafe { raw::enif_make_copy(env.as_ptr(), term.c()) });
    let after: Vec<usize> = look().collect();
    let mut changed = (0..before.len()).filter(|&i| before[i] != after[i]);
    let count = changed.next().filter(|_| changed.next().is_none())?;
    let made = Binary::allocate(bytes.len())?;
    // SAFETY: the machine has said where the block is, which it has just made.
    let made_flags = unsafe { word(made.block.addr()) };
    made.into_term(env);
    let is_count = (before[count], after[count]) == (1, 2) && copy.0 != term.0 && count > 0;
    is_count.then_some(BinaryLayout {
        form,
        header: header(term)?,
        head,
        count: WORD * count,
        flags: [before[0], made_flags],
    })
}

/// Returns how a term with these bytes, made just now, refers to its block, and what stands where the address of that
/// is expected.
///
/// A reference is followed once all other words of the term are as in `ErlSubBits` of the machine's `erl_bits.h`
/// (OTP 27 to 29), and if it points to shortly before the term: there the machine puts the `BinRef` of a binary that it
/// makes (`erts_wrap_refc_bitstring`). So it is read from the heap of this very call, whatever it is.
fn form_of(term: Term, bytes: &[u8]) -> Option<(Form, usize)> {
    let (at, len) = (bytes.as_ptr().addr(), bytes.len());
    match header(term)? >> ARITY_SHIFT {
        5 => {
            let [_, size, _, block, there, flags] = words_of(term)?;
            ((size, there, flags) == (len, at, 0)).then_some((Form::Direct, block))
        }
        4 => {
            let [_, there, first, end, reference] = words_of(term)?;
            let reference = Term(reference);
            let before = address(term)
                .addr()
                .checked_sub(address(reference).addr())?;
            let is_it = (there, first, end) == (at, 0, 8 * len)
                && (2 * WORD..=MOST * WORD).contains(&before);
            let [header, block] = is_it.then(|| words_of(reference))??;
            Some((Form::Through(header), block))
        }
        _ => None,
    }
}

/// Returns whether binaries of several sizes are as was learned, and are counted so.
fn is_so(env: Env, layout: &BinaryLayout) -> bool {
    [65, 66, 127, 1 << 10, 1 << 16].into_iter().all(|size| {
        let content: Vec<u8> = (0..size).map(|i| i as u8 ^ 0x5A).collect();
        let by_library = Binary::allocate(size).map(|binary| {
            // SAFETY: allocated for as many bytes.
            unsafe { binary.data.copy_from_nonoverlapping(content.as_ptr(), size) };
            (binary.block.addr(), binary.into_term(env))
        });
        let Some((block, by_library)) = by_library else {
            return false;
        };
        let by_process = env.make_binary(&content);
        is_counted(env, layout, by_process, &content).is_some()
            && is_counted(env, layout, by_library, &content) == Some(block)
            && !is_taken_whole(env, layout, by_process)
    })
}

/// Returns the block of a term with this content and no other holder, if counting it goes as was learned.
fn is_counted(env: Env, layout: &BinaryLayout, term: Term, content: &[u8]) -> Option<usize> {
    let bytes = env.binary(term).filter(|bytes| *bytes == content)?;
    // SAFETY: the machine has just said that these are its bytes. That the word is a count was seen before: it is one
    // while the term is the only holder, and all that is added is given back or becomes a term's.
    unsafe {
        let block = layout.block_of(term, bytes)?;
        let count = layout.count(NonNull::from(bytes).cast());
        // Relaxed: one thread.
        let is = |wanted: usize| count.load(Ordering::Relaxed) == wanted;
        let add = || count.fetch_add(1, Ordering::Relaxed);
        let alone = is(1);
        if !alone {
            return None;
        }
        add();
        let other = layout.binary(NonNull::from(bytes)).into_term(env);
        let same = layout.block_of(other, env.binary(other)?) == Some(block) && is(2);
        add();
        raw::enif_release_binary(layout.binary(NonNull::from(bytes)).c());
        (same && is(2)).then_some(block)
    }
}

/// Returns whether a part of a binary is taken for a whole one.
fn is_taken_whole(env: Env, layout: &BinaryLayout, whole: Term) -> bool {
    let len = env.binary(whole).map_or(0, <[u8]>::len);
    [(0, len - 1), (1, len - 1)].into_iter().any(|(from, len)| {
        // SAFETY: the environment is that of the load under way (CALL), and the binary has as many bytes.
        unsafe {
            let part = raw::enif_make_sub_binary(env.as_ptr(), whole.c(), from, len);
            let part = Term::from_c(part);
            let bytes = env.binary(part);
            bytes.is_none_or(|bytes| layout.block_of(part, bytes).is_some())
        }
    })
}

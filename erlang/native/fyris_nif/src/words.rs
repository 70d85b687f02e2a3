//! Terms written word by word into room that the machine has given.
//!
//! # Why
//!
//! A call into the machine for every tuple, cell and short binary costs more than all else of building a term. So one
//! call makes a tuple as large as what is to come is likely to be, and its words become [`Room`], where terms are
//! written one behind the other.
//!
//! # Layout
//!
//! | term | its word | words |
//! |---|---|---|
//! | tuple of `n` elements | address + 2 | `n << 6`, the elements |
//! | `[Head \| Tail]` | address + 1 | head, tail |
//! | binary of up to 64 bytes | address + 2 | a header, a size, the bytes |
//! | map of up to 32 keys | address + 2 | a header, how many, the keys in a tuple, the values |
//! | map of more keys | address + 2 | those of a tree (see `tree`) |
//! | local reference to nothing | address + 2 | a header, four half words: its kind, three numbers (see `sys`) |
//! | alias of a process | address + 2 | the same with another header, and the word of the process |
//! | integer of more than 64 bits | address + 2 | a header that has the sign, the digits from the lowest |
//!
//! As with the tags of single words (see `sys`), this is no promise of the machine: [`probe`] compares it, when the
//! library is loaded, with what the machine makes, and learns the headers of binaries, maps and large integers from it.
//! Where anything is otherwise there is no room, and every term is made by a call. Keys stand in a map in the order of
//! terms up to OTP 25; later those that are atoms stand among each other in the order of their numbers.
//!
//! # Invariant
//!
//! **WHOLE**: when a call returns, all room that was asked for consists of whole terms, one behind the other: those
//! that were written, and tuples of what is left over ([`Room::close`]). The machine counts on that: it walks over what
//! a call has put beside the heap and moves it, term by term.

mod large;
mod tree;

use std::slice;
use std::sync::OnceLock;

use crate::references::{self, Alias};
use crate::sys::{BOXED, Env, PRIMARY, SUBTAG, Term};
use crate::{atoms, shapes};

pub(crate) use large::{Large, read_large, word_of};
pub(crate) use tree::{Image, Pair, leaves, size as tree_size};

const LIST: usize = 1;
const TAGS: usize = 7;
const ARITY_SHIFT: u32 = 6;
/// The longest binary that lies in the heap.
pub(crate) const SHORT: usize = 64;
/// The most words that are asked for at once.
const MOST: usize = 1024;
/// The fewest, after the first time.
const FEW: usize = 16;
/// Zero, the small integer.
const FILLER: Term = Term(0xF);
static FILL: [Term; MOST] = [FILLER; MOST];

/// The most keys of a map that is an array.
pub(crate) const FEW_KEYS: usize = 32;
/// Words of a map before its values.
const MAP: usize = 3;

/// Header and size of the binaries by their length.
type Binaries = [(usize, usize); SHORT + 1];

/// The layouts that were learned.
struct Known {
    binaries: Binaries,
    map: Option<Maps>,
    /// The header of floats.
    float: Option<usize>,
    /// The kinds in the headers of large integers, of those above and of those below zero.
    large: Option<[usize; 2]>,
    /// The kind in the headers of the nodes of maps of many keys.
    tree: Option<usize>,
}

/// The layout of maps.
#[derive(Clone, Copy)]
struct Maps {
    header: usize,
    /// Whether atoms among the keys stand in the order of their numbers, not of their names.
    by_number: bool,
}

static KNOWN: OnceLock<Option<Box<Known>>> = OnceLock::new();

/// Returns what was learned, if words are written at all.
#[inline]
fn layouts() -> Option<&'static Known> {
    KNOWN.get().and_then(Option::as_deref)
}

/// Learns what terms look like. To be called when the library is loaded.
pub(crate) fn probe(env: Env) {
    KNOWN.get_or_init(|| {
        let known = tuples_are_known(env) && cells_are_known(env);
        let binaries = learn_binaries(env).filter(|_| known)?;
        let map = learn_map(env);
        let float = learn_float(env);
        let large = large::learn(env);
        let tree = tree::learn(env, map);
        Some(Box::new(Known {
            binaries,
            map,
            float,
            large,
            tree,
        }))
    });
    tree::learn_to_make(env);
}

/// Returns whether terms are written word by word, and whether maps, floats, large integers and maps of many keys are.
pub(crate) fn known() -> [bool; 5] {
    layouts().map_or([false; 5], |known| {
        let [map, float] = [known.map.is_some(), known.float.is_some()];
        [true, map, float, known.large.is_some(), tree::are_made()]
    })
}

/// Returns the address of a term of several words.
pub(crate) fn address(term: Term) -> *const usize {
    std::ptr::with_exposed_provenance(term.0 & !TAGS)
}

/// Returns the first words of a term.
///
/// # Safety
///
/// It lies in the heap, with at least `N` words.
pub(crate) unsafe fn words<const N: usize>(term: Term) -> [usize; N] {
    // SAFETY: the caller's contract.
    unsafe { address(term).cast::<[usize; N]>().read() }
}

/// Returns the header of a term.
///
/// # Safety
///
/// It is boxed.
unsafe fn header(term: Term) -> usize {
    // SAFETY: the caller's contract: no term there is without a word.
    let [header] = unsafe { words(term) };
    header
}

fn tuples_are_known(env: Env) -> bool {
    let [a, b] = [1, 2].map(|value| env.make_int(value));
    let one = env.make_tuple(&[a]);
    let three = env.make_tuple(&[b, a, one]);
    if one.0 & TAGS != BOXED || three.0 & TAGS != BOXED {
        return false;
    }
    // SAFETY: made just now: tuples of one, three and many elements, which have a header and as many words.
    unsafe {
        words(one) == [1 << ARITY_SHIFT, a.0]
            && words(three) == [3 << ARITY_SHIFT, b.0, a.0, one.0]
            && header(env.make_tuple(&FILL)) == MOST << ARITY_SHIFT
    }
}

fn cells_are_known(env: Env) -> bool {
    let [a, b] = [1, 2].map(|value| env.make_int(value));
    let cell = env.make_cell(a, b);
    // SAFETY: made just now, and a cell has two words.
    cell.0 & TAGS == LIST && unsafe { words(cell) } == [a.0, b.0]
}

fn learn_binaries(env: Env) -> Option<Binaries> {
    let mut binaries = [(0, 0); SHORT + 1];
    for (length, learned) in binaries.iter_mut().enumerate().skip(1) {
        let bytes: Vec<u8> = (0..length).map(|i| i as u8 ^ 0xA5).collect();
        let binary = env.make_binary(&bytes);
        if binary.0 & TAGS != BOXED {
            return None;
        }
        // SAFETY: made just now, and short: binaries in the heap have a header and a size at least.
        let [header, size] = unsafe { words(binary) };
        let there = env.binary(binary)?;
        let in_place = there.as_ptr() == address(binary).wrapping_add(2).cast();
        if !in_place || there != bytes || header >> ARITY_SHIFT != 1 + length.div_ceil(8) {
            return None;
        }
        *learned = (header, size);
    }
    Some(binaries)
}

fn learn_float(env: Env) -> Option<usize> {
    let header_of = |value: f64| {
        let float = env.make_float(value);
        // SAFETY: made just now: a header and a word at least.
        let [header, bits] = (float.0 & TAGS == BOXED).then(|| unsafe { words(float) })?;
        (header >> ARITY_SHIFT == 1 && bits == value.to_bits() as usize).then_some(header)
    };
    let header = header_of(1.5)?;
    (header_of(-0.25)? == header).then_some(header)
}

/// Returns whether a term is known to hold nothing outside the heap, and to have no terms in it: a term of one word, or
/// a short binary.
#[inline]
pub(crate) fn holds_nothing(term: Term) -> bool {
    match term.0 & PRIMARY {
        // No pointer.
        PRIMARY => true,
        BOXED => layouts().is_some_and(|known| {
            // SAFETY: the term is boxed.
            let header = unsafe { header(term) };
            (header ^ known.binaries[1].0) & SUBTAG == 0
        }),
        _ => false,
    }
}

/// A term of several words, read where it is; valid during the call that the term belongs to (CALL).
pub(crate) enum Seen<'t> {
    Tuple(&'t [Term]),
    List(Cells),
    Map(Pairs<'t>),
    Binary(&'t [u8]),
    Float(f64),
    Large(Large<'t>),
    /// A map of many keys.
    Tree,
    /// To be asked of the machine.
    Other,
}

/// The elements of a list that are left, read where they are; valid during the call that the list belongs to (CALL).
#[derive(Clone, Copy)]
pub(crate) struct Cells(Term);

impl Cells {
    /// Returns what is behind the last cell, when all elements were read.
    pub(crate) fn end(self) -> Term {
        self.0
    }
}

impl Iterator for Cells {
    type Item = Term;

    #[inline(always)]
    fn next(&mut self) -> Option<Term> {
        if self.0.0 & PRIMARY != LIST {
            return None;
        }
        // SAFETY: a cell has two words; that of a list looks as we know, or [`see`] would not have made this.
        let [head, tail] = unsafe { words(self.0) };
        self.0 = Term(tail);
        Some(Term(head))
    }
}

/// Reads a term that is neither small nor an atom, if it is of a kind whose layout is known.
#[inline]
pub(crate) fn see<'t>(term: Term) -> Seen<'t> {
    let Some(known) = layouts() else {
        return Seen::Other;
    };
    match term.0 & PRIMARY {
        BOXED => see_boxed(known, term),
        LIST => Seen::List(Cells(term)),
        _ => Seen::Other,
    }
}

#[inline]
fn see_boxed<'t>(known: &Known, term: Term) -> Seen<'t> {
    // SAFETY: the term is boxed, so it points to its header, which says how many words follow; they stay there during
    // the call (CALL).
    unsafe {
        let header = header(term);
        let behind = address(term).add(1);
        if header & SUBTAG == 0 {
            return Seen::Tuple(slice::from_raw_parts(behind.cast(), header >> ARITY_SHIFT));
        }
        if let Some(maps) = known.map.filter(|maps| maps.header == header) {
            return Seen::Map(pairs(term, maps));
        }
        // Sizes are told in units of one byte, or of its bits: a part of a byte is for the machine to tell.
        let (binary, unit) = known.binaries[1];
        if (header ^ binary) & SUBTAG == 0 && behind.read().is_multiple_of(unit) {
            let (bytes, size) = (behind.add(1).cast(), behind.read() / unit);
            return Seen::Binary(slice::from_raw_parts(bytes, size));
        }
        if known.float == Some(header) {
            return Seen::Float(f64::from_bits(behind.read() as u64));
        }
        if let Some(large) = large::see(known, term) {
            return Seen::Large(large);
        }
        if tree::is_root(known, header) {
            return Seen::Tree;
        }
    }
    Seen::Other
}

/// Returns the bytes of a binary.
#[inline]
pub(crate) fn binary<'t>(env: Env, term: Term) -> Option<&'t [u8]> {
    match see(term) {
        Seen::Binary(bytes) => Some(bytes),
        _ => env.binary(term),
    }
}

/// A map of few keys, where it is.
pub(crate) struct Pairs<'t> {
    /// In the machine's order.
    pub(crate) keys: &'t [Term],
    pub(crate) values: &'t [Term],
    /// Whether atoms among the keys stand in the order of their numbers, not of their names.
    pub(crate) by_number: bool,
}

/// Reads a map of few keys where it is.
///
/// # Safety
///
/// The term is one, as its header says.
#[inline(always)]
unsafe fn pairs<'t>(term: Term, maps: Maps) -> Pairs<'t> {
    // SAFETY: behind the header are the number of the keys, a tuple of the keys and the values; they stay there during
    // the call (CALL).
    unsafe {
        let [_, size, keys]: [usize; MAP] = words(term);
        Pairs {
            keys: slice::from_raw_parts(address(Term(keys)).add(1).cast(), size),
            values: slice::from_raw_parts(address(term).add(MAP).cast(), size),
            by_number: maps.by_number,
        }
    }
}

/// Learns the layout of maps of few keys, if they are arrays of keys in one of the two orders.
fn learn_map(env: Env) -> Option<Maps> {
    // In the order of names, and not in that of their numbers.
    let mut names: Vec<Term> = (0..FEW_KEYS as u8)
        .rev()
        .map(|i| {
            env.make_atom(&[b"fyris_key_", [b'a' + i / 26, b'a' + i % 26].as_slice()].concat())
        })
        .collect();
    names.reverse();
    names[0] = env.make_int(7);
    let mut numbers = names.clone();
    numbers.sort_by_key(|key| key.atom_index());
    if names == numbers {
        return None;
    }
    let orders = [(names, false), (numbers, true)];
    orders.into_iter().find_map(|(keys, by_number)| {
        let header = header_of_maps(env, &keys)?;
        Some(Maps { header, by_number })
    })
}

/// Returns the header of maps whose keys are the first of these, if they keep this order.
fn header_of_maps(env: Env, keys: &[Term]) -> Option<usize> {
    let values: Vec<Term> = (0..).map(|i| env.make_int(i)).take(keys.len()).collect();
    let header_of = |count: usize| {
        let backwards = |all: &[Term]| all[..count].iter().rev().copied().collect::<Vec<_>>();
        let map = env.make_map(&backwards(keys), &backwards(&values))?;
        if map.0 & TAGS != BOXED {
            return None;
        }
        // SAFETY: every map of the machine has as many words, of whatever kind it is.
        let found: [usize; MAP] = unsafe { words(map) };
        if found[1] != count || found[2] & TAGS != BOXED {
            return None;
        }
        let there = env.tuple(Term(found[2]))?;
        // SAFETY: as above: the values follow.
        let behind = unsafe { slice::from_raw_parts(address(map).add(MAP).cast::<Term>(), count) };
        (there == &keys[..count] && behind == &values[..count]).then_some(found[0])
    };
    let header = header_of(1)?;
    let all = [2, 3, FEW_KEYS - 1, FEW_KEYS];
    all.iter()
        .all(|&count| header_of(count) == Some(header))
        .then_some(header)
}

/// Room for terms, of the environment of one call.
pub(crate) struct Room {
    env: Env,
    known: Option<&'static Known>,
    at: *mut usize,
    left: usize,
    /// Words to ask for next.
    next: usize,
    /// Words that were given.
    given: usize,
}

/// Makes `[{First, Second}]` of two terms of one word, by one call of the machine; `None` where words are not written.
#[inline]
pub(crate) fn list_of_pair(env: Env, [first, second]: [Term; 2]) -> Option<Term> {
    layouts()?;
    let pair = env.make_tuple(&[first, second, FILLER, atoms::nil(env)]);
    let at = address(pair).cast_mut();
    let cell = at.wrapping_add(3);
    // SAFETY: the machine has made five words just now, in a layout that is known. With a header of two elements the
    // first three are the pair, and the last two are the cell (WHOLE).
    unsafe {
        at.write(2 << ARITY_SHIFT);
        cell.write(pair.0);
    }
    Some(Term(cell.expose_provenance() | LIST))
}

impl Room {
    /// Makes room of which `expected` words are likely to be needed.
    #[inline]
    pub(crate) fn new(env: Env, expected: usize) -> Room {
        Room {
            env,
            known: layouts(),
            at: std::ptr::null_mut(),
            left: 0,
            next: expected,
            given: 0,
        }
    }

    /// Words taken so far.
    #[inline]
    pub(crate) fn taken(&self) -> usize {
        self.given - self.left
    }

    /// Returns a number of words, two at least, for a term that is written at once: all but the first are small
    /// integers now. `None` if they are not to be had.
    #[inline(always)]
    fn take(&mut self, words: usize) -> Option<*mut usize> {
        // No word may be left alone: of a tuple without elements machines have their own.
        if (self.left < words || self.left == words + 1) && !self.more(words) {
            return None;
        }
        let at = self.at;
        self.at = at.wrapping_add(words);
        self.left -= words;
        Some(at)
    }

    #[inline(never)]
    fn more(&mut self, words: usize) -> bool {
        if words > MOST || self.known.is_none() {
            return false;
        }
        let taken = self.taken();
        self.close();
        let size = match self.next.clamp(words, MOST) {
            size if size == words + 1 => words,
            size => size,
        };
        let tuple = self.env.make_tuple(&FILL[1..size]);
        self.at = address(tuple).cast_mut();
        self.left = size;
        self.given = taken + size;
        self.next = (taken + words).max(FEW);
        true
    }

    /// Makes what is left over a tuple (WHOLE).
    fn close(&mut self) {
        if self.left > 0 && !cfg!(fyris_mutant = "nif_room_open") {
            // SAFETY: the words are ours, all of them small integers; with a header they are a tuple of the rest.
            unsafe { self.at.write((self.left - 1) << ARITY_SHIFT) };
        }
    }

    /// Returns a tuple of small integers, for [`Room::put`].
    #[inline(always)]
    pub(crate) fn begin_tuple(&mut self, arity: usize) -> Option<Term> {
        if arity == 0 {
            return None;
        }
        let at = self.take(arity.saturating_add(1))?;
        // SAFETY: as many words are ours; with the header they are a whole tuple (WHOLE).
        unsafe { at.write(arity << ARITY_SHIFT) };
        Some(Term(at.expose_provenance() | BOXED))
    }

    /// Puts an element at its place, from 0, in a tuple of [`Room::begin_tuple`].
    #[inline(always)]
    pub(crate) fn put(&mut self, tuple: Term, at: usize, element: Term) {
        let place = address(tuple).cast_mut().wrapping_add(1 + at);
        // SAFETY: the tuple was made by this room, during this call, and has the place.
        unsafe { place.write(element.0) };
    }

    /// Returns a tuple.
    #[inline]
    pub(crate) fn tuple(&mut self, elements: &[Term]) -> Term {
        match self.begin_tuple(elements.len()) {
            Some(tuple) => {
                let all = elements.iter().enumerate();
                all.for_each(|(at, &element)| self.put(tuple, at, element));
                tuple
            }
            None => self.env.make_tuple(elements),
        }
    }

    /// Returns a list of a number of cells of small integers, for [`Room::put_cell`] and [`Room::end_list`].
    #[inline(always)]
    pub(crate) fn begin_list(&mut self, length: usize) -> Option<Term> {
        if length == 0 {
            return None;
        }
        let at = self.take(length.saturating_mul(2))?;
        // SAFETY: as many words are ours; with this one all are small integers, and so whole cells (WHOLE).
        unsafe { at.write(FILLER.0) };
        Some(Term(at.expose_provenance() | LIST))
    }

    /// Puts an element at its place, from 0, in a list of [`Room::begin_list`].
    #[inline(always)]
    pub(crate) fn put_cell(&mut self, list: Term, at: usize, element: Term) {
        let place = address(list).cast_mut().wrapping_add(2 * at);
        let next = Term(list.0.wrapping_add(2 * (at + 1) * size_of::<usize>()));
        // SAFETY: the list was made by this room, during this call, and has the place. The next cell is one of it, or
        // the tail comes there (WHOLE).
        unsafe { place.cast::<[usize; 2]>().write([element.0, next.0]) };
    }

    /// Ends a list of [`Room::begin_list`].
    #[inline]
    pub(crate) fn end_list(&mut self, list: Term, length: usize, tail: Term) {
        let place = address(list).cast_mut().wrapping_add(2 * length - 1);
        // SAFETY: as in `put_cell`.
        unsafe { place.write(tail.0) };
    }

    /// Makes `[Head | Tail]`.
    #[inline]
    pub(crate) fn cell(&mut self, head: Term, tail: Term) -> Term {
        match self.take(2) {
            // SAFETY: two words that are ours, and a whole cell (WHOLE).
            Some(at) => unsafe {
                at.cast::<[usize; 2]>().write([head.0, tail.0]);
                Term(at.expose_provenance() | LIST)
            },
            None => self.env.make_cell(head, tail),
        }
    }

    /// Returns a map of a number of pairs of small integers, for [`Room::put_pair`].
    pub(crate) fn begin_map(&mut self, size: usize) -> Option<Term> {
        let maps = self.known?.map;
        let Maps { header, .. } = maps.filter(|_| (1..=FEW_KEYS).contains(&size))?;
        let keys = self.begin_tuple(size)?;
        let at = self.take(MAP + size)?;
        // SAFETY: as many words are ours; with these three they are a whole map (WHOLE).
        unsafe { at.cast::<[usize; MAP]>().write([header, size, keys.0]) };
        Some(Term(at.expose_provenance() | BOXED))
    }

    /// Returns a map of these keys, which are in the order of terms, to small integers, for [`Room::put_value`].
    #[inline]
    pub(crate) fn begin_shape(&mut self, keys: &[Term]) -> Option<Term> {
        let map = self.begin_map(keys.len())?;
        let tuple = address(map).wrapping_add(MAP - 1);
        // SAFETY: the map was made just now, and its keys are a tuple of as many.
        unsafe {
            let to = address(Term(tuple.read())).cast_mut().add(1);
            to.cast::<Term>()
                .copy_from_nonoverlapping(keys.as_ptr(), keys.len());
        }
        Some(map)
    }

    /// Puts a value at its place, from 0, in a map of [`Room::begin_shape`].
    #[inline(always)]
    pub(crate) fn put_value(&mut self, map: Term, at: usize, value: Term) {
        let place = address(map).cast_mut().wrapping_add(MAP + at);
        // SAFETY: the map was made by this room, during this call, and has the place.
        unsafe { place.write(value.0) };
    }

    /// Puts a pair at its place, from 0, in a map of [`Room::begin_map`].
    #[inline(always)]
    pub(crate) fn put_pair(&mut self, map: Term, at: usize, key: Term, value: Term) {
        let words = address(map).cast_mut();
        // SAFETY: the map was made by this room, during this call, and has the place; so have its keys.
        unsafe {
            words.add(MAP + at).write(value.0);
            let keys = words.add(MAP - 1).read();
            self.put(Term(keys), at, key);
        }
    }

    /// Puts the keys of a map of [`Room::begin_map`], which are in the order of terms, in that of the machine.
    #[inline]
    pub(crate) fn order_keys(&self, map: Term) {
        let maps = self.known.and_then(|known| known.map);
        if maps.is_some_and(|maps| maps.by_number) {
            // SAFETY: the map was made by this room, during this call; its keys are a tuple of as many as there are
            // values.
            let (keys, values) = unsafe {
                let at = address(map).cast_mut();
                let [_, size, keys] = at.cast::<[usize; MAP]>().read();
                let keys = address(Term(keys)).cast_mut().add(1).cast::<Term>();
                let values = at.add(MAP).cast::<Term>();
                (
                    slice::from_raw_parts_mut(keys, size),
                    slice::from_raw_parts_mut(values, size),
                )
            };
            shapes::put_in_order(keys, values);
        }
    }

    /// Returns a map of [`Room::begin_map`], made anew by the machine.
    #[cold]
    pub(crate) fn remake_map(&self, map: Term) -> Term {
        let at = address(map);
        // SAFETY: the map was made by this room, during this call.
        let ([_, size, keys], values) = unsafe {
            let head = at.cast::<[usize; MAP]>().read();
            let values = slice::from_raw_parts(at.add(MAP).cast::<Term>(), head[1]);
            (head, values)
        };
        let keys = self.env.tuple(Term(keys)).unwrap_or(&[]);
        debug_assert_eq!(keys.len(), size);
        let map = self.env.make_map(keys, values);
        map.expect("all keys of a map are different")
    }

    /// Returns a local reference to nothing, with these numbers; `None` where such look otherwise than we know.
    #[inline]
    pub(crate) fn reference(&mut self, [a, b, c]: [u32; 3]) -> Option<Term> {
        let (header, plain) =
            references::layout().filter(|(header, _)| header >> ARITY_SHIFT == 2)?;
        let at = self.take(3)?;
        // SAFETY: three words that are ours; the header says that they are one whole reference (WHOLE).
        unsafe {
            at.add(1).cast::<[u32; 4]>().write([plain, a, b, c]);
            at.write(header);
        }
        Some(Term(at.expose_provenance() | BOXED))
    }

    /// Returns an alias; `None` where such look otherwise than we know.
    #[inline]
    pub(crate) fn alias(&mut self, ([a, b, c], process): Alias) -> Option<Term> {
        let (header, plain) = references::alias_layout()?;
        let at = self.take(4)?;
        // SAFETY: four words that are ours; the header says that they are one whole reference (WHOLE).
        unsafe {
            at.add(1).cast::<[u32; 4]>().write([plain, a, b, c]);
            at.add(3).write(process.0);
            at.write(header);
        }
        Some(Term(at.expose_provenance() | BOXED))
    }

    /// Returns a float, which is finite.
    #[inline]
    pub(crate) fn float(&mut self, value: f64) -> Term {
        let header = self.known.and_then(|known| known.float);
        let words = header.and_then(|header| Some((header, self.take(2)?)));
        let Some((header, at)) = words else {
            return self.env.make_float(value);
        };
        // SAFETY: two words that are ours; the header says that they are one whole float (WHOLE).
        unsafe {
            at.add(1).cast::<u64>().write(value.to_bits());
            at.write(header);
        }
        Term(at.expose_provenance() | BOXED)
    }

    /// Returns a binary, copied.
    #[inline(always)]
    pub(crate) fn binary(&mut self, bytes: &[u8]) -> Term {
        match (self.known, bytes.len()) {
            (Some(known), length @ 1..=SHORT) => self.short_binary(known.binaries[length], bytes),
            _ => self.env.make_binary(bytes),
        }
    }

    #[inline(always)]
    fn short_binary(&mut self, (header, size): (usize, usize), bytes: &[u8]) -> Term {
        let words = bytes.len().div_ceil(8);
        let Some(at) = self.take(2 + words) else {
            return self.env.make_binary(bytes);
        };
        // SAFETY: as many words are ours; the last one is zero where the bytes do not reach, and the header says that
        // they are one whole binary (WHOLE).
        unsafe {
            write_short(at.add(2).cast(), bytes);
            at.cast::<[usize; 2]>().write([header, size]);
        }
        Term(at.expose_provenance() | BOXED)
    }
}

/// Copies bytes, one at least, to where they have whole words of eight bytes; what is left of the last word becomes
/// zero. By loads and stores that overlap: of a length that is not known beforehand, `memcpy` would take longer to call
/// than to copy.
///
/// # Safety
///
/// The words are the caller's.
#[inline(always)]
pub(crate) unsafe fn write_short(to: *mut [u8; 8], bytes: &[u8]) {
    let length = bytes.len();
    let (whole, rest) = bytes.as_chunks::<8>();
    // SAFETY: as many words as hold all bytes are the caller's; the last eight bytes end where the bytes end.
    unsafe {
        match bytes.last_chunk::<8>() {
            Some(last) => {
                if !rest.is_empty() {
                    to.add(whole.len()).write([0; 8]);
                }
                for (place, word) in whole.iter().enumerate() {
                    to.add(place).write(*word);
                }
                to.byte_add(length - 8).write(*last);
            }
            None => to.write(first_word(bytes).to_le_bytes()),
        }
    }
}

/// Returns the number that fewer than eight bytes, one at least, are with zeros behind them; its low byte is the first.
#[inline]
fn first_word(bytes: &[u8]) -> u64 {
    let length = bytes.len();
    let half = |half: &[u8; 4]| u64::from(u32::from_le_bytes(*half));
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // The two halves overlap; the bytes that are in both are the same.
        (Some(first), Some(last)) => half(first) | half(last) << (8 * (length - 4)),
        _ => {
            let byte = |at: usize| u64::from(bytes[at]) << (8 * at);
            byte(0) | byte(length / 2) | byte(length - 1)
        }
    }
}

impl Drop for Room {
    #[inline]
    fn drop(&mut self) {
        self.close();
    }
}

//! Terms written word by word into room that the machine has given.
//!
//! # Why
//!
//! A call into the machine for every tuple, cell and short binary costs more than all else of building a term. So one
//! call makes a tuple as large as what is to come is likely to be, and its words become [`Room`], where terms are
//! written one behind the other, in the layouts of `layout`. Where anything is otherwise there is no room, and every
//! term is made by a call.
//!
//! # Invariant
//!
//! **WHOLE**: when a call returns, all room that was asked for consists of whole terms, one behind the other: those
//! that were written, and tuples of what is left over ([`Room::close`]). The machine counts on that: it walks over what
//! a call has put beside the heap and moves it, term by term.

use std::slice;

use super::{
    ARITY_SHIFT, BOXED, Env, FEW_KEYS, Known, LIST, MAP, Maps, SHORT, Term, address, layouts,
};

/// The most words that are asked for at once.
pub(super) const MOST: usize = 1024;
/// The fewest, after the first time.
const FEW: usize = 16;
/// Zero, the small integer.
pub(crate) const FILLER: Term = Term(0xF);
pub(super) static FILL: [Term; MOST] = [FILLER; MOST];

/// Room for terms, of the environment of one call.
pub(crate) struct Room {
    pub(crate) env: Env,
    known: Option<&'static Known>,
    at: *mut usize,
    left: usize,
    /// Words to ask for next.
    next: usize,
    /// Words that were given.
    given: usize,
}

/// Makes `[{First, Second}]` of two terms of one word and `[]`, by one call of the machine; `None` where words are not written.
#[inline]
pub(crate) fn list_of_pair(env: Env, [first, second]: [Term; 2], nil: Term) -> Option<Term> {
    layouts()?;
    let pair = env.make_tuple(&[first, second, FILLER, nil]);
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
    pub(crate) fn take(&mut self, words: usize) -> Option<*mut usize> {
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

    /// Returns a term of these words; `None` if they are not to be had.
    ///
    /// # Safety
    ///
    /// The header, which is the first of them, says that they are one whole term.
    #[inline(always)]
    pub(crate) unsafe fn boxed<const N: usize>(&mut self, words: [usize; N]) -> Option<Term> {
        let at = self.take(N)?;
        // SAFETY: as many words are ours, and a whole term (WHOLE).
        unsafe { at.cast::<[usize; N]>().write(words) };
        Some(Term(at.expose_provenance() | BOXED))
    }

    /// Returns a float, which is finite.
    #[inline]
    pub(crate) fn float(&mut self, value: f64) -> Term {
        let header = self.known.and_then(|known| known.float);
        // SAFETY: the header says that the two words are one whole float (WHOLE).
        let float = |header| unsafe { self.boxed([header, value.to_bits() as usize]) };
        let float = header.and_then(float);
        float.unwrap_or_else(|| self.env.make_float(value))
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

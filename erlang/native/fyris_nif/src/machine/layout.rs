//! The layouts of terms that are written into room.
//!
//! | term | its word | words |
//! |---|---|---|
//! | tuple of `n` elements | address + 2 | `n << 6`, the elements |
//! | `[Head \| Tail]` | address + 1 | head, tail |
//! | binary of up to 64 bytes | address + 2 | a header, a size, the bytes |
//! | float | address + 2 | a header, its bits |
//! | map of up to 32 keys | address + 2 | a header, how many, the keys in a tuple, the values |
//!
//! The headers are learned. Keys stand in a map in the order of terms up to OTP 25; later those that are atoms stand
//! among each other in the order of their numbers.

use std::slice;

use super::room::{FILL, MOST};
use super::{ARITY_SHIFT, BOXED, Env, LIST, Learned, TAGS, Term, address, header, words, words_of};

/// The longest binary that lies in the heap.
pub(crate) const SHORT: usize = 64;
/// The most keys of a map that is an array.
pub(crate) const FEW_KEYS: usize = 32;
/// Words of a map before its values.
pub(crate) const MAP: usize = 3;

/// Header and size of the binaries by their length.
type Binaries = [(usize, usize); SHORT + 1];

/// The layouts that were learned.
pub(crate) struct Known {
    pub(crate) binaries: Binaries,
    pub(crate) map: Option<Maps>,
    /// The header of floats.
    pub(crate) float: Option<usize>,
}

/// The layout of maps.
#[derive(Clone, Copy)]
pub(crate) struct Maps {
    pub(crate) header: usize,
    /// Whether atoms among the keys stand in the order of their numbers, not of their names.
    pub(crate) by_number: bool,
}

static KNOWN: Learned<Box<Known>> = Learned::new();

/// Returns what was learned, if words are written at all.
#[inline]
pub(crate) fn layouts() -> Option<&'static Known> {
    KNOWN.get().map(|known| &**known)
}

/// Learns what terms look like. To be called when the library is loaded.
pub(crate) fn learn(env: Env) {
    KNOWN.learn(|| {
        let known = tuples_are_known(env) && cells_are_known(env);
        Some(Box::new(Known {
            binaries: learn_binaries(env).filter(|_| known)?,
            map: learn_map(env),
            float: learn_float(env),
        }))
    });
}

/// Returns whether terms are written word by word, and whether maps and floats are.
pub(crate) fn known_layouts() -> [bool; 3] {
    layouts().map_or([false; 3], |known| {
        [true, known.map.is_some(), known.float.is_some()]
    })
}

fn tuples_are_known(env: Env) -> bool {
    let [a, b] = [1, 2].map(|value| env.make_int(value));
    let one = env.make_tuple(&[a]);
    let three = env.make_tuple(&[b, a, one]);
    [one, three].iter().all(|tuple| tuple.0 & TAGS == BOXED)
        && words_of(one) == Some([1 << ARITY_SHIFT, a.0])
        && words_of(three) == Some([3 << ARITY_SHIFT, b.0, a.0, one.0])
        && header(env.make_tuple(&FILL)) == Some(MOST << ARITY_SHIFT)
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
        let [header, size] = words_of(binary)?;
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
        let [header, bits] = words_of(env.make_float(value))?;
        (header >> ARITY_SHIFT == 1 && bits == value.to_bits() as usize).then_some(header)
    };
    let header = header_of(1.5)?;
    (header_of(-0.25)? == header).then_some(header)
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

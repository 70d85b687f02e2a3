//! The order of the keys of a map, where the machine has another one than that of terms.
//!
//! From OTP 26 on, the atoms among the keys of a map of few keys stand by their numbers, and so they stand where all
//! atoms would in the order of terms. Stored maps have them by name. The objects of a table mostly have maps of the
//! same keys, so a thread remembers the orders of the keys that it has met last: those that it made maps of, and those
//! that it read.

use std::cell::RefCell;
use std::thread::LocalKey;

use crate::atoms;
use crate::sys::{Env, Term};

/// The most keys that have an order.
const MOST: usize = 32;
/// Sets of keys that are remembered.
const KEPT: usize = 16;

/// Places among keys, in another order than that of the keys.
type Places = [u8; MOST];

/// Keys, and their places in the other order.
#[derive(Clone, Default)]
struct Shape {
    keys: Vec<Term>,
    places: Places,
}

type Shapes = RefCell<Vec<Shape>>;

thread_local! {
    /// By keys in the order of terms: their places in that of the machine.
    static WRITTEN: Shapes = const { RefCell::new(Vec::new()) };
    /// By keys in the order of the machine: their places in that of terms.
    static READ: Shapes = const { RefCell::new(Vec::new()) };
}

/// Puts keys, which are in the order of terms, in that of the machine, and their values with them.
pub(crate) fn put_in_order(keys: &mut [Term], values: &mut [Term]) {
    if !(2..=MOST).contains(&keys.len()) {
        return;
    }
    let by_number = |keys: &[Term]| with_atoms_by(keys, |key| key.atom_index());
    let Some(places) = remembered(&WRITTEN, keys, by_number) else {
        return;
    };
    for terms in [keys, values] {
        let mut before = [Term(0); MOST];
        before[..terms.len()].copy_from_slice(terms);
        for (to, &from) in terms.iter_mut().zip(&places) {
            *to = before[usize::from(from) % MOST];
        }
    }
}

/// Returns the places, in the order of terms, of keys in the order of the machine: integers, and atoms by their
/// numbers, no more than [`MOST`]. `None` if there is no room for the name of one.
pub(crate) fn order_of(env: Env, keys: &[Term]) -> Option<Places> {
    let name = |key: &Term| atoms::from_machine(env, *key).map(|atom| atom.as_str());
    remembered(&READ, keys, |keys| with_atoms_by(keys, name))
}

/// Returns the places of keys as `find` finds them, unless the thread remembers them.
#[inline]
fn remembered(
    shapes: &'static LocalKey<Shapes>,
    keys: &[Term],
    find: impl FnOnce(&[Term]) -> Option<Places>,
) -> Option<Places> {
    shapes.with_borrow_mut(|shapes| {
        if shapes.is_empty() {
            shapes.resize(KEPT, Shape::default());
        }
        let shape = &mut shapes[slot(keys)];
        if shape.keys != keys {
            shape.places = find(keys)?;
            shape.keys.clear();
            shape.keys.extend_from_slice(keys);
        }
        Some(shape.places)
    })
}

/// Returns the slot in which the shape of these keys is kept.
fn slot(keys: &[Term]) -> usize {
    let number = |key: Option<&Term>| key.map_or(0, |key| key.0 >> 6);
    (number(keys.first()) ^ number(keys.last()).rotate_left(2) ^ keys.len()) % KEPT
}

/// Returns the places of keys when the atoms among them, which stand one behind another, are sorted by what `by` says
/// of them; `None` if it says nothing of one.
#[cold]
fn with_atoms_by<K: Ord>(keys: &[Term], by: impl Fn(&Term) -> Option<K>) -> Option<Places> {
    let is_atom = |key: &Term| key.atom_index().is_some();
    let first = keys.iter().position(is_atom).unwrap_or(keys.len());
    let atoms = keys[first..].iter().take_while(|key| is_atom(key));
    let atoms: Option<Vec<(K, u8)>> = atoms
        .zip(first as u8..)
        .map(|(key, place)| Some((by(key)?, place)))
        .collect();
    let mut atoms = atoms?;
    atoms.sort_unstable();
    let mut places: Places = std::array::from_fn(|place| place as u8);
    let sorted = places[first..].iter_mut().zip(atoms);
    sorted.for_each(|(to, (_, place))| *to = place);
    Some(places)
}

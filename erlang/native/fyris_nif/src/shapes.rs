//! The order of the keys of a map, where the machine has another one than that of terms.
//!
//! From OTP 26 on, the atoms among the keys of a map of few keys stand by their numbers, and so they stand where all
//! atoms would in the order of terms. Stored maps have them by name. The objects of a table mostly have maps of the
//! same keys, so a thread remembers the orders of the keys that it has met last: those that it made maps of, and those
//! that it read.

use std::cell::RefCell;

use crate::atoms;
use crate::sys::{Env, Term};

/// The most keys that have an order.
const MOST: usize = 32;
/// Sets of keys that are remembered.
const KEPT: usize = 16;

/// Keys, and where they go.
struct Shape {
    size: usize,
    given: [Term; MOST],
    ordered: [Term; MOST],
    /// The place among the given ones of each that is ordered.
    from: [u8; MOST],
}

thread_local! {
    static SHAPES: RefCell<Vec<Shape>> = const { RefCell::new(Vec::new()) };
    /// By the keys in the machine's order.
    static READ: RefCell<Vec<Read>> = const { RefCell::new(Vec::new()) };
}

/// Keys in the machine's order, and the place of each that follows in the order of terms.
struct Read {
    keys: Vec<Term>,
    order: [u8; MOST],
}

/// Returns the places of keys, integers and atoms of which the latter stand in the order of their numbers, in the order
/// of terms. `None` if one of them is no atom of ours.
pub(crate) fn order_of(env: Env, keys: &[Term]) -> Option<[u8; MOST]> {
    READ.with_borrow_mut(|read| {
        if read.is_empty() {
            let none = || Read {
                keys: Vec::new(),
                order: [0; MOST],
            };
            read.extend((0..KEPT).map(|_| none()));
        }
        let known = &mut read[slot(keys)];
        if known.keys != keys {
            known.keys.clear();
            known.order = sorted(env, keys)?;
            known.keys.extend_from_slice(keys);
        }
        Some(known.order)
    })
}

#[cold]
fn sorted(env: Env, keys: &[Term]) -> Option<[u8; MOST]> {
    let mut order = [0; MOST];
    let atoms = keys.iter().position(|key| key.atom_index().is_some());
    let first = atoms.unwrap_or(keys.len());
    let name = |key: &Term| atoms::from_machine(env, *key).map(|atom| atom.as_str());
    let mut named: Vec<(&str, u8)> = keys
        .iter()
        .zip(0..)
        .skip(first)
        .map(|(key, place)| Some((name(key)?, place)))
        .collect::<Option<_>>()?;
    named.sort_unstable();
    (0..)
        .zip(&mut order[..first])
        .for_each(|(place, to)| *to = place);
    let rest = order[first..].iter_mut().zip(named);
    rest.for_each(|(to, (_, place))| *to = place);
    Some(order)
}

impl Shape {
    const NONE: Shape = Shape {
        size: 0,
        given: [Term(0); MOST],
        ordered: [Term(0); MOST],
        from: [0; MOST],
    };

    fn of(keys: &[Term]) -> Shape {
        let mut shape = Shape::NONE;
        let size = keys.len();
        shape.size = size;
        shape.given[..size].copy_from_slice(keys);
        (0..).zip(&mut shape.from).for_each(|(i, from)| *from = i);
        let is_atom = |key: &Term| key.atom_index().is_some();
        let first = keys.iter().position(is_atom).unwrap_or(size);
        let atoms = keys[first..].iter().take_while(|key| is_atom(key)).count();
        let by_number = |&from: &u8| keys[usize::from(from)].atom_index();
        shape.from[first..first + atoms].sort_unstable_by_key(by_number);
        for (to, &from) in shape.ordered[..size].iter_mut().zip(&shape.from) {
            *to = keys[usize::from(from)];
        }
        shape
    }
}

/// Returns the slot in which the shape of these keys is kept.
fn slot(keys: &[Term]) -> usize {
    let number = |key: Option<&Term>| key.map_or(0, |key| key.0 >> 6);
    (number(keys.first()) ^ number(keys.last()).rotate_left(2) ^ keys.len()) % KEPT
}

/// Puts keys, which are in the order of terms, in that of the machine, and their values with them.
pub(crate) fn put_in_order(keys: &mut [Term], values: &mut [Term]) {
    let size = keys.len();
    if !(2..=MOST).contains(&size) {
        return;
    }
    SHAPES.with_borrow_mut(|shapes| {
        if shapes.is_empty() {
            shapes.extend((0..KEPT).map(|_| Shape::NONE));
        }
        let shape = &mut shapes[slot(keys)];
        if shape.given[..size] != *keys || shape.size != size {
            *shape = Shape::of(keys);
        }
        keys.copy_from_slice(&shape.ordered[..size]);
        let mut before = [Term(0); MOST];
        before[..size].copy_from_slice(values);
        for (to, &from) in values.iter_mut().zip(&shape.from) {
            *to = before[usize::from(from) % MOST];
        }
    });
}

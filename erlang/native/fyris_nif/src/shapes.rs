//! The order of the keys of a map, where the machine has another one than that of terms.
//!
//! From OTP 26 on, the atoms among the keys of a map of few keys stand by their numbers, and so they stand where all
//! atoms would in the order of terms. Stored maps have them by name. The objects of a table mostly have maps of the
//! same keys, so a thread remembers the orders of the keys that it has met last.

use std::cell::RefCell;

use crate::sys::Term;

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

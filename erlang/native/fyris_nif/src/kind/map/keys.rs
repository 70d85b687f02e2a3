//! The keys of maps, in the machine's words and as the store has them.
//!
//! The objects of a table mostly have maps of the same keys, so a thread remembers the keys that it has met last, and
//! what there is to know of them: the [`Shape`] that they are stored as, and their order. From OTP 26 on, the atoms
//! among the keys of a map of few keys stand by their numbers, and so they stand where all atoms would in the order of
//! terms; stored maps have them by name.

use std::cell::RefCell;
use std::slice;
use std::sync::OnceLock;
use std::thread::LocalKey;

use fyris_term::Atom;
use fyris_term::value::{MAX_SHAPE_KEYS, MAX_SHAPES, Shape};

use crate::kind::atom;
use crate::machine::{Env, MAP, Room, Term, address, layouts};

/// The most keys that have an order.
const MOST: usize = 32;
/// Sets of keys that are remembered.
const KEPT: usize = 64;

/// Places among keys, in another order than that of the keys.
type KeyOrder = [u8; MOST];

/// Keys of maps: integers and atoms, whose words are the same terms everywhere on the node.
#[derive(Clone, Copy, Default)]
pub(crate) struct Keys {
    /// The shape of a map with these keys.
    pub(crate) shape: Option<&'static Shape>,
    /// The places of the keys, in the order of terms.
    pub(crate) places: KeyOrder,
}

/// What is remembered of some keys.
#[derive(Clone, Default)]
struct Remembered<T> {
    keys: Vec<Term>,
    what: T,
}

type KeysMemory<T> = RefCell<Vec<Remembered<T>>>;

thread_local! {
    /// By keys in the order of terms: their places in that of the machine.
    static WRITTEN: KeysMemory<KeyOrder> = const { RefCell::new(Vec::new()) };
    /// By keys in the order of the machine.
    static READ: KeysMemory<Keys> = const { RefCell::new(Vec::new()) };
}

/// The keys of shapes as the machine's words, in the order of terms, by the numbers of the shapes.
static WORDS: [OnceLock<Box<[Term]>>; MAX_SHAPES] = [const { OnceLock::new() }; MAX_SHAPES];

/// Returns the keys of a shape, in the order of terms.
#[inline]
pub(crate) fn words_of(env: Env, shape: &Shape) -> &'static [Term] {
    let keys = shape.keys().iter();
    WORDS[shape.number() as usize]
        .get_or_init(|| keys.map(|key| atom::to_machine(env, *key)).collect())
}

impl Room {
    /// Puts the keys of a map of [`Room::begin_map`], which are in the order of terms, in that of the machine.
    #[inline]
    pub(crate) fn order_keys(&self, map: Term) {
        let maps = layouts().and_then(|known| known.map);
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
            put_in_order(keys, values);
        }
    }
}

/// Puts keys, which are in the order of terms, in that of the machine, and their values with them.
fn put_in_order(keys: &mut [Term], values: &mut [Term]) {
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

/// Returns what there is to know of no more than [`MOST`] keys in the order of the machine, in which atoms stand by
/// their numbers or by their names. `None` if one is neither integer nor atom, or if there is no room for the name of
/// one.
#[inline]
pub(crate) fn known(env: Env, keys: &[Term], by_number: bool) -> Option<Keys> {
    remembered(&READ, keys, |keys| learn(env, keys, by_number))
}

#[cold]
fn learn(env: Env, keys: &[Term], by_number: bool) -> Option<Keys> {
    if !keys.iter().all(|key| key.is_small_or_atom()) {
        return None;
    }
    let name = |key: &Term| atom::from_machine(env, *key).map(|atom| atom.as_str());
    let places = match by_number {
        true => with_atoms_by(keys, name)?,
        false => std::array::from_fn(|place| place as u8),
    };
    let sorted = places[..keys.len()].iter();
    let shape = shape_of(env, sorted.map(|&place| keys[usize::from(place)]));
    Some(Keys { shape, places })
}

/// Returns the shape of a map with these keys, which are in the order of terms.
pub(crate) fn shape_of(env: Env, keys: impl Iterator<Item = Term>) -> Option<&'static Shape> {
    // One more than a shape has: then there is none.
    let keys = keys.take(MAX_SHAPE_KEYS + 1);
    let keys: Option<Vec<Atom>> = keys.map(|key| atom::from_machine(env, key)).collect();
    Shape::of(&keys?)
}

/// Returns what `find` finds of keys, unless the thread remembers it.
#[inline]
fn remembered<T: Clone + Copy + Default>(
    memory: &'static LocalKey<KeysMemory<T>>,
    keys: &[Term],
    find: impl FnOnce(&[Term]) -> Option<T>,
) -> Option<T> {
    memory.with_borrow_mut(|memory| {
        if memory.is_empty() {
            memory.resize(KEPT, Remembered::default());
        }
        let remembered = &mut memory[slot(keys)];
        if remembered.keys != keys {
            remembered.what = find(keys)?;
            remembered.keys.clear();
            remembered.keys.extend_from_slice(keys);
        }
        Some(remembered.what)
    })
}

/// Returns the slot in which these keys are remembered.
fn slot(keys: &[Term]) -> usize {
    let number = |key: Option<&Term>| key.map_or(0, |key| key.0 >> 6);
    (number(keys.first()) ^ number(keys.last()).rotate_left(2) ^ keys.len()) % KEPT
}

/// Returns the places of keys when the atoms among them, which stand one behind another, are sorted by what `by` says
/// of them; `None` if it says nothing of one.
#[cold]
fn with_atoms_by<K: Ord>(keys: &[Term], by: impl Fn(&Term) -> Option<K>) -> Option<KeyOrder> {
    let is_atom = |key: &Term| key.atom_index().is_some();
    let first = keys.iter().position(is_atom).unwrap_or(keys.len());
    let atoms = keys[first..].iter().take_while(|key| is_atom(key));
    let atoms: Option<Vec<(K, u8)>> = atoms
        .zip(first as u8..)
        .map(|(key, place)| Some((by(key)?, place)))
        .collect();
    let mut atoms = atoms?;
    atoms.sort_unstable();
    let mut places: KeyOrder = std::array::from_fn(|place| place as u8);
    let sorted = places[first..].iter_mut().zip(atoms);
    sorted.for_each(|(to, (_, place))| *to = place);
    Some(places)
}

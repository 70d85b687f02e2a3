//! Sets of many keys that a thread has met before, in maps that it wrote or made.
//!
//! # Why
//!
//! A map of more than 32 keys is a tree that the machine makes from hashes of the keys, which takes ten times as long
//! as to copy it; and its leaves are in no order, so to store it takes a sort. Both depend on the keys alone. The
//! objects of a table mostly have maps of the same keys, so a thread keeps some sets of keys: an image of the tree, to
//! be copied and given the values, and the order of the keys.
//!
//! A set is found by its size and first keys, and has all others compared on the way, so no result depends on what is
//! remembered. Sets are remembered if the keys are small integers, atoms and short binaries; not each time
//! that one was missed, since maps may all have keys of their own.

use std::cell::RefCell;
use std::hash::Hash;
use std::rc::Rc;

use fyris_term::value::{ValueWriter, View, skip, view};

use super::image::Image;
use super::order;
use super::tree::{self, Pair};
use crate::kind::binary_of;
use crate::machine::{Env, FEW_KEYS, Term, hash_of};
use crate::term;

/// The most keys of a set that is remembered.
const MOST: usize = 4096;
/// The most sets, and keys in all, that a thread remembers: one megabyte of integers, five of long binaries.
const MOST_SETS: usize = 64;
const MOST_KEYS: usize = 4 * MOST;
/// Slots by which sets are found.
const SLOTS: usize = 1024;
/// Misses from one set that is remembered to the next. To remember a set takes as long as a miss, so the number doubles
/// each time, up to the most, and halves with each hit.
const FEWEST_MISSES: u32 = 8;
const MOST_MISSES: u32 = 256;

/// The keys of a map, as the machine has them and as the store does.
pub(crate) struct Tree {
    pub(crate) image: Image,
    /// The keys in the order of the leaves.
    leaves: Box<[LeafKey]>,
    /// In exact order of the keys.
    keys: Box<[KeyPlace]>,
    /// The keys as values, one behind another.
    encoded: Box<[u8]>,
}

/// A key that is told from others by this.
enum LeafKey {
    /// A small integer or an atom.
    Word(usize),
    Binary(Box<[u8]>),
}

/// Where things of a key are.
struct KeyPlace {
    leaf: u32,
    /// Of the value, in the image.
    value: u32,
    /// The key as a value.
    start: u32,
    end: u32,
}

impl Tree {
    /// Returns what there is to know of the keys of a map; `None` if they are not to be remembered.
    #[cold]
    fn of(env: Env, map: Term) -> Option<Tree> {
        tree::size(map).filter(|&size| size <= MOST)?;
        let (image, pairs) = (Image::of(env, map)?, tree::leaves(map)?);
        let leaves: Option<Box<[LeafKey]>> =
            pairs.iter().map(|pair| LeafKey::of(env, pair.0)).collect();
        let leaves = leaves?;
        let mut sorted: Vec<(Term, usize)> = pairs
            .iter()
            .zip(0..)
            .map(|(pair, leaf)| (pair.0, leaf))
            .collect();
        order::sort(env, &mut sorted, 0).ok()?;
        let (mut encoded, mut blobs) = (Vec::new(), Vec::new());
        let keys: Option<Box<[KeyPlace]>> = sorted
            .into_iter()
            .map(|(key, leaf)| {
                let start = encoded.len() as u32;
                let mut out = ValueWriter::new(&mut encoded, &mut blobs);
                term::write_value(env, key, &mut out).ok()?;
                let end = encoded.len() as u32;
                let value = image.place_of(leaf);
                Some(KeyPlace {
                    leaf: leaf as u32,
                    value,
                    start,
                    end,
                })
            })
            .collect();
        Some(Tree {
            image,
            leaves,
            keys: keys?,
            encoded: encoded.into(),
        })
    }

    /// Returns the key at a place in their exact order, as a value.
    #[inline(always)]
    pub(crate) fn key(&self, place: usize) -> &[u8] {
        let KeyPlace { start, end, .. } = self.keys[place];
        &self.encoded[start as usize..end as usize]
    }

    /// Returns the places in the image of the values, in the exact order of the keys.
    pub(crate) fn value_places(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(|of| of.value)
    }

    /// Returns the keys as values, in their exact order, with the places of their leaves.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = (&[u8], usize)> {
        let places = self.keys.iter().enumerate();
        places.map(|(place, of)| (self.key(place), of.leaf as usize))
    }

    fn len(&self) -> usize {
        self.keys.len()
    }

    fn has_leaves(&self, env: Env, pairs: &[Pair]) -> bool {
        let mut keys = self.leaves.iter().zip(pairs);
        self.len() == pairs.len()
            && (cfg!(fyris_mutant = "nif_leaves_unread")
                || keys.all(|(key, pair)| key.is(env, pair.0)))
    }
}

impl LeafKey {
    fn of(env: Env, term: Term) -> Option<LeafKey> {
        if term.is_small_or_atom() {
            return Some(LeafKey::Word(term.0));
        }
        binary_of(env, term).map(|bytes| LeafKey::Binary(bytes.into()))
    }

    fn tag(&self) -> u64 {
        match self {
            LeafKey::Word(word) => *word as u64,
            LeafKey::Binary(bytes) => hash_of(&**bytes),
        }
    }

    #[inline(always)]
    fn is(&self, env: Env, term: Term) -> bool {
        match self {
            LeafKey::Word(word) => *word == term.0,
            LeafKey::Binary(bytes) => {
                !term.is_small_or_atom() && binary_of(env, term) == Some(&**bytes)
            }
        }
    }
}

/// Returns what [`LeafKey::tag`] returns of the same key; anything of a term of another kind.
fn tag(env: Env, term: Term) -> u64 {
    match Some(term).filter(|term| !term.is_small_or_atom()) {
        Some(term) => binary_of(env, term).map_or(0, hash_of),
        None => term.0 as u64,
    }
}

/// The sets of keys that a thread remembers.
struct TreeMemory {
    trees: [Option<Rc<Tree>>; MOST_SETS],
    /// The place of the set that has been there longest.
    oldest: usize,
    /// Keys in all sets.
    keys: usize,
    /// Misses before the next set is remembered, and before the one after it.
    misses: u32,
    next_misses: u32,
    /// Places of sets, by the first two keys among the leaves and by the first key in exact order.
    by_leaves: [u8; SLOTS],
    by_key: [u8; SLOTS],
}

thread_local! {
    /// Allocated when a set was missed: of what lies in a thread itself, libraries that are loaded late get little.
    static MEMORY: RefCell<Option<Box<TreeMemory>>> = const { RefCell::new(None) };
}

fn with_memory<R>(f: impl FnOnce(&mut TreeMemory) -> Option<R>) -> Option<R> {
    MEMORY.with_borrow_mut(|memory| f(memory.as_mut()?))
}

/// Returns the set of keys of a map to be written, whose pairs these are in the order of the leaves.
pub(crate) fn of_leaves(env: Env, pairs: &[Pair]) -> Option<Rc<Tree>> {
    with_memory(|memory| {
        let keys = [tag(env, pairs.first()?.0), tag(env, pairs.get(1)?.0)];
        let place = memory.by_leaves[slot(pairs.len(), keys)];
        let tree = memory.trees[usize::from(place)].as_ref();
        let tree = tree.filter(|tree| tree.has_leaves(env, pairs)).cloned()?;
        memory.met();
        Some(tree)
    })
}

/// Returns the likely set of keys of a map to be made, of a number of pairs that stand at the front of some bytes. The
/// first key was compared.
#[inline]
pub(crate) fn likely(size: usize, pairs: &[u8]) -> Option<Rc<Tree>> {
    if size <= FEW_KEYS {
        return None;
    }
    with_memory(|memory| {
        // Of a key with parts, all of it would be passed over, and so at each level of maps in keys.
        let (View::Int(_) | View::Atom(_) | View::Binary(_)) = view(pairs).ok()? else {
            return None;
        };
        let mut rest = pairs;
        skip(&mut rest).ok()?;
        let key = &pairs[..pairs.len() - rest.len()];
        let place = memory.by_key[slot(size, key)];
        let tree = memory.trees[usize::from(place)].as_ref();
        tree.filter(|tree| tree.len() == size && tree.key(0) == key)
            .cloned()
    })
}

/// Notes that a map had the keys that were likely.
pub(crate) fn met() {
    MEMORY.with_borrow_mut(|memory| {
        if let Some(memory) = memory {
            memory.met();
        }
    });
}

/// Notes that the keys of a map were not found.
pub(crate) fn missed(env: Env, map: Term) {
    let is_next = MEMORY.with_borrow_mut(|memory| memory.get_or_insert_default().is_next());
    if is_next && let Some(tree) = Tree::of(env, map) {
        MEMORY.with_borrow_mut(|memory| memory.get_or_insert_default().remember(tree));
    }
}

impl Default for TreeMemory {
    fn default() -> TreeMemory {
        TreeMemory {
            trees: [const { None }; MOST_SETS],
            oldest: 0,
            keys: 0,
            misses: FEWEST_MISSES,
            next_misses: FEWEST_MISSES,
            by_leaves: [0; SLOTS],
            by_key: [0; SLOTS],
        }
    }
}

impl TreeMemory {
    #[inline]
    fn met(&mut self) {
        self.next_misses = FEWEST_MISSES.max(self.next_misses / 2);
    }

    /// Counts a miss, and returns whether the set is to be remembered.
    fn is_next(&mut self) -> bool {
        self.misses -= 1;
        let is_next = self.misses == 0;
        if is_next {
            self.next_misses = MOST_MISSES.min(2 * self.next_misses);
            self.misses = self.next_misses;
        }
        is_next
    }

    /// Remembers a set in the place of the oldest, and forgets as many more as there is no room for.
    fn remember(&mut self, tree: Tree) {
        let place = self.oldest;
        loop {
            let forgotten = self.trees[self.oldest].take();
            self.keys -= forgotten.map_or(0, |tree| tree.len());
            self.oldest = (self.oldest + 1) % MOST_SETS;
            if self.keys + tree.len() <= MOST_KEYS {
                break;
            }
        }
        self.keys += tree.len();
        let leaves = [0, 1].map(|leaf| tree.leaves[leaf].tag());
        self.by_leaves[slot(tree.len(), leaves)] = place as u8;
        self.by_key[slot(tree.len(), tree.key(0))] = place as u8;
        self.trees[place] = Some(Rc::new(tree));
    }
}

/// Returns the slot of a set with these keys.
fn slot(size: usize, keys: impl Hash) -> usize {
    hash_of((size, keys)) as usize % SLOTS
}

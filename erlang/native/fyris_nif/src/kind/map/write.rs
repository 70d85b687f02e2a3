//! Maps of many keys, written word by word.
//!
//! The machine makes such a map from arrays by a sort and several walks over them. To write it takes the hashes of the
//! keys, which the machine tells, and one sort: four bits of the hash, the lowest first, choose the child of a node at
//! each level, and a key that is alone below a node is a leaf there. Of two keys with the same hash the machine makes
//! other nodes, of other kinds on different releases; such a map is left to it.

use super::order::sort_by_rank;
use super::tree::{
    CHILDREN_SHIFT, FEW, FULL, INNER, KIND, KIND_SHIFT, NODE, ROOT, Sample, are_same, inner, nodes,
    root,
};
use crate::machine::{BOXED, Env, Learned, Room, Term, header};

/// Bits of a hash that choose a child.
const LEVEL: u32 = 4;
const CHILDREN: usize = 0xFFFF << CHILDREN_SHIFT;

/// The headers of nodes, without the bits of their children.
#[derive(Clone, Copy)]
struct Headers {
    inner: usize,
    /// Of a root with room for its children only, and of one with room for all, which has them.
    few: usize,
    full: usize,
}

static HEADERS: Learned<Headers> = Learned::new();

/// Learns the headers, and whether maps that are written are those that the machine makes.
pub(super) fn learn(env: Env, samples: &[Sample]) {
    HEADERS.learn(|| {
        let headers = headers_of(samples)?;
        let is_same = |sample: &Sample| {
            let written = Room::new(env, 0).tree_of(headers, &sample.keys, &sample.values);
            written.is_some_and(|written| are_same(env, sample.map, written))
        };
        samples.iter().all(is_same).then_some(headers)
    });
}

/// Returns whether maps of many keys are written.
pub(super) fn is_known() -> bool {
    HEADERS.is_known()
}

/// Returns the headers of the nodes of some maps, if all of a kind have the same.
fn headers_of(samples: &[Sample]) -> Option<Headers> {
    let subtag = nodes()?;
    let mut found = [None; KIND + 1];
    for sample in samples {
        let (_, children) = root(subtag, sample.map)?;
        let inner = children
            .iter()
            .copied()
            .filter(|&child| inner(subtag, child).is_some());
        for node in inner.chain([sample.map]) {
            let header = header(node)? & !CHILDREN;
            let of_kind = &mut found[header >> KIND_SHIFT & KIND];
            if *of_kind.get_or_insert(header) != header {
                return None;
            }
        }
    }
    Some(Headers {
        inner: found[INNER]?,
        few: found[FEW]?,
        full: found[FULL]?,
    })
}

/// The hash of a key, the four bits of the first level on top, and the place of the key among others.
type Leaf = (u64, u32);

/// Returns a hash whose sets of four bits are in the other order.
fn reversed(hash: u64) -> u64 {
    const LOW: u64 = u64::MAX / 0xFF * 0xF;
    let bytes = hash.swap_bytes();
    (bytes & LOW) << LEVEL | bytes >> LEVEL & LOW
}

/// Returns the number of the child, at a level from 0, that a leaf is in or below.
#[inline(always)]
fn child((hash, _): &Leaf, level: u32) -> u32 {
    (hash << (LEVEL * level) >> (u64::BITS - LEVEL)) as u32
}

impl Room {
    /// Returns a map of many keys, which are all different; `None` where such look otherwise than we know, and if two
    /// keys have the same hash.
    pub(crate) fn tree(&mut self, keys: &[Term], values: &[Term]) -> Option<Term> {
        self.tree_of(*HEADERS.get()?, keys, values)
    }

    fn tree_of(&mut self, headers: Headers, keys: &[Term], values: &[Term]) -> Option<Term> {
        let keys_and_places = keys.iter().zip(0..);
        let mut leaves: Vec<Leaf> = keys_and_places
            .map(|(&key, place)| (reversed(self.env.hash(key)), place))
            .collect();
        sort_by_rank(&mut leaves);
        if leaves.array_windows().any(|[a, b]| a.0 == b.0) {
            return None;
        }
        self.node(headers, &leaves, 0, &|place| {
            (keys[place as usize], values[place as usize])
        })
    }

    /// Returns the node at a level that has some leaves below it, the same at all levels above.
    fn node(
        &mut self,
        headers: Headers,
        leaves: &[Leaf],
        level: u32,
        pair: &impl Fn(u32) -> (Term, Term),
    ) -> Option<Term> {
        let bits = leaves
            .iter()
            .fold(0u16, |bits, leaf| bits | 1 << child(leaf, level));
        let before = if level == 0 { ROOT } else { NODE };
        let at = self.take(before + bits.count_ones() as usize)?;
        let header = match (level, bits) {
            (0, u16::MAX) => headers.full,
            (0, _) => headers.few,
            _ => headers.inner,
        };
        // SAFETY: as many words are ours; with the header, and small integers for now, they are a whole node (WHOLE).
        unsafe {
            at.write(header | usize::from(bits) << CHILDREN_SHIFT);
            if level == 0 {
                at.add(1).write(leaves.len());
            }
        }
        let same_child = |a: &Leaf, b: &Leaf| child(a, level) == child(b, level);
        for (place, below) in (before..).zip(leaves.chunk_by(same_child)) {
            let child = match *below {
                [(_, place)] => {
                    let (key, value) = pair(place);
                    self.cell(key, value)
                }
                _ => self.node(headers, below, level + 1, pair)?,
            };
            // SAFETY: the node has a place for each child.
            unsafe { at.add(place).write(child.0) };
        }
        Some(Term(at.expose_provenance() | BOXED))
    }
}

//! The exact order of the keys of maps, in which they are stored.

use smallvec::SmallVec;

use super::tree::Pair;
use crate::kind::{atom, binary_of};
use crate::machine::{Env, Term};
use crate::term::{Result, exact_order};

/// Pairs of a map that need no allocation to be sorted.
const FEW: usize = 32;

/// Returns the pairs of a map in exact order of the keys.
#[inline(never)]
pub(crate) fn ordered(env: Env, mut pairs: Vec<Pair>, depth: usize) -> Result<Vec<Pair>> {
    sort(env, &mut pairs, depth)?;
    Ok(pairs)
}

/// A key of a map, of one of the kinds that most keys are of; they order as the keys of maps do.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Simple<'t> {
    Int(i64),
    Atom(&'static str),
    Binary(&'t [u8]),
}

fn simple<'t>(env: Env, key: Term) -> Option<Simple<'t>> {
    if let Some(value) = key.small() {
        return Some(Simple::Int(value));
    }
    if key.atom_index().is_some() {
        // The order of names is the order of atoms.
        let atom = atom::from_machine(env, key);
        return atom.map(|atom| Simple::Atom(atom.as_str()));
    }
    binary_of(env, key).map(Simple::Binary)
}

/// Returns whether the keys are known to be in exact order.
pub(crate) fn are_sorted<'t>(env: Env, keys: impl IntoIterator<Item = &'t Term>) -> bool {
    let mut last = None;
    keys.into_iter().all(|&key| {
        let key = simple(env, key);
        let is_behind = last.as_ref() < key.as_ref() && key.is_some();
        last = key;
        is_behind
    })
}

/// Sorts keys, `depth` levels down, and what comes with them.
#[inline(never)]
pub(crate) fn sort<T: Copy>(env: Env, pairs: &mut [(Term, T)], depth: usize) -> Result<()> {
    if pairs.len() < 2 || are_sorted(env, pairs.iter().map(|(key, _)| key)) {
        return Ok(());
    }
    let by_rank = pairs.iter().map(|&pair| Some((rank(pair.0)?, pair)));
    if let Some(mut by_rank) = by_rank.collect::<Option<Vec<_>>>() {
        sort_by_rank(&mut by_rank);
        put(pairs, by_rank.into_iter());
        return Ok(());
    }
    let simple = pairs.iter().map(|&pair| Some((simple(env, pair.0)?, pair)));
    if let Some(mut simple) = simple.collect::<Option<SmallVec<[_; FEW]>>>() {
        simple.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        put(pairs, simple.into_iter());
        return Ok(());
    }
    let ordered = |&pair: &(Term, T)| Ok((exact_order(env, pair.0, depth)?, pair));
    let mut ordered = pairs.iter().map(ordered).collect::<Result<Vec<_>>>()?;
    ordered.sort_by(|a, b| a.0.order().cmp(b.0.order()));
    put(pairs, ordered.into_iter());
    Ok(())
}

/// Returns a number that orders small integers.
fn rank(key: Term) -> Option<u64> {
    key.small().map(|value| value.abs_diff(i64::MIN))
}

/// Puts what was sorted back.
fn put<K, T>(to: &mut [T], sorted: impl Iterator<Item = (K, T)>) {
    let places = to.iter_mut().zip(sorted);
    places.for_each(|(place, (_, item))| *place = item);
}

// Sorting by numbers that are spread evenly, as hashes are and most keys that are integers.

/// Buckets of the first pass.
const BUCKETS: usize = 256;
/// The most items for which the first pass leaves little to do.
const MOST: usize = 8 * BUCKETS;
/// The most items of a bucket that are put in order by insertion.
const CROWD: u16 = 16;

/// Sorts items by their ranks, those of the same rank in any order: one pass by the upper bits of the ranks, if they
/// are spread over many buckets, and insertions within the buckets.
pub(super) fn sort_by_rank<T: Copy>(items: &mut Vec<(u64, T)>) {
    match scattered(items) {
        Some(scattered) => *items = scattered,
        None => return items.sort_unstable_by_key(|item| item.0),
    }
    for next in 1..items.len() {
        let item = items[next];
        let mut place = next;
        while place > 0 && items[place - 1].0 > item.0 {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}

/// Returns the items in the order of their buckets; `None` if that would not help.
fn scattered<T: Copy>(items: &[(u64, T)]) -> Option<Vec<(u64, T)>> {
    let &first = items.first().filter(|_| items.len() <= MOST)?;
    let (least, most) = items
        .iter()
        .fold((first.0, first.0), |(least, most), item| {
            (least.min(item.0), most.max(item.0))
        });
    let bits = u64::BITS - (most - least).leading_zeros();
    let shift = bits.saturating_sub(BUCKETS.ilog2());
    let bucket = |rank: u64| ((rank - least) >> shift) as usize % BUCKETS;
    let mut ends = [0u16; BUCKETS];
    items.iter().for_each(|item| ends[bucket(item.0)] += 1);
    let mut end = 0;
    for of_bucket in &mut ends {
        if *of_bucket > CROWD {
            return None;
        }
        end += *of_bucket;
        *of_bucket = end;
    }
    let mut scattered = vec![first; items.len()];
    for item in items.iter().rev() {
        let end = &mut ends[bucket(item.0)];
        *end -= 1;
        scattered[usize::from(*end)] = *item;
    }
    Some(scattered)
}

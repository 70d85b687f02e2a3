//! The seal: words of the header that a merge by words breaks.
//!
//! A segment merges two changed copies word by word. For a map that is ruin: the header of one and the nodes of both.
//! [`VersionedMap`](super::VersionedMap) never merges, but the segment under it can be merged by any process that has
//! it checked out. So the header has 32 pairs of words and a sum over them. A batch of changes draws 32 random bits and
//! writes, in each pair, the word that its bit names, and the sum. Two batches that start from one version draw
//! different bits; where the bits differ, each wrote a word that the other left alone, so a merge takes both, whichever
//! wins where both wrote. The sum comes from one side and knows nothing of the other's word. It fails to notice once in
//! 2^32 merges.
//!
//! The words are 8 bytes, so the segment's unit must not be larger than that.

use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

use super::layout::{Region, put_u64, u64_at};
use super::{MapError, MapResult};

const SUM_AT: usize = 56;
const WORDS_AT: usize = 64;
const PAIRS: usize = 32;
const END: usize = WORDS_AT + PAIRS * 16;

/// Marks the beginning of a batch of changes.
pub(super) fn stamp<R: Region>(region: &mut R) -> MapResult<()> {
    stamp_as(region, random())
}

fn stamp_as<R: Region>(region: &mut R, draw: u64) -> MapResult<()> {
    let head = region.edit(0..END)?;
    for pair in 0..PAIRS {
        let side = (draw >> pair & 1) as usize;
        let at = WORDS_AT + pair * 16 + side * 8;
        let next = u64_at(head, at).wrapping_add(mix(draw, pair as u64) | 1);
        put_u64(head, at, next);
    }
    let sum = sum(head);
    put_u64(head, SUM_AT, sum);
    Ok(())
}

/// Checks that the map is the work of one batch after the other.
pub(super) fn verify(bytes: &[u8]) -> MapResult<()> {
    match bytes.first_chunk::<END>() {
        Some(_) if cfg!(fyris_mutant = "map_seal_unchecked") => Ok(()),
        Some(head) if u64_at(head, SUM_AT) == sum(head) => Ok(()),
        _ => Err(MapError::Merged),
    }
}

fn sum(head: &[u8]) -> u64 {
    (WORDS_AT..END)
        .step_by(8)
        .fold(!0, |sum, at| mix(sum, u64_at(head, at)))
}

/// Does one step of a hash: good enough against accidents, not against malice.
fn mix(state: u64, word: u64) -> u64 {
    let product =
        u128::from(state ^ 0x9e37_79b9_7f4a_7c15) * u128::from(word ^ 0xd1b5_4a32_d192_ed03);
    (product as u64) ^ ((product >> 64) as u64) ^ state.rotate_left(23)
}

/// Returns a number that is different in every process and at every call, forked processes included.
fn random() -> u64 {
    let clock = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    RandomState::new().hash_one((std::process::id(), clock))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Merges as the segment does: words that only `theirs` changed come from there, the others stay.
    fn merged(base: &[u8], local: &[u8], theirs: &[u8]) -> Vec<u8> {
        let word = |bytes: &[u8], at: usize| bytes[at..at + 8].to_vec();
        (0..base.len())
            .step_by(8)
            .flat_map(|at| match word(local, at) == word(base, at) {
                true => word(theirs, at),
                false => word(local, at),
            })
            .collect()
    }

    #[test]
    fn a_seal_holds_through_many_batches() {
        let mut bytes = vec![0; END];
        assert!(verify(&bytes).is_err());
        for _ in 0..100 {
            stamp(&mut bytes).expect("stamp");
            verify(&bytes).expect("whole");
        }
    }

    #[test]
    fn a_merge_breaks_the_seal() {
        let mut base = vec![0; END];
        stamp(&mut base).expect("stamp");
        for _ in 0..100 {
            let (mut ours, mut theirs) = (base.clone(), base.clone());
            stamp(&mut ours).expect("stamp");
            stamp(&mut theirs).expect("stamp");
            let merged = merged(&base, &ours, &theirs);
            assert!(matches!(verify(&merged), Err(MapError::Merged)));
        }
    }

    #[test]
    fn one_differing_bit_is_enough() {
        let mut base = vec![0; END];
        stamp(&mut base).expect("stamp");
        for bit in 0..PAIRS {
            let (mut ours, mut theirs) = (base.clone(), base.clone());
            stamp_as(&mut ours, 0x1234_5678).expect("stamp");
            stamp_as(&mut theirs, 0x1234_5678 ^ 1 << bit).expect("stamp");
            assert!(verify(&merged(&base, &ours, &theirs)).is_err(), "{bit}");
        }
    }
}

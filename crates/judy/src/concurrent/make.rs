//! Makes branches and bitmap leaves of children.

use fyris_sync::atomic::Ordering;

use super::super::digits::{Digits, above};
use super::super::limits::{CLOSED_MOST, SHARED};
use super::super::set::Set;
use super::block::{self, Cell};
use super::full::Full;
use super::group::{ALL, Group, open_group};
use super::link::{Kind, Link};
use super::node::{
    Header, SharedBitmap, SharedBits, SharedBranch, SharedLinear, SharedUncompressed, empty,
};

/// A child: its digit, its word (in a bitmap leaf the value), and the number of its keys that are to be counted.
pub(super) type Child = (usize, u64, usize);

/// Makes a branch of these children, whose digits ascend, in the form that fits their number.
pub(super) fn branch(children: &[Child], level: usize, prefix: u64) -> SharedBranch {
    branch_as(SHARED.form(children.len()).into(), children, level, prefix)
}

/// Makes a bitmap leaf of these pairs.
pub(super) fn bits(pairs: &[(u64, u64)]) -> SharedBranch {
    let values: Vec<Child> = pairs
        .iter()
        .map(|(key, value)| ((key & 0xFF) as usize, *value, 1))
        .collect();
    branch_as(Kind::Bits, &values, 1, pairs[0].0)
}

/// Makes a branch, or a bitmap leaf, of these children, as this kind, which has room for all.
pub(super) fn branch_as(kind: Kind, children: &[Child], level: usize, prefix: u64) -> SharedBranch {
    let keys = children.iter().map(|(.., keys)| *keys as u64).sum();
    let header = Header::new(prefix & above(level), keys);
    let counts = || {
        let mut counts = [0; 16];
        children
            .iter()
            .for_each(|(digit, _, keys)| counts[digit / 16] += *keys as u64);
        counts.map(Cell::new)
    };
    let node: *mut u8 = match kind {
        Kind::Linear => {
            let (mut digits, mut slots) = (Digits(0), [0; 7]);
            for (i, (digit, word, _)) in children.iter().enumerate() {
                digits = digits.with(i, *digit);
                slots[i] = *word;
            }
            let (digits, slots) = (Cell::new(digits.0), slots.map(Cell::new));
            let spare = [0; 4];
            let node = SharedLinear {
                digits,
                slots,
                header,
                spare,
            };
            block::make(node).cast()
        }
        Kind::Bitmap => {
            let (groups, counts) = (groups(children, usize::MAX), counts());
            block::make(SharedBitmap {
                groups,
                header,
                counts,
            })
            .cast()
        }
        Kind::Bits => {
            let groups = groups(children, CLOSED_MOST);
            block::make(SharedBits { groups, header }).cast()
        }
        Kind::Full => Full::make(children, header).cast(),
        _ => {
            let slots = empty::<256>();
            for (digit, word, _) in children {
                // Relaxed: nobody sees it yet.
                slots[*digit].store(*word, Ordering::Relaxed);
            }
            let counts = counts();
            let node = SharedUncompressed {
                slots,
                header,
                counts,
                children: Cell::new(children.len() as u64),
            };
            block::make(node).cast()
        }
    };
    SharedBranch(Link::branch(node, kind, level))
}

/// Makes the groups of a bitmap; those of more than `closed_most` children are open.
fn groups(children: &[Child], closed_most: usize) -> [Cell; 16] {
    let groups = empty::<16>();
    for of_group in children.chunk_by(|(a, ..), (b, ..)| a / 16 == b / 16) {
        let digits = of_group.iter().map(|(digit, ..)| digit % 16);
        let set = digits.fold(Set::EMPTY, Set::with);
        let group = if of_group.len() > closed_most {
            let word = |i| of_group.iter().find(|(digit, ..)| digit % 16 == i);
            open_group((0..ALL).map(|i| word(i).map_or(0, |child| child.1)), set)
        } else {
            let slots = block::allocate(of_group.len());
            for (i, (_, word, _)) in of_group.iter().enumerate() {
                // SAFETY: a new block with room for them.
                unsafe { slots.add(i).write(Cell::new(*word)) };
            }
            Group::new(slots, set)
        };
        // Relaxed: nobody sees it yet.
        groups[of_group[0].0 / 16].store(group.0, Ordering::Relaxed);
    }
    groups
}

//! Changes of form: what grows too large for its node, or too small.
//!
//! Each function replaces what a pointer leads to by other nodes with the same keys (or one key more or less, where it
//! says so). An insertion that needs room calls one and looks again.

use smallvec::SmallVec;

use super::bits::{self, Bits};
use super::branch::{self, Branch};
use super::class::Account;
use super::jp::{Form, Jp, Node, Slot, above, digit};
use super::leaf::{self, View};
use super::limits::{LEAF_MOST, LEAF_SLACK, PAIRS, few_most};
use super::tree::Place;
use super::weigh::Weigh;

/// Whole keys and their values, in order.
type Pairs = SmallVec<[(u64, Slot); PAIRS + 1]>;

/// Moves the pairs below a pointer to `out`, and frees the nodes. `prefix` is the bits above the pointer's place.
///
/// # Safety
///
/// `at` is a pointer of a living tree, which is the caller's alone; it is not used again.
unsafe fn gather(at: *mut Jp, prefix: u64, out: &mut Pairs, account: &mut Account) {
    // SAFETY: the caller's contract; values are moved, and the nodes are freed by their only pointer.
    unsafe {
        let jp = &*at;
        let prefix = jp.meta.prefix(prefix);
        match jp.meta.what() {
            Node::Branch { level, form } => {
                let branch = Branch::of(jp, form);
                for (digit, child) in branch::children(branch) {
                    gather(
                        child,
                        prefix | (digit as u64) << (8 * (level - 1)),
                        out,
                        account,
                    );
                }
                branch.free(account);
            }
            Node::Bits { .. } => {
                for (at, quarter) in Bits::of(jp).0.iter().enumerate() {
                    let mut bitmap = quarter.bitmap;
                    for i in 0..quarter.len() {
                        let low = at as u64 * 64 + u64::from(bitmap.trailing_zeros());
                        out.push((prefix | low, quarter.values.add(i).read()));
                        bitmap &= bitmap - 1;
                    }
                }
                bits::free(jp, account);
            }
            _ => {
                if let Some(view) = View::of(at) {
                    let prefix = prefix & above(view.width);
                    for i in 0..view.len {
                        out.push((prefix | view.key(i), view.values.add(i).read()));
                    }
                    leaf::free(jp, account);
                }
            }
        }
    }
}

/// Makes the smallest thing that holds these pairs at this place: nothing, a pointer with keys in it, or a leaf of a
/// level.
fn build(pairs: &[(u64, Slot)], level: usize, place: Place, account: &mut Account) -> Jp {
    match pairs {
        [] => Jp::EMPTY,
        [(key, value)] if !place.is_root => Jp::one(*key, *value),
        // A pointer with several keys has no room for what it decodes.
        _ if !place.is_root && level == place.level && pairs.len() <= few_most(level) => {
            leaf::make_few(pairs, level, account)
        }
        _ if level == 1 && pairs.len() > LEAF_MOST[1] => bits::make(pairs, account),
        _ => leaf::make_leaf(pairs, level, account),
    }
}

/// Returns the level of the branch that tells two different keys apart.
pub(super) fn level_apart(one: u64, other: u64) -> usize {
    (71 - (one ^ other).leading_zeros() as usize) / 8
}

/// Puts a branch above a node whose keys do not share with `key` all that its pointer decodes.
pub(super) fn part<W: Weigh>(jp: &mut Jp, place: Place, key: u64, account: &mut Account) {
    let prefix = jp.meta.prefix(place.prefix);
    let node_level = jp.meta.level().unwrap_or(place.level);
    let level = level_apart(prefix, key & above(node_level));
    let child = (digit(prefix, level), *jp);
    *jp = branch::make::<W>(std::iter::once(child), level, prefix, account);
}

/// Gives a full branch a form with more room.
///
/// # Safety
///
/// `jp` leads to this branch, and owns it.
#[cold]
pub(super) unsafe fn widen<W: Weigh>(
    jp: &mut Jp,
    branch: Branch,
    level: usize,
    account: &mut Account,
) {
    let form = match branch {
        Branch::Linear(_) => Form::Bitmap,
        Branch::Bitmap(_) | Branch::Uncompressed(_) => Form::Uncompressed,
    };
    // SAFETY: the caller's contract; a wider form has room for all children.
    unsafe { branch::change_form::<W>(jp, branch, level, form, account) }
}

/// Replaces a full leaf by one of a lower level if its keys share what is above that, by a bitmap leaf, or by a branch.
/// Returns its first key.
///
/// # Safety
///
/// `jp` leads to a leaf that is no bitmap leaf, of at least two keys, and owns it.
#[cold]
pub(super) unsafe fn cascade<W: Weigh>(jp: &mut Jp, place: Place, account: &mut Account) -> u64 {
    let level = jp.meta.level().unwrap_or(place.level);
    let mut pairs = Pairs::new();
    // SAFETY: the caller's contract; `jp` gets another node below.
    unsafe { gather(jp, place.prefix, &mut pairs, account) };
    let (first, last) = (pairs[0].0, pairs[pairs.len() - 1].0);
    let wrong = usize::from(cfg!(fyris_mutant = "judy_leaf_too_narrow") && level > 2);
    let apart = (level_apart(first, last) - wrong).max(1);
    *jp = if level == 1 {
        bits::make(&pairs, account)
    } else if apart < level {
        build(&pairs, apart, place, account)
    } else {
        let below = Place {
            level: apart - 1,
            prefix: 0,
            is_root: false,
        };
        let groups = pairs.chunk_by(|(a, _), (b, _)| digit(*a, apart) == digit(*b, apart));
        let children: SmallVec<[(usize, Jp); PAIRS + 1]> = groups
            .map(|group| {
                (
                    digit(group[0].0, apart),
                    build(group, apart - 1, below, account),
                )
            })
            .collect();
        branch::make::<W>(children.iter().copied(), apart, first, account)
    };
    first
}

/// Inserts a key into a pointer that holds keys, unless it is there; returns the place of its value, and whether it was
/// not there.
///
/// # Safety
///
/// `jp` holds one key or more itself.
pub(super) unsafe fn add_to_few(
    jp: &mut Jp,
    place: Place,
    key: u64,
    account: &mut Account,
) -> (*mut Slot, bool) {
    // SAFETY: the caller's contract.
    unsafe {
        let Some(view) = View::of(jp) else {
            unreachable!("keys in the pointer")
        };
        let (i, found) = view.search(key);
        if found {
            return (view.values.add(i), false);
        }
        let mut pairs = Pairs::new();
        gather(jp, place.prefix, &mut pairs, account);
        pairs.insert(i, (key, Slot::new(0)));
        *jp = build(&pairs, place.level, place, account);
        match View::of(jp) {
            Some(view) => (view.values.add(i), true),
            None => unreachable!("more keys than a pointer has are fewer than a leaf has"),
        }
    }
}

/// Removes the key at an index from a pointer with keys or a leaf that has so few that it is not to stay a leaf;
/// returns its value.
///
/// # Safety
///
/// `jp` leads to keys in the pointer or in a leaf that is no bitmap leaf, more than `i`, and owns them.
pub(super) unsafe fn remove_last(
    jp: &mut Jp,
    place: Place,
    i: usize,
    account: &mut Account,
) -> Slot {
    let level = jp.meta.level().unwrap_or(place.level);
    let mut pairs = Pairs::new();
    // SAFETY: the caller's contract; `jp` gets another node below.
    unsafe { gather(jp, place.prefix, &mut pairs, account) };
    let (_, value) = pairs.remove(i);
    *jp = build(&pairs, level, place, account);
    value
}

/// Makes a leaf of a bitmap leaf that has become small.
///
/// # Safety
///
/// `jp` leads to a bitmap leaf, and owns it.
pub(super) unsafe fn thin_bits(jp: &mut Jp, place: Place, account: &mut Account) {
    if let Node::Bits { len } = jp.meta.what()
        && len <= LEAF_MOST[1] - LEAF_SLACK
    {
        // SAFETY: the caller's contract.
        unsafe { rebuild(jp, 1, place, account) };
    }
}

/// Gives the pairs below a pointer the smallest form at a level.
///
/// # Safety
///
/// As for `gather`; `jp` gets another node.
unsafe fn rebuild(jp: &mut Jp, level: usize, place: Place, account: &mut Account) {
    let mut pairs = Pairs::new();
    // SAFETY: the caller's contract.
    unsafe { gather(jp, place.prefix, &mut pairs, account) };
    *jp = build(&pairs, level, place, account);
}

/// Takes the child of the key's digit out if it is empty, and gives a branch that has become small another form: a
/// leaf, its only child, or a smaller branch. If the node is another one then, returns the bits of its keys above it.
///
/// # Safety
///
/// `jp` leads to this branch, and owns it.
#[inline]
pub(super) unsafe fn thin<W: Weigh>(
    jp: &mut Jp,
    branch: Branch,
    level: usize,
    place: Place,
    key: u64,
    child_is_empty: bool,
    account: &mut Account,
) -> Option<u64> {
    if child_is_empty {
        branch.remove(digit(key, level), account);
    }
    if branch.keys() <= LEAF_MOST[level] - LEAF_SLACK {
        // SAFETY: the caller's contract.
        unsafe { rebuild(jp, level, place, account) };
        return Some(place.prefix);
    }
    if !child_is_empty {
        return None;
    }
    if branch.children() == 1 {
        let (digit, child) = branch.child_from(0)?;
        // SAFETY: the child of a living branch.
        let child = unsafe { *child };
        if child.meta.level().is_none() && !cfg!(fyris_mutant = "judy_root_in_pointer") {
            // Few words that stand for many keys ([`Weigh`]) are in the pointer, which lacks the bytes that the branch
            // decodes.
            // SAFETY: the caller's contract.
            unsafe { rebuild(jp, level, place, account) };
            return Some(place.prefix);
        }
        // The pointer to a node has all that the node's place decodes (DECODED). Only the branch is freed.
        *jp = child;
        branch.free(account);
        return Some(place.prefix | (digit as u64) << (8 * (level - 1)));
    }
    if let Some(form) = branch.smaller_form() {
        // SAFETY: the caller's contract; the form has room for so few.
        unsafe { branch::change_form::<W>(jp, branch, level, form, account) };
    }
    None
}

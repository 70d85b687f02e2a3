//! Changes of form: what grows too large for its node, or too small.
//!
//! Each function replaces what a pointer leads to by other nodes with the same keys (or one key more or less, where it
//! says so). An insertion that needs room calls one and looks again.

use smallvec::SmallVec;

use super::bits;
use super::branch::{self, Branch};
use super::class::Account;
use super::digits::{above, at_level, digit, level_apart};
use super::jp::{At, Form, Jp, Node, Place, Slot};
use super::leaf::{self, View};
use super::limits::{LIMITS, PAIRS, few_most};
use super::words::{self, Below, Weigh};

/// Whole keys and their values, in order.
type Pairs = SmallVec<[(u64, Slot); PAIRS + 1]>;

/// Moves the pairs below a pointer, which is to be set anew, to `out`, and frees the nodes.
fn gather(at: At, place: Place, out: &mut Pairs, account: &mut Account) {
    let mut take = |key, slot: *mut Slot| {
        // SAFETY: the value of a word of a living tree (NODES), which is moved.
        out.push((key, unsafe { *slot }));
    };
    // SAFETY: who changes a tree has it alone, and the pointer is set anew.
    unsafe { words::free(at, place, account, &mut take) };
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
        _ if level == 1 && pairs.len() > LIMITS.leaf_most[1] => bits::make(pairs, account),
        _ => leaf::make_leaf(pairs, level, account).0,
    }
}

/// Puts a branch above a node whose keys do not share with `key` all that its pointer decodes.
pub(super) fn part<W: Weigh>(at: At, place: Place, key: u64, account: &mut Account) {
    let Place { level, prefix, .. } = place.of_node(at.meta());
    let apart = level_apart(prefix, key & above(level));
    let child = (digit(prefix, apart), at.get());
    at.set(branch::make::<W>(&[child], apart, prefix, account));
}

/// Gives a full branch a form with more room.
#[cold]
pub(super) fn widen<W: Weigh>(at: At, branch: Branch, account: &mut Account) {
    let form = match branch.form() {
        Form::Linear => Form::Bitmap,
        Form::Bitmap | Form::Uncompressed => Form::Uncompressed,
    };
    branch::change_form::<W>(at, branch, form, account);
}

/// Replaces a full leaf, which is no bitmap leaf, by one of a lower level if its keys share what is above that, by a
/// bitmap leaf, or by a branch. Returns its first key.
#[cold]
pub(super) fn cascade<W: Weigh>(at: At, place: Place, account: &mut Account) -> u64 {
    let level = place.of_node(at.meta()).level;
    let mut pairs = Pairs::new();
    gather(at, place, &mut pairs, account);
    let (first, last) = (pairs[0].0, pairs[pairs.len() - 1].0);
    let wrong = usize::from(cfg!(fyris_mutant = "judy_leaf_too_narrow") && level > 2);
    let apart = (level_apart(first, last) - wrong).max(1);
    at.set(if level == 1 {
        bits::make(&pairs, account)
    } else if apart < level {
        build(&pairs, apart, place, account)
    } else {
        let below = Place::below(apart, 0);
        let groups = pairs.chunk_by(|(a, _), (b, _)| digit(*a, apart) == digit(*b, apart));
        let child = |group: &[(u64, Slot)]| {
            let child = build(group, below.level, below, account);
            (digit(group[0].0, apart), child)
        };
        let children: SmallVec<[(usize, Jp); PAIRS + 1]> = groups.map(child).collect();
        branch::make::<W>(&children, apart, first, account)
    });
    first
}

/// Inserts a key into a pointer that holds keys, unless it is there; returns the place of its value, and whether it was
/// not there.
pub(super) fn add_to_few(
    at: At,
    view: View<Slot>,
    place: Place,
    key: u64,
    account: &mut Account,
) -> (*mut Slot, bool) {
    let (i, found) = view.search(key);
    if found {
        return (view.value(i), false);
    }
    let mut pairs = Pairs::new();
    gather(at, place, &mut pairs, account);
    pairs.insert(i, (key, Slot::new(0)));
    at.set(build(&pairs, place.level, place, account));
    let (Below::Few(view) | Below::Leaf(view)) = Below::of(at) else {
        unreachable!("more keys than a pointer has are fewer than a leaf has")
    };
    (view.value(i), true)
}

/// Removes the key at an index from a pointer with keys or a leaf, no bitmap leaf, that has so few that it is not to
/// stay a leaf; returns its value.
pub(super) fn remove_last(at: At, place: Place, i: usize, account: &mut Account) -> Slot {
    if matches!(at.meta().what(), Node::One) {
        let only = at.slot();
        // SAFETY: the value of a word of a living tree (NODES), which is moved.
        let value = unsafe { *only };
        at.set(Jp::EMPTY);
        return value;
    }
    let level = place.of_node(at.meta()).level;
    let mut pairs = Pairs::new();
    gather(at, place, &mut pairs, account);
    let (_, value) = pairs.remove(i);
    at.set(build(&pairs, level, place, account));
    value
}

/// Gives the few pairs below a pointer the smallest form at a level.
pub(super) fn rebuild(at: At, level: usize, place: Place, account: &mut Account) {
    let mut pairs = Pairs::new();
    gather(at, place, &mut pairs, account);
    at.set(build(&pairs, level, place, account));
}

/// Takes the child of the key's digit out of a branch of this level if it is empty, and gives a branch that has become
/// small another form: a leaf, its only child, or a smaller branch. If the node is another one then, returns the bits
/// of its keys above it.
#[inline]
pub(super) fn thin<W: Weigh>(
    at: At,
    (branch, level): (Branch, usize),
    place: Place,
    key: u64,
    child_is_empty: bool,
    account: &mut Account,
) -> Option<u64> {
    if child_is_empty {
        branch.remove(digit(key, level), account);
    }
    if branch.keys() <= LIMITS.leaf_again(level) {
        rebuild(at, level, place, account);
        return Some(place.prefix);
    }
    if !child_is_empty {
        return None;
    }
    if branch.children() == 1 {
        let (digit, child) = branch.near(0, true)?;
        if child.meta().level().is_none() && !cfg!(fyris_mutant = "judy_root_in_pointer") {
            // Few words that stand for many keys ([`Weigh`]) are in the pointer, which lacks the bytes that the branch
            // decodes.
            rebuild(at, level, place, account);
            return Some(place.prefix);
        }
        // The pointer to a node has all that the node's place decodes (DECODED). Only the branch is freed.
        at.set(child.get());
        branch.free(account);
        return Some(place.prefix | at_level(digit, level));
    }
    if let Some(form) = branch.smaller_form() {
        branch::change_form::<W>(at, branch, form, account);
    }
    None
}

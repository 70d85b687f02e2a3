//! The tree of words: lookup, insertion and removal.

use super::bits::Bits;
use super::branch;
use super::change;
use super::class::Account;
use super::digits::{above, digit};
use super::jp::{At, Jp, LOW, Meta, Node, Place, Slot};
use super::leaf::{self, View};
use super::limits::{LIMITS, few_most};
use super::words::{self, Below, Weigh};

/// A map of words to words, whose values are the owner's to drop. The owner has the account of its nodes too: an array
/// of byte strings has many trees and one account.
pub(super) struct Tree {
    pub(super) root: Jp,
    /// The bits of all keys above the root's level, and which bits these are (DECODED).
    pub(super) prefix: u64,
    pub(super) mask: u64,
    /// The number of keys: of words, or what these stand for.
    pub(super) len: usize,
    /// A number of the owner's, in the room that the alignment leaves: how many bytes the keys of an array of strings
    /// share.
    pub(super) shared: usize,
}

/// The pointers to the branches on the way to a key, from the root on.
struct Path {
    branches: [At; 8],
    depth: usize,
}

impl Path {
    fn new(root: At) -> Self {
        Self {
            branches: [root; 8],
            depth: 0,
        }
    }

    #[inline(always)]
    fn push(&mut self, at: At) {
        self.branches[self.depth] = at;
        self.depth += 1;
    }

    /// Returns the branches from the root on.
    #[inline(always)]
    fn branches(&self) -> &[At] {
        &self.branches[..self.depth]
    }
}

/// Adds to the count of a key's digit in each branch of the path.
#[inline(always)]
fn count(path: &Path, key: u64, add: i64) {
    for (above, at) in path.branches().iter().enumerate() {
        if cfg!(fyris_mutant = "judy_count_stays_below") && above > 0 {
            continue;
        }
        if let Below::Branch(branch, level) = Below::of(*at) {
            branch.count(digit(key, level), add);
        }
    }
}

/// Takes an empty child out of the last branch of a path, and gives branches that have become small another form. If
/// the root is another node now, returns the bits of its keys above it.
#[inline]
fn shrink<W: Weigh>(
    path: &Path,
    key: u64,
    mut child_is_empty: bool,
    account: &mut Account,
) -> Option<u64> {
    for (depth, at) in path.branches().iter().enumerate().rev() {
        let Below::Branch(branch, level) = Below::of(*at) else {
            unreachable!("a path is of branches")
        };
        let parent = depth
            .checked_sub(1)
            .map(|above| path.branches[above].meta());
        let place = Place {
            level: parent.and_then(Meta::level).map_or(8, |parent| parent - 1),
            prefix: key & above(level),
            is_root: depth == 0,
        };
        let below = (branch, level);
        let changed = change::thin::<W>(*at, below, place, key, child_is_empty, account);
        child_is_empty = at.meta().is_empty();
        match changed {
            Some(prefix) if place.is_root => return Some(prefix),
            None if !child_is_empty => return None,
            _ => {}
        }
    }
    None
}

/// Finds a key below a pointer, by the digits of the branches alone; what their pointers decode is compared at the end,
/// as the pointer of a leaf has all of it (DECODED).
#[inline(always)]
fn find(mut at: At, key: u64) -> *mut Slot {
    let mut parent = 0;
    loop {
        let meta = at.meta();
        match branch::child_of(at, meta, key) {
            Ok(Some(child)) => (at, parent) = (child, meta.0),
            Ok(None) => return std::ptr::null_mut(),
            Err(()) => return find_here(at, key, parent),
        }
    }
}

/// Finds a key in a leaf or in a pointer, given what the pointer above says.
#[inline(always)]
fn find_here(at: At, key: u64, parent: u64) -> *mut Slot {
    let differ = (at.meta().0 ^ key) & LOW;
    match Below::of(at) {
        Below::Leaf(view) if differ & above(view.width()) == 0 => view.find(key),
        Below::Bits(bits, _) if differ & above(1) == 0 => bits.get(key),
        // One key has all in the pointer, several what is not in the pointer above.
        Below::Few(view) if view.len() == 1 && differ == 0 => at.slot(),
        Below::Few(view)
            if view.len() > 1 && (parent ^ key) & LOW & above(view.width() + 1) == 0 =>
        {
            view.find(key)
        }
        _ => std::ptr::null_mut(),
    }
}

/// How an insertion goes on.
enum Next {
    /// To the child of a branch of this level, which the key belongs below.
    Down(At, usize),
    /// Here, as the pointer leads to another node now; at the root, whose keys have these bits above it.
    Again(u64),
    /// It has the place of the value, and whether that is new.
    Done(*mut Slot, bool),
}

/// Inserts a key below a pointer which it fits, if that is no matter of a child.
#[inline(always)]
fn insert_here<W: Weigh>(
    at: At,
    place: Place,
    key: u64,
    path: &mut Path,
    account: &mut Account,
) -> Next {
    match Below::of(at) {
        Below::Branch(branch, level) => {
            let digit = digit(key, level);
            let child = branch.child(digit);
            if child.is_none() && !branch.has_room() {
                change::widen::<W>(at, branch, account);
                return Next::Again(place.prefix);
            }
            path.push(at);
            if let Some(child) = child {
                return Next::Down(child, level);
            }
            let child = branch.insert(digit, Jp::one(key, Slot::new(0)), account);
            Next::Done(child.slot(), true)
        }
        Below::Leaf(view) => match view.search(key) {
            (i, true) => Next::Done(view.value(i), false),
            (i, false) if view.len() < LIMITS.leaf_most[view.width()] => {
                Next::Done(view.insert(at, i, key, account), true)
            }
            _ => Next::Again(change::cascade::<W>(at, place, account)),
        },
        Below::Bits(bits, len) => match bits.get(key) {
            found if found.is_null() => Next::Done(bits.insert(at, len, key, account), true),
            found => Next::Done(found, false),
        },
        Below::Few(view) => {
            let (slot, fresh) = change::add_to_few(at, view, place, key, account);
            Next::Done(slot, fresh)
        }
        Below::Nothing => {
            // Only the root is ever empty.
            let (leaf, slot) = leaf::make_leaf(&[(key, Slot::new(0))], 8, account);
            at.set(leaf);
            Next::Done(slot, true)
        }
    }
}

/// Removes a key from a leaf; returns its value.
#[inline(always)]
fn remove_from_leaf(
    at: At,
    view: View<Slot>,
    place: Place,
    key: u64,
    account: &mut Account,
) -> Option<Slot> {
    let (i, true) = view.search(key) else {
        return None;
    };
    let left = view.len() - 1;
    let fits = |most| left <= most && view.width() == place.level && left <= few_most(place.level);
    if left == 0 || !place.is_root && (left == 1 || fits(few_most(1))) {
        return Some(change::remove_last(at, place, i, account));
    }
    Some(view.remove(at, i, account))
}

/// Removes a key from a bitmap leaf; returns its value.
#[inline(always)]
fn remove_from_bits(
    at: At,
    (bits, len): (&Bits, usize),
    place: Place,
    key: u64,
    account: &mut Account,
) -> Option<Slot> {
    if bits.get(key).is_null() {
        return None;
    }
    let value = bits.remove(at, len, key, account);
    if len - 1 <= LIMITS.leaf_again(1) {
        change::rebuild(at, 1, place, account);
    }
    Some(value)
}

impl Tree {
    pub(super) const fn new() -> Self {
        Self {
            root: Jp::EMPTY,
            prefix: 0,
            mask: 0,
            len: 0,
            shared: 0,
        }
    }

    /// Returns the root's pointer, to read through it, and its place.
    pub(super) fn root(&self) -> (At, Place) {
        (At::of((&self.root).into()), Place::root(self.prefix))
    }

    /// Returns the place of a key's value to read it; null if the key is not there.
    #[inline]
    pub(super) fn get(&self, key: u64) -> *mut Slot {
        if (key ^ self.prefix) & self.mask != 0 {
            return std::ptr::null_mut();
        }
        find(At::of((&self.root).into()), key)
    }

    /// Returns the place of a key's value to change it; null if the key is not there.
    #[inline]
    pub(super) fn get_mut(&mut self, key: u64) -> *mut Slot {
        if (key ^ self.prefix) & self.mask != 0 {
            return std::ptr::null_mut();
        }
        find(At::of((&mut self.root).into()), key)
    }

    /// Returns the place of a key's value, and whether the key was not there. If it was not it is now, and the caller
    /// fills the place before all else.
    #[inline]
    pub(super) fn insert<W: Weigh>(
        &mut self,
        key: u64,
        account: &mut Account,
    ) -> (*mut Slot, bool) {
        let mut at = At::of((&mut self.root).into());
        let (mut path, mut place) = (Path::new(at), Place::root(self.prefix));
        let (slot, fresh) = loop {
            let next = if at.fits(key, place) {
                insert_here::<W>(at, place, key, &mut path, account)
            } else {
                change::part::<W>(at, place, key, account);
                Next::Again(place.prefix)
            };
            match next {
                Next::Down(child, level) => (at, place) = (child, Place::below(level, key)),
                Next::Again(prefix) if place.is_root => {
                    (self.prefix, self.mask) = root_of(at.meta(), prefix);
                    place.prefix = self.prefix;
                }
                Next::Again(_) => {}
                Next::Done(slot, fresh) => break (slot, fresh),
            }
        };
        if fresh {
            count(&path, key, 1);
            self.len += 1;
        }
        (slot, fresh)
    }

    /// Adds to the counts of a word that is there.
    pub(super) fn add(&mut self, key: u64, keys: i64) {
        let mut at = At::of((&mut self.root).into());
        self.len = self.len.wrapping_add_signed(keys as isize);
        while let Below::Branch(branch, level) = Below::of(at) {
            let digit = digit(key, level);
            if !cfg!(fyris_mutant = "judy_words_uncounted") {
                branch.count(digit, keys);
            }
            at = branch.child(digit).expect("the word is there");
        }
    }

    /// Returns the only word and the place of its value; `None` if there is another number of words.
    pub(super) fn only_word(&self) -> Option<(u64, *mut Slot)> {
        // A root is never a key alone, and a branch has more than one.
        match self.root.meta.what() {
            Node::Leaf { len: 1, .. } => self.nearest(0, true),
            _ => None,
        }
    }

    /// Removes a key; returns its value.
    #[inline]
    pub(super) fn remove<W: Weigh>(&mut self, key: u64, account: &mut Account) -> Option<Slot> {
        let mut at = At::of((&mut self.root).into());
        let (mut path, mut place) = (Path::new(at), Place::root(self.prefix));
        let value = loop {
            if !at.fits(key, place) {
                return None;
            }
            break match Below::of(at) {
                Below::Branch(branch, level) => {
                    path.push(at);
                    (at, place) = (branch.child(digit(key, level))?, Place::below(level, key));
                    continue;
                }
                Below::Leaf(view) => remove_from_leaf(at, view, place, key, account)?,
                Below::Bits(bits, len) => remove_from_bits(at, (bits, len), place, key, account)?,
                Below::Few(view) => match view.search(key) {
                    (i, true) => change::remove_last(at, place, i, account),
                    (_, false) => return None,
                },
                Below::Nothing => return None,
            };
        };
        count(&path, key, -1);
        self.len -= 1;
        let left = at.meta();
        let root_changed = if path.depth == 0 {
            // The root is a leaf: the same one, a smaller one of its level, or none any more.
            Some(self.prefix)
        } else if matches!(left.what(), Node::Bits { .. }) {
            // So many keys are left that the branches above are looked at another time.
            None
        } else {
            shrink::<W>(&path, key, left.is_empty(), account)
        };
        if let Some(prefix) = root_changed
            && !(cfg!(fyris_mutant = "judy_prefix_outlives") && path.depth == 0)
        {
            (self.prefix, self.mask) = root_of(self.root.meta, prefix);
        }
        Some(value)
    }

    /// Takes the nodes; leaves an empty tree of the same owner.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            shared: self.shared,
            ..Self::new()
        };
        std::mem::replace(self, empty)
    }

    /// Takes all out: calls `f` with each word and the place of its value, in the order of words, and frees the nodes.
    pub(super) fn clear(&mut self, account: &mut Account, f: &mut impl FnMut(u64, *mut Slot)) {
        let mut old = self.take();
        let place = Place::root(old.prefix);
        // SAFETY: the nodes are this thread's alone, and their tree goes.
        unsafe { words::free(At::of((&mut old.root).into()), place, account, f) };
    }
}

/// Returns the prefix and the mask of a root, given what its pointer says and what it does not.
fn root_of(root: Meta, prefix: u64) -> (u64, u64) {
    let mask = above(root.level().unwrap_or(8));
    (root.prefix(prefix) & mask, mask)
}

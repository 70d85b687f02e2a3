//! The tree of words: lookup, insertion and removal.

use super::bits::{self, Bits};
use super::branch::{self, Branch};
use super::change;
use super::class::Account;
use super::jp::{Form, Jp, LOW, Meta, Node, Slot, above, digit};
use super::leaf::{self, View};
use super::limits::{LEAF_MOST, few_most};
use super::weigh::Weigh;

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
pub(super) struct Path {
    branches: [*mut Jp; 8],
    depth: usize,
}

impl Path {
    fn new() -> Self {
        Self {
            branches: [std::ptr::null_mut(); 8],
            depth: 0,
        }
    }

    #[inline(always)]
    fn push(&mut self, jp: *mut Jp) {
        self.branches[self.depth] = jp;
        self.depth += 1;
    }

    /// Returns the branches from the root on.
    #[inline(always)]
    fn branches(&self) -> &[*mut Jp] {
        &self.branches[..self.depth]
    }
}

/// Adds to the count of a key's digit in each branch of the path.
#[inline(always)]
fn count(path: &Path, key: u64, add: i64) {
    for (above, jp) in path.branches().iter().enumerate() {
        if cfg!(fyris_mutant = "judy_count_stays_below") && above > 0 {
            continue;
        }
        // SAFETY: the branches of a path live (NODES), and who changes the tree has it alone.
        unsafe {
            if let Node::Branch { level, form } = (**jp).meta.what() {
                let counter = Branch::of(*jp, form).counter(digit(key, level));
                *counter = (*counter).wrapping_add_signed(add);
            }
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
        // SAFETY: as in `count`; the pointer above is of a branch.
        let (jp, above_it) = unsafe {
            let parent = depth
                .checked_sub(1)
                .map(|above| (*path.branches[above]).meta);
            (&mut **at, parent.and_then(Meta::level))
        };
        let Node::Branch { level, form } = jp.meta.what() else {
            unreachable!("a path is of branches")
        };
        let place = Place {
            level: above_it.map_or(8, |parent| parent - 1),
            prefix: key & above(level),
            is_root: depth == 0,
        };
        // SAFETY: the pointer leads to the branch, and owns it.
        let changed = unsafe {
            let branch = Branch::of(jp, form);
            change::thin::<W>(jp, branch, level, place, key, child_is_empty, account)
        };
        child_is_empty = jp.meta.is_empty();
        match changed {
            Some(prefix) if depth == 0 => return Some(prefix),
            None if !child_is_empty => return None,
            _ => {}
        }
    }
    None
}

/// Finds a key below a pointer, by the digits of the branches alone; what their pointers decode is compared at the end,
/// as the pointer of a leaf has all of it (DECODED).
#[inline(always)]
fn find(mut at: *mut Jp, key: u64) -> *mut Slot {
    let mut parent = 0;
    // SAFETY: pointers of a living tree (NODES), which nobody changes; what a node is, its pointer says.
    unsafe {
        loop {
            let meta = (*at).meta;
            let kind = meta.kind();
            // The shift of the digit is the kind itself, as shifts are taken modulo 64.
            let digit = (key.wrapping_shr(u32::from(kind)) & 0xFF) as usize;
            at = match kind >> 6 {
                0b10 => Jp::node_at(at).cast::<Jp>().add(digit),
                0b11 => Branch::of(at, Form::Bitmap).child(digit),
                0b01 => Branch::of(at, Form::Linear).child(digit),
                _ => return find_here(at, key, parent),
            };
            if at.is_null() {
                return std::ptr::null_mut();
            }
            parent = meta.0;
        }
    }
}

/// Finds a key in a leaf or in a pointer, given what the pointer above says.
///
/// # Safety
///
/// `at` is a pointer of a living tree (NODES) to no branch.
#[inline(always)]
unsafe fn find_here(at: *mut Jp, key: u64, parent: u64) -> *mut Slot {
    // SAFETY: the caller's contract.
    unsafe {
        let meta = (*at).meta;
        let differ = (meta.0 ^ key) & LOW;
        match meta.what() {
            Node::Leaf { level, len } if differ & above(level) == 0 => {
                let view = View::leaf(Jp::node_at(at), level, len);
                match view.search(key) {
                    (i, true) => view.values.add(i),
                    _ => std::ptr::null_mut(),
                }
            }
            Node::Bits { .. } if differ & above(1) == 0 => Bits::of(at).get(key),
            Node::One if differ == 0 => (&raw mut (*at).word).cast(),
            Node::Few { width, .. } if (parent ^ key) & LOW & above(width + 1) == 0 => {
                match View::of(at) {
                    Some(view) => match view.search(key) {
                        (i, true) => view.values.add(i),
                        _ => std::ptr::null_mut(),
                    },
                    None => std::ptr::null_mut(),
                }
            }
            _ => std::ptr::null_mut(),
        }
    }
}

/// Frees all nodes below a pointer; calls `f` with the lowest byte of each word and the place of its value before, in
/// the order of words.
fn free(at: *mut Jp, account: &mut Account, f: &mut impl FnMut(u64, *mut Slot)) {
    // SAFETY: pointers of a living tree (NODES), which is the caller's alone; each node is freed once, by its one
    // pointer.
    unsafe {
        match (*at).meta.what() {
            Node::Branch { form, .. } => {
                let branch = Branch::of(at, form);
                for (_, child) in branch::children(branch) {
                    free(child, account, f);
                }
                branch.free(account);
            }
            Node::Bits { .. } => {
                for (at, quarter) in Bits::of(at).0.iter().enumerate() {
                    let mut bitmap = quarter.bitmap;
                    for i in 0..quarter.len() {
                        let low = at as u64 * 64 + u64::from(bitmap.trailing_zeros());
                        bitmap &= bitmap - 1;
                        f(low, quarter.values.add(i));
                    }
                }
                bits::free(&*at, account);
            }
            _ => {
                if let Some(view) = View::of(at) {
                    (0..view.len).for_each(|i| f(view.key(i) & 0xFF, view.values.add(i)));
                    leaf::free(&*at, account);
                }
            }
        }
    }
}

/// The place of a pointer: the number of bytes undecoded above it, and the bits of its keys above these.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) level: usize,
    pub(super) prefix: u64,
    pub(super) is_root: bool,
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
    pub(super) fn root(&self) -> (*mut Jp, Place) {
        let place = Place {
            level: 8,
            prefix: self.prefix,
            is_root: true,
        };
        ((&raw const self.root).cast_mut(), place)
    }

    /// Returns the place of a key's value to read it; null if the key is not there.
    #[inline]
    pub(super) fn get(&self, key: u64) -> *mut Slot {
        if (key ^ self.prefix) & self.mask != 0 {
            return std::ptr::null_mut();
        }
        find((&raw const self.root).cast_mut(), key)
    }

    /// Returns the place of a key's value to change it; null if the key is not there.
    #[inline]
    pub(super) fn get_mut(&mut self, key: u64) -> *mut Slot {
        if (key ^ self.prefix) & self.mask != 0 {
            return std::ptr::null_mut();
        }
        find(&raw mut self.root, key)
    }

    /// Returns the place of a key's value, and whether the key was not there. If it was not it is now, and the caller
    /// fills the place before all else.
    #[inline]
    pub(super) fn insert<W: Weigh>(
        &mut self,
        key: u64,
        account: &mut Account,
    ) -> (*mut Slot, bool) {
        let mut path = Path::new();
        let mut place = Place {
            level: 8,
            prefix: self.prefix,
            is_root: true,
        };
        let mut at = &raw mut self.root;
        loop {
            // SAFETY: pointers of a living tree (NODES), which is ours alone; what a node is, its pointer says.
            unsafe {
                let jp = &mut *at;
                let node = jp.meta.what();
                // NARROW: the key belongs below the node only if they agree in all that the node's pointer decodes.
                if let Some(level) = jp.meta.level()
                    && (jp.meta.prefix(place.prefix) ^ key) & above(level) != 0
                {
                    change::part::<W>(jp, place, key, account);
                    if place.is_root {
                        (self.prefix, self.mask) = Self::root_of(jp, place.prefix);
                        place.prefix = self.prefix;
                    }
                    continue;
                }
                let (slot, fresh) = match node {
                    Node::Branch { level, form } => {
                        let branch = Branch::of(jp, form);
                        let child = branch.child(digit(key, level));
                        if child.is_null() {
                            if !branch.has_room() {
                                change::widen::<W>(jp, branch, level, account);
                                continue;
                            }
                            path.push(at);
                            let one = Jp::one(key, Slot::new(0));
                            let child = branch.insert(digit(key, level), one, account);
                            ((&raw mut (*child).word).cast::<Slot>(), true)
                        } else {
                            path.push(at);
                            at = child;
                            place = Place {
                                level: level - 1,
                                prefix: key & above(level - 1),
                                is_root: false,
                            };
                            continue;
                        }
                    }
                    Node::Leaf { level, len } => {
                        let view = View::leaf(jp.node(), level, len);
                        match view.search(key) {
                            (i, true) => (view.values.add(i), false),
                            (i, false) if len < LEAF_MOST[level] => {
                                (leaf::insert(jp, level, len, i, key, account), true)
                            }
                            _ => {
                                let first = change::cascade::<W>(jp, place, account);
                                if place.is_root {
                                    (self.prefix, self.mask) = Self::root_of(jp, first);
                                    place.prefix = self.prefix;
                                }
                                continue;
                            }
                        }
                    }
                    Node::Bits { len } => match Bits::of(jp).get(key) {
                        found if found.is_null() => (bits::insert(jp, len, key, account), true),
                        found => (found, false),
                    },
                    Node::Empty => {
                        // Only the root is ever empty.
                        *jp = leaf::make_leaf(&[(key, Slot::new(0))], 8, account);
                        (View::leaf(jp.node(), 8, 1).values, true)
                    }
                    Node::One | Node::Few { .. } => change::add_to_few(jp, place, key, account),
                };
                if fresh {
                    count(&path, key, 1);
                    self.len += 1;
                }
                return (slot, fresh);
            }
        }
    }

    /// Adds to the counts of a word that is there.
    pub(super) fn add(&mut self, key: u64, keys: i64) {
        let (mut at, mut path) = (&raw mut self.root, Path::new());
        self.len = self.len.wrapping_add_signed(keys as isize);
        // SAFETY: pointers of a living tree (NODES), which is ours alone; what a node is, its pointer says.
        unsafe {
            while let Node::Branch { level, form } = (*at).meta.what() {
                path.push(at);
                at = Branch::of(at, form).child(digit(key, level));
                debug_assert!(!at.is_null(), "the word is there");
            }
        }
        if !cfg!(fyris_mutant = "judy_words_uncounted") {
            count(&path, key, keys);
        }
    }

    /// Returns the only word and the place of its value; `None` if there is another number of words.
    pub(super) fn only_word(&self) -> Option<(u64, *mut Slot)> {
        // A root is never a key alone, and a branch has more than one.
        match self.root.meta.what() {
            Node::Leaf { len: 1, .. } => self.at_or_above(0),
            _ => None,
        }
    }

    /// Returns the prefix and the mask of a root.
    fn root_of(root: &Jp, prefix: u64) -> (u64, u64) {
        let mask = above(root.meta.level().unwrap_or(8));
        (root.meta.prefix(prefix) & mask, mask)
    }

    /// Removes a key; returns its value.
    #[inline]
    pub(super) fn remove<W: Weigh>(&mut self, key: u64, account: &mut Account) -> Option<Slot> {
        let mut path = Path::new();
        let mut place = Place {
            level: 8,
            prefix: self.prefix,
            is_root: true,
        };
        let mut at = &raw mut self.root;
        loop {
            // SAFETY: as in `insert`.
            unsafe {
                let jp = &mut *at;
                if let Some(level) = jp.meta.level()
                    && (jp.meta.prefix(place.prefix) ^ key) & above(level) != 0
                {
                    return None;
                }
                let value = match jp.meta.what() {
                    Node::Branch { level, form } => {
                        let child = Branch::of(jp, form).child(digit(key, level));
                        if child.is_null() {
                            return None;
                        }
                        path.push(at);
                        at = child;
                        place = Place {
                            level: level - 1,
                            prefix: key & above(level - 1),
                            is_root: false,
                        };
                        continue;
                    }
                    Node::Empty => return None,
                    Node::One => {
                        if (jp.meta.0 ^ key) & LOW != 0 {
                            return None;
                        }
                        let value = jp.word.value;
                        *jp = Jp::EMPTY;
                        value
                    }
                    Node::Bits { len } => {
                        if Bits::of(jp).get(key).is_null() {
                            return None;
                        }
                        let value = bits::remove(jp, len, key, account);
                        change::thin_bits(jp, place, account);
                        value
                    }
                    Node::Leaf { level, len } => {
                        let (i, true) = View::leaf(jp.node(), level, len).search(key) else {
                            return None;
                        };
                        let fit = if level == place.level {
                            few_most(level)
                        } else {
                            0
                        };
                        if len == 1 || (!place.is_root && len - 1 <= fit.max(1)) {
                            change::remove_last(jp, place, i, account)
                        } else {
                            leaf::remove(jp, level, len, i, account)
                        }
                    }
                    Node::Few { .. } => match View::of(jp).map(|view| view.search(key)) {
                        Some((i, true)) => change::remove_last(jp, place, i, account),
                        _ => return None,
                    },
                };
                count(&path, key, -1);
                self.len -= 1;
                let left = (*at).meta;
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
                    (self.prefix, self.mask) = Self::root_of(&self.root, prefix);
                }
                return Some(value);
            }
        }
    }

    /// Takes the nodes; leaves an empty tree of the same owner.
    pub(super) fn take(&mut self) -> Self {
        let empty = Self {
            shared: self.shared,
            ..Self::new()
        };
        std::mem::replace(self, empty)
    }

    /// Takes all out: calls `f` with the lowest byte of each word and the place of its value, in the order of words,
    /// and frees the nodes.
    pub(super) fn clear(&mut self, account: &mut Account, f: &mut impl FnMut(u64, *mut Slot)) {
        let old = self.take();
        let (root, _) = old.root();
        free(root, account, f);
    }
}

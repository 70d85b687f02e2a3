//! An inner node under construction: the children and separators of an old one, edited.

use std::mem::MaybeUninit;

use super::FANOUT;
use super::inner::{Inner, Node};
use crate::key::probe::Fence;
use crate::key::{Separator, TreeKey};

/// Children a draft has room for: two nodes being joined, or one that is about to split.
const ROOM: usize = FANOUT + 2;

/// The number of bytes in a key prefix.
const KEY_PREFIX: usize = size_of::<u64>();

/// A separator on its way into a node: an owned value, and its key prefix where that is all of it.
pub struct Sep<K: TreeKey + ?Sized> {
    pub(super) key_prefix: u64,
    /// Initialised, or of no size.
    pub(super) sep: MaybeUninit<K::Sep>,
}

impl<K: TreeKey + ?Sized> Sep<K> {
    /// Returns the separator below a key whose key prefix this is, of keys that are [`TreeKey::EXACT`].
    pub(crate) fn exact(key_prefix: u64) -> Self {
        assert!(K::EXACT);
        Self {
            key_prefix,
            sep: MaybeUninit::uninit(),
        }
    }

    /// Makes a separator of two keys.
    pub fn between(low: &K, high: &K) -> Self {
        Self {
            key_prefix: high.key_prefix(0),
            sep: MaybeUninit::new(K::separate(low, high)),
        }
    }

    /// Drops the separator, which has not been published.
    pub(crate) fn dispose(mut self) {
        // SAFETY: as in `fence`; it is ours, and not used any more.
        unsafe { self.sep.assume_init_drop() }
    }

    /// Returns the separator as a fence, until it is published.
    pub(crate) fn fence(&self) -> Fence<'_, K> {
        Fence {
            key_prefix: self.key_prefix,
            // SAFETY: initialised by `between`, or, as `Tree::new` asserts of exact keys, of no size.
            sep: unsafe { self.sep.assume_init_ref() },
        }
    }
}

/// See the module. Does not own its separators: they are moved from and to nodes bitwise.
pub(super) struct Draft<K: TreeKey + ?Sized> {
    pub(super) level: u8,
    len: usize,
    /// The number of bytes of the separators that the key prefixes leave out; none if not all key prefixes leave out as
    /// many.
    prefix: Option<usize>,
    /// The first `len` are initialised.
    children: [MaybeUninit<*mut Node>; ROOM],
    /// The first `len - 1` are initialised.
    key_prefixes: [MaybeUninit<u64>; ROOM],
    /// The first `len - 1` are initialised: the separators between the children.
    seps: [MaybeUninit<K::Sep>; ROOM],
}

impl<K: TreeKey + ?Sized> Draft<K> {
    /// Makes a node with one child.
    pub(super) fn single(level: usize, child: *mut Node) -> Self {
        let mut draft = Self {
            level: level as u8,
            len: 1,
            prefix: Some(0),
            children: [const { MaybeUninit::uninit() }; ROOM],
            key_prefixes: [const { MaybeUninit::uninit() }; ROOM],
            seps: [const { MaybeUninit::uninit() }; ROOM],
        };
        draft.children[0].write(child);
        draft
    }

    /// Makes a copy of a node. The caller holds its lock and will retire it.
    pub(super) fn of(node: &Inner<K>) -> Self {
        let mut draft = Self::single(node.level(), node.child(0));
        draft.prefix = Some(node.prefix());
        draft.append(node);
        draft
    }

    /// Adds the separators of `node` and its children but the first, which the caller has added.
    fn append(&mut self, node: &Inner<K>) {
        let (seps, end) = (node.len() - 1, self.len - 1);
        assert!(end + seps < ROOM);
        // SAFETY: both are that long. Separators move bitwise: the node's copies are never dropped once the node is
        // retired (invariant SEPARATOR).
        unsafe {
            let key_prefixes = self.key_prefixes.as_mut_ptr().add(end).cast();
            node.key_prefixes()
                .as_ptr()
                .copy_to_nonoverlapping(key_prefixes, seps);
            let to = self.seps.as_mut_ptr().add(end).cast();
            node.seps().as_ptr().copy_to_nonoverlapping(to, seps);
        }
        for (to, at) in self.children[self.len..].iter_mut().zip(1..node.len()) {
            to.write(node.child(at));
        }
        self.len += seps;
    }

    /// Adds a separator and all of another node behind it, as [`Draft::of`].
    pub(super) fn join(&mut self, sep: Sep<K>, node: &Inner<K>) {
        self.prefix = self.prefix.filter(|&prefix| prefix == node.prefix());
        let at = self.len - 1;
        self.put_sep(at, sep);
        self.children[self.len].write(node.child(0));
        self.len += 1;
        self.append(node);
    }

    /// Adds a separator and a child at the end.
    pub(super) fn push(&mut self, sep: Sep<K>, child: *mut Node) {
        self.put_sep(self.len - 1, sep);
        self.children[self.len].write(child);
        self.len += 1;
    }

    /// Returns the number of children.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn children(&self) -> &[*mut Node] {
        // SAFETY: the first `len` are initialised.
        unsafe { self.children[..self.len].assume_init_ref() }
    }

    /// Returns the separators; the first `len - 1` are initialised.
    pub(super) fn seps(&self) -> &[MaybeUninit<K::Sep>] {
        &self.seps
    }

    /// Puts two children in the place of the one at `at`.
    pub(super) fn split(&mut self, at: usize, left: *mut Node, sep: Sep<K>, right: *mut Node) {
        let len = self.len;
        self.key_prefixes.copy_within(at..len - 1, at + 1);
        self.seps[at..len].rotate_right(1);
        self.children.copy_within(at + 1..len, at + 2);
        self.put_sep(at, sep);
        self.children[at].write(left);
        self.children[at + 1].write(right);
        self.len += 1;
    }

    /// Puts a separator, and its key prefix, at a place that nothing occupies.
    fn put_sep(&mut self, at: usize, sep: Sep<K>) {
        let key_prefix = match self.prefix {
            // SAFETY: separators on their way are initialised.
            Some(prefix) if !K::EXACT => unsafe { sep.sep.assume_init_ref() }.key_prefix(prefix),
            _ => sep.key_prefix,
        };
        self.key_prefixes[at].write(key_prefix);
        self.seps[at] = sep.sep;
    }

    /// Puts one child in the place of those at `at` and `at + 1`; returns what stood between them.
    pub(super) fn unsplit(&mut self, at: usize, child: *mut Node) -> Sep<K> {
        let (sep, len) = (self.sep(at), self.len);
        self.key_prefixes.copy_within(at + 1..len - 1, at);
        self.seps[at..len - 1].rotate_left(1);
        self.children.copy_within(at + 2..len, at + 1);
        self.children[at].write(child);
        self.len -= 1;
        sep
    }

    /// Moves out the separator to the right of child `at`.
    pub(super) fn sep(&self, at: usize) -> Sep<K> {
        assert!(at + 1 < self.len);
        // SAFETY: initialised; a bitwise move, drafts do not drop.
        unsafe {
            Sep {
                key_prefix: self.key_prefixes[at].assume_init(),
                sep: std::ptr::read(&raw const self.seps[at]),
            }
        }
    }

    /// Returns the number of bytes that the key prefixes should leave out of the separators between the children
    /// `from..to`: what all of them share, or nothing where the first eight bytes tell them apart or are all of them,
    /// because to compare the prefix a search has to go where a separator lies.
    pub(super) fn prefix(&self, from: usize, to: usize) -> usize {
        assert!(from < to && to <= self.len);
        if K::EXACT || to - from < 2 {
            return 0;
        }
        let (first, last) = (self.sep_ref(from), self.sep_ref(to - 2));
        let told = first.key_prefix(0) ^ last.key_prefix(0);
        if told.leading_zeros() < 32 {
            return 0;
        }
        let common = first.common(last);
        let ends = |sep: &K::Sep| sep.key_prefix(KEY_PREFIX) == 0;
        if common <= KEY_PREFIX && ends(first) && ends(last) {
            return 0;
        }
        common
    }

    fn sep_ref(&self, at: usize) -> &K::Sep {
        assert!(at + 1 < self.len);
        // SAFETY: initialised.
        unsafe { self.seps[at].assume_init_ref() }
    }

    /// Writes the key prefixes, behind `skip` bytes, of the `count` separators from the one behind child `from`.
    ///
    /// # Safety
    ///
    /// There is room for `count` words at `out`.
    pub(super) unsafe fn write_key_prefixes(
        &self,
        from: usize,
        count: usize,
        skip: usize,
        out: *mut u64,
    ) {
        assert!(from + count < self.len);
        let stale = cfg!(fyris_mutant = "ordered_stale_heads") && self.prefix.is_some();
        if self.prefix == Some(skip) || stale {
            let key_prefixes = self.key_prefixes[from..from + count].as_ptr().cast();
            // SAFETY: initialised, and the caller's contract.
            return unsafe { out.copy_from_nonoverlapping(key_prefixes, count) };
        }
        // Separators lie somewhere in memory: looking at all of them is what others avoid.
        for at in 0..count {
            // SAFETY: the caller's contract.
            unsafe { out.add(at).write(self.sep_ref(from + at).key_prefix(skip)) };
        }
    }
}

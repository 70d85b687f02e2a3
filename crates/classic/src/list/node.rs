//! The nodes of a list, the links between them, and the words of entries.
//!
//! ```text
//!        0        8        16       24
//!        +--------+--------+--------+
//! node   | next   | order  | entry  |        head, the beginning of a bucket:  | next | order |
//!        +--------+--------+--------+
//! next:  address of the next node or head; bit 0: the node is dead and the link does not change
//! order: of a node the hash with the low bits set; of a head less than that of every node behind it
//! entry: bits 0-47 handle of the entry, 0 for none; bit 62 dead; bit 63 locked
//! ```

use std::ptr;

use fyris_index::Entry;
use fyris_sync::alloc::{allocate, free};
use fyris_sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use fyris_sync::lock::{Backoff, lock_bit, unlock};
use fyris_sync::reclaim::{PROTECT, Retire, assert_not_reclaimed};

/// The bits of an order that are set in every node; those of heads are less.
pub(crate) const NODE: u64 = 7;

/// Bit 0 of a link: its node is dead.
const MARK: usize = 1;

/// A thread is at work on the entry.
const LOCKED: u64 = 1 << 63;
/// The node has no entry and never will.
const DEAD: u64 = 1 << 62;
const HANDLE: u64 = (1 << 48) - 1;

/// Returns the order of the nodes of a hash.
#[inline]
pub(crate) fn order_of(hash: u64) -> u64 {
    hash | NODE
}

/// The way to the next node of a list, or to its first.
#[derive(Default)]
pub struct Link(AtomicPtr<Head>);

/// The value of a link: where it leads, and whether its node is dead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Target(*mut Head);

/// The beginning of a bucket, and the first part of every node.
#[repr(C)]
#[derive(Default)]
pub(crate) struct Head {
    pub(crate) next: Link,
    /// Of a node it never changes. That of a head is not 0 when the head is in the list, and then only its low bits
    /// change.
    pub(crate) order: AtomicU64,
}

/// A node of a list: a head with the place of an entry.
#[repr(C)]
pub(crate) struct Node {
    head: Head,
    entry: AtomicU64,
}

impl Target {
    /// Returns the target that is this head, or the head of a node, by a pointer to the node.
    pub(crate) fn to(head: ptr::NonNull<Head>) -> Target {
        Target(head.as_ptr())
    }

    /// Returns whether the node is dead whose link this was.
    #[inline]
    pub(crate) fn is_marked(self) -> bool {
        self.0.addr() & MARK != 0 && !cfg!(fyris_mutant = "list_mark_ignored")
    }

    /// Returns the same way without the mark.
    #[inline]
    pub(crate) fn unmarked(self) -> Target {
        Target(self.0.map_addr(|at| at & !MARK))
    }

    /// Returns the node or head that the link leads to; `None` at the end of the list.
    ///
    /// # Safety
    ///
    /// The target was loaded from a link of a list under a pin that lasts for `'g`, or no other thread can reach the
    /// list.
    #[inline]
    pub(crate) unsafe fn head<'g>(self) -> Option<&'g Head> {
        let head = self.unmarked().0;
        assert_not_reclaimed(head);
        // SAFETY: null, or published by `Link::replace`; a node is retired after it has been unlinked, and what a dead
        // node leads to is unlinked after that node (UNLINKED), so it was reachable under the pin (RECLAIM).
        unsafe { head.as_ref() }
    }
}

impl Link {
    /// Returns where the link leads.
    #[inline]
    pub(crate) fn load(&self) -> Target {
        // PROTECT: pairs with the Release in `replace`: the node behind the link is seen whole.
        Target(self.0.load(PROTECT))
    }

    /// Sets the link of a node that is not in the list yet.
    pub(crate) fn set(&self, target: Target) {
        // Relaxed: published by the Release in `replace` that puts the node in the list.
        self.0.store(target.0, Ordering::Relaxed);
    }

    /// Makes the link lead to `new` if it leads to `old`, whose mark counts; returns whether it did.
    #[inline]
    pub(crate) fn replace(&self, old: Target, new: Target) -> bool {
        // Release: pairs with PROTECT in `load`; what is behind `new` was written before. Relaxed: a failure is
        // followed by new loads.
        self.0
            .compare_exchange(old.0, new.0, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// Marks the link: its node is dead, and the link does not change any more. Called once.
    pub(crate) fn mark(&self) {
        let mut seen = self.load();
        loop {
            let marked = Target(seen.0.map_addr(|at| at | MARK));
            if cfg!(fyris_mutant = "list_mark_overwrites") {
                return self.set(marked);
            }
            if self.replace(seen, marked) {
                return;
            }
            // Another thread has put a node behind this one, or unlinked the one behind it: each time some operation
            // gets on.
            seen = self.load();
        }
    }
}

impl Head {
    /// Returns the order.
    #[inline]
    pub(crate) fn order(&self) -> u64 {
        // Relaxed: written before the link that led here was published.
        self.order.load(Ordering::Relaxed)
    }

    /// Returns the node that this is the head of; `None` for the head of a bucket.
    #[inline]
    pub(crate) fn node(&self) -> Option<&Node> {
        if self.order() & NODE != NODE {
            return None;
        }
        // SAFETY: only nodes have such orders, and all pointers to heads of nodes were made from those of nodes.
        Some(unsafe { &*ptr::from_ref(self).cast::<Node>() })
    }
}

/// What a writer finds in a node.
pub(crate) enum NodeContent<E> {
    Entry(E),
    /// The thread that made the node holds it: what key it is for only that thread knows.
    Unknown,
    Dead,
}

impl Node {
    /// Makes a node without entry, locked, that is in no list.
    pub(crate) fn placeholder(order: u64) -> ptr::NonNull<Node> {
        const { assert!(align_of::<Node>() <= 8) };
        let node = allocate(size_of::<Node>()).cast::<Node>();
        let empty = Node {
            head: Head {
                next: Link::default(),
                order: AtomicU64::new(order),
            },
            entry: AtomicU64::new(LOCKED),
        };
        // SAFETY: fresh memory of this size, aligned to 8.
        unsafe { node.write(empty) };
        node
    }

    /// Frees a node.
    ///
    /// # Safety
    ///
    /// From [`Node::placeholder`]; only the caller can reach it, and frees it once.
    pub(crate) unsafe fn free(node: ptr::NonNull<Node>) {
        // SAFETY: the caller's contract.
        unsafe {
            node.drop_in_place();
            free(node.cast(), size_of::<Node>());
        }
    }

    /// Returns the head.
    #[inline]
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    #[inline]
    fn word(&self) -> u64 {
        // PROTECT: pairs with the Release of `unlock`, which `release` calls: the entry is seen whole.
        self.entry.load(PROTECT)
    }

    /// Returns the entry, whether it is locked or not.
    #[inline]
    pub(crate) fn entry<E: Entry>(&self) -> Option<E> {
        entry_of(self.word())
    }

    /// Returns what a writer has to know of the node.
    #[inline]
    pub(crate) fn content<E: Entry>(&self) -> NodeContent<E> {
        let word = self.word();
        match entry_of(word) {
            Some(entry) => NodeContent::Entry(entry),
            None if word & DEAD != 0 || cfg!(fyris_mutant = "list_placeholder_overlooked") => {
                NodeContent::Dead
            }
            None => NodeContent::Unknown,
        }
    }

    /// Waits until the node has an entry or is dead.
    #[cold]
    pub(crate) fn wait(&self) {
        let mut backoff = Backoff::new();
        while self.word() == LOCKED {
            backoff.wait();
        }
    }

    /// Locks a node that has an entry, waiting for another writer; returns the entry's handle, `None` if the node is
    /// dead.
    #[inline]
    pub(crate) fn lock(&self) -> Option<u64> {
        let seen = lock_bit(&self.entry, LOCKED, DEAD);
        (seen & DEAD == 0).then_some(seen)
    }

    /// Unlocks a node and leaves it with the entry of this handle; for 0 dead.
    #[inline]
    pub(crate) fn release(&self, handle: u64) {
        let word = if handle == 0 { DEAD } else { handle };
        // Pairs with PROTECT in `word` and the Acquire in `lock_bit`; VISIBLE.
        unlock(&self.entry, word);
    }
}

/// Returns the entry in a node's word.
#[inline]
fn entry_of<E: Entry>(word: u64) -> Option<E> {
    // SAFETY: a handle that is not 0 is an entry's, which is in the index, or was taken out under this thread's pin:
    // it is out of the node before its owner gets it (OUT_FIRST).
    (word & HANDLE != 0).then(|| unsafe { E::from_bits(word & HANDLE) })
}

impl Retire for Node {
    unsafe fn reclaim(node: *mut Self) {
        // SAFETY: from `placeholder`, by the caller's contract reclaimed once.
        unsafe { Node::free(ptr::NonNull::new_unchecked(node)) };
    }
}

//! The queue of waiting threads.
//!
//! A doubly linked list of nodes in the stack frames of the threads that wait, only touched under the latch. A writer
//! goes to the end; a reader goes behind the last reader in the queue, or to the end if there is none. So all readers
//! stand side by side (invariant GATHER), and a thread that arrives later passes a writer only as one of the readers
//! that the writer already had before it.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::signal::Signal;

/// What a thread waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// To read, indicated in this place.
    Reader(usize),
    /// To read, as the one thread that may become a writer without letting go.
    Upgradable,
    /// To write.
    Writer,
}

/// A thread that waits: in the queue, or as the drainer, or known to the thread that will give its signal.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) signal: Signal,
    /// Whether it is in the queue. This and the links are for the holder of the latch; the link to the next one is
    /// later for the thread that gives the signals.
    queued: Cell<bool>,
    prev: Cell<*const Node>,
    next: Cell<*const Node>,
}

impl Node {
    pub(super) fn new(kind: Kind) -> Self {
        Self {
            kind,
            signal: Signal::new(),
            queued: Cell::new(false),
            prev: Cell::new(ptr::null()),
            next: Cell::new(ptr::null()),
        }
    }
}

/// The threads that wait, for the holder of the latch.
#[derive(Debug)]
pub(super) struct Queue {
    head: *const Node,
    tail: *const Node,
    /// The last reader of the queue.
    readers: *const Node,
    /// The thread that has the claim and waits for readers to go: not in the queue any more.
    pub(super) drainer: Option<NonNull<Node>>,
}

// SAFETY: the nodes are alive while they are named here (invariant SIGNAL), and the holder of the latch is alone.
unsafe impl Send for Queue {}

impl Default for Queue {
    fn default() -> Self {
        Self::new()
    }
}

impl Queue {
    pub(super) const fn new() -> Self {
        Self {
            head: ptr::null(),
            tail: ptr::null(),
            readers: ptr::null(),
            drainer: None,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_null()
    }

    /// Returns the node at the head.
    pub(super) fn head(&self) -> Option<&Node> {
        // SAFETY: invariant SIGNAL: a node in the queue is alive.
        unsafe { self.head.as_ref() }
    }

    /// Puts a node in its place: readers behind readers, all others at the end.
    ///
    /// # Safety
    ///
    /// The node stays where it is until it is taken out, and then until its signal is given.
    pub(super) unsafe fn insert(&mut self, node: &Node) {
        let is_reader = matches!(node.kind, Kind::Reader(_));
        let joins =
            is_reader && !self.readers.is_null() && !cfg!(fyris_mutant = "rw_readers_apart");
        let prev = if joins { self.readers } else { self.tail };
        // SAFETY: as in `head`; null for an empty queue.
        let next = unsafe { prev.as_ref() }.map_or(ptr::null(), |prev| prev.next.get());
        self.link(prev, node);
        self.link(node, next);
        node.queued.set(true);
        if is_reader {
            self.readers = node;
        }
    }

    /// Takes a node out. Returns false if it is not in the queue.
    pub(super) fn remove(&mut self, node: &Node) -> bool {
        if !node.queued.replace(false) {
            return false;
        }
        let prev = node.prev.get();
        self.link(prev, node.next.get());
        if ptr::eq(self.readers, node) {
            // SAFETY: as in `head`.
            let before = unsafe { prev.as_ref() };
            let is_reader = before.is_some_and(|prev| matches!(prev.kind, Kind::Reader(_)));
            self.readers = if is_reader { prev } else { ptr::null() };
        }
        true
    }

    /// Takes the head out.
    pub(super) fn pop(&mut self) -> Option<NonNull<Node>> {
        let head = NonNull::new(self.head.cast_mut())?;
        // SAFETY: as in `head`.
        self.remove(unsafe { head.as_ref() });
        Some(head)
    }

    /// Returns the numbers of readers and of others that wait.
    pub(super) fn count(&self) -> (usize, usize) {
        let (mut readers, mut others) = (0, usize::from(self.drainer.is_some()));
        let mut at = self.head;
        // SAFETY: as in `head`.
        while let Some(node) = unsafe { at.as_ref() } {
            match node.kind {
                Kind::Reader(_) => readers += 1,
                Kind::Upgradable | Kind::Writer => others += 1,
            }
            at = node.next.get();
        }
        (readers, others)
    }

    /// Makes two places neighbours; null stands for the ends of the queue.
    fn link(&mut self, prev: *const Node, next: *const Node) {
        // SAFETY: as in `head`.
        match unsafe { prev.as_ref() } {
            Some(prev) => prev.next.set(next),
            None => self.head = next,
        }
        // SAFETY: as above.
        match unsafe { next.as_ref() } {
            Some(next) => next.prev.set(prev),
            None => self.tail = prev,
        }
    }
}

/// Threads that have got the lock and are not told yet, in the order of the queue. Told when this goes.
#[derive(Debug)]
pub(super) struct Granted {
    first: *const Node,
    last: *const Node,
}

impl Granted {
    pub(super) const fn none() -> Self {
        Self {
            first: ptr::null(),
            last: ptr::null(),
        }
    }

    /// Adds a thread that is in neither the queue nor the drainer's place any more.
    pub(super) fn push(&mut self, node: NonNull<Node>) {
        let node = node.as_ptr().cast_const();
        // SAFETY: invariant SIGNAL: a node whose signal was not given is alive.
        unsafe { (*node).next.set(ptr::null()) };
        // SAFETY: as above.
        match unsafe { self.last.as_ref() } {
            Some(last) => last.next.set(node),
            None => self.first = node,
        }
        self.last = node;
    }
}

impl Drop for Granted {
    fn drop(&mut self) {
        let mut at = self.first;
        while !at.is_null() {
            let node = at;
            // SAFETY: as in `push`; the link is read first, since the node may be gone after the signal.
            unsafe {
                at = (*node).next.get();
                if cfg!(fyris_mutant = "rw_forgets_a_reader") && !at.is_null() {
                    at = (*at).next.get();
                }
                Signal::give(&raw const (*node).signal);
            }
        }
    }
}

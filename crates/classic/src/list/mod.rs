//! Lock-free lists in the order of hashes, and the hash tables that are made of them.
//!
//! [`split_ordered`](crate::split_ordered) has one list of all entries and any number of places to begin in it,
//! [`michael_hash`](crate::michael_hash) a list for each bucket. The lists are Harris's as Michael improved them, so
//! that nodes can be freed (the 2013 paper on the scalability of ETS, section 4.2.1 and its reference 11); the tables
//! are [`ListTable`]s, which differ in their [`Buckets`] alone.
//!
//! # Order
//!
//! Nodes are in the order of their hashes, and the number of a bucket is the *top* of a hash. So the order is the same
//! for any number of buckets, and a cursor is a key. Nodes of one hash (a *run*) are not in order; a scan sorts them.
//!
//! # Invariants
//!
//! * **UNLINKED**: a node in the list can be reached from every beginning before it. The link of a dead node is marked
//!   and then does not change. A node is unlinked when its link is marked, by a change of the link before it that is
//!   not marked itself: so a dead node is unlinked before what it leads to. The thread that unlinks it retires it.
//! * **FRONT**: a node is put in at the front of its run. Two threads with one key change the same link.
//! * **ONE_KEY**: a node is for one key from its making to its end, and of the nodes for one key at most one is not
//!   dead.
//! * **OUT_FIRST**: an entry is out of its node before the thread that took it out has it. Only dead nodes are marked,
//!   so a node with an entry is in the list.
//!
//! # Reading
//!
//! A reader goes from node to node, dead ones too, and never back. Each node it meets was in the list at a moment of
//! the operation: a live one is now; a dead one was when it died, or, if that was before the operation began, until it
//! was unlinked, and its link was by then what it is now. So when a reader steps into a run from before it, there is a
//! moment when the run was what it then meets, less the nodes that die meanwhile: if it does not find its key, the key
//! was absent at that moment or when its node died.
//!
//! # Writing
//!
//! `upsert` wants the slot protected while its closure runs, so a slot has a lock, and it is a bit of the entry's word:
//! readers do not look at it. A key that is there is locked in its node. For one that is absent a *placeholder* is put
//! into the list, locked and without entry, which the closure's result fills or kills. To readers it is nothing;
//! another writer of the same hash, which cannot know its key, waits for it. The placeholder is how an insert proceeds
//! anyway, node, link, entry, so it costs only a writer that does not insert in the end: it makes a node and retires
//! it.
//!
//! # Progress
//!
//! `get` and scans are lock-free, and repeat nothing: they take a step for each node they meet. `upsert` is lock-free
//! but for the lock: it waits for a closure that runs for the same key, or for an absent key of the same hash, and for
//! no other. A thread that stops in a closure holds up the writers of its key alone.

mod node;
mod scan;
mod table;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod upsert;

use std::ptr::NonNull;

use fyris_sync::reclaim::Guard;

pub use node::Link;
pub(crate) use node::{Head, Node, Target, order_of};
pub use table::{Buckets, ListTable};

use fyris_index::Entry;

/// The place before a run: the link that leads to its first node, or to what comes behind the place where it would be.
pub(crate) struct Front<'g> {
    edge: &'g Link,
    pub(crate) first: Target,
}

impl Front<'_> {
    /// Puts a head, or the head of a node, into this place, unless the place has changed; returns whether it did.
    ///
    /// # Safety
    ///
    /// `head` is in no list, and stays allocated while it is in this one and until it has been retired.
    pub(crate) unsafe fn insert(&self, head: NonNull<Head>) -> bool {
        // SAFETY: the caller's contract.
        unsafe { head.as_ref() }.next.set(self.first);
        self.edge.replace(self.first, Target::to(head))
    }
}

/// Returns the place before the first node or head that `is_behind` recognises by its order, as it does all that
/// follow, and unlinks the dead nodes on the way there.
///
/// The list begins at `start`, which is the link of a head, so that it is never marked.
pub(crate) fn seek<'g>(
    start: &'g Link,
    is_behind: impl Fn(u64) -> bool,
    pin: &'g impl Guard,
) -> Front<'g> {
    loop {
        // From link to link. The next node
        // * is dead, as its own link is marked: the link that led to it is made to lead past it, by one exchange, and
        //   who succeeds retires it (UNLINKED);
        // * is at the place or behind it: the front is found;
        // * is before it: on to its link.
        // Where the exchange fails another thread has changed that link, or marked it: from the start again.
        if let Some(front) = try_seek(start, &is_behind, pin) {
            return front;
        }
    }
}

fn try_seek<'g>(
    start: &'g Link,
    is_behind: &impl Fn(u64) -> bool,
    pin: &'g impl Guard,
) -> Option<Front<'g>> {
    let mut edge = start;
    let mut at = edge.load();
    // SAFETY: loaded under the pin.
    while let Some(head) = unsafe { at.head() } {
        let next = head.next.load();
        if next.is_marked() {
            unlink(edge, at, next, pin)?;
            at = next.unmarked();
        } else if is_behind(head.order()) {
            break;
        } else {
            edge = &head.next;
            at = next;
        }
    }
    Some(Front { edge, first: at })
}

/// Makes `edge` lead past the dead node `dead`, whose link is `next`, and retires the node. `None` if `edge` does not
/// lead to the node any more, or is marked.
#[cold]
fn unlink(edge: &Link, dead: Target, next: Target, pin: &impl Guard) -> Option<()> {
    let was_linked = edge.replace(dead, next.unmarked());
    // SAFETY: loaded under the pin.
    let node = unsafe { dead.head() }.and_then(Head::node)?;
    if was_linked || cfg!(fyris_mutant = "list_freed_in_list") {
        // SAFETY: the link that led to the node is gone, and those of dead nodes that led to it were unlinked before
        // (UNLINKED); one thread succeeds in unlinking it.
        unsafe { pin.retire(std::ptr::from_ref(node).cast_mut()) };
    }
    was_linked.then_some(())
}

/// Returns the nodes of a list from `target` on, dead ones too.
///
/// The caller is pinned for `'g`.
#[inline]
pub(crate) fn nodes<'g>(mut target: Target) -> impl Iterator<Item = (u64, &'g Node)> {
    std::iter::from_fn(move || {
        loop {
            // SAFETY: loaded under the caller's pin.
            let head = unsafe { target.head::<'g>() }?;
            target = head.next.load();
            if let Some(node) = head.node() {
                return Some((head.order(), node));
            }
        }
    })
}

/// Returns the entry of this order that `is_it` recognises, of the list that begins at `start`. The caller is pinned.
#[inline]
pub(crate) fn find<E: Entry>(start: &Link, order: u64, is_it: impl Fn(&E) -> bool) -> Option<E> {
    nodes(start.load())
        .skip_while(|(at, _)| *at < order)
        .take_while(|(at, _)| *at == order)
        .find_map(|(_, node)| node.entry().filter(&is_it))
}

//! Changing an entry: its node, locked for the length of a closure.

use std::ptr::NonNull;

use fyris_index::{Action, Entry};
use fyris_sync::reclaim::Guard;

use super::node::NodeContent;
use super::{Front, Link, Node, nodes, seek};

/// The place of a key in a list.
enum KeyPlace<'g> {
    /// The node for the key, alive when it was looked at.
    Node(&'g Node),
    /// A node that may be for the key.
    Unknown(&'g Node),
    /// There is none, as long as the front of the run stays as it is (FRONT).
    Absent,
}

/// Runs `f` on the entry of this order that `is_it` recognises, in the list that begins at `start`, with its slot
/// locked, does as it says, and returns its second result; also by how much the number of entries has changed.
pub(super) fn upsert<E: Entry, R>(
    start: &Link,
    order: u64,
    is_it: impl Fn(&E) -> bool,
    pin: &impl Guard,
    f: impl FnOnce(Option<E>) -> (Action<E>, R),
) -> (R, i64) {
    let mut spare = None;
    loop {
        // `seek` leads to the run of the hash, and unlinks dead nodes on the way. In the run
        // * a node has the key: it is locked, when another writer has finished with it, and is the slot. If it has died
        //   by then, again;
        // * a node may have it, the placeholder of another thread: that is waited for, until it has an entry or is
        //   dead; again;
        // * no node has it: a placeholder, locked, goes in at the front, if the link there is as it was. Then no node
        //   has come to the run since, as all come in there (FRONT): the key was absent, and no other thread puts it in
        //   before this one is done (ONE_KEY). If the link has changed, again, with the same placeholder.
        let front = seek(start, |at| at >= order, pin);
        let locked = match find(&front, order, &is_it) {
            KeyPlace::Node(node) => node.lock().map(|handle| (node, handle)),
            KeyPlace::Unknown(node) => {
                node.wait();
                None
            }
            KeyPlace::Absent => insert(&front, order, &mut spare).map(|node| (node, 0)),
        };
        if let Some((node, before)) = locked {
            let slot = Slot {
                node,
                start,
                pin,
                before,
                after: before,
            };
            return slot.change(f);
        }
    }
}

fn find<'g, E: Entry>(front: &Front<'g>, order: u64, is_it: impl Fn(&E) -> bool) -> KeyPlace<'g> {
    for (_, node) in nodes(front.first).take_while(|(at, _)| *at == order) {
        match node.content() {
            NodeContent::Entry(entry) if is_it(&entry) => return KeyPlace::Node(node),
            NodeContent::Entry(_) | NodeContent::Dead => {}
            NodeContent::Unknown => return KeyPlace::Unknown(node),
        }
    }
    KeyPlace::Absent
}

/// Puts a placeholder at the front, the one of an earlier attempt if there is one; `None` if the front has changed.
fn insert<'g>(front: &Front<'g>, order: u64, spare: &mut Option<Spare>) -> Option<&'g Node> {
    let node = spare
        .get_or_insert_with(|| Spare(Node::placeholder(order)))
        .0;
    // SAFETY: a node's head is its first part. It is in no list, and is freed when it has been retired.
    if !unsafe { front.insert(node.cast()) } {
        return None;
    }
    // It is the list's now.
    std::mem::forget(spare.take());
    // SAFETY: from `placeholder`; a node in the list lives as long as the pin (RECLAIM).
    Some(unsafe { node.as_ref() })
}

/// A placeholder that is in no list.
struct Spare(NonNull<Node>);

impl Drop for Spare {
    fn drop(&mut self) {
        // SAFETY: from `placeholder`; it is in no list, so only this thread has it.
        unsafe { Node::free(self.0) };
    }
}

/// A slot that this thread has locked: the node of a key. Dropping it unlocks the node, and takes it out of the list if
/// it has no entry: when it was a placeholder and the closure panicked, too.
struct Slot<'g, G: Guard> {
    node: &'g Node,
    start: &'g Link,
    pin: &'g G,
    /// The handle of the entry that was found, 0 for none.
    before: u64,
    /// That of the entry to leave there.
    after: u64,
}

impl<G: Guard> Slot<'_, G> {
    fn change<E: Entry, R>(mut self, f: impl FnOnce(Option<E>) -> (Action<E>, R)) -> (R, i64) {
        // SAFETY: the handle of an entry that is in the index while this thread holds its slot.
        let old = (self.before != 0).then(|| unsafe { E::from_bits(self.before) });
        let (action, result) = f(old);
        match action {
            Action::Keep => {}
            Action::Put(new) => self.after = new.into_bits(),
            Action::Remove => self.after = 0,
        }
        let change = i64::from(self.after != 0) - i64::from(self.before != 0);
        (result, change)
    }
}

impl<G: Guard> Drop for Slot<'_, G> {
    fn drop(&mut self) {
        self.node.release(self.after);
        if self.after == 0 {
            let head = self.node.head();
            head.next.mark();
            // Past its run: so it is unlinked when this returns, by this thread or another.
            let order = head.order();
            seek(self.start, |at| at > order, self.pin);
        }
    }
}

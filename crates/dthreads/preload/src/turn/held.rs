//! The locks that are held. Few at a time: a list, gone through from its end.

use crate::shared::control::{HELD, Held, control};
use crate::shared::end;
use crate::system::sys;

/// In place of an owner: readers.
pub(crate) const READERS: u64 = u64::MAX;

/// Returns the entry of a lock, if it is held.
pub(crate) fn find(address: u64) -> Option<&'static Held> {
    let all = &control().holds[..control().held.get() as usize];
    all.iter().rev().find(|held| held.address.get() == address)
}

/// Returns whether a thread holds a lock.
pub(crate) fn any_of(slot: usize) -> bool {
    let all = &control().holds[..control().held.get() as usize];
    all.iter().rev().any(|held| held.owner.get() == slot as u64)
}

/// Notes a lock as held once.
pub(crate) fn add(address: u64, owner: u64) -> &'static Held {
    let control = control();
    let at = control.held.get() as usize;
    if at == HELD {
        sys::say(format_args!("more than {HELD} locks are held at once"));
        end::end(sys::REFUSED);
    }
    let held = &control.holds[at];
    held.address.set(address);
    held.owner.set(owner);
    held.count.set(1);
    held.readers.set(0);
    control.held.add(1);
    held
}

/// Notes that a lock is open.
pub(crate) fn remove(address: u64) {
    let control = control();
    let len = control.held.get() as usize;
    let Some(at) = control.holds[..len]
        .iter()
        .position(|held| held.address.get() == address)
    else {
        return;
    };
    let (hole, last) = (&control.holds[at], &control.holds[len - 1]);
    hole.address.set(last.address.get());
    hole.owner.set(last.owner.get());
    hole.count.set(last.count.get());
    hole.readers.set(last.readers.get());
    control.held.set(len as u64 - 1);
}

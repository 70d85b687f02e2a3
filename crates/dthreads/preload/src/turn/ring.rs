//! The ring of the threads that can run, in which the token goes around.

use crate::shared::control::{Control, control, state};
use crate::system::LOCAL;

/// Puts a thread at the end of the ring: behind all others, before this one.
pub(crate) fn enter(slot: usize) {
    enter_before(slot, LOCAL.me.get());
}

/// Puts a thread into the ring before another one.
pub(crate) fn enter_before(slot: usize, at: usize) {
    let control = control();
    let before = control.thread(at).previous.get();
    link(control, before as usize, slot);
    link(control, slot, at);
    control.running.add(1);
    control.thread(slot).state.set(state::RING);
    control.thread(slot).waits.set(0);
}

/// Makes a ring of one thread.
pub(crate) fn alone(slot: usize) {
    let control = control();
    link(control, slot, slot);
    control.running.set(1);
    control.thread(slot).state.set(state::RING);
}

/// Takes a thread out of the ring, which is not the only one in it.
pub(crate) fn leave(slot: usize, to: u64) {
    let control = control();
    let thread = control.thread(slot);
    let (before, behind) = (thread.previous.get(), thread.next.get());
    link(control, before as usize, behind as usize);
    control.running.set(control.running.get() - 1);
    thread.state.set(to);
}

fn link(control: &Control, first: usize, second: usize) {
    control.thread(first).next.set(second as u64);
    control.thread(second).previous.set(first as u64);
}

/// Returns the slots of the ring, `first` first.
pub(crate) fn walk(first: usize) -> impl Iterator<Item = usize> {
    let behind = move |slot: &usize| {
        let next = control().thread(*slot).next.get() as usize;
        (next != first).then_some(next)
    };
    std::iter::successors(Some(first), behind)
}

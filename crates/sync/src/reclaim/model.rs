//! Reclamation for loom and shuttle: exact books, nothing freed before the model ends.
//!
//! Both run all threads of a model on one system thread and switch only at their own operations,
//! so the books are an ordinary thread-local and add neither interleavings nor orderings to the
//! model. A retired block is *due* once every pin that lived when it was retired is gone. A due
//! block is not freed but written down; [`assert_not_reclaimed`] fails for it, so a test (or the
//! code under `cfg(loom)`) finds a use after free without committing one.
//!
//! Pinning and retiring each make a sequentially consistent fence, as the real scheme does (there
//! it is a light barrier that the other side's heavy one completes): a thread either pins before the
//! retirement looks which threads are pinned, or sees that the block has been unlinked.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashSet};

#[cfg(shuttle)]
use shuttle::scheduler::{PctScheduler, RandomScheduler};

use super::Retire;
use crate::atomic::{AtomicUsize, Ordering, fence};

#[derive(Default)]
struct Books {
    next_pin: u64,
    pinned: BTreeSet<u64>,
    waiting: Vec<(usize, BTreeSet<u64>)>,
    due: HashSet<usize>,
    /// Blocks, and what reclaims each.
    reclaim: Vec<(*mut (), unsafe fn(*mut ()))>,
}

thread_local! {
    static BOOKS: RefCell<Books> = RefCell::default();
}

/// Runs a model with fresh books for every execution, and reclaims at the end of each.
#[cfg(loom)]
pub fn check(model: impl Fn() + Sync + Send + 'static) {
    loom::model(move || settled(&model));
}

/// Runs a model on `schedules` random schedules, with fresh books for each, and reclaims at its end.
///
/// A half of the schedules switch at every step to a random thread; the others change which thread goes first only a
/// few times (probabilistic concurrency testing), so that a thread stops in the middle and sleeps for long.
#[cfg(shuttle)]
pub fn check(schedules: usize, model: impl Fn() + Sync + Send + 'static) {
    let model = std::sync::Arc::new(model);
    let pct = model.clone();
    BOOKS.take();
    let runs = schedules.div_ceil(2);
    shuttle::Runner::new(RandomScheduler::new(runs), stacks()).run(move || settled(&*model));
    let runs = schedules / 2;
    shuttle::Runner::new(PctScheduler::new(4, runs), stacks()).run(move || settled(&*pct));
}

/// Stacks with room for nodes of a model, whose atomics are large: a build with little optimisation moves them there.
#[cfg(shuttle)]
fn stacks() -> shuttle::Config {
    let mut config = shuttle::Config::new();
    config.stack_size = 1 << 18;
    config
}

fn settled(model: &impl Fn()) {
    model();
    let books = BOOKS.take();
    assert!(books.pinned.is_empty(), "a pin outlives the model");
    for (block, reclaim) in books.reclaim {
        // SAFETY: the caller that retired the block promised that this may be done once; the end of the model is after
        // every use.
        unsafe { reclaim(block) };
    }
}

/// # Safety
///
/// Only the caller can still reach the block, which is a `T`, and it is reclaimed once.
unsafe fn reclaim<T: Retire>(block: *mut ()) {
    // SAFETY: forwarded.
    unsafe { T::reclaim(block.cast()) }
}

/// Fails if the block would have been freed by now.
pub fn assert_not_reclaimed<T>(ptr: *const T) {
    let due = BOOKS.with_borrow(|books| books.due.contains(&ptr.addr()));
    assert!(!due, "use of a reclaimed block");
}

/// Does nothing: a model frees at its end.
pub(super) fn flush() {}

/// Does nothing: a model has no words to wait for.
pub(super) fn wait_for_words(_address: usize) {}

/// Returns 0: a model does not fork.
pub(super) fn process() -> u64 {
    0
}

pub(super) struct ModelPin(u64);

pub(super) fn enter() -> ModelPin {
    let pin = BOOKS.with_borrow_mut(|books| {
        books.next_pin += 1;
        books.pinned.insert(books.next_pin);
        ModelPin(books.next_pin)
    });
    // SeqCst: pairs with the fence in `retire`.
    fence(Ordering::SeqCst);
    pin
}

pub(super) fn later(job: Box<dyn FnOnce() + Send>) {
    job();
}

pub(super) fn freed(_bytes: usize) {}

pub(super) fn give_back() {}

pub(super) fn enter_owned() -> ModelPin {
    enter()
}

impl ModelPin {
    /// # Safety
    ///
    /// `ptr` is unreachable for threads that pin from now on, is retired once, and may be reclaimed on any thread and
    /// at any later time: reclaiming it does not use a value that the block borrows.
    pub(super) unsafe fn retire<T: Retire>(&self, ptr: *mut T) {
        // SeqCst: pairs with the fence in `enter`.
        fence(Ordering::SeqCst);
        BOOKS.with_borrow_mut(|books| {
            assert!(
                !books.due.contains(&ptr.addr())
                    && books
                        .waiting
                        .iter()
                        .all(|(waiting, _)| *waiting != ptr.addr()),
                "a block is retired twice"
            );
            books.waiting.push((ptr.addr(), books.pinned.clone()));
            books.reclaim.push((ptr.cast(), reclaim::<T>));
        });
    }

    /// Returns `None`: no thread has a word in a model, sections are counted.
    pub(super) fn word(&self) -> Option<&AtomicUsize> {
        None
    }

    pub(super) fn weigh(&self, _bytes: usize) {}

    pub(super) fn flush_on_drop(&self) {}
}

impl Drop for ModelPin {
    fn drop(&mut self) {
        BOOKS.with_borrow_mut(|books| {
            books.pinned.remove(&self.0);
            let Books { waiting, due, .. } = books;
            waiting.retain_mut(|(ptr, pins)| {
                pins.remove(&self.0);
                if pins.is_empty() {
                    due.insert(*ptr);
                }
                !pins.is_empty()
            });
        });
    }
}

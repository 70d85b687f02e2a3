//! Reclamation as it really is: `seize`, with one collector for the process.
//!
//! One collector, because a pin then covers every structure at once: the catalog, the table and the
//! record. What is retired must therefore be `'static` and fit to be freed on any thread.
//!
//! Threads do not enter and leave it at every pin: see [`linger`](super::linger).

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::null;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};

use seize::{Collector, Guard as _, OwnedGuard};

use super::Retire;
use super::linger::{Slot, heavy, is_possible};

/// Blocks a thread gathers before it starts a reclamation round: two barriers are paid a batch, system calls on Linux
/// that interrupt every processor on which the process runs. With two threads one costs 9 us on the virtual machine
/// this was measured on, and batches half as large made a delete take a sixth longer.
const BATCH: usize = if cfg!(fyris_small) { 4 } else { 512 };

/// Threads whose guards may stay where they are. The others enter and leave at every pin.
const SLOTS: usize = if cfg!(fyris_small) { 8 } else { 256 };

/// Its own batches are larger: [`retire`] hands them in before.
static COLLECTOR: LazyLock<Collector> =
    LazyLock::new(|| Collector::new().batch_size(BATCH + BATCH / 2));

/// A slot of a thread, on lines of its own, and whether one has it.
#[repr(align(128))]
struct Place {
    taken: AtomicBool,
    slot: Slot<OwnedGuard<'static>>,
}

static PLACES: [Place; SLOTS] = [const {
    Place {
        taken: AtomicBool::new(false),
        slot: Slot::new(),
    }
}; SLOTS];

/// Only so many of the first places have ever been taken.
static USED: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// This thread's slot, once it has one.
    static HERE: Cell<*const Slot<OwnedGuard<'static>>> = const { Cell::new(null()) };
    /// For threads that have none of [`PLACES`], or no longer: nothing stays in it. Not dropped with the thread, so
    /// that it serves the destructors of its other values.
    static SPARE: ManuallyDrop<Slot<OwnedGuard<'static>>> =
        const { ManuallyDrop::new(Slot::new()) };
    /// Every thread that pins or retires has one.
    static LEASE: Lease = const { Lease(Cell::new(None)) };
    /// Blocks that this thread has retired since it last handed a batch in.
    static WAITING: Cell<usize> = const { Cell::new(0) };
}

/// Hands in what a thread has retired, and gives its place back, when it ends.
struct Lease(Cell<Option<&'static Place>>);

impl Drop for Lease {
    fn drop(&mut self) {
        if WAITING.get() > 0 {
            round();
        }
        HERE.set(spare());
        let Some(place) = self.0.get() else { return };
        // A thread that ends while it is pinned, by a guard in another thread-local value, keeps its place for good.
        if let Ok(guard) = place.slot.close() {
            drop(guard);
            // Release: pairs with the Acquire in `find_place`.
            place.taken.store(false, Ordering::Release);
        }
    }
}

/// This thread's slot.
#[inline]
fn slot() -> *const Slot<OwnedGuard<'static>> {
    let here = HERE.get();
    if here.is_null() { lease() } else { here }
}

#[cold]
#[inline(never)]
fn lease() -> *const Slot<OwnedGuard<'static>> {
    let slot = find_place().unwrap_or_else(spare);
    HERE.set(slot);
    slot
}

/// The slot in which nothing stays.
fn spare() -> *const Slot<OwnedGuard<'static>> {
    SPARE.with(|slot| &raw const **slot)
}

fn find_place() -> Option<*const Slot<OwnedGuard<'static>>> {
    static POSSIBLE: LazyLock<bool> = LazyLock::new(is_possible);
    // The collector's own value of this thread is made before the lease, so that it is dropped after it: what the
    // lease lets go may retire more.
    drop(COLLECTOR.enter());
    LEASE.with(|lease| {
        if !*POSSIBLE {
            return None;
        }
        // Acquire: pairs with the Release in `Lease::drop`.
        let free = |place: &Place| !place.taken.swap(true, Ordering::Acquire);
        let at = PLACES.iter().position(free)?;
        lease.0.set(Some(&PLACES[at]));
        // Relaxed: seen by whoever meets this thread's guard, as the state of its slot is.
        USED.fetch_max(at + 1, Ordering::Relaxed);
        Some(&raw const PLACES[at].slot)
    })
}

/// Takes away the guards of threads that are not pinned, and makes the others go with the pins they are used by
/// (invariant U). Called after a batch was handed in.
fn sweep() {
    let mut marks = [None; SLOTS];
    // Acquire: pairs with the fence by which a thread says that its guard stays, before others meet it.
    fence(Ordering::Acquire);
    let used = USED.load(Ordering::Relaxed);
    let mut others = false;
    for (mark, place) in marks.iter_mut().zip(&PLACES[..used]) {
        if cfg!(fyris_mutant = "sync_no_sweep") {
            break;
        }
        *mark = place.slot.mark();
        // This thread knows the order of what it does itself.
        others |= mark.is_some() && !std::ptr::eq(&place.slot, HERE.get());
    }
    if others {
        heavy();
    }
    for (mark, place) in marks.iter().zip(&PLACES[..used]) {
        // Dropping a guard may free, and so run anything.
        drop(mark.and_then(|mark| place.slot.take(mark)));
    }
}

/// Hands this thread's batch in.
#[cold]
#[inline(never)]
fn hand_in(guard: &seize::LocalGuard<'_>) {
    WAITING.set(0);
    guard.flush();
    sweep();
}

/// # Safety
///
/// As [`super::Pin::retire`].
#[inline]
unsafe fn retire<T: Retire>(ptr: *mut T) {
    let guard = COLLECTOR.enter();
    // SAFETY: the caller's contract is `seize`'s contract.
    unsafe { guard.defer_retire(ptr, shim::<T>) };
    let waiting = WAITING.get() + 1;
    WAITING.set(waiting);
    if waiting == 1 {
        // It may be under another thread's pin.
        slot();
    }
    if waiting >= BATCH {
        hand_in(&guard);
    }
}

pub(super) type Local = LocalPin;
pub(super) type Owned = OwnedPin;

/// A pin of the thread whose slot this is; and whether to start a round when it goes.
pub(super) struct LocalPin(*const Slot<OwnedGuard<'static>>, Cell<bool>);
pub(super) struct OwnedPin(#[expect(dead_code, reason = "dropped")] OwnedGuard<'static>);

/// Starts a round now, however little there is to free.
///
/// Never inlined: with it, dropping a pin would be a call that saves and restores six registers.
#[cold]
#[inline(never)]
fn round() {
    // `seize` does nothing while a batch has fewer blocks than guards are entered at that moment: one for each place,
    // and those of threads that are retiring something, so few that this leaves ample room.
    static THREADS: LazyLock<usize> =
        LazyLock::new(|| std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    let fill = 16 + 4 * *THREADS + USED.load(Ordering::Relaxed);
    let guard = COLLECTOR.enter();
    for _ in 0..fill {
        // SAFETY: `nothing` does nothing, as often as it is called.
        unsafe { guard.defer_retire(std::ptr::null_mut::<()>(), nothing) };
    }
    hand_in(&guard);
}

/// Reclaims what only fills a batch up.
unsafe fn nothing(_: *mut (), _: &Collector) {}

#[inline]
pub(super) fn enter() -> LocalPin {
    let slot = slot();
    // SAFETY: a slot of this thread, in a static or in thread-local storage that has no destructor.
    unsafe { (*slot).enter(|| slot != spare(), || COLLECTOR.enter_owned()) };
    LocalPin(slot, Cell::new(false))
}

impl LocalPin {
    /// One round for all that is retired under this pin, when it goes.
    #[inline]
    pub(super) fn hasten(&self) {
        self.1.set(!cfg!(fyris_mutant = "sync_no_haste"));
    }
}

impl Drop for LocalPin {
    #[inline]
    fn drop(&mut self) {
        if self.1.get() {
            round();
        }
        // SAFETY: the slot that `enter` entered, of this thread, as a pin stays on its thread.
        unsafe { (*self.0).leave() };
    }
}

impl OwnedPin {
    pub(super) fn hasten(&self) {
        round();
    }
}

pub(super) fn enter_owned() -> OwnedPin {
    OwnedPin(COLLECTOR.enter_owned())
}

macro_rules! forward {
    ($pin:ty) => {
        impl $pin {
            /// # Safety
            ///
            /// As [`super::Pin::retire`].
            #[inline]
            pub(super) unsafe fn retire<T: Retire>(&self, ptr: *mut T) {
                // SAFETY: the caller's contract.
                unsafe { retire(ptr) }
            }

            pub(super) fn flush(&self) {
                round();
            }
        }
    };
}
forward!(LocalPin);
forward!(OwnedPin);

/// Adapts [`Retire::reclaim`] to the signature `seize` calls.
///
/// # Safety
///
/// As [`Retire::reclaim`].
unsafe fn shim<T: Retire>(ptr: *mut T, _: &Collector) {
    // SAFETY: forwarded.
    unsafe { T::reclaim(ptr) }
}

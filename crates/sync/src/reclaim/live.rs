//! Reclamation as it really is: `seize`, with one collector for the process.
//!
//! One collector, because a pin then covers every structure at once: the catalog, the table and the
//! record. A retired block must therefore be fit to be freed on any thread and at any later time.
//!
//! Threads do not enter and leave it at every pin: see [`guard_cache`](super::guard_cache). The blocks that a thread
//! retires gather in its [bag](super::bag), and the bag is retired as one block in a *round*, where the thread's
//! outermost pin ends. So retiring runs no foreign code, whatever locks are held. A round may take the bags of all
//! threads that are not pinned: one in a tenth of a second does, if any thread retires, and that of [`flush`].
//!
//! # The end of a thread
//!
//! A thread hands its bag in and gives its place back when its thread-local values are dropped. Those that are dropped
//! later, and destructors of pthread keys, may still use structures: then each outermost pin enters and leaves the
//! collector, and hands the bag in. For a thread whose first pin is in such a destructor there is a key of our own, as
//! nothing drops thread-local values any more.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, AtomicUsize, Ordering, fence};
use std::sync::{Arc, LazyLock};

use seize::Collector;

use super::Retire;
use super::background;
pub(super) use super::background::{freed, give_back, later};
use super::bag::{self, AGE, Bag, Busy};
use super::clock::millis;
use super::gate::{self, Entered};
use super::guard_cache::{self, heavy, is_possible};
use super::owned::{self, PinGroup};
use super::section;

/// Threads whose guards may stay where they are. The others enter and leave at every pin.
const SLOTS: usize = if cfg!(fyris_small) { 8 } else { 256 };

/// Blocks for which the collector makes room in a round, 32 bytes each. With more guards than that a round takes a
/// barrier for each of them.
const ROOM: usize = 128;

type ThreadSlot = guard_cache::Slot<Entered, ManuallyDrop<Bag>>;

/// A slot of a thread, on lines of its own, and whether one has it.
#[repr(align(128))]
struct Place {
    taken: AtomicBool,
    slot: ThreadSlot,
}

static PLACES: [Place; SLOTS] = [const {
    Place {
        taken: AtomicBool::new(false),
        slot: ThreadSlot::new(section::NONE, ManuallyDrop::new(Bag::new())),
    }
}; SLOTS];

/// Whether guards may stay: without a barrier no thread takes a place.
static POSSIBLE: LazyLock<bool> = LazyLock::new(is_possible);

/// The number of first places that have ever been taken.
static USED: AtomicUsize = AtomicUsize::new(0);

/// When the bags of all threads were taken last.
static COLLECTED: AtomicU64 = AtomicU64::new(0);

/// What a thread knows of its rounds. Without a destructor, so that destructors of other values may use it.
struct Mine {
    /// A round is to be made when the thread is not pinned.
    due: Cell<bool>,
    /// It takes the bags of other threads.
    of_all: Cell<bool>,
    /// A call further out on the stack makes rounds until none is due.
    busy: Cell<bool>,
    /// The thread has given its place back.
    ended: Cell<bool>,
    /// The thread has no place, so its guard comes and goes with every pin, and is counted as entered all the time.
    stands: Cell<bool>,
}

thread_local! {
    /// This thread's slot, once it has one.
    static HERE: Cell<*const ThreadSlot> = const { Cell::new(null()) };
    /// For threads that have none of [`PLACES`], or no longer: no guard stays in it. Without a destructor, as [`Mine`].
    static SPARE: ManuallyDrop<ThreadSlot> =
        const { ManuallyDrop::new(ThreadSlot::new(section::UNKNOWN, ManuallyDrop::new(Bag::new()))) };
    static MINE: Mine = const {
        Mine {
            due: Cell::new(false),
            of_all: Cell::new(false),
            busy: Cell::new(false),
            ended: Cell::new(false),
            stands: Cell::new(false),
        }
    };
    /// This thread's place, if it has one.
    static PLACE: Cell<Option<&'static Place>> = const { Cell::new(None) };
    static LEASE: Lease = const { Lease };
}

/// The number of forks between this process and the first that used the library.
static FORKS: AtomicU64 = AtomicU64::new(0);

/// Returns a number of this process that its parent does not have.
pub(super) fn process() -> u64 {
    // Relaxed: written where there is no other thread.
    FORKS.load(Ordering::Relaxed) & u64::from(u32::MAX)
}

/// Returns a number of this process that its parent does not have, and sees to it that forks are counted from now on.
#[inline]
pub(super) fn watched_process() -> u64 {
    #[cfg(unix)]
    super::process::watch_forks(before_fork, after_fork, in_child);
    process()
}

/// The collector, once it was asked for. Never freed: a forked child leaves that of its parent behind.
static COLLECTOR: AtomicPtr<Collector> = AtomicPtr::new(null_mut());

fn collector() -> &'static Collector {
    // Acquire: pairs with the Release in `make_collector`.
    let known = COLLECTOR.load(Ordering::Acquire);
    // SAFETY: null, or leaked by `make_collector`.
    unsafe { known.as_ref() }.unwrap_or_else(make_collector)
}

#[cold]
fn make_collector() -> &'static Collector {
    let new = Box::into_raw(Box::new(Collector::new().batch_size(ROOM)));
    // Release: pairs with the Acquire in `collector`; Acquire: with the Release of the thread that was faster.
    match COLLECTOR.compare_exchange(null_mut(), new, Ordering::Release, Ordering::Acquire) {
        // SAFETY: made above, and never freed.
        Ok(_) => unsafe { &*new },
        Err(other) => {
            // SAFETY: no other thread has seen the new one.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: as in `collector`.
            unsafe { &*other }
        }
    }
}

/// Hands in the blocks that a thread has retired, and gives its place back, when it ends.
struct Lease;

impl Drop for Lease {
    fn drop(&mut self) {
        end();
    }
}

/// Ends the use of the slot and the bag by this thread, which ends: from now on none of its guards stays.
fn end() {
    #[cfg(unix)]
    super::process::forget_end();
    if MINE.with(|mine| mine.ended.replace(true)) {
        return;
    }
    HERE.set(spare());
    // The panic hook has reported a panic of a block that is reclaimed; let out of here it would end the process. The
    // blocks that the panic leaves waiting are reclaimed as well.
    let last = || {
        settle();
        bag::reclaim_waiting();
    };
    while std::panic::catch_unwind(last).is_err() {}
}

/// Gives the place of a thread that has ended back, unless a guard in another thread-local value still pins it; hands
/// over what is in its bag.
fn give_place_back(bag: &mut Bag) {
    let Some(place) = PLACE.get() else { return };
    if let Ok(guard) = place.slot.close() {
        PLACE.set(None);
        take_bag(&place.slot, bag);
        drop(guard);
        // Release: pairs with the Acquire in `find_place`.
        place.taken.store(false, Ordering::Release);
    }
}

/// Returns this thread's slot.
#[inline]
fn slot() -> *const ThreadSlot {
    let here = HERE.get();
    if here.is_null() { lease() } else { here }
}

#[cold]
#[inline(never)]
fn lease() -> *const ThreadSlot {
    #[cfg(unix)]
    super::process::watch_forks(before_fork, after_fork, in_child);
    // A thread-local value that is gone already: the thread has ended.
    if LEASE.try_with(|_| ()).is_err() {
        MINE.with(|mine| mine.ended.set(true));
        HERE.set(spare());
        return spare();
    }
    #[cfg(unix)]
    super::process::on_end(end);
    let slot = find_place().unwrap_or_else(|| {
        gate::count();
        MINE.with(|mine| mine.stands.set(true));
        spare()
    });
    HERE.set(slot);
    slot
}

/// Returns the slot in which nothing stays.
fn spare() -> *const ThreadSlot {
    SPARE.with(|slot| &raw const **slot)
}

/// Takes a free place. Runs no foreign code: entering the collector comes later.
fn find_place() -> Option<*const ThreadSlot> {
    if !*POSSIBLE {
        return None;
    }
    // Acquire: pairs with the Release in `give_place_back`.
    let free = |place: &Place| !place.taken.swap(true, Ordering::Acquire);
    let at = PLACES.iter().position(free)?;
    PLACE.set(Some(&PLACES[at]));
    // Relaxed: seen by a thread that meets this thread's guard, as the state of its slot is.
    USED.fetch_max(at + 1, Ordering::Relaxed);
    Some(&raw const PLACES[at].slot)
}

/// Takes away the guards of threads that are not pinned, and makes the others go with the pins they are used by
/// (invariant FLUSH). Called after a batch was handed in.
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

/// Takes the bags of all threads that are not pinned, and their guards with them, which the caller drops when it has
/// handed the bag in: that may run anything.
fn collect(bag: &mut Bag) -> Vec<Entered> {
    // Relaxed: whoever has filled a bag that the caller knows of took a place before.
    let used = USED.load(Ordering::Relaxed);
    if !PLACES[..used].iter().any(|place| place.slot.is_filled()) {
        return Vec::new();
    }
    // Acquire: as in `sweep`.
    fence(Ordering::Acquire);
    let noted: Vec<u64> = PLACES[..used]
        .iter()
        .map(|place| place.slot.note())
        .collect();
    heavy();
    let take = |(noted, place): (&u64, &Place)| {
        (place.slot).take_bag(*noted, |full| {
            if !cfg!(fyris_mutant = "sync_bags_stay") {
                bag.append(full);
            }
        })
    };
    noted.iter().zip(&PLACES[..used]).filter_map(take).collect()
}

/// Takes the bag out of a slot of this thread.
fn take_bag(slot: &ThreadSlot, bag: &mut Bag) {
    slot.fill(false);
    slot.with_bag_locked(|full| bag.append(full));
}

/// Hands a bag in. The thread is not pinned.
fn hand_in(bag: Bag) {
    // A batch waits for no pin that begins later.
    owned::close();
    let guard = Entered::new(collector());
    guard.retire(Box::new(bag));
    sweep();
    // Reclaims, if no thread is pinned.
    drop(guard);
}

/// Makes the rounds that are due, unless
/// * the thread is pinned: its guard is marked, so the end of its outermost pin comes here;
/// * a call further out on the stack is at it: that goes on until none is due.
///
/// A thread that ends gives its place back first; what is in its bag then goes on in the slot that stays. A round takes
/// the bag of this thread, and if it is one of all (`look`) those of the threads that are not pinned (BAG). It retires
/// them as one block, which waits for the pins of now, and takes away the guards of threads that are not pinned
/// (FLUSH), so it waits for no others (`hand_in`). Where guards go blocks are reclaimed, which may run anything: retire
/// more, and make another round due. Hence the loop.
#[cold]
#[inline(never)]
fn settle() {
    MINE.with(|mine| {
        // SAFETY: a slot of this thread, in a static or in thread-local storage that has no destructor.
        let slot = unsafe { &*slot() };
        if slot.is_pinned() {
            // So that the end of the pin comes here, which may have found its guard lying there before anything was
            // due.
            if !cfg!(fyris_mutant = "sync_due_forgotten") {
                slot.mark();
            }
            return;
        }
        if mine.busy.get() {
            return;
        }
        if mine.ended.get() {
            // What is left there goes on in the slot that stays.
            let mut left = Bag::new();
            give_place_back(&mut left);
            slot.with_bag_locked(|bag| bag.append(&mut left));
        }
        mine.busy.set(true);
        let _busy = Busy(&mine.busy);
        let is_late = || mine.ended.get() && slot.with_bag_locked(|bag| !bag.is_empty());
        while mine.due.replace(false) || is_late() {
            let mut bag = Bag::new();
            take_bag(slot, &mut bag);
            let guards = match mine.of_all.replace(false) {
                true => collect(&mut bag),
                false => Vec::new(),
            };
            hand_in(bag.shrunk());
            drop(guards);
        }
        if mine.ended.get() && mine.stands.replace(false) {
            gate::uncount();
        }
    });
}

/// Looks whether a bag of this thread is full, in which a block was put; `full` says so.
#[cold]
#[inline(never)]
fn look(slot: &ThreadSlot, full: bool) {
    slot.fill(true);
    let now = millis();
    // Relaxed, both: a number; who changes it first makes the round.
    let last = COLLECTED.load(Ordering::Relaxed);
    let of_all = now.saturating_sub(last) >= AGE
        && (COLLECTED.compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)).is_ok()
        && others_wait(slot);
    MINE.with(|mine| {
        if of_all {
            mine.of_all.set(true);
        }
        if full || of_all {
            make_due(mine);
        }
    });
}

/// Returns whether something waits in the bag of another thread.
fn others_wait(slot: &ThreadSlot) -> bool {
    // Relaxed: as in `collect`; of what came a moment ago the next round takes care.
    let used = USED.load(Ordering::Relaxed);
    let other = |place: &Place| !std::ptr::eq(&place.slot, slot) && place.slot.is_filled();
    PLACES[..used].iter().any(other)
}

/// Frees what this thread and those that are not pinned have retired, if anything waits: see [`super::flush`].
pub(super) fn flush() {
    // SAFETY: as in `settle`.
    let slot = unsafe { &*slot() };
    if slot.is_filled() || others_wait(slot) {
        let pin = enter();
        MINE.with(|mine| mine.of_all.set(true));
        pin.flush_on_drop();
    }
}

/// Makes a round due when the thread's outermost pin ends: its guard does not stay, so unpinning takes the slow path,
/// which makes the round.
#[cold]
#[inline(never)]
fn make_due(mine: &Mine) {
    mine.due.set(true);
    // SAFETY: as in `settle`.
    let slot = unsafe { &*slot() };
    // Otherwise no thread would take the guard that lies there.
    if slot.is_pinned() {
        slot.mark();
    }
}

fn flush_on_drop() {
    if !cfg!(fyris_mutant = "sync_no_haste") {
        MINE.with(make_due);
    }
}

/// A pin of the thread whose slot this is.
pub(super) struct LocalPin(*const ThreadSlot);

#[inline]
pub(super) fn enter() -> LocalPin {
    let slot = slot();
    // SAFETY: a slot of this thread, in a static or in thread-local storage that has no destructor.
    unsafe { (*slot).enter(|| may_stay(slot), slot_guard) };
    LocalPin(slot)
}

/// Enters and returns a guard for this thread's slot.
fn slot_guard() -> Entered {
    match MINE.with(|mine| mine.stands.get()) {
        true => Entered::uncounted(collector()),
        false => Entered::new(collector()),
    }
}

/// Returns whether the guard of an outermost pin may stay in the slot when the pin ends.
fn may_stay(slot: *const ThreadSlot) -> bool {
    slot != spare() && !MINE.with(|mine| mine.due.get())
}

impl Drop for LocalPin {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the slot that `enter` entered, of this thread, as a pin stays on its thread.
        if unsafe { (*self.0).leave() } {
            settle();
        }
    }
}

impl LocalPin {
    /// # Safety
    ///
    /// `ptr` is unreachable for threads that pin from now on, is retired once, and may be reclaimed on any thread and
    /// at any later time: reclaiming it does not use a value that the block borrows.
    #[inline]
    pub(super) unsafe fn retire<T: Retire>(&self, ptr: *mut T) {
        let slot = self.slot();
        // SAFETY: (BAG) this thread is pinned by this; the caller's contract.
        let is_time = unsafe { slot.with_bag(|bag| bag.push(ptr.cast(), reclaim::<T>)) };
        if is_time {
            // SAFETY: as above.
            look(slot, unsafe { slot.with_bag(|bag| bag.look()) });
        }
    }

    #[inline]
    pub(super) fn weigh(&self, bytes: usize) {
        // SAFETY: as in `retire`.
        unsafe { self.slot().with_bag(|bag| bag.weigh(bytes)) }
    }

    #[inline]
    fn slot(&self) -> &ThreadSlot {
        // SAFETY: of this thread, which is there as long as the thread, and the pin stays on it.
        unsafe { &*self.0 }
    }

    pub(super) fn flush_on_drop(&self) {
        flush_on_drop();
    }

    /// Returns the word in which the thread stores the section that it is in.
    #[inline]
    pub(super) fn word(&self) -> Option<&AtomicUsize> {
        Some(&self.slot().section)
    }
}

/// Waits until no thread but this one says that it is in a section of what is at the address.
pub(super) fn wait_for_words(address: usize) {
    if !*POSSIBLE {
        return;
    }
    heavy();
    // Relaxed: of a thread whose section is to be waited for it was raised before the barrier.
    let used = USED.load(Ordering::Relaxed);
    let others = PLACES[..used].iter().map(|place| &place.slot);
    for other in others.filter(|slot| !std::ptr::eq(*slot, HERE.get())) {
        section::wait_for(&other.section, address);
    }
}

/// A pin that shares a guard. A block that is retired under it goes into the bag of the thread that retires it.
pub(super) struct OwnedPin(Option<Arc<PinGroup>>);

pub(super) fn enter_owned() -> OwnedPin {
    // This thread may have retired much under pins that are on other threads now.
    if MINE.with(|mine| mine.due.get()) {
        settle();
    }
    slot();
    OwnedPin(Some(owned::join(collector)))
}

impl OwnedPin {
    /// # Safety
    ///
    /// `ptr` is unreachable for threads that pin from now on, is retired once, and may be reclaimed on any thread and
    /// at any later time: reclaiming it does not use a value that the block borrows.
    pub(super) unsafe fn retire<T: Retire>(&self, ptr: *mut T) {
        // Its thread must know that it is to hand something in when it ends. SAFETY: as in `settle`.
        let slot = unsafe { &*slot() };
        // SAFETY: the caller's contract.
        let push = |bag: &mut ManuallyDrop<Bag>| unsafe { bag.push(ptr.cast(), reclaim::<T>) };
        // This thread need not be pinned.
        if slot.with_bag_locked(push) {
            look(slot, slot.with_bag_locked(|bag| bag.look()));
        }
    }

    pub(super) fn weigh(&self, bytes: usize) {
        // SAFETY: as in `settle`.
        unsafe { &*slot() }.with_bag_locked(|bag| bag.weigh(bytes));
    }

    pub(super) fn flush_on_drop(&self) {
        flush_on_drop();
    }
}

impl Drop for OwnedPin {
    fn drop(&mut self) {
        drop(self.0.take());
        if MINE.with(|mine| mine.due.get() || mine.ended.get()) {
            settle();
        }
    }
}

/// # Safety
///
/// Only the caller can still reach the block, which is a `T`, and it is reclaimed once.
unsafe fn reclaim<T: Retire>(ptr: *mut ()) {
    // SAFETY: forwarded.
    unsafe { T::reclaim(ptr.cast()) }
}

/// Takes the locks, so that a fork finds nothing half done.
#[cfg(unix)]
extern "C" fn before_fork() {
    // A child would wait for ever for a thread that is finding out: one that counts the processors for the first
    // collector is at it for a tenth of a millisecond.
    if !cfg!(fyris_mutant = "sync_fork_meets_lazy") {
        LazyLock::force(&POSSIBLE);
        collector();
    }
    background::lock();
    crate::thread::lock_slots();
    gate::close();
    owned::lock();
}

/// Gives the locks up, in the process that forked.
#[cfg(unix)]
extern "C" fn after_fork() {
    owned::unlock();
    gate::open();
    crate::thread::unlock_slots();
    background::unlock();
}

/// Forgets the threads that the child does not have, and gives the locks up. The child gets a collector of its own:
/// blocks that other threads had not handed in are never freed.
#[cfg(unix)]
extern "C" fn in_child() {
    // Relaxed: there is no other thread.
    FORKS.fetch_add(1, Ordering::Relaxed);
    // The system has to be told again.
    is_possible();
    gate::open_in_child();
    if !cfg!(fyris_mutant = "sync_child_waits") {
        // Relaxed: there is no other thread.
        COLLECTOR.store(null_mut(), Ordering::Relaxed);
    }
    if MINE.with(|mine| mine.stands.get()) {
        gate::count();
    }
    let mine = PLACE.get();
    // Relaxed: as above.
    let used = USED.load(Ordering::Relaxed);
    for place in &PLACES[..used] {
        let is_mine = mine.is_some_and(|mine| std::ptr::eq(mine, place));
        let bag = (!is_mine).then(|| ManuallyDrop::new(Bag::new()));
        // SAFETY: there is no other thread.
        unsafe {
            place
                .slot
                .renew(section::NONE, is_mine.then_some(slot_guard), bag)
        };
        // Relaxed: there is no other thread.
        place.taken.store(is_mine, Ordering::Relaxed);
    }
    // SAFETY: as above.
    SPARE.with(|slot| unsafe { slot.renew(section::UNKNOWN, Some(slot_guard), None) });
    // SAFETY: `before_fork` took the locks, and this is the only thread.
    unsafe {
        owned::renew(collector());
        crate::thread::keep_own_slot();
        background::forget();
    }
    owned::unlock();
    crate::thread::unlock_slots();
    background::unlock();
}

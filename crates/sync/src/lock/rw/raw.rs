//! The lock: claims, hand-over and draining, over any [`Readers`]. The essay is that of the module above.

use std::ptr::{self, NonNull};
use std::time::Instant;

use super::latch::Latched;
use super::patience::Patience;
use super::queue::{Granted, Kind, Node, Queue};
use super::readers::Readers;
use super::word::{DRAIN, NO_CLAIM, NO_READ, QUEUED, READERS, UPGRADER, WRITER};
use crate::atomic::{AtomicU64, Ordering};

/// What turns away a reader that has not waited.
const TURNS_AWAY: u64 = if cfg!(fyris_mutant = "rw_reader_barges") {
    WRITER
} else {
    NO_READ
};

/// A reader-writer lock that lets no thread starve. It protects nothing by itself; see
/// [`FairRwLock`](super::FairRwLock) and its siblings. See the module.
#[derive(Debug)]
pub struct RawFair<R> {
    pub(super) word: AtomicU64,
    pub(super) waiting: Latched<Queue>,
    pub(super) readers: R,
}

/// The numbers of threads that wait for a lock, see [`RawFair::waiting`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// Threads that wait to read.
    pub readers: usize,
    /// Threads that wait to write, or to read upgradably.
    pub writers: usize,
}

impl<R> RawFair<R> {
    /// Makes a free lock over `readers`.
    #[cfg(not(any(loom, shuttle)))]
    pub const fn with_readers(readers: R) -> Self {
        Self {
            word: AtomicU64::new(0),
            waiting: Latched::new(Queue::new()),
            readers,
        }
    }

    /// Makes a free lock over `readers`.
    #[cfg(any(loom, shuttle))]
    pub fn with_readers(readers: R) -> Self {
        Self {
            word: AtomicU64::new(0),
            waiting: Latched::new(Queue::new()),
            readers,
        }
    }

    /// Returns where its readers are noted.
    pub const fn readers(&self) -> &R {
        &self.readers
    }

    /// Returns how many threads wait at a moment: those in the queue, and a writer that sleeps until the readers are
    /// gone. Linear in their number; threads that still spin are not counted.
    pub fn waiting(&self) -> Waiting {
        let (readers, writers) = self.waiting.with(|queue| queue.count());
        Waiting { readers, writers }
    }

    /// Returns whether a thread has the lock, in any way. May be out of date.
    pub fn is_locked(&self) -> bool
    where
        R: Readers,
    {
        // Relaxed: a hint.
        self.word.load(Ordering::Relaxed) & (WRITER | UPGRADER) != 0
            || !self.readers.is_empty(&self.word)
    }

    /// Returns whether a thread has the lock for writing, or is about to. May be out of date.
    pub fn is_locked_exclusive(&self) -> bool {
        // Relaxed: a hint.
        self.word.load(Ordering::Relaxed) & WRITER != 0
    }
}

/// Reading.
impl<R: Readers> RawFair<R> {
    /// Takes the lock for reading if no thread has or waits for the claim.
    ///
    /// It looks before it arrives: of threads that try again and again, some would always be noted on their way to be
    /// turned away, and a writer would never see the readers gone.
    #[inline]
    pub fn try_lock_shared(&self) -> bool {
        // Relaxed: a hint. Once the claim is seen a thread does not arrive any more until it is gone.
        let turned_away = !cfg!(fyris_mutant = "rw_try_arrives_blindly")
            && self.word.load(Ordering::Relaxed) & TURNS_AWAY != 0;
        !turned_away && self.arrive()
    }

    /// Notes this thread as a reader, and takes that back if a thread has or waits for the claim.
    #[inline]
    fn arrive(&self) -> bool {
        let place = self.readers.place();
        let got = self.readers.arrive(&self.word, place) & TURNS_AWAY == 0;
        if !got {
            self.depart(place);
        }
        got
    }

    /// Takes the lock for reading; waits if need be. Returns false if the deadline passed first.
    ///
    /// A thread that waits without a deadline arrives once and is then in the queue, so it need not look first.
    #[inline]
    pub(super) fn read(&self, deadline: Option<Instant>) -> bool {
        let got = match deadline {
            None => self.arrive(),
            Some(_) => self.try_lock_shared(),
        };
        got || self.read_slowly(deadline)
    }

    #[cold]
    fn read_slowly(&self, deadline: Option<Instant>) -> bool {
        let mut patience = Patience::new();
        while patience.wait() {
            // Relaxed: a hint. Behind a queue only the queue leads to the lock.
            let seen = self.word.load(Ordering::Relaxed);
            if seen & QUEUED != 0 {
                break;
            }
            if seen & WRITER == 0 && self.arrive() {
                return true;
            }
        }
        self.enqueue(Kind::Reader(self.readers.place()), deadline)
    }

    /// Gives up reading.
    ///
    /// # Safety
    ///
    /// The calling thread has the lock for reading.
    #[inline]
    pub unsafe fn unlock_shared(&self) {
        self.depart(self.readers.place());
    }

    #[inline]
    fn depart(&self, place: usize) {
        if self.readers.depart(&self.word, place) & DRAIN != 0 {
            self.help();
        }
    }

    /// Gives the lock to the writer that waits for the readers to go, if they are gone.
    #[cold]
    fn help(&self) {
        if cfg!(fyris_mutant = "rw_lost_wake_up") || !self.readers.is_empty(&self.word) {
            return;
        }
        let mut granted = Granted::none();
        self.waiting
            .with(|queue| self.finish_drain(queue, &mut granted));
    }

    /// Under the latch, gives the lock to the writer that waits for the readers to go, if they are gone: asked anew, as
    /// what was seen before the latch may have been true of an earlier claim.
    fn finish_drain(&self, queue: &mut Queue, granted: &mut Granted) {
        // Relaxed: changed under the latch only.
        if self.word.load(Ordering::Relaxed) & DRAIN == 0 || !self.readers.is_empty(&self.word) {
            return;
        }
        // Without a drainer this is a child of a fork, which does not have the thread that took the claim.
        let claim = if queue.drainer.is_some() { 0 } else { WRITER };
        // Release: pairs with the Acquire of the next to lock, if the claim goes; else the signal releases.
        self.word.fetch_and(!(DRAIN | claim), Ordering::Release);
        match queue.drainer.take() {
            Some(node) => granted.push(node),
            None => *granted = self.grant(queue),
        }
    }
}

/// Writing.
impl<R: Readers> RawFair<R> {
    /// Takes the lock for writing if it is free and no thread waits. May also fail for a reader that was turned away
    /// and is not gone yet.
    #[inline]
    pub fn try_lock_exclusive(&self) -> bool {
        // Relaxed: a hint.
        let seen = self.word.load(Ordering::Relaxed);
        if seen == 0 {
            return self.claim(0);
        }
        if seen & NO_CLAIM != 0 || !self.readers.is_empty(&self.word) || !self.claim(seen) {
            return false;
        }
        let got = self.readers.is_empty(&self.word);
        if !got {
            self.release(WRITER);
        }
        got
    }

    /// Takes the claim, if the flag word still is what was seen.
    #[inline]
    fn claim(&self, seen: u64) -> bool {
        // SeqCst: invariant ONE_SEES. It acquires: pairs with the Release of the unlock. Relaxed: a failure is
        // repeated.
        (self.word)
            .compare_exchange(seen, seen | WRITER, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// Takes the lock for writing; waits if need be. Returns false if the deadline passed first.
    #[inline]
    pub(super) fn write(&self, deadline: Option<Instant>) -> bool {
        self.claim(0) || self.write_slowly(deadline)
    }

    #[cold]
    fn write_slowly(&self, deadline: Option<Instant>) -> bool {
        let mut patience = Patience::new();
        loop {
            // * No thread has the claim, reads upgradably or queues, and the exchange takes the claim: no reader gets
            //   in from now on, and when those that are noted are gone the lock is this thread's (EXCLUSION). If the
            //   word says that none is, it is at once.
            // * There is a queue, or the patience is at its end: into the queue, whose head is let in by whoever takes
            //   a claim away (HEAD).
            // * Else again, after a longer pause.
            // Relaxed: `claim` compares it. Behind a queue only the queue leads to the lock.
            let seen = self.word.load(Ordering::Relaxed);
            let no_claim = if cfg!(fyris_mutant = "rw_writer_barges") {
                WRITER | UPGRADER
            } else {
                NO_CLAIM
            };
            if seen & no_claim == 0 && self.claim(seen) {
                return seen & READERS == 0 || self.drain(deadline, 0);
            }
            if seen & QUEUED != 0 || !patience.wait() {
                return self.enqueue(Kind::Writer, deadline);
            }
        }
    }

    /// Waits until the readers are gone, with the claim of this thread keeping new ones away. Returns false if the
    /// deadline passed first: the claim is gone then, and the bit `back` in its place.
    ///
    /// It looks a few times. Then it sleeps (`drain_asleep`): it names itself the drainer, sets DRAIN, and looks once
    /// more under the latch (`finish_drain`), as the last reader may have gone before the bit was there (ONE_SEES). A
    /// reader that departs and sees DRAIN looks whether any is left (`help`); if none is, it takes the bit and the name
    /// away and gives the signal. Then
    /// * the signal comes: the lock is this thread's;
    /// * the deadline passes: this thread takes its name, the bit and the claim back under the latch, and lets in who
    ///   may go on now (`grant`). If its name is gone, its signal is on the way, and it waits for that.
    #[cold]
    pub(super) fn drain(&self, deadline: Option<Instant>, back: u64) -> bool {
        if cfg!(fyris_mutant = "rw_readers_unchecked") {
            return true;
        }
        let mut patience = Patience::new();
        while !self.readers.is_empty(&self.word) {
            if !patience.wait() {
                return self.drain_asleep(deadline, back);
            }
        }
        true
    }

    /// Asks the last reader for a signal (`DRAIN`), and waits for that. Returns false if the deadline passed first: the
    /// claim is gone then, and the bit `back` in its place.
    fn drain_asleep(&self, deadline: Option<Instant>, back: u64) -> bool {
        let node = Node::new(Kind::Writer);
        let mut granted = Granted::none();
        self.waiting.with(|queue| {
            queue.drainer = Some(NonNull::from(&node));
            // SeqCst: invariant ONE_SEES: a reader that departs and does not see this bit is seen to be gone below.
            self.word.fetch_or(DRAIN, Ordering::SeqCst);
            self.finish_drain(queue, &mut granted);
        });
        drop(granted);
        if node.signal.wait(deadline) {
            return true;
        }
        let withdrawn = self
            .waiting
            .with(|queue| self.withdraw_drainer(queue, &node, back));
        withdrawn.is_none() && node.signal.wait(None)
    }

    /// Takes the drainer's claim back, for the bit `back`. Returns `None` if the lock was given to it meanwhile.
    fn withdraw_drainer(&self, queue: &mut Queue, node: &Node, back: u64) -> Option<Granted> {
        queue
            .drainer
            .take_if(|drainer| ptr::eq(drainer.as_ptr(), node))?;
        let change = |word| Some(word & !(DRAIN | WRITER) | back);
        // Release: the claim acquired, which the next to take it must follow. Relaxed: a failure is repeated.
        let _ = (self.word).fetch_update(Ordering::Release, Ordering::Relaxed, change);
        Some(self.grant(queue))
    }

    /// Gives up writing.
    ///
    /// # Safety
    ///
    /// The calling thread has the lock for writing.
    #[inline]
    pub unsafe fn unlock_exclusive(&self) {
        // Relaxed: no other thread changes these bits under this one's claim.
        let stale = self.word.load(Ordering::Relaxed) & self.readers.stale();
        self.release(WRITER | stale);
    }

    /// Takes bits off the flag word that are set there, and lets in the threads of the queue that may go on now.
    #[inline]
    pub(super) fn release(&self, bits: u64) {
        // Release: pairs with the Acquire of the next to lock.
        if self.word.fetch_sub(bits, Ordering::Release) & QUEUED != 0 {
            self.advance();
        }
    }
}

/// The queue.
impl<R: Readers> RawFair<R> {
    /// Waits in the queue until another thread, or this one on entering, hands the lock over. Returns false if the
    /// deadline passed first.
    pub(super) fn enqueue(&self, kind: Kind, deadline: Option<Instant>) -> bool {
        let node = Node::new(kind);
        drop(self.waiting.with(|queue| {
            // SAFETY: the node stays here until its signal has come or it was taken out of the queue.
            unsafe { queue.insert(&node) };
            // Acquire: what `grant` decides on is seen after this. From here on a thread that unlocks sees the queue.
            self.word.fetch_or(QUEUED, Ordering::Acquire);
            self.grant(queue)
        }));
        if node.signal.wait(deadline) {
            return true;
        }
        let withdrawn = self.waiting.with(|queue| {
            if queue.remove(&node) {
                // Those behind it may have waited for it alone.
                Some(if cfg!(fyris_mutant = "rw_withdraws_silently") {
                    Granted::none()
                } else {
                    self.grant(queue)
                })
            } else {
                self.withdraw_drainer(queue, &node, 0)
            }
        });
        // If it is neither in the queue nor the drainer, its signal is on the way.
        withdrawn.is_none() && node.signal.wait(None)
    }

    /// Lets in the threads at the head of the queue that may go on: after each change that takes a claim or an upgrader
    /// away.
    #[cold]
    pub(super) fn advance(&self) {
        let _granted = self.waiting.with(|queue| self.grant(queue));
    }

    /// Takes from the head of the queue all that may have the lock together, and gives it to them:
    /// * a reader, if there is no claim, neither from before nor granted here: it is noted;
    /// * an upgradable reader, if there is neither claim nor upgrader: it becomes the upgrader;
    /// * a writer, likewise: it gets the claim, and is the drainer of the readers that are noted, also of those granted
    ///   before it here;
    /// * another head waits for the thread that has the lock, and all behind it wait for the head.
    ///
    /// While the queue is not empty the bits for the writer and the upgrader are only set under the latch, so what is
    /// decided here by a load still holds when the word is changed.
    pub(super) fn grant(&self, queue: &mut Queue) -> Granted {
        let mut granted = Granted::none();
        // Acquire: pairs with the Release of the unlock; the signals pass it on.
        let held = self.word.load(Ordering::Acquire) & (WRITER | UPGRADER);
        let (mut readers, mut taken) = (0, 0);
        while let Some(head) = queue.head() {
            let held = held | taken;
            match head.kind {
                Kind::Reader(place) if held & WRITER == 0 => {
                    self.readers.admit(place);
                    readers += 1;
                }
                Kind::Upgradable if held & (WRITER | UPGRADER) == 0 => taken |= UPGRADER,
                Kind::Writer if held & (WRITER | UPGRADER) == 0 => {
                    taken |= WRITER;
                    queue.drainer = queue.pop();
                    continue;
                }
                _ => break,
            }
            queue.pop().into_iter().for_each(|node| granted.push(node));
        }
        if readers > 0 || taken > 0 || queue.is_empty() {
            self.hand_over(queue, readers, taken, &mut granted);
        }
        granted
    }

    /// Notes in the flag word what [`RawFair::grant`] has decided.
    fn hand_over(&self, queue: &mut Queue, readers: u64, taken: u64, granted: &mut Granted) {
        let change = |word| {
            let word = self.readers.noted(word, readers) | taken;
            let word = if queue.is_empty() {
                word & !QUEUED
            } else {
                word
            };
            let drains = taken & WRITER != 0 && word & READERS != 0;
            Some(if drains { word | DRAIN } else { word })
        };
        // SeqCst: invariant ONE_SEES, for the claim and the bit for draining. Release: for the changes of the thread
        // that unlocked. Relaxed: a failure is repeated.
        let before = (self.word).fetch_update(Ordering::SeqCst, Ordering::Relaxed, change);
        let word = before.ok().and_then(change).unwrap_or(0);
        if word & DRAIN != 0 {
            self.finish_drain(queue, granted);
        } else if taken & WRITER != 0 {
            (queue.drainer.take().into_iter()).for_each(|node| granted.push(node));
        }
    }
}

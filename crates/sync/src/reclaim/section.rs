//! Sections: operations that a rare change has to wait out.
//!
//! # Why
//!
//! A table that gets another name, owner or protection must not be written to afterwards by an operation that was
//! admitted before. A reader-writer lock would say so at the price of a shared line at every operation. Here an
//! operation writes the address of the structure that it works on into a word of its own thread, and the thread that
//! makes the change looks at the words of all threads, after a barrier in each of them: the readers' table of BRAVO
//! (Dice and Kogan, 2019), with the barriers of `guard_cache`. Entering and leaving are two stores to a line that the
//! pin has touched already.
//!
//! # Invariant
//!
//! **QUIET**: when a thread changes a flag and then calls [`Sections::wait`], this holds when the call returns: every
//! section entered before the flag was seen to have changed is over, and its writes are visible. For an operation
//! enters, and then looks at the flag. If its entry comes before the barrier of `wait`, `wait` finds the entry and
//! waits for its end; if it comes after the barrier, the operation sees the flag.
//!
//! A thread that leaves a section and enters the next one is not waited for again: the low bits of its word count its
//! sections, and what `wait` waits for is that the word is another one.
//!
//! A thread whose slot is no place that others know, or that is in a section already, counts itself in a counter of the
//! [`Sections`] instead, with a fence of its own. With the number goes the process that counted: after a fork the child
//! does not have the other threads, and waits for none of them.

use super::guard_cache::light;
use super::{LocalGuard, scheme};
use crate::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use crate::lock::Backoff;

/// The bits of a word that count the sections of its thread. The others are an address.
const TURN: usize = align_of::<Sections>() - 1;

/// The value of a word, but for the turn, while its thread is in no section.
pub(super) const NONE: usize = 0;

/// The value of the word of a slot that others do not know: no address of anything.
pub(super) const UNKNOWN: usize = TURN + 1;

/// The sections of one thing, such as a table. It must not move or be dropped while one of them lasts.
#[derive(Debug, Default)]
pub struct Sections {
    /// Sections that no thread's word tells of: see [`number`].
    counted: AtomicU64,
}

/// A section: lasts until it is dropped. See [`Sections::enter`].
#[derive(Debug)]
#[must_use = "a section lasts until it is dropped"]
pub struct Section<'a> {
    sections: &'a Sections,
    told: Told<'a>,
}

/// The place by which others learn of a section.
#[derive(Debug)]
enum Told<'a> {
    /// The thread's word.
    Word(&'a AtomicUsize),
    /// The counter, in the process with this number.
    Counted(u64),
}

/// Bits of a counter that hold the number of sections. Those above hold the number of the process that counted.
const BITS: u32 = 32;

/// Returns the number of sections in a counter that belong to the process.
fn number(counted: u64, process: u64) -> u64 {
    if counted >> BITS == process || cfg!(fyris_mutant = "sync_child_counts") {
        counted & ((1 << BITS) - 1)
    } else {
        0
    }
}

impl Sections {
    /// Enters a section on the pinned thread. The flag that says whether the operation may go on is to be read after
    /// this.
    #[inline]
    pub fn enter<'a>(&'a self, pin: &'a LocalGuard) -> Section<'a> {
        let word = pin.0.word().filter(|word| announce(word, self.address()));
        Section {
            sections: self,
            told: word.map_or_else(|| self.count(), Told::Word),
        }
    }

    #[cold]
    #[inline(never)]
    fn count(&self) -> Told<'_> {
        let process = scheme::process();
        let more = |counted| Some(process << BITS | (number(counted, process) + 1));
        // Relaxed: the fence orders it.
        let _ = (self.counted).fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        // SeqCst: pairs with the fence in `wait`.
        fence(Ordering::SeqCst);
        Told::Counted(process)
    }

    /// Takes a section off the counter, if it still is in the count of the process that entered it.
    #[cold]
    #[inline(never)]
    fn uncount(&self, process: u64) {
        let less = |counted: u64| (number(counted, process) > 0).then(|| counted - 1);
        // Release: pairs with the Acquire in `wait`.
        let _ = (self.counted).fetch_update(Ordering::Release, Ordering::Relaxed, less);
    }

    /// Waits until every section is over that was entered before its thread could see what the caller wrote before
    /// this call. The caller's own does not count, if its word tells of it.
    ///
    /// Costs a barrier in every thread of the process, some 10 us, if other threads have ever been pinned.
    pub fn wait(&self, _pin: &LocalGuard) {
        // SeqCst: pairs with the fence in `count`.
        fence(Ordering::SeqCst);
        scheme::wait_for_words(self.address());
        let process = scheme::process();
        // Acquire: pairs with the Release in `uncount`.
        wait_until(|| number(self.counted.load(Ordering::Acquire), process) == 0);
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl Drop for Section<'_> {
    #[inline]
    fn drop(&mut self) {
        match self.told {
            Told::Word(word) => leave(word),
            Told::Counted(process) => self.sections.uncount(process),
        }
    }
}

/// Announces in the thread's own word that it works on the structure at the address. Returns false if the word is not
/// free.
#[inline]
fn announce(word: &AtomicUsize, address: usize) -> bool {
    // Relaxed: only this thread writes it.
    let before = word.load(Ordering::Relaxed);
    if before & !TURN != NONE {
        return false;
    }
    // Release: pairs with the Acquire in `wait_for`, which may see this section instead of the end of the one before.
    // The barrier orders it before what comes.
    let turn = before + usize::from(!cfg!(fyris_mutant = "sync_section_uncounted"));
    word.store(address | turn & TURN, Ordering::Release);
    if !cfg!(fyris_mutant = "sync_section_unfenced") {
        light();
    }
    true
}

/// Says in the thread's own word that its section is over.
#[inline]
fn leave(word: &AtomicUsize) {
    // Relaxed: only this thread writes it. Release: pairs with the Acquire in `wait_for`.
    word.store(word.load(Ordering::Relaxed) & TURN, Ordering::Release);
}

/// Waits until the section of the address is over that a thread's word tells of. The caller has made a heavy barrier.
pub(super) fn wait_for(word: &AtomicUsize, address: usize) {
    // Acquire: pairs with the Release in `leave`: the writes made in the section are seen.
    let now = || word.load(Ordering::Acquire);
    let found = now();
    if found & !TURN == address {
        // One that is as many sections on that the count has come round is taken for the same: by one look in eight.
        wait_until(|| now() != found);
    }
}

fn wait_until(over: impl Fn() -> bool) {
    let mut backoff = Backoff::new();
    while !over() {
        // A section may be the insert of a long list.
        backoff.wait_long();
    }
}

#[cfg(all(test, loom))]
mod tests {
    use super::super::guard_cache::heavy;
    use super::*;
    use crate::atomic::AtomicBool;
    use loom::sync::Arc;
    use loom::thread;

    /// A thing that may be written to until it is closed. Relaxed, every access to it: the barriers of sections are all
    /// that orders them, which is what the models check.
    #[derive(Default)]
    struct Thing {
        sections: Sections,
        closed: AtomicBool,
        written: AtomicUsize,
    }

    /// Checks a closed section: one thread writes if it may, by `enter`; another closes, by `wait`, and then sees no
    /// write that comes later.
    fn check(enter: fn(&Thing, &AtomicUsize, &dyn Fn()), wait: fn(&Thing, &AtomicUsize)) {
        loom::model(move || {
            let thing = Arc::new(Thing::default());
            let word = Arc::new(AtomicUsize::new(NONE));
            let writer = {
                let (thing, word) = (Arc::clone(&thing), Arc::clone(&word));
                thread::spawn(move || {
                    enter(&thing, &word, &|| {
                        if !thing.closed.load(Ordering::Relaxed) {
                            thing.written.store(1, Ordering::Relaxed);
                        }
                    });
                })
            };
            thing.closed.store(true, Ordering::Relaxed);
            wait(&thing, &word);
            let seen = thing.written.load(Ordering::Relaxed);
            writer.join().unwrap();
            let last = thing.written.load(Ordering::Relaxed);
            assert_eq!(seen, last, "written to when it was closed");
        });
    }

    #[test]
    fn an_announced_section_is_waited_for() {
        let enter = |thing: &Thing, word: &AtomicUsize, work: &dyn Fn()| {
            assert!(announce(word, thing.sections.address()));
            work();
            leave(word);
        };
        check(enter, |thing, word| {
            heavy();
            wait_for(word, thing.sections.address());
        });
    }

    /// What was written in a section is seen also if the thread is in the next one already.
    #[test]
    fn a_section_that_was_left_for_the_next_one_is_over() {
        let enter = |thing: &Thing, word: &AtomicUsize, work: &dyn Fn()| {
            for work in [work, &|| ()] {
                assert!(announce(word, thing.sections.address()));
                work();
                leave(word);
            }
        };
        check(enter, |thing, word| {
            heavy();
            wait_for(word, thing.sections.address());
        });
    }

    #[test]
    fn a_counted_section_is_waited_for() {
        let enter = |thing: &Thing, _: &AtomicUsize, work: &dyn Fn()| {
            let pin = crate::reclaim::pin();
            let section = thing.sections.enter(&pin);
            work();
            drop(section);
        };
        check(enter, |thing, _| {
            let pin = crate::reclaim::pin();
            thing.sections.wait(&pin);
        });
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::reclaim::pin;
    use std::sync::atomic::AtomicBool;

    /// A section, and one within it of the same thing: others wait for both, the thread itself does not for the first.
    #[test]
    fn others_wait_and_the_thread_itself_does_not() {
        let sections = Sections::default();
        let over = AtomicBool::new(false);
        let pin = pin();
        let outer = sections.enter(&pin);
        let inner = sections.enter(&pin);
        std::thread::scope(|s| {
            let waiter = s.spawn(|| {
                sections.wait(&super::super::pin());
                // Relaxed, as the store below: ordered by the end of the section and the wait.
                assert!(over.load(Ordering::Relaxed));
            });
            std::thread::sleep(std::time::Duration::from_millis(20));
            drop(inner);
            if matches!(outer.told, Told::Word(_)) {
                sections.wait(&pin);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
            over.store(true, Ordering::Relaxed);
            drop(outer);
            waiter.join().unwrap();
        });
    }

    /// A thread that is in section after section keeps nobody waiting.
    #[test]
    fn the_next_section_is_not_waited_for() {
        let (word, sections) = (AtomicUsize::new(NONE), Sections::default());
        let address = sections.address();
        assert!(announce(&word, address));
        std::thread::scope(|s| {
            let waiter = s.spawn(|| wait_for(&word, address));
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!waiter.is_finished());
            // So fast that the waiter is most likely not to look in between.
            leave(&word);
            assert!(announce(&word, address));
            waiter.join().unwrap();
        });
    }

    /// More threads than have places known to others: none writes to what has been closed.
    #[test]
    fn nothing_is_written_once_it_is_closed() {
        const IDLE: usize = if cfg!(miri) { 10 } else { 260 };
        const WRITERS: usize = 4;
        let sections = Sections::default();
        let (closed, written) = (AtomicBool::new(false), AtomicUsize::new(0));
        let (ready, over) = (
            std::sync::Barrier::new(IDLE + WRITERS + 1),
            std::sync::Barrier::new(IDLE + 1),
        );
        // Relaxed, all: ordered by the sections and the wait, or not at all, which the test would find.
        let write = || {
            while !closed.load(Ordering::Relaxed) {
                let pin = pin();
                let _section = sections.enter(&pin);
                if !closed.load(Ordering::Relaxed) {
                    written.fetch_add(1, Ordering::Relaxed);
                }
            }
        };
        std::thread::scope(|s| {
            // Half of the writers come when there are places, the others when there may be none.
            for i in 0..IDLE + WRITERS {
                let idle = WRITERS / 2..IDLE + WRITERS / 2;
                let writes = !idle.contains(&i);
                let (ready, over) = (&ready, &over);
                s.spawn(move || {
                    drop(pin());
                    ready.wait();
                    if writes {
                        write();
                    } else {
                        over.wait();
                    }
                });
            }
            ready.wait();
            std::thread::sleep(std::time::Duration::from_millis(5));
            closed.store(true, Ordering::Relaxed);
            sections.wait(&pin());
            let seen = written.load(Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(5));
            assert_eq!(written.load(Ordering::Relaxed), seen);
            over.wait();
        });
    }
}

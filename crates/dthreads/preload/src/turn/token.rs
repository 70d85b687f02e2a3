//! The token: the one order of all synchronization points.
//!
//! Threads that can run are in a ring. The token goes around it; who takes it brings its memory up to date, does what
//! the call asks for, commits, and passes it on. Which thread is next depends on the ring and on what threads have
//! changed before (`skip.rs`), which is the same in every run: so the order of turns is, and all that is seen in them.
//!
//! * Invariant **TURN**: memory is updated when the token is taken, and committed before it is passed.
//! * Invariant **TOKEN_KEPT**: a thread keeps the token while it holds a lock, after it has created a thread, while no
//!   other is in the ring, and until the turn has the number of calls that `--turn` sets. Then a turn is several calls
//!   long, with one update and one commit. It keeps the token, too, where all others are skipped.
//! * A thread that waits for another leaves the ring, so it holds up no other. At the end of each call all sleepers
//!   whose deadlines have come by virtual time are woken. When the ring is empty the one with the earliest deadline is,
//!   and the virtual time is its deadline. Without one the token waits for threads in system calls (`outside.rs`); if
//!   there are none, all are stuck for ever.

use fyris_dthreads_tools::record::{Operation, THREADS};

use crate::shared::control::{NEVER, Thread, control, record, state};
use crate::shared::{arena, memory};
use crate::system::{LOCAL, Stage, apart, noise, site};
use crate::turn::wait::{BEGIN, assign, wait_for, wait_for_turn};
use crate::turn::{fence, held, log, outside, ring, skip, watchdog};

/// Virtual nanoseconds that a turn takes.
const TICK: u64 = 1000;

/// A turn: the token is here, and the memory up to date.
pub(crate) struct Turn {
    event: log::Event,
}

/// Takes the token for a call about `object`.
pub(crate) fn take(operation: Operation, object: u64) -> Turn {
    noise::delay();
    // Later the library itself may have made calls.
    LOCAL.call.set(site::both());
    let mut event = log::Event::arrived(operation, object);
    if LOCAL.holding.get() {
        wait_for_child();
    } else {
        fence::arrive();
        event.waited();
        wait_for_turn();
        LOCAL.holding.set(true);
        begin_turn();
    }
    note(&mut event);
    Turn { event }
}

/// Does the `work` of a call about `object` in a turn, on the library's own stack.
pub(crate) fn in_turn<R>(operation: Operation, object: u64, work: impl FnOnce(&Turn) -> R) -> R {
    apart(move || {
        let turn = take(operation, object);
        let result = work(&turn);
        turn.pass();
        result
    })
}

/// Begins a turn anew in a call that has given the token away; another thread has put this one into the ring.
fn go_on(mut event: log::Event) -> Turn {
    wait_for_turn();
    LOCAL.holding.set(true);
    begin_turn();
    note(&mut event);
    Turn { event }
}

/// Returns to the ring from a system call; `object` is what [`Turn::step_out`] was about.
pub(crate) fn come_back(object: u64) -> Turn {
    let mut event = log::Event::arrived(Operation::Back, object);
    event.waited();
    outside::end();
    go_on(event)
}

/// Does what a new turn begins with.
fn begin_turn() {
    let (control, me) = (control(), LOCAL.me.get());
    fence::begin_turn();
    LOCAL.points.set(0);
    control.thread(me).stack_low.set(LOCAL.stack.get() as u64);
    memory::update();
    arena::collect();
}

/// Counts a synchronization point.
fn note(event: &mut log::Event) {
    let control = control();
    control
        .time
        .set(control.time.get().max(LOCAL.time.get()) + TICK);
    LOCAL.time.set(control.time.get());
    event.began(LOCAL.me.get());
}

impl Turn {
    /// Ends the call: commits and passes the token on, however few calls the turn has had, unless it is kept otherwise.
    pub(crate) fn pass_now(self) {
        LOCAL.points.set(control().points.get());
        self.pass();
    }

    /// Ends the call: commits and passes the token on, unless it is kept.
    pub(crate) fn pass(self) {
        let me = LOCAL.me.get();
        if LOCAL.stage.get() == Stage::Ending {
            return self.keep();
        }
        outside::admit();
        wake_changed();
        wake_due();
        let next = control().thread(me).next.get() as usize;
        LOCAL.points.set(LOCAL.points.get() + 1);
        let is_whole = LOCAL.points.get() >= control().points.get();
        if next != me && is_whole && !held::any_of(me) {
            self.publish();
            skip::begin(self.event.operation());
            let next = skip::choose(next);
            if next != me {
                let round = fence::end_turn();
                skip::give(next);
                self.event.ended();
                fence::wait(round);
                return;
            }
            LOCAL.points.set(0);
        }
        control().thread(me).stack_low.set(LOCAL.stack.get() as u64);
        self.event.ended();
    }

    /// Commits, and notes how many pages.
    fn publish(&self) {
        publish();
        self.event.committed();
    }

    /// Ends the call, and keeps the token until the next one.
    pub(crate) fn keep(self) {
        self.event.committed();
        self.event.ended();
    }

    /// Sleeps until another thread wakes this one or, at the earliest, virtual time is at `deadline`; has the token
    /// again then. Returns whether it was woken.
    pub(crate) fn sleep(self, operation: Operation, object: u64, deadline: u64) -> (Turn, bool) {
        let (control, me) = (control(), LOCAL.me.get());
        let thread = control.thread(me);
        thread.waits.set(object);
        thread.how.set(operation as u64);
        thread.deadline.set(deadline);
        control.earliest.set(control.earliest.get().min(deadline));
        thread.timed_out.set(0);
        control.order.add(1);
        thread.order.set(control.order.get());
        self.publish();
        leave(state::ASLEEP);
        self.event.ended();
        let turn = go_on(log::Event::arrived(Operation::Wake, object));
        (turn, thread.timed_out.get() == 0)
    }

    /// Leaves the ring for a system call that may last, which one of the signals `accepts` ends. [`come_back`] follows.
    pub(crate) fn step_out(self, accepts: u64) {
        self.publish();
        outside::begin(accepts);
        leave(state::OUTSIDE);
        self.event.ended();
    }

    /// Ends the thread: leaves the ring for good. The process has no token and no thread then.
    pub(crate) fn end(self, to: u64) {
        self.publish();
        leave(to);
        self.event.ended();
    }

    /// Wakes the thread in a slot: it is the last of the ring to have a turn.
    pub(crate) fn wake(&self, slot: usize) {
        ring::enter(slot);
    }

    /// Wakes the thread that has waited longest for `object` by `operation`.
    pub(crate) fn wake_first(&self, operation: Operation, object: u64) -> Option<usize> {
        let first =
            waiters(operation, object).min_by_key(|&slot| control().thread(slot).order.get());
        first.inspect(|&slot| ring::enter(slot))
    }
}

/// Returns the slots of the threads that wait for `object` by `operation`.
pub(crate) fn waiters(operation: Operation, object: u64) -> impl Iterator<Item = usize> {
    let waits = move |thread: &Thread| {
        thread.state.get() == state::ASLEEP
            && thread.waits.get() == object
            && thread.how.get() == operation as u64
    };
    let used = control().used();
    used.filter(move |(_, thread)| waits(thread))
        .map(|(slot, _)| slot)
}

/// Commits (invariant TURN).
pub(crate) fn publish() {
    wait_for_child();
    let thread = control().thread(LOCAL.me.get());
    thread.stack_low.set(LOCAL.stack.get() as u64);
    thread.mask.set(LOCAL.mask.get());
    arena::hand_back();
    skip::remember(memory::commit());
}

/// Waits until the thread that was created last has the memory of its creation: a commit now would be in it, or not.
fn wait_for_child() {
    let Some(child) = LOCAL.creating.take() else {
        return;
    };
    wait_for(&control().thread(child).begun);
}

/// Takes this thread out of the ring and passes the token on.
fn leave(to: u64) {
    fence::end_turn();
    // Where it waits from now on, it is at a synchronization point.
    fence::arrive();
    outside::admit();
    wake_changed();
    wake_due();
    let (control, me) = (control(), LOCAL.me.get());
    let thread = control.thread(me);
    let mut next = thread.next.get() as usize;
    if next == me {
        // The ring will be empty: the earliest sleeper is due.
        thread.state.set(to);
        match wake_earliest() {
            Some(slot) => next = slot,
            None if control.live.get() == 0 => {
                LOCAL.holding.set(false);
                // None has called `exit`: main's process is to do it.
                return assign(control.thread(0), BEGIN);
            }
            None if control.outside.get() > 0 => {
                control.running.set(0);
                return outside::park();
            }
            None => watchdog::stuck(),
        }
        ring::alone(next);
    } else {
        ring::leave(me, to);
        next = skip::choose(next);
    }
    skip::give(next);
}

/// Reads a word of memory that the program may change.
pub(crate) fn word_at(address: u64) -> u32 {
    // SAFETY: aligned, and in the segment, as was looked at before the wait.
    unsafe { std::ptr::with_exposed_provenance::<u32>(address as usize).read_volatile() }
}

/// Wakes the threads that wait for words of memory which are not what they were, as this thread sees them: all that was
/// committed, and what it is about to commit. Whoever has changed one may not have seen that a thread waits.
fn wake_changed() {
    let control = control();
    if control.futexes.get() == 0 {
        return;
    }
    let is_changed = |thread: &Thread| {
        thread.state.get() == state::ASLEEP
            && thread.how.get() == Operation::FutexWait as u64
            && word_at(thread.waits.get()) != thread.expected.get() as u32
    };
    let changed = control.used().filter(|(_, thread)| is_changed(thread));
    let mut slots: Vec<_> = changed.map(|(slot, _)| slot).collect();
    slots.sort_unstable_by_key(|&slot| control.thread(slot).order.get());
    slots.into_iter().for_each(ring::enter);
}

/// Finds the sleeper with the earliest deadline.
fn earliest() -> Option<(usize, &'static Thread)> {
    let sleepers = control().used().filter(|(_, thread)| {
        thread.state.get() == state::ASLEEP && thread.deadline.get() != NEVER
    });
    sleepers.min_by_key(|(_, thread)| (thread.deadline.get(), thread.order.get()))
}

/// Wakes the sleepers whose deadlines have come, in their order.
fn wake_due() {
    let control = control();
    while control.earliest.get() <= control.time.get() {
        let first = earliest();
        let deadline = first.map_or(NEVER, |(_, thread)| thread.deadline.get());
        control.earliest.set(deadline);
        if let Some((slot, thread)) = first
            && deadline <= control.time.get()
        {
            ring::enter(slot);
            thread.timed_out.set(1);
        }
    }
}

/// Finds the sleeper with the earliest deadline, and lets it be that late.
fn wake_earliest() -> Option<usize> {
    let (control, (slot, thread)) = (control(), earliest()?);
    control
        .time
        .set(control.time.get().max(thread.deadline.get()));
    thread.timed_out.set(1);
    thread.waits.set(0);
    Some(slot)
}

/// Puts the first thread in the ring, alone.
pub(crate) fn first() {
    let control = control();
    ring::alone(0);
    for count in [&control.live, &control.slots] {
        count.set(1);
    }
    control.earliest.set(NEVER);
    record().most.set(1);
    record().created.set(1);
    LOCAL.holding.set(true);
    LOCAL.stage.set(Stage::On);
}

/// Finds the lowest slot that no thread has.
pub(crate) fn free_slot() -> Option<usize> {
    let control = control();
    let limit = (control.limit.get() as usize).min(THREADS);
    let slot = (1..limit).find(|&slot| control.thread(slot).state.get() == state::FREE)?;
    control.slots.set(control.slots.get().max(slot as u64 + 1));
    Some(slot)
}

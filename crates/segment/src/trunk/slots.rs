//! Slots: the attached processes, and the log position of each.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | owner: process id (22 bits) and start time in clock ticks (42 bits); 0: none |
//! | 8..16 | place: a log position, with [`OVERRUN`] and [`EVICTED`] |
//! | 16..24 | commits made |
//! | 24..32 | base: the position from which the local changes started |
//! | 32..40 | not 0: pinned, never evicted |
//!
//! A slot keeps two things for its process (invariant KEEP in `trunk/mod.rs`). Its *place* holds the log: the entries
//! from there on, and each frame that was current there or later. If the log must go on without this process the place
//! is [`OVERRUN`]; the slot then keeps two *snapshots*: the frames that were current at its place, and those that were
//! at its base. That is the merge's base and what it merges; they are as many frames as the segment has pages, twice.
//! If even these cannot be kept the slot is [`EVICTED`], unless it is *pinned*: its process reads the frames of its
//! base in place, so they are never given up while it lives.
//!
//! An update moves the place first, then merges, then moves the base: at each moment both sides of the merge are kept.

use fyris_sync::atomic::{AtomicU64, Ordering, fence};
use std::time::{Duration, Instant};
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::Pid;

use super::Trunk;
use super::gate;
use super::layout::{SLOT, word};
use crate::error::{Error, Result};
use crate::failpoints::{failpoint, patience};

/// Set in a place: the slot holds nothing of the log.
const OVERRUN: u64 = 1 << 63;
/// Set in a place: the slot keeps no snapshots.
const EVICTED: u64 = 1 << 62;
/// Place and base of a slot that has not entered: a position that is never reached.
const IDLE: u64 = !EVICTED;
/// The position of a place.
const POSITION: u64 = EVICTED - 1;
const PID_BITS: u32 = 22;
/// The number of times that a process that enters may be overtaken by the tail.
const TRIES: usize = 10_000;

/// A process: its id alone could be another's by now, with the start time it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u64);

impl Process {
    /// Returns this process.
    pub(crate) fn me() -> Result<Process> {
        let pid = std::process::id();
        let start = start_time(pid).ok().flatten();
        let start = start.ok_or(Error::Unsupported("reading /proc/self/stat"))?;
        Ok(Process(u64::from(pid) | start << PID_BITS))
    }

    /// Returns the process that a slot's owner word names.
    pub(super) fn known_as(owner: u64) -> Process {
        Process(owner)
    }

    /// Returns its id.
    pub(crate) fn pid(self) -> u32 {
        (self.0 & ((1 << PID_BITS) - 1)) as u32
    }

    /// Returns whether it still runs: the same id, the same start. If that cannot be found out (no file
    /// descriptors left, no `/proc` in a new root) it counts as alive: the dead can wait, the living must
    /// not be buried.
    pub(crate) fn alive(self) -> bool {
        if !exists(self.pid()) {
            return false;
        }
        let start = self.0 >> PID_BITS;
        start_time(self.pid()).map_or(true, |found| found == Some(start))
    }
}

/// Returns whether there is a process of this id. Needs no file.
fn exists(pid: u32) -> bool {
    let pid = Pid::from_raw(pid as i32);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// Returns the time when a process started, in clock ticks since boot; `None` if it is dead or a zombie.
///
/// # Errors
///
/// It cannot be read. The process may have died just now.
fn start_time(pid: u32) -> io::Result<Option<u64>> {
    let stat = fs::read(format!("/proc/{pid}/stat"))?;
    let (state, start) = state_and_start(&stat).ok_or(io::ErrorKind::InvalidData)?;
    // A dead main thread looks like a dead process, but others may go on.
    let dead = matches!(state, b'Z' | b'X' | b'x') && threads(pid)? <= 1;
    Ok((!dead).then_some(start))
}

/// Returns the third and the 22nd field of a line of `/proc/PID/stat`.
fn state_and_start(stat: &[u8]) -> Option<(u8, u64)> {
    // The name may hold anything, parentheses too: the fields begin after the last one.
    let end = stat.iter().rposition(|&b| b == b')')?;
    let fields = std::str::from_utf8(stat.get(end + 2..)?).ok()?;
    let mut fields = fields.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    Some((state, fields.nth(18)?.parse().ok()?))
}

fn threads(pid: u32) -> io::Result<usize> {
    Ok(fs::read_dir(format!("/proc/{pid}/task"))?.count())
}

/// One attached process, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlotView {
    pub(crate) owner: Process,
    /// `None`: it has been evicted.
    pub(crate) position: Option<u64>,
    pub(crate) commits: u64,
    /// It is pinned.
    pub(crate) in_place: bool,
}

/// The doctor's slot, given back when dropped.
#[derive(Debug)]
pub(crate) struct Desk<'a>(&'a Trunk);

impl Desk<'_> {
    /// Returns its number.
    pub(crate) fn slot(&self) -> usize {
        self.0.geometry.slots
    }
}

impl Drop for Desk<'_> {
    fn drop(&mut self) {
        self.0.detach(self.slot());
    }
}

/// The positions that all slots keep together.
#[derive(Debug)]
pub(super) struct Standing {
    /// The lowest place that holds the log; the maximum if none does.
    pub(super) place: u64,
    /// The lowest place or base: waiting also for processes that merge, whose base is about to move.
    pub(super) low: u64,
    /// The snapshots kept, ascending.
    pub(super) snapshots: Vec<u64>,
}

impl Trunk {
    fn slot_word(&self, slot: usize, at: usize) -> &AtomicU64 {
        assert!(slot <= self.geometry.slots);
        self.word(self.geometry.slots_at + slot * SLOT + at)
    }

    fn owner(&self, slot: usize) -> &AtomicU64 {
        self.slot_word(slot, 0)
    }

    fn place(&self, slot: usize) -> &AtomicU64 {
        self.slot_word(slot, 8)
    }

    fn base(&self, slot: usize) -> &AtomicU64 {
        self.slot_word(slot, 24)
    }

    fn pinned(&self, slot: usize) -> &AtomicU64 {
        self.slot_word(slot, 32)
    }

    /// Sees to it that this slot, which has not entered yet, is never evicted, and that commits keep runs together.
    pub(crate) fn pin(&self, slot: usize) {
        // Relaxed: a hint.
        self.word(word::READ_IN_PLACE).store(1, Ordering::Relaxed);
        // SeqCst: pairs with the load in `is_pinned`. Before the place that `evict` finds, so that it finds this as
        // well.
        self.pinned(slot).store(1, Ordering::SeqCst);
    }

    /// Returns whether a pinned slot keeps the snapshot of `position`. For holders of the lock.
    pub(super) fn is_pinned(&self, position: u64) -> bool {
        !cfg!(fyris_mutant = "segment_pin_ignored")
            && (0..self.slots_used()).any(|slot| {
                // SeqCst: pairs with the store in `pin`. A hostile process may set what it likes: commits then fail, as
                // if it read there.
                self.pinned(slot).load(Ordering::SeqCst) != 0
                    && self.process(slot).is_some()
                    && self.concerns(slot, position)
            })
    }

    /// Returns whether a slot has its place or its base at `position`.
    fn concerns(&self, slot: usize, position: u64) -> bool {
        // SeqCst, both: as in `standing`.
        let place = self.place(slot).load(Ordering::SeqCst);
        let base = self.base(slot).load(Ordering::SeqCst) & POSITION;
        place & POSITION == position || base == position
    }

    /// Slots that were ever used.
    fn slots_used(&self) -> usize {
        // SeqCst: pairs with the writes in `claim`, and is in one order with them and the handshake of `hold` and
        // `advance`: a process that does not see a new slot here has moved the gate before the new one looks at it.
        (self.word(word::SLOTS_USED).load(Ordering::SeqCst) as usize).min(self.geometry.slots)
    }

    /// Returns the process of a slot.
    pub(super) fn process(&self, slot: usize) -> Option<Process> {
        // SeqCst: pairs with the exchange in `claim`, and is in one order with it as in `slots_used`.
        match self.owner(slot).load(Ordering::SeqCst) {
            0 => None,
            owner => Some(Process(owner)),
        }
    }

    /// Takes a free slot, or that of a dead process, after repairing what that one left.
    pub(crate) fn claim(&self, me: Process) -> Result<usize> {
        let take = |slot: usize, old: u64| {
            // SeqCst: pairs with the Release in `detach`, so this comes after the last owner, and with the load in
            // `process`, so that `standing` sees the slot. Relaxed: another process has the slot.
            let taken =
                self.owner(slot)
                    .compare_exchange(old, me.0, Ordering::SeqCst, Ordering::Relaxed);
            taken.is_ok()
        };
        let slots = self.geometry.slots;
        let fresh = (0..slots).find(|&slot| take(slot, 0));
        if let Some(slot) = fresh {
            failpoint!("slot taken");
            // SeqCst: pairs with the load in `slots_used`.
            self.word(word::SLOTS_USED)
                .fetch_max(slot as u64 + 1, Ordering::SeqCst);
            self.idle(slot);
            return Ok(slot);
        }
        for slot in 0..slots {
            let Some(process) = self.process(slot) else {
                continue;
            };
            if !process.alive() && take(slot, process.0) {
                return self.inherit(slot, process);
            }
        }
        Err(Error::TooManyProcesses(slots))
    }

    /// Empties the slot of a dead process, which is in our name already.
    fn inherit(&self, slot: usize, dead: Process) -> Result<usize> {
        // Changes that the dead process had published must be applied before its frames are freed, and the lock may
        // name its slot, which is ours now: locking repairs.
        let repaired = self.lock(slot).and_then(|guard| self.recover(&guard));
        if let Err(error) = repaired {
            // Release: pairs with the SeqCst in `claim`. Dead again: the next to come tries anew.
            self.owner(slot).store(dead.0, Ordering::Release);
            return Err(error);
        }
        self.free_reserved(slot);
        self.idle(slot);
        Ok(slot)
    }

    /// Takes the slot after all others, which is the doctor's for as long as it holds the commit lock. If its last
    /// owner died that lock may be in its name, which is ours now: locking repairs.
    ///
    /// # Errors
    ///
    /// [`Error::LockTimeout`] if another doctor keeps it.
    pub(crate) fn take_desk(&self, me: Process) -> Result<Desk<'_>> {
        let slot = self.geometry.slots;
        let start = Instant::now();
        loop {
            let last = self.process(slot);
            let free = last.is_none_or(|process| !process.alive());
            let last = last.map_or(0, |process| process.0);
            // SeqCst and Relaxed: as in `claim`.
            let owner = self.owner(slot);
            if free
                && owner
                    .compare_exchange(last, me.0, Ordering::SeqCst, Ordering::Relaxed)
                    .is_ok()
            {
                failpoint!("desk taken");
                return Ok(Desk(self));
            }
            if start.elapsed() > patience() {
                let pid = self.process(slot).map_or(0, Process::pid);
                let millis = start.elapsed().as_millis() as u64;
                return Err(Error::LockTimeout { pid, millis });
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Makes the slot keep nothing.
    fn idle(&self, slot: usize) {
        // Release, all: pair with the loads in `is_pinned` and `standing`: the reads of the process of the slot come
        // before any later use of the frames that it kept.
        self.pinned(slot).store(0, Ordering::Release);
        self.base(slot).store(IDLE, Ordering::Release);
        self.place(slot).store(IDLE, Ordering::Release);
    }

    /// Gives a slot back; its frames must have been released.
    pub(crate) fn detach(&self, slot: usize) {
        self.idle(slot);
        failpoint!("slot idle");
        // Release: pairs with the SeqCst in `claim`.
        self.owner(slot).store(0, Ordering::Release);
    }

    /// Enters the slot at a position up to which all page heads are in place, and returns it.
    pub(crate) fn enter(&self, slot: usize) -> Result<u64> {
        let first = self.applied();
        for _ in 0..TRIES {
            let position = self.applied();
            if position <= POSITION && self.hold(slot, position) {
                return Ok(position);
            }
            // The gate went past between the two loads: others commit quickly; again.
        }
        match self.applied() == first {
            true => Err(Error::Corrupt("the gate is ahead of what was applied")),
            false => Err(Error::Busy),
        }
    }

    /// Holds the log from `position` on; false if it is too late for that.
    pub(crate) fn hold(&self, slot: usize, position: u64) -> bool {
        self.stand(slot, position);
        gate::is_open(self.word(word::GATE), position)
    }

    /// Holds the log no more, but keeps the snapshot of `position`.
    pub(crate) fn leave(&self, slot: usize, position: u64) {
        self.stand(slot, OVERRUN | position);
    }

    /// Goes back to `position`, the base, after an update that was refused.
    pub(crate) fn back(&self, slot: usize, position: u64) {
        if !self.hold(slot, position) {
            self.leave(slot, position);
        }
    }

    /// Sets the place, and remembers whether the slot was evicted.
    fn stand(&self, slot: usize, place: u64) {
        let old = gate::stand(self.place(slot), place);
        if old & EVICTED != 0 {
            // Relaxed: for this process only. Meanwhile the slot seemed to keep more than it does.
            self.place(slot).fetch_or(EVICTED, Ordering::Relaxed);
        }
    }

    /// Moves the place from one position to a later one; false if the slot was overrun meanwhile. The base stays.
    #[inline]
    pub(crate) fn advance_place(&self, slot: usize, from: u64, to: u64) -> bool {
        let step = |flag: u64| {
            let (from, to) = (flag | from, flag | to);
            // Release: pairs with the Acquire in `standing`: our reads of older entries come before.
            let moved =
                self.place(slot)
                    .compare_exchange(from, to, Ordering::Release, Ordering::Relaxed);
            moved.is_ok()
        };
        step(0) || step(EVICTED)
    }

    /// Moves the base to the place, `position`: the frames of the former base are not needed any more.
    #[inline]
    pub(crate) fn settle(&self, slot: usize, position: u64) {
        // Release: pairs with the Acquire in `standing`: our reads of older frames come before.
        self.base(slot).store(position, Ordering::Release);
    }

    /// Moves the base to the place, `position`, and takes the eviction back, for a slot that holds the log from there
    /// on; returns false if it was overrun again.
    pub(crate) fn return_to(&self, slot: usize, position: u64) -> bool {
        self.settle(slot, position);
        let evicted = EVICTED | position;
        // AcqRel: pairs with the loads in `standing`: this process's reads of frames come before, and from here on the
        // slot keeps snapshots, the new ones. Acquire: pairs with the exchange in `overrun_below`, if that was first.
        let back = self.place(slot).compare_exchange(
            evicted,
            position,
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        back.is_ok() || back == Err(position)
    }

    /// Returns whether the slot holds the log from `position` on. To be asked after reading entries, before believing
    /// them.
    #[inline]
    pub(crate) fn holds(&self, slot: usize, position: u64) -> bool {
        // Acquire fence: pairs with the Release fence in `overrun_below`: if any read before saw an overwritten word,
        // the load after sees the overrun.
        fence(Ordering::Acquire);
        self.place(slot).load(Ordering::Relaxed) & !EVICTED == position
    }

    /// Returns whether the slot keeps its snapshots. To be asked after reading frames, before believing them.
    #[inline]
    pub(crate) fn keeps(&self, slot: usize) -> bool {
        // Acquire fence: pairs with the Release fence in `commit::fill`: if any read before saw an overwritten word,
        // the load after sees the eviction, which came before the frame was free.
        fence(Ordering::Acquire);
        self.place(slot).load(Ordering::Relaxed) & EVICTED == 0
    }

    /// Notes one more commit of this slot, for people.
    pub(crate) fn count_commit(&self, slot: usize) {
        let count = self.slot_word(slot, 16);
        // Relaxed load and store: only this process writes here.
        count.store(
            count.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }

    /// Returns the positions that the slots keep, snapshots below `below` only. For holders of the lock, which know the
    /// `tail`.
    pub(super) fn standing(&self, tail: u64, below: u64) -> Standing {
        let mut standing = Standing {
            place: u64::MAX,
            low: u64::MAX,
            snapshots: Vec::new(),
        };
        for slot in (0..self.slots_used()).filter(|&slot| self.process(slot).is_some()) {
            // Acquire, within SeqCst: pairs with `advance_place`. The base after the place: an update moves the place
            // first, and an overrun process moves no base.
            let place = self.place(slot).load(Ordering::SeqCst);
            let base = self.base(slot).load(Ordering::SeqCst) & POSITION;
            let position = place & POSITION;
            if place & OVERRUN == 0 {
                standing.place = standing.place.min(position);
                standing.low = standing.low.min(position);
            }
            if place & EVICTED != 0 {
                continue;
            }
            // A base that the log has left behind is no reason to wait.
            if place & OVERRUN == 0 && base >= tail {
                standing.low = standing.low.min(base);
            }
            let kept = [position, base].into_iter().filter(|&at| at < below);
            standing.snapshots.extend(kept);
        }
        if standing.snapshots.len() > 1 {
            standing.snapshots.sort_unstable();
            standing.snapshots.dedup();
        }
        standing
    }

    /// Returns whether a living process has been evicted and may not know it yet.
    pub(super) fn anybody_evicted(&self) -> bool {
        (0..self.slots_used()).any(|slot| {
            // SeqCst: pairs with the exchange in `evict`: an eviction that came before a frame was free is seen by the
            // process that has reserved the frame.
            let evicted = self.place(slot).load(Ordering::SeqCst) & EVICTED != 0;
            evicted && self.process(slot).is_some_and(Process::alive)
        })
    }

    /// Evicts the processes that keep the snapshot of `position`. For holders of the lock.
    pub(super) fn evict(&self, position: u64) {
        for slot in 0..self.slots_used() {
            // So often at most: a hostile process may change its place all the time.
            for _ in 0..TRIES {
                // SeqCst, both: as in `standing`.
                let place = self.place(slot).load(Ordering::SeqCst);
                let base = self.base(slot).load(Ordering::SeqCst) & POSITION;
                let concerned = place & POSITION == position || base == position;
                if !concerned || place & EVICTED != 0 || self.process(slot).is_none() {
                    break;
                }
                // SeqCst: pairs with the loads in `keeps`, by the Release fence in `commit::fill`, and in
                // `anybody_evicted`: before anything that was kept for the process is free. Relaxed: the process has
                // moved by itself, and the loop loads again.
                let evicted = self.place(slot).compare_exchange(
                    place,
                    place | EVICTED,
                    Ordering::SeqCst,
                    Ordering::Relaxed,
                );
                if evicted.is_ok() {
                    // Relaxed: a number, for people.
                    self.word(word::EVICTIONS).fetch_add(1, Ordering::Relaxed);
                    failpoint!("laggard evicted");
                    break;
                }
            }
        }
    }

    /// Marks every slot below `position` as overrun: it holds the log no more. For holders of the lock.
    pub(crate) fn overrun_below(&self, position: u64) {
        for slot in 0..self.slots_used() {
            let place = self.place(slot);
            // SeqCst, here and in the exchange: as in `standing`. The exchange pairs also with the load in `holds`, by
            // the Release fence below.
            let mut at = place.load(Ordering::SeqCst);
            // So often at most: a hostile process may change its position all the time.
            for _ in 0..TRIES {
                if at & OVERRUN != 0 || at & POSITION >= position || self.process(slot).is_none() {
                    break;
                }
                match place.compare_exchange(at, at | OVERRUN, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => {
                        // Relaxed: a number, for people.
                        self.word(word::OVERRUNS).fetch_add(1, Ordering::Relaxed);
                        failpoint!("laggard overrun");
                        break;
                    }
                    // It has moved on by itself.
                    Err(now) => at = now,
                }
            }
        }
        // Release fence: pairs with the Acquire fence in `holds`; what is overwritten from here on
        // is overwritten after the overrun.
        fence(Ordering::Release);
    }

    /// Clears the slots of dead processes and frees what they had reserved. For holders of the lock.
    /// `but` is a slot not to look at. Returns how many.
    pub(crate) fn reap(&self, but: Option<usize>) -> Result<usize> {
        let mut reaped = 0;
        for slot in (0..self.slots_used()).filter(|slot| Some(*slot) != but) {
            let Some(process) = self.process(slot) else {
                continue;
            };
            if process.alive() {
                continue;
            }
            self.free_reserved(slot);
            self.idle(slot);
            failpoint!("slot reaped");
            // Only if it is still the dead one's: a new process may be claiming it. AcqRel: pairs with the SeqCst in
            // `claim`: the next owner finds the slot idle. Relaxed: another process has the slot.
            let owner = self.owner(slot);
            let _ = owner.compare_exchange(process.0, 0, Ordering::AcqRel, Ordering::Relaxed);
            reaped += 1;
        }
        Ok(reaped)
    }

    /// Forgets every slot: no process is attached. For the first process to open the file.
    pub(super) fn clear_slots(&self) {
        for slot in 0..=self.geometry.slots {
            self.idle(slot);
            // Release: pairs with the SeqCst in `claim`.
            self.owner(slot).store(0, Ordering::Release);
        }
    }

    /// Returns the state of a slot, for people.
    pub(crate) fn view(&self, slot: usize) -> Option<SlotView> {
        let owner = self.process(slot)?;
        // Relaxed, all: for people. The base: where the working copy stands.
        let (place, base) = (
            self.place(slot).load(Ordering::Relaxed),
            self.base(slot).load(Ordering::Relaxed),
        );
        let in_place = self.pinned(slot).load(Ordering::Relaxed) != 0;
        Some(SlotView {
            in_place,
            owner,
            position: (place & EVICTED == 0 && base < IDLE & POSITION).then_some(base),
            commits: self.slot_word(slot, 16).load(Ordering::Relaxed),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let me = Process::me().unwrap();
        assert!(me.alive() && me.pid() == std::process::id());
        let other_start = Process(me.0 ^ (1 << PID_BITS));
        assert!(!other_start.alive());
        assert!(!Process(0x3f_ffff).alive() && !Process(1 << PID_BITS).alive());
    }

    #[test]
    fn names_of_processes_may_hold_anything() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 777 20";
        let stat = format!("12 (a) Z b) c\n) {fields}");
        assert_eq!(state_and_start(stat.as_bytes()), Some((b'S', 777)));
        for bad in ["", "1 (x", "1 (x)", "1 (x) ", "1 (x) S 1", ")"] {
            assert_eq!(state_and_start(bad.as_bytes()), None, "{bad:?}");
        }
    }

    #[test]
    fn a_zombie_is_dead() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let start = loop {
            // The child may be gone before we look: then the test has nothing to see.
            match fs::read_to_string(format!("/proc/{}/stat", child.id())) {
                Ok(stat) if stat.contains(") Z ") => break start_time(child.id()).unwrap(),
                Ok(_) => std::thread::yield_now(),
                Err(_) => break None,
            }
        };
        assert_eq!(start, None);
        child.wait().unwrap();
    }
}

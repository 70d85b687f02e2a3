//! Slots: which processes are attached, and where each stands.
//!
//! | bytes | content |
//! |---|---|
//! | 0..8 | owner: process id (22 bits) and start time in clock ticks (42 bits); 0: nobody |
//! | 8..16 | position, with the highest bit set if the slot holds nothing: cut off, or not entered |
//! | 16..24 | commits made |

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::{fs, io};

use rustix::io::Errno;
use rustix::process::Pid;

use super::Trunk;
use super::layout::{SLOT, SLOTS, word};
use crate::error::{Error, Result};
use crate::steps::step;

/// Set in a position: this slot keeps nothing alive.
const CUT: u64 = 1 << 63;
/// The position of a slot that has not entered.
const IDLE: u64 = u64::MAX;
const PID_BITS: u32 = 22;
/// How often a process that enters may be overtaken by the tail.
const TRIES: usize = 10_000;

/// A process: its id alone could be another's by now, with the start time it cannot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Process(u64);

impl Process {
    /// This process.
    pub(crate) fn me() -> Result<Process> {
        let pid = std::process::id();
        let start = start_time(pid).ok().flatten();
        let start = start.ok_or(Error::Unsupported("reading /proc/self/stat"))?;
        Ok(Process(u64::from(pid) | start << PID_BITS))
    }

    /// Its id.
    pub(crate) fn pid(self) -> u32 {
        (self.0 & ((1 << PID_BITS) - 1)) as u32
    }

    /// Whether it still runs: the same id, the same start. If that cannot be found out (no file
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

/// Whether there is a process of this id. Needs no file.
fn exists(pid: u32) -> bool {
    let pid = Pid::from_raw(pid as i32);
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) != Err(Errno::SRCH))
}

/// When a process started, in clock ticks since boot; `None` if it is dead or a zombie.
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

/// The third and the 22nd field of a line of `/proc/PID/stat`.
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
    pub(crate) position: Option<u64>,
    pub(crate) commits: u64,
}

impl Trunk {
    fn owner(&self, slot: usize) -> &AtomicU64 {
        assert!(slot < SLOTS);
        self.word(self.geometry.slots_at + slot * SLOT)
    }

    fn place(&self, slot: usize) -> &AtomicU64 {
        assert!(slot < SLOTS);
        self.word(self.geometry.slots_at + slot * SLOT + 8)
    }

    /// Slots that were ever used.
    fn slots_used(&self) -> usize {
        // SeqCst: pairs with the writes in `claim`, and is in one order with them and the handshake of `hold` and `advance`:
        // who does not see a new slot here has moved the tail before the new one looks at it.
        (self.word(word::SLOTS_USED).load(Ordering::SeqCst) as usize).min(SLOTS)
    }

    /// The process of a slot.
    pub(super) fn process(&self, slot: usize) -> Option<Process> {
        // SeqCst: as `slots_used`.
        match self.owner(slot).load(Ordering::SeqCst) {
            0 => None,
            owner => Some(Process(owner)),
        }
    }

    /// Takes a free slot, or that of a dead process, after repairing what that one left.
    pub(crate) fn claim(&self, me: Process) -> Result<usize> {
        let take = |slot: usize, old: u64| {
            // SeqCst: after the last owner's detach, before anything we do in the slot, and seen by `slowest`.
            let taken =
                self.owner(slot)
                    .compare_exchange(old, me.0, Ordering::SeqCst, Ordering::Relaxed);
            taken.is_ok()
        };
        let fresh = (0..SLOTS).find(|&slot| take(slot, 0));
        if let Some(slot) = fresh {
            step!("slot taken");
            // SeqCst: as the owner above.
            self.word(word::SLOTS_USED)
                .fetch_max(slot as u64 + 1, Ordering::SeqCst);
            self.place(slot).store(IDLE, Ordering::Release);
            return Ok(slot);
        }
        for slot in 0..SLOTS {
            let Some(process) = self.process(slot) else {
                continue;
            };
            if !process.alive() && take(slot, process.0) {
                return self.inherit(slot, process);
            }
        }
        Err(Error::TooManyProcesses(SLOTS))
    }

    /// Empties the slot of a dead process, which is in our name already.
    fn inherit(&self, slot: usize, dead: Process) -> Result<usize> {
        // What the dead one had published must be applied before its frames are freed, and
        // the lock may be in its name, which is ours now: locking repairs.
        let repaired = self.lock(slot).and_then(|guard| self.recover(&guard));
        if let Err(error) = repaired {
            // Release: pairs with the SeqCst in `claim`. Dead again: whoever comes next tries anew.
            self.owner(slot).store(dead.0, Ordering::Release);
            return Err(error);
        }
        self.free_reserved(slot);
        self.place(slot).store(IDLE, Ordering::Release);
        Ok(slot)
    }

    /// Gives a slot back; its frames must have been released.
    pub(crate) fn detach(&self, slot: usize) {
        self.place(slot).store(IDLE, Ordering::Release);
        step!("slot idle");
        // Release: pairs with the SeqCst in `claim`.
        self.owner(slot).store(0, Ordering::Release);
    }

    /// Enters the slot at a position up to which all page heads are in place, and returns it.
    pub(crate) fn enter(&self, slot: usize) -> Result<u64> {
        for _ in 0..TRIES {
            let position = self.applied();
            if position & CUT == 0 && self.hold(slot, position) {
                return Ok(position);
            }
            // The tail went past between the two loads: others commit quickly; again.
        }
        self.leave(slot, 0);
        Err(Error::Corrupt("the tail is ahead of what was applied"))
    }

    /// Says that this process stands at `position`; false if it is too late for that.
    pub(crate) fn hold(&self, slot: usize, position: u64) -> bool {
        // SeqCst, as the load and both accesses in `advance`: either that one sees our position and stays behind it, or we
        // see its tail.
        self.place(slot).store(position, Ordering::SeqCst);
        self.tail() <= position
    }

    /// Holds nothing any more; remembers the position for people.
    pub(crate) fn leave(&self, slot: usize, position: u64) {
        self.place(slot).store(CUT | position, Ordering::Release);
    }

    /// Moves from one position to a later one; false if the slot was cut meanwhile.
    #[inline]
    pub(crate) fn move_on(&self, slot: usize, from: u64, to: u64) -> bool {
        // Release: pairs with the Acquire in `slowest`: our reads of older frames come before.
        let moved =
            self.place(slot)
                .compare_exchange(from, to, Ordering::Release, Ordering::Relaxed);
        moved.is_ok()
    }

    /// Whether the slot still holds `position`. To be asked after reading what it protects, before
    /// believing it.
    #[inline]
    pub(crate) fn holds(&self, slot: usize, position: u64) -> bool {
        // Acquire fence: pairs with the Release fences in `cut_below` and in `commit::fill`: if any read before
        // saw an overwritten word, the load after sees the cut.
        fence(Ordering::Acquire);
        self.place(slot).load(Ordering::Relaxed) == position
    }

    /// Notes one more commit of this slot, for people.
    pub(crate) fn count_commit(&self, slot: usize) {
        let count = self.word(self.geometry.slots_at + slot * SLOT + 16);
        // Relaxed load and store: only this process writes here.
        count.store(
            count.load(Ordering::Relaxed).wrapping_add(1),
            Ordering::Relaxed,
        );
    }

    /// The position of the slowest process that is not cut.
    pub(super) fn slowest(&self) -> u64 {
        (0..self.slots_used())
            .filter(|&slot| self.process(slot).is_some())
            // SeqCst: one side of the handshake with `hold`; Acquire within: pairs with `move_on`.
            .map(|slot| self.place(slot).load(Ordering::SeqCst))
            .filter(|place| place & CUT == 0)
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Cuts off every process below `position`. For holders of the lock.
    pub(super) fn cut_below(&self, position: u64) {
        for slot in 0..self.slots_used() {
            let place = self.place(slot);
            let mut at = place.load(Ordering::SeqCst);
            // So often at most: a hostile process may change its position all the time.
            for _ in 0..TRIES {
                if at & CUT != 0 || at >= position || self.process(slot).is_none() {
                    break;
                }
                match place.compare_exchange(at, at | CUT, Ordering::SeqCst, Ordering::SeqCst) {
                    Ok(_) => {
                        self.word(word::CUTS).fetch_add(1, Ordering::Relaxed);
                        step!("laggard cut");
                        break;
                    }
                    // It has moved on by itself.
                    Err(now) => at = now,
                }
            }
        }
        // Release fence: pairs with the Acquire fence in `holds`; what is overwritten from here on
        // is overwritten after the cut.
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
            self.place(slot).store(IDLE, Ordering::Release);
            step!("slot reaped");
            // Only if it is still the dead one's: a new process may be claiming it.
            let owner = self.owner(slot);
            let _ = owner.compare_exchange(process.0, 0, Ordering::AcqRel, Ordering::Relaxed);
            reaped += 1;
        }
        Ok(reaped)
    }

    /// Forgets every slot: nobody is attached. For the first process to open the file.
    pub(super) fn clear_slots(&self) {
        for slot in 0..SLOTS {
            self.place(slot).store(IDLE, Ordering::Release);
            self.owner(slot).store(0, Ordering::Release);
        }
    }

    /// What a slot says, for people.
    pub(crate) fn view(&self, slot: usize) -> Option<SlotView> {
        let owner = self.process(slot)?;
        let place = self.place(slot).load(Ordering::Relaxed);
        let commits = self.word(self.geometry.slots_at + slot * SLOT + 16);
        Some(SlotView {
            owner,
            position: (place & CUT == 0).then_some(place),
            commits: commits.load(Ordering::Relaxed),
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

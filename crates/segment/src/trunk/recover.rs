//! Repair: the changes that a process which died under the lock has left are completed or forgotten.
//!
//! | it died | found | repair |
//! |---|---|---|
//! | before `position` moved | entries above `position`, frames reserved by its slot | no process reads the entries; the frames are freed with the slot |
//! | before `applied` moved | `applied < position` | page heads and frame states are written again from the log |
//! | while keeping frames | frames in the table whose entries are still in the log | they leave the table |
//! | while moving the tail | frames marked as the trunk's that nothing names | the sweep frees them |
//! | anywhere else | a slot of a dead process | the slot is cleared, its frames are freed |

use fyris_sync::atomic::Ordering;

use super::layout::word;
use super::lock::Guard;
use super::{Bounds, Trunk};
use crate::error::{Error, Result};
use crate::failpoints::failpoint;

/// The work of a repair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Repair {
    /// Log entries applied that were published only.
    pub(crate) replayed: usize,
    /// Slots of dead processes cleared.
    pub(crate) reaped: usize,
    /// Frames freed that nothing names any more.
    pub(crate) lost_frames: usize,
}

impl Trunk {
    /// Repairs. The order matters: published frames become the trunk's before reservations are freed.
    pub(crate) fn recover(&self, _lock: &Guard<'_>) -> Result<Repair> {
        let mut bounds = self.bounds()?;
        let replayed = self.replay(&mut bounds)?;
        failpoint!("replayed");
        let reaped = self.reap(None)?;
        self.reopen(&bounds);
        // The frames that the dead processes kept are freed with those that they lost: nothing names them any more.
        self.advance(&mut bounds, 0, |_, _| ());
        let lost_frames = self.sweep(&self.used(&bounds)?);
        failpoint!("swept");
        Ok(Repair {
            replayed,
            reaped,
            lost_frames,
        })
    }

    /// Makes the gate and the table of kept frames agree with the tail again.
    fn reopen(&self, bounds: &Bounds) {
        // Release: pairs with the Acquire in `gate::is_open`. Nothing from the tail on has been given back.
        self.word(word::GATE).store(bounds.tail, Ordering::Release);
        failpoint!("gate reopened");
        self.keep_only_before(bounds.tail);
    }

    /// Returns the log's bounds, with nothing published that is not applied. Repairs see to that; but one that failed,
    /// on a spoiled entry, has let the lock go.
    pub(crate) fn settled(&self, _lock: &Guard<'_>) -> Result<Bounds> {
        let mut bounds = self.bounds()?;
        self.replay(&mut bounds)?;
        Ok(bounds)
    }

    /// Repairs like [`Trunk::recover`], for the first process to open the file: no other process is attached, whatever
    /// slots and lock say.
    pub(super) fn recover_alone(&self) -> Result<()> {
        self.reset_lock();
        let mut bounds = self.bounds()?;
        self.replay(&mut bounds)?;
        self.clear_slots();
        self.reopen(&bounds);
        self.advance(&mut bounds, 0, |_, _| ());
        self.sweep_all(&self.used(&bounds)?);
        Ok(())
    }

    /// Frees all that can be freed: the dead are reaped, the log goes on without the processes that are behind, and if
    /// it comes to the `worst` they are evicted.
    pub(crate) fn reclaim_all(&self, lock: &Guard<'_>, slot: usize, worst: bool) -> Result<()> {
        let mut bounds = self.settled(lock)?;
        self.reap(Some(slot))?;
        if worst {
            let snapshots = self.standing(bounds.tail, bounds.position).snapshots;
            let lost = snapshots.into_iter().filter(|&at| !self.is_pinned(at));
            lost.for_each(|at| self.evict(at));
        }
        self.overrun_below(bounds.position);
        let all = bounds.position;
        self.advance(&mut bounds, all, |frame, _| {
            if self.take_back(frame, slot) {
                self.release(frame, slot);
            }
        });
        Ok(())
    }

    /// Returns the frames that page heads, log and the table of kept frames name.
    pub(crate) fn used(&self, bounds: &Bounds) -> Result<Vec<bool>> {
        let mut used = vec![false; self.geometry.frames + 1];
        for page in 0..self.pages()? {
            used[self.head(page)?.0 as usize] = true;
        }
        let log = self.log();
        for position in bounds.tail..bounds.position {
            let head = log.entry(position)?;
            if !head.grown() {
                used[head.frame as usize] = true;
                used[head.before as usize] = true;
            }
        }
        for (_, kept) in self.kept() {
            let named = used.get_mut(kept.frame as usize);
            *named.ok_or(Error::Corrupt("a kept frame's number"))? = true;
        }
        used[0] = false;
        Ok(used)
    }
}

//! Fixing a table.
//!
//! Cursors of the indexes survive change, so fixing protects nothing here. Only the visible effects of
//! `safe_fixtable` remain: `info` tells which processes have fixed the table and since when, and `next` in a hash
//! table goes on from a key that was deleted while the table was fixed, but not from one that never was there. So
//! while a table is fixed its deleted keys are remembered.
//!
//! # Invariant
//!
//! **FIXED**: when fixing has returned, no key goes that is not remembered first. A write sees in the state that it
//! loads in its section whether the table is fixed (see [`crate::life`]); a delete then remembers the key before it
//! takes it out. So a process that fixes the table says in the state that it is fixed, and waits for the sections: a
//! delete that did not see it has taken its key out before the traversal begins.

use std::collections::{BTreeMap, HashSet};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

use crate::ids::ProcessId;
use crate::life::Life;

/// The fixes of a table.
///
/// ```
/// # use fyris::{InfoValue, Options, Store};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// table.safe_fixtable(true)?;
/// table.safe_fixtable(true)?;
/// let Some(InfoValue::Fixed(Some(fixed))) = table.info_item("safe_fixed")? else { panic!() };
/// assert_eq!(fixed.by, [(owner.id(), 2)]);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// When the first of the fixes was made, by the clock on the wall.
    pub since: SystemTime,
    /// The same by the clock that never goes back.
    pub since_monotonic: Instant,
    /// The same by a clock of the caller's: see [`Table::fix_at`](crate::Table::fix_at).
    pub since_by_caller: Option<i64>,
    /// The processes that have fixed it, each with its number of fixes.
    pub by: Vec<(ProcessId, u32)>,
}

/// A table's fixes.
#[derive(Default)]
pub(crate) struct Fixes {
    state: Mutex<FixState>,
}

#[derive(Default)]
struct FixState {
    since: Option<(SystemTime, Instant, Option<i64>)>,
    by: BTreeMap<ProcessId, u32>,
    gone: HashSet<Box<[u8]>>,
    all_gone: bool,
    /// The number of times that the table was fixed when it was not.
    turns: u64,
    /// The last of these turns for which the writes under way were waited for (FIXED).
    settled: u64,
}

impl Fixes {
    /// Adds a fix by the process. If this returns a turn, the caller waits for the writes under way, and then
    /// [settles](Fixes::settle) the turn.
    pub(crate) fn fix(
        &self,
        life: &Life,
        process: ProcessId,
        by_caller: Option<i64>,
    ) -> Option<u64> {
        let mut state = self.lock();
        if state.by.is_empty() {
            state.turns += 1;
        }
        state
            .since
            .get_or_insert_with(|| (SystemTime::now(), Instant::now(), by_caller));
        *state.by.entry(process).or_default() += 1;
        life.set_fixed(true);
        (state.settled < state.turns).then_some(state.turns)
    }

    /// Notes that no write is under way any more that did not see the fix of this turn.
    pub(crate) fn settle(&self, turn: u64) {
        let mut state = self.lock();
        state.settled = state.settled.max(turn);
    }

    /// Takes a fix of the process away; returns whether it was its last.
    pub(crate) fn release(&self, life: &Life, process: ProcessId) -> bool {
        let mut state = self.lock();
        let Some(count) = state.by.get_mut(&process) else {
            return false;
        };
        *count -= 1;
        if *count > 0 {
            return false;
        }
        self.forget(life, &mut state, process);
        true
    }

    /// Takes all fixes of a process that has ended away.
    pub(crate) fn end(&self, life: &Life, process: ProcessId) {
        let mut state = self.lock();
        self.forget(life, &mut state, process);
    }

    fn forget(&self, life: &Life, state: &mut FixState, process: ProcessId) {
        state.by.remove(&process);
        if state.by.is_empty() {
            *state = FixState {
                turns: state.turns,
                settled: state.settled,
                ..FixState::default()
            };
            life.set_fixed(false);
        }
    }

    /// Returns the processes other than this one that have fixed the table.
    pub(crate) fn others(&self, process: ProcessId) -> Vec<ProcessId> {
        let state = self.lock();
        let by = state.by.keys().copied();
        by.filter(|other| *other != process).collect()
    }

    /// Remembers a key that is about to be deleted.
    pub(crate) fn note(&self, key: &[u8]) {
        let mut state = self.lock();
        if !state.by.is_empty() && !state.all_gone {
            state.gone.insert(key.into());
        }
    }

    /// Remembers that every key is about to be deleted.
    pub(crate) fn note_all(&self) {
        let mut state = self.lock();
        if !state.by.is_empty() {
            state.all_gone = true;
            state.gone = HashSet::new();
        }
    }

    /// Returns whether the key was deleted while the table was fixed. After all were deleted at once,
    /// every key counts as one of them.
    pub(crate) fn knows(&self, key: &[u8]) -> bool {
        let state = self.lock();
        state.all_gone || state.gone.contains(key)
    }

    /// Returns the fixes of the table.
    pub(crate) fn get(&self) -> Option<Fixed> {
        let state = self.lock();
        let (since, since_monotonic, since_by_caller) = state.since?;
        let by = state.by.iter().map(|(&p, &n)| (p, n)).collect();
        Some(Fixed {
            since,
            since_monotonic,
            since_by_caller,
            by,
        })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, FixState> {
        // The state is consistent between any two statements above, so a panic leaves it usable.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

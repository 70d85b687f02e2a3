//! Folds over ordered tables, a slice a call.
//!
//! The fun of a fold may write ahead of it, or wait for a process that does, and must find that. So a fold asks before
//! every object whether its slice [is current](is_current); if not it reads on behind the object that it had last. The
//! first objects come one by one: a fold over few of them is not worth a watch.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use fyris::{RangeCursor, RangeOptions, Table, WriteWatch};
use fyris_term::Term as Owned;

use crate::call::{BAD, Fail, Reply};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::{load, tables, term};

/// A fold between two calls.
pub(crate) struct FoldPlace {
    fold: Mutex<Fold>,
    /// Whether it is over a snapshot, which does not change.
    is_still: bool,
    /// Once there is one, slices may have more than one object.
    watch: OnceLock<WriteWatch>,
    /// The watch's count before the slice was read: what is asked before every object, without the lock.
    count: AtomicU64,
}

struct Fold {
    back: bool,
    /// Slices read so far.
    slices: usize,
    /// Objects of the slice.
    size: usize,
}

/// Objects that come one by one.
const FIRST: usize = 4;
/// Objects of a slice: a tenth of a millisecond, or a little less.
const SLICE: usize = 512;
/// The percentage of a process's time slice that a slice takes.
const PERCENT: usize = 10;

impl Fold {
    fn cursor(&self, table: &Table, last: Option<Owned>) -> Result<RangeCursor, Fail> {
        let near = last.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(match self.back {
            true => table.range_cursor((Bound::Unbounded, near), RangeOptions::new().reverse())?,
            false => table.range_cursor((near, Bound::Unbounded), RangeOptions::new())?,
        })
    }
}

impl FoldPlace {
    fn new(fold: Fold, is_still: bool) -> FoldPlace {
        FoldPlace {
            fold: Mutex::new(fold),
            is_still,
            watch: OnceLock::new(),
            count: AtomicU64::new(0),
        }
    }

    /// Makes ready for a slice: four times as long as the one before if nothing was written meanwhile.
    fn prepare(&self, fold: &mut Fold, table: &Table) {
        fold.size = match self.is_current() {
            true => (4 * fold.size).min(SLICE),
            false => 1,
        };
        if fold.slices == FIRST && !self.is_still {
            self.watch.get_or_init(|| table.watch());
        }
        fold.slices += 1;
        let count = self.watch.get().map_or(0, WriteWatch::count);
        // Relaxed: the one process that folds writes and reads it, on whatever scheduler it runs.
        self.count.store(count, Ordering::Relaxed);
    }

    #[inline]
    fn is_current(&self) -> bool {
        // Relaxed: as in `prepare`.
        let count = self.count.load(Ordering::Relaxed);
        self.is_still || self.watch.get().is_some_and(|watch| watch.count() == count)
    }
}

#[inline]
fn place<'t>(env: Env, term: Term) -> Result<&'t FoldPlace, Fail> {
    let place = load::resource::<FoldPlace>(env, term);
    place.ok_or(BAD)
}

/// Implements `fold(Table, Back)`: returns the place of a fold that has not begun.
pub(super) fn begin(env: Env, args: &[Term]) -> Reply {
    let back = super::boolean(env, args[1])?;
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Read)?;
        let fold = Fold {
            back,
            slices: 0,
            size: 1,
        };
        let is_still = table.as_snapshot().is_some();
        Ok(load::wrap(env, FoldPlace::new(fold, is_still)))
    })
}

/// Implements `fold_slice(Table, Place, Last)`: returns the next objects behind the key in the list `Last`, or the
/// first ones if it is empty. `[]` when there are no more.
pub(super) fn slice(env: Env, args: &[Term]) -> Reply {
    let last = env.cell(args[2]).map(|(key, _)| term::read(env, key));
    let last = last.transpose()?;
    let place = place(env, args[1])?;
    let mut fold = place.fold.lock().map_err(|_| BAD)?;
    tables::with(env, args[0], |table, pin| {
        let mut cursor = fold.cursor(table, last)?;
        place.prepare(&mut fold, table);
        let (mut objects, mut more) = (Vec::new(), true);
        while more && objects.is_empty() {
            more = cursor.next_batch(table, fold.size, pin, &mut objects)?;
        }
        objects.truncate(fold.size);
        env.consume(PERCENT * objects.len() / SLICE);
        let objects = objects.iter().rev();
        Ok(term::make_list(
            env,
            usize::MAX,
            objects,
            None,
            atom::nil(env),
        ))
    })
}

/// Implements `fold_is_current(Place)`: returns whether nothing has been written since the slice was read.
pub(super) fn is_current(env: Env, args: &[Term]) -> Reply {
    Ok(atom::boolean(env, place(env, args[0])?.is_current()))
}

/// Implements `fold_end(Place)`: ends the watch of a fold that is over, though its place is still referred to.
pub(super) fn end(env: Env, args: &[Term]) -> Reply {
    if let Some(watch) = place(env, args[0])?.watch.get() {
        watch.end();
    }
    Ok(atom::r#true(env))
}

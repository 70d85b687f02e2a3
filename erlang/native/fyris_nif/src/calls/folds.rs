//! Folds over ordered tables, a slice a call.
//!
//! The fun of a fold may write ahead of it, or wait for a process that does, and must find that. So a fold asks before
//! every object whether its slice [is current](is_current); if not it reads on behind the object that it had last. The
//! first objects come one by one: a fold over few of them is not worth a watch.

use std::ops::Bound;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use fyris::{RangeCursor, RangeOptions, Table};
use fyris_term::Term as Owned;

use crate::call::{BAD, Fail, Reply};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::watch::Watch;
use crate::{load, tables, term, watch};

/// A fold between two calls.
pub(crate) struct FoldPlace {
    fold: Mutex<Fold>,
    /// The number of the fold's watch, and its count before the slice was read: what is asked before every object,
    /// without the lock.
    watched: AtomicUsize,
    count: AtomicU64,
}

/// Stands for no watch.
const UNWATCHED: usize = usize::MAX;

struct Fold {
    back: bool,
    /// Slices read so far.
    slices: usize,
    /// Once there is one, slices may have more than one object.
    watch: Option<Watch>,
    /// The watch's count before the slice was read.
    count: u64,
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
    fn is_current(&self) -> bool {
        let watch = self.watch.as_ref();
        watch.is_some_and(|watch| watch.count() == self.count)
    }

    /// Makes ready for a slice: four times as long as the one before if nothing was written meanwhile.
    fn prepare(&mut self, table: &Table) {
        self.size = match self.is_current() {
            true => (4 * self.size).min(SLICE),
            false => 1,
        };
        if self.slices == FIRST {
            self.watch = Watch::begin(table.id());
        }
        self.slices += 1;
        self.count = self.watch.as_ref().map_or(0, Watch::count);
    }

    fn cursor(&self, table: &Table, last: Option<Owned>) -> Result<RangeCursor, Fail> {
        let near = last.map_or(Bound::Unbounded, Bound::Excluded);
        Ok(match self.back {
            true => table.range_cursor((Bound::Unbounded, near), RangeOptions::new().reverse())?,
            false => table.range_cursor((near, Bound::Unbounded), RangeOptions::new())?,
        })
    }
}

impl FoldPlace {
    fn new(fold: Fold) -> FoldPlace {
        FoldPlace {
            fold: Mutex::new(fold),
            watched: AtomicUsize::new(UNWATCHED),
            count: AtomicU64::new(0),
        }
    }

    /// Publishes the watch and its count for `is_current`. To be called when one of them has changed.
    fn publish(&self, fold: &Fold) {
        let number = fold.watch.as_ref().map_or(UNWATCHED, Watch::number);
        // Relaxed, both: the one process that folds writes and reads them, on whatever scheduler it runs.
        self.count.store(fold.count, Ordering::Relaxed);
        self.watched.store(number, Ordering::Relaxed);
    }

    #[inline]
    fn is_current(&self) -> bool {
        // Relaxed: as in `publish`.
        let count = watch::count_of(self.watched.load(Ordering::Relaxed));
        count == Some(self.count.load(Ordering::Relaxed))
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
            watch: None,
            count: 0,
            size: 1,
        };
        Ok(load::wrap(env, FoldPlace::new(fold)))
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
        fold.prepare(table);
        place.publish(&fold);
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
    let place = place(env, args[0])?;
    let mut fold = place.fold.lock().map_err(|_| BAD)?;
    fold.watch = None;
    place.publish(&fold);
    Ok(atom::r#true(env))
}

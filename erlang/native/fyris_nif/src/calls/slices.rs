//! Whole tables, a slice a call.

use std::sync::Mutex;

use fyris::{Cursor, Snapshot};

use crate::call::{BAD, Reply};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::term::make_list;
use crate::{load, tables};

/// A place in a table, kept between calls.
pub(crate) struct CursorPlace {
    cursor: Mutex<Cursor>,
    /// What is read in the place of the table.
    snapshot: Option<Snapshot>,
    back: bool,
}

/// Objects of a slice: a tenth of a millisecond, or a little less.
const SLICE: usize = 512;
/// The percentage of a process's time slice that a slice takes.
const PERCENT: usize = 10;

/// Implements `cursor(Table, Back, OneMoment)`: makes a cursor before the first key, or as [`Cursor::back`]. It shows
/// the table as it is slice by slice or, if that is asked for and it has more objects than a slice, as it is now.
pub(super) fn cursor(env: Env, args: &[Term]) -> Reply {
    let back = super::boolean(env, args[1])?;
    let one_moment = super::boolean(env, args[2])?;
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Read)?;
        let is_one = table.as_snapshot().is_some();
        let wants = one_moment && !is_one && table.len() > SLICE;
        let cursor = if back { Cursor::back() } else { Cursor::new() };
        let place = CursorPlace {
            cursor: Mutex::new(cursor),
            snapshot: wants.then(|| table.snapshot()).transpose()?,
            back,
        };
        Ok(load::wrap(env, place))
    })
}

/// Implements `slice(Table, Cursor, Tail)`: returns the next objects in front of `Tail`. `[more | List]`, or the list
/// when there are no more objects.
///
/// A cursor from the front gives them in its order; one from the back the other way round, so that the slices of
/// a whole table, each put in front of those before, are a list from the last object of the cursor to the first.
pub(super) fn slice(env: Env, args: &[Term]) -> Reply {
    let place = load::resource::<CursorPlace>(env, args[1]);
    let place = place.ok_or(BAD)?;
    let mut cursor = place.cursor.lock().map_err(|_| BAD)?;
    tables::with(env, args[0], |table, pin| {
        let table = place.snapshot.as_deref().unwrap_or(table);
        let mut objects = Vec::new();
        let mut more = true;
        while more && objects.len() < SLICE {
            more = cursor.next_batch(table, pin, &mut objects)?;
        }
        let list = match place.back {
            true => make_list(env, usize::MAX, objects.iter(), None, args[2]),
            false => make_list(env, usize::MAX, objects.iter().rev(), None, args[2]),
        };
        env.consume(PERCENT * objects.len() / SLICE);
        if more {
            return Ok(env.make_cell(atom::more(env), list));
        }
        // Not when the process collects its garbage: writers pay for it.
        place.snapshot.as_ref().inspect(|snapshot| snapshot.release());
        Ok(list)
    })
}

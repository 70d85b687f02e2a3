//! Whole tables, a slice a call.

use std::sync::Mutex;

use fyris::{Cursor, Error, Guard, Object, Snapshot, Table};

use crate::call::{BAD, Reply};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::term::make_list;
use crate::{load, tables};

/// A place in a table, kept between calls.
pub(crate) struct CursorPlace {
    state: Mutex<State>,
    back: bool,
}

struct State {
    cursor: Cursor,
    /// Whether it shows the table as it was at one moment.
    one_moment: bool,
    /// What is read in the place of the table.
    snapshot: Option<Snapshot>,
}

/// Objects of a slice: a tenth of a millisecond, or a little less.
const SLICE: usize = 512;
/// The percentage of a process's time slice that a slice takes.
const PERCENT: usize = 10;

fn cursor_of(back: bool) -> Cursor {
    if back { Cursor::back() } else { Cursor::new() }
}

/// Implements `cursor(Table, Back, OneMoment)`: makes a cursor before the first key, or as [`Cursor::back`]. It shows
/// the table as it is slice by slice or, if that is asked for and it has more objects than a slice, as it was at one
/// moment.
pub(super) fn cursor(env: Env, args: &[Term]) -> Reply {
    let back = super::boolean(env, args[1])?;
    let one_moment = super::boolean(env, args[2])?;
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Read)?;
        let state = Mutex::new(State {
            cursor: cursor_of(back),
            one_moment: one_moment && table.as_snapshot().is_none(),
            snapshot: None,
        });
        Ok(load::wrap(env, CursorPlace { state, back }))
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
    let mut state = place.state.lock().map_err(|_| BAD)?;
    tables::with(env, args[0], |table, pin| {
        let mut objects = Vec::new();
        let mut more = state.read(table, pin, &mut objects)?;
        if more && state.one_moment && state.snapshot.is_none() {
            // It is more than a slice: from the beginning, by a snapshot.
            state.snapshot = Some(table.snapshot()?);
            state.cursor = cursor_of(place.back);
            objects.clear();
            more = state.read(table, pin, &mut objects)?;
        }
        let list = match place.back {
            true => make_list(env, usize::MAX, objects.iter(), None, args[2]),
            false => make_list(env, usize::MAX, objects.iter().rev(), None, args[2]),
        };
        env.consume(PERCENT * objects.len().min(SLICE) / SLICE);
        if more {
            return Ok(env.make_cell(atom::more(env), list));
        }
        // Not when the process collects its garbage: writers pay for it.
        state.snapshot = None;
        Ok(list)
    })
}

impl State {
    /// Reads a slice; returns whether there may be more.
    fn read<'g>(
        &mut self,
        table: &Table,
        pin: &'g impl Guard,
        objects: &mut Vec<Object<'g>>,
    ) -> Result<bool, Error> {
        let is_first = self.one_moment && self.snapshot.is_none();
        if is_first && table.len() > SLICE {
            return Ok(true);
        }
        let table = self.snapshot.as_deref().unwrap_or(table);
        let mut more = true;
        // One object more shows that a slice is not all.
        while more && objects.len() < SLICE + usize::from(is_first) {
            more = self.cursor.next_batch(table, pin, objects)?;
        }
        Ok(more)
    }
}

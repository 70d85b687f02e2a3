//! Whole tables, a slice a call.

use std::sync::Mutex;

use fyris::{Cursor, Error, Guard, Object, Table};

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
    /// What all slices but a first one that is all are read of.
    table: Option<Table>,
}

/// Objects of a slice: a tenth of a millisecond, or a little less.
const SLICE: usize = 512;
/// The percentage of a process's time slice that a slice takes.
const PERCENT: usize = 10;

fn cursor_of(back: bool) -> Cursor {
    if back { Cursor::back() } else { Cursor::new() }
}

/// Implements `cursor(Table, Back)`: makes a cursor before the first key, or as [`Cursor::back`]. It shows the table as
/// it was at one moment: see [`Table::at_one_moment`].
pub(super) fn cursor(env: Env, args: &[Term]) -> Reply {
    let back = super::boolean(env, args[1])?;
    tables::with(env, args[0], |table, _| {
        table.check(fyris::Right::Read)?;
        let state = Mutex::new(State {
            cursor: cursor_of(back),
            table: None,
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
        // It ends with the table, as in `ets`.
        table.check(fyris::Right::Read)?;
        let mut objects = Vec::new();
        let more = state.read(table, place.back, pin, &mut objects)?;
        let list = match place.back {
            true => make_list(env, usize::MAX, objects.iter(), None, args[2]),
            false => make_list(env, usize::MAX, objects.iter().rev(), None, args[2]),
        };
        env.consume(PERCENT * objects.len().min(SLICE) / SLICE);
        if more {
            return Ok(env.make_cell(atom::more(env), list));
        }
        // Not when the process collects its garbage: writers pay for a snapshot.
        state.table = None;
        Ok(list)
    })
}

impl State {
    /// Reads a slice; returns whether there may be more.
    fn read<'g>(
        &mut self,
        table: &Table,
        back: bool,
        pin: &'g impl Guard,
        objects: &mut Vec<Object<'g>>,
    ) -> Result<bool, Error> {
        let State {
            cursor,
            table: steps,
        } = self;
        if steps.is_none() {
            let may_be_all = table.as_snapshot().is_none() && table.len() <= SLICE;
            // One object more shows that a slice is not all.
            if may_be_all {
                cursor.next_at_least(SLICE + 1, table, pin, objects)?;
                if objects.len() <= SLICE {
                    return Ok(false);
                }
            }
            objects.clear();
            *cursor = cursor_of(back);
            *steps = Some(table.at_one_moment()?);
        }
        let table = steps.as_ref().unwrap_or(table);
        cursor.next_at_least(SLICE, table, pin, objects)
    }
}

//! Snapshots: tables as they were at one moment.
//!
//! The reference to a snapshot is one to a resource of the kind of tables, with a handle that reads the snapshot: it
//! serves wherever a tid does. The snapshot ends with the last reference, or with the process that took it.

use fyris::{Borrowed, Table};

use super::admin::known_caller;
use crate::call::{BAD, Reply, entry};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::process;
use crate::tables::{self, store};

/// Implements `snapshot(Tables)`: returns a reference for each, all of one moment.
pub(super) fn snapshot(env: Env, args: &[Term]) -> Reply {
    let mut elements = env.elements(args[0]);
    let names: Vec<Term> = elements.by_ref().collect();
    if !elements.are_all() {
        return Err(BAD);
    }
    known_caller(env)?;
    tables::with_all(env, &names, |tables: &[Borrowed<'_>]| {
        let handles: Vec<&Table> = tables.iter().map(|table| &**table).collect();
        let taken = store().snapshots(&handles)?;
        let references = taken.iter().map(|taken| tables::reference_to(env, taken));
        Ok(env.make_list(&references.collect::<Vec<_>>()))
    })
}

/// Implements `release(Snapshot)`.
pub(super) fn release(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| {
        table.as_snapshot().ok_or(BAD)?.release();
        Ok(atom::r#true(env))
    })
}

/// Implements `snapshots()`: returns `{Table, Pid, Age}` of each that is alive, the age in milliseconds.
pub(super) fn all(env: Env, _: &[Term]) -> Reply {
    let told = |(table, taker, age): (_, _, std::time::Duration)| {
        let table = tables::reference(env, table).unwrap_or_else(|| atom::undefined(env));
        let taker = process::pid(taker).unwrap_or_else(|| atom::none(env));
        env.make_tuple(&[table, taker, env.make_int(age.as_millis() as i64)])
    };
    let all: Vec<Term> = store().all_snapshots().into_iter().map(told).collect();
    Ok(env.make_list(&all))
}

/// Implements `collect()`, on a scheduler for long work.
pub(super) fn collect(env: Env, args: &[Term]) -> Reply {
    Ok(env.go_dirty(entry!(collect_now), args))
}

fn collect_now(env: Env, _: &[Term]) -> Reply {
    store().collect();
    Ok(atom::r#true(env))
}

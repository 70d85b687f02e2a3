//! `info/1` and `info/2`.

use std::time::UNIX_EPOCH;

use fyris::{Error, Fixed, InfoValue, Table, TableId};

use crate::call::{BAD, Reply, entry};
use crate::kind::atom;
use crate::machine::{self, Env, Term};
use crate::tables::store;
use crate::{kind, process, tables, term};

/// Implements `info/1`, on a scheduler for long work for a snapshot, whose objects are counted.
pub(super) fn all_items(env: Env, args: &[Term]) -> Reply {
    if is_snapshot(env, args[0]) {
        return Ok(env.go_dirty(entry!(items_now), args));
    }
    items_now(env, args)
}

fn is_snapshot(env: Env, table: Term) -> bool {
    let is_one = tables::with(env, table, |table, _| Ok(table.as_snapshot().is_some()));
    is_one.unwrap_or(false)
}

fn items_now(env: Env, args: &[Term]) -> Reply {
    or_undefined(env, args[0], |table| {
        let Some(items) = table.info_items() else {
            return Ok(atom::undefined(env));
        };
        let pair = |(item, value): (&'static str, InfoValue)| {
            let item_atom = env.make_atom(item.as_bytes());
            env.make_tuple(&[item_atom, of_table(env, args[0], table, (item, value))])
        };
        let items: Vec<Term> = items.into_iter().map(pair).collect();
        Ok(env.make_list(&items))
    })
}

/// The items for which the store looks at all objects.
const LONG: [&str; 2] = ["binary", "index_info"];

/// Implements `info/2`, on a scheduler for long work for the items that take long.
pub(super) fn one_item(env: Env, args: &[Term]) -> Reply {
    let item = atom::from_machine(env, args[1]);
    if item.is_some_and(|item| LONG.contains(&item.as_str())) || is_snapshot(env, args[0]) {
        return Ok(env.go_dirty(entry!(item_now), args));
    }
    item_now(env, args)
}

fn item_now(env: Env, args: &[Term]) -> Reply {
    or_undefined(env, args[0], |table| {
        // A wrong item is an error only if the table is there.
        let Some(item) = atom::from_machine(env, args[1]) else {
            return table.info().map_or(Ok(atom::undefined(env)), |_| Err(BAD));
        };
        match table.info_item(item.as_str())? {
            Some(value) => Ok(of_table(env, args[0], table, (item.as_str(), value))),
            None => Ok(atom::undefined(env)),
        }
    })
}

/// Calls `f` with the table. Returns `undefined` for a table that is gone; a term that never was a table is an error.
fn or_undefined(env: Env, table: Term, f: impl FnOnce(&Table) -> Reply) -> Reply {
    let told = |table: &Table| {
        tables::settle_fixes(env, table);
        f(table)
    };
    match tables::with(env, table, |table, _| told(table)) {
        Err(fail) if matches!(fail.error(), Some(Error::NoSuchTable(_))) => {
            Ok(atom::undefined(env))
        }
        reply => reply,
    }
}

/// Makes the value of an item of the table that a term names. A snapshot is its own identity: who goes on with that
/// reads the snapshot.
fn of_table(env: Env, name: Term, table: &Table, (item, value): (&str, InfoValue)) -> Term {
    match value {
        InfoValue::Table(_) if table.as_snapshot().is_some() => name,
        value => make(env, item, value),
    }
}

fn make(env: Env, item: &str, value: InfoValue) -> Term {
    match value {
        InfoValue::Term(value) => term::make(env, &value),
        InfoValue::Process(id) => {
            let pid = id.and_then(process::pid);
            pid.unwrap_or_else(|| atom::none(env))
        }
        InfoValue::Table(id) => tid(env, id),
        InfoValue::Fixed(None) => atom::r#false(env),
        InfoValue::Fixed(Some(fixed)) => make_fixed(env, &fixed, item == "safe_fixed"),
    }
}

fn tid(env: Env, id: TableId) -> Term {
    tables::tid(env, id).unwrap_or_else(|| atom::undefined(env))
}

/// Returns `{Time, [{Pid, Count}]}`; the time is a timestamp or the machine's clock in nanoseconds.
fn make_fixed(env: Env, fixed: &Fixed, timestamp: bool) -> Term {
    let time = if timestamp {
        let since = fixed.since.duration_since(UNIX_EPOCH).unwrap_or_default();
        let (seconds, micros) = (since.as_secs() as i64, i64::from(since.subsec_micros()));
        let parts = [seconds / 1_000_000, seconds % 1_000_000, micros];
        env.make_tuple(&parts.map(|part| env.make_int(part)))
    } else {
        // By the machine's clock, whose pace is not that of the system's: so it is asked when the table is fixed.
        let since = fixed.since_by_caller;
        env.make_int(since.unwrap_or_else(Env::monotonic_time))
    };
    let by = |&(id, count): &(fyris::ProcessId, u32)| {
        let pid = process::pid(id)?;
        Some(env.make_tuple(&[pid, env.make_int(i64::from(count))]))
    };
    let by: Vec<Term> = fixed.by.iter().filter_map(by).collect();
    env.make_tuple(&[time, env.make_list(&by)])
}

/// Implements `memory()`: returns `{Objects, Indexes}`, in bytes, on a scheduler for long work.
pub(super) fn memory(env: Env, args: &[Term]) -> Reply {
    Ok(env.go_dirty(entry!(memory_now), args))
}

fn memory_now(env: Env, _: &[Term]) -> Reply {
    let memory = store().memory();
    let bytes = [memory.objects, memory.indexes].map(|bytes| env.make_int(bytes as i64));
    Ok(env.make_tuple(&bytes))
}

/// Implements `counts()`: returns `{Tables, Monitors, Resources}` of this machine, for tests that look for leaks.
pub(super) fn counts(env: Env, _: &[Term]) -> Reply {
    let count = |n: usize| env.make_int(n as i64);
    let (tables, monitors) = (store().all().len(), process::monitored());
    let resources = machine::resources() + term::kept_resources() as i64;
    let resources = env.make_int(resources);
    Ok(env.make_tuple(&[count(tables), count(monitors), resources]))
}

/// Implements `layout()`: returns whether `{Terms, Maps, References, Funs, Binaries, Floats, Large integers, Numbers
/// of references, Blocks of resources, Aliases, Ports, Maps of many keys, Terms of other nodes}` of this machine look
/// as the library knows them, so that it may take the fast ways. Ports are not known before one was seen.
pub(super) fn layout(env: Env, _: &[Term]) -> Reply {
    let known = kind::known();
    Ok(env.make_tuple(&known.map(|known| atom::boolean(env, known))))
}

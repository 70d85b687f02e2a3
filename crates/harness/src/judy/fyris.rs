//! Tables of Fyris in the programs of the suite `judy`.

use std::time::Instant;

use fyris::{CounterOp, Options, Owner, Store, Table, TableType};
use fyris_term::Term;

use super::{JudyCase, Pass, TableKind};
use crate::clock::cpu_now;
use crate::error::BenchError;

/// Makes a store that knows the indexes of all crates.
pub fn store() -> Store {
    let mut store = Store::new();
    fyris_classic::register(&mut store).expect("new names");
    fyris_judy::register(&mut store).expect("new names");
    store
}

/// Returns the indexes of a store, each with the type of table that it is measured in: `ordered_set` if it serves one.
pub(crate) fn indexes() -> Result<Vec<(&'static str, TableType)>, BenchError> {
    let store = store();
    let owner = store.owner();
    let serves = |index: &str, table_type| {
        owner
            .new_table("probe", &Options::new(table_type).index(index))
            .is_ok()
    };
    let mut all = Vec::new();
    for index in store.index_names() {
        let types = [TableType::OrderedSet, TableType::Set];
        let Some(table_type) = types
            .into_iter()
            .find(|table_type| serves(index, *table_type))
        else {
            return Err(broken(format!(
                "{index} serves neither a set nor an ordered_set"
            )));
        };
        all.push((index, table_type));
    }
    Ok(all)
}

/// A table, and the owner by which it lives.
pub(super) struct OwnedTable {
    table: Table,
    _owner: Owner,
}

fn empty(kind: TableKind) -> Result<OwnedTable, BenchError> {
    let owner = store().owner();
    let options = Options::new(kind.table_type).index(kind.index.unwrap_or_default());
    let table = owner.new_table("judy", &options).map_err(broken)?;
    Ok(OwnedTable {
        table,
        _owner: owner,
    })
}

fn object(key: u32) -> Term {
    Term::tuple(vec![Term::Int(i64::from(key)), Term::Int(1)])
}

/// Returns a table that was filled in the order of keys.
pub(super) fn filled(kind: TableKind, n: usize) -> Result<OwnedTable, BenchError> {
    let filled = empty(kind)?;
    insert(&filled.table, 0..n as u32)?;
    Ok(filled)
}

fn insert(table: &Table, keys: impl Iterator<Item = u32>) -> Result<usize, BenchError> {
    let mut count = 0;
    for key in keys {
        table.insert(&object(key)).map_err(broken)?;
        count += 1;
    }
    Ok(count)
}

fn lookup(table: &Table, keys: impl Iterator<Item = u32>) -> Result<usize, BenchError> {
    let mut count = 0;
    for key in keys {
        count += table
            .lookup(&Term::Int(i64::from(key)))
            .map_err(broken)?
            .len();
    }
    Ok(count)
}

fn traverse(table: &Table) -> Result<usize, BenchError> {
    let (mut at, mut count) = (table.first().map_err(broken)?, 0);
    while let Some(key) = at {
        count += 1;
        at = table.next(&key).map_err(broken)?;
    }
    Ok(count)
}

fn update(table: &Table, keys: impl Iterator<Item = u32>) -> Result<usize, BenchError> {
    let (ops, mut count) = ([CounterOp::add(1)], 0);
    for key in keys {
        let new = table
            .update_counter(&Term::Int(i64::from(key)), &ops)
            .map_err(broken)?;
        count += usize::from(new == [Term::Int(2)]);
    }
    Ok(count)
}

fn delete(table: &Table) -> Result<usize, BenchError> {
    let (mut at, mut count) = (table.first().map_err(broken)?, 0);
    while let Some(key) = at {
        at = table.next(&key).map_err(broken)?;
        table.delete_key(&key).map_err(broken)?;
        count += 1;
    }
    Ok(count)
}

/// Runs every program `repeats` times, each time over fresh tables; returns the sums of the times.
pub(super) fn pass(kind: TableKind, order: &[u32], repeats: usize) -> Result<Pass, BenchError> {
    let n = order.len();
    let in_order = || 0..n as u32;
    let shuffled = || order.iter().copied();
    let mut times = Pass::default();
    for _ in 0..repeats {
        let (filled, random) = (empty(kind)?, empty(kind)?);
        let table = &filled.table;
        for (case, time) in JudyCase::ALL.into_iter().zip(&mut times) {
            let (cpu, start) = (cpu_now(), Instant::now());
            let count = match case {
                JudyCase::InsertSequential => insert(table, in_order()),
                JudyCase::InsertRandom => insert(&random.table, shuffled()),
                JudyCase::LookupSequential => lookup(table, in_order()),
                JudyCase::LookupRandom => lookup(table, shuffled()),
                JudyCase::Traverse => traverse(table),
                JudyCase::UpdateCounter => update(table, shuffled()),
                JudyCase::Delete | JudyCase::Bytes => delete(table),
            }?;
            time.0 += start.elapsed().as_secs_f64() * 1e9;
            time.1 += cpu_now() - cpu;
            if count != n {
                let (label, name) = (kind.label(), case.name());
                return Err(broken(format!(
                    "{label}, {name}: {count} keys where {n} are right"
                )));
            }
            if case == JudyCase::InsertRandom {
                // Not in the memory of the programs to come.
                random.table.delete_all_objects().map_err(broken)?;
            }
        }
    }
    Ok(times)
}

fn broken(error: impl std::fmt::Display) -> BenchError {
    BenchError::WrongAnswer(format!("fyris: {error}"))
}

//! Queries that delete and replace what matches.

use fyris_query::MatchSpec;
use fyris_term::key::KeyBuf;
use fyris_term::{Term, value};
use smallvec::SmallVec;

use super::scan::{BATCH, Pace, Scan};
use crate::chain;
use crate::error::{Error, Result};
use crate::ids::TableType;
use crate::native_terms::record_of;
use crate::ops::ChangedObjects;
use crate::record::{NewRecord, Object, RecordPtr, object};
use crate::table::Table;
use crate::table_data::{AnyTableData, with_data};
use crate::view::View;
use crate::writer::Writer;

/// Checks a table and a specification for `select_replace`, before it touches anything.
pub(super) fn check(table: &Table, spec: &MatchSpec) -> Result<()> {
    if table.table_type() == TableType::Bag {
        return Err(Error::WrongType {
            operation: "select_replace",
            found: TableType::Bag,
        });
    }
    spec.preserves_key(table.keypos())
        .map_err(Error::KeyChanges)
}

/// Deletes the objects that are doomed among those of a key, whose values begin with `prefix`; returns how many.
pub(crate) fn delete_of_key(
    table: &Table,
    data: &AnyTableData,
    (key, prefix): (&KeyBuf, &[u8]),
    writer: &Writer<'_>,
    doomed: impl Fn(Object<'_>) -> bool,
) -> Result<usize> {
    let judge = |record| doomed(object(record, table.keypos()));
    let mut fingerprints = chain::ANY;
    if table.table_type().is_bag() {
        fingerprints = value::fingerprints(prefix);
        let deleted =
            with_data!(data, b => b.delete_alike(b.key(key), &fingerprints, judge, writer));
        if let Some(deleted) = deleted {
            return Ok(deleted.len());
        }
    }
    let Some(content) = writer.view(data)?.get(key, writer.pin) else {
        return Ok(0);
    };
    let records = chain::search(content, fingerprints).map(|object| object.record);
    let found: SmallVec<[RecordPtr; 1]> = records.filter(|record| judge(*record)).collect();
    let mut count = 0;
    delete_found(table, data, &found, writer, doomed, |_| count += 1);
    Ok(count)
}

/// Deletes the objects that are doomed among the next ones of a scan, and shows `gone` each.
pub(super) fn delete(
    table: &Table,
    scan: &mut Scan,
    data: &AnyTableData,
    objects: usize,
    writer: &Writer<'_>,
    doomed: impl Fn(Object<'_>) -> bool,
    gone: impl FnMut(Object<'_>),
) -> Result<()> {
    let mut condemned: Vec<RecordPtr> = Vec::new();
    scan.step(
        &mut writer.view(data)?.read_many(writer.pin),
        (Pace::About(objects), BATCH),
        writer.pin,
        |object| {
            if doomed(object) {
                condemned.push(object.record());
            }
            false
        },
    );
    delete_found(table, data, &condemned, writer, doomed, gone);
    Ok(())
}

/// Deletes objects that were found doomed, unless what has taken their places is not, and shows `gone` each.
fn delete_found(
    table: &Table,
    data: &AnyTableData,
    condemned: &[RecordPtr],
    writer: &Writer<'_>,
    doomed: impl Fn(Object<'_>) -> bool,
    mut gone: impl FnMut(Object<'_>),
) {
    let judge = |record| doomed(object(record, table.keypos()));
    for group in condemned.chunk_by(|a, b| table.table_type().is_bag() && same_key(*a, *b)) {
        let deleted: ChangedObjects = with_data!(data, b => match group {
            [one] if !table.table_type().is_bag() => {
                b.delete_found(*one, judge, writer).into_iter().collect()
            }
            these => b.delete_these(&b.adopted(these, writer), writer),
        });
        let deleted = deleted.into_iter();
        deleted.for_each(|record| gone(object(record, table.keypos())));
    }
}

/// Replaces objects among the next ones of a scan by what `new` makes of them, and shows `replaced` each old one, also
/// if it fails half-way.
pub(super) fn replace(
    table: &Table,
    scan: &mut Scan,
    data: &AnyTableData,
    objects: usize,
    writer: &Writer<'_>,
    new: impl Fn(Object<'_>) -> Option<Term>,
    mut replaced: impl FnMut(Object<'_>),
) -> Result<()> {
    let keypos = table.keypos();
    let judge = |record: RecordPtr| -> Result<Option<NewRecord>> {
        let Some(term) = new(object(record, keypos)) else {
            return Ok(None);
        };
        let new = record_of(&term, keypos)?;
        if !same_key(new.ptr(), record) {
            return Err(Error::KeyUpdate(keypos));
        }
        Ok(Some(new))
    };
    let mut found: Vec<RecordPtr> = Vec::new();
    scan.step(
        &mut writer.view(data)?.read_many(writer.pin),
        (Pace::About(objects), BATCH),
        writer.pin,
        |object| {
            found.push(object.record());
            false
        },
    );
    for group in found.chunk_by(|a, b| table.table_type().is_bag() && same_key(*a, *b)) {
        let done: ChangedObjects = with_data!(data, b => match group {
            [one] if !table.table_type().is_bag() => {
                b.replace_found(*one, judge, writer)?.into_iter().collect()
            }
            these => b.replace_these(judged(&b.adopted(these, writer), judge)?, writer),
        });
        writer.check()?;
        let done = done.into_iter();
        done.for_each(|record| replaced(object(record, keypos)));
    }
    Ok(())
}

/// Returns the objects of one key that are to be replaced, each with its replacement.
fn judged(
    these: &[RecordPtr],
    judge: impl Fn(RecordPtr) -> Result<Option<NewRecord>>,
) -> Result<Vec<(RecordPtr, NewRecord)>> {
    let pair = |&old| Ok(judge(old)?.map(|new| (old, new)));
    these
        .iter()
        .filter_map(|old| pair(old).transpose())
        .collect()
}

fn same_key(a: RecordPtr, b: RecordPtr) -> bool {
    // SAFETY: both are held: by the caller's pin, or as new.
    unsafe { a.exact() == b.exact() }
}

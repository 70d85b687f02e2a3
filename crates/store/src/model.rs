//! What the models of the store stand on: an index of two slots, and tables over it.
//!
//! The index has a lock in each slot, which is what the protocols of [`crate::pending`], [`crate::commits`] and
//! [`crate::version`] know of an index; all else is what the store runs. The books of the collector tell of a cell, a
//! commit or an object that is looked at when it would have been freed, and of one that is retired twice.

use std::sync::Arc;

use fyris_index::{Action, Batch, Entry, Index, Range};
use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::lock::lock_bit;
use fyris_sync::reclaim::{Guard, PROTECT, assert_not_reclaimed, pin};
use fyris_sync::thread::spawn;
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use crate::chain;
use crate::commits::CommitLog;
use crate::ids::TableType;
use crate::key_kind::{Exact, KeyKind};
use crate::native_terms::record_of;
use crate::ops::{Outcome, Patience};
use crate::record::NewRecord;
use crate::slot::{Content, Slot};
use crate::table_data::TableData;
use crate::writer::Writer;

/// Taken in a word while its slot is written.
const LOCKED: u64 = 1 << 63;

/// An index of the keys 1 and 2.
#[derive(Default)]
pub(crate) struct Two {
    words: [AtomicU64; 2],
}

impl Two {
    fn word<K: KeyKind>(&self, key: &K::Key) -> &AtomicU64 {
        &self.words[usize::from(key == K::of(&self::key(2)))]
    }

    /// Returns what the slots hold.
    pub(crate) fn entries<K>(&self) -> impl Iterator<Item = Slot<K>>
    where
        Slot<K>: Entry,
    {
        // PROTECT: as in `get`.
        let words = self.words.iter().map(|word| word.load(PROTECT));
        words.filter_map(entry)
    }
}

fn entry<K>(word: u64) -> Option<Slot<K>>
where
    Slot<K>: Entry,
{
    // SAFETY: from `into_bits`, but for the lock.
    (word & !LOCKED != 0).then(|| unsafe { Slot::from_bits(word & !LOCKED) })
}

impl<K: KeyKind> Index<Slot<K>> for Two
where
    Slot<K>: Entry<Key = K::Key>,
{
    fn get(&self, key: &K::Key, _: &impl Guard) -> Option<Slot<K>> {
        // PROTECT: pairs with the Release in `upsert`.
        let found = entry(self.word::<K>(key).load(PROTECT));
        // As every index looks.
        assert!(found.is_none_or(|slot| slot.has_key(key)));
        found
    }

    fn upsert<R>(
        &self,
        key: &K::Key,
        _: &impl Guard,
        f: impl FnOnce(Option<Slot<K>>) -> (Action<Slot<K>>, R),
    ) -> R {
        let word = self.word::<K>(key);
        let old = lock_bit(word, LOCKED, 0);
        let found = entry(old);
        assert!(found.is_none_or(|slot| slot.has_key(key)));
        let (action, result) = f(found);
        let new = match action {
            Action::Keep => old,
            Action::Put(entry) => entry.into_bits(),
            Action::Remove => 0,
        };
        // Release: pairs with PROTECT in `get` and the Acquire in `lock_bit`.
        word.store(new, Ordering::Release);
        result
    }

    fn len(&self) -> usize {
        0
    }

    fn memory(&self) -> usize {
        0
    }

    fn scan(
        &self,
        _: Range<'_, K::Key>,
        _: usize,
        _: &impl Guard,
        out: &mut Batch<Slot<K>>,
    ) -> bool {
        // PROTECT: as in `get`.
        let words = self.words.iter().map(|word| word.load(PROTECT));
        out.extend(words.filter_map(entry));
        false
    }
}

impl Drop for Two {
    fn drop(&mut self) {
        for word in &self.words {
            if let Some(entry) = entry::<Exact>(word.load(Ordering::Relaxed)) {
                // SAFETY: no other thread has the index any more.
                unsafe { entry.dispose() };
            }
        }
    }
}

pub(crate) type Table<K = Exact> = TableData<K, Two>;

/// Objects, and keys alone, are too large for a word, so that each has a record.
const LARGE: i64 = 1 << 40;

pub(crate) fn record(key: i64, value: i64) -> NewRecord {
    let object = Term::tuple(vec![Term::Int(key << 60), Term::Int(LARGE + value)]);
    record_of(&object, 1).expect("a record")
}

pub(crate) fn list(value: i64) -> Vec<NewRecord> {
    vec![record(1, value), record(2, value)]
}

/// Returns a table with `value` under both keys.
pub(crate) fn table<K: KeyKind>(kind: TableType, value: Option<i64>) -> Arc<Table<K>>
where
    Slot<K>: Entry<Key = K::Key>,
{
    let table = Table::new(Two::default(), kind, 1, &CommitLog::new());
    for record in value.map(list).into_iter().flatten() {
        table.insert_one(record, &Writer::plain(&pin()));
    }
    Arc::new(table)
}

pub(crate) fn value<K: KeyKind>(table: &Table<K>, content: Content) -> i64
where
    Slot<K>: Entry<Key = K::Key>,
{
    let record = content.newest();
    assert_not_reclaimed(std::ptr::without_provenance::<u8>(record.bits() as usize));
    match table.object(record).element(2) {
        Some(Term::Int(value)) => value - LARGE,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn values<K: KeyKind>(table: &Table<K>, content: Option<Content>) -> Vec<i64>
where
    Slot<K>: Entry<Key = K::Key>,
{
    let records = content.map(chain::oldest_first).unwrap_or_default();
    let contents = records.into_iter().map(Content::one);
    contents.map(|content| value(table, content)).collect()
}

pub(crate) fn key(key: i64) -> KeyBuf {
    KeyBuf::from_int(key << 60)
}

/// Returns the values under one key.
pub(crate) fn look<K: KeyKind>(table: &Table<K>, of: i64) -> Vec<i64>
where
    Slot<K>: Entry<Key = K::Key>,
{
    let pin = pin();
    values(table, table.get(K::of(&key(of)), &pin))
}

pub(crate) fn insert_list(table: &Table, value: i64, only_new: bool, writer: &Writer<'_>) -> bool {
    let mut list = table.list(list(value), only_new, false);
    let outcome = table.insert_list(&mut list, Patience::Waits, writer);
    let done = outcome == Ok(Outcome::Committed);
    if !done {
        list.retire(writer.pin);
    }
    done
}

/// Runs these beside each other.
pub(crate) fn beside<T: Send + Sync + 'static>(table: &Arc<T>, others: &[fn(&T)], last: fn(&T)) {
    let others: Vec<_> = others
        .iter()
        .map(|&f| {
            let table = table.clone();
            spawn(move || f(&table))
        })
        .collect();
    last(table);
    others.into_iter().for_each(|other| other.join().unwrap());
}

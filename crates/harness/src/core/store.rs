//! The store under measurement: tables of `{K}` and `{K, V}`, one call an operation.
//!
//! Inserts hand in a tuple that the caller has just built, lookups take the object by its key and,
//! of `{K, V}`, decode `V`.

use std::sync::Mutex;

use fyris::{AsKey, CounterOp, Cursor, Object, Options, Owner, Store, Table, pin};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::contender::Contender;
use super::keys::Bytes20;
use super::subject::{Seen, Subject};

/// Returns the subjects with integer keys.
pub fn term_int() -> Vec<Contender<u64>> {
    contenders()
}

/// Returns the subjects with 20-byte binaries as keys.
pub fn term_bin20() -> Vec<Contender<Bytes20>> {
    contenders()
}

fn contenders<K: TermKey>() -> Vec<Contender<K>> {
    vec![
        Contender::table::<Stored<false, true>>("hash", "{K, V}"),
        Contender::table::<Stored<false, false>>("hash", "{K}"),
        Contender::table::<Stored<true, true>>("ordered", "{K, V}"),
        Contender::table::<Stored<true, false>>("ordered", "{K}"),
    ]
}

/// A key of the workload as a term.
pub trait TermKey: Sync + 'static {
    /// The form by which the store looks it up.
    type As: AsKey;

    /// Returns the key to look up.
    fn as_key(&self) -> Self::As;

    /// Returns the key as an element of a tuple.
    fn term(&self) -> Term;
}

impl TermKey for u64 {
    type As = i64;

    #[inline]
    fn as_key(&self) -> i64 {
        *self as i64
    }
    #[inline]
    fn term(&self) -> Term {
        Term::Int(*self as i64)
    }
}

impl TermKey for Bytes20 {
    type As = KeyBuf;

    #[inline]
    fn as_key(&self) -> KeyBuf {
        KeyBuf::from_binary(self)
    }
    #[inline]
    fn term(&self) -> Term {
        Term::binary(&self[..])
    }
}

/// A table, a `set` or an `ordered_set`, of pairs or of bare keys.
pub struct Stored<const ORDERED: bool, const PAIR: bool> {
    table: Table,
    /// Kept, as its end would be the table's.
    _owner: Mutex<Owner>,
}

impl<const ORDERED: bool, const PAIR: bool> Stored<ORDERED, PAIR> {
    fn object(key: Term, value: u64) -> Term {
        Term::tuple(if PAIR {
            vec![key, Term::Int(value as i64)]
        } else {
            vec![key]
        })
    }

    #[inline]
    fn value(object: &Object<'_>) -> u64 {
        match PAIR.then(|| object.element(2)).flatten() {
            Some(Term::Int(value)) => value as u64,
            _ => 0,
        }
    }
}

/// The message of an `expect` on a table that is there and public.
const FINE: &str = "the table is public and there";

impl<K: TermKey, const ORDERED: bool, const PAIR: bool> Subject<K> for Stored<ORDERED, PAIR> {
    const ORDERED: bool = ORDERED;
    const ADDS: Option<bool> = if PAIR { Some(true) } else { None };
    const TELLS_REMOVED: bool = false;

    fn new() -> Self {
        let owner = Store::new().owner();
        let options = if ORDERED {
            Options::ordered_set()
        } else {
            Options::set()
        };
        let table = owner.new_table("bench", &options.public()).expect(FINE);
        Self {
            table,
            _owner: Mutex::new(owner),
        }
    }
    #[inline]
    fn insert(&self, key: &K, value: u64) {
        self.table
            .insert(&Self::object(key.term(), value))
            .expect(FINE);
    }
    #[inline]
    fn get(&self, key: &K) -> Option<u64> {
        let pin = pin();
        self.table
            .get(&key.as_key(), &pin)
            .expect(FINE)
            .map(|o| Self::value(&o))
    }
    #[inline]
    fn remove(&self, key: &K) -> bool {
        self.table.delete_key(&key.as_key()).expect(FINE);
        true
    }
    #[inline]
    fn add(&self, key: &K) {
        self.table
            .update_counter(&key.term(), &[CounterOp::add(1)])
            .expect(FINE);
    }
    fn scan(&self) -> Seen {
        let (mut seen, mut cursor) = (Seen::default(), Cursor::new());
        let mut more = true;
        while more {
            let (pin, mut batch) = (pin(), Vec::new());
            more = cursor
                .next_batch(&self.table, &pin, &mut batch)
                .expect(FINE);
            batch
                .iter()
                .for_each(|object| seen.add(Self::value(object)));
        }
        seen
    }
}

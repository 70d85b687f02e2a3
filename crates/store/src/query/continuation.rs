//! Selecting in chunks.

use std::ops::Bound;
use std::sync::LazyLock;

use fyris_query::MatchSpec;
use fyris_term::{Atom, Term};

use super::query::{Query, check_limit};
use super::scan::Part;
use crate::error::{Error, Result};
use crate::ids::ProcessId;
use crate::ops::Span;
use crate::secondary::{Candidates, KeyBytes, Secondaries};
use crate::table::Table;
use crate::view::View;

/// Some of the results of a query.
///
/// ```
/// # use fyris::{MatchSpec, Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::ordered_set())?;
/// table.insert_many((0..5).map(|n| term!({n})))?;
/// let mut chunk = table.select_limit(&MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?, 2)?;
/// let mut all = chunk.results;
/// while let Some(next) = chunk.next {
///     chunk = next.next()?;
///     all.extend(chunk.results);
/// }
/// assert_eq!(all.len(), 5);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Chunk {
    /// Exactly `limit` results, fewer only in the last chunk.
    pub results: Vec<Term>,
    /// The place of the next chunk; `None` stands for `'$end_of_table'`.
    pub next: Option<Continuation>,
}

impl Chunk {
    /// Returns whether it is what ETS calls `'$end_of_table'`: no results, and none to come.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let chunk = table.match_object_limit(&term!(:"_"), 2)?;
    /// assert!(chunk.is_end()); // nothing at all
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn is_end(&self) -> bool {
        self.results.is_empty() && self.next.is_none()
    }
}

/// The place where a query in chunks goes on: an owned value, tied to no thread.
///
/// It belongs to the table, not to its name: it goes on after a rename, and fails when the table is deleted, though
/// another have its name. It survives any change of objects; it may be used again, from the same place.
///
/// All chunks show the table as it was at one moment of the first: by a snapshot, which lasts as long as a continuation
/// is held and the table's `snapshot_ttl` allows. Where a few more objects than the limit are all, they are read at once,
/// as [`Table::select`] reads few, and the results wait here.
/// Of a table with `{consistent, false}` each chunk shows what is there then. Results that were found beyond a limit are
/// kept here for the next chunk: of a table without order a bucket's worth at most.
/// ```
/// # use fyris::{Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::ordered_set())?;
/// table.insert_many((0..5).map(|n| term!({n})))?;
/// let place = table.match_object_limit(&term!(:"_"), 2)?.next.expect("three more");
/// table.delete_key(&2)?; // ahead of the place
/// assert_eq!(place.clone().next()?.results, [term!({2}), term!({3})]);
/// assert_eq!(place.next()?.results, [term!({2}), term!({3})]); // used again
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Continuation(Query);

impl Continuation {
    /// Returns the next chunk.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..3).map(|n| term!({n})))?;
    /// let place = table.match_object_limit(&term!(:"_"), 2)?.next.expect("one more");
    /// table.delete()?;
    /// assert!(place.next().is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`], [`Error::Expired`].
    pub fn next(self) -> Result<Chunk> {
        chunk(self.0)
    }

    /// Returns the place before the first result of a query, for chunks of `limit`.
    ///
    /// ```
    /// # use fyris::{Continuation, MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert(&term!({1}))?;
    /// let query = table.query(&MatchSpec::new(&term!([{:"_", [], [:"$_"]}]))?);
    /// let first = Continuation::before(query, 2)?;
    /// table.insert(&term!({0}))?; // nothing was looked at yet
    /// assert_eq!(first.next()?.results, [term!({0}), term!({1})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] for a limit of 0; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn before(query: Query, limit: usize) -> Result<Continuation> {
        check_limit(limit)?;
        query.check()?;
        let table = query.table().by_identity();
        Ok(Continuation(query.for_table(table).limit(limit)))
    }

    /// Works on the next chunk, for about `objects` objects; returns `false` when [`Continuation::finish`] has all of
    /// it.
    ///
    /// ```
    /// # use fyris::{Continuation, MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..10_000).map(|n| term!({n})))?;
    /// let query = table.query(&MatchSpec::new(&term!([{{5}, [], [:"$_"]}, {{7}, [], [:"$_"]}]))?);
    /// let mut chunk = Continuation::before(query, 10)?;
    /// while chunk.step(100)? {} // between two steps the caller may do something else
    /// assert_eq!(chunk.finish().results.len(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`], [`Error::Expired`].
    pub fn step(&mut self, objects: usize) -> Result<bool> {
        // Also if nothing is to be read, or that of a snapshot.
        self.0.check()?;
        Ok(!self.0.is_full() && self.0.step(objects)? && !self.0.is_full())
    }

    /// Returns the chunk that the steps have made.
    ///
    /// ```
    /// # use fyris::{Continuation, MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1}))?;
    /// let query = table.query(&MatchSpec::new(&term!([{:"_", [], [:"$_"]}]))?);
    /// let chunk = Continuation::before(query, 10)?.finish(); // without a step
    /// assert!(chunk.results.is_empty() && chunk.next.is_some());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn finish(self) -> Chunk {
        cut(self.0)
    }

    /// Returns the continuation for another caller.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set().private())?;
    /// table.insert_many((0..3).map(|n| term!({n})))?;
    /// let place = table.match_object_limit(&term!(:"_"), 2)?.next.expect("one more");
    /// assert!(place.clone().for_caller(ProcessId(7)).next().is_err()); // no right to read
    /// assert!(place.next().is_ok());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn for_caller(self, caller: ProcessId) -> Continuation {
        let table = self.0.table().for_caller(caller);
        Continuation(self.0.for_table(table))
    }

    /// Returns the table.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..3).map(|n| term!({n})))?;
    /// let place = table.match_object_limit(&term!(:"_"), 2)?.next.expect("one more");
    /// assert_eq!(place.table().id(), table.id());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn table(&self) -> &Table {
        self.0.table()
    }

    /// Returns the number of results of a chunk. O(1).
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..3).map(|n| term!({n})))?;
    /// let place = table.match_object_limit(&term!(:"_"), 2)?.next.expect("one more");
    /// assert_eq!(place.limit(), 2);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn limit(&self) -> usize {
        self.0.parts().1
    }

    /// Returns the results that were found and are not part of a chunk yet. O(1).
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..3).map(|n| term!({n})))?;
    /// let place = table.match_object_limit(&term!(:"_"), 2)?.next.expect("one more");
    /// assert_eq!(place.waiting(), [term!({2})]); // all three were read at once
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn waiting(&self) -> &[Term] {
        self.0.parts().2
    }

    /// Returns a term that can be written down and read again while the table lives, without the specification, which
    /// [`Table::repair_continuation`] is given. The place is written as key bytes, which mean nothing to another run of
    /// the program. A snapshot is not written: what goes on with the term takes another.
    ///
    /// `{fyris_continuation, TableId, Reverse, Limit, Parts, Results}`; a part is a key, a pair of bounds, or
    /// `{waiting, Key, Addresses}`, or `{Secondary, Value, Lower, Upper}`.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..3).map(|n| term!({n})))?;
    /// let spec = MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?;
    /// let term = table.select_limit(&spec, 2)?.next.expect("one more").to_term();
    /// let place = table.repair_continuation(&term, &spec)?; // the term has no specification
    /// assert_eq!(place.next()?.results, [term!(2)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn to_term(&self) -> Term {
        let (scan, limit, results) = self.0.parts();
        let parts = scan.parts().map(part_term).collect();
        Term::tuple(vec![
            Term::Atom(WORDS.continuation),
            number(self.table().id().0),
            boolean(scan.is_back()),
            number(limit as u64),
            Term::List(parts),
            Term::list(results.to_vec()),
        ])
    }
}

/// The words of a written continuation, looked up once.
struct Words {
    continuation: Atom,
    /// The first word of a part of which some objects wait.
    waiting: Atom,
    unbounded: Atom,
    included: Atom,
    excluded: Atom,
    r#true: Atom,
    r#false: Atom,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let word = Atom::word;
    Words {
        continuation: word("fyris_continuation"),
        waiting: word("waiting"),
        unbounded: word("unbounded"),
        included: word("included"),
        excluded: word("excluded"),
        r#true: word("true"),
        r#false: word("false"),
    }
});

impl Table {
    /// Returns the first chunk of a query.
    pub(super) fn chunk(&self, query: Query, limit: usize) -> Result<Chunk> {
        check_limit(limit)?;
        chunk(query.for_table(self.by_identity()).limit(limit))
    }

    /// `repair_continuation/2`: returns a continuation back from its term, with its specification.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..3).map(|n| term!({n})))?;
    /// let spec = MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?;
    /// let term = table.select_limit(&spec, 2)?.next.expect("one more").to_term();
    /// let other = owner.new_table("other", &Options::ordered_set())?;
    /// assert!(other.repair_continuation(&term, &spec).is_err());
    /// assert!(table.repair_continuation(&term, &spec).is_ok());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] if the term is no continuation of this table.
    pub fn repair_continuation(&self, term: &Term, spec: &MatchSpec) -> Result<Continuation> {
        let bad = || Error::BadArgument("not a continuation of this table".to_owned());
        let saved = self.read(|view, _| Ok(Saved::of(term, view.secondaries())))?;
        let saved = saved.ok_or_else(bad)?;
        if saved.table != self.id().0 {
            return Err(bad());
        }
        check_limit(saved.limit)?;
        let query = self.by_identity().query(spec).limit(saved.limit);
        let query = match saved.back {
            true => query.reverse().newest_first(),
            false => query,
        };
        let scan = query.parts().0.of(saved.parts);
        Ok(Continuation(query.restored(scan, saved.results)))
    }
}

fn chunk(mut query: Query) -> Result<Chunk> {
    // What was left over may be enough for the rest, or a snapshot: the table is asked for all the same.
    query.check()?;
    query.run()?;
    Ok(cut(query))
}

/// Returns the results of a query so far, up to its limit.
fn cut(mut query: Query) -> Chunk {
    let results = query.take();
    let more = !query.is_done() || query.has_results();
    Chunk {
        results,
        next: more.then(|| Continuation(query.widened())),
    }
}

/// A continuation read from a term.
struct Saved {
    table: u64,
    back: bool,
    limit: usize,
    parts: Vec<Part>,
    results: Vec<Term>,
}

impl Saved {
    fn of(term: &Term, secondaries: &Secondaries) -> Option<Saved> {
        let [word, table, back, limit, parts, results] = term.as_tuple()? else {
            return None;
        };
        if word.as_atom()? != WORDS.continuation {
            return None;
        }
        Some(Saved {
            table: to_number(table)?,
            back: to_boolean(back)?,
            limit: usize::try_from(to_number(limit)?).ok()?,
            parts: parts
                .as_list()?
                .iter()
                .map(|part| to_part(part, secondaries))
                .collect::<Option<_>>()?,
            results: results.as_list()?.to_vec(),
        })
    }
}

fn part_term(part: &Part) -> Term {
    match part {
        Part::Key(key) => Term::binary(&key[..]),
        Part::Span(span) => Term::tuple(vec![bound_term(&span.from), bound_term(&span.to)]),
        Part::Indexed(left) => Term::tuple(vec![
            Term::Atom(left.of.name),
            Term::binary(&left.value[..]),
            bound_term(&left.keys.from),
            bound_term(&left.keys.to),
        ]),
        Part::Waiting { key, addresses } => Term::tuple(vec![
            Term::Atom(WORDS.waiting),
            Term::binary(&key[..]),
            Term::List(addresses.iter().map(|&address| number(address)).collect()),
        ]),
    }
}

/// Reads a part, of a table with these secondary indexes.
fn to_part(term: &Term, secondaries: &Secondaries) -> Option<Part> {
    match term {
        Term::Binary(key) => Some(Part::Key(key.to_vec())),
        Term::Tuple(bounds) => match &bounds[..] {
            [from, to] => Some(Part::Span(Span::new(to_bound(from)?, to_bound(to)?))),
            [Term::Atom(word), Term::Binary(key), addresses] if *word == WORDS.waiting => {
                to_waiting(key, addresses)
            }
            [Term::Atom(index), Term::Binary(value), from, to] => Some(Part::Indexed(Candidates {
                of: secondaries.named(index.as_str()).ok()?.clone(),
                value: KeyBytes::from_slice(value),
                keys: Span::new(to_bound(from)?, to_bound(to)?),
            })),
            _ => None,
        },
        _ => None,
    }
}

/// Reads a part that waits. Addresses are looked up and never followed, so they may be any numbers.
fn to_waiting(key: &[u8], addresses: &Term) -> Option<Part> {
    let addresses = addresses.as_list()?.iter().map(to_number);
    let mut addresses: Vec<u64> = addresses.collect::<Option<_>>()?;
    addresses.sort_unstable();
    Some(Part::Waiting {
        key: key.to_vec(),
        addresses,
    })
}

fn bound_term(bound: &Bound<Vec<u8>>) -> Term {
    let (word, key) = match bound {
        Bound::Unbounded => return Term::Atom(WORDS.unbounded),
        Bound::Included(key) => (WORDS.included, key),
        Bound::Excluded(key) => (WORDS.excluded, key),
    };
    Term::tuple(vec![Term::Atom(word), Term::binary(&key[..])])
}

fn to_bound(term: &Term) -> Option<Bound<Vec<u8>>> {
    match term {
        Term::Atom(word) => (*word == WORDS.unbounded).then_some(Bound::Unbounded),
        Term::Tuple(bound) => match &bound[..] {
            [Term::Atom(word), Term::Binary(key)] if *word == WORDS.included => {
                Some(Bound::Included(key.to_vec()))
            }
            [Term::Atom(word), Term::Binary(key)] if *word == WORDS.excluded => {
                Some(Bound::Excluded(key.to_vec()))
            }
            _ => None,
        },
        _ => None,
    }
}

fn boolean(value: bool) -> Term {
    Term::Atom(if value { WORDS.r#true } else { WORDS.r#false })
}

fn to_boolean(term: &Term) -> Option<bool> {
    let word = term.as_atom()?;
    (word == WORDS.r#true || word == WORDS.r#false).then_some(word == WORDS.r#true)
}

fn number(value: u64) -> Term {
    Term::integer(value)
}

fn to_number(term: &Term) -> Option<u64> {
    match term {
        Term::Int(value) => u64::try_from(*value).ok(),
        _ => None,
    }
}

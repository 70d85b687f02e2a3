//! A query under way.

use std::sync::LazyLock;

use fyris_query::{Machine, MatchSpec, Wanted};
use fyris_sync::reclaim::LocalGuard;
use fyris_term::Term;

use super::change;
use super::parallel;
use super::plan;
use super::scan::{Pace, Scan};
use super::work::{Verb, Work};
use crate::error::{Error, Result};
use crate::record::Object;
use crate::secondary::Candidates;
use crate::table::Table;
use crate::view::{TableReader, View};

/// Objects visited under one pin: what is freed meanwhile waits for no longer than that takes.
const SLICE: usize = 4096;

/// A query of a table, that runs in slices as long as its caller likes, in one go or not at all.
///
/// It is owned and `Send`; between two steps it holds no pin and no lock. A select or a count of more than 512 objects
/// holds a [snapshot](Table::snapshot) from its first step to its last. Dropping a query cancels what has not been done.
/// Consistency is that of [`Table::select`].
///
/// ```
/// # use fyris::{MatchSpec, Options, Store, Term};
/// # let store = Store::new();
/// # let owner = store.owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// # for n in 0..10_000 { table.insert(&Term::tuple(vec![Term::Int(n), Term::Int(n % 7)]))?; }
/// let spec = MatchSpec::new(&Term::parse("[{{'$1', 3}, [], ['$1']}]").expect("a term"))?;
/// let mut query = table.query(&spec);
/// while query.step(1000)? {
///     // Here the caller may do something else, or give up.
/// }
/// assert_eq!(query.count(), 1429);
/// assert_eq!(query.visited(), 10_000);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone)]
pub struct Query {
    table: Table,
    /// The snapshot that it reads, once it has begun to.
    past: Option<Table>,
    work: Work,
}

impl Query {
    pub(crate) fn new(table: &Table, spec: &MatchSpec) -> Query {
        Query::of_scan(table, spec, plan::scan(table, spec))
    }

    /// Returns a query whose results are the objects of candidates that have their value.
    pub(crate) fn of_candidates(table: &Table, left: Candidates) -> Query {
        static OBJECTS: LazyLock<MatchSpec> = LazyLock::new(|| {
            MatchSpec::pattern(&Term::atom("_"), Wanted::Objects).expect("a pattern")
        });
        Query::of_scan(table, &OBJECTS, Scan::of_candidates(left, table))
    }

    fn of_scan(table: &Table, spec: &MatchSpec, scan: Scan) -> Query {
        Query {
            table: table.clone(),
            past: None,
            work: Work {
                scan,
                spec: spec.clone(),
                machine: None,
                verb: Verb::Select,
                returning: false,
                threads: 1,
                limit: usize::MAX,
                results: Vec::new(),
                count: 0,
            },
        }
    }

    /// Makes the query visit objects from the end, in an `ordered_set`. To be called before the first step.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_list(&[term!({1}), term!({2})])?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?).reverse();
    /// query.run()?;
    /// assert_eq!(query.take(), [term!(2), term!(1)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn reverse(mut self) -> Query {
        self.work.scan = self.work.scan.reversed();
        self
    }

    /// Makes the query visit the objects of a key from the newest to the oldest, in a bag. To be called before the
    /// first step.
    ///
    /// For callers whose lists grow at the front.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::bag())?;
    /// table.insert_list(&[term!({1, "old"}), term!({1, "new"})])?;
    /// let spec = MatchSpec::new(&term!([{{:"_", :"$1"}, [], [:"$1"]}]))?;
    /// let mut query = table.query(&spec).newest_first();
    /// query.run()?;
    /// assert_eq!(query.take(), [term!("new"), term!("old")]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn newest_first(mut self) -> Query {
        self.work.scan = self.work.scan.newest_first();
        self
    }

    /// Makes the query only count the objects whose value is exactly `true`: `select_count`.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..10).map(|n| term!({n, n % 2})))?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"_", 1}, [], [true]}]))?).counting();
    /// query.run()?;
    /// assert_eq!((query.count(), query.take().len()), (5, 0)); // no results
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn counting(mut self) -> Query {
        self.work.verb = Verb::Count;
        self
    }

    /// Makes the query delete the objects whose value is exactly `true`, and count them: `select_delete`.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..10).map(|n| term!({n, n % 2})))?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"_", 1}, [], [true]}]))?).deleting();
    /// query.run()?;
    /// assert_eq!((query.count(), table.len()), (5, 5));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn deleting(mut self) -> Query {
        self.work.verb = Verb::Delete;
        self.work.scan = self.work.scan.by_whole_keys();
        self
    }

    /// Makes the query put values in the places of the objects, and count them: `select_replace`.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, 10}))?;
    /// let spec = MatchSpec::new(&term!([{{:"$1", :"_"}, [], [{{:"$1", 0}}]}]))?;
    /// let mut query = table.query(&spec).replacing()?;
    /// query.run()?;
    /// assert_eq!(table.tab2list()?, [term!({1, 0})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyChanges`] unless the specification provably keeps every object's key; [`Error::WrongType`] for a
    /// `bag`.
    pub fn replacing(mut self) -> Result<Query> {
        change::check(&self.table, &self.work.spec)?;
        self.work.verb = Verb::Replace;
        self.work.scan = self.work.scan.by_whole_keys();
        Ok(self)
    }

    /// Makes a query that deletes or replaces keep a value of each object that it has changed: [`Query::take`] returns
    /// them. It then deletes whatever matches, and the value may be anything; of an object that is replaced it is what
    /// has replaced it.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_list(&[term!({1, :due}), term!({2, :later})])?;
    /// let due = MatchSpec::new(&term!([{{:"$1", :due}, [], [:"$1"]}]))?;
    /// let mut query = table.query(&due).deleting().returning();
    /// query.run()?;
    /// assert_eq!((query.take(), table.len()), (vec![term!(1)], 1));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn returning(mut self) -> Query {
        self.work.returning = true;
        self
    }

    /// Sets the number of threads that [`Query::run`] uses for selecting and counting without a limit; the results are
    /// the same, in the same order.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..10_000).map(|n| term!({n})))?;
    /// let spec = MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?;
    /// let mut query = table.query(&spec).threads(2);
    /// query.run()?;
    /// assert_eq!(query.take(), table.select(&spec)?); // in the same order
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn threads(mut self, threads: usize) -> Query {
        self.work.threads = threads.max(1);
        self
    }

    /// Sets the values of `{self}` and `{node}`.
    ///
    /// ```
    /// # use fyris::{Atom, Machine, MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1}))?;
    /// let here = Machine::default().called(Atom::new("here@home")?);
    /// let mut query = table.query(&MatchSpec::new(&term!([{:"_", [], [{:node}]}]))?).machine(here);
    /// query.run()?;
    /// assert_eq!(query.take(), [term!(:"here@home")]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn machine(mut self, machine: Machine) -> Query {
        self.work.machine = Some(machine);
        self
    }

    /// Stops at `limit` results; [`Query::take`] makes room for more.
    pub(super) fn limit(mut self, limit: usize) -> Query {
        self.work.limit = limit;
        self
    }

    /// Visits about `objects` objects, and a few more to the end of a bucket; in a bag also up to 1,024 more, or a
    /// sixteenth of the objects of a key that has very many (to delete or to replace objects, all of them). Returns
    /// `false` when there is nothing left to do.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..10_000).map(|n| term!({n})))?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?);
    /// query.step(100)?;
    /// assert!((100..1000).contains(&query.take().len())); // so far; dropped, it does no more
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`]; what was done before stays done. One that reads a snapshot already
    /// goes on, whatever becomes of the table.
    pub fn step(&mut self, objects: usize) -> Result<bool> {
        self.work.check_iteration(&self.table)?;
        if let Verb::Select | Verb::Count = self.work.verb {
            self.read_step(objects)?;
            return Ok(!self.is_done());
        }
        let mut results = std::mem::take(&mut self.work.results);
        let done = self.change_step(objects, |object, value| {
            results.push(value.unwrap_or_else(|| object.to_term()));
        });
        self.work.results = results;
        done.map(|()| !self.is_done())
    }

    fn change_step(
        &mut self,
        objects: usize,
        f: impl FnMut(Object<'_>, Option<Term>),
    ) -> Result<()> {
        let Query { table, work, .. } = self;
        let is_all = work.verb == Verb::Delete && work.spec.is_catch_all_true();
        match is_all && table.is_live() && !work.returning {
            true => work.delete_all(table),
            false => table.write(|data, writer| work.change(table, data, objects, writer, f)),
        }
    }

    /// A step of a select, or of a change that is [`returning`](Query::returning), for a caller with terms of its own:
    /// visits about `objects` objects and shows `f` every one that matches, or was changed, with the value; `None`
    /// stands for the object itself, where the specification always asks for that. Returns `false` when there is
    /// nothing left to do. `f` runs under a pin and outside of every lock; of a change it runs within the write, for
    /// which others may wait, and must not use the store.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..100).map(|n| term!({n, "value"})))?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"$1", :"_"}, [], [:"$1"]}]))?);
    /// let mut keys = Vec::new();
    /// while query.step_with(30, |object, _| keys.push(object.key()))? {}
    /// assert_eq!((keys.len(), &keys[99]), (100, &term!(99)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`]; what was done before stays done.
    pub fn step_with(
        &mut self,
        objects: usize,
        mut f: impl FnMut(Object<'_>, Option<Term>),
    ) -> Result<bool> {
        self.work.check_iteration(&self.table)?;
        match self.work.verb {
            Verb::Select | Verb::Count => self.step_by(objects, |work, reader, pace, pin| {
                work.show(reader, pace, pin, &mut f)
            }),
            Verb::Delete | Verb::Replace => self.change_step(objects, f),
        }?;
        Ok(!self.is_done())
    }

    fn read_step(&mut self, objects: usize) -> Result<()> {
        self.step_by(objects, |work, reader, pace, pin| {
            work.read_step(reader, pace, pin)
        })
    }

    /// Reads on by a step of about `objects` objects.
    ///
    /// All steps of a query show one moment. If it visits few objects, and the step may visit as many, the first step
    /// reads all of them from the live table. Else every step reads from one snapshot.
    fn step_by(
        &mut self,
        objects: usize,
        mut step: impl FnMut(&mut Work, &mut TableReader<'_, '_>, Pace, &LocalGuard) -> bool,
    ) -> Result<()> {
        if self.past.is_none() && self.table.is_live() {
            let Query { table, work, .. } = self;
            let few = work.few();
            // The next chunk of a live table shows what is there then.
            let may_keep = work.limit == usize::MAX || table.shared().settings.consistent;
            let done = table.read(|view, pin| {
                // Where the number of objects tells, nothing is read to throw it away.
                let may_be_few =
                    may_keep && objects >= few && (!work.scan.is_whole() || view.about() <= few);
                Ok(may_be_few && step(work, &mut view.read_many(pin), Pace::Few(few), pin))
            })?;
            if done {
                return Ok(());
            }
            self.past = Some(self.moment()?);
        }
        let table = self.past.as_ref().unwrap_or(&self.table);
        let work = &mut self.work;
        table.read(|view, pin| {
            step(work, &mut view.read_many(pin), Pace::About(objects), pin);
            Ok(())
        })?;
        if self.is_done() {
            self.past = None;
        }
        Ok(())
    }

    /// Runs to the end, or to the limit.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1}))?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?);
    /// query.run()?;
    /// query.run()?; // at its end it does nothing
    /// assert_eq!(query.take(), [term!(1)]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`]; what was done before stays done.
    pub fn run(&mut self) -> Result<()> {
        self.run_while(|| true).map(|_| ())
    }

    /// Runs as long as `go_on` says so, which is asked before each slice of some thousands of objects, on every thread;
    /// whether it came to the end, or to the limit. If not, the query may be run or stepped further.
    ///
    /// On several threads what was found behind the first piece that is not finished is forgotten, and found again if
    /// the query goes on.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// use std::time::{Duration, Instant};
    ///
    /// table.insert_many((0..10_000).map(|n| term!({n})))?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?);
    /// assert!(!query.run_while(|| false)?); // not a slice
    /// let end = Instant::now() + Duration::from_secs(60);
    /// assert!(query.run_while(|| Instant::now() < end)?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`]; what was done before stays done.
    pub fn run_while(&mut self, go_on: impl Fn() -> bool + Sync) -> Result<bool> {
        match self.work.verb {
            Verb::Select | Verb::Count => self.read(&go_on)?,
            Verb::Delete | Verb::Replace => self.change(&go_on)?,
        }
        Ok(self.is_full() || self.is_done())
    }

    fn change(&mut self, go_on: &impl Fn() -> bool) -> Result<()> {
        // A step at least, so that the table is asked for the right to it.
        while go_on() && self.step(SLICE)? {}
        Ok(())
    }

    /// Reads on, all of it at one moment.
    fn read(&mut self, go_on: &(impl Fn() -> bool + Sync)) -> Result<()> {
        self.work.check_iteration(&self.table)?;
        let is_limited = self.work.limit != usize::MAX;
        if self.work.threads > 1 && !is_limited && !self.is_done() {
            return self.read_on_threads(go_on);
        }
        // A step at least, so that the table is asked for the right to it.
        while !self.is_full() && go_on() {
            self.read_step(SLICE)?;
            if self.is_done() {
                break;
            }
        }
        Ok(())
    }

    /// Returns what all steps read. Chunks are read by several calls, of which the caller may forget the last.
    fn moment(&self) -> Result<Table> {
        match self.work.limit {
            usize::MAX => self.table.at_one_moment(),
            _ => self.table.for_steps(),
        }
    }

    /// Reads on by several threads.
    fn read_on_threads(&mut self, go_on: &(impl Fn() -> bool + Sync)) -> Result<()> {
        let table = match &self.past {
            Some(past) => past.clone(),
            None => self.moment()?,
        };
        self.past = Some(table.clone());
        let (threads, work) = (self.work.threads, &self.work);
        let pieces =
            table.read(|view, pin| Ok(parallel::pieces(&work.scan, &view, threads, pin)))?;
        let done = parallel::run(pieces, threads, |scan| {
            let mut piece = Query {
                table: table.clone(),
                past: None,
                work: work.piece(scan.clone()),
            };
            piece.read(go_on)?;
            Ok((scan, piece.work))
        });
        self.work
            .put_together(done.into_iter().collect::<Result<_>>()?);
        if self.is_done() {
            self.past = None;
        }
        Ok(())
    }

    /// Fails unless the caller may read the table now.
    pub(super) fn check(&self) -> Result<()> {
        self.table.read(|_, _| Ok(()))
    }

    /// Returns whether there are results that were not taken.
    pub(super) fn has_results(&self) -> bool {
        !self.work.results.is_empty()
    }

    /// Returns whether the limit of results is reached.
    pub(super) fn is_full(&self) -> bool {
        self.work.results.len() >= self.work.limit
    }

    /// Returns whether nothing is left to visit.
    pub(super) fn is_done(&self) -> bool {
        self.work.scan.is_done()
    }

    /// Returns the results so far, in the order of [`Table::select`]; they are then forgotten here.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1}))?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?);
    /// query.run()?;
    /// assert_eq!((query.take().len(), query.take().len(), query.count()), (1, 0, 1));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn take(&mut self) -> Vec<Term> {
        let rest = self.work.results.len().min(self.work.limit);
        let rest = self.work.results.split_off(rest);
        std::mem::replace(&mut self.work.results, rest)
    }

    /// Returns the number of objects that were selected, counted, deleted or replaced so far.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_list(&[term!({1, 10}), term!({2, 20})])?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{:"_", 10}, [], [:"$_"]}]))?);
    /// query.run()?;
    /// assert_eq!((query.count(), query.visited()), (1, 2));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn count(&self) -> usize {
        self.work.count
    }

    /// Returns the number of objects that were visited so far.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..1000).map(|n| term!({n, n})))?;
    /// let mut query = table.query(&MatchSpec::new(&term!([{{7, :"_"}, [], [:"$_"]}]))?);
    /// query.run()?;
    /// assert_eq!(query.visited(), 1); // the key is in the head
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn visited(&self) -> u64 {
        self.work.scan.visited()
    }

    /// Returns the table.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let query = table.query(&MatchSpec::new(&term!([]))?);
    /// assert_eq!(query.table().id(), table.id());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the specification.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let spec = MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?;
    /// assert_eq!(table.query(&spec).spec(), &spec);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn spec(&self) -> &MatchSpec {
        &self.work.spec
    }

    pub(super) fn parts(&self) -> (&Scan, usize, &[Term]) {
        (&self.work.scan, self.work.limit, &self.work.results)
    }

    /// Goes on from where another query was.
    pub(super) fn restored(mut self, scan: Scan, results: Vec<Term>) -> Query {
        self.work.scan = scan;
        self.work.results = results;
        self
    }

    /// Lets it show what comes behind the last key of now, if it reads the live table: see
    /// [`Span::widen`](crate::ops::Span::widen).
    pub(super) fn widened(mut self) -> Query {
        if self.past.as_ref().is_none_or(Table::is_live) {
            self.work.scan.widen();
        }
        self
    }

    pub(super) fn for_table(mut self, table: Table) -> Query {
        self.table = table;
        self
    }
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Query({:?}, {:?}, {:?})",
            self.work.verb, self.table, self.work.spec
        )
    }
}

/// Refuses a limit that could never be reached.
pub(super) fn check_limit(limit: usize) -> Result<()> {
    if limit == 0 {
        return Err(Error::BadArgument("a limit counts from 1".to_owned()));
    }
    Ok(())
}

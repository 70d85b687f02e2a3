//! Adding secondary indexes to a table, and removing them.
//!
//! An index that is to know of all objects must have counted each of them (ENTERED), old ones that snapshots see, too.
//! So the table gets another content, with copies of all objects and the indexes that it is to have: what came before
//! keeps the old one. Writers go on meanwhile, and are watched: what they change is copied again, the last of it while
//! they wait.

use std::collections::BTreeMap;
use std::sync::Arc;

use fyris_sync::reclaim::{LocalGuard, pin};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::{Definition, SecondaryIndex, check};
use crate::chain;
use crate::error::{Error, Result};
use crate::ids::Right;
use crate::ops::{EACH, Span};
use crate::record::NewRecord;
use crate::slot::Content;
use crate::table::{FEW, Table};
use crate::table_data::{AnyTableData, with_data};
use crate::view::{Live, ReadMany, View};
use crate::watch::{SubscribeOptions, Subscription, WatchFilter};
use crate::writer::Writer;

impl Table {
    /// Adds a secondary index to the table, as [`Options::secondary`] would have made it. All objects are in it when
    /// this returns.
    ///
    /// O(n log n): it copies the objects, under one pin. Others read and write meanwhile, as they do beside a
    /// [subscription](Table::subscribe); at the end writers wait while the last of their changes are taken over.
    /// Transactions under way that have the table conflict. Snapshots from before do not have the index.
    ///
    /// [`Options::secondary`]: crate::Options::secondary
    ///
    /// ```
    /// use fyris::{Options, SecondaryIndex, Store, term};
    ///
    /// let owner = Store::new().owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((0..100).map(|n| term!({n, n % 10})))?;
    /// table.add_secondary(&SecondaryIndex::element("by_digit", 2))?;
    /// assert_eq!(table.lookup_by("by_digit", &term!(7))?.len(), 10);
    /// table.remove_secondary("by_digit")?;
    /// assert!(table.lookup_by("by_digit", &term!(7)).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadOption`]; [`Error::SecondaryExists`]; [`Error::NotUnique`] if it is to
    /// be unique and two objects have the same value; [`Error::NoSuchTable`],
    /// [`Error::NoAccess`] without the right to write; [`Error::ReadOnly`], [`Error::InTransaction`];
    /// [`Error::LacksFeature`] if the table's index cannot visit all objects. Nothing is changed then.
    pub fn add_secondary(&self, index: &SecondaryIndex) -> Result<()> {
        let definition = Arc::new(index.definition()?);
        self.change_secondaries("add_secondary", |all| {
            if all.iter().any(|of| of.name == definition.name) {
                return Err(Error::SecondaryExists(definition.name.to_string()));
            }
            all.push(definition.clone());
            check(all, self.table_type())
        })
    }

    /// Removes a secondary index. Costs what [`Table::add_secondary`] does. Queries that began by it go on without.
    ///
    /// ```
    /// # use fyris::{Options, SecondaryIndex, Store, term};
    /// # let owner = Store::new().owner();
    /// let options = Options::set().secondary(SecondaryIndex::element("by_digit", 2));
    /// let table = owner.new_table("t", &options)?;
    /// table.remove_secondary("by_digit")?;
    /// assert!(table.remove_secondary("by_digit").is_err()); // it is gone
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSecondaryIndex`]; [`Error::NoSuchTable`], [`Error::NoAccess`] without the right to write;
    /// [`Error::ReadOnly`], [`Error::InTransaction`], [`Error::LacksFeature`].
    pub fn remove_secondary(&self, name: &str) -> Result<()> {
        self.change_secondaries("remove_secondary", |all| {
            let at = all.iter().position(|of| of.name.as_str() == name);
            let at = at.ok_or_else(|| Error::NoSecondaryIndex(name.to_owned()))?;
            all.remove(at);
            Ok(())
        })
    }

    /// Gives the table a content with other secondary indexes and the same objects.
    fn change_secondaries(
        &self,
        operation: &'static str,
        change: impl Fn(&mut Vec<Arc<Definition>>) -> Result<()>,
    ) -> Result<()> {
        self.check_live(operation)?;
        self.check_iteration(operation)?;
        let pin = pin();
        loop {
            let old = self.live(Right::Write, &pin)?;
            let mut all: Vec<_> = old.secondaries().definitions().cloned().collect();
            change(&mut all)?;
            let everything = SubscribeOptions::new().queue(usize::MAX);
            let mut changes = self.subscribe(&WatchFilter::all(), &everything)?;
            let settings = &self.shared().settings;
            let mut fresh = settings.content(old.len(), &all, old.log())?;
            // The copy is not of one moment: objects may seem to have the same value.
            fresh.keep_unique(false);
            copy(old, &fresh, &pin);
            for _ in 0..ROUNDS {
                if catch_up(&mut changes, old, &fresh, &pin).len() < FEW {
                    break;
                }
            }
            let mut suspected = with_data!(&fresh, data => data.suspected(&pin));
            // Nobody writes from here on, and no commit is decided: one under way is done again in the new content, or
            // conflicts. What was decided is going to be told.
            let _closed = self.shared().life.close(&pin);
            while !changes.is_drained() {
                for key in catch_up(&mut changes, old, &fresh, &pin) {
                    suspected.extend(with_data!(&fresh, data => data.values_of(&key, &pin)));
                }
                std::thread::yield_now();
            }
            let repeated = with_data!(&fresh, data => data.repeated(&suspected, &pin));
            if let Some(error) = repeated.filter(|_| !cfg!(fyris_mutant = "store_repeats_added")) {
                return Err(error);
            }
            fresh.keep_unique(true);
            // An index from a library may have failed, and then not all objects are there.
            old.unfailed()?;
            fresh.unfailed()?;
            // Else the table was emptied, or another has changed its indexes: again.
            if std::ptr::eq(self.live(Right::Write, &pin)?, old) {
                self.shared().put_in_place(fresh, &pin)?;
                return Ok(());
            }
        }
    }

    /// Returns the secondary indexes as a list of pairs, of name and value.
    pub(crate) fn secondary_info(&self) -> Term {
        let pair = |of: &Arc<Definition>| Term::tuple(vec![Term::Atom(of.name), of.value.clone()]);
        let pin = pin();
        let content = self.shared().any_data(&pin);
        let all = content
            .into_iter()
            .flat_map(|content| content.secondaries().definitions());
        Term::list(all.map(pair).collect::<Vec<_>>())
    }
}

/// The number of times that a copy catches up while others write.
const ROUNDS: usize = 10;

/// Puts copies of all objects of a content into a new one.
fn copy(old: &AnyTableData, fresh: &AnyTableData, pin: &LocalGuard) {
    let mut reader = Live(old).read_many(pin);
    let (mut span, mut more, mut found) = (Span::ALL, true, Vec::new());
    while more {
        found.clear();
        more = reader.scan(&mut span, false, EACH, pin, &mut found);
        found.iter().for_each(|&content| put(content, fresh, pin));
    }
}

/// Puts a copy of an object into a content that nobody else has.
fn put(object: Content, fresh: &AnyTableData, pin: &LocalGuard) {
    let copied = NewRecord::copy_of(object);
    with_data!(fresh, data => data.insert_one(copied, &Writer::plain(pin)));
}

/// Copies the keys again that have changed, and returns them.
fn catch_up(
    changes: &mut Subscription,
    old: &AnyTableData,
    fresh: &AnyTableData,
    pin: &LocalGuard,
) -> Vec<KeyBuf> {
    let (keypos, mut keys) = (with_data!(old, data => data.keypos), BTreeMap::new());
    while let Some(event) = changes.try_next() {
        let changes = event.changes().iter();
        for object in changes.filter_map(|change| change.old.as_ref().or(change.new.as_ref())) {
            let key = object.as_tuple().and_then(|all| all.get(keypos - 1));
            let key = KeyBuf::encode(key.expect("an object has a key"));
            keys.insert(with_data!(old, data => data.key_bytes(&key).to_vec()), key);
        }
    }
    for key in keys.values() {
        with_data!(fresh, data => data.remove(data.key(key), &Writer::plain(pin)));
        if let Some(content) = Live(old).get(key, pin) {
            chain::each(content, |object| put(object, fresh, pin));
        }
    }
    keys.into_values().collect()
}

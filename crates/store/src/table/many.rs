//! Looking up and taking many keys at once.

use fyris_sync::reclaim::{Guard, pin};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::Table;
use crate::error::{Error, Result};
use crate::ids::Right;
use crate::keys::AsKey;
use crate::ops::terms;
use crate::record::{Object, newest};
use crate::slot::Content;
use crate::store::Store;
use crate::transaction::{BatchOp, BatchReply};
use crate::view::{ReadMany, View};

/// Keys that are on their way from memory at a time.
const GROUP: usize = 16;

impl Table {
    /// Returns the objects with each of the keys, in the order of the keys: an empty list where there is none. Works on
    /// every type of table.
    ///
    /// # Consistency
    ///
    /// Each key is looked up at a moment of its own, but of every list that was inserted at once all is seen or
    /// nothing.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// let found = table.lookup_many(&[term!(7), term!(1)])?;
    /// assert_eq!(found, [vec![], vec![term!({1, "one"})]]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    pub fn lookup_many(&self, keys: &[Term]) -> Result<Vec<Vec<Term>>> {
        self.read(|view, pin| {
            let mut reader = view.read_many(pin);
            let as_terms = |content: Option<Content>, buf: &KeyBuf, key: &Term| {
                content.map_or_else(Vec::new, |c| terms(c, self.keypos(), buf, Some(key)))
            };
            let mut all = Vec::with_capacity(keys.len());
            for group in keys.chunks(GROUP) {
                let bufs: Vec<_> = group.iter().map(KeyBuf::encode).collect();
                view.prefetch(&bufs, pin);
                let found = group
                    .iter()
                    .zip(&bufs)
                    .map(|(key, buf)| as_terms(view.get(buf, pin), buf, key));
                all.extend(found);
            }
            if reader.is_due() {
                for (key, found) in keys.iter().zip(&mut all) {
                    let buf = KeyBuf::encode(key);
                    if let Some(before) = reader.before(&buf) {
                        *found = as_terms(before, &buf, key);
                    }
                }
            }
            Ok(all)
        })
    }

    /// Removes the objects with all of the keys and returns them, in the order of the keys, in one atomic and isolated
    /// step: a [`Store::write_batch`] of [`Table::take`]. An empty list where there is none, and for a key that stands
    /// there again. Works on every type of table.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let store = Store::new();
    /// # let owner = store.owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_list(&[term!({1, "one"}), term!({2, "two"}), term!({3, "three"})])?;
    /// let taken = table.take_many(&[term!(3), term!(7), term!(1)])?;
    /// assert_eq!(taken, [vec![term!({3, "three"})], vec![], vec![term!({1, "one"})]]);
    /// assert_eq!(table.len(), 1);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Nothing was taken then, but within a transaction what came before. [`Error::NoSuchTable`]; [`Error::NoAccess`]
    /// without the right to write; [`Error::ReadOnly`] for a snapshot.
    pub fn take_many(&self, keys: &[Term]) -> Result<Vec<Vec<Term>>> {
        if self.part().is_some() {
            // All of a transaction is one step.
            return keys.iter().map(|key| self.take(key)).collect();
        }
        // Also for no keys.
        self.check_writable()?;
        self.live(Right::Write, &pin())?;
        let store = self.store("take_many")?;
        let takes: Vec<_> = keys.iter().map(|key| BatchOp::Take(self, key)).collect();
        let replies = Store(store)
            .write_batch(&takes)
            .map_err(|error| match error {
                Error::InBatch { why, .. } => *why,
                other => other,
            })?;
        let objects = |reply| match reply {
            BatchReply::Taken(objects) => objects,
            _ => Vec::new(),
        };
        Ok(replies.into_iter().map(objects).collect())
    }

    /// Appends the object with each of the keys, borrowed, in the order of the keys, with their memory asked for
    /// beforehand. In the bags the newest object of each key. Consistency as [`Table::lookup_many`].
    ///
    /// ```
    /// # use fyris::{Options, Store, pin, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1, "one"}))?;
    /// let (pin, mut found) = (pin(), Vec::new());
    /// table.get_many(&[7, 1], &pin, &mut found)?;
    /// assert!(found[0].is_none() && found[1].is_some());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    pub fn get_many<'g>(
        &self,
        keys: &[impl AsKey],
        pin: &'g impl Guard,
        out: &mut Vec<Option<Object<'g>>>,
    ) -> Result<()> {
        let already = out.len();
        self.read_under(pin, |view, pin| {
            let mut reader = view.read_many(pin);
            for group in keys.chunks(GROUP) {
                let bufs: Vec<_> = group.iter().map(|key| key.with(KeyBuf::clone)).collect();
                view.prefetch(&bufs, pin);
                let found = bufs.iter().map(|buf| view.get(buf, pin));
                out.extend(found.map(|c| c.map(|c| newest(c, self.keypos()))));
            }
            if reader.is_due() {
                for (key, found) in keys.iter().zip(&mut out[already..]) {
                    if let Some(before) = key.with(|buf| reader.before(buf)) {
                        *found = before.map(|content| newest(content, self.keypos()));
                    }
                }
            }
            Ok(())
        })
        .inspect_err(|_| out.truncate(already))
    }
}

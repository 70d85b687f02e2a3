//! Changing one object if it is what it was thought to be.

use fyris_sync::reclaim::{LocalGuard, pin};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

use super::Table;
use crate::error::{Error, Result};
use crate::ids::Right;
use crate::keys::AsKey;
use crate::native_terms::{AsObject, record_of};
use crate::ops::terms;
use crate::record::NewRecord;
use crate::slot::Content;
use crate::table_data::{AnyTableData, with_data};
use crate::view::{Live, View};

/// What becomes of the object of a key.
pub(crate) enum Swap {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// This takes its place.
    Put(NewRecord),
}

impl From<Option<NewRecord>> for Swap {
    fn from(new: Option<NewRecord>) -> Swap {
        new.map_or(Swap::Remove, Swap::Put)
    }
}

impl Table {
    /// Replaces `old` by `new` if the table holds an object exactly equal (`=:=`) to `old`; says whether it did.
    /// One atomic and isolated step. For `set` and `ordered_set`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:lock, :free}))?;
    /// assert!(table.compare_and_swap(&term!({:lock, :free}), &term!({:lock, :taken}))?);
    /// assert!(!table.compare_and_swap(&term!({:lock, :free}), &term!({:lock, :taken}))?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyUpdate`] unless both have the same key, as the table tells keys apart; as [`Table::insert`] for
    /// either; [`Error::WrongType`] for the bags.
    pub fn compare_and_swap(
        &self,
        old: &(impl AsObject + ?Sized),
        new: &(impl AsObject + ?Sized),
    ) -> Result<bool> {
        self.check_unique("compare_and_swap")?;
        let keypos = self.keypos();
        let (old, new) = (record_of(old, keypos), record_of(new, keypos));
        self.write(|data, writer| {
            let (old, new) = (old?, new?);
            with_data!(data, b => {
                if b.key_of(old.ptr()) != b.key_of(new.ptr()) {
                    return Err(Error::KeyUpdate(keypos));
                }
                Ok(b.replace_if(new, |now| now.same_object(old.ptr()), writer))
            })
        })
    }

    /// Lets `f` make a new object of the one with the key, or of its absence (`None`), and puts it in; `None` from
    /// `f` deletes. Returns what is in the table now. One atomic and isolated step. For `set` and `ordered_set`.
    ///
    /// `f` runs outside of every lock and may do anything; when another writer was faster it runs again on
    /// what that one has left.
    ///
    /// ```
    /// # use fyris::{Options, Store, Term, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let push = |old: Option<Term>| match old {
    ///     None => Some(term!({:log, 1})),
    ///     Some(_) => None, // deletes
    /// };
    /// assert_eq!(table.upsert(&term!(:log), push)?, Some(term!({:log, 1})));
    /// assert_eq!(table.upsert(&term!(:log), push)?, None);
    /// assert!(table.is_empty());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::KeyUpdate`] if the new object has another key; as [`Table::insert`] for it; [`Error::WrongType`] for
    /// the bags.
    pub fn upsert(
        &self,
        key: &Term,
        mut f: impl FnMut(Option<Term>) -> Option<Term>,
    ) -> Result<Option<Term>> {
        self.check_unique("upsert")?;
        self.swap(key, |seen, buf| {
            let old = seen.and_then(|seen| terms(seen, self.keypos(), buf, Some(key)).pop());
            let new = f(old);
            let record = new.as_ref().map(|new| record_of(new, self.keypos()));
            Ok((record.transpose()?.into(), new))
        })
    }

    /// Lets `f` say what becomes of what the key holds, and does it. Returns what `f` returned beside. As
    /// [`Table::upsert`], for a table with one object a key; an error of `f` leaves the table as it was.
    pub(crate) fn swap<R>(
        &self,
        key: &(impl AsKey + ?Sized),
        mut f: impl FnMut(Option<Content>, &KeyBuf) -> Result<(Swap, R)>,
    ) -> Result<R> {
        // Before `f` is shown what the live table holds.
        self.check_writable()?;
        key.with(|buf| {
            loop {
                if let Some(now) = self.swap_once(buf, &mut f)? {
                    return Ok(now);
                }
            }
        })
    }

    /// Returns what a key holds for who may write, and the content in which it does.
    fn seen<'g>(
        &'g self,
        key: &KeyBuf,
        pin: &'g LocalGuard,
    ) -> Result<(&'g AnyTableData, Option<Content>)> {
        let live = self.live(Right::Write, pin)?;
        match self.part() {
            None => Ok((live, Live(live).get(key, pin))),
            Some(part) => {
                let view = part.view(pin)?;
                let seen = view.get(key, pin);
                // Before the caller makes something of it.
                part.check()?;
                Ok((view.begun.data, seen))
            }
        }
    }

    /// Tries a swap once; returns `None` if another writer came between.
    fn swap_once<R>(
        &self,
        buf: &KeyBuf,
        f: &mut impl FnMut(Option<Content>, &KeyBuf) -> Result<(Swap, R)>,
    ) -> Result<Option<R>> {
        let pin = pin();
        let (seen_in, seen) = self.seen(buf, &pin)?;
        // Not within the write, for which others may wait.
        let (swap, result) = f(seen, buf)?;
        if let Swap::Keep = swap {
            return Ok(Some(result));
        }
        let put = self.write_under(&pin, |data, writer| {
            // The table may have been emptied. While the pin lives no other content has the address.
            if !std::ptr::eq(data, seen_in) {
                return Ok(false);
            }
            with_data!(data, b => match swap {
                Swap::Put(record) if b.key_of(record.ptr()) != b.key(buf) => {
                    Err(Error::KeyUpdate(self.keypos()))
                }
                Swap::Put(record) => Ok(b.put_if(record, seen, writer)),
                _ => Ok(b.remove_if(b.key(buf), seen, writer)),
            })
        })?;
        Ok(put.then_some(result))
    }
}

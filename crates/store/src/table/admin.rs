//! The table as a whole: delete, rename, owners, fixing.

use std::sync::Arc;

use fyris_term::{Atom, Term};

use super::Table;
use crate::error::{Error, Result};
use crate::ids::{ProcessId, Protection, Right, TableRef};
use crate::record::brief;
use crate::registry::Inner;
use crate::store::Store;

/// A setting that `setopts/2` changes.
///
/// ```
/// # use fyris::{Options, Protection, Setting, Store};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// table.setopts(&[Setting::Protection(Protection::Private), Setting::Heir(None)])?;
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// `{heir, Pid}` and `{heir, Pid, Data}`; `None` for `{heir, none}`.
    Heir(Option<(ProcessId, Option<Term>)>),
    /// `{protection, P}`.
    Protection(Protection),
}

impl Table {
    pub(super) fn store(&self, operation: &'static str) -> Result<Arc<Inner>> {
        self.check_live(operation)?;
        // A store that is gone has taken its tables with it.
        self.shared
            .store
            .upgrade()
            .ok_or_else(|| self.shared.gone())
    }

    /// `delete/1`: removes the table. Its name and id stop working at once for every caller, and the name may be used
    /// again at once. An operation under way when this is called takes effect before it.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().named())?;
    /// table.delete()?;
    /// assert!(table.member(&1).is_err());
    /// owner.new_table("t", &Options::set().named())?; // the name is free
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn delete(&self) -> Result<()> {
        self.store("delete")?
            .delete(&self.shared, self.asked, self.caller)
    }

    /// `rename/2`: gives the table another name, which is only shown by `info` if the table is unnamed. This handle
    /// goes on working if it is not a borrowed one found by name. The table has one of the two names at every moment;
    /// when this returns, nothing is done or seen any more by operations that came by the old one.
    ///
    /// ```
    /// # use fyris::{Atom, Options, Store, TableRef};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let named = owner.new_table("old", &Options::set().named())?;
    /// assert_eq!(named.rename(Atom::new("new")?)?, TableRef::Name(Atom::new("new")?));
    /// assert!(owner.named("old").is_err() && owner.named("new").is_ok());
    /// assert_eq!(table.rename(Atom::new("new")?)?, TableRef::Id(table.id())); // unnamed: no clash
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NameTaken`], [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn rename(&self, name: Atom) -> Result<TableRef> {
        self.store("rename")?
            .rename(&self.shared, self.asked, self.caller, name)
    }

    /// Returns whether this is a table of `store`: processes of another are others, whatever their numbers.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// assert!(table.is_in(owner.store()) && !table.is_in(&Store::new()));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn is_in(&self, store: &Store) -> bool {
        std::ptr::eq(self.shared.store.as_ptr(), Arc::as_ptr(&store.0))
    }

    /// Refuses a table of another store.
    pub(crate) fn check_in(&self, store: &Store) -> Result<()> {
        match self.is_in(store) {
            true => Ok(()),
            false => Err(Error::BadArgument(format!(
                "table {} is of another store",
                self.shared.named()
            ))),
        }
    }

    /// `give_away/3`: makes another known process the owner, and sends it
    /// [`Event::Transfer`](crate::Event::Transfer). The heir stays as it is.
    ///
    /// ```
    /// use fyris::{Event, Options, Store, Term, term};
    /// use std::time::Duration;
    ///
    /// let store = Store::new();
    /// let (giver, taker) = (store.owner(), store.owner());
    /// let table = giver.new_table("t", &Options::set())?;
    /// table.give_away(taker.id(), Term::atom("yours"))?;
    /// assert!(matches!(taker.event(Duration::from_secs(1)), Some(Event::Transfer { .. })));
    /// assert!(table.insert(&term!({1, 2})).is_err()); // the handle acts for the giver still
    /// table.for_caller(taker.id()).insert(&term!({1, 2}))?;
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotOwner`], [`Error::AlreadyOwner`], [`Error::NoSuchProcess`], [`Error::NoSuchTable`].
    pub fn give_away(&self, to: ProcessId, data: Term) -> Result<()> {
        self.store("give_away")?
            .give_away(&self.shared, self.asked, self.caller, to, data)
    }

    /// `setopts/2`: makes all of the settings at one moment, or none. When it returns, nothing is done or seen any more
    /// by processes that have lost the right to it.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Protection, Setting, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let guest = table.for_caller(ProcessId(7));
    /// assert!(guest.insert(&term!({1, 2})).is_err());
    /// table.setopts(&[Setting::Protection(Protection::Public)])?;
    /// guest.insert(&term!({1, 2}))?;
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NotOwner`]; [`Error::RepeatedOption`] if one kind of setting is there twice, and then
    /// nothing is set.
    pub fn setopts(&self, settings: &[Setting]) -> Result<()> {
        for (word, is_it) in [
            (
                "heir",
                (|s| matches!(s, Setting::Heir(_))) as fn(&&Setting) -> bool,
            ),
            ("protection", |s| matches!(s, Setting::Protection(_))),
        ] {
            if settings.iter().filter(is_it).count() > 1 {
                return Err(Error::RepeatedOption(word.to_owned()));
            }
        }
        self.store("setopts")?
            .set(&self.shared, self.asked, self.caller, settings)
    }

    /// Does `setopts/2` with the argument as Erlang has it: one option or a list. `process` says which process a term
    /// stands for.
    ///
    /// ```
    /// # use fyris::{Options, Protection, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.setopts_term(&term!([{:protection, :private}, {:heir, :none}]), |_| None)?;
    /// assert_eq!(table.info().map(|info| info.protection), Some(Protection::Private));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Also [`Error::BadOption`], which names the settings that there are.
    pub fn setopts_term(
        &self,
        options: &Term,
        process: impl Fn(&Term) -> Option<ProcessId>,
    ) -> Result<()> {
        let parse = |t: &Term| {
            setting(t, &process)
                .ok_or_else(|| Error::BadOption(format!("{}: {SETTINGS}", brief(t))))
        };
        let settings: Result<Vec<_>> = match options {
            Term::List(list) => list.iter().map(parse).collect(),
            one => parse(one).map(|s| vec![s]),
        };
        self.setopts(&settings?)
    }

    /// `safe_fixtable/2`: fixes the table for the caller, or releases one of its fixes. Released at
    /// the caller's end. Releasing without having fixed does nothing, nor does fixing a snapshot.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// for n in 1..=3 {
    ///     table.insert(&term!({n}))?;
    /// }
    /// table.safe_fixtable(true)?;
    /// let first = table.first()?.expect("there are three");
    /// table.delete_key(&first)?;
    /// assert!(table.next(&first)?.is_some()); // the walk goes on from a key that is gone
    /// table.safe_fixtable(false)?;
    /// assert!(table.next(&first).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn safe_fixtable(&self, fix: bool) -> Result<()> {
        match fix {
            _ if !self.is_live() => self.check(Right::Read),
            true => self.fix(None),
            false => self
                .store("safe_fixtable")?
                .release(&self.shared, self.asked, self.caller),
        }
    }

    /// Fixes the table for the caller at a time by a clock of the caller's, which the first of the fixes keeps, as
    /// [`Fixed::since_by_caller`](crate::Fixed::since_by_caller).
    ///
    /// ```
    /// # use fyris::{InfoValue, Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.fix_at(1_700_000_000)?;
    /// let Some(InfoValue::Fixed(Some(fixed))) = table.info_item("safe_fixed")? else { panic!() };
    /// assert_eq!(fixed.since_by_caller, Some(1_700_000_000));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn fix_at(&self, time: i64) -> Result<()> {
        self.fix(Some(time))
    }

    /// Returns the processes other than the caller that have fixed the table and have not ended, as far as the store
    /// was told: for a binding that learns of an end by asking.
    ///
    /// ```
    /// # use fyris::{Options, ProcessId, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.safe_fixtable(true)?;
    /// table.for_caller(ProcessId(7)).safe_fixtable(true)?;
    /// assert_eq!(table.fixers(), [ProcessId(7)]); // not oneself
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn fixers(&self) -> Vec<ProcessId> {
        self.shared.fixes.others(self.caller)
    }

    fn fix(&self, time: Option<i64>) -> Result<()> {
        if !self.is_live() {
            return self.check(Right::Read);
        }
        self.store("safe_fixtable")?
            .fix(&self.shared, self.asked, self.caller, time)
    }
}

/// What [`setting`] reads, for the error of what it does not.
const SETTINGS: &str = "options are {heir,Pid,Data}, {heir,Pid} (a live local process), {heir,none}, \
     {protection,public}, {protection,protected}, {protection,private}";

fn setting(option: &Term, process: &impl Fn(&Term) -> Option<ProcessId>) -> Option<Setting> {
    let Term::Tuple(parts) = option else {
        return None;
    };
    let (Term::Atom(word), values) = parts.split_first()? else {
        return None;
    };
    match (word.as_str(), values) {
        ("heir", [Term::Atom(none)]) if none.as_str() == "none" => Some(Setting::Heir(None)),
        ("heir", [heir]) => Some(Setting::Heir(Some((process(heir)?, None)))),
        ("heir", [heir, data]) => Some(Setting::Heir(Some((process(heir)?, Some(data.clone()))))),
        ("protection", [Term::Atom(word)]) => Some(Setting::Protection(match word.as_str() {
            "public" => Protection::Public,
            "protected" => Protection::Protected,
            "private" => Protection::Private,
            _ => return None,
        })),
        _ => None,
    }
}

//! Changing a part of an object, found by a path.
//!
//! The element in which the part lies is decoded, changed and encoded anew, outside of every lock; the other elements
//! are copied as they are. What comes of it is put in if the key still holds what was read, as [`Table::upsert`] does.

use fyris_term::{Term, Terms};

use super::Table;
use super::swap::Swap;
use crate::error::{Error, Result};
use crate::keys::AsKey;
use crate::ops::check_position;
use crate::record::{brief, edited, newest, position};

impl Table {
    /// Puts a value in the place of a part of the object with the key, where a path leads to ([`Table::get_in`]): of an
    /// element, of an element of a tuple or a list in it, or of the value of a key of a map, which need not have the
    /// key. Returns whether there is an object. One atomic and isolated step. For `set` and `ordered_set`.
    ///
    /// The cost is that of decoding and encoding the element; O(bytes of the object).
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:ada, #{:langs => [:c, :lisp]}}))?;
    /// assert!(table.put_in(&term!(:ada), &[term!(2), term!(:langs), term!(1)], &term!(:rust))?);
    /// assert!(table.put_in(&term!(:ada), &[term!(2), term!(:born)], &term!(1815))?);
    /// assert_eq!(table.tab2list()?, [term!({:ada, #{:born => 1815, :langs => [:rust, :lisp]}})]);
    /// assert!(!table.put_in(&term!(:bob), &[term!(2)], &term!(0))?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Nothing is changed then. [`Error::BadArgument`] if the path leads nowhere: only a map gets what it did not have;
    /// [`Error::BadPosition`] and [`Error::KeyUpdate`] of the element, which is never the key; [`Error::WrongType`] for
    /// the bags; [`Error::NotUnique`]; [`Error::ObjectTooLarge`]; [`Error::NoSuchTable`], [`Error::NoAccess`].
    pub fn put_in(&self, key: &(impl AsKey + ?Sized), path: &[Term], value: &Term) -> Result<bool> {
        self.change_in("put_in", key, path, |_| Some(value.clone()))
    }

    /// Lets `f` make a new part of the one that a path leads to ([`Table::get_in`]), or of its absence (`None`), and
    /// puts it in; `None` from `f` takes it away, from a map or a list. Returns what is there now; `None` also if there
    /// is no object with the key. One atomic and isolated step. For `set` and `ordered_set`.
    ///
    /// `f` runs outside of every lock and may do anything; when another writer was faster it runs again on what that
    /// one has left.
    ///
    /// ```
    /// # use fyris::{Options, Store, Term, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:words, #{}}))?;
    /// let more = |old: Option<Term>| Some(term!((old.and_then(|n| n.as_int()).unwrap_or(0) + 1)));
    /// for word in [term!("to"), term!("be"), term!("to")] {
    ///     table.update_in(&term!(:words), &[term!(2), word], more)?;
    /// }
    /// assert_eq!(table.tab2list()?, [term!({:words, #{"be" => 1, "to" => 2}})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Table::put_in`], where `f` returns a part; [`Error::BadArgument`] if it takes an element of a tuple away.
    pub fn update_in(
        &self,
        key: &(impl AsKey + ?Sized),
        path: &[Term],
        mut f: impl FnMut(Option<Term>) -> Option<Term>,
    ) -> Result<Option<Term>> {
        let mut now = None;
        let is_there = self.change_in("update_in", key, path, |old| {
            now = f(old);
            now.clone()
        })?;
        // What an attempt before saw, of an object that has gone since, is not what there is now.
        Ok(now.filter(|_| is_there))
    }

    /// Takes a part of the object with the key away, where a path leads to ([`Table::get_in`]): a key of a map with its
    /// value, or an element of a list. Returns it; `None` if there was none. One atomic and isolated step. For `set`
    /// and `ordered_set`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:ada, #{:langs => [:c, :lisp]}}))?;
    /// let first = [term!(2), term!(:langs), term!(1)];
    /// assert_eq!(table.delete_in(&term!(:ada), &first)?, Some(term!(:c)));
    /// assert_eq!(table.delete_in(&term!(:ada), &first)?, Some(term!(:lisp)));
    /// assert_eq!(table.delete_in(&term!(:ada), &first)?, None);
    /// assert_eq!(table.tab2list()?, [term!({:ada, #{:langs => []}})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Table::put_in`]; [`Error::BadArgument`] for an element of a tuple, also of the object.
    pub fn delete_in(&self, key: &(impl AsKey + ?Sized), path: &[Term]) -> Result<Option<Term>> {
        let mut old = None;
        let is_there = self.change_in("delete_in", key, path, |found| {
            old = found;
            None
        })?;
        // As in `update_in`: who has taken the object has taken the part.
        Ok(old.filter(|_| is_there))
    }

    /// Puts `new` in the place of the part that a path leads to ([`Table::get_in`]) if that part is exactly equal
    /// (`=:=`) to `old`, or if there is none and `old` is `None`; returns whether it did, `false` also if there is no
    /// object. One atomic and isolated step. For `set` and `ordered_set`.
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:job, #{:state => :free}}))?;
    /// let state = [term!(2), term!(:state)];
    /// assert!(table.compare_and_swap_in(&term!(:job), &state, Some(&term!(:free)), &term!(:taken))?);
    /// assert!(!table.compare_and_swap_in(&term!(:job), &state, Some(&term!(:free)), &term!(:taken))?);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Table::put_in`], if the part is what it was thought to be.
    pub fn compare_and_swap_in(
        &self,
        key: &(impl AsKey + ?Sized),
        path: &[Term],
        old: Option<&Term>,
        new: &Term,
    ) -> Result<bool> {
        let mut is_same = false;
        let is_there = self.change_in("compare_and_swap_in", key, path, |found| {
            is_same = found.as_ref() == old;
            if is_same { Some(new.clone()) } else { found }
        })?;
        Ok(is_there && is_same)
    }

    /// Changes a part of the object with the key; returns whether there is an object. `f` runs once for each attempt
    /// that finds one: what it has returned counts only if the last does.
    fn change_in(
        &self,
        operation: &'static str,
        key: &(impl AsKey + ?Sized),
        path: &[Term],
        mut f: impl FnMut(Option<Term>) -> Option<Term>,
    ) -> Result<bool> {
        self.check_unique(operation)?;
        let (position, steps) = element_of(path)?;
        let keypos = self.keypos();
        self.swap(key, |seen, _| {
            let Some(seen) = seen else {
                return Ok((Swap::Keep, false));
            };
            let object = newest(seen, keypos);
            check_position(position, keypos, object.arity())?;
            let mut element = object.element(position).expect("the position was checked");
            let changed = change_at(&mut element, steps, &mut f).map_err(|why| {
                Error::BadArgument(format!("{}: {why}", brief(&Term::list(path))))
            })?;
            let swap = match changed {
                true => Swap::Put(edited(seen.newest(), keypos, &[(position, element)])?),
                false => Swap::Keep,
            };
            Ok((swap, true))
        })
    }
}

/// Returns the position of the element that a path begins with, and the steps within the element.
fn element_of(path: &[Term]) -> Result<(usize, &[Term])> {
    let bad = || {
        let path = brief(&Term::list(path));
        Error::BadArgument(format!(
            "a path begins with the position of an element, not as {path}"
        ))
    };
    let (first, steps) = path.split_first().ok_or_else(bad)?;
    let position = first
        .as_int()
        .and_then(|position| usize::try_from(position).ok());
    Ok((position.ok_or_else(bad)?, steps))
}

const NOWHERE: &str = "the path leads nowhere";
const IN_AN_IMPROPER_LIST: &str =
    "an element of an improper list can be replaced, but not taken away";
const IN_A_TUPLE: &str = "an element of a tuple can be replaced, but not taken away";

/// Lets `f` change what the steps lead to within a term; returns whether the term has changed.
fn change_at(
    term: &mut Term,
    steps: &[Term],
    f: &mut impl FnMut(Option<Term>) -> Option<Term>,
) -> std::result::Result<bool, &'static str> {
    let Some((last, before)) = steps.split_last() else {
        let old = std::mem::replace(term, Term::Int(0));
        *term = f(Some(old)).ok_or(IN_A_TUPLE)?;
        return Ok(true);
    };
    match before.iter().try_fold(term, part_of) {
        Some(Term::Map(map)) => {
            let old = map.remove(last);
            let was_there = old.is_some();
            let new = f(old);
            let is_there = new.is_some();
            new.map(|new| map.insert(last.clone(), new));
            Ok(was_there || is_there)
        }
        Some(Term::Tuple(elements)) => change_element(elements, last, f, |_, _| Err(IN_A_TUPLE)),
        Some(Term::Improper(elements, _)) => {
            change_element(elements, last, f, |_, _| Err(IN_AN_IMPROPER_LIST))
        }
        Some(Term::List(elements)) => change_element(elements, last, f, |elements, at| {
            elements.remove(at);
            Ok(())
        }),
        _ => nothing_there(f),
    }
}

/// Lets `f` change an element of a tuple or a list, or take it away, which `remove` does; returns whether it has.
fn change_element(
    elements: &mut Terms,
    step: &Term,
    f: &mut impl FnMut(Option<Term>) -> Option<Term>,
    remove: impl FnOnce(&mut Terms, usize) -> std::result::Result<(), &'static str>,
) -> std::result::Result<bool, &'static str> {
    let found = position(step).and_then(|at| Some((at - 1, elements.get_mut(at - 1)?)));
    let Some((at, old)) = found else {
        return nothing_there(f);
    };
    match f(Some(std::mem::replace(old, Term::Int(0)))) {
        Some(new) => *old = new,
        None => remove(elements, at)?,
    }
    Ok(true)
}

/// Tells `f` that there is nothing, which it cannot change.
fn nothing_there(
    f: &mut impl FnMut(Option<Term>) -> Option<Term>,
) -> std::result::Result<bool, &'static str> {
    match f(None) {
        None => Ok(false),
        Some(_) => Err(NOWHERE),
    }
}

/// Returns the part of a term that a step leads to.
fn part_of<'t>(term: &'t mut Term, step: &Term) -> Option<&'t mut Term> {
    match term {
        Term::Map(map) => map.get_mut(step),
        Term::Tuple(elements) | Term::List(elements) | Term::Improper(elements, _) => {
            elements.get_mut(position(step)? - 1)
        }
        _ => None,
    }
}

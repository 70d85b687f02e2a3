//! Counters.

use fyris_index::{Entry, Index};
use fyris_term::Term;
use num_bigint::BigInt;

use super::update::{Updated, check_position};
use crate::error::{Error, Result};
use crate::key_kind::KeyKind;
use crate::record::{NewRecord, RecordPtr, all_counted, brief, counted, edited};
use crate::slot::Slot;
use crate::table_data::TableData;
use crate::writer::Writer;

/// The most bits of an integer, as in OTP 27 and later.
const MAX_BITS: u64 = 1 << 22;

/// One step of `update_counter`: an increment, and what to do at a limit.
///
/// ```
/// # use fyris::{CounterOp, Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// table.insert(&term!({:tickets, 0, 8}))?;
/// let ticket = CounterOp::add(1);
/// let window = CounterOp::add(1).at(3).limit(9, 1); // 1 to 9 in turn
/// assert_eq!(table.update_counter(&term!(:tickets), &[ticket, window])?, [term!(1), term!(9)]);
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterOp {
    /// The position of the element, from 1; `None` for the element behind the key.
    pub position: Option<usize>,
    /// The increment: an integer of any size.
    pub increment: Term,
    /// Threshold and the value to set when the sum is beyond it: above for an increment of 0 or
    /// more, below for a negative one.
    pub limit: Option<(Term, Term)>,
}

impl CounterOp {
    /// Adds `increment` to the element behind the key.
    ///
    /// ```
    /// # use fyris::{CounterOp, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set().keypos(2))?;
    /// table.insert(&term!({10, :hits, 20}))?;
    /// table.update_counter(&term!(:hits), &[CounterOp::add(1)])?; // position 3
    /// assert_eq!(table.tab2list()?, [term!({10, :hits, 21})]);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn add(increment: i64) -> CounterOp {
        CounterOp {
            position: None,
            increment: Term::Int(increment),
            limit: None,
        }
    }

    /// Returns the same operation on another element.
    ///
    /// ```
    /// # use fyris::{CounterOp, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:hits, 0, 0}))?;
    /// assert_eq!(table.update_counter(&term!(:hits), &[CounterOp::add(5).at(3)])?, [term!(5)]);
    /// assert!(table.update_counter(&term!(:hits), &[CounterOp::add(1).at(1)]).is_err()); // the key
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn at(self, position: usize) -> CounterOp {
        CounterOp {
            position: Some(position),
            ..self
        }
    }

    /// Sets `value` when the sum is beyond `threshold`.
    ///
    /// ```
    /// # use fyris::{CounterOp, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({:turn, 2}))?;
    /// let next = CounterOp::add(1).limit(3, 0);
    /// let turns = table.update_counter(&term!(:turn), &[next.clone(), next])?;
    /// assert_eq!(turns, [term!(3), term!(0)]); // 3 is not beyond 3
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn limit(self, threshold: i64, value: i64) -> CounterOp {
        CounterOp {
            limit: Some((Term::Int(threshold), Term::Int(value))),
            ..self
        }
    }

    /// Reads `{Pos, Incr}` or `{Pos, Incr, Threshold, SetTo}`.
    ///
    /// ```
    /// use fyris::{CounterOp, term};
    ///
    /// assert_eq!(CounterOp::parse(&term!({2, 1, 9, 0}))?, CounterOp::add(1).at(2).limit(9, 0));
    /// assert!(CounterOp::parse(&term!({2, 1.5})).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] for any other term.
    pub fn parse(term: &Term) -> Result<CounterOp> {
        let bad = || Error::BadArgument(format!("no counter operation: {}", brief(term)));
        let Term::Tuple(parts) = term else {
            return Err(bad());
        };
        let (position, increment, limit) = match &parts[..] {
            [position, increment] => (position, increment, None),
            [position, increment, threshold, value] => (
                position,
                increment,
                Some((threshold.clone(), value.clone())),
            ),
            _ => return Err(bad()),
        };
        let Term::Int(position) = position else {
            return Err(bad());
        };
        // A position below 1 is beyond every tuple, as 0 is.
        let position = Some(usize::try_from(*position).unwrap_or(0));
        let op = CounterOp {
            position,
            increment: increment.clone(),
            limit,
        };
        op.check()?;
        Ok(op)
    }

    /// Reads an increment, one operation or a list of operations, as [`CounterOp::parse`]; says whether it is a list.
    pub(crate) fn parse_all(ops: &Term) -> Result<(Vec<CounterOp>, bool)> {
        match ops {
            Term::Int(_) | Term::Big(_) => {
                let increment = ops.clone();
                let op = CounterOp {
                    increment,
                    ..CounterOp::add(0)
                };
                Ok((vec![op], false))
            }
            Term::List(list) => {
                let ops: Result<_> = list.iter().map(CounterOp::parse).collect();
                Ok((ops?, true))
            }
            one => Ok((vec![CounterOp::parse(one)?], false)),
        }
    }

    /// Refuses what is no integer.
    fn check(&self) -> Result<()> {
        let limit = self.limit.iter().flat_map(|(t, v)| [t, v]);
        match [&self.increment]
            .into_iter()
            .chain(limit)
            .find(|t| !is_integer(t))
        {
            None => Ok(()),
            Some(term) => Err(Error::BadArgument(format!("{} is no integer", brief(term)))),
        }
    }

    /// Returns the element's new value.
    fn apply(&self, old: &Term) -> Result<Term> {
        let sum = sum(old, &self.increment)?;
        let Some((threshold, value)) = &self.limit else {
            return Ok(sum);
        };
        let beyond = if is_negative(&self.increment) {
            sum.cmp_order(threshold).is_lt()
        } else {
            sum.cmp_order(threshold).is_gt()
        };
        Ok(if beyond { value.clone() } else { sum })
    }
}

/// A [`CounterOp`] of integers of 64 bits, which most are.
#[derive(Clone, Copy, Debug)]
pub struct SmallOp {
    /// The position of the element, from 1; `None` for the element behind the key.
    pub position: Option<usize>,
    /// The increment.
    pub increment: i64,
    /// Threshold and the value to set beyond it.
    pub limit: Option<(i64, i64)>,
}

impl SmallOp {
    /// Returns the element's new value; `None` if the sum is not in 64 bits.
    #[inline]
    fn apply(&self, old: i64) -> Option<i64> {
        let sum = old.checked_add(self.increment)?;
        Some(match self.limit {
            Some((threshold, value)) if self.increment >= 0 && sum > threshold => value,
            Some((threshold, value)) if self.increment < 0 && sum < threshold => value,
            _ => sum,
        })
    }
}

impl From<SmallOp> for CounterOp {
    fn from(op: SmallOp) -> CounterOp {
        let (threshold, value) = op.limit.unzip();
        CounterOp {
            position: op.position,
            increment: Term::Int(op.increment),
            limit: threshold.map(Term::Int).zip(value.map(Term::Int)),
        }
    }
}

/// Returns the results of operations of a counter, as Erlang has them: of a list of operations a list.
pub(crate) fn counter_reply(mut values: Vec<Term>, is_list: bool) -> Term {
    match values.pop() {
        Some(value) if !is_list => value,
        last => {
            values.extend(last);
            Term::list(values)
        }
    }
}

fn is_integer(term: &Term) -> bool {
    matches!(term, Term::Int(_) | Term::Big(_))
}

fn is_negative(term: &Term) -> bool {
    match term {
        Term::Int(value) => *value < 0,
        Term::Big(value) => value.sign() == num_bigint::Sign::Minus,
        _ => false,
    }
}

fn sum(a: &Term, b: &Term) -> Result<Term> {
    if let (Term::Int(a), Term::Int(b)) = (a, b)
        && let Some(sum) = a.checked_add(*b)
    {
        return Ok(Term::Int(sum));
    }
    let sum = big(a) + big(b);
    match sum.bits() {
        bits if bits > MAX_BITS => Err(Error::IntegerTooLarge(bits)),
        _ => Ok(Term::integer(sum)),
    }
}

fn big(term: &Term) -> BigInt {
    match term {
        Term::Int(value) => BigInt::from(*value),
        Term::Big(value) => (**value).clone(),
        _ => BigInt::ZERO,
    }
}

/// The elements an update changes, and the results it gives.
struct CounterUpdate {
    edits: Vec<(usize, Term)>,
    results: Vec<Term>,
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Runs the steps in order on the object with the key, or on `default`; the new values in order.
    pub(crate) fn update_counter(
        &self,
        key: &K::Key,
        ops: &[CounterOp],
        default: Option<&[Term]>,
        writer: &Writer<'_>,
    ) -> Result<Vec<Term>> {
        ops.iter().try_for_each(CounterOp::check)?;
        self.update(key, writer, |old| match (old, default) {
            (Some(old), _) => self.count(old, ops),
            (None, Some(default)) => {
                let new = self.record_of(default.to_vec())?;
                // With no step there is still the default to insert.
                let (updated, results) = self.count(new.ptr(), ops)?;
                let new: NewRecord = if let Updated::New(counted) = updated {
                    counted
                } else {
                    new
                };
                Ok((Updated::New(new), results))
            }
            (None, None) => Err(Error::NoSuchKey),
        })
    }

    /// Runs one step on an integer of the object with the key. `None` if that, or the sum, has more than 64 bits or is
    /// no integer, or if the object holds resources: then nothing has changed, and [`TableData::update_counter`]
    /// knows what to do.
    pub(crate) fn count_small(
        &self,
        key: &K::Key,
        op: &SmallOp,
        writer: &Writer<'_>,
    ) -> Result<Option<i64>> {
        let position = self.position_of(op);
        self.update(key, writer, |old| {
            let old = old.ok_or(Error::NoSuchKey)?;
            check_position(position, self.keypos, old.arity())?;
            let mut new = 0;
            let step = |value| op.apply(value);
            Ok(match counted(old, self.keypos, position, step, &mut new) {
                Some(record) => (Updated::New(record), Some(new)),
                None => (Updated::Same, None),
            })
        })
    }

    /// Runs steps in order on integers of the object with the key, and puts their results into `new`. `false`, and
    /// nothing has changed, where [`TableData::count_small`] would return `None` for one, and for a position that there
    /// is not.
    pub(crate) fn count_all_small(
        &self,
        key: &K::Key,
        ops: &[SmallOp],
        new: &mut [i64],
        writer: &Writer<'_>,
    ) -> Result<bool> {
        let steps = ops
            .iter()
            .map(|op| (self.position_of(op), move |value| op.apply(value)));
        self.update(key, writer, |old| {
            let old = old.ok_or(Error::NoSuchKey)?;
            let is_there = |op| check_position(self.position_of(op), self.keypos, old.arity());
            if ops.iter().map(is_there).any(|there| there.is_err()) {
                return Ok((Updated::Same, false));
            }
            Ok(match all_counted(old, self.keypos, steps.clone(), new) {
                Some(record) => (Updated::New(record), true),
                None => (Updated::Same, false),
            })
        })
    }

    fn position_of(&self, op: &SmallOp) -> usize {
        op.position.unwrap_or(self.keypos + 1)
    }

    fn count(&self, old: RecordPtr, ops: &[CounterOp]) -> Result<(Updated, Vec<Term>)> {
        let mut run = CounterUpdate {
            edits: Vec::with_capacity(ops.len()),
            results: Vec::new(),
        };
        run.results.reserve_exact(ops.len());
        for op in ops {
            self.step(old, op, &mut run)?;
        }
        if run.edits.is_empty() {
            return Ok((Updated::Same, run.results));
        }
        Ok((
            Updated::New(edited(old, self.keypos, &run.edits)?),
            run.results,
        ))
    }

    fn step(&self, old: RecordPtr, op: &CounterOp, run: &mut CounterUpdate) -> Result<()> {
        let position = op.position.unwrap_or(self.keypos + 1);
        check_position(position, self.keypos, old.arity())?;
        let edit = run.edits.iter().position(|(p, _)| *p == position);
        let current = match edit {
            Some(i) => run.edits[i].1.clone(),
            None => self
                .object(old)
                .element(position)
                .expect("the position was checked"),
        };
        if !is_integer(&current) {
            return Err(Error::NotAnInteger {
                position,
                found: brief(&current),
            });
        }
        let value = op.apply(&current)?;
        match edit {
            Some(i) => run.edits[i].1 = value.clone(),
            None => run.edits.push((position, value.clone())),
        }
        run.results.push(value);
        Ok(())
    }
}

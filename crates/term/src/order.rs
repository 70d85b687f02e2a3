//! The two orders of Erlang terms.
//!
//! # Two orders, two equalities
//!
//! - [`Term::cmp_order`] is the order of `<` and `==`: numbers compare by value, whatever their type, so
//!   `1 == 1.0` and `-0.0 == 0.0`.
//! - [`Term::cmp_exact`] is the order of the keys inside a map, and the one that goes with `=:=`
//!   (`==` in Rust): every integer sorts before every float, and `-0.0` before `0.0` (OTP 27 and later tell the
//!   two zeros apart; OTP 25 does not). Both orders are total; the first is a total preorder.
//!
//! The types sort as
//!
//! ```text
//! number < atom < reference < fun < port < pid < tuple < native record < map < nil < list < bitstring
//! ```
//!
//! # Inside a type
//!
//! | type | compared by |
//! |---|---|
//! | numbers | value, exactly: an integer beside a float is never rounded |
//! | atoms | code points of the name |
//! | tuples | size, then the elements from the left |
//! | native records | module, name, not exported before exported, number of fields, their names in the order of the definition, then the values from the left |
//! | maps | size, then the keys in ascending *exact* order, compared exactly, then the values in key order |
//! | lists | element by element; what remains is compared as the term it is: `[]`, a list, or an improper tail |
//! | bitstrings | bit by bit; a prefix is smaller |
//!
//! # Identifiers and funs
//!
//! No manual says how these sort; the following was found by making them with `binary_to_term` on OTP 25.2.3 and
//! comparing. Nodes are compared by name, then by creation.
//!
//! | type | compared by |
//! |---|---|
//! | pids | serial, id, node: the *numbers first*, so pids of several nodes interleave |
//! | ports | node, id |
//! | references | node, then the words as one number, the last word the most significant; a missing word is zero, so references of 2 and 3 words can be `=:=` |
//! | funs | every closure before every external fun |
//! | closures | module, index, old checksum (`OldUniq`), number of free variables, the free variables; arity, the MD5, `OldIndex` and the creator do not count, not even for `=:=` |
//! | external funs | module, function, arity |
//!
//! # Invariants
//!
//! - **EXACT_IS_EQ**: `a.cmp_exact(b)` is `Equal` exactly when `a == b`. Hashing agrees with both.
//! - **EXACT_REFINES**: terms that differ in `cmp_order` differ in `cmp_exact` (but may sort the other way: `2` is
//!   before `1.0` exactly).
//!
//! Terms of any depth are compared, on any stack: see [`walk`](crate::walk).

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};
use num_traits::FromPrimitive;

use crate::term::{BitString, Float, Fun, LocalFun, Pid, Port, Reference};
use crate::walk::{Parts, SHALLOW};
use crate::{Atom, Definition, Map, NativeRecord, Term};

/// 2^63 as a float: the first one that no `i64` reaches.
const I64_BEYOND: f64 = 9_223_372_036_854_775_808.0;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    ByValue,
    Exactly,
}

impl Term {
    /// Compares in Erlang's order, with its `==`: `1` and `1.0` are equal. O(size of the smaller term).
    pub fn cmp_order(&self, other: &Term) -> Ordering {
        compare(self, other, Numbers::ByValue, 0)
    }

    /// Returns the order of keys inside maps: `Equal` exactly when the terms are `=:=`. O(size of the smaller term).
    pub fn cmp_exact(&self, other: &Term) -> Ordering {
        compare(self, other, Numbers::Exactly, 0)
    }

    /// Returns Erlang's `==`: equal in order, `1` and `1.0` too. Rust's `==` on terms is Erlang's `=:=`.
    pub fn eq_order(&self, other: &Term) -> bool {
        self.cmp_order(other) == Ordering::Equal
    }
}

/// The places of lists in the order of types.
const NIL: u8 = 9;
const CONS: u8 = 10;

/// Returns the place of a type in the order of types.
fn rank(term: &Term) -> u8 {
    match term {
        Term::Int(_) | Term::Big(_) | Term::Float(_) => 0,
        Term::Atom(_) => 1,
        Term::Reference(_) => 2,
        Term::Fun(_) => 3,
        Term::Port(_) => 4,
        Term::Pid(_) => 5,
        Term::Tuple(_) => 6,
        Term::Record(_) => 7,
        Term::Map(_) => 8,
        Term::List(elements) if elements.is_empty() => NIL,
        Term::List(_) | Term::Improper(..) => CONS,
        Term::Binary(_) | Term::Bits(_) => 11,
    }
}

/// The result of comparing two terms without what is in them.
enum Compared<'a> {
    Is(Ordering),
    /// As the parts, the first that differ.
    As(Both<'a>),
}

/// The parts of two terms of one kind, to be compared one after another.
struct Both<'a> {
    a: Parts<'a>,
    b: Parts<'a>,
    numbers: Numbers,
    /// The number of parts that are keys of a map: these are compared exactly.
    keys: usize,
    /// The order if no parts differ.
    end: Ordering,
}

impl<'a> Both<'a> {
    fn new(a: Parts<'a>, b: Parts<'a>, numbers: Numbers) -> Both<'a> {
        let (keys, end) = (0, Ordering::Equal);
        Both {
            a,
            b,
            numbers,
            keys,
            end,
        }
    }

    #[inline]
    fn get(&self, at: usize) -> Option<(&'a Term, &'a Term, Numbers)> {
        let numbers = match at < self.keys {
            true => Numbers::Exactly,
            false => self.numbers,
        };
        Some((self.a.get(at)?, self.b.get(at)?, numbers))
    }
}

/// Compares terms that lie inside `depth` others.
fn compare(a: &Term, b: &Term, numbers: Numbers, depth: usize) -> Ordering {
    // What is compared most goes no way through memory.
    match (a, b) {
        (Term::Int(a), Term::Int(b)) => return a.cmp(b),
        (Term::Atom(a), Term::Atom(b)) => return atoms(*a, *b),
        (Term::Binary(a), Term::Binary(b)) => return a.cmp(b),
        (Term::Tuple(a), Term::Tuple(b)) if depth < SHALLOW => {
            let parts = || first(a.iter().zip(b), numbers, depth);
            return a.len().cmp(&b.len()).then_with(parts);
        }
        // Behind as many elements alike `[]` is before a list.
        (Term::List(a), Term::List(b)) if depth < SHALLOW => {
            return first(a.iter().zip(b), numbers, depth).then(a.len().cmp(&b.len()));
        }
        _ => {}
    }
    let both = match compare_head(a, b, numbers) {
        Compared::Is(order) => return order,
        Compared::As(both) => both,
    };
    if depth >= SHALLOW {
        return compare_deep(both);
    }
    let mut at = 0;
    while let Some((a, b, numbers)) = both.get(at) {
        let order = compare(a, b, numbers, depth + 1);
        if order.is_ne() {
            return order;
        }
        at += 1;
    }
    both.end
}

/// Returns the order of the first pair of terms that differ, which lie inside `depth` others and one more.
#[inline]
fn first<'a>(
    pairs: impl Iterator<Item = (&'a Term, &'a Term)>,
    numbers: Numbers,
    depth: usize,
) -> Ordering {
    let mut orders = pairs.map(|(a, b)| compare(a, b, numbers, depth + 1));
    (orders.find(|order| order.is_ne())).unwrap_or(Ordering::Equal)
}

/// Compares parts, with what is around them on the heap.
#[cold]
#[inline(never)]
fn compare_deep(outermost: Both<'_>) -> Ordering {
    let mut around = vec![(outermost, 0)];
    while let Some((both, at)) = around.last_mut() {
        let order = match both.get(*at) {
            Some((a, b, numbers)) => {
                *at += 1;
                match compare_head(a, b, numbers) {
                    Compared::Is(order) => order,
                    Compared::As(both) => {
                        around.push((both, 0));
                        continue;
                    }
                }
            }
            None => {
                let end = both.end;
                around.pop();
                end
            }
        };
        if order.is_ne() {
            return order;
        }
    }
    Ordering::Equal
}

#[inline]
fn compare_head<'a>(a: &'a Term, b: &'a Term, numbers: Numbers) -> Compared<'a> {
    use Term as T;
    Compared::Is(match (a, b) {
        (T::Int(a), T::Int(b)) => a.cmp(b),
        (T::Atom(a), T::Atom(b)) => atoms(*a, *b),
        (T::Reference(a), T::Reference(b)) => references(a, b),
        (T::Fun(a), T::Fun(b)) => return funs(a, b, numbers),
        (T::Port(a), T::Port(b)) => ports(a, b),
        (T::Pid(a), T::Pid(b)) => pids(a, b),
        (T::Tuple(a), T::Tuple(b)) => match a.len().cmp(&b.len()) {
            Ordering::Equal => {
                return Compared::As(Both::new(Parts::Terms(a), Parts::Terms(b), numbers));
            }
            different => different,
        },
        (T::Map(a), T::Map(b)) => return maps(a, b, numbers),
        (T::Record(a), T::Record(b)) => return records(a, b, numbers),
        (T::Binary(a), T::Binary(b)) => a.cmp(b),
        _ => match (Cons::of(a), Cons::of(b)) {
            (Some(a), Some(b)) => return Compared::As(lists(a, b, numbers)),
            _ => rank(a).cmp(&rank(b)).then_with(|| same_rank(a, b, numbers)),
        },
    })
}

/// Compares the remaining kinds of one rank: numbers of several kinds, and bitstrings.
fn same_rank(a: &Term, b: &Term, mode: Numbers) -> Ordering {
    match (bits(a), bits(b)) {
        (Some((a, a_last)), Some((b, b_last))) => bitstrings(a, a_last, b, b_last),
        _ => numbers(a, b, mode),
    }
}

fn numbers(a: &Term, b: &Term, mode: Numbers) -> Ordering {
    use Term as T;
    match (a, b) {
        (T::Float(a), T::Float(b)) => floats(*a, *b, mode),
        (T::Float(_), _) if mode == Numbers::Exactly => Ordering::Greater,
        (_, T::Float(_)) if mode == Numbers::Exactly => Ordering::Less,
        (T::Int(a), T::Float(b)) => int_float(*a, b.get()),
        (T::Float(a), T::Int(b)) => int_float(*b, a.get()).reverse(),
        (T::Big(a), T::Float(b)) => big_float(a, b.get()),
        (T::Float(a), T::Big(b)) => big_float(b, a.get()).reverse(),
        (T::Big(a), T::Big(b)) => a.cmp(b),
        (T::Int(_), T::Big(b)) => away_from_zero(b).reverse(),
        (T::Big(a), T::Int(_)) => away_from_zero(a),
        // Equal ranks of any other kind were compared by the caller; `[]` beside `[]` ends here.
        _ => Ordering::Equal,
    }
}

/// Compares a big integer with everything that fits 64 bits.
fn away_from_zero(big: &BigInt) -> Ordering {
    if big.sign() == Sign::Minus {
        Ordering::Less
    } else {
        Ordering::Greater
    }
}

/// Compares the values; the two zeros are one number, but two terms.
fn floats(a: Float, b: Float, mode: Numbers) -> Ordering {
    let by_value = a.get().partial_cmp(&b.get()).unwrap_or(Ordering::Equal);
    let exactly = mode == Numbers::Exactly && !cfg!(fyris_mutant = "order_one_zero");
    if by_value == Ordering::Equal && exactly {
        return a.get().total_cmp(&b.get());
    }
    by_value
}

/// Compares `int` with `float`, without rounding either.
fn int_float(int: i64, float: f64) -> Ordering {
    if cfg!(fyris_mutant = "order_rounds_integers") {
        return (int as f64).partial_cmp(&float).unwrap_or(Ordering::Equal);
    }
    if float >= I64_BEYOND {
        return Ordering::Less;
    }
    if float < -I64_BEYOND {
        return Ordering::Greater;
    }
    let whole = float.trunc();
    // `whole` is in the range of i64 here, so the cast is exact.
    int.cmp(&(whole as i64))
        .then_with(|| whole.partial_cmp(&float).unwrap_or(Ordering::Equal))
}

/// Compares `big`, which no `i64` holds, with `float`.
fn big_float(big: &BigInt, float: f64) -> Ordering {
    if float.abs() < I64_BEYOND {
        return away_from_zero(big);
    }
    // From 2^63 on every float is a whole number.
    match BigInt::from_f64(float) {
        Some(float) => big.cmp(&float),
        None => Ordering::Equal,
    }
}

fn atoms(a: Atom, b: Atom) -> Ordering {
    // UTF-8 sorts as code points do.
    if a == b {
        Ordering::Equal
    } else {
        a.as_str().cmp(b.as_str())
    }
}

fn nodes(a: (Atom, u32), b: (Atom, u32)) -> Ordering {
    atoms(a.0, b.0).then(a.1.cmp(&b.1))
}

fn pids(a: &Pid, b: &Pid) -> Ordering {
    (a.serial, a.id)
        .cmp(&(b.serial, b.id))
        .then_with(|| nodes((a.node, a.creation), (b.node, b.creation)))
}

fn ports(a: &Port, b: &Port) -> Ordering {
    nodes((a.node, a.creation), (b.node, b.creation)).then(a.id.cmp(&b.id))
}

fn references(a: &Reference, b: &Reference) -> Ordering {
    let (x, y) = (a.significant(), b.significant());
    nodes((a.node, a.creation), (b.node, b.creation))
        .then(x.len().cmp(&y.len()))
        .then_with(|| x.iter().rev().cmp(y.iter().rev()))
}

fn funs<'a>(a: &'a Fun, b: &'a Fun, numbers: Numbers) -> Compared<'a> {
    Compared::Is(match (a, b) {
        (Fun::Local(a), Fun::Local(b)) => return closures(a, b, numbers),
        (Fun::Local(_), Fun::External { .. }) => Ordering::Less,
        (Fun::External { .. }, Fun::Local(_)) => Ordering::Greater,
        (
            Fun::External {
                module: m,
                function: f,
                arity: a,
            },
            Fun::External {
                module: n,
                function: g,
                arity: b,
            },
        ) => atoms(*m, *n).then_with(|| atoms(*f, *g)).then(a.cmp(b)),
    })
}

fn closures<'a>(a: &'a LocalFun, b: &'a LocalFun, numbers: Numbers) -> Compared<'a> {
    let order = atoms(a.module, b.module)
        .then(a.index.cmp(&b.index))
        .then(a.old_uniq.cmp(&b.old_uniq))
        .then(a.free.len().cmp(&b.free.len()));
    match order {
        Ordering::Equal => Compared::As(Both::new(
            Parts::Terms(&a.free),
            Parts::Terms(&b.free),
            numbers,
        )),
        different => Compared::Is(different),
    }
}

fn records<'a>(a: &'a NativeRecord, b: &'a NativeRecord, numbers: Numbers) -> Compared<'a> {
    match definitions(a.definition(), b.definition()) {
        Ordering::Equal => Compared::As(Both::new(
            Parts::Terms(a.values()),
            Parts::Terms(b.values()),
            numbers,
        )),
        different => Compared::Is(different),
    }
}

fn definitions(a: &Definition, b: &Definition) -> Ordering {
    if a == b {
        return Ordering::Equal;
    }
    atoms(a.module(), b.module())
        .then_with(|| atoms(a.name(), b.name()))
        .then(a.is_exported().cmp(&b.is_exported()))
        .then(a.fields().len().cmp(&b.fields().len()))
        .then_with(|| {
            let names = a.fields().iter().map(|field| field.as_str());
            names.cmp(b.fields().iter().map(|field| field.as_str()))
        })
}

fn maps<'a>(a: &'a Map, b: &'a Map, numbers: Numbers) -> Compared<'a> {
    match a.len().cmp(&b.len()) {
        Ordering::Equal => Compared::As(Both {
            keys: a.len(),
            ..Both::new(
                Parts::KeysFirst(a.pairs()),
                Parts::KeysFirst(b.pairs()),
                numbers,
            )
        }),
        different => Compared::Is(different),
    }
}

/// A list that is not empty, proper or not.
#[derive(Clone, Copy)]
struct Cons<'a> {
    elements: &'a [Term],
    tail: Option<&'a Term>,
}

impl<'a> Cons<'a> {
    fn of(term: &'a Term) -> Option<Cons<'a>> {
        match term {
            Term::List(elements) if !elements.is_empty() => Some(Cons {
                elements,
                tail: None,
            }),
            Term::Improper(elements, tail) => Some(Cons {
                elements,
                tail: Some(tail),
            }),
            _ => None,
        }
    }

    /// Returns the rank of the tail behind the first `n` elements.
    fn rank_after(&self, n: usize) -> u8 {
        match self.tail {
            _ if n < self.elements.len() => CONS,
            None => NIL,
            Some(tail) => rank(tail),
        }
    }
}

fn lists<'a>(a: Cons<'a>, b: Cons<'a>, numbers: Numbers) -> Both<'a> {
    let common = a.elements.len().min(b.elements.len());
    let end = a.rank_after(common).cmp(&b.rank_after(common));
    let parts = |list: Cons<'a>| match list.tail {
        Some(tail) if end.is_eq() => Parts::Cells(&list.elements[..common], tail),
        _ => Parts::Terms(&list.elements[..common]),
    };
    Both {
        end,
        ..Both::new(parts(a), parts(b), numbers)
    }
}

fn bits(term: &Term) -> Option<(&[u8], u8)> {
    match term {
        Term::Binary(bytes) => Some((bytes, 8)),
        Term::Bits(BitString { bytes, last_bits }) => Some((bytes, *last_bits)),
        _ => None,
    }
}

fn bitstrings(a: &[u8], a_last: u8, b: &[u8], b_last: u8) -> Ordering {
    let common = a.len().min(b.len());
    let Some(whole) = common.checked_sub(1) else {
        return a.len().cmp(&b.len());
    };
    let bits_in = |bytes: &[u8], last: u8| if bytes.len() > common { 8 } else { last };
    let shared = bits_in(a, a_last).min(bits_in(b, b_last));
    let mask = 0xFFu8 << (8 - shared);
    a[..whole]
        .cmp(&b[..whole])
        .then_with(|| (a[whole] & mask).cmp(&(b[whole] & mask)))
        .then(a.len().cmp(&b.len()))
        .then(a_last.cmp(&b_last))
}

#[cfg(test)]
mod tests;

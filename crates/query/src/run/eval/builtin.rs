//! The functions of the language. `None` is a failure: an argument of the wrong type, an element that does not exist.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use fyris_term::key::KeyKind;
use fyris_term::value::{self, View};
use fyris_term::{Atom, Map, Term};
use num_bigint::Sign;

use crate::program::{Id, kinds};
use crate::run::eval::arithmetic;
use crate::run::eval::{Evaluation, truth};
use crate::run::value::{Ref, Subject, Value};
use crate::syntax::function::Function;

type Eval<'e, 'a> = Evaluation<'e, 'a>;

/// The integers that Erlang keeps in a word.
const SMALL: RangeInclusive<i64> = -(1 << 59)..=(1 << 59) - 1;

/// Evaluates the arguments and calls a function.
pub(crate) fn call<'a>(eval: &Eval<'_, 'a>, function: Function, parts: &[Id]) -> Option<Value<'a>> {
    match *parts {
        [] => nullary(eval, function),
        [a] => unary(eval, function, eval.value(a)?),
        [a, b] => {
            let (a, b) = (eval.value(a)?, eval.value(b)?);
            binary(eval, function, a, b)
        }
        [a, b, c] => {
            let (a, b, c) = (eval.value(a)?, eval.value(b)?, eval.value(c)?);
            ternary(eval, function, &a, &b, &c)
        }
        _ => None,
    }
}

/// Calls a function.
pub(crate) fn apply<'a>(
    eval: &Eval<'_, 'a>,
    function: Function,
    mut arguments: impl Iterator<Item = Value<'a>>,
) -> Option<Value<'a>> {
    match (arguments.next(), arguments.next(), arguments.next()) {
        (None, ..) => nullary(eval, function),
        (Some(a), None, _) => unary(eval, function, a),
        (Some(a), Some(b), None) => binary(eval, function, a, b),
        (Some(a), Some(b), Some(c)) => ternary(eval, function, &a, &b, &c),
    }
}

fn nullary<'a>(eval: &Eval<'_, 'a>, function: Function) -> Option<Value<'a>> {
    match function {
        Function::SelfPid => Some(Value::Ref(Ref::Term(eval.machine.caller()))),
        Function::Node => Some(eval.context.load(Ref::Term(eval.machine.node()))),
        _ => None,
    }
}

fn unary<'a>(eval: &Eval<'_, 'a>, function: Function, a: Value<'a>) -> Option<Value<'a>> {
    if let Some(is) = type_test(eval, function, &a) {
        return Some(truth(is));
    }
    match function {
        Function::Not => eval.boolean(&a).map(|value| truth(!value)),
        Function::Hd => hd(eval, &a),
        Function::Tl => tl(eval, &a),
        Function::Length => length(eval, &a).map(number),
        Function::NodeOf => node_of(eval, &a).map(Value::Atom),
        Function::Size => tuple_size(eval, &a)
            .or_else(|| bits(eval, &a).map(|n| n / 8))
            .map(number),
        Function::TupleSize => tuple_size(eval, &a).map(number),
        Function::BitSize => bits(eval, &a).map(number),
        Function::ByteSize => bits(eval, &a).map(|n| number(n.div_ceil(8))),
        Function::MapSize => map_size(eval, &a).map(number),
        _ => arithmetic::unary(function, &eval.context.borrowed(&a)).map(Value::Owned),
    }
}

fn binary<'a>(
    eval: &Eval<'_, 'a>,
    function: Function,
    a: Value<'a>,
    b: Value<'a>,
) -> Option<Value<'a>> {
    match function {
        Function::Element => element(eval, &a, &b),
        Function::MapGet => map_get(eval, &a, &b),
        Function::IsMapKey => is_map_key(eval, &a, &b).map(truth),
        Function::MapRemove => {
            changed_map(eval, &b, |map| drop(map.remove(&eval.context.borrowed(&a))))
        }
        Function::IsFunOfArity => is_fun_of(eval, &a, &b).map(truth),
        Function::BinaryPart => {
            let part = eval.context.borrowed(&b);
            let [start, len] = part.as_tuple()? else {
                return None;
            };
            binary_part(eval, &a, start.as_int()?, len.as_int()?)
        }
        Function::Xor => Some(truth(eval.boolean(&a)? != eval.boolean(&b)?)),
        Function::Max => Some(if eval.context.compare(&a, &b).is_ge() {
            a
        } else {
            b
        }),
        Function::Min => Some(if eval.context.compare(&a, &b).is_le() {
            a
        } else {
            b
        }),
        _ => arithmetic_of_two(eval, function, &a, &b),
    }
}

/// Computes a function of two numbers; small integers without building terms.
fn arithmetic_of_two<'a>(
    eval: &Eval<'_, 'a>,
    function: Function,
    a: &Value<'a>,
    b: &Value<'a>,
) -> Option<Value<'a>> {
    if let (Value::Int(a), Value::Int(b)) = (a, b)
        && let Some(int) = arithmetic::small(function, *a, *b)
    {
        return Some(Value::Int(int));
    }
    let (a, b) = (eval.context.borrowed(a), eval.context.borrowed(b));
    arithmetic::binary(function, &a, &b).map(|term| match term {
        Term::Int(int) => Value::Int(int),
        Term::Float(float) => Value::Float(float),
        term => Value::Owned(term),
    })
}

fn ternary<'a>(
    eval: &Eval<'_, 'a>,
    function: Function,
    a: &Value<'a>,
    b: &Value<'a>,
    c: &Value<'a>,
) -> Option<Value<'a>> {
    match function {
        Function::IsRecord => is_record(eval, a, b, c).map(truth),
        Function::MapPut => changed_map(eval, c, |map| {
            let (key, value) = (eval.context.borrowed(a), eval.context.borrowed(b));
            map.insert(key.into_owned(), value.into_owned());
        }),
        Function::BinaryPartOf => {
            let (start, len) = (int(eval, b)?, int(eval, c)?);
            binary_part(eval, a, start, len)
        }
        Function::IsIntegerBetween => is_between(eval, a, b, c).map(truth),
        _ => None,
    }
}

/// Returns the answer of a type test; `None` if the function is no type test.
fn type_test<'a>(eval: &Eval<'_, 'a>, function: Function, a: &Value<'a>) -> Option<bool> {
    if function == Function::IsBoolean {
        return Some(eval.boolean(a).is_some());
    }
    let kinds = kinds(function)?;
    Some(kinds >> eval.context.kind(a) as u16 & 1 == 1)
}

fn number<'a>(n: usize) -> Value<'a> {
    Value::Int(n as i64)
}

fn int(eval: &Eval<'_, '_>, value: &Value<'_>) -> Option<i64> {
    match value {
        Value::Int(int) => Some(*int),
        other => eval.context.borrowed(other).as_int(),
    }
}

/// Returns a part of a term: borrowed if the term outlives the evaluation, else cloned.
fn part<'a>(
    eval: &Eval<'_, 'a>,
    value: &Value<'a>,
    pick: impl for<'t> Fn(&'t Term) -> Option<&'t Term>,
) -> Option<Value<'a>> {
    if let Value::Ref(place) = value
        && let Cow::Borrowed(term) = eval.context.term(*place)
    {
        return pick(term).map(|part| eval.context.load(Ref::Term(part)));
    }
    pick(&eval.context.borrowed(value))
        .cloned()
        .map(Value::Owned)
}

fn element<'a>(eval: &Eval<'_, 'a>, n: &Value<'a>, tuple: &Value<'a>) -> Option<Value<'a>> {
    let n = usize::try_from(int(eval, n)?).ok()?;
    match (tuple, eval.context.subject()) {
        (Value::Ref(Ref::Object), Subject::Stored(object)) => {
            if n == object.keypos {
                return Some(eval.context.load(Ref::Key));
            }
            Some(eval.context.load(Ref::Stored(object.values_from(n)?)))
        }
        (Value::Ref(Ref::Stored(bytes)), _) => {
            let Ok(View::Tuple(arity, mut values)) = value::view(bytes) else {
                return None;
            };
            if n == 0 || n as u64 > arity {
                return None;
            }
            for _ in 1..n {
                value::skip(&mut values).ok()?;
            }
            Some(eval.context.load(Ref::Stored(values)))
        }
        _ => part(eval, tuple, |term| term.as_tuple()?.get(n.checked_sub(1)?)),
    }
}

fn hd<'a>(eval: &Eval<'_, 'a>, list: &Value<'a>) -> Option<Value<'a>> {
    part(eval, list, |term| match term {
        Term::List(elements) | Term::Improper(elements, _) => elements.first(),
        _ => None,
    })
}

fn tl<'a>(eval: &Eval<'_, 'a>, list: &Value<'a>) -> Option<Value<'a>> {
    let list = eval.context.borrowed(list);
    match &*list {
        Term::List(elements) => {
            let (_, rest) = elements.split_first()?;
            Some(Value::Owned(Term::list(rest.to_vec())))
        }
        Term::Improper(elements, tail) => {
            let (_, rest) = elements.split_first()?;
            Some(Value::Owned(Term::improper(
                rest.to_vec(),
                (**tail).clone(),
            )))
        }
        _ => None,
    }
}

fn length(eval: &Eval<'_, '_>, list: &Value<'_>) -> Option<usize> {
    if let Value::Ref(Ref::Stored(bytes)) = list {
        return match value::view(bytes).ok()? {
            View::Nil => Some(0),
            View::String(bytes) => Some(bytes.len()),
            View::List(count, _) => usize::try_from(count).ok(),
            _ => None,
        };
    }
    eval.context.borrowed(list).as_list().map(<[Term]>::len)
}

fn tuple_size(eval: &Eval<'_, '_>, tuple: &Value<'_>) -> Option<usize> {
    match (tuple, eval.context.subject()) {
        (Value::Ref(Ref::Object), Subject::Stored(object)) => Some(object.arity),
        (Value::Ref(Ref::Stored(bytes)), _) => match value::view(bytes).ok()? {
            View::Tuple(arity, _) => usize::try_from(arity).ok(),
            _ => None,
        },
        _ => eval.context.borrowed(tuple).as_tuple().map(<[Term]>::len),
    }
}

fn map_size(eval: &Eval<'_, '_>, map: &Value<'_>) -> Option<usize> {
    if let Value::Ref(Ref::Stored(bytes)) = map {
        return match value::view(bytes).ok()? {
            View::Map(pairs) => usize::try_from(pairs.len()).ok(),
            _ => None,
        };
    }
    eval.context.borrowed(map).as_map().map(Map::len)
}

/// Returns the number of bits of a bitstring.
fn bits(eval: &Eval<'_, '_>, value: &Value<'_>) -> Option<usize> {
    if let Some(bytes) = eval.context.binary(value) {
        return Some(8 * bytes.len());
    }
    match &*eval.context.borrowed(value) {
        Term::Binary(bytes) => Some(8 * bytes.len()),
        Term::Bits(bits) => Some(8 * (bits.bytes().len() - 1) + usize::from(bits.last_bits())),
        _ => None,
    }
}

fn node_of(eval: &Eval<'_, '_>, value: &Value<'_>) -> Option<Atom> {
    let written = match &*eval.context.borrowed(value) {
        Term::Pid(pid) => pid.node,
        Term::Port(port) => port.node,
        Term::Reference(reference) => reference.node,
        _ => return None,
    };
    Some(eval.machine.name_of(written))
}

fn map_get<'a>(eval: &Eval<'_, 'a>, key: &Value<'a>, map: &Value<'a>) -> Option<Value<'a>> {
    if let (Value::Ref(Ref::Stored(bytes)), key) = (map, &*eval.context.borrowed(key)) {
        return stored_map_get(eval, key, bytes).map(|found| eval.context.load(Ref::Stored(found)));
    }
    let key = eval.context.borrowed(key);
    part(eval, map, |term| term.as_map()?.get(&key))
}

/// Returns a changed copy of a map.
fn changed_map<'a>(
    eval: &Eval<'_, 'a>,
    map: &Value<'a>,
    change: impl FnOnce(&mut Map),
) -> Option<Value<'a>> {
    let map = eval.context.borrowed(map);
    let mut copy = map.as_map()?.clone();
    change(&mut copy);
    Some(Value::Owned(Term::Map(copy)))
}

/// Finds the value of a key in a stored map: compares the keys up to it, and reads nothing else.
fn stored_map_get<'a>(eval: &Eval<'_, 'a>, key: &Term, map: &'a [u8]) -> Option<&'a [u8]> {
    let Ok(View::Map(mut pairs)) = value::view(map) else {
        return None;
    };
    while let Some((here, value)) = pairs.next_pair().ok()? {
        let here = eval.context.load(Ref::Stored(here));
        if *eval.context.borrowed(&here) == *key {
            return Some(value);
        }
        pairs.pass().ok()?;
    }
    None
}

fn is_map_key<'a>(eval: &Eval<'_, 'a>, key: &Value<'a>, map: &Value<'a>) -> Option<bool> {
    let key = eval.context.borrowed(key);
    if let Value::Ref(Ref::Stored(bytes)) = map {
        return match value::view(bytes).ok()? {
            View::Map(..) => Some(stored_map_get(eval, &key, bytes).is_some()),
            _ => None,
        };
    }
    let map = eval.context.borrowed(map);
    Some(map.as_map()?.contains_key(&key))
}

/// Computes `is_record/3`; fails unless the name is an atom, and the last argument a small integer, the size of a
/// tuple, or an atom: then the others are the module and the name of native records.
fn is_record<'a>(
    eval: &Eval<'_, 'a>,
    record: &Value<'a>,
    name: &Value<'a>,
    size: &Value<'a>,
) -> Option<bool> {
    let name = eval.context.borrowed(name).as_atom()?;
    let size = match &*eval.context.borrowed(size) {
        Term::Int(size) if SMALL.contains(size) => *size,
        Term::Atom(kind) => return Some(is_native_record(eval, record, name, *kind)),
        _ => return None,
    };
    if size < 1 || tuple_size(eval, record) != usize::try_from(size).ok() {
        return Some(false);
    }
    let first = element(eval, &Value::Int(1), record)?;
    Some(eval.context.borrowed(&first).as_atom() == Some(name))
}

/// Returns whether a value is a native record of this name in this module.
fn is_native_record(eval: &Eval<'_, '_>, value: &Value<'_>, module: Atom, name: Atom) -> bool {
    if eval.context.kind(value) != KeyKind::Record {
        return false;
    }
    match &*eval.context.borrowed(value) {
        Term::Record(record) => {
            let definition = record.definition();
            (definition.module(), definition.name()) == (module, name)
        }
        _ => false,
    }
}

/// Computes `is_function/2`; fails unless the arity is an integer that is not negative.
fn is_fun_of(eval: &Eval<'_, '_>, value: &Value<'_>, arity: &Value<'_>) -> Option<bool> {
    let arity = match &*eval.context.borrowed(arity) {
        Term::Int(arity) if *arity >= 0 => *arity,
        Term::Big(arity) if arity.sign() == Sign::Plus => i64::MAX,
        _ => return None,
    };
    if eval.context.kind(value) != KeyKind::Fun {
        return Some(false);
    }
    Some(match &*eval.context.borrowed(value) {
        Term::Fun(fun) => i64::from(fun.arity()) == arity,
        _ => false,
    })
}

/// Computes `is_integer(T, Low, High)`; fails unless both bounds are integers.
fn is_between(
    eval: &Eval<'_, '_>,
    value: &Value<'_>,
    low: &Value<'_>,
    high: &Value<'_>,
) -> Option<bool> {
    let is_integer = |value| eval.context.kind(value) == KeyKind::Integer;
    if !is_integer(low) || !is_integer(high) {
        return None;
    }
    let between =
        || eval.context.compare(low, value).is_le() && eval.context.compare(value, high).is_le();
    Some(is_integer(value) && between())
}

/// Returns a part of a binary; a negative length extends backwards from `start`.
fn binary_part<'a>(
    eval: &Eval<'_, 'a>,
    whole: &Value<'a>,
    start: i64,
    len: i64,
) -> Option<Value<'a>> {
    let end = start.checked_add(len)?;
    let (from, to) = (
        usize::try_from(start.min(end)).ok()?,
        usize::try_from(start.max(end)).ok()?,
    );
    let owner;
    let bytes = match eval.context.binary(whole) {
        Some(bytes) => bytes,
        None => {
            owner = eval.context.borrowed(whole);
            match &*owner {
                Term::Binary(bytes) => bytes,
                // Of a bitstring, too: OTP 25 took its whole bytes, 29 does not.
                _ => return None,
            }
        }
    };
    Some(Value::Owned(Term::binary(bytes.get(from..to)?)))
}

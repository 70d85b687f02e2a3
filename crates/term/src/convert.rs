//! Rust values to terms and back.
//!
//! | Rust | term |
//! |---|---|
//! | integers of every size, [`BigInt`] | integer |
//! | `f64`, `f32` | float |
//! | `bool` | `true`, `false` |
//! | `()` | `{}` |
//! | `&str`, `String`, `&[u8]`, `&[u8; N]`, `Arc<[u8]>` | binary (text as UTF-8) |
//! | `char` | integer, its code point |
//! | [`Atom`] | atom |
//! | `Vec<T>` | list; a `Vec<u8>` too, since it is a vector like any other |
//! | tuples of up to 8 | tuple |
//! | `BTreeMap`, `HashMap` | map |
//! | `Option<T>` | `undefined`, or the value itself |
//!
//! The way back is [`TryFrom`] with a [`ConvertError`] that names what was found and what was wanted. It is strict: a
//! float does not become an integer, nor `1` a float. An integer that does not fit says so.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::sync::Arc;

use num_bigint::BigInt;

use crate::{Atom, Blob, Float, Map, Term};

/// Why a term does not convert.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// It is of another type.
    #[error("expected {expected}, found {found}")]
    Type {
        /// The type that the caller wants.
        expected: &'static str,
        /// The term's type, and the term if it is short.
        found: String,
    },
    /// An integer that does not fit.
    #[error("the integer {value} does not fit {target}")]
    Range {
        /// The integer.
        value: String,
        /// The Rust type.
        target: &'static str,
    },
    /// A tuple with the wrong number of elements.
    #[error("expected a tuple of {expected}, found one of {found}")]
    Arity {
        /// The number expected.
        expected: usize,
        /// The number found.
        found: usize,
    },
    /// A binary that is not UTF-8.
    #[error("the binary is not UTF-8 from byte {offset} on")]
    Utf8 {
        /// The first wrong byte.
        offset: usize,
    },
    /// NaN or an infinity, which Erlang does not have.
    #[error("{0} is no Erlang float")]
    NotFinite(String),
}

/// Returns the name of a term's type for a short message.
pub(crate) fn describe(term: &Term) -> String {
    const LONGEST: usize = 40;
    let name = term.type_name();
    if !matches!(term, Term::Int(_) | Term::Float(_) | Term::Atom(_)) {
        return name.into();
    }
    let text = term.to_string();
    if text.chars().count() > LONGEST {
        name.into()
    } else {
        format!("{name} {text}")
    }
}

fn wrong(expected: &'static str, found: &Term) -> ConvertError {
    ConvertError::Type {
        expected,
        found: describe(found),
    }
}

impl Term {
    /// Returns the name of the term's type, with its article: `an integer`, `a list`.
    pub fn type_name(&self) -> &'static str {
        match self {
            Term::Int(_) | Term::Big(_) => "an integer",
            Term::Float(_) => "a float",
            Term::Atom(_) => "an atom",
            Term::Reference(_) => "a reference",
            Term::Fun(_) => "a fun",
            Term::Port(_) => "a port",
            Term::Pid(_) => "a pid",
            Term::Tuple(_) => "a tuple",
            Term::Record(_) => "a native record",
            Term::Map(_) => "a map",
            Term::List(_) => "a list",
            Term::Improper(..) => "an improper list",
            Term::Binary(_) => "a binary",
            Term::Bits(_) => "a bitstring",
        }
    }

    /// Makes an Erlang string: the list of the characters' numbers.
    pub fn string(text: &str) -> Term {
        Term::List(text.chars().map(Term::from).collect())
    }

    /// Returns the float `value`; an error for NaN and the infinities.
    pub fn float(value: f64) -> Result<Term, ConvertError> {
        Float::new(value)
            .map(Term::Float)
            .ok_or_else(|| ConvertError::NotFinite(value.to_string()))
    }

    /// Returns the integer, if it is one that fits.
    pub fn as_int(&self) -> Option<i64> {
        if let Term::Int(value) = self {
            Some(*value)
        } else {
            None
        }
    }

    /// Returns the atom, if it is one.
    pub fn as_atom(&self) -> Option<Atom> {
        if let Term::Atom(atom) = self {
            Some(*atom)
        } else {
            None
        }
    }

    /// Returns the elements, if it is a tuple.
    pub fn as_tuple(&self) -> Option<&[Term]> {
        if let Term::Tuple(elements) = self {
            Some(elements)
        } else {
            None
        }
    }

    /// Returns the elements, if it is a proper list.
    pub fn as_list(&self) -> Option<&[Term]> {
        if let Term::List(elements) = self {
            Some(elements)
        } else {
            None
        }
    }

    /// Returns the bytes, if it is a binary.
    pub fn as_binary(&self) -> Option<&[u8]> {
        if let Term::Binary(bytes) = self {
            Some(bytes)
        } else {
            None
        }
    }

    /// Returns the map, if it is one.
    pub fn as_map(&self) -> Option<&Map> {
        if let Term::Map(map) = self {
            Some(map)
        } else {
            None
        }
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl From<$type> for Term {
            fn from(value: $type) -> Term {
                match i64::try_from(value) {
                    Ok(small) => Term::Int(small),
                    Err(_) => Term::integer(value),
                }
            }
        }

        impl TryFrom<&Term> for $type {
            type Error = ConvertError;

            fn try_from(term: &Term) -> Result<$type, ConvertError> {
                let fitting = match term {
                    Term::Int(value) => <$type>::try_from(*value).ok(),
                    Term::Big(value) => <$type>::try_from(&**value).ok(),
                    other => return Err(wrong("an integer", other)),
                };
                fitting.ok_or_else(|| ConvertError::Range {
                    value: shorten(term),
                    target: stringify!($type),
                })
            }
        }

        owned!($type);
    )*};
}

/// Returns the text of a number, in at most 40 characters; of longer ones the beginning, or the length.
fn shorten(number: &Term) -> String {
    if let Term::Big(value) = number
        && value.bits() > 1024
    {
        // Digits take time quadratic in their number.
        return number.brief(40);
    }
    let text = number.to_string();
    if text.len() > 40 {
        format!("{}... ({} digits)", &text[..20], text.len())
    } else {
        text
    }
}

/// `TryFrom` an owned term, by way of a borrowed one.
macro_rules! owned {
    ($type:ty) => {
        impl TryFrom<Term> for $type {
            type Error = ConvertError;

            fn try_from(term: Term) -> Result<$type, ConvertError> {
                <$type>::try_from(&term)
            }
        }
    };
}

integers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize);

impl From<BigInt> for Term {
    fn from(value: BigInt) -> Term {
        Term::integer(value)
    }
}

impl TryFrom<&Term> for BigInt {
    type Error = ConvertError;

    fn try_from(term: &Term) -> Result<BigInt, ConvertError> {
        match term {
            Term::Int(value) => Ok(BigInt::from(*value)),
            Term::Big(value) => Ok((**value).clone()),
            other => Err(wrong("an integer", other)),
        }
    }
}
owned!(BigInt);

impl From<Float> for Term {
    fn from(value: Float) -> Term {
        Term::Float(value)
    }
}

impl From<f64> for Term {
    /// # Panics
    ///
    /// For NaN and the infinities; [`Term::float`] returns an error instead.
    fn from(value: f64) -> Term {
        Term::Float(Float::new(value).expect("a finite float"))
    }
}

impl From<f32> for Term {
    /// # Panics
    ///
    /// For NaN and the infinities.
    fn from(value: f32) -> Term {
        Term::from(f64::from(value))
    }
}

impl TryFrom<&Term> for f64 {
    type Error = ConvertError;

    fn try_from(term: &Term) -> Result<f64, ConvertError> {
        if let Term::Float(value) = term {
            Ok(value.get())
        } else {
            Err(wrong("a float", term))
        }
    }
}
owned!(f64);

impl From<bool> for Term {
    fn from(value: bool) -> Term {
        Term::atom(if value { "true" } else { "false" })
    }
}

impl TryFrom<&Term> for bool {
    type Error = ConvertError;

    fn try_from(term: &Term) -> Result<bool, ConvertError> {
        match term.as_atom().map(Atom::as_str) {
            Some("true") => Ok(true),
            Some("false") => Ok(false),
            _ => Err(wrong("true or false", term)),
        }
    }
}
owned!(bool);

impl From<char> for Term {
    fn from(value: char) -> Term {
        Term::Int(i64::from(u32::from(value)))
    }
}

impl TryFrom<&Term> for char {
    type Error = ConvertError;

    fn try_from(term: &Term) -> Result<char, ConvertError> {
        let code = u32::try_from(term)?;
        char::from_u32(code).ok_or_else(|| ConvertError::Range {
            value: code.to_string(),
            target: "char",
        })
    }
}
owned!(char);

impl From<Atom> for Term {
    fn from(value: Atom) -> Term {
        Term::Atom(value)
    }
}

impl TryFrom<&Term> for Atom {
    type Error = ConvertError;

    fn try_from(term: &Term) -> Result<Atom, ConvertError> {
        term.as_atom().ok_or_else(|| wrong("an atom", term))
    }
}
owned!(Atom);

impl From<&str> for Term {
    fn from(value: &str) -> Term {
        Term::binary(value.as_bytes())
    }
}

impl From<String> for Term {
    fn from(value: String) -> Term {
        Term::binary(value.into_bytes())
    }
}

impl From<&[u8]> for Term {
    fn from(value: &[u8]) -> Term {
        Term::binary(value)
    }
}

impl<const N: usize> From<&[u8; N]> for Term {
    fn from(value: &[u8; N]) -> Term {
        Term::binary(*value)
    }
}

impl From<Arc<[u8]>> for Term {
    fn from(value: Arc<[u8]>) -> Term {
        Term::binary(value)
    }
}

impl From<Blob> for Term {
    fn from(value: Blob) -> Term {
        Term::Binary(value)
    }
}

impl<'a> TryFrom<&'a Term> for &'a [u8] {
    type Error = ConvertError;

    fn try_from(term: &'a Term) -> Result<&'a [u8], ConvertError> {
        term.as_binary().ok_or_else(|| wrong("a binary", term))
    }
}

impl TryFrom<&Term> for Arc<[u8]> {
    type Error = ConvertError;

    fn try_from(term: &Term) -> Result<Arc<[u8]>, ConvertError> {
        if let Term::Binary(bytes) = term {
            Ok(bytes.to_arc())
        } else {
            Err(wrong("a binary", term))
        }
    }
}
owned!(Arc<[u8]>);

impl<'a> TryFrom<&'a Term> for &'a str {
    type Error = ConvertError;

    fn try_from(term: &'a Term) -> Result<&'a str, ConvertError> {
        std::str::from_utf8(term.try_into()?).map_err(|e| ConvertError::Utf8 {
            offset: e.valid_up_to(),
        })
    }
}

impl TryFrom<&Term> for String {
    type Error = ConvertError;

    fn try_from(term: &Term) -> Result<String, ConvertError> {
        <&str>::try_from(term).map(String::from)
    }
}
owned!(String);

impl<T: Into<Term>> From<Vec<T>> for Term {
    fn from(values: Vec<T>) -> Term {
        Term::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: TryFrom<Term, Error = E>, E: Into<ConvertError>> TryFrom<Term> for Vec<T> {
    type Error = ConvertError;

    fn try_from(term: Term) -> Result<Vec<T>, ConvertError> {
        match term {
            Term::List(elements) => elements
                .into_iter()
                .map(|e| T::try_from(e).map_err(Into::into))
                .collect(),
            other => Err(wrong("a list", &other)),
        }
    }
}

impl From<std::convert::Infallible> for ConvertError {
    fn from(never: std::convert::Infallible) -> ConvertError {
        match never {}
    }
}

impl<T: Into<Term>> From<Option<T>> for Term {
    fn from(value: Option<T>) -> Term {
        value.map_or_else(|| Term::atom("undefined"), Into::into)
    }
}

impl<K: Into<Term>, V: Into<Term>> From<BTreeMap<K, V>> for Term {
    fn from(map: BTreeMap<K, V>) -> Term {
        Term::Map(map.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }
}

impl<K: Into<Term>, V: Into<Term>, S> From<HashMap<K, V, S>> for Term {
    fn from(map: HashMap<K, V, S>) -> Term {
        Term::Map(map.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    }
}

/// Returns the pairs of a map, converted.
fn pairs<K, V, C, E, F>(term: Term) -> Result<C, ConvertError>
where
    K: TryFrom<Term, Error = E>,
    V: TryFrom<Term, Error = F>,
    C: FromIterator<(K, V)>,
    ConvertError: From<E> + From<F>,
{
    let Term::Map(map) = term else {
        return Err(wrong("a map", &term));
    };
    map.into_iter()
        .map(|(k, v)| Ok((K::try_from(k)?, V::try_from(v)?)))
        .collect()
}

impl<K, V, E, F> TryFrom<Term> for BTreeMap<K, V>
where
    K: TryFrom<Term, Error = E> + Ord,
    V: TryFrom<Term, Error = F>,
    ConvertError: From<E> + From<F>,
{
    type Error = ConvertError;

    fn try_from(term: Term) -> Result<BTreeMap<K, V>, ConvertError> {
        pairs(term)
    }
}

impl<K, V, S, E, F> TryFrom<Term> for HashMap<K, V, S>
where
    K: TryFrom<Term, Error = E> + Eq + Hash,
    V: TryFrom<Term, Error = F>,
    S: BuildHasher + Default,
    ConvertError: From<E> + From<F>,
{
    type Error = ConvertError;

    fn try_from(term: Term) -> Result<HashMap<K, V, S>, ConvertError> {
        pairs(term)
    }
}

impl From<()> for Term {
    fn from((): ()) -> Term {
        Term::tuple([])
    }
}

macro_rules! tuples {
    ($($count:literal: $($name:ident)+;)*) => {$(
        impl<$($name: Into<Term>),+> From<($($name,)+)> for Term {
            #[allow(non_snake_case)]
            fn from(($($name,)+): ($($name,)+)) -> Term {
                Term::tuple(vec![$($name.into()),+])
            }
        }

        impl<$($name),+> TryFrom<Term> for ($($name,)+)
        where
            $($name: TryFrom<Term>, ConvertError: From<$name::Error>),+
        {
            type Error = ConvertError;

            #[allow(non_snake_case)]
            fn try_from(term: Term) -> Result<($($name,)+), ConvertError> {
                let Term::Tuple(elements) = term else { return Err(wrong("a tuple", &term)) };
                let elements: [Term; $count] = elements.into_vec().try_into().map_err(|e: Vec<Term>| {
                    ConvertError::Arity { expected: $count, found: e.len() }
                })?;
                let [$($name),+] = elements;
                Ok(($($name::try_from($name)?,)+))
            }
        }
    )*};
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_go_there_and_back() {
        fn same<
            T: Into<Term> + TryFrom<Term, Error = ConvertError> + PartialEq + Clone + std::fmt::Debug,
        >(
            value: T,
        ) {
            assert_eq!(T::try_from(value.clone().into()), Ok(value));
        }
        same(-1i8);
        same(u64::MAX);
        same(i128::MIN);
        same(1.5f64);
        same(true);
        same('日');
        same("text".to_string());
        same(vec![1u8, 2]);
        same(vec![(1u32, "a".to_string()), (2, String::new())]);
        same(BTreeMap::from([(1u8, vec![true]), (2, vec![])]));
        same(HashMap::<String, i64>::from_iter([("a".to_string(), 1)]));
        same((1u8, (2u16, 3u32)));
        same(BigInt::from(1) << 100);
        assert_eq!(
            Term::from((1, None::<u8>, Some("x"))).to_string(),
            "{1,undefined,<<\"x\">>}"
        );
    }

    #[test]
    fn errors_name_what_was_found() {
        let cases: [(ConvertError, &str); 7] = [
            (
                u8::try_from(Term::Int(256)).unwrap_err(),
                "the integer 256 does not fit u8",
            ),
            (
                u8::try_from(Term::from(1.0)).unwrap_err(),
                "expected an integer, found a float 1.0",
            ),
            (
                bool::try_from(Term::atom("yes")).unwrap_err(),
                "expected true or false, found an atom yes",
            ),
            (
                String::try_from(Term::binary([b'a', 0xFF])).unwrap_err(),
                "the binary is not UTF-8 from byte 1 on",
            ),
            (
                <(u8, u8)>::try_from(Term::from((1, 2, 3))).unwrap_err(),
                "expected a tuple of 2, found one of 3",
            ),
            (
                Vec::<u8>::try_from(Term::atom("a")).unwrap_err(),
                "expected a list, found an atom a",
            ),
            (Term::float(f64::NAN).unwrap_err(), "NaN is no Erlang float"),
        ];
        for (error, message) in cases {
            assert_eq!(error.to_string(), message);
        }
    }
}

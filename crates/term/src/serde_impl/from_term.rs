//! A term as any `Deserialize` value.

use serde::de::value::{MapDeserializer, SeqDeserializer, StringDeserializer};
use serde::de::{
    DeserializeOwned, Deserializer, EnumAccess, IntoDeserializer, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::{SerdeError, TERM};
use crate::convert::describe;
use crate::term::{Fun, LocalFun};
use crate::{Atom, ConvertError, NativeRecord, Term};

/// Returns the Rust value of a term, by the table of [`to_term`](crate::to_term). O(size).
///
/// # Errors
///
/// If the term has another shape than the type wants, or a number does not fit.
///
/// ```
/// use fyris_term::{from_term, term};
///
/// #[derive(serde::Deserialize, PartialEq, Debug)]
/// enum Shape { Point, Circle(f64), Box { w: u32, h: u32 } }
///
/// assert_eq!(from_term::<Shape>(&term!('P')).is_err(), true);
/// assert_eq!(from_term::<Shape>(&term!(:Point)), Ok(Shape::Point));
/// assert_eq!(from_term::<Shape>(&term!({:Circle, 1.5})), Ok(Shape::Circle(1.5)));
/// assert_eq!(from_term::<Shape>(&term!({:Box, #{:w => 1, :h => 2}})), Ok(Shape::Box { w: 1, h: 2 }));
/// ```
pub fn from_term<T: DeserializeOwned>(term: &Term) -> Result<T, SerdeError> {
    from_term_owned(term.clone())
}

/// Returns the Rust value of a term that is not needed any more: [`from_term`] without a copy of it. O(size).
///
/// # Errors
///
/// As [`from_term`].
///
/// ```
/// use fyris_term::{from_term_owned, term};
///
/// assert_eq!(from_term_owned::<Vec<u8>>(term!([1, 2])), Ok(vec![1, 2]));
/// ```
#[inline]
pub fn from_term_owned<T: DeserializeOwned>(term: Term) -> Result<T, SerdeError> {
    T::deserialize(FromTerm::plain(term))
}

struct FromTerm {
    term: Term,
    /// A `Term` is wanted: nothing may be simplified.
    exact: bool,
}

impl FromTerm {
    fn plain(term: Term) -> FromTerm {
        FromTerm { term, exact: false }
    }

    fn wrong<T>(&self, expected: &'static str) -> Result<T, SerdeError> {
        Err(SerdeError::Type {
            expected,
            found: describe(&self.term),
        })
    }
}

impl IntoDeserializer<'_, SerdeError> for FromTerm {
    type Deserializer = FromTerm;

    fn into_deserializer(self) -> FromTerm {
        self
    }
}

fn visit_elements<'de, V: Visitor<'de>>(
    elements: Vec<Term>,
    visitor: V,
) -> Result<V::Value, SerdeError> {
    let mut sequence = SeqDeserializer::new(elements.into_iter().map(FromTerm::plain));
    let value = visitor.visit_seq(&mut sequence)?;
    sequence.end()?;
    Ok(value)
}

fn visit_pairs<'de, V: Visitor<'de>>(
    pairs: Vec<(Term, Term)>,
    visitor: V,
) -> Result<V::Value, SerdeError> {
    let pairs = pairs
        .into_iter()
        .map(|(k, v)| (FromTerm::plain(k), FromTerm::plain(v)));
    let mut map = MapDeserializer::new(pairs);
    let value = visitor.visit_map(&mut map)?;
    map.end()?;
    Ok(value)
}

/// Integers go by the smallest of the types that visitors know.
fn visit_integer<'de, V: Visitor<'de>>(term: &Term, visitor: V) -> Result<V::Value, SerdeError> {
    if let Term::Int(value) = term {
        return visitor.visit_i64(*value);
    }
    if let Ok(value) = u64::try_from(term) {
        return visitor.visit_u64(value);
    }
    if let Ok(value) = i128::try_from(term) {
        return visitor.visit_i128(value);
    }
    visitor.visit_u128(u128::try_from(term)?)
}

fn visit_atom<'de, V: Visitor<'de>>(atom: Atom, visitor: V) -> Result<V::Value, SerdeError> {
    match atom.as_str() {
        "true" => visitor.visit_bool(true),
        "false" => visitor.visit_bool(false),
        "undefined" => visitor.visit_unit(),
        name => visitor.visit_str(name),
    }
}

fn visit_binary<'de, V: Visitor<'de>>(bytes: &[u8], visitor: V) -> Result<V::Value, SerdeError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => visitor.visit_str(text),
        Err(_) => visitor.visit_bytes(bytes),
    }
}

/// Returns the tagged form of terms that serde's data model cannot tell apart: the tag and its value, as `untag` wants
/// them.
fn tagged(term: Term) -> Result<(&'static str, Term), Term> {
    let name = |atom: Atom| Term::from(atom.as_str());
    Ok(match term {
        Term::Atom(atom) if !matches!(atom.as_str(), "true" | "false") => ("$atom", name(atom)),
        Term::Tuple(elements) => ("$tuple", Term::List(elements)),
        Term::Map(map) => {
            let pairs = map
                .into_iter()
                .map(|(key, value)| Term::list(vec![key, value]));
            ("$map", Term::List(pairs.collect()))
        }
        Term::Improper(elements, tail) => {
            ("$improper", Term::list(vec![Term::List(elements), *tail]))
        }
        Term::Big(value)
            if u128::try_from(&*value).is_err() && i128::try_from(&*value).is_err() =>
        {
            ("$int", Term::from(value.to_string()))
        }
        Term::Bits(bits) => (
            "$bits",
            Term::list(vec![bits.bytes().into(), bits.last_bits().into()]),
        ),
        Term::Pid(p) => (
            "$pid",
            Term::list(vec![
                name(p.node),
                p.id.into(),
                p.serial.into(),
                p.creation.into(),
            ]),
        ),
        Term::Port(p) => (
            "$port",
            Term::list(vec![name(p.node), p.id.into(), p.creation.into()]),
        ),
        Term::Reference(r) => (
            "$reference",
            Term::list(vec![name(r.node), r.creation.into(), r.ids.into()]),
        ),
        Term::Fun(fun) => match *fun {
            Fun::External {
                module,
                function,
                arity,
            } => (
                "$fun",
                Term::list(vec![name(module), name(function), arity.into()]),
            ),
            Fun::Local(fun) => ("$closure", closure(fun)),
        },
        Term::Record(record) => ("$record", record_parts(*record)),
        other => return Err(other),
    })
}

fn record_parts(record: NativeRecord) -> Term {
    let (definition, values) = record.into_parts();
    let name = |atom: &Atom| Term::from(atom.as_str());
    Term::list(vec![
        name(&definition.module()),
        name(&definition.name()),
        definition.is_exported().into(),
        Term::list(definition.fields().iter().map(name).collect::<Vec<_>>()),
        Term::List(values),
    ])
}

fn closure(fun: LocalFun) -> Term {
    Term::list(vec![
        fun.module.as_str().into(),
        fun.arity.into(),
        Term::from(&fun.uniq),
        fun.index.into(),
        fun.old_index.into(),
        fun.old_uniq.into(),
        Term::Pid(Box::new(fun.creator)),
        Term::List(fun.free),
    ])
}

impl<'de> Deserializer<'de> for FromTerm {
    type Error = SerdeError;

    #[inline]
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        if let Term::Int(value) = self.term {
            // It owns nothing, which the drop of a term would look for.
            std::mem::forget(self);
            return visitor.visit_i64(value);
        }
        let term = match self.exact.then(|| tagged(self.term.clone())) {
            Some(Ok((tag, value))) => return visit_pairs(vec![(tag.into(), value)], visitor),
            _ => self.term,
        };
        match term {
            Term::Int(_) | Term::Big(_) => visit_integer(&term, visitor),
            Term::Float(value) => visitor.visit_f64(value.get()),
            Term::Atom(atom) => visit_atom(atom, visitor),
            Term::Binary(bytes) => visit_binary(&bytes, visitor),
            Term::List(elements) | Term::Tuple(elements) => {
                visit_elements(elements.into_vec(), visitor)
            }
            Term::Map(map) => visit_pairs(map.into_pairs(), visitor),
            Term::Pid(_) | Term::Port(_) | Term::Reference(_) | Term::Fun(_) => {
                visitor.visit_string(term.to_string())
            }
            Term::Improper(..) | Term::Bits(_) | Term::Record(_) => {
                FromTerm::plain(term).wrong("a term that serde's data model has a place for")
            }
        }
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        visitor.visit_newtype_struct(FromTerm {
            exact: name == TERM,
            ..self
        })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match self.term.as_atom().map(Atom::as_str) {
            Some("undefined") => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        visitor.visit_char(char::try_from(&self.term)?)
    }

    /// Reads text, or a name: any atom.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match &self.term {
            Term::Atom(atom) => visitor.visit_str(atom.as_str()),
            Term::Binary(_) => visitor.visit_string(String::try_from(&self.term)?),
            _ => self.wrong("text: a binary or an atom"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match &self.term {
            Term::Binary(bytes) => visitor.visit_bytes(bytes),
            _ => self.wrong("a binary"),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, SerdeError> {
        match &self.term {
            Term::Tuple(elements) if elements.is_empty() => visitor.visit_unit(),
            _ => self.wrong("{}"),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        match &self.term {
            Term::Atom(atom) if atom.as_str() == name => visitor.visit_unit(),
            _ => self.wrong(name),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        const EXPECTED: &str = "a variant: an atom, or a tuple that starts with one";
        let (variant, values) = match self.term {
            Term::Atom(atom) => (atom, None),
            Term::Tuple(mut elements) if matches!(elements.first(), Some(Term::Atom(_))) => {
                let values = elements.split_off(1);
                match elements.pop() {
                    Some(Term::Atom(atom)) => (atom, Some(values)),
                    _ => return FromTerm::plain(Term::tuple(values)).wrong(EXPECTED),
                }
            }
            other => return FromTerm::plain(other).wrong(EXPECTED),
        };
        visitor.visit_enum(Variant { variant, values })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 seq tuple tuple_struct map struct ignored_any
    }
}

/// A variant's name and what stands behind it in the tuple; `None` for a bare atom.
struct Variant {
    variant: Atom,
    values: Option<Vec<Term>>,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = SerdeError;
    type Variant = Variant;

    fn variant_seed<S: serde::de::DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Variant), SerdeError> {
        let name: StringDeserializer<SerdeError> =
            self.variant.as_str().to_string().into_deserializer();
        Ok((seed.deserialize(name)?, self))
    }
}

impl Variant {
    /// Returns the only value behind the name.
    fn single(self) -> Result<FromTerm, SerdeError> {
        let mut values = self.values.unwrap_or_default();
        let found = values.len() + 1;
        match values.pop() {
            Some(value) if values.is_empty() => Ok(FromTerm::plain(value)),
            _ => Err(ConvertError::Arity { expected: 2, found }.into()),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = SerdeError;

    fn unit_variant(self) -> Result<(), SerdeError> {
        match self.values {
            None => Ok(()),
            Some(values) => Err(ConvertError::Arity {
                expected: 1,
                found: values.len() + 1,
            }
            .into()),
        }
    }

    fn newtype_variant_seed<S: serde::de::DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<S::Value, SerdeError> {
        seed.deserialize(self.single()?)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, SerdeError> {
        visit_elements(self.values.unwrap_or_default(), visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, SerdeError> {
        self.single()?.deserialize_any(visitor)
    }
}

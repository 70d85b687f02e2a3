//! Any `Serialize` value as a term.

use serde::Serialize;
use serde::ser::{self, Serializer};

use super::untag::untag;
use super::{SerdeError, TERM};
use crate::{Atom, Map, Term};

/// Returns the term of a Rust value, one that an Erlang programmer would write. O(size).
///
/// | Rust | term |
/// |---|---|
/// | numbers, `bool`, text, bytes | as by `From` (text as binary); `char` is its number |
/// | `None`, `Some(x)` | `undefined`, `x` (so `Some(None)` comes back as `None`) |
/// | `()`; unit struct | `{}`; the atom of its name |
/// | sequence; tuple, array, tuple struct | list; tuple |
/// | newtype struct | what is in it |
/// | struct | map with atom keys |
/// | map | map |
/// | enum: unit, newtype, tuple, struct variant | `'Name'`, `{'Name', X}`, `{'Name', X, Y}`, `{'Name', #{field => X}}` |
/// | a [`Term`](crate::Term) inside | that term |
///
/// [`from_term`](crate::from_term) reads a little more than this writes: atoms where text is wanted, binaries as the
/// keys of a struct, lists for tuples and tuples for sequences.
///
/// # Errors
///
/// For NaN and infinities, names longer than an atom may be, and whatever the value's own `Serialize` refuses.
///
/// ```
/// #[derive(serde::Serialize)]
/// struct User { name: String, age: Option<u8> }
///
/// let ada = User { name: "Ada".into(), age: None };
/// let term = fyris_term::to_term(&ada).unwrap();
/// assert_eq!(term.to_string(), "#{age => undefined,name => <<\"Ada\">>}");
/// ```
pub fn to_term<T: Serialize + ?Sized>(value: &T) -> Result<Term, SerdeError> {
    value.serialize(ToTerm)
}

struct ToTerm;

fn named(name: &str) -> Result<Term, SerdeError> {
    Ok(Term::Atom(Atom::new(name)?))
}

macro_rules! direct {
    ($($method:ident: $type:ty)*) => {$(
        fn $method(self, value: $type) -> Result<Term, SerdeError> {
            Ok(Term::from(value))
        }
    )*};
}

impl Serializer for ToTerm {
    type Ok = Term;
    type Error = SerdeError;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeTupleStruct = Elements;
    type SerializeTupleVariant = Elements;
    type SerializeMap = PairsSerializer;
    type SerializeStruct = PairsSerializer;
    type SerializeStructVariant = PairsSerializer;

    direct! {
        serialize_bool: bool
        serialize_i8: i8
        serialize_i16: i16
        serialize_i32: i32
        serialize_i64: i64
        serialize_i128: i128
        serialize_u8: u8
        serialize_u16: u16
        serialize_u32: u32
        serialize_u64: u64
        serialize_u128: u128
        serialize_char: char
        serialize_str: &str
        serialize_bytes: &[u8]
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_f32(self, value: f32) -> Result<Term, SerdeError> {
        self.serialize_f64(f64::from(value))
    }

    fn serialize_f64(self, value: f64) -> Result<Term, SerdeError> {
        Ok(Term::float(value)?)
    }

    fn serialize_none(self) -> Result<Term, SerdeError> {
        named("undefined")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Term, SerdeError> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Term, SerdeError> {
        Ok(Term::from(()))
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Term, SerdeError> {
        named(name)
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Term, SerdeError> {
        named(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Term, SerdeError> {
        match value.serialize(self)? {
            // A term inside a value: parts that serde's data model has no place for arrive tagged.
            Term::Map(map) if name == TERM => untag(map.into_pairs()).map_err(SerdeError::Custom),
            term => Ok(term),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Term, SerdeError> {
        Ok(Term::tuple(vec![named(variant)?, value.serialize(self)?]))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements, SerdeError> {
        Ok(Elements {
            elements: Vec::new(),
            build: Term::list,
        })
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements, SerdeError> {
        Ok(Elements {
            elements: Vec::new(),
            build: Term::tuple,
        })
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements, SerdeError> {
        Ok(Elements {
            elements: Vec::new(),
            build: Term::tuple,
        })
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Elements, SerdeError> {
        Ok(Elements {
            elements: vec![named(variant)?],
            build: Term::tuple,
        })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<PairsSerializer, SerdeError> {
        Ok(PairsSerializer::default())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<PairsSerializer, SerdeError> {
        Ok(PairsSerializer::default())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<PairsSerializer, SerdeError> {
        Ok(PairsSerializer {
            variant: Some(named(variant)?),
            ..PairsSerializer::default()
        })
    }
}

/// A list or tuple being collected.
struct Elements {
    elements: Vec<Term>,
    build: fn(Vec<Term>) -> Term,
}

/// A map or struct being collected, in the end behind the name of its variant.
#[derive(Default)]
struct PairsSerializer {
    variant: Option<Term>,
    key: Option<Term>,
    pairs: Vec<(Term, Term)>,
}

impl Elements {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        self.elements.push(to_term(value)?);
        Ok(())
    }
}

macro_rules! elements {
    ($($trait:ident $method:ident)*) => {$(
        impl ser::$trait for Elements {
            type Ok = Term;
            type Error = SerdeError;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
                self.push(value)
            }

            fn end(self) -> Result<Term, SerdeError> {
                Ok((self.build)(self.elements))
            }
        }
    )*};
}

elements! {
    SerializeSeq serialize_element
    SerializeTuple serialize_element
    SerializeTupleStruct serialize_field
    SerializeTupleVariant serialize_field
}

impl ser::SerializeMap for PairsSerializer {
    type Ok = Term;
    type Error = SerdeError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), SerdeError> {
        self.key = Some(to_term(key)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), SerdeError> {
        let Some(key) = self.key.take() else {
            return Err(SerdeError::Custom("a value without a key before it".into()));
        };
        self.pairs.push((key, to_term(value)?));
        Ok(())
    }

    fn end(self) -> Result<Term, SerdeError> {
        Ok(Term::Map(Map::new(self.pairs)))
    }
}

macro_rules! fields {
    ($($trait:ident)*) => {$(
        impl ser::$trait for PairsSerializer {
            type Ok = Term;
            type Error = SerdeError;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<(), SerdeError> {
                self.pairs.push((named(name)?, to_term(value)?));
                Ok(())
            }

            fn end(self) -> Result<Term, SerdeError> {
                let map = Term::Map(Map::new(self.pairs));
                Ok(match self.variant {
                    Some(variant) => Term::tuple(vec![variant, map]),
                    None => map,
                })
            }
        }
    )*};
}

fields!(SerializeStruct SerializeStructVariant);

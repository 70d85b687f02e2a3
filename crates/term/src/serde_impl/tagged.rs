//! Terms in self-describing formats: `Serialize` and `Deserialize` for [`Term`].

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::TERM;
use super::untag::untag;
use crate::term::{Fun, LocalFun};
use crate::{Atom, Float, MAX_DEPTH, Map, NativeRecord, Term};

impl Serialize for Term {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_newtype_struct(TERM, &Inner(self))
    }
}

/// The term without the name around it.
struct Inner<'a>(&'a Term);

impl Serialize for Inner<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Term::Int(value) => out.serialize_i64(*value),
            Term::Big(value) => match u64::try_from(&**value) {
                Ok(value) => out.serialize_u64(value),
                Err(_) => tag(out, "$int", &value.to_string()),
            },
            Term::Float(value) => out.serialize_f64(value.get()),
            Term::Atom(atom) => serialize_atom(*atom, out),
            Term::Reference(r) => tag(out, "$reference", &(r.node.as_str(), r.creation, &r.ids)),
            Term::Fun(fun) => match &**fun {
                Fun::External {
                    module,
                    function,
                    arity,
                } => tag(out, "$fun", &(module.as_str(), function.as_str(), arity)),
                Fun::Local(fun) => serialize_closure(fun, out),
            },
            Term::Port(port) => tag(out, "$port", &(port.node.as_str(), port.id, port.creation)),
            Term::Pid(pid) => tag(
                out,
                "$pid",
                &(pid.node.as_str(), pid.id, pid.serial, pid.creation),
            ),
            Term::Tuple(elements) => tag(out, "$tuple", elements),
            Term::Record(record) => serialize_record(record, out),
            Term::Map(map) => serialize_map(map, out),
            Term::List(elements) => elements.serialize(out),
            Term::Improper(elements, tail) => tag(out, "$improper", &(elements, tail)),
            Term::Binary(bytes) if !out.is_human_readable() => out.serialize_bytes(bytes),
            Term::Binary(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => out.serialize_str(text),
                Err(_) => tag(out, "$bytes", &**bytes),
            },
            Term::Bits(bits) => tag(out, "$bits", &(bits.bytes(), bits.last_bits())),
        }
    }
}

fn tag<S: Serializer>(
    out: S,
    name: &'static str,
    payload: &(impl Serialize + ?Sized),
) -> Result<S::Ok, S::Error> {
    let mut map = out.serialize_map(Some(1))?;
    map.serialize_entry(name, payload)?;
    map.end()
}

fn serialize_atom<S: Serializer>(atom: Atom, out: S) -> Result<S::Ok, S::Error> {
    match atom.as_str() {
        "true" => out.serialize_bool(true),
        "false" => out.serialize_bool(false),
        "null" if out.is_human_readable() => out.serialize_unit(),
        name => tag(out, "$atom", name),
    }
}

fn serialize_closure<S: Serializer>(fun: &LocalFun, out: S) -> Result<S::Ok, S::Error> {
    let creator = Term::Pid(Box::new(fun.creator.clone()));
    let identity = (fun.module.as_str(), fun.arity, fun.uniq, fun.index);
    tag(
        out,
        "$closure",
        &(
            identity.0,
            identity.1,
            identity.2,
            identity.3,
            fun.old_index,
            fun.old_uniq,
            creator,
            &fun.free,
        ),
    )
}

fn serialize_record<S: Serializer>(record: &NativeRecord, out: S) -> Result<S::Ok, S::Error> {
    let definition = record.definition();
    let (module, name) = (definition.module().as_str(), definition.name().as_str());
    let fields: Vec<&str> = definition.fields().iter().map(|f| f.as_str()).collect();
    let payload = (
        module,
        name,
        definition.is_exported(),
        fields,
        record.values(),
    );
    tag(out, "$record", &payload)
}

/// Returns the key as it can stand in an object.
fn plain_key(key: &Term) -> Option<&str> {
    <&str>::try_from(key)
        .ok()
        .filter(|key| !key.starts_with('$'))
}

fn serialize_map<S: Serializer>(map: &Map, out: S) -> Result<S::Ok, S::Error> {
    if map.iter().any(|(key, _)| plain_key(key).is_none()) {
        return tag(out, "$map", map.pairs());
    }
    let mut object = out.serialize_map(Some(map.len()))?;
    for (key, value) in map.iter() {
        object.serialize_entry(plain_key(key).unwrap_or_default(), value)?;
    }
    object.end()
}

impl<'de> Deserialize<'de> for Term {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Term, D::Error> {
        AnyTerm { depth: 0 }.deserialize(deserializer)
    }
}

/// Reads any term, at this many levels below the outermost.
#[derive(Clone, Copy)]
struct AnyTerm {
    depth: usize,
}

impl AnyTerm {
    fn inner<E: Error>(self) -> Result<AnyTerm, E> {
        if self.depth >= MAX_DEPTH {
            return Err(E::custom(format_args!(
                "nested deeper than {MAX_DEPTH} levels"
            )));
        }
        Ok(AnyTerm {
            depth: self.depth + 1,
        })
    }
}

impl<'de> DeserializeSeed<'de> for AnyTerm {
    type Value = Term;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Term, D::Error> {
        deserializer.deserialize_newtype_struct(TERM, self)
    }
}

impl<'de> Visitor<'de> for AnyTerm {
    type Value = Term;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a term")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, inner: D) -> Result<Term, D::Error> {
        inner.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Term, E> {
        Ok(Term::from(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Term, E> {
        Ok(Term::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Term, E> {
        Ok(Term::from(value))
    }

    fn visit_i128<E: Error>(self, value: i128) -> Result<Term, E> {
        Ok(Term::from(value))
    }

    fn visit_u128<E: Error>(self, value: u128) -> Result<Term, E> {
        Ok(Term::from(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Term, E> {
        Float::new(value)
            .map(Term::Float)
            .ok_or_else(|| E::custom("NaN and infinities are no terms"))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Term, E> {
        Ok(Term::from(value))
    }

    fn visit_bytes<E: Error>(self, value: &[u8]) -> Result<Term, E> {
        Ok(Term::from(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Term, E> {
        Ok(Term::atom("null"))
    }

    fn visit_none<E: Error>(self) -> Result<Term, E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, inner: D) -> Result<Term, D::Error> {
        self.deserialize(inner)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Term, A::Error> {
        let inner = self.inner()?;
        let mut elements = Vec::new();
        while let Some(element) = sequence.next_element_seed(inner)? {
            elements.push(element);
        }
        Ok(Term::list(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Term, A::Error> {
        let inner = self.inner()?;
        let mut pairs = Vec::new();
        while let Some(key) = object.next_key_seed(inner)? {
            pairs.push((key, object.next_value_seed(inner)?));
        }
        untag(pairs).map_err(A::Error::custom)
    }
}

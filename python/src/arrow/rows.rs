//! The rows of a table: which columns they have, and what is refused.

use std::collections::HashSet;
use std::iter;

use arrow_data::ArrayData;
use arrow_schema::{DataType, Schema};
use fyris_term::{Map, Term};
use pyo3::prelude::*;

use super::columns::{Column, Unfit};
use super::stream::Stream;
use crate::convert::{from_term, is_struct, text_of, word};
use crate::errors::{self, BadValue, WrongType};

/// The column of the keys.
const KEY: &str = "key";
/// That of the values, where they are no dicts.
const VALUE: &str = "value";

/// The rows of a batch.
const BATCH: usize = 65_536;

/// The most characters of a key in an error.
const SHOWN: usize = 80;

/// Why a table is no columns.
pub(super) enum Refused {
    Store(fyris::Error),
    /// By what a row holds, in a column if it is one that is wrong.
    Row {
        key: Term,
        column: Option<String>,
        why: Why,
    },
}

pub(super) enum Why {
    /// No column holds a value.
    NoColumn(Term),
    /// The column holds another class.
    Holds(&'static str, Term),
    /// The row has other columns.
    Columns(String),
    /// No column has the name that this one would have.
    Name(&'static str),
}

impl From<fyris::Error> for Refused {
    fn from(error: fyris::Error) -> Refused {
        Refused::Store(error)
    }
}

impl Refused {
    /// The exception.
    pub(super) fn told(self, py: Python<'_>) -> PyResult<PyErr> {
        let (key, column, why) = match self {
            Refused::Store(error) => return Ok(errors::store(error)),
            Refused::Row { key, column, why } => (key, column, why),
        };
        let key = from_term(py, &key)?.repr()?.to_string_lossy().into_owned();
        let shown: String = key.chars().take(SHOWN).collect();
        let dots = if shown.len() < key.len() { "..." } else { "" };
        let column = column.map_or(String::new(), |name| format!(", column {name:?}"));
        let told = |what: &str| format!("key {shown}{dots}{column}: {what}");
        let class = |value: &Term| -> PyResult<String> {
            let class = from_term(py, value)?.get_type().name()?;
            Ok(class.to_string_lossy().into_owned())
        };
        Ok(match why {
            Why::NoColumn(Term::Big(_)) => {
                BadValue::new_err(told("an int that 64 bits do not hold"))
            }
            Why::NoColumn(value) => {
                let what = match class(&value)?.as_str() {
                    "dict" if is_struct_map(&value) => "a struct of Elixir's".to_owned(),
                    "dict" => "a dict, unless all values are dicts with the same keys".to_owned(),
                    class => format!("a value of {class}"),
                };
                WrongType::new_err(told(&format!("no column holds {what}")))
            }
            Why::Holds(holds, value) => {
                let what = format!("{} in a column of {holds}", class(&value)?);
                WrongType::new_err(told(&what))
            }
            Why::Columns(what) => WrongType::new_err(told(&what)),
            Why::Name(what) => BadValue::new_err(told(what)),
        })
    }
}

fn is_struct_map(value: &Term) -> bool {
    let is_name = |key: &Term| matches!(key, Term::Atom(atom) if is_struct(*atom));
    matches!(value, Term::Map(map) if map.iter().any(|(key, _)| is_name(key)))
}

/// The name of the column of a field.
fn field_name(field: &Term) -> Option<&str> {
    match field {
        Term::Atom(atom) if word(*atom).is_none() => Some(atom.as_str()),
        other => text_of(other),
    }
}

/// What is wrong in a row, and the name of the column if it is one that is.
type Fault = (Option<String>, Why);

/// Rows that become columns. The first one says which.
pub(super) struct Rows {
    keypos: usize,
    /// The number of elements of an object.
    arity: usize,
    /// The keys of the values, in their order, if these are dicts.
    fields: Option<Vec<Term>>,
    columns: Vec<Column>,
    /// In the batch under way.
    rows: usize,
    /// The rows of each batch.
    batches: Vec<usize>,
}

impl Rows {
    pub(super) fn new(keypos: usize) -> Rows {
        Rows {
            keypos,
            arity: 2,
            fields: None,
            columns: Vec::new(),
            rows: 0,
            batches: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, object: &Term) -> Result<(), Refused> {
        let Term::Tuple(parts) = object else {
            unreachable!("objects are tuples")
        };
        let key = &parts[self.keypos - 1];
        let done = self.row(key, parts);
        done.map_err(|(column, why)| Refused::Row {
            key: key.clone(),
            column,
            why,
        })
    }

    fn row(&mut self, key: &Term, parts: &[Term]) -> Result<(), Fault> {
        if self.columns.is_empty() {
            self.begin(parts)?;
        }
        let (arity, expected) = (parts.len(), self.arity);
        if arity != expected {
            let what = format!("an object of {arity} elements beside one of {expected}");
            return Err((None, Why::Columns(what)));
        }
        match (&self.fields, value_of(parts, self.keypos)) {
            (Some(fields), Some(value)) => {
                let values = map_of(fields, value)?.iter().map(|(_, value)| value);
                fill(&mut self.columns, iter::once(key).chain(values))?;
            }
            (_, Some(value)) => fill(&mut self.columns, [key, value])?,
            (_, None) => fill(&mut self.columns, parts)?,
        }
        self.rows += 1;
        if self.rows == BATCH {
            self.cut();
        }
        Ok(())
    }

    /// Makes the columns of the first object.
    fn begin(&mut self, parts: &[Term]) -> Result<(), Fault> {
        self.arity = parts.len();
        let mut names = vec![KEY.to_owned()];
        match value_of(parts, self.keypos) {
            Some(value @ Term::Map(map)) => {
                names.extend(field_names(value, map)?);
                self.fields = Some(map.iter().map(|(field, _)| field.clone()).collect());
            }
            Some(_) => names.push(VALUE.to_owned()),
            None => {
                names = (1..=self.arity).map(|at| format!("element_{at}")).collect();
                names[self.keypos - 1] = KEY.to_owned();
            }
        }
        let mut seen = HashSet::new();
        for name in &names {
            let why = match name {
                _ if !seen.insert(name) => "two columns have this name",
                // In C a name ends there.
                _ if name.contains('\0') => "a name with a zero byte",
                _ => continue,
            };
            return Err((Some(name.clone()), Why::Name(why)));
        }
        self.columns = names.into_iter().map(Column::new).collect();
        Ok(())
    }

    fn cut(&mut self) {
        self.columns.iter_mut().for_each(Column::cut);
        self.batches.push(self.rows);
        self.rows = 0;
    }

    pub(super) fn finish(mut self) -> Stream {
        if self.columns.is_empty() {
            self.columns = [KEY, VALUE].map(|name| Column::new(name.to_owned())).into();
        }
        if self.rows > 0 {
            self.cut();
        }
        let (fields, arrays): (Vec<_>, Vec<_>) =
            self.columns.into_iter().map(Column::finish).unzip();
        let mut arrays: Vec<_> = arrays.into_iter().map(Vec::into_iter).collect();
        let schema = Schema::new(fields);
        let batch = |rows| {
            let columns = arrays.iter_mut().filter_map(Iterator::next).collect();
            let data = ArrayData::builder(DataType::Struct(schema.fields().clone()));
            let data = data.len(rows).child_data(columns).build();
            data.expect("a column a field")
        };
        let batches = self.batches.into_iter().map(batch).collect();
        Stream::new(schema, batches)
    }
}

fn fill<'t>(
    columns: &mut [Column],
    values: impl IntoIterator<Item = &'t Term>,
) -> Result<(), Fault> {
    for (column, value) in columns.iter_mut().zip(values) {
        if let Err(unfit) = column.push(value) {
            let value = value.clone();
            let why = match unfit {
                Unfit::NoColumn => Why::NoColumn(value),
                Unfit::Holds(kind) => Why::Holds(kind.class(), value),
            };
            return Err((Some(column.name().to_owned()), why));
        }
    }
    Ok(())
}

/// The element of a pair that is not the key; `None` for what is no pair.
fn value_of(parts: &[Term], keypos: usize) -> Option<&Term> {
    (parts.len() == 2).then(|| &parts[2 - keypos])
}

/// The names of the columns of a dict.
fn field_names(value: &Term, map: &Map) -> Result<Vec<String>, Fault> {
    let fault = |why| (Some(VALUE.to_owned()), why);
    if is_struct_map(value) {
        return Err(fault(Why::NoColumn(value.clone())));
    }
    let no_name = "a dict with a key that is no str and no Atom";
    let name = |field| match field_name(field) {
        Some(name) => Ok(name.to_owned()),
        None => Err(fault(Why::Columns(no_name.to_owned()))),
    };
    map.iter().map(|(field, _)| name(field)).collect()
}

/// The map that a value is, which has these keys.
fn map_of<'t>(fields: &[Term], value: &'t Term) -> Result<&'t Map, Fault> {
    let Term::Map(map) = value else {
        let why = Why::Holds("dict", value.clone());
        return Err((Some(VALUE.to_owned()), why));
    };
    if map.len() == fields.len() && map.iter().zip(fields).all(|((key, _), field)| key == field) {
        return Ok(map);
    }
    let mut keys = map.iter().map(|(key, _)| key);
    let (field, what) = match fields.iter().find(|field| map.get(field).is_none()) {
        Some(lacking) => (Some(lacking), "a dict without this key"),
        None => (
            keys.find(|key| !fields.contains(key)),
            "a dict with a key that others do not have",
        ),
    };
    let name = field.and_then(field_name).unwrap_or(VALUE);
    Err((Some(name.to_owned()), Why::Columns(what.to_owned())))
}

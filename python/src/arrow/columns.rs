//! One column: values of one type, in batches.

use std::{iter, mem};

use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, NullBufferBuilder};
use arrow_data::ArrayData;
use arrow_schema::{DataType, Field};
use fyris_term::Term;

use crate::convert::{text_of, word_of};

/// What a column holds, beside `None`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Nothing,
    Bool,
    Int,
    Float,
    Text,
    Bytes,
    Atom,
}

impl Kind {
    /// The class in Python.
    pub(super) fn class(self) -> &'static str {
        match self {
            Kind::Nothing => "None",
            Kind::Bool => "bool",
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Text => "str",
            Kind::Bytes => "bytes",
            Kind::Atom => "Atom",
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::Nothing => DataType::Null,
            Kind::Bool => DataType::Boolean,
            Kind::Int => DataType::Int64,
            Kind::Float => DataType::Float64,
            // Of any length.
            Kind::Text | Kind::Atom => DataType::LargeUtf8,
            Kind::Bytes => DataType::LargeBinary,
        }
    }
}

/// A value as it is put in.
enum Cell<'t> {
    Word(i64),
    Bytes(&'t [u8]),
}

/// The value of a term, and the kind of the columns that hold it; `None` for what no column does.
fn cell(value: &Term) -> Option<(Kind, Cell<'_>)> {
    Some(match value {
        Term::Atom(atom) if *atom == word_of(None) => (Kind::Nothing, Cell::Bytes(&[])),
        Term::Atom(atom) if *atom == word_of(Some(true)) => (Kind::Bool, Cell::Word(1)),
        Term::Atom(atom) if *atom == word_of(Some(false)) => (Kind::Bool, Cell::Word(0)),
        Term::Atom(atom) => (Kind::Atom, Cell::Bytes(atom.as_str().as_bytes())),
        Term::Int(int) => (Kind::Int, Cell::Word(*int)),
        Term::Float(float) => (Kind::Float, Cell::Word(float.get().to_bits().cast_signed())),
        Term::Binary(bytes) => (Kind::Bytes, Cell::Bytes(bytes)),
        other => (Kind::Text, Cell::Bytes(text_of(other)?.as_bytes())),
    })
}

/// Why a column does not take a value.
pub(super) enum Unfit {
    /// No column does.
    NoColumn,
    /// It holds values of another kind.
    Holds(Kind),
}

/// A column that is being made.
pub(super) struct Column {
    name: String,
    kind: Kind,
    words: Vec<i64>,
    bytes: Vec<u8>,
    nulls: NullBufferBuilder,
    done: Vec<Batch>,
}

/// The values of some rows.
struct Batch {
    /// Integers, floats by their bits, truth values as 0 and 1; of texts and bytes where each ends in `bytes`.
    words: Vec<i64>,
    bytes: Vec<u8>,
    nulls: Option<NullBuffer>,
}

impl Column {
    pub(super) fn new(name: String) -> Column {
        Column {
            name,
            kind: Kind::Nothing,
            words: Vec::new(),
            bytes: Vec::new(),
            nulls: NullBufferBuilder::new(0),
            done: Vec::new(),
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn push(&mut self, value: &Term) -> Result<(), Unfit> {
        let (kind, cell) = cell(value).ok_or(Unfit::NoColumn)?;
        match self.kind {
            _ if kind == Kind::Nothing => {}
            Kind::Nothing => self.kind = kind,
            holds if holds != kind => return Err(Unfit::Holds(holds)),
            _ => {}
        }
        self.nulls.append(kind != Kind::Nothing);
        self.words.push(match cell {
            Cell::Word(word) => word,
            Cell::Bytes(bytes) => {
                self.bytes.extend_from_slice(bytes);
                self.bytes.len() as i64
            }
        });
        Ok(())
    }

    /// Ends a batch.
    pub(super) fn cut(&mut self) {
        self.words.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self.done.push(Batch {
            words: mem::take(&mut self.words),
            bytes: mem::take(&mut self.bytes),
            nulls: self.nulls.finish(),
        });
    }

    /// The column's name and type, and the arrays of its batches.
    pub(super) fn finish(self) -> (Field, Vec<ArrayData>) {
        let arrays = self.done.into_iter().map(|batch| batch.array(self.kind));
        let arrays = arrays.collect();
        (Field::new(self.name, self.kind.data_type(), true), arrays)
    }
}

impl Batch {
    fn array(self, kind: Kind) -> ArrayData {
        let (rows, words) = (self.words.len(), self.words);
        let array = ArrayData::builder(kind.data_type()).len(rows);
        let array = array.nulls(self.nulls.filter(|_| kind != Kind::Nothing));
        let array = match kind {
            Kind::Nothing => array,
            Kind::Int | Kind::Float => array.add_buffer(Buffer::from_vec(words)),
            Kind::Bool => {
                let bits = BooleanBuffer::collect_bool(rows, |at| words[at] != 0);
                array.add_buffer(bits.into_inner())
            }
            Kind::Text | Kind::Bytes | Kind::Atom => {
                let ends: Vec<i64> = iter::once(0).chain(words).collect();
                let array = array.add_buffer(Buffer::from_vec(ends));
                array.add_buffer(Buffer::from_vec(self.bytes))
            }
        };
        array.build().expect("buffers of this type and length")
    }
}

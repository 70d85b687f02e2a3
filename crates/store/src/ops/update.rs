//! Changing elements of an object in place.

use fyris_index::{Entry, Index};
use fyris_term::Term;

use crate::displaced::Change;
use crate::error::{Error, Result};
use crate::key_kind::KeyKind;
use crate::native_terms::record_of;
use crate::record::{NewRecord, RecordPtr, all_overwritten, brief, edited, overwritten};
use crate::slot::{Content, Slot};
use crate::table_data::TableData;
use crate::writer::Writer;

/// The result of an update of an object.
pub(crate) enum Updated {
    /// Nothing changes.
    Same,
    /// This takes its place.
    New(NewRecord),
}

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Lets `f` see the object with the key (or its absence) and say what it becomes, in one atomic
    /// and isolated step. Tables with one object a key only.
    pub(crate) fn update<R>(
        &self,
        key: &K::Key,
        writer: &Writer<'_>,
        mut f: impl FnMut(Option<RecordPtr>) -> Result<(Updated, R)>,
    ) -> Result<R> {
        // Beside what `write` hands on, which would move it from one level to the next, some words each time.
        let (mut result, mut offered) = (None, None);
        self.write(key, writer, |old| {
            offered.take().map(NewRecord::unplaced);
            let (change, found) = match f(old.map(Content::newest)) {
                Ok((Updated::New(new), found)) => {
                    let new = new.publish();
                    offered = Some(new);
                    (Change::Put(new), Ok(found))
                }
                Ok((Updated::Same, found)) => (Change::Keep, Ok(found)),
                Err(error) => (Change::Keep, Err(error)),
            };
            result = Some(found);
            (change, ())
        });
        result.expect("the closure ran")
    }

    /// Replaces elements: pairs of position and value. `default` is an object with the key for when
    /// there is none. Says whether there is an object now.
    pub(crate) fn update_element(
        &self,
        key: &K::Key,
        edits: &[(usize, Term)],
        default: Option<&[Term]>,
        writer: &Writer<'_>,
    ) -> Result<bool> {
        self.update(key, writer, |old| match (old, default) {
            (Some(old), _) => {
                check_positions(edits, self.keypos, old.arity())?;
                if edits.is_empty() {
                    return Ok((Updated::Same, true));
                }
                Ok((Updated::New(edited(old, self.keypos, edits)?), true))
            }
            (None, Some(default)) => {
                check_positions(edits, self.keypos, default.len())?;
                let mut object = default.to_vec();
                for (position, value) in edits {
                    object[position - 1] = value.clone();
                }
                Ok((Updated::New(self.record_of(object)?), true))
            }
            (None, None) => Ok((Updated::Same, false)),
        })
    }

    /// Puts bytes that refer to no blob in the place of one element. `None` if the element that goes has some, if the
    /// object holds resources or would be too large: nothing has changed then, and [`TableData::update_element`] knows
    /// what to do.
    pub(crate) fn overwrite(
        &self,
        key: &K::Key,
        position: usize,
        bytes: &[u8],
        writer: &Writer<'_>,
    ) -> Result<Option<bool>> {
        self.update(key, writer, |old| {
            let Some(old) = old else {
                return Ok((Updated::Same, Some(false)));
            };
            check_position(position, self.keypos, old.arity())?;
            Ok(match overwritten(old, self.keypos, position, bytes) {
                Some(new) => (Updated::New(new), Some(true)),
                None => (Updated::Same, None),
            })
        })
    }

    /// Puts bytes that refer to no blob in the place of several elements, given as pairs of position and bytes, of
    /// which the last of a position counts. `None`, and nothing has changed, where [`TableData::overwrite`] would
    /// return that for one.
    pub(crate) fn overwrite_all<'b>(
        &self,
        key: &K::Key,
        elements: impl Iterator<Item = (usize, &'b [u8])> + Clone,
        writer: &Writer<'_>,
    ) -> Result<Option<bool>> {
        self.update(key, writer, |old| {
            let Some(old) = old else {
                return Ok((Updated::Same, Some(false)));
            };
            for (position, _) in elements.clone() {
                check_position(position, self.keypos, old.arity())?;
            }
            Ok(match all_overwritten(old, self.keypos, elements.clone()) {
                Some(new) => (Updated::New(new), Some(true)),
                None => (Updated::Same, None),
            })
        })
    }

    /// Returns the record of an object's elements.
    pub(crate) fn record_of(&self, elements: Vec<Term>) -> Result<NewRecord> {
        record_of(&Term::tuple(elements), self.keypos)
    }
}

/// Reads `{Pos, Value}` or a list of them.
pub(crate) fn edits_of(edits: &Term) -> Result<Vec<(usize, Term)>> {
    let parse = |edit: &Term| match edit {
        Term::Tuple(pair) => match &pair[..] {
            [Term::Int(position), value] => {
                Ok((usize::try_from(*position).unwrap_or(0), value.clone()))
            }
            _ => Err(bad_edit(edit)),
        },
        _ => Err(bad_edit(edit)),
    };
    match edits {
        Term::List(list) => list.iter().map(parse).collect(),
        other => parse(other).map(|edit| vec![edit]),
    }
}

fn bad_edit(edit: &Term) -> Error {
    Error::BadArgument(format!("no element update: {}", brief(edit)))
}

/// Refuses positions outside the tuple, and the key's.
fn check_positions(edits: &[(usize, Term)], keypos: usize, arity: usize) -> Result<()> {
    edits
        .iter()
        .try_for_each(|(position, _)| check_position(*position, keypos, arity))
}

/// Refuses a position outside the tuple, and the key's.
pub(crate) fn check_position(position: usize, keypos: usize, arity: usize) -> Result<()> {
    match position {
        p if p == keypos => Err(Error::KeyUpdate(p)),
        p if p == 0 || p > arity => Err(Error::BadPosition {
            position: p.to_string(),
            arity,
        }),
        _ => Ok(()),
    }
}

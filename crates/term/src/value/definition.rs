//! The definitions of native records, kept once for all values that name them; and the beginnings of such values.

use crate::{Atom, Definition, NativeRecord};

use super::encode::ValueWriter;
use super::error::ValueErrorKind;
use super::reader::{Result, ValueReader};
use super::shape::{Interner, MAX_SHAPES, Numbered};
use super::tag;

/// The most atoms of a definition that is kept: what hostile definitions can fill is bounded to some megabytes.
const MAX_ATOMS: usize = 3 + 128;

pub(super) static TABLE: Interner<KnownDefinition, MAX_SHAPES, { 2 * MAX_SHAPES }> =
    Interner::new();

/// A definition that is kept, as a shape is: as long as there is room, and for ever (DECIDED_ONCE of
/// [`shape`](super::shape)).
#[derive(Debug)]
pub(crate) struct KnownDefinition(Definition);

impl Numbered for KnownDefinition {
    fn make(number: u32, atoms: &[Atom]) -> Option<KnownDefinition> {
        Definition::with_number(atoms, Some(number)).map(KnownDefinition)
    }

    fn atoms(&self) -> &[Atom] {
        self.0.atoms()
    }
}

impl KnownDefinition {
    /// Returns the definition of some atoms, if it is kept.
    pub(crate) fn of(atoms: &[Atom]) -> Option<Definition> {
        if atoms.len() > MAX_ATOMS {
            return None;
        }
        TABLE.find_or_make(atoms).map(|known| known.0.clone())
    }
}

impl ValueWriter<'_> {
    /// Begins a native record: its values follow, in the order of the fields.
    #[inline(never)]
    pub fn begin_record(&mut self, definition: &Definition) {
        self.head(tag::RECORD, definition.fields().len());
        match definition.number() {
            Some(number) => self.length(number as usize + 1),
            None => {
                self.length(0);
                let atoms = definition.atoms();
                atoms.iter().for_each(|atom| self.words(&[atom.id()]));
            }
        }
    }

    pub(super) fn record<'t>(&mut self, record: &'t NativeRecord) -> &'t [crate::Term] {
        self.begin_record(record.definition());
        record.values()
    }
}

/// Reads the bytes between the tag and the values of a native record.
#[inline(never)]
pub(super) fn definition(reader: &mut ValueReader<'_>) -> Result<Definition> {
    let wrong = ValueErrorKind::Malformed("native record");
    let count = usize::try_from(reader.length()?).unwrap_or(usize::MAX);
    let found = match reader.length()?.checked_sub(1) {
        Some(number) => u32::try_from(number)
            .ok()
            .and_then(|number| TABLE.numbered(number))
            .map(|known| known.0.clone()),
        None => {
            let (ids, _) = reader.take(spelled(count))?.as_chunks::<4>();
            let atom = |id: &[u8; 4]| Atom::from_id(u32::from_le_bytes(*id));
            let atoms: Option<Vec<Atom>> = ids.iter().map(atom).collect();
            // One that has a number is written by it.
            Definition::of(&atoms.ok_or(wrong)?).filter(|definition| definition.number().is_none())
        }
    };
    found
        .filter(|definition| definition.fields().len() == count)
        .ok_or(wrong)
}

/// Passes over the same bytes, and returns the number of values.
pub(super) fn pass(reader: &mut ValueReader<'_>) -> Result<u64> {
    let count = reader.length()?;
    if reader.length()? == 0 {
        reader.take(spelled(usize::try_from(count).unwrap_or(usize::MAX)))?;
    }
    Ok(count)
}

/// Returns the number of bytes of a definition that is spelled out.
fn spelled(fields: usize) -> usize {
    fields.saturating_add(3).saturating_mul(4)
}

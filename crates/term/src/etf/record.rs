//! Native records: `NATIVE_RECORD fields:32 exported:8 module name names... values...`.

use super::atoms;
use super::error::{DecodeError, DecodeErrorKind};
use super::reader::EtfReader;
use crate::{Atom, Definition};

/// Reads the definition of a record, whose tag stood at `at`: the values follow.
#[inline(never)]
pub(super) fn definition(reader: &mut EtfReader<'_>, at: usize) -> Result<Definition, DecodeError> {
    let count = reader.u32("the number of fields of a native record")? as usize;
    let flag_at = reader.offset();
    let flag = reader.u8("whether a native record is exported")?;
    if flag > 1 {
        let kind = DecodeErrorKind::OutOfRange {
            what: "whether a native record is exported",
            value: flag.into(),
            max: 1,
        };
        return Err(DecodeError::new(flag_at, kind));
    }
    let module = atoms::required(reader, "the module of a native record, an atom,")?;
    let name = atoms::required(reader, "the name of a native record, an atom,")?;
    reader.allow(count, at)?;
    // A name and a value for each field take three bytes at least.
    let mut fields: Vec<Atom> = Vec::with_capacity(count.min(reader.rest().len() / 3));
    for _ in 0..count {
        fields.push(atoms::required(
            reader,
            "the name of a field of a native record, an atom,",
        )?);
    }
    Definition::new(module, name, flag == 1, &fields)
        .ok_or_else(|| DecodeError::new(at, DecodeErrorKind::DuplicateField))
}

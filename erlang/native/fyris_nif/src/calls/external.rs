//! Terms of dumps: what compressed ones would take, before the machine builds them; and why it has not read one.

use fyris_term::Term as Owned;
use fyris_term::etf::{self, DecodeError, DecodeErrorKind, InflateBudget, measure_prefix_within};

use crate::call::{BAD, Reply, entry};
use crate::kind::atom;
use crate::machine::{Env, Term};

/// Implements `inflated(Bytes, Room)`: returns how many bytes of `Room` the compressed term takes that `Bytes` begin
/// with, counted as the store counts them when it loads a dump; `too_large` if it takes more, `badarg` if it is no
/// term.
///
/// A scheduler for long work does it, which may take the room meanwhile.
pub(super) fn inflated(env: Env, args: &[Term]) -> Reply {
    Ok(env.go_dirty(entry!(measure), args))
}

fn measure(env: Env, args: &[Term]) -> Reply {
    let bytes = env.binary(args[0]).ok_or(BAD)?;
    let room = env
        .integer(args[1])
        .and_then(|room| u64::try_from(room).ok());
    let before = InflateBudget::new(room.ok_or(BAD)?);
    let mut budget = before;
    match measure_prefix_within(bytes, &mut budget) {
        // No more than the room, which is an `i64`.
        Ok(()) => Ok(env.make_int((before.left() - budget.left()) as i64)),
        Err(error) => refused(env, &error, before),
    }
}

/// Implements `has_native_record(Bytes)`: returns whether a term in the external format, which this machine has not
/// read, is sound, with a native record in it.
///
/// A scheduler for long work does it.
pub(super) fn has_native_record(env: Env, args: &[Term]) -> Reply {
    Ok(env.go_dirty(entry!(look), args))
}

fn look(env: Env, args: &[Term]) -> Reply {
    let bytes = env.binary(args[0]).ok_or(BAD)?;
    let mut found = false;
    if let Ok(term) = etf::decode(bytes) {
        term.each(|part| found |= matches!(part, Owned::Record(_)));
    }
    Ok(atom::boolean(env, found))
}

fn refused(env: Env, error: &DecodeError, room: InflateBudget) -> Reply {
    match error.kind() {
        // Else it says more than its bytes can become, or than any term may: it is damaged.
        DecodeErrorKind::TooLarge { max, .. } if *max == room.left() => Ok(atom::too_large(env)),
        DecodeErrorKind::TooManyElements => Ok(atom::too_large(env)),
        DecodeErrorKind::Inflated(inner) => refused(env, inner, room),
        _ => Err(BAD),
    }
}

//! Writes that would wait for a transaction that goes first: they do so on a scheduler for work that waits, since the
//! transaction's process may need the one on which they are.

use crate::machine::{Env, Term};
use crate::tables::{self, store};

/// What a call writes, by its second argument.
#[derive(Clone, Copy)]
pub(super) enum Writes {
    /// The key that it is.
    Key,
    /// That of the object that it is.
    Object,
    /// Several of the table.
    Several,
}

/// Returns whether a call is to go to another scheduler.
#[inline]
pub(super) fn would_wait(env: Env, args: &[Term], writes: Writes) -> bool {
    store().has_first_transaction() && is_held(env, args, writes)
}

#[cold]
fn is_held(env: Env, args: &[Term], writes: Writes) -> bool {
    let held = tables::with(env, args[0], |table, _| {
        let key = match writes {
            Writes::Key => Some(args[1]),
            Writes::Object => env
                .tuple(args[1])
                .and_then(|elements| elements.get(table.keypos() - 1).copied()),
            Writes::Several => None,
        };
        match key {
            None => Ok(table.holds_key(None::<&i64>)),
            Some(key) => super::with_key(env, key, |key| Ok(table.holds_key(Some(key)))),
        }
    });
    // What is wrong with an argument the call itself says.
    held.unwrap_or(false)
}

/// The C function that runs a function of this crate, which writes.
macro_rules! writing {
    ($function:path, $writes:ident) => {{
        fn begin(env: $crate::machine::Env, args: &[$crate::machine::Term]) -> $crate::call::Reply {
            use $crate::calls::waiting::{Writes, would_wait};
            match would_wait(env, args, Writes::$writes) {
                true => Ok(env.go_waiting($crate::call::entry!($function), args)),
                false => $function(env, args),
            }
        }
        $crate::call::entry!(begin)
    }};
}
pub(super) use writing;

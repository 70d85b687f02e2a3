//! A tuple of the machine as a record.

use fyris::{AsObject, Error, ObjectWriter};

use super::keep::Gathering;
use super::{Result, read_key, stage};
use crate::kind::{Seen, holds_nothing, see};
use crate::machine::{Env, PRIMARY, Term};

/// A term of the machine that is to be an object.
pub(crate) struct MachineObject {
    env: Env,
    term: Term,
}

impl MachineObject {
    /// Makes an object for use during the call only (CALL).
    #[inline]
    pub(crate) fn new(env: Env, term: Term) -> MachineObject {
        MachineObject { env, term }
    }

    /// Returns the error for what is no tuple. A term that is large is not read for it.
    #[cold]
    fn no_tuple(&self) -> Error {
        let small = self.term.0 & PRIMARY == PRIMARY;
        let term = small
            .then(|| super::read(self.env, self.term).ok())
            .flatten();
        let name = term.map_or("a list, map, number or binary".to_owned(), |term| {
            term.brief(60)
        });
        Error::NotATuple(name)
    }

    /// Returns the elements, if it is a tuple.
    #[inline]
    fn elements(&self) -> Option<&[Term]> {
        match see(self.term) {
            Seen::Tuple(elements) => Some(elements),
            Seen::Other => self.env.tuple(self.term),
            _ => None,
        }
    }
}

impl AsObject for MachineObject {
    #[inline]
    fn write(&self, keypos: usize, out: &mut ObjectWriter<'_>) -> Result<usize> {
        let Some(elements) = self.elements() else {
            return Err(self.no_tuple());
        };
        let arity = elements.len();
        let Some(&key) = elements.get(keypos - 1) else {
            return Err(Error::BadKeyPosition { keypos, arity });
        };
        let mut gathering = Gathering::new();
        if !holds_nothing(key) {
            gathering.begin();
        }
        let (before, behind) = (&elements[..keypos - 1], &elements[keypos..]);
        let values = before.iter().chain(behind);
        let written = read_key(self.env, key, out.key())
            .and_then(|()| stage::write_all(self.env, values, &mut out.values(), &mut gathering));
        gathering.end(written.is_ok(), out);
        written.map(|()| arity)
    }

    #[inline]
    fn ints(&self, keypos: usize) -> Option<(i64, i64)> {
        let Seen::Tuple(&[first, second]) = see(self.term) else {
            return None;
        };
        let (first, second) = (first.small()?, second.small()?);
        match keypos {
            1 => Some((first, second)),
            2 => Some((second, first)),
            _ => None,
        }
    }
}

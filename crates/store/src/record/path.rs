//! A part of an object, found without decoding the rest.

use fyris_term::Term;
use fyris_term::value::{self, Build, Pairs, View};

use super::build::Scratch;
use super::{Object, with_scratch};

/// The end of a path.
enum PathEnd<'g> {
    /// Inside the key, which is decoded as a whole, or to an element of a list of bytes.
    Term(Term),
    /// To the value at the front of these bytes.
    Value(&'g [u8]),
}

impl<'g> Object<'g> {
    /// Returns a part of the object: the first step of the path is the position of an element, each further one a key
    /// of a map or a position, from 1, in a tuple or list. `None` if the path leads nowhere.
    ///
    /// Parts beside the path are passed over and not decoded, except in the key. O(bytes before the part).
    ///
    /// ```
    /// # use fyris::{Options, Store, Term};
    /// # let store = Store::new();
    /// # let owner = store.owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&Term::parse("{joe, #{lang => [erlang, prolog]}}").expect("a term"))?;
    /// let second = [Term::Int(2), Term::atom("lang"), Term::Int(2)];
    /// let found = table.get_in(&Term::atom("joe"), &second)?;
    /// assert_eq!(found, Some(Term::atom("prolog")));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn get_in(&self, path: &[Term]) -> Option<Term> {
        match self.place_of(path)? {
            PathEnd::Term(term) => Some(term),
            PathEnd::Value(mut bytes) => Some(self.decode(&mut bytes)),
        }
    }

    /// Returns the part of the object that a path leads to ([`Object::get_in`]), in another representation; `foreign`
    /// makes it of a term, which is what is found in the key and in a list of bytes.
    pub fn build_in<B: Build>(
        &self,
        path: &[Term],
        foreign: impl FnOnce(Term) -> B::Out,
        builder: &mut B,
        stack: &mut Vec<B::Out>,
    ) -> Option<B::Out> {
        match self.place_of(path)? {
            PathEnd::Term(term) => Some(foreign(term)),
            PathEnd::Value(mut bytes) => {
                let built = value::build(&mut bytes, self.blobs(), builder, stack);
                Some(built.expect("values were encoded by this process"))
            }
        }
    }

    fn place_of(&self, path: &[Term]) -> Option<PathEnd<'g>> {
        let (first, rest) = path.split_first()?;
        let position = position(first)?;
        let element = if position == self.keypos() {
            PathEnd::Term(self.key())
        } else {
            PathEnd::Value(self.values_from(position)?)
        };
        rest.iter().try_fold(element, |place, step| match place {
            PathEnd::Term(term) => step_in_term(term, step).map(PathEnd::Term),
            PathEnd::Value(bytes) => self.step_in_value(bytes, step),
        })
    }

    fn step_in_value(&self, bytes: &'g [u8], step: &Term) -> Option<PathEnd<'g>> {
        match value::view(bytes).ok()? {
            View::Tuple(count, parts) | View::List(count, parts) | View::Improper(count, parts) => {
                let before = position(step)? - 1;
                let count = usize::try_from(count).ok()?;
                let part = (before < count).then(|| skipped(parts, before))?;
                part.map(PathEnd::Value)
            }
            View::String(bytes) => {
                let byte = bytes.get(position(step)? - 1)?;
                Some(PathEnd::Term(Term::Int(i64::from(*byte))))
            }
            View::Map(pairs) => self.value_of(pairs, step).map(PathEnd::Value),
            _ => None,
        }
    }

    /// Returns the value of a key of a map.
    fn value_of(&self, pairs: Pairs<'g>, key: &Term) -> Option<&'g [u8]> {
        with_scratch(|scratch| {
            let Scratch { values, blobs, .. } = scratch;
            values.clear();
            blobs.clear();
            value::encode(key, values, blobs);
            let plain = value::is_plain(values, blobs);
            blobs.clear();
            if plain {
                return pairs.get(values).ok()?;
            }
            self.value_behind(pairs, key)
        })
    }

    /// Returns the bytes from the value of a key of a map on: pair by pair, for a key that bytes do not tell from
    /// others.
    fn value_behind(&self, mut pairs: Pairs<'g>, key: &Term) -> Option<&'g [u8]> {
        while let Some((mut here, value)) = pairs.next_pair().ok()? {
            if self.decode(&mut here) == *key {
                return Some(value);
            }
            pairs.pass().ok()?;
        }
        None
    }
}

fn skipped(mut values: &[u8], count: usize) -> Option<&[u8]> {
    for _ in 0..count {
        value::skip(&mut values).ok()?;
    }
    Some(values)
}

/// Returns the position, from 1, that a step into a tuple or a list is.
pub(crate) fn position(step: &Term) -> Option<usize> {
    match step {
        Term::Int(position) => usize::try_from(*position).ok().filter(|p| *p > 0),
        _ => None,
    }
}

fn step_in_term(term: Term, step: &Term) -> Option<Term> {
    match term {
        Term::Tuple(mut parts) | Term::List(mut parts) | Term::Improper(mut parts, _) => {
            let at = position(step)? - 1;
            (at < parts.len()).then(|| parts.swap_remove(at))
        }
        Term::Map(map) => map.get(step).cloned(),
        _ => None,
    }
}

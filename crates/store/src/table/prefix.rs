//! Keys that begin alike, as a span of key bytes.
//!
//! The bytes of a compound key are those of its parts, one behind another, so keys with the same first parts lie
//! together. Every part begins with a tag below `F0` (`fyris_term::key`), so that byte behind a prefix of whole
//! parts is above every key that goes on with one more.

use std::ops::Bound;

use fyris_term::Term;
use fyris_term::key::{KeyBuf, KeyWriter};

use crate::error::{Error, Result};
use crate::ops::Span;

/// Above every tag that a next part can begin with.
const ABOVE: u8 = 0xF0;

/// The number of bytes that end a binary in a key: a zero, and the number of bits of the last byte that count.
const END_OF_BINARY: usize = 2;

/// Keys that begin alike. Numbers are the same when `==`, as in every key of an `ordered_set`.
///
/// ```
/// # use fyris::{Options, Prefix, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::ordered_set())?;
/// table.insert_list(&[term!({{:ada, 1}}), term!({{:ada, 2}}), term!({{:ada, 1, 1}})])?;
/// let ada = Prefix::Tuple { elements: vec![term!(:ada)], arity: 2 };
/// assert_eq!(table.delete_prefix(&ada)?, 2); // a tuple of three is another kind of key
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prefix {
    /// Tuples of `arity` elements that begin with these: `{a, b, '_'}` is `[a, b]` of 3. A tuple of another
    /// arity sorts elsewhere, and is not meant.
    Tuple {
        /// The first elements; all of them stand for one key.
        elements: Vec<Term>,
        /// The number of elements of the tuples.
        arity: usize,
    },
    /// Lists, proper or not, that begin with these elements: `[a, b | '_']`. Without elements, all but `[]`.
    List(Vec<Term>),
    /// Binaries and bitstrings that begin with these bytes.
    Binary(Vec<u8>),
    /// Lists of these elements that end in a binary or bitstring which begins with these bytes, as text does that is kept
    /// as `[[] | <<"text">>]`.
    Tail(Vec<Term>, Vec<u8>),
}

impl Prefix {
    /// Returns the prefix that a pattern of keys means: `{a, b, '_'}`, `[a, b | '_']` (or `[a, b]`), or a binary.
    ///
    /// ```
    /// # use fyris::{Prefix, term};
    /// let all = Prefix::of_pattern(&term!({:ada, :"_", :"_"}))?;
    /// assert_eq!(all, Prefix::Tuple { elements: vec![term!(:ada)], arity: 3 });
    /// assert!(Prefix::of_pattern(&term!({:"_", :ada})).is_err());
    /// assert!(Prefix::of_pattern(&term!([:ada, :"_"])).is_err());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::BadArgument`] for another term, and for elements behind `'_'`.
    pub fn of_pattern(pattern: &Term) -> Result<Prefix> {
        let is_any = |term: &Term| matches!(term, Term::Atom(atom) if atom.as_str() == "_");
        match pattern {
            Term::Tuple(elements) => {
                let arity = elements.len();
                let known = elements.iter().position(is_any).unwrap_or(arity);
                if elements[known..].iter().all(is_any) {
                    let elements = elements[..known].to_vec();
                    return Ok(Prefix::Tuple { elements, arity });
                }
            }
            Term::List(elements) if !elements.iter().any(is_any) => {
                return Ok(Prefix::List(elements.to_vec()));
            }
            Term::Improper(elements, tail) if is_any(tail) && !elements.iter().any(is_any) => {
                return Ok(Prefix::List(elements.to_vec()));
            }
            Term::Binary(bytes) => return Ok(Prefix::Binary(bytes.to_vec())),
            _ => {}
        }
        let text = pattern.brief(60);
        let known = "a prefix is {a, b, '_'}, [a, b | '_'] or a binary";
        Err(Error::BadArgument(format!("{text}: {known}")))
    }

    /// Returns the span of the keys. O(size of the prefix).
    pub(crate) fn span(&self) -> Result<Span> {
        match self {
            Prefix::Tuple { elements, arity } => tuple_span(elements, *arity),
            Prefix::List(elements) => list_span(elements),
            Prefix::Binary(bytes) => tail_span(&[], bytes),
            Prefix::Tail(elements, bytes) => tail_span(elements, bytes),
        }
    }
}

fn tuple_span(elements: &[Term], arity: usize) -> Result<Span> {
    if elements.len() > arity {
        let what = format!(
            "{} elements do not begin a tuple of {arity}",
            elements.len()
        );
        return Err(Error::BadArgument(what));
    }
    let key = written(|writer| {
        writer.begin_tuple(arity);
        elements.iter().for_each(|element| writer.term(element));
    })?;
    Ok(if elements.len() == arity {
        Span::new(Bound::Included(key.clone()), Bound::Included(key))
    } else {
        going_on(key)
    })
}

fn list_span(elements: &[Term]) -> Result<Span> {
    let key = written(|writer| {
        for element in elements {
            writer.cons();
            writer.term(element);
        }
    })?;
    if !elements.is_empty() {
        return Ok(going_on(key));
    }
    // The tag of a cell alone: what any list begins with.
    let cell = written(|writer| writer.cons())?;
    Ok(going_on(cell))
}

/// Returns the span of the keys that go on behind a prefix of whole parts.
fn going_on(key: Vec<u8>) -> Span {
    let mut above = key.clone();
    above.push(ABOVE);
    Span::new(Bound::Included(key), Bound::Excluded(above))
}

/// Returns the span from the binary itself on, which leaves out the bitstring that has its last byte in part, to below
/// every binary that has a higher byte at its end; behind the elements of a list, if there are any.
fn tail_span(elements: &[Term], bytes: &[u8]) -> Result<Span> {
    let whole = written(|writer| {
        for element in elements {
            writer.cons();
            writer.term(element);
        }
        writer.term(&Term::binary(bytes));
    })?;
    let mut above = whole[..whole.len() - END_OF_BINARY].to_vec();
    while above.pop_if(|last| *last == u8::MAX).is_some() {}
    // The tag is left at least, and is no 255.
    if let Some(last) = above.last_mut() {
        *last += 1;
    }
    Ok(Span::new(Bound::Included(whole), Bound::Excluded(above)))
}

fn written(f: impl FnOnce(&mut KeyWriter<'_>)) -> Result<Vec<u8>> {
    let mut key = KeyBuf::new();
    let mut writer = KeyWriter::new(&mut key);
    f(&mut writer);
    writer.finish();
    Ok(key.order().to_vec())
}

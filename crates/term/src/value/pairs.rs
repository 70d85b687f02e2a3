//! The pairs of a stored map, whichever form it has.

use super::error::ValueError;
use super::shape::Shape;
use super::skip::{behind_key, skip};

/// A key and its value, each as bytes with others behind it.
pub type Pair<'a> = (&'a [u8], &'a [u8]);

/// The pairs of a map that are left, in the exact order of keys.
///
/// ```
/// use fyris_term::{Map, Term, value::{self, View}};
/// let map: Map = [(Term::atom("a"), Term::Int(1)), (Term::atom("b"), Term::Int(2))].into_iter().collect();
/// let mut bytes = Vec::new();
/// value::encode(&Term::Map(map), &mut bytes, &mut Vec::new());
/// let Ok(View::Map(mut pairs)) = value::view(&bytes) else { panic!("a map") };
/// let mut values = Vec::new();
/// while let Some((_key, value)) = pairs.next_pair()? {
///     values.extend(value::as_int(value));
///     pairs.pass()?;
/// }
/// assert_eq!(values, [1, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Pairs<'a> {
    left: u64,
    /// The shape, and the place in it of the next key; `None` if the keys stand before their values.
    shape: Option<(&'static Shape, usize)>,
    rest: &'a [u8],
}

impl<'a> Pairs<'a> {
    /// Returns the pairs of a map whose keys stand before their values.
    #[inline]
    pub(super) fn in_turn(size: u64, rest: &'a [u8]) -> Pairs<'a> {
        Pairs {
            left: size,
            shape: None,
            rest,
        }
    }

    /// Returns the pairs of a map with a shape.
    #[inline]
    pub(super) fn shaped(shape: &'static Shape, rest: &'a [u8]) -> Pairs<'a> {
        Pairs {
            left: shape.keys().len() as u64,
            shape: Some((shape, 0)),
            rest,
        }
    }

    /// Returns the number of pairs that are left.
    #[inline]
    pub fn len(&self) -> u64 {
        self.left
    }

    /// Returns whether no pair is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.left == 0
    }

    /// Returns the next key and its value, each as bytes with others behind it; `None` at the end. The value is to be
    /// passed, by [`Pairs::pass`] or [`Pairs::go_on`], before the next pair.
    ///
    /// # Errors
    ///
    /// Bytes of the key that end too early or have a tag that is none.
    #[inline]
    pub fn next_pair(&mut self) -> Result<Option<Pair<'a>>, ValueError> {
        let Some(left) = self.left.checked_sub(1) else {
            return Ok(None);
        };
        self.left = left;
        let key = match &mut self.shape {
            Some((shape, place)) => {
                *place += 1;
                shape.key_bytes(*place - 1).unwrap_or_default()
            }
            None => {
                let key = self.rest;
                skip(&mut self.rest)?;
                key
            }
        };
        Ok(Some((key, self.rest)))
    }

    /// Passes over the value of the last pair.
    ///
    /// # Errors
    ///
    /// Bytes that end too early or have a tag that is none.
    #[inline]
    pub fn pass(&mut self) -> Result<(), ValueError> {
        skip(&mut self.rest)
    }

    /// Goes on behind the value of the last pair, for a caller that has passed over it.
    #[inline]
    pub fn go_on(&mut self, behind: &'a [u8]) {
        self.rest = behind;
    }

    /// Passes over the pairs that are left, and returns what stands behind the map. The value of the last pair must
    /// have been passed.
    ///
    /// # Errors
    ///
    /// Bytes that end too early or have a tag that is none.
    pub fn behind(&self) -> Result<&'a [u8], ValueError> {
        let values_alone = self.shape.is_some();
        let mut rest = self.rest;
        for _ in 0..self.left {
            if !values_alone {
                skip(&mut rest)?;
            }
            skip(&mut rest)?;
        }
        Ok(rest)
    }

    /// Returns the value, with others behind it, of a key among the pairs that are left: the bytes of a term that bytes
    /// tell from others ([`is_plain`](super::is_plain)). O(what stands before).
    ///
    /// # Errors
    ///
    /// Bytes, of what is passed over, that end too early or have a tag that is none; `offset` counts from a term in the
    /// map.
    pub fn get(&self, key: &[u8]) -> Result<Option<&'a [u8]>, ValueError> {
        let Some((shape, first)) = self.shape else {
            return behind_key(self.left, self.rest, key);
        };
        let place = shape.place_of(key);
        let Some(before) = place.and_then(|place| place.checked_sub(first)) else {
            return Ok(None);
        };
        let mut values = self.rest;
        (0..before).try_for_each(|_| skip(&mut values))?;
        Ok(Some(values))
    }
}

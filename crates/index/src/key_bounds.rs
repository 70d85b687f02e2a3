//! Range arguments of trees.

use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds, RangeFrom, RangeFull};
use std::ops::{RangeInclusive, RangeTo, RangeToInclusive};

/// A form in which a tree with keys `K` can be asked for a range of them.
///
/// As with the standard library's maps that is any `RangeBounds<Q>` with `K: Borrow<Q>`. A tree of byte strings
/// ([`BytesTree`](crate::BytesTree)) takes ranges, and pairs of [`Bound`]s, of whatever is bytes: `"a".."b"`, `b"a"..`,
/// `..=String::from("b")`.
///
/// Implemented for all of these, and not meant to be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no range of keys `{K}`",
    note = "a range of a tree of byte strings is one of any `AsRef<[u8]>`: `\"a\"..\"b\"`, or a pair of `Bound`s of these"
)]
pub trait KeyBounds<K: ?Sized> {
    /// The bounds that keys are compared with.
    type Bounds;

    /// Returns the bounds to look for.
    fn key_bounds(self) -> Self::Bounds;
}

impl<K, R> KeyBounds<K> for R {
    type Bounds = R;

    #[inline]
    fn key_bounds(self) -> R {
        self
    }
}

impl KeyBounds<[u8]> for RangeFull {
    type Bounds = RangeFull;

    #[inline]
    fn key_bounds(self) -> RangeFull {
        self
    }
}

macro_rules! ranges_of_bytes {
    ($($range:ty),*) => {$(
        impl<T: AsRef<[u8]>> KeyBounds<[u8]> for $range {
            type Bounds = BytesRange<$range, T>;

            #[inline]
            fn key_bounds(self) -> BytesRange<$range, T> {
                BytesRange { range: self, end: PhantomData }
            }
        }
    )*};
}
ranges_of_bytes!(
    Range<T>,
    RangeFrom<T>,
    RangeInclusive<T>,
    RangeTo<T>,
    RangeToInclusive<T>,
    (Bound<T>, Bound<T>)
);

/// A range of things that are bytes, as one of bytes.
#[derive(Clone, Debug)]
pub struct BytesRange<R, T> {
    range: R,
    end: PhantomData<fn(&T)>,
}

impl<R: RangeBounds<T>, T: AsRef<[u8]>> RangeBounds<[u8]> for BytesRange<R, T> {
    #[inline]
    fn start_bound(&self) -> Bound<&[u8]> {
        self.range.start_bound().map(T::as_ref)
    }

    #[inline]
    fn end_bound(&self) -> Bound<&[u8]> {
        self.range.end_bound().map(T::as_ref)
    }
}

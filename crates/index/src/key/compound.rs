//! Keys made of keys, and paths: compared as a whole where the key prefix of the first part does not decide.

use std::cmp::{Ordering, Reverse};
use std::path::{Component, Path, PathBuf};

use super::{KeySep, TreeKey};

/// A key whose key prefix is `$key_prefix`, whose separators are keys.
macro_rules! compound {
    ([$($generic:tt)*] $key:ty, |$this:ident| $key_prefix:expr) => {
        impl<$($generic)*> TreeKey for $key {
            type Sep = KeySep<Self>;
            #[inline]
            fn key_prefix(&self, _: usize) -> u64 {
                let $this = self;
                $key_prefix
            }
            fn separate(_: &Self, high: &Self) -> Self::Sep {
                KeySep::of(high.clone())
            }
            fn cmp_sep(&self, sep: &Self::Sep) -> Ordering {
                self.cmp(sep.key())
            }
        }
    };
}

/// Makes a struct of the caller's a [`TreeKey`](crate::key::TreeKey), by the field that its order compares first,
/// which is one: the key prefixes are those of that field, and where they do not decide keys are compared as wholes.
///
/// The struct has no parameters and is `Ord`, `Clone`, `Send`, `Sync` and `'static`. If its order does not begin with
/// the field, the tree loses keys.
///
/// ```
/// use fyris_index::{ConcurrentTree, struct_key};
///
/// #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
/// struct Visit {
///     city: String, // compared first
///     year: u16,
/// }
/// struct_key!(Visit, city);
///
/// let visit = |city: &str, year| Visit { city: city.to_owned(), year };
/// let visits = ConcurrentTree::from([(visit("Uppsala", 2014), "B"), (visit("Bergen", 2013), "A")]);
/// let pinned = visits.pin();
/// assert_eq!(pinned.range(visit("C", 0)..).next(), Some((&visit("Uppsala", 2014), &"B")));
/// ```
#[macro_export]
macro_rules! struct_key {
    ($type:ty, $first:tt) => {
        impl $crate::key::TreeKey for $type {
            type Sep = $crate::key::KeySep<Self>;
            #[inline]
            fn key_prefix(&self, _: usize) -> u64 {
                $crate::key::TreeKey::key_prefix(&self.$first, 0)
            }
            fn separate(_: &Self, high: &Self) -> Self::Sep {
                $crate::key::KeySep::of(::core::clone::Clone::clone(high))
            }
            fn cmp_sep(&self, sep: &Self::Sep) -> ::core::cmp::Ordering {
                ::core::cmp::Ord::cmp(self, sep.key())
            }
        }
    };
}

macro_rules! tuples {
    ($(($($rest:ident),*))*) => {$(
        compound!([
            A: TreeKey + Clone + Send + Sync + 'static,
            $($rest: Ord + Clone + Send + Sync + 'static),*
        ] (A, $($rest,)*), |key| key.0.key_prefix(0));
    )*};
}
tuples!(()(B)(B, C)(B, C, D)(B, C, D, E)(B, C, D, E, F)(
    B, C, D, E, F, G
)(B, C, D, E, F, G, H));

// `None` comes first; the key prefix of what is there loses its last bit to the one that says so.
compound!([T: TreeKey + Clone + Send + Sync + 'static] Option<T>, |key| match key {
    None => 0,
    Some(key) => key.key_prefix(0) >> 1 | 1 << 63,
});

compound!([T: ArrayElement, const N: usize] [T; N], |key| key.first().map_or(0, |key| key.key_prefix(0)));

/// The element types of arrays that are keys: every key type but `u8`, whose arrays are byte strings.
pub trait ArrayElement: TreeKey + Clone + Send + Sync + 'static {}

macro_rules! elements {
    ($($t:ty),*) => {$(impl ArrayElement for $t {})*};
}
elements!(
    u16,
    u32,
    u64,
    u128,
    usize,
    i8,
    i16,
    i32,
    i64,
    i128,
    isize,
    bool,
    char,
    String,
    Box<str>,
    Vec<u8>
);

impl<T: ArrayElement, const N: usize> ArrayElement for [T; N] {}

compound!([T: TreeKey + Clone + Send + Sync + 'static] Reverse<T>, |key| !key.0.key_prefix(0));

/// Returns the beginning of a path in the order of paths, which is the order of their components: each a byte for its
/// kind, then its name, in which a zero is followed by 255, then two zeros.
fn path_key_prefix(path: &Path) -> u64 {
    let (mut key_prefix, mut room) = (0, 64);
    let mut push = |byte: u8| {
        room -= 8;
        key_prefix |= u64::from(byte) << room;
        room > 0
    };
    for component in path.components() {
        let (kind, name) = match component {
            // Compared in a way of its own: nothing behind it is looked at.
            Component::Prefix(_) => return u64::from(1u8) << 56,
            Component::RootDir => (2, &[][..]),
            Component::CurDir => (3, &[][..]),
            Component::ParentDir => (4, &[][..]),
            Component::Normal(name) => (5, name.as_encoded_bytes()),
        };
        if !push(kind) {
            break;
        }
        for &byte in name {
            if !push(byte) || byte == 0 && !push(255) {
                return key_prefix;
            }
        }
        if kind == 5 && (!push(0) || !push(0)) {
            break;
        }
    }
    key_prefix
}

macro_rules! paths {
    ($($t:ty),*) => {$(
        impl TreeKey for $t {
            type Sep = KeySep<PathBuf>;
            fn key_prefix(&self, _: usize) -> u64 {
                path_key_prefix(self)
            }
            fn separate(_: &Self, high: &Self) -> Self::Sep {
                KeySep::of(high.to_path_buf())
            }
            fn cmp_sep(&self, sep: &Self::Sep) -> Ordering {
                Path::cmp(self, sep.key())
            }
        }
    )*};
}
paths!(PathBuf, Path);

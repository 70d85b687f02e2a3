//! Keys of ordered indexes: a key prefix of eight bytes that decides most comparisons, and separators.
//!
//! A node keeps, for each key, a *key prefix*: a `u64` whose order agrees with the order of keys, as far as eight bytes
//! can tell. Comparing key prefixes touches no memory outside the node. If keys share a long prefix (all of a leaf's
//! keys lie between two separators, so they share what these share) the key prefix is taken behind the prefix: `skip`
//! says how many bytes.
//!
//! A *separator* stands between two children of an inner node. It outlives the entry whose key it was made from, so it
//! is a value of its own: for byte strings the shortest prefix that separates.
//!
//! * `compound`, `fixed`: further types that are keys.
//! * `probe`: places in the order of keys that a tree descends to;
//! * `place`: those that nodes of one entry are compared with.

use std::cmp::Ordering;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ptr::NonNull;
use std::sync::Arc;

mod compound;
mod fixed;
pub mod probe;

pub use compound::ArrayElement;
pub use fixed::FixedSep;

/// A separator, which inner nodes keep between two children. Immutable.
pub trait Separator: Ord + Send + Sync + 'static {
    /// Returns the separator's key prefix behind `skip` bytes; as [`TreeKey::key_prefix`].
    fn key_prefix(&self, skip: usize) -> u64;

    /// Returns the number of leading bytes that it shares with `other`.
    fn common(&self, _other: &Self) -> usize {
        0
    }

    /// Compares the first `len` bytes with those of `other`, which has at least `len`.
    fn cmp_prefix(&self, _other: &Self, _len: usize) -> Ordering {
        Ordering::Equal
    }
}

/// A key of the `ordered` index, and of contention adapting trees over other base nodes.
///
/// Implemented for integers, `bool`, `char`, byte strings and text (owned, shared or borrowed; also those of the
/// operating system), paths, addresses of the Internet and of sockets, times, and arrays, tuples of up to eight,
/// `Option` and [`Reverse`](std::cmp::Reverse) of keys; through [`Opaque`] for every other ordered type. A type that
/// can show itself as bytes in the right order implements [`ByteKey`] instead.
///
/// The first part of a tuple is a key; of the others it is enough that they are `Ord`.
///
/// # Contract of an implementation
///
/// For keys `a < b` whose first `skip` bytes are the same, `a.key_prefix(skip) <= b.key_prefix(skip)`. With
/// [`TreeKey::EXACT`], `a == b` exactly when `a.key_prefix(0) == b.key_prefix(0)`. For `low < high`, `separate(low,
/// high)` is a separator `s` with `low < s <= high`; separators order as keys do. If a key
/// [is exact](TreeKey::is_exact) behind `skip` bytes, no separator that shares these bytes and the key prefix behind
/// them is above the key. A wrong implementation makes the tree lose keys, and does nothing worse.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no key of an ordered tree",
    label = "no `TreeKey`",
    note = "a struct becomes one by `fyris_index::struct_key!(Type, first_field)`, a type whose order is that of its \
            bytes by `ByteKey`, floats in total order are `TotalFloat`, and `Opaque(key)` is one for every type \
            that is `Ord`"
)]
pub trait TreeKey: Ord {
    /// True when the key prefix is the whole key. Separators are key prefixes then, and nothing else is asked.
    const EXACT: bool = false;

    /// The separator of two keys.
    type Sep: Separator;

    /// Returns the first eight bytes of the key behind its first `skip`, as a big-endian number; short keys count as
    /// padded with zeros.
    fn key_prefix(&self, skip: usize) -> u64;

    /// Returns whether every key that shares the key's first `skip` bytes and its key prefix behind them is this key.
    /// `false` where that is not known.
    #[inline]
    fn is_exact(&self, _skip: usize) -> bool {
        Self::EXACT
    }

    /// Makes a separator `s` with `low < s <= high`.
    fn separate(low: &Self, high: &Self) -> Self::Sep;

    /// Compares the key with a separator.
    fn cmp_sep(&self, sep: &Self::Sep) -> Ordering;

    /// Compares the first `len` bytes of the key with those of the separator, which has at least `len`. `Equal` where
    /// the type shows no bytes.
    fn cmp_prefix(&self, _sep: &Self::Sep, _len: usize) -> Ordering {
        Ordering::Equal
    }
}

/// A key that an exact key prefix can be turned back into.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no key of an `InlineTree`",
    label = "no `PrefixKey`",
    note = "an `InlineTree` keeps integers and other keys of at most eight bytes: texts and byte strings go into a \
            `BytesTree`, other keys into a `ConcurrentTree`"
)]
pub trait PrefixKey: TreeKey + Copy {
    /// Returns the key whose key prefix this is.
    fn from_key_prefix(key_prefix: u64) -> Self;
}

impl Separator for () {
    fn key_prefix(&self, _: usize) -> u64 {
        0
    }
}

macro_rules! exact {
    ($($t:ty: $to:expr, $from:expr;)*) => {$(
        impl TreeKey for $t {
            const EXACT: bool = true;
            type Sep = ();
            #[inline]
            fn key_prefix(&self, _: usize) -> u64 {
                $to(*self)
            }
            fn separate(_: &Self, _: &Self) {}
            fn cmp_sep(&self, _: &()) -> Ordering {
                Ordering::Equal
            }
        }
        impl PrefixKey for $t {
            #[inline]
            fn from_key_prefix(key_prefix: u64) -> Self {
                $from(key_prefix)
            }
        }
    )*};
}

/// Turns a signed number into an unsigned one in the same order, and back.
const FLIP: u64 = 1 << 63;

exact! {
    u8: u64::from, |h| h as u8;
    u16: u64::from, |h| h as u16;
    u32: u64::from, |h| h as u32;
    u64: |k| k, |h| h;
    usize: |k| k as u64, |h| h as usize;
    i8: |k| k as i64 as u64 ^ FLIP, |h: u64| (h ^ FLIP) as i8;
    i16: |k| k as i64 as u64 ^ FLIP, |h: u64| (h ^ FLIP) as i16;
    i32: |k| k as i64 as u64 ^ FLIP, |h: u64| (h ^ FLIP) as i32;
    i64: |k| k as u64 ^ FLIP, |h: u64| (h ^ FLIP) as i64;
    isize: |k| k as u64 ^ FLIP, |h: u64| (h ^ FLIP) as isize;
    bool: u64::from, |h| h != 0;
    Ipv4Addr: |k: Ipv4Addr| u64::from(k.to_bits()), |h| Ipv4Addr::from_bits(h as u32);
    SocketAddrV4: |k: SocketAddrV4| u64::from(k.ip().to_bits()) << 16 | u64::from(k.port()),
        |h| SocketAddrV4::new(Ipv4Addr::from_bits((h >> 16) as u32), h as u16);
    TotalFloat: TotalFloat::to_ordered, TotalFloat::from_ordered;
    char: u64::from, |h| char::from_u32(h as u32).unwrap_or_default();
}

/// A float as a key, in the total order of [`f64::total_cmp`]: `-0.0` is below `0.0`, and each NaN is equal to itself.
///
/// ```
/// use fyris_index::{CopyTree, TotalFloat};
///
/// let heights = CopyTree::from([(TotalFloat(1.91), 1), (TotalFloat(-0.5), 2), (TotalFloat(f64::INFINITY), 3)]);
/// assert_eq!(heights.pin().range(TotalFloat(0.0)..).next().map(|(height, _)| height.0), Some(1.91));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TotalFloat(pub f64);

impl TotalFloat {
    /// Returns a number in the order of floats: of negative ones all bits are turned round, of others the sign.
    fn to_ordered(self) -> u64 {
        let bits = self.0.to_bits();
        bits ^ (((bits as i64) >> 63) as u64 | FLIP)
    }

    fn from_ordered(ordered: u64) -> TotalFloat {
        let turned = if ordered & FLIP == 0 { u64::MAX } else { FLIP };
        TotalFloat(f64::from_bits(ordered ^ turned))
    }
}

impl PartialEq for TotalFloat {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
impl Eq for TotalFloat {}
impl PartialOrd for TotalFloat {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for TotalFloat {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}
impl Hash for TotalFloat {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// A key whose order is the order of some bytes.
///
/// This one method makes a [`TreeKey`]. `a.key_bytes() < b.key_bytes()` must mean `a < b`, and equal bytes equal keys.
pub trait ByteKey: Ord {
    /// True when no key begins with the bytes of another key and a zero behind them. Then a key that ends before its
    /// key prefix, which is padded with zeros, does is known by it. A bound of a range that no key can be must be
    /// `Included` at the low end or `Excluded` at the high one: it may count as the key that goes on with zeros.
    const PREFIX_FREE: bool = false;

    /// Returns the bytes.
    fn key_bytes(&self) -> &[u8];
}

/// The separator of byte strings: the shortest prefix of the higher one that is above the lower.
#[derive(Debug)]
pub struct ByteSep(NonNull<[u8]>);

// SAFETY: an owned, immutable byte string.
unsafe impl Send for ByteSep {}
// SAFETY: as above.
unsafe impl Sync for ByteSep {}

impl ByteSep {
    fn new(bytes: &[u8]) -> Self {
        Self(NonNull::from(Box::leak(Box::<[u8]>::from(bytes))))
    }

    #[inline]
    fn bytes(&self) -> &[u8] {
        // SAFETY: from `Box::leak` in `new`; freed by `drop` alone.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for ByteSep {
    fn drop(&mut self) {
        // SAFETY: from `Box::leak` in `new`, and dropped once.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl PartialEq for ByteSep {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}
impl Eq for ByteSep {}
impl PartialOrd for ByteSep {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for ByteSep {
    fn cmp(&self, other: &Self) -> Ordering {
        self.bytes().cmp(other.bytes())
    }
}

impl Separator for ByteSep {
    #[inline]
    fn key_prefix(&self, skip: usize) -> u64 {
        byte_key_prefix(self.bytes(), skip)
    }
    fn common(&self, other: &Self) -> usize {
        common(self.bytes(), other.bytes())
    }
    fn cmp_prefix(&self, other: &Self, len: usize) -> Ordering {
        cmp_prefix(self.bytes(), other.bytes(), len)
    }
}

// Of a type that is no key the message of `TreeKey` is wanted, not that a `ByteKey` is missing.
#[diagnostic::do_not_recommend]
impl<T: ByteKey + ?Sized> TreeKey for T {
    type Sep = ByteSep;
    #[inline]
    fn key_prefix(&self, skip: usize) -> u64 {
        byte_key_prefix(self.key_bytes(), skip)
    }
    #[inline]
    fn is_exact(&self, skip: usize) -> bool {
        let ends = self.key_bytes().len() < skip + size_of::<u64>();
        T::PREFIX_FREE && (ends || cfg!(fyris_mutant = "ordered_head_decides"))
    }
    fn separate(low: &Self, high: &Self) -> ByteSep {
        let (low, high) = (low.key_bytes(), high.key_bytes());
        ByteSep::new(&high[..(common(low, high) + 1).min(high.len())])
    }
    #[inline]
    fn cmp_sep(&self, sep: &ByteSep) -> Ordering {
        self.key_bytes().cmp(sep.bytes())
    }
    #[inline]
    fn cmp_prefix(&self, sep: &ByteSep, len: usize) -> Ordering {
        cmp_prefix(self.key_bytes(), sep.bytes(), len)
    }
}

/// Returns bytes `skip..skip + 8` as a big-endian number, padded with zeros.
#[inline]
pub fn byte_key_prefix(bytes: &[u8], skip: usize) -> u64 {
    if let Some(eight) = bytes.get(skip..skip + 8) {
        let mut word = [0; 8];
        word.copy_from_slice(eight);
        return u64::from_be_bytes(word);
    }
    short_key_prefix(bytes.get(skip..).unwrap_or_default())
}

/// Returns fewer than eight bytes as a big-endian number, padded with zeros: without a loop, whose end could not be
/// foreseen.
#[inline]
fn short_key_prefix(bytes: &[u8]) -> u64 {
    let len = bytes.len();
    let half = |half: &[u8; 4]| u64::from(u32::from_be_bytes(*half));
    match (bytes.first_chunk(), bytes.last_chunk()) {
        // Bytes that both halves hold are equal in both, so `|` does not change them.
        (Some(first), Some(last)) => half(first) << 32 | half(last) << (64 - 8 * len),
        _ if len == 0 => 0,
        _ => {
            let byte = |at: usize| u64::from(bytes[at]) << (56 - 8 * at);
            byte(0) | byte(len / 2) | byte(len - 1)
        }
    }
}

fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[inline]
fn cmp_prefix(key: &[u8], sep: &[u8], len: usize) -> Ordering {
    key[..key.len().min(len)].cmp(&sep[..len])
}

impl ByteKey for [u8] {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self
    }
}
impl ByteKey for str {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl<T: ByteKey + ?Sized> ByteKey for &T {
    const PREFIX_FREE: bool = T::PREFIX_FREE;
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        (**self).key_bytes()
    }
}
impl ByteKey for Vec<u8> {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self
    }
}
impl ByteKey for Box<[u8]> {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self
    }
}
impl ByteKey for String {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl ByteKey for Box<str> {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl ByteKey for Arc<str> {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self.as_bytes()
    }
}
impl ByteKey for Arc<[u8]> {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self
    }
}
impl ByteKey for OsStr {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }
}
impl ByteKey for OsString {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }
}
impl ByteKey for Box<OsStr> {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self.as_encoded_bytes()
    }
}
impl<const N: usize> ByteKey for [u8; N] {
    #[inline]
    fn key_bytes(&self) -> &[u8] {
        self
    }
}

/// Any ordered type as a key. Comparisons follow the pointer to the entry: the slow, general way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Opaque<T>(pub T);

/// A separator that is a key: the higher one, cloned.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeySep<K>(Box<K>);

impl<K> KeySep<K> {
    /// Returns the separator that is this key.
    pub fn of(key: K) -> Self {
        Self(Box::new(key))
    }

    /// Returns the key.
    pub fn key(&self) -> &K {
        &self.0
    }
}

impl<K: TreeKey + Send + Sync + 'static> Separator for KeySep<K> {
    fn key_prefix(&self, _: usize) -> u64 {
        TreeKey::key_prefix(self.key(), 0)
    }
}

impl<T: Ord + Clone + Send + Sync + 'static> TreeKey for Opaque<T> {
    type Sep = KeySep<Self>;
    fn key_prefix(&self, _: usize) -> u64 {
        0
    }
    fn separate(_: &Self, high: &Self) -> Self::Sep {
        KeySep::of(high.clone())
    }
    fn cmp_sep(&self, sep: &Self::Sep) -> Ordering {
        self.cmp(sep.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_in_total_order() {
        let nan = f64::NAN;
        let up = [
            0.0,
            f64::MIN_POSITIVE / 2.0,
            f64::MIN_POSITIVE,
            1.0,
            1.0 + f64::EPSILON,
            f64::MAX,
            f64::INFINITY,
            nan,
        ];
        let down = up.iter().rev().map(|float| -float);
        let all: Vec<_> = down.chain(up).map(TotalFloat).collect();
        assert!(all.is_sorted_by(|a, b| a < b));
        assert!(all.is_sorted_by(|a, b| TreeKey::key_prefix(a, 0) < TreeKey::key_prefix(b, 0)));
        for float in all {
            assert_eq!(
                TotalFloat::from_key_prefix(TreeKey::key_prefix(&float, 0)),
                float
            );
        }
    }

    #[test]
    fn heads_are_bytes_and_zeros() {
        let bytes: Vec<u8> = (1..=20u8).map(|n| n ^ 0xA5).collect();
        for len in 0..bytes.len() {
            for skip in 0..len + 2 {
                let rest = bytes[..len].iter().skip(skip).copied();
                let padded: Vec<u8> = rest.chain([0; 8]).take(8).collect();
                let key_prefix = u64::from_be_bytes(padded.try_into().expect("eight"));
                assert_eq!(
                    byte_key_prefix(&bytes[..len], skip),
                    key_prefix,
                    "{len} {skip}"
                );
            }
        }
    }
}

//! [`JudyBytes`], the array of strings with values of any type that fits.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use super::bytes_iter::{BytesIter, BytesKeys, BytesRange, BytesValues};
use super::class::{Account, Use};
use super::jp::Slot;
use super::map::NodeBytes;
use super::order::count_between;
use super::strings::{Ended, Split, Strings, WordPlace, bytes_of, rest};
use super::tail::{self, Tails};
use super::zeroless::{decode, encode, encode_bound};

/// An ordered map from byte strings to words: a Judy array of strings (JudySL, and JudyESL: keys are any bytes, also
/// zeros). See the [module](super) for the structure.
///
/// Keys that are asked for are whatever is bytes: `str`, `String`, `Vec<u8>`, `[u8; N]`, `[u8]`. Values are of any type
/// of at most eight bytes (a larger one goes into a `Box`). What keys have in common at their beginning is kept once,
/// in steps of eight bytes. A byte 0 or 1 takes the room of two.
///
/// ```
/// use fyris_judy::JudyBytes;
///
/// let mut pages: JudyBytes<u32> = JudyBytes::new();
/// for (n, path) in ["/", "/docs/api", "/docs/guide", "/docs/guide/start", "/news"].into_iter().enumerate() {
///     pages.insert(path, n as u32);
/// }
/// assert_eq!(pages.get("/docs/guide"), Some(&2));
/// assert_eq!(pages.count_between("/docs/".."/docs0"), 3);
/// assert_eq!(pages.nth(4), Some((b"/news".to_vec(), &4)));
/// assert_eq!(pages.rank("/docs/guide"), 2);
/// let below = pages.range("/docs/guide/"..).next();
/// assert_eq!(below, Some((b"/docs/guide/start".to_vec(), &3)));
/// ```
///
/// # Cost
///
/// Every operation that names a key or a number takes O(bytes of the key) steps, whatever the number of keys: at most
/// eight nodes for eight bytes that tell keys apart, and none for bytes that all keys behind a place share. Operations
/// that count look at up to 32 children, eight counts and 51 words at each place. An operation copies a key that has
/// bytes 0 or 1 first.
///
/// # Consistency
///
/// The map has no locks; the borrow checker lets a thread change it alone.
pub struct JudyBytes<V> {
    pub(super) strings: Strings<Tails>,
    values: PhantomData<V>,
}

// SAFETY: the map owns its values, as a `Vec` does; the arrays have no state besides.
unsafe impl<V: Send> Send for JudyBytes<V> {}
// SAFETY: as above; through a shared map values are only lent as shared.
unsafe impl<V: Sync> Sync for JudyBytes<V> {}

/// Borrows the bytes of a bound.
fn borrowed<'a>(bound: &'a Bound<Cow<'_, [u8]>>) -> Bound<&'a [u8]> {
    bound.as_ref().map(|bytes| &**bytes)
}

impl<V> JudyBytes<V> {
    /// Values lie in words.
    const FITS: () = assert!(
        size_of::<V>() <= size_of::<Slot>() && align_of::<V>() <= align_of::<Slot>(),
        "a value of a JudyBytes has at most eight bytes: box it"
    );

    /// Makes an empty map, which has no memory besides itself.
    pub const fn new() -> Self {
        const { Self::FITS };
        Self {
            strings: Strings::new(),
            values: PhantomData,
        }
    }

    /// Returns the number of keys. O(1).
    pub const fn len(&self) -> usize {
        self.strings.len()
    }

    /// Returns whether there are no keys. O(1).
    pub const fn is_empty(&self) -> bool {
        self.strings.len() == 0
    }

    /// Returns the bytes of nodes by their kind. O(1).
    pub fn node_bytes(&self) -> NodeBytes {
        NodeBytes::of(&self.strings.account)
    }

    /// Returns the bytes of the map: of itself and of all nodes, without what values own. O(1).
    pub fn memory(&self) -> usize {
        size_of::<Self>() + self.node_bytes().total()
    }

    /// Removes all keys, drops their values, and frees all nodes. O(n).
    ///
    /// If dropping a value panics, the values not yet dropped and their nodes leak.
    pub fn clear(&mut self) {
        self.strings.clear(|low, slot, account| {
            // SAFETY: the value of a key, which is taken out once.
            let value = unsafe { tail::take::<V>(low, *slot, account) };
            drop(value);
        });
    }

    /// Returns the place of an encoded key's value.
    #[inline]
    fn place(&self, key: &[u8]) -> Option<*mut V> {
        let WordPlace { word, slot, offset } = self.strings.find(key)?;
        if Ended::ends(word) {
            return Some(slot.cast());
        }
        // SAFETY: the value of a key in this map.
        unsafe {
            let behind = rest(key, offset + Ended::STEP);
            (tail::bytes(*slot) == behind).then(|| tail::value(word, slot).cast())
        }
    }

    /// Lends a pair, whose encoded key has these bytes before its last word.
    pub(super) fn lend(&self, mut above: Vec<u8>, found: WordPlace) -> (Vec<u8>, &V) {
        let WordPlace { word, slot, .. } = found;
        bytes_of::<Ended>(word, &mut above);
        // SAFETY: the value of a key of this map, which is borrowed for as long.
        unsafe {
            if !Ended::ends(word) {
                above.extend_from_slice(tail::bytes(*slot));
            }
            (decode(above), &*tail::value(word, slot).cast())
        }
    }

    /// Returns a key's value.
    #[inline]
    pub fn get(&self, key: impl AsRef<[u8]>) -> Option<&V> {
        // SAFETY: the place of a value of this map, which is borrowed for as long.
        self.place(&encode(key.as_ref()))
            .map(|place| unsafe { &*place })
    }

    /// Returns a key's value, to change it.
    pub fn get_mut(&mut self, key: impl AsRef<[u8]>) -> Option<&mut V> {
        // SAFETY: as in `get`; the map is borrowed for a change.
        self.place(&encode(key.as_ref()))
            .map(|place| unsafe { &mut *place })
    }

    /// Returns whether a key is there.
    #[inline]
    pub fn contains_key(&self, key: impl AsRef<[u8]>) -> bool {
        self.place(&encode(key.as_ref())).is_some()
    }

    /// Puts a value under a key; returns the value that was there.
    pub fn insert(&mut self, key: impl AsRef<[u8]>, value: V) -> Option<V> {
        self.put(&encode(key.as_ref()), value)
    }

    /// Puts a value under an encoded key; returns the value that was there.
    #[inline]
    fn put(&mut self, key: &[u8], value: V) -> Option<V> {
        let mut value = Some(value);
        let make = |word, behind: &[u8], account: &mut Account| {
            let value = value.take().expect("a key has one value");
            tail::make(word, value, behind, account)
        };
        let WordPlace { word, slot, .. } = self.strings.insert(key, make)?;
        // SAFETY: the place of a value of this map, which is ours alone.
        let place = unsafe { &mut *tail::value(word, slot).cast::<V>() };
        value.map(|value| std::mem::replace(place, value))
    }

    /// Returns a key's value, to change it; if there is none, puts there what `make` returns. If that panics, the map
    /// is as before.
    pub fn get_or_insert_with(
        &mut self,
        key: impl AsRef<[u8]>,
        make: impl FnOnce() -> V,
    ) -> &mut V {
        let key = &encode(key.as_ref());
        if self.place(key).is_none() {
            self.put(key, make());
        }
        let place = self.place(key).expect("the key is there by now");
        // SAFETY: as in `get_mut`.
        unsafe { &mut *place }
    }

    /// Removes a key; returns its value.
    pub fn remove(&mut self, key: impl AsRef<[u8]>) -> Option<V> {
        let (word, value) = self.strings.remove(&encode(key.as_ref()))?;
        // SAFETY: the value of a key that is taken out.
        Some(unsafe { tail::take(word, value, &mut self.strings.account) })
    }

    /// Returns the first pair.
    pub fn first(&self) -> Option<(Vec<u8>, &V)> {
        self.near(Bound::Unbounded, true)
    }

    /// Returns the last pair.
    pub fn last(&self) -> Option<(Vec<u8>, &V)> {
        self.near(Bound::Unbounded, false)
    }

    fn near(&self, from: Bound<&[u8]>, up: bool) -> Option<(Vec<u8>, &V)> {
        let mut above = Vec::new();
        let found = self.strings.seek(from, up, &mut above)?;
        Some(self.lend(above, found))
    }

    /// Returns the first pair whose key is at or above the bound (above for `Excluded`; the first of all for
    /// `Unbounded`).
    pub fn seek(&self, from: Bound<impl AsRef<[u8]>>) -> Option<(Vec<u8>, &V)> {
        self.near(borrowed(&encode_bound(from.as_ref())), true)
    }

    /// Returns the last pair whose key is at or below the bound (below for `Excluded`; the last of all for
    /// `Unbounded`).
    pub fn seek_back(&self, from: Bound<impl AsRef<[u8]>>) -> Option<(Vec<u8>, &V)> {
        self.near(borrowed(&encode_bound(from.as_ref())), false)
    }

    /// Removes the first pair, and returns it.
    pub fn pop_first(&mut self) -> Option<(Vec<u8>, V)> {
        let (key, _) = self.first()?;
        let value = self.remove(&key)?;
        Some((key, value))
    }

    /// Removes the last pair, and returns it.
    pub fn pop_last(&mut self) -> Option<(Vec<u8>, V)> {
        let (key, _) = self.last()?;
        let value = self.remove(&key)?;
        Some((key, value))
    }

    /// Returns the `n`-th pair in the order of keys, from 0.
    pub fn nth(&self, n: usize) -> Option<(Vec<u8>, &V)> {
        let mut above = Vec::new();
        let found = self.strings.nth(n, &mut above)?;
        Some(self.lend(above, found))
    }

    /// Returns the number of keys below this one, which need not be there.
    pub fn rank(&self, key: impl AsRef<[u8]>) -> usize {
        self.strings.rank(&encode(key.as_ref()), false)
    }

    /// Returns the number of keys in a range; none if it ends before it begins.
    pub fn count_between<Q: AsRef<[u8]> + ?Sized>(&self, range: impl RangeBounds<Q>) -> usize {
        let (from, to) = (
            encode_bound(range.start_bound()),
            encode_bound(range.end_bound()),
        );
        self.count(borrowed(&from), borrowed(&to))
    }

    fn count(&self, from: Bound<&[u8]>, to: Bound<&[u8]>) -> usize {
        let rank = |key: &[u8], with_key| self.strings.rank(key, with_key);
        count_between(from, to, self.len(), rank)
    }

    /// Returns the pairs in the order of keys, from either end.
    pub fn iter(&self) -> BytesIter<'_, V> {
        BytesRange::new(self, Bound::Unbounded, Bound::Unbounded, self.len())
    }

    /// Returns the pairs of a range in the order of keys, from either end; none if it ends before it begins. The number
    /// of pairs left is known ([`ExactSizeIterator`]).
    pub fn range<Q: AsRef<[u8]> + ?Sized>(&self, range: impl RangeBounds<Q>) -> BytesRange<'_, V> {
        let (from, to) = (
            encode_bound(range.start_bound()),
            encode_bound(range.end_bound()),
        );
        let left = self.count(borrowed(&from), borrowed(&to));
        BytesRange::new(
            self,
            from.map(Cow::into_owned),
            to.map(Cow::into_owned),
            left,
        )
    }

    /// Returns the keys in order, from either end.
    pub fn keys(&self) -> BytesKeys<'_, V> {
        BytesKeys::new(self.iter())
    }

    /// Returns the values in the order of keys, from either end.
    pub fn values(&self) -> BytesValues<'_, V> {
        BytesValues::new(self.iter())
    }
}

impl<V> Drop for JudyBytes<V> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl NodeBytes {
    /// Returns the bytes of an account.
    pub(super) fn of(account: &Account) -> Self {
        let bytes = |of| account.bytes(of);
        Self {
            linear_branches: bytes(Use::Linear),
            bitmap_branches: bytes(Use::Bitmap),
            uncompressed_branches: bytes(Use::Uncompressed),
            leaves: bytes(Use::Leaf),
            bitmap_leaves: bytes(Use::Bits),
            immediates: bytes(Use::Few),
            arrays: bytes(Use::Array),
            tails: bytes(Use::Tail),
        }
    }
}

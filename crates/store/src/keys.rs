//! The two key types over one record.
//!
//! A record holds its key as order bytes followed by an exactness trailer (`fyris_term::key`). Hash
//! tables tell keys apart as `=:=` does: [`ExactKey`] is both parts. An `ordered_set` tells them
//! apart as `==` does: [`OrderKey`] is the order part alone. The order part is prefix-free, so that
//! two exact keys are equal as bytes only if both parts are.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use fyris_index::ordered::ByteKey;
use fyris_term::key::KeyBuf;

macro_rules! byte_key {
    ($name:ident, $prefix_free:literal, $doc:literal) => {
        #[doc = $doc]
        #[derive(Eq, Debug)]
        #[repr(transparent)]
        pub(crate) struct $name([u8]);

        impl $name {
            /// Returns these bytes as a key.
            #[inline]
            pub(crate) fn new(bytes: &[u8]) -> &$name {
                // SAFETY: `repr(transparent)` over `[u8]`.
                unsafe { &*(std::ptr::from_ref(bytes) as *const $name) }
            }

            /// Returns the bytes.
            #[inline]
            pub(crate) fn bytes(&self) -> &[u8] {
                &self.0
            }
        }

        impl ByteKey for $name {
            const PREFIX_FREE: bool = $prefix_free;

            #[inline]
            fn key_bytes(&self) -> &[u8] {
                &self.0
            }
        }

        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &$name) -> bool {
                same_bytes(&self.0, &other.0)
            }
        }

        impl Hash for $name {
            #[inline]
            fn hash<H: Hasher>(&self, state: &mut H) {
                match word_of(&self.0) {
                    Some(word) => state.write_u64(word),
                    None => state.write(&self.0),
                }
            }
        }

        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &$name) -> Option<Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $name {
            #[inline]
            fn cmp(&self, other: &$name) -> Ordering {
                order_of(&self.0, &other.0)
            }
        }
    };
}

byte_key!(
    ExactKey,
    false,
    "A key under `=:=`: order part and trailer."
);
// An order part that begins with another goes on with FF (invariants ESCAPE and NUMBERS of `fyris_term::key`).
byte_key!(OrderKey, true, "A key under `==`: the order part.");

/// A short key in a register: [`KeyBuf::word`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortKey {
    pub(crate) word: u64,
    pub(crate) len: usize,
}

impl ShortKey {
    /// Returns the integer, from 0 on, of 48 bits; above all of these if it is no such key.
    #[inline]
    pub(crate) fn integer(self) -> u64 {
        KeyBuf::int_of_word(self.word, self.len).map_or(u64::MAX, |value| value as u64)
    }

    /// Returns whether these are the key's bytes.
    #[inline]
    pub(crate) fn is(self, bytes: &[u8]) -> bool {
        bytes.len() == self.len && word_of(bytes) == Some(self.word)
    }
}

impl Hash for ShortKey {
    /// Hashes as the same key does as bytes.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.word);
    }
}

/// Returns up to eight bytes as one number, little-endian with zeros above; `None` for no bytes or more. Keys are
/// prefix-free, so short ones of different lengths differ in it too, but for those that end in zeros.
#[inline]
pub(crate) fn word_of(bytes: &[u8]) -> Option<u64> {
    let len = bytes.len();
    let half = |at: usize| {
        bytes[at..]
            .first_chunk()
            .map(|c| u64::from(u32::from_le_bytes(*c)))
    };
    match len {
        8 => Some(u64::from_le_bytes(*bytes.first_chunk()?)),
        // The two halves overlap; the bytes that are in both are the same.
        4..=7 => Some(half(0)? | half(len - 4)? << (8 * (len - 4))),
        1..=3 => {
            let last = len - 1;
            let [first, middle, last_byte] = [0, last / 2, last].map(|at| u64::from(bytes[at]));
            Some(first | middle << (8 * (last / 2)) | last_byte << (8 * last))
        }
        _ => None,
    }
}

/// Returns whether the bytes are equal; compares short keys with two loads instead of a call.
#[inline]
fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    let len = a.len();
    if len != b.len() {
        return false;
    }
    let word = |s: &[u8], at: usize| u64::from_ne_bytes(s[at..at + 8].try_into().expect("8"));
    let half = |s: &[u8], at: usize| u32::from_ne_bytes(s[at..at + 4].try_into().expect("4"));
    match len {
        8..=16 => word(a, 0) == word(b, 0) && word(a, len - 8) == word(b, len - 8),
        4..=7 => half(a, 0) == half(b, 0) && half(a, len - 4) == half(b, len - 4),
        0..=3 => a.iter().zip(b).all(|(x, y)| x == y),
        _ => a == b,
    }
}

/// Compares bytes. Short keys are compared as numbers: a key that was just written is loaded as it was
/// stored, in words, where the wide loads of `memcmp` would have to wait until all that was stored before it is in the
/// cache.
#[inline]
fn order_of(a: &[u8], b: &[u8]) -> Ordering {
    match (word_of(a), word_of(b)) {
        // Zeros stand behind the shorter one, which is the lower one where the longer one ends in zeros.
        (Some(x), Some(y)) => {
            let words = x.swap_bytes().cmp(&y.swap_bytes());
            words.then(a.len().cmp(&b.len()))
        }
        _ => a.cmp(b),
    }
}

/// Types that operations take as a key.
pub trait AsKey {
    /// Runs `f` on the encoded key.
    fn with<R>(&self, f: impl FnOnce(&KeyBuf) -> R) -> R;

    /// Returns the encoded key in a word, as [`KeyBuf::word`], if that is known without encoding it.
    #[inline]
    fn word(&self) -> Option<(u64, usize)> {
        None
    }

    /// Returns the term itself if the caller has it, so that it need not be decoded from a record again.
    fn term(&self) -> Option<&fyris_term::Term> {
        None
    }
}

impl AsKey for KeyBuf {
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&KeyBuf) -> R) -> R {
        f(self)
    }

    #[inline]
    fn word(&self) -> Option<(u64, usize)> {
        KeyBuf::word(self)
    }
}

impl AsKey for fyris_term::Term {
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&KeyBuf) -> R) -> R {
        match self {
            fyris_term::Term::Int(value) => f(&KeyBuf::from_int(*value)),
            other => f(&KeyBuf::encode(other)),
        }
    }

    #[inline]
    fn word(&self) -> Option<(u64, usize)> {
        match self {
            fyris_term::Term::Int(value) => KeyBuf::int_word(*value),
            _ => None,
        }
    }

    fn term(&self) -> Option<&fyris_term::Term> {
        Some(self)
    }
}

impl AsKey for i64 {
    #[inline]
    fn with<R>(&self, f: impl FnOnce(&KeyBuf) -> R) -> R {
        f(&KeyBuf::from_int(*self))
    }

    #[inline]
    fn word(&self) -> Option<(u64, usize)> {
        KeyBuf::int_word(*self)
    }
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use fyris_index::hash::RandomState;
    use fyris_term::Term;
    use proptest::prelude::*;

    use super::*;

    /// Asserts that a key hashes the same as bytes and in a register, whatever the buffer held before.
    fn agrees(term: &Term, buf: &mut KeyBuf) {
        KeyBuf::encode_into(term, buf);
        let bytes = buf.bytes();
        let short = buf.word().map(|(word, len)| ShortKey { word, len });
        assert_eq!(short.is_some(), bytes.len() <= 8);
        let Some(short) = short else { return };
        if !matches!(term, Term::Int(0..)) {
            assert_eq!(short.integer(), u64::MAX, "{term:?}");
        }
        assert_eq!(&short.word.to_le_bytes()[..short.len], bytes);
        assert_eq!(Some(short.word), word_of(bytes));
        let hasher = RandomState::default();
        assert_eq!(
            hasher.hash_one(short),
            hasher.hash_one(ExactKey::new(bytes))
        );
    }

    #[test]
    fn words_agree_with_bytes() {
        let mut buf = KeyBuf::encode(&Term::binary([0xFF; 40]));
        for shift in 0..64 {
            for near in -2..=2i64 {
                for int in [
                    (1i64 << shift).wrapping_add(near),
                    near.wrapping_sub(1 << shift),
                ] {
                    agrees(&Term::Int(int), &mut buf);
                    assert_eq!(KeyBuf::int_word(int), buf.word());
                    let back = buf
                        .word()
                        .and_then(|(word, len)| KeyBuf::int_of_word(word, len));
                    assert_eq!(back, Some(int).filter(|int| int >> 48 == 0));
                }
            }
        }
        for len in 0..12 {
            agrees(&Term::binary(vec![0; len]), &mut buf);
            agrees(&Term::atom(&"x".repeat(len)), &mut buf);
        }
        let floats = [0.0, -0.0, 1.0, 1.5, 1e300];
        floats
            .iter()
            .filter_map(|f| fyris_term::Float::new(*f))
            .for_each(|f| agrees(&Term::Float(f), &mut buf));
        agrees(&Term::list(vec![]), &mut buf);
        agrees(&Term::tuple(vec![]), &mut buf);
        agrees(&Term::tuple(vec![Term::Int(3), Term::Int(4)]), &mut buf);
    }

    #[test]
    fn short_keys_are_in_the_order_of_their_bytes() {
        let digits = [0, 1, 0x7F, 0x80, 0xFF];
        let any = |mut n: usize, len: usize| -> Vec<u8> {
            let digit = |_| {
                let digit = digits[n % digits.len()];
                n /= digits.len();
                digit
            };
            (0..len).map(digit).collect()
        };
        let mut keys: Vec<_> = (0..4)
            .flat_map(|len| (0..125).map(move |n| (n, len)))
            .collect();
        keys.extend((4..11).flat_map(|len| (0..40).map(move |n| (n * 7919, len))));
        let keys: Vec<_> = keys.into_iter().map(|(n, len)| any(n, len)).collect();
        for a in &keys {
            for b in &keys {
                assert_eq!(
                    OrderKey::new(a).cmp(OrderKey::new(b)),
                    a.cmp(b),
                    "{a:?} {b:?}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn words_are_bytes(bytes in prop::collection::vec(any::<u8>(), 1..9)) {
            let word = word_of(&bytes).unwrap();
            prop_assert_eq!(&word.to_le_bytes()[..bytes.len()], &bytes[..]);
            prop_assert_eq!(word.checked_shr(8 * bytes.len() as u32).unwrap_or(0), 0);
        }
    }
}

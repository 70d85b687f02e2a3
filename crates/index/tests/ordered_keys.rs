//! Properties of every type that can be a key of a tree: key prefixes and separators are in the order of keys,
//! and keys come back as they went in.
#![cfg(not(any(loom, shuttle)))]

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Debug;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use fyris_index::ordered::{ByteKey, PrefixKey, Separator, TreeKey};
use fyris_index::{ConcurrentTree, InlineTree};
use proptest::prelude::*;

/// Checks the promises of [`TreeKey`] over all pairs and triples of some keys; returns them sorted. More than these
/// promises a tree does not ask of a type: one of each kind is enough for [`check_tree`], which is long to compile.
fn check<K: TreeKey + Debug>(keys: Vec<K>) -> Vec<K> {
    let sorted: Vec<K> = BTreeSet::from_iter(keys).into_iter().collect();
    for (i, low) in sorted.iter().enumerate() {
        for high in &sorted[i + 1..] {
            check_pair(low, high);
        }
    }
    sorted.windows(3).for_each(check_triple);
    sorted
}

/// Checks a tree of some keys as well.
fn check_tree<K: TreeKey + Clone + Debug + Send + Sync + 'static>(keys: Vec<K>) {
    let tree = ConcurrentTree::new();
    let tree = tree.pin();
    for key in &keys {
        tree.insert(key.clone(), key.clone());
    }
    let sorted = check(keys);
    assert!(tree.iter().map(|(k, _)| k).eq(&sorted), "{sorted:?}");
    assert!(tree.values().rev().eq(sorted.iter().rev()));
    for (i, low) in sorted.iter().enumerate() {
        assert_eq!(tree.get(low), Some(low));
        assert!(tree.range::<K, _>(low..).map(|(k, _)| k).eq(&sorted[i..]));
    }
}

fn check_pair<K: TreeKey + Debug>(low: &K, high: &K) {
    let (a, b) = (low.key_prefix(0), high.key_prefix(0));
    assert!(a <= b, "{low:?} {high:?} {a:x} {b:x}");
    if K::EXACT || low.is_exact(0) || high.is_exact(0) {
        assert!(a < b, "{low:?} {high:?}");
    }
    if !K::EXACT {
        let sep = K::separate(low, high);
        assert!(
            low.cmp_sep(&sep).is_lt() && high.cmp_sep(&sep).is_ge(),
            "{low:?} {high:?}"
        );
    }
}

/// Checks that the middle key lies between two separators; behind the bytes that these share, key prefixes are in order
/// as well.
fn check_triple<K: TreeKey + Debug>(keys: &[K]) {
    let [low, middle, high] = keys else {
        unreachable!()
    };
    if K::EXACT {
        return;
    }
    let (from, to) = (K::separate(low, middle), K::separate(middle, high));
    let skip = from.common(&to);
    assert!(middle.cmp_prefix(&from, skip).is_eq(), "{middle:?}");
    let key_prefixes = [
        from.key_prefix(skip),
        middle.key_prefix(skip),
        to.key_prefix(skip),
    ];
    assert!(
        key_prefixes.is_sorted(),
        "{low:?} {middle:?} {high:?} {skip} {key_prefixes:x?}"
    );
}

fn check_head<K: PrefixKey + Debug>(keys: Vec<K>) {
    for key in check(keys) {
        assert_eq!(K::from_key_prefix(key.key_prefix(0)), key);
    }
}

/// Generates numbers that meet again, near the ends of a word and anywhere.
fn number() -> impl Strategy<Value = u128> {
    let near = |base: u128| (0..3u128).prop_map(move |n| base.wrapping_sub(1).wrapping_add(n));
    prop_oneof![
        near(0),
        near(1 << 64),
        near(1 << 127),
        (0..4u32, 0..3u128).prop_map(|(shift, n)| n << (shift * 32)),
        any::<u128>(),
    ]
}

fn numbers() -> impl Strategy<Value = Vec<u128>> {
    prop::collection::vec(number(), 0..40)
}

/// Generates text with common beginnings, dots, slashes and zeros.
fn texts() -> impl Strategy<Value = Vec<String>> {
    let start = prop_oneof![
        Just(""),
        Just("/"),
        Just("a long common beginning/"),
        Just("../"),
        Just("./")
    ];
    let text =
        (start, "[ab/.\0\u{1}\u{e4}]{0,10}").prop_map(|(start, rest)| format!("{start}{rest}"));
    prop::collection::vec(text, 0..30)
}

fn all<T>(numbers: &[u128], make: impl Fn(u128) -> T) -> Vec<T> {
    numbers.iter().map(|n| make(*n)).collect()
}

fn span(n: u128) -> Duration {
    Duration::new((n >> 64) as u64 >> 34, n as u32 % 1_000_000_000)
}

fn address(n: u128) -> IpAddr {
    match n % 2 {
        0 => IpAddr::V4(Ipv4Addr::from_bits((n >> 96) as u32)),
        _ => IpAddr::V6(Ipv6Addr::from_bits(n)),
    }
}

/// Returns an instant before or after the moment that instants are counted from.
fn instant(n: u128) -> Instant {
    static NOW: OnceLock<Instant> = OnceLock::new();
    let (now, span) = (
        *NOW.get_or_init(Instant::now),
        Duration::from_nanos(n as u64 >> 20),
    );
    let before = now.checked_sub(span).filter(|_| n >> 127 == 1);
    before.unwrap_or_else(|| now + span)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn keys_that_are_heads(n in numbers()) {
        let tree: InlineTree<i64, i64> = n.iter().map(|n| (*n as i64, *n as i64)).collect();
        for key in n.iter().map(|n| *n as i64) {
            assert_eq!(tree.pin().get_key_value(&key), Some((key, &key)));
        }
        check_tree(all(&n, |n| n as i64));
        check_head(all(&n, |n| n as u64));
        check_head(all(&n, |n| n as i64));
        check_head(all(&n, |n| n as i8));
        check_head(all(&n, |n| n & 1 == 1));
        check_head(all(&n, |n| Ipv4Addr::from_bits(n as u32)));
        check_head(all(&n, |n| SocketAddrV4::new(Ipv4Addr::from_bits((n >> 96) as u32), n as u16)));
        check_head(all(&n, |n| char::from_u32(n as u32 % 0xD800).unwrap()));
    }

    #[test]
    fn keys_of_fixed_length(n in numbers()) {
        check_tree(n.clone());
        check(all(&n, |n| n as i128));
        check(all(&n, span));
        check(all(&n, |n| SystemTime::UNIX_EPOCH + span(n)));
        check(all(&n, |n| SystemTime::UNIX_EPOCH - span(n) / 8));
        check(all(&n, instant));
        check(all(&n, address));
        check(all(&n, Ipv6Addr::from_bits));
        check(all(&n, |n| SocketAddr::new(address(n), n as u16 / 2)));
        check_tree(all(&n, |n| SocketAddrV6::new(Ipv6Addr::from_bits(n >> 126), n as u16 % 2, n as u32 % 3, (n >> 64) as u32)));
    }

    #[test]
    fn text_and_paths(texts in texts()) {
        check_tree(texts.clone());
        check(texts.iter().map(|t| Box::<str>::from(&**t)).collect());
        check(texts.iter().map(|t| Arc::<str>::from(&**t)).collect());
        check(texts.iter().map(|t| Arc::<[u8]>::from(t.as_bytes())).collect());
        check(texts.iter().map(OsString::from).collect());
        check(texts.iter().map(|t| Box::<OsStr>::from(OsStr::new(t))).collect());
        check(texts.iter().map(PathBuf::from).collect());
        check_tree(texts.iter().map(|t| Some(PathBuf::from(t))).collect());
    }

    #[test]
    fn keys_of_several_parts(n in numbers(), texts in texts()) {
        check(all(&n, |n| (n as u64, (n >> 64) as u64)));
        check(all(&n, |n| (n,)));
        check(all(&n, |n| (n as u8 % 3, Reverse(n), "x")));
        check_tree(all(&n, |n| (Reverse(n as u8 % 3), n as u16, Some(n))));
        check(all(&n, |n| (n as u8 & 1, n as u8 & 2, n as u8 & 4, n as u8 & 8, n as u8 & 16, n as u8 & 32, n as u8 & 64, n)));
        check(all(&n, |n| [(n >> 64) as u64, n as u64]));
        check(all(&n, |n| [n as i32; 3]));
        check(all(&n, |n| n.to_be_bytes()));
        check(all(&n, |n| [[n as u16, 1], [2, n as u16]]));
        check(all(&n, |n| (n % 5 != 0).then_some(n as u64)));
        check(all(&n, |n| Reverse(n as i64)));
        check_tree(texts.iter().cloned().zip(n).collect());
        check(texts.iter().map(|t| Reverse(t.clone())).collect());
        check_tree(texts.iter().map(|t| [t.clone(), String::new()]).collect());
    }
}

#[test]
fn owned_keys_are_asked_for_as_borrowed_ones() {
    let paths = ConcurrentTree::from([(PathBuf::from("/a//b"), 1)]);
    assert_eq!(paths.pin().get(Path::new("/a/b")), Some(&1));
    let names = ConcurrentTree::from([(OsString::from("name"), 1)]);
    assert_eq!(names.pin().get(OsStr::new("name")), Some(&1));
    let texts = ConcurrentTree::from([(Arc::<str>::from("text"), 1)]);
    assert_eq!(texts.pin().get("text"), Some(&1));
    let boxes = ConcurrentTree::from([(Box::<str>::from("text"), 1)]);
    assert_eq!(boxes.pin().get("text"), Some(&1));
    assert_eq!(
        ConcurrentTree::from([(Some(7), 1)]).pin().first(),
        Some((&Some(7), &1))
    );
}

/// Bytes of which no other key begins with a key and a zero: a zero is followed by one that says what it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Ended(Vec<u8>);

impl Ended {
    /// Makes the key of some bytes.
    fn new(bytes: &[u8]) -> Self {
        let escaped = bytes.iter().flat_map(|&byte| match byte {
            0 => vec![0, 255],
            _ => vec![byte],
        });
        Self(escaped.chain([0, 8]).collect())
    }
}

impl ByteKey for Ended {
    const PREFIX_FREE: bool = true;

    fn key_bytes(&self) -> &[u8] {
        &self.0
    }
}

proptest! {
    /// A bound may be the beginning of keys, which its key prefix does not tell from keys that go on with zeros.
    #[test]
    fn bounds_need_not_be_keys(
        bodies in prop::collection::vec((0..8usize, "[\0\u{1}]{0,7}"), 1..300),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 0..12usize), 1..40),
    ) {
        let bodies = bodies.iter().map(|(length, tail)| [&b"aaaaaaaa"[..*length], tail.as_bytes()].concat());
        let keys: BTreeSet<Ended> = bodies.map(|body| Ended::new(&body)).collect();
        let tree = ConcurrentTree::new();
        let tree = tree.pin();
        for key in &keys {
            tree.insert(key.clone(), ());
        }
        prop_assert!(keys.iter().all(|key| tree.contains_key(key)));
        let sorted: Vec<&Ended> = keys.iter().collect();
        for (at, cut) in cuts {
            let bytes = &at.get(&sorted).0;
            let bound = Ended(bytes[..cut.min(bytes.len())].to_vec());
            let above = tree.range::<Ended, _>(&bound..).map(|(key, ())| key);
            prop_assert!(above.eq(keys.range(&bound..)), "{bound:?}");
            let below = tree.range::<Ended, _>(..&bound).rev().map(|(key, ())| key);
            prop_assert!(below.eq(keys.range(..&bound).rev()), "{bound:?}");
        }
    }
}

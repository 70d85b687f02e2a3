//! [`ConcurrentTree`], [`InlineTree`], [`BytesTree`] and [`CopyTree`]: the contention adapting tree as an ordered map.
//!
//! They are one implementation, [`TreeMap`], and differ in how a pair is stored ([`Storage`]):
//!
//! | tree | storage | keys |
//! |---|---|---|
//! | [`ConcurrentTree<K, V>`] | [`Boxed`]: each pair in a box | any [`TreeKey`] that borrows nothing |
//! | [`CopyTree<K, V>`] | [`Copied`]: the same | `Copy`, and may borrow |
//! | [`InlineTree<K, V>`] | [`Inline`]: in the leaves themselves | integers and the like ([`PrefixKey`](crate::ordered::PrefixKey)), `Copy` values |
//! | [`BytesTree<V>`] | [`Packed`]: the bytes of the key behind the value | byte strings, copied into the tree |
//!
//! References are tied to a pin, never to a lock: no operation waits for a reference that a thread holds, and closures
//! given by the caller run outside all locks. [`map`](crate::map) says why there is no `entry`, what serves instead of
//! it, and why keys and values are `'static`; all of it holds here as well.

use std::ops::Bound;

use fyris_sync::reclaim::{Guard, pin};

pub use crate::map::Computed;
use crate::ordered::cursor::Cursor;
pub use crate::ordered::storage::{Boxed, Copied, Inline, MakeItem, Packed, RemakeItem, Storage};
use crate::ordered::{LeafTree, Stats, TreeKey};
use crate::retired::Retired;

pub use iter::{TreeIter, TreeKeys, TreeRange, TreeValues};
pub use pinned::PinnedTree;

mod iter;
mod pinned;
mod read;
mod traits;
mod write;

/// A concurrent ordered map with lock-free reads.
///
/// **When to take it**: for ranges, neighbours, the first and the last key, with keys and values that borrow nothing.
///
/// ```
/// use fyris_index::ConcurrentTree;
///
/// let tree = ConcurrentTree::new();
/// let pinned = tree.pin();
/// pinned.insert("river".to_string(), 1);
/// pinned.insert("tree".to_string(), 2);
/// assert_eq!(pinned.get("tree"), Some(&2));
/// let up_to_s: Vec<_> = pinned.range(.."s".to_string()).map(|(_, v)| *v).collect();
/// assert_eq!(up_to_s, [1]);
/// ```
///
/// Its methods are those of [`TreeMap`], which says what they promise and cost. A hit waits for two cache misses, the
/// leaf and the pair.
pub type ConcurrentTree<K, V> = TreeMap<K, V, Boxed>;

/// A [`ConcurrentTree`] of `Copy` keys and values, which may borrow.
///
/// **When to take it**: for keys in order that are references into something that outlives the tree.
///
/// ```
/// use fyris_index::CopyTree;
///
/// let text = String::from("to be or not to be");
/// let words = CopyTree::new();
/// for word in text.split(' ') {
///     words.pin().update_or_insert(word, |n| n + 1, 1);
/// }
/// assert_eq!(words.pin().first(), Some((&"be", &2)));
/// ```
pub type CopyTree<K, V> = TreeMap<K, V, Copied>;

/// A [`ConcurrentTree`] that keeps its pairs in the leaves: nothing is allocated for a pair, and a hit waits for one
/// cache miss.
///
/// **When to take it**: for integers as keys, in order, and small `Copy` values, which need be no words.
///
/// ```
/// use fyris_index::InlineTree;
///
/// let squares: InlineTree<u32, u32> = (0..10).map(|n| (n, n * n)).collect();
/// assert_eq!(squares.pin().last(), Some((9, &81)));
/// ```
pub type InlineTree<K, V> = TreeMap<K, V, Inline>;

/// A [`ConcurrentTree`] of byte strings that keeps each in one block with its value.
///
/// **When to take it**: for texts and byte strings as keys, in order, which the tree is to own.
///
/// A hit waits for two cache misses, the leaf and the block, where a tree of `Box<[u8]>` waits for three, and a
/// pair is one block to allocate and to free.
///
/// ```
/// use fyris_index::BytesTree;
///
/// let tree = BytesTree::new();
/// let tree = tree.pin();
/// tree.insert(b"river", 1);
/// tree.insert("tree", 2);
/// assert_eq!(tree.get("tree"), Some(&2));
/// assert!(tree.range("s"..).eq([(&b"tree"[..], &2)]));
/// ```
///
/// Its methods are those of [`TreeMap`]. A key is given, and asked for, as anything that is `AsRef<[u8]>`; it is
/// copied. A comparison is O(length of the key). A pair takes 4 bytes more than key and value, in steps of the
/// allocator, and 17 to 34 bytes of leaves.
///
/// # Panics
///
/// Inserting a key of 4 GiB or more panics.
pub type BytesTree<V> = TreeMap<[u8], V, Packed>;

/// The tree that [`ConcurrentTree`], [`CopyTree`], [`InlineTree`] and [`BytesTree`] are.
///
/// # Consistency
///
/// Operations on one key are linearizable. Reads take no lock and write no cache line that another
/// thread reads. An iteration reads the pairs of a leaf (up to 15) at one moment; a pair that
/// is there throughout is met exactly once, in order.
///
/// # Keys of your own
///
/// Closures run with no lock held, values are dropped with no lock held. But a write compares keys while it
/// has the leaf's lock: a comparison that waits holds up writers of the leaf, and one that writes the same tree
/// may wait for itself for ever. If one panics the operation has not been done, and nothing else is lost. (The shape of
/// a tree adapts at the end of some operations; a panic there is reported by the panic hook and goes no further.)
/// If the drops of values panic when a tree is dropped, the others are dropped all the same; a second panic ends the
/// process, as in the drop of a `Vec`.
///
/// # Forks
///
/// A child inherits a tree as it is. If another thread was in a write at that moment its lock stays taken in the
/// child, where a write of the same leaf waits for ever; reads go on. So a child of a process with several threads
/// should leave inherited trees alone, or read them, before it calls `exec` or `_exit`.
///
/// # When values are dropped
///
/// A value that was replaced or removed is dropped when no pin could see it any more, and its thread hands in what has
/// gathered: at the latest when it has retired 512 blocks or ends, or, of 16 blocks and more that have waited for two
/// milliseconds, at its next write. What a thread that has gone quiet has left is dropped within a tenth of a second of
/// a write by which another thread replaces or removes something; at once by
/// [`reclaim::flush`](crate::reclaim::flush) on any thread that is not pinned; and when the tree itself is dropped,
/// which flushes if the tree has ever replaced or removed anything. A value's drop that panics comes out of whatever
/// freed it: the end of a pin, of any thread, a flush, or the drop of a tree. What a value owns is not known: a tree of
/// large values [weighs](Self::with_weigher) them, so that at most 256 KiB wait for each thread.
///
/// # Pins
///
/// The result of an operation lives as long as the pin it was given, even if the pair is replaced
/// or removed meanwhile. While a pin lives nothing is freed, so keep it short. [`TreeMap::pin`] gives a view that is
/// pinned once for several operations; the methods here take the pin as an argument, so that one pin can serve several
/// trees.
///
/// ```
/// use fyris_index::{ConcurrentTree, reclaim};
///
/// let (ages, heights) = (ConcurrentTree::new(), ConcurrentTree::new());
/// let pin = reclaim::pin();
/// ages.insert("Ada".to_string(), 36, &pin);
/// heights.insert("Ada".to_string(), 1.65, &pin);
/// assert_eq!((ages.get("Ada", &pin), heights.get("Ada", &pin)), (Some(&36), Some(&1.65)));
/// ```
pub struct TreeMap<K: TreeKey + ?Sized, V, S: Storage<K, V>> {
    tree: LeafTree<S::Item>,
    /// Goes after the tree, whose pairs are dropped first.
    retired: Retired<K, V>,
}

impl<K: TreeKey + ?Sized, V, S: Storage<K, V>> TreeMap<K, V, S> {
    /// Makes an empty tree. Allocates nothing before the first pair or traversal, and then a few hundred bytes.
    ///
    /// ```
    /// let tree = fyris_index::ConcurrentTree::<String, u32>::new();
    /// assert!(tree.is_empty());
    /// ```
    pub fn new() -> Self {
        Self::of(LeafTree::bare())
    }

    fn of(tree: LeafTree<S::Item>) -> Self {
        Self {
            tree,
            retired: Retired::new(),
        }
    }

    /// Weighs pairs that are replaced or removed: the function says how many bytes one owns besides itself, and what
    /// waits to be freed is bounded by these too: 256 KiB for each thread, nothing of 64 KiB and more. It runs with no
    /// lock held and must not panic.
    ///
    /// ```
    /// let tree = fyris_index::ConcurrentTree::new().with_weigher(|_, text: &Vec<u8>| text.capacity());
    /// tree.pin().insert(1, vec![0; 1 << 20]);
    /// ```
    #[must_use]
    pub fn with_weigher(mut self, weigher: fn(&K, &V) -> usize) -> Self {
        self.retired.weigh_by(weigher);
        self
    }

    /// Pins this thread and returns a view of the tree whose methods need no pin. A few nanoseconds.
    ///
    /// ```
    /// let tree = fyris_index::ConcurrentTree::new();
    /// let pinned = tree.pin();
    /// pinned.insert(1, "value");
    /// assert_eq!(pinned.get(&1), Some(&"value"));
    /// ```
    #[inline]
    pub fn pin(&self) -> PinnedTree<'_, K, V, S> {
        PinnedTree::new(self, pin())
    }

    /// Returns the number of pairs; exact while no thread writes. O(processors).
    ///
    /// # Consistency
    ///
    /// As of the hash maps: [`Map::len`](crate::map::Map::len).
    ///
    /// ```
    /// let tree: fyris_index::InlineTree<u32, u32> = (0..9).map(|n| (n, n * n)).collect();
    /// assert_eq!(tree.len(), 9);
    /// ```
    pub fn len(&self) -> usize {
        self.tree.len()
    }

    /// Returns whether there are no pairs; as exact as [`TreeMap::len`], and as dear: never true while there is a pair
    /// throughout.
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::new();
    /// assert!(tree.is_empty());
    /// tree.pin().insert(1, 10);
    /// assert!(!tree.is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of pairs at one moment during the call, and consistent with other operations as
    /// [`Map::exact_len`](crate::map::Map::exact_len) says. Takes long while others write without a pause.
    ///
    /// ```
    /// let tree = fyris_index::BytesTree::from([("a", 1), ("b", 2)]);
    /// assert_eq!(tree.exact_len(), 2);
    /// ```
    pub fn exact_len(&self) -> usize {
        self.tree.exact_len()
    }

    /// Returns how many bytes are allocated for the tree itself, boxed pairs not counted. O(processors).
    ///
    /// ```
    /// let tree = fyris_index::InlineTree::new();
    /// let empty = tree.memory();
    /// (0..1000).for_each(|n| _ = tree.pin().insert(n, n));
    /// assert!(tree.memory() > empty + 1000 * 8);
    /// ```
    pub fn memory(&self) -> usize {
        self.tree.memory()
    }

    /// Returns the shape of the tree, and the adaptations that made it. O(pairs).
    ///
    /// ```
    /// let tree: fyris_index::InlineTree<u32, u32> = (0..1000).map(|n| (n, n)).collect();
    /// assert!(tree.stats().leaves > 1000 / 15);
    /// ```
    pub fn stats(&self) -> Stats {
        self.tree.stats(&pin())
    }

    /// Returns a cursor before the first pair.
    fn start<'g, P: Guard>(&'g self, pin: &'g P) -> Cursor<'g, S::Item, P> {
        Cursor::before::<K>(&self.tree, Bound::Unbounded, pin)
    }

    /// Returns a cursor behind the last pair.
    fn end<'g, P: Guard>(&'g self, pin: &'g P) -> Cursor<'g, S::Item, P> {
        Cursor::behind::<K>(&self.tree, Bound::Unbounded, pin)
    }

    #[inline]
    fn pair<'g>((key_prefix, item): (u64, &'g S::Item)) -> (S::Key<'g>, &'g V)
    where
        K: 'g,
    {
        (S::key(key_prefix, item), S::value(item))
    }
}

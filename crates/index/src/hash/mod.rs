//! `hash`: a concurrent hash table with lock-free reads and iteration in hash order.
//!
//! # Why this shape
//!
//! The 2013 paper (section 4.2.1) names three limits of the hash tables of ETS: a fixed number of bucket locks, writers
//! that keep readers of the same bucket out, and growth that proceeds one bucket at a time. And in a table larger than
//! the cache, an operation costs as much as the misses it has to wait for one after the other. So here
//!
//! * a bucket is one cache line with its own lock in it (`bucket`): as many locks as
//!   buckets, and the lock is on a line that must be fetched anyway;
//! * a reader takes no lock and writes nothing: it waits for the bucket's line, then for the line
//!   of the entry that has the right tag. Two dependent misses, whatever the size of the table;
//! * growth doubles the table, and every writer that comes along moves a few dozen buckets;
//! * the bucket number is the *top* of the hash (`word`), so the order of buckets is the order of
//!   hashes at every size, and a cursor is a key: it survives growth, shrinking and deletion.
//!
//! # A reader's view of a bucket
//!
//! A reader loads the header. If it says *moved*, the reader goes on in the next table. If not, it
//! reads the words, one by one, and follows those whose tag fits.
//!
//! ## Invariant **STABLE_SLOT**: an entry stays in its slot
//!
//! While a bucket is live, an entry stays in the slot it was put in until it is replaced there or
//! taken out; so a scan that reads every slot once cannot miss an entry that is there throughout.
//! There is one exception: when a bucket is full, a new overflow bucket takes the entry of the last
//! slot over, and a link takes its place. The overflow bucket is complete before the link is
//! published, and every scan reads the last slot before it follows the link in it: it meets the entry
//! in the slot, or the link and then the entry.
//!
//! If a scan misses a key, then, there was a moment during the scan when the key was not there, and
//! that moment is where "absent" takes effect. If it finds an entry, the load that found it is where
//! "present" takes effect.
//!
//! ## Invariant **FROZEN_BUCKET**: a bucket that has moved does not change
//!
//! A bucket is moved under its lock: its words are copied to the next table, then the header is set
//! to *moved*, and from then on no thread changes its words. A reader that saw "not moved" may read words after that:
//! it sees the bucket as it was at the freeze, which happened after the reader loaded the header. So every load of the
//! scan counts as made at its own moment or at the moment of the freeze, whichever came first; all of these lie within
//! the operation, and STABLE_SLOT applies as before. No thread touches the buckets of the next table before the bucket
//! they are filled from says *moved*: a search for a key begins at the oldest table. This also needs that a table
//! begins to move on only when it is the oldest itself (`resize`).
//!
//! # Writers
//!
//! One read-modify-write locks the bucket; a plain store unlocks it and advances its version. The
//! closure of an upsert runs between the two. If it panics, the header is restored as it was.
//! A word is published with `Release` after the entry it names was made; readers load it with
//! [`PROTECT`].
//!
//! # Reclamation
//!
//! Old arrays and unlinked overflow buckets are retired (invariant RECLAIM of
//! [`fyris_sync::reclaim`]). A moved bucket's overflow buckets are retired once it says *moved*,
//! for then no thread enters it any more. Entries are not the index's to free, until it is dropped.
//!
//! # Sizes
//!
//! The table doubles at 4.8 entries a bucket of 7 words, when about one bucket in nine has an overflow
//! bucket, and halves below 0.6. A table of `n` entries takes 13 to 27 bytes an entry, about 16 at
//! random. The smallest table is 256 bytes; an index that has never had an entry has none.

mod bucket;
mod cursor;
mod entries;
mod find;
mod resize;
mod scan;
mod table;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod upsert;
mod word;

use std::alloc::{Layout, handle_alloc_error};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use fyris_sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use fyris_sync::counter::Striped;
use fyris_sync::reclaim::{Guard, PROTECT};
use smallvec::SmallVec;

use self::bucket::Bucket;
pub(crate) use self::entries::Entries;
use self::table::Table;
pub use self::word::spread;
use crate::capacity::{CapacityError, or_panic};
use crate::made::for_all;
use crate::{Action, Batch, Build, Entry, Figures, Index, IndexOptions, Range};

/// The default hasher: fast, and seeded at random for each table.
pub type RandomState = foldhash::fast::RandomState;

/// A concurrent hash index of entries `E`. See the [module](self) for how it works.
pub struct HashIndex<E: Entry, S = RandomState> {
    /// The oldest table in use: where every operation begins. Null before the first entry comes.
    root: AtomicPtr<Table>,
    hasher: S,
    counts: Counts,
    /// The binary logarithm of the least number of buckets.
    floor: u32,
    /// Invariant: threads that share the index may put entries in that others take out.
    entries: PhantomData<fn(E) -> E>,
}

/// Counters that writers write, on a line apart from those that readers read.
#[repr(align(64))]
struct Counts {
    entries: Striped,
    /// Bytes of tables and overflow buckets.
    bytes: AtomicUsize,
}

// SAFETY: the index hands out and takes in entries from any thread; entries are handles of
// immutable things. Whether those may cross threads is what the bound says.
unsafe impl<E: Entry + Send + Sync, S: Send> Send for HashIndex<E, S> {}
// SAFETY: as above; all shared state is atomic.
unsafe impl<E: Entry + Send + Sync, S: Sync> Sync for HashIndex<E, S> {}

impl<E: Entry> HashIndex<E> {
    /// Makes an empty index with a hasher seeded at random.
    pub fn new() -> Self {
        Self::with_hasher(RandomState::default())
    }
}

impl<E: Entry, S: Default> Default for HashIndex<E, S> {
    fn default() -> Self {
        Self::with_hasher(S::default())
    }
}

impl<E: Entry, S> HashIndex<E, S> {
    /// Makes an empty index with this hasher.
    pub fn with_hasher(hasher: S) -> Self {
        Self::with_capacity_and_hasher(0, hasher)
    }

    /// Makes an empty index that holds `capacity` entries before it grows. O(1).
    ///
    /// # Panics
    ///
    /// If there is no memory for that many.
    pub fn with_capacity_and_hasher(capacity: usize, hasher: S) -> Self {
        or_panic(Self::try_with_capacity_and_hasher(capacity, hasher))
    }

    /// Makes an empty index that holds `capacity` entries before it grows; an error if there is no memory for
    /// that many.
    pub fn try_with_capacity_and_hasher(capacity: usize, hasher: S) -> Result<Self, CapacityError> {
        let mut index = Self {
            root: AtomicPtr::default(),
            hasher,
            counts: Counts {
                entries: Striped::new(),
                bytes: AtomicUsize::new(0),
            },
            floor: word::MIN_BITS,
            entries: PhantomData,
        };
        if capacity > 0 {
            let table = resize::bits_for(capacity).and_then(Table::try_fresh);
            let table = table.ok_or(CapacityError::new(capacity))?;
            if table.bits() >= resize::INFLATE_BITS {
                index.counts.entries.inflate();
            }
            index.counts.bytes = AtomicUsize::new(table.memory());
            index.root = AtomicPtr::new(Box::into_raw(table));
        }
        Ok(index)
    }

    /// Makes the present capacity the least: the table does not shrink below it.
    pub(crate) fn keep_capacity(&mut self) {
        self.floor = self.root().map_or(self.floor, Table::bits);
    }

    /// Returns the hasher.
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// Returns the oldest table in use. `None`: no entry has come yet, as an insertion sees to a table first.
    #[inline]
    fn root(&self) -> Option<&Table> {
        // PROTECT: pairs with the Release in `finish` and in `make`: the table is seen whole.
        let root = self.root.load(PROTECT);
        // SAFETY: null, or a table: the caller is pinned, and it is retired after it has ceased to be the root
        // (RECLAIM).
        unsafe { root.as_ref() }
    }

    /// Returns whether there is no table: then there has never been an entry.
    #[inline]
    pub(crate) fn is_bare(&self) -> bool {
        // Acquire: pairs with the Release in `make`.
        self.root.load(Ordering::Acquire).is_null()
    }

    /// Makes the first table. Aborts if there is no memory.
    #[cold]
    fn make(&self) -> &Table {
        let new = Table::try_new(word::MIN_BITS);
        let new = new.unwrap_or_else(|| handle_alloc_error(Layout::new::<[Bucket; 2]>()));
        let bytes = new.memory();
        let (new, null) = (Box::into_raw(new), std::ptr::null_mut());
        // AcqRel: pairs with PROTECT in `root`. Acquire: pairs with the Release of the thread that was first.
        let (success, failure) = (Ordering::AcqRel, Ordering::Acquire);
        let table = match self.root.compare_exchange(null, new, success, failure) {
            Ok(_) => {
                // Relaxed: a number.
                self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
                new
            }
            Err(first) => {
                // SAFETY: from a box, and not shared.
                drop(unsafe { Box::from_raw(new) });
                first
            }
        };
        // SAFETY: as in `root`.
        unsafe { &*table }
    }

    /// Takes all entries out; they are the caller's then.
    pub(crate) fn into_entries(self) -> Vec<E> {
        let mut entries = Vec::new();
        // Relaxed: the index is ours alone.
        let root = self.root.swap(std::ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: it was the root of this index, and is not any more.
        for table in unsafe { tables(root) } {
            let buckets = (0..table.len()).map(|i| table.nth(i));
            for bucket in buckets.filter(|bucket| !bucket.was_moved()) {
                // SAFETY: the word of an entry in the index.
                bucket.for_each(|word| entries.push(unsafe { E::from_bits(word::handle(word)) }));
                // SAFETY: no other thread can reach the bucket, and it is met once.
                unsafe { free_chain(bucket) };
            }
        }
        entries
    }

    /// Returns the number of entries; exact while no thread writes.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.counts.entries.sum()).unwrap_or(0)
    }

    /// Returns the number of bytes allocated, entries not counted.
    pub(crate) fn bytes(&self) -> usize {
        // Relaxed: a number.
        let bytes = self.counts.bytes.load(Ordering::Relaxed);
        size_of::<Self>() + bytes + self.counts.entries.memory()
    }

    /// Returns the number of entries at one moment during the call. May take long under constant
    /// writing.
    pub fn exact_len(&self) -> usize {
        usize::try_from(self.counts.entries.exact()).unwrap_or(0)
    }
}

impl<E: Entry, S: BuildHasher> HashIndex<E, S>
where
    E::Key: Hash,
{
    /// Returns the hash that this index files a key under.
    #[inline]
    pub(crate) fn hash_of<Q: Hash + ?Sized>(&self, key: &Q) -> u64 {
        word::spread(self.hasher.hash_one(key))
    }

    /// Returns the hash that this index files an entry under.
    #[inline]
    fn hash_of_entry(&self, entry: &E) -> u64 {
        word::spread(entry.hash_key(&self.hasher))
    }

    /// Returns the entry of a word of a bucket.
    #[inline]
    fn entry(word: u64) -> E {
        // SAFETY: every word that is neither empty nor a link was made of an entry's bits, and the
        // entry is alive: in the index, or taken out under this thread's pin (RECLAIM).
        unsafe { E::from_bits(word::handle(word)) }
    }
}

impl<E: Entry, S: Default> Build for HashIndex<E, S> {
    fn build(options: &IndexOptions) -> Self {
        Self::with_capacity_and_hasher(options.capacity, S::default())
    }
}

/// Reads take no lock and write no shared line; a writer locks one bucket.
impl<E: Entry + Send + Sync, S: BuildHasher + Send + Sync> Index<E> for HashIndex<E, S>
where
    E::Key: Hash + Eq + Ord,
{
    #[inline]
    fn get(&self, key: &E::Key, _: &impl Guard) -> Option<E> {
        self.find(self.hash_of(key), |e| e.has_key(key))
    }

    #[inline]
    fn upsert<R>(
        &self,
        key: &E::Key,
        pin: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        self.upsert_hashed(self.hash_of(key), |e| e.has_key(key), pin, f)
    }

    fn scan(
        &self,
        range: Range<'_, E::Key>,
        want: usize,
        _: &impl Guard,
        out: &mut Batch<E>,
    ) -> bool {
        self.scan_buckets(range, want, out)
    }

    fn len(&self) -> usize {
        self.count()
    }

    fn describe(&self, _: &impl Guard) -> Figures {
        Figures::new().count("buckets", self.slots() as u64)
    }

    fn memory(&self) -> usize {
        self.bytes()
    }

    fn next_entry(&self, after: Option<&E::Key>, _: &impl Guard) -> Option<E> {
        self.first_after(after)
    }

    #[inline]
    fn prefetch_write(&self, key: &E::Key, _: &impl Guard) {
        self.prefetch(self.hash_of(key));
    }

    #[inline]
    fn prefetch_read(&self, key: &E::Key, _: &impl Guard) {
        if let Some(root) = self.root() {
            crate::prefetch::read(root.bucket(self.hash_of(key)));
        }
    }

    fn split(&self, parts: usize, _: &impl Guard, out: &mut Batch<E>) {
        self.split_at_hashes(parts, out);
    }

    fn slots(&self) -> usize {
        let _pin = fyris_sync::reclaim::pin();
        self.root().map_or(1 << word::MIN_BITS, Table::len)
    }

    fn slot(&self, slot: usize, _: &impl Guard, out: &mut Batch<E>) {
        self.slot_batch(slot, out);
    }
}

impl<E: Entry, S> Drop for HashIndex<E, S> {
    fn drop(&mut self) {
        // Relaxed: `&mut self` is ordered after everything.
        let root = self.root.load(Ordering::Relaxed);
        if self.count() == 0 {
            // Nothing is looked at that was never written. SAFETY: as below.
            return for_all(unsafe { tables(root) }, drop);
        }
        // SAFETY: the root of an index that is being dropped.
        unsafe { dispose_of_tables::<E>(root) };
    }
}

/// Disposes of all entries in a table and its successors, and of the tables.
///
/// # Safety
///
/// `table` was the root of an index that no other thread can reach, and is not its root any more.
unsafe fn dispose_of_tables<E: Entry>(table: *mut Table) {
    // SAFETY: the caller's contract.
    for_all(unsafe { tables(table) }, |table| {
        // SAFETY: as above; entries of a moved bucket are disposed of in the next table.
        for_all(0..table.len(), |i| unsafe { dispose::<E>(table.nth(i)) });
    });
}

/// Returns a table and its successors.
///
/// # Safety
///
/// `table` was the root of an index that no other thread can reach, and is not its root any more.
unsafe fn tables(mut table: *mut Table) -> impl Iterator<Item = Box<Table>> {
    std::iter::from_fn(move || {
        // SAFETY: tables come from `Box::into_raw`; those before the root were retired, the root
        // and its successor are the caller's alone.
        let owned = (!table.is_null()).then(|| unsafe { Box::from_raw(table) })?;
        table = owned
            .next()
            .map_or(std::ptr::null_mut(), |t| std::ptr::from_ref(t).cast_mut());
        Some(owned)
    })
}

/// Disposes of a bucket's entries and frees its overflow buckets, unless it has moved.
///
/// # Safety
///
/// No other thread can reach the bucket, and it is done once.
unsafe fn dispose<E: Entry>(bucket: &Bucket) {
    if bucket.was_moved() {
        return;
    }
    let mut words: SmallVec<[u64; 16]> = SmallVec::new();
    bucket.for_each(|word| words.push(word));
    // SAFETY: the caller's contract.
    unsafe { free_chain(bucket) };
    // SAFETY: words of entries in the index, which is being dropped; each is met once.
    for_all(words.into_iter(), |word| unsafe {
        E::from_bits(word::handle(word)).dispose();
    });
}

/// Frees the overflow buckets of a bucket.
///
/// # Safety
///
/// No other thread can reach the bucket, and it is done once.
unsafe fn free_chain(bucket: &Bucket) {
    let chain: SmallVec<[*mut Bucket; 4]> = bucket.overflow_chain().collect();
    for overflow in chain {
        // SAFETY: overflow buckets come from `Box::into_raw`, and this one is reached once.
        drop(unsafe { Box::from_raw(overflow) });
    }
}

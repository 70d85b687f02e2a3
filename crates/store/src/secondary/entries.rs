//! The entries of secondary indexes.

use std::ops::Bound;
use std::sync::Arc;

use fyris_index::{Action, BytesMap, BytesTree};
use fyris_sync::atomic::{AtomicU64, Ordering};
use fyris_sync::reclaim::Guard;
use smallvec::SmallVec;

use super::Definition;
use super::unique::Claim;
use crate::error::{Error, Result};
use crate::ops::Span;

/// The secondary indexes of a content, in the order in which they were asked for.
pub(crate) struct Secondaries {
    all: Box<[Arc<Secondary>]>,
    /// Whether writes are to keep any of them unique.
    has_unique: bool,
}

/// A secondary index of a content.
pub(crate) struct Secondary {
    pub(crate) definition: Arc<Definition>,
    entries: BytesTree<IndexEntry>,
    /// The values that writes of a unique index are about to bring (CLAIMED).
    claims: BytesMap<Claim>,
}

/// What is known of a value under a key.
struct IndexEntry {
    /// The objects that have it; zero once it is DEAD.
    holders: AtomicU64,
    /// The length of the value: it may begin like another one.
    split: usize,
}

impl IndexEntry {
    fn new(split: usize) -> IndexEntry {
        IndexEntry {
            holders: AtomicU64::new(1),
            split,
        }
    }

    /// Counts one object more; `false` if the entry is DEAD.
    fn hold(&self) -> bool {
        let counts = |holders: u64| holders > 0 || cfg!(fyris_mutant = "store_dead_counts");
        let more = |holders: u64| counts(holders).then(|| holders + 1);
        // Relaxed: who releases the last one has seen all others that were counted, as they are one word.
        self.holders
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }
}

/// The bytes of an entry.
type EntryBytes = SmallVec<[u8; 64]>;

fn joined(value: &[u8], key: &[u8]) -> EntryBytes {
    let mut bytes = EntryBytes::from_slice(value);
    bytes.extend_from_slice(key);
    bytes
}

/// The bytes of a key.
pub(crate) type KeyBytes = SmallVec<[u8; 32]>;

/// The keys of a value that are to be visited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidates {
    /// The index.
    pub(crate) of: Arc<Definition>,
    pub(crate) value: KeyBytes,
    pub(crate) keys: Span,
}

/// A value by a secondary index. Who looks up by it borrows both, and so writes nothing that others read.
#[derive(Clone, Copy)]
pub(crate) struct ByValue<'v> {
    pub(crate) of: &'v Definition,
    pub(crate) value: &'v [u8],
}

impl Candidates {
    pub(crate) fn by_value(&self) -> ByValue<'_> {
        ByValue {
            of: &self.of,
            value: &self.value,
        }
    }

    /// All keys of a value, which is encoded as a key.
    pub(crate) fn new(of: &Arc<Definition>, value: &[u8]) -> Candidates {
        Candidates {
            of: of.clone(),
            value: KeyBytes::from_slice(value),
            keys: Span::ALL,
        }
    }
}

impl Secondary {
    /// Counts an object (ENTERED).
    pub(super) fn enter(&self, value: &[u8], key: &[u8], pin: &impl Guard) {
        let count = |entry: Option<&IndexEntry>| match entry {
            Some(entry) if entry.hold() => Action::Keep,
            _ => Action::Put(IndexEntry::new(value.len())),
        };
        self.entries.compute(joined(value, key), pin, count);
    }

    /// Counts an object no more, which nobody can reach.
    pub(super) fn leave(&self, value: &[u8], key: &[u8], pin: &impl Guard) {
        let bytes = joined(value, key);
        let entry = self.entries.get(&bytes[..], pin);
        let Some(entry) = entry else {
            debug_assert!(false, "what is counted has an entry");
            return;
        };
        // Relaxed: as in `hold`.
        if entry.holders.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        self.entries.compute(bytes, pin, |now| match now {
            // Relaxed: nobody counts there again (DEAD).
            Some(now) if now.holders.load(Ordering::Relaxed) == 0 => Action::Remove,
            _ => Action::Keep,
        });
    }

    /// Returns whether a key may have a value.
    pub(crate) fn has(&self, value: &[u8], key: &[u8], pin: &impl Guard) -> bool {
        self.entries.contains_key(&joined(value, key)[..], pin)
    }

    /// Appends up to `want` of the keys of a value, with `back` from the last one, and takes them out of `keys`.
    /// Returns whether there may be more.
    pub(crate) fn read(
        &self,
        value: &[u8],
        keys: &mut Span,
        back: bool,
        want: usize,
        pin: &impl Guard,
        out: &mut Vec<KeyBytes>,
    ) -> bool {
        let bound = |key: &Bound<Vec<u8>>, open: Bound<EntryBytes>| match key {
            Bound::Included(key) => Bound::Included(joined(value, key)),
            Bound::Excluded(key) => Bound::Excluded(joined(value, key)),
            Bound::Unbounded => open,
        };
        let from = bound(&keys.from, Bound::Included(joined(value, &[])));
        let to = bound(&keys.to, behind_all(value));
        let bounds = (
            from.as_ref().map(|key| &key[..]),
            to.as_ref().map(|key| &key[..]),
        );
        let mut entries = self.entries.range::<[u8], _, _>(bounds, pin);
        let already = out.len();
        while out.len() < already + want {
            let next = match back {
                true => entries.next_back(),
                false => entries.next(),
            };
            match next {
                None => return false,
                Some((bytes, entry)) if entry.split == value.len() => {
                    out.push(KeyBytes::from_slice(&bytes[entry.split..]));
                }
                // Of a longer value that begins so.
                Some(_) => {}
            }
        }
        if let Some(last) = out.last() {
            keys.leave(last, back);
        }
        true
    }

    /// Returns the values that more than one key may have: of those the next entry begins with the value. O(n).
    pub(super) fn suspected(&self, pin: &impl Guard) -> Vec<KeyBytes> {
        let (mut suspected, mut last) = (Vec::new(), None::<&[u8]>);
        for (bytes, entry) in self.entries.iter(pin) {
            if let Some(value) = last.filter(|value| bytes.starts_with(value)) {
                suspected.push(KeyBytes::from_slice(value));
            }
            last = Some(&bytes[..entry.split]);
        }
        suspected
    }

    /// Returns all entries, and how many objects each counts.
    #[cfg(test)]
    pub(super) fn counted(&self, pin: &impl Guard) -> Vec<(Vec<u8>, u64)> {
        let counted = |(bytes, entry): (&[u8], &IndexEntry)| {
            // Relaxed: nobody writes.
            (bytes.to_vec(), entry.holders.load(Ordering::Relaxed))
        };
        self.entries.iter(pin).map(counted).collect()
    }

    pub(super) fn claims(&self) -> &BytesMap<Claim> {
        &self.claims
    }

    pub(super) fn memory(&self) -> usize {
        self.entries.memory() + self.claims.memory()
    }
}

/// Returns the end of all bytes that begin with these.
fn behind_all(bytes: &[u8]) -> Bound<EntryBytes> {
    let mut end = EntryBytes::from_slice(bytes);
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return Bound::Excluded(end);
        }
    }
    Bound::Unbounded
}

impl Secondaries {
    pub(crate) fn new<'d>(
        definitions: impl IntoIterator<Item = &'d Arc<Definition>>,
    ) -> Secondaries {
        let of = |definition: &Arc<Definition>| {
            Arc::new(Secondary {
                definition: definition.clone(),
                entries: BytesTree::new(),
                claims: BytesMap::new(),
            })
        };
        let all: Box<[_]> = definitions.into_iter().map(of).collect();
        Secondaries {
            has_unique: all.iter().any(|one| one.definition.unique),
            all,
        }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Secondary>> {
        self.all.iter()
    }

    /// Returns whether writes are to keep any of them unique.
    #[inline]
    pub(crate) fn has_unique(&self) -> bool {
        self.has_unique
    }

    /// Lets writes keep unique what is to be, or not: of a content that nobody else has.
    pub(crate) fn keep_unique(&mut self, keep: bool) {
        self.has_unique = keep && self.unique().next().is_some();
    }

    /// Returns the unique ones, and their positions.
    pub(super) fn unique(&self) -> impl Iterator<Item = (usize, &Arc<Secondary>)> {
        let all = self.iter().enumerate();
        all.filter(|(_, secondary)| secondary.definition.unique)
    }

    /// Returns the one at a position.
    pub(super) fn at(&self, at: usize) -> &Secondary {
        &self.all[at]
    }

    /// Returns the one that is defined so, if it is among them.
    pub(crate) fn of(&self, definition: &Definition) -> Option<&Arc<Secondary>> {
        self.iter()
            .find(|secondary| *secondary.definition == *definition)
    }

    /// Returns the definition of this name.
    pub(crate) fn named(&self, name: &str) -> Result<&Arc<Definition>> {
        let mut all = self.definitions();
        let found = all.find(|definition| definition.name.as_str() == name);
        found.ok_or_else(|| Error::NoSecondaryIndex(name.to_owned()))
    }

    /// Returns what they are of.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.iter().map(|secondary| &secondary.definition)
    }

    /// Returns the number of bytes allocated for them.
    pub(crate) fn memory(&self) -> usize {
        self.iter().map(|secondary| secondary.memory()).sum()
    }
}

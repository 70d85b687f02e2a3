//! Atoms: names interned once for the life of the program.
//!
//! An [`Atom`] is a 32-bit number; two atoms are equal when their numbers are. Names are never forgotten, as in Erlang,
//! so their number is bounded by [`MAX_ATOMS`]: hostile input can fill the table and then gets
//! [`AtomError::TableFull`], it cannot eat the memory.
//!
//! # From number to name: without locks
//!
//! Comparing, printing and sorting need the name of a number, often. Names are kept in chunks that never move: chunk
//! `c` holds `64 << c` of them, so 15 chunks hold all that can be and a program with few atoms pays for few. A slot is
//! written once, by the thread that holds the table's lock, before any thread gets the number.
//!
//! - **NAMED_BEFORE_NUMBERED**: a thread that holds an `Atom` can read its slot. The number came to it from `new` or
//!   `from_id` in its own thread, whose lock or `Acquire` load saw the slot written, or from another thread by a way
//!   that synchronises (anything that moves a value between threads does).
//!
//! # From name to number: readers share
//!
//! Names are spread over 16 tables by hash, each behind a reader-writer lock. A known name (almost always) takes the
//! shared side; only a new one takes the exclusive side of one table, and then the lock that hands out numbers. A
//! thread that forks the process holds them all meanwhile (`fork.rs`).

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

use rapidhash::fast::RandomState;

use crate::fork;

/// An interned name of at most 255 characters: a small number in this process.
///
/// `==` and hashing take the number; Erlang's order, by name, is in [`Term::cmp_order`](crate::Term::cmp_order).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Atom(u32);

/// Why a name is no atom.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AtomError {
    /// Longer than 255 characters.
    #[error("an atom of {0} characters: at most 255 are allowed")]
    TooLong(usize),
    /// There are [`MAX_ATOMS`] atoms already.
    #[error("no more atoms: the table holds {MAX_ATOMS} names, and none is ever forgotten")]
    TableFull,
}

/// The most characters in an atom.
pub const MAX_ATOM_CHARS: usize = 255;

/// The most atoms in a process, as in OTP by default.
pub const MAX_ATOMS: usize = 1 << 20;

/// Of these the last are for the words of the program ([`Atom::word`]), so that a table that input has filled fails
/// calls that bring new names, and no others.
const WORDS: usize = 1 << 12;

/// Slots in the first chunk; every other one has twice as many as the one before.
const FIRST_CHUNK: usize = 64;

/// 64 * (2^15 - 1) slots: enough for [`MAX_ATOMS`].
const CHUNKS: usize = 15;

const SHARDS: usize = 16;

type Slot = OnceLock<&'static str>;
type ByName = HashMap<&'static str, u32, RandomState>;

struct Table {
    chunks: [OnceLock<Box<[Slot]>>; CHUNKS],
    /// The number of numbers given out.
    count: AtomicU32,
    /// Held while a number is given out.
    growing: Mutex<()>,
    shards: [RwLock<ByName>; SHARDS],
    hasher: RandomState,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    fork::watch();
    Table::new()
});

/// The locks of all names; nobody else has a number or gives one out while they are held.
pub(crate) type NamesHeld = [RwLockWriteGuard<'static, ByName>; SHARDS];

/// Locks all names, in the order of their tables: nobody holds one and waits for another.
pub(crate) fn hold() -> NamesHeld {
    let locked =
        |shard: &'static RwLock<ByName>| shard.write().unwrap_or_else(PoisonError::into_inner);
    TABLE.shards.each_ref().map(locked)
}

/// Returns the chunk of a number and the place in it.
fn place(id: u32) -> (usize, usize) {
    let from_first = id as usize + FIRST_CHUNK;
    let chunk = (from_first / FIRST_CHUNK).ilog2() as usize;
    (chunk, from_first - (FIRST_CHUNK << chunk))
}

impl Table {
    fn new() -> Table {
        let hasher = RandomState::new();
        Table {
            chunks: [const { OnceLock::new() }; CHUNKS],
            count: AtomicU32::new(0),
            growing: Mutex::new(()),
            shards: std::array::from_fn(|_| RwLock::new(HashMap::with_hasher(hasher))),
            hasher,
        }
    }

    fn shard(&self, name: &str) -> &RwLock<ByName> {
        &self.shards[self.hasher.hash_one(name) as usize % SHARDS]
    }

    /// Returns the number of a name that has one.
    fn find(&self, name: &str) -> Option<u32> {
        // A thread that panicked (for want of memory) left the map whole: nothing is half done in it.
        let names = self.shard(name).read();
        let names = names.unwrap_or_else(PoisonError::into_inner);
        names.get(name).copied()
    }

    /// Returns the number of a name; it gets one if fewer than `most` were given out.
    fn intern(&self, name: &str, most: usize) -> Result<u32, AtomError> {
        if let Some(id) = self.find(name) {
            return Ok(id);
        }
        let chars = name.chars().count();
        if chars > MAX_ATOM_CHARS {
            return Err(AtomError::TooLong(chars));
        }
        let names = self.shard(name).write();
        let mut names = names.unwrap_or_else(PoisonError::into_inner);
        if let Some(&id) = names.get(name) {
            // Another thread was faster.
            return Ok(id);
        }
        let (id, name) = self.append(name, most)?;
        names.insert(name, id);
        Ok(id)
    }

    /// Gives `name`, which has no number yet, the next one.
    fn append(&self, name: &str, most: usize) -> Result<(u32, &'static str), AtomError> {
        let _growing = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        // Relaxed: `growing` is held, and only its holders write.
        let id = self.count.load(Ordering::Relaxed);
        if id as usize >= most {
            return Err(AtomError::TableFull);
        }
        let (chunk, at) = place(id);
        let slots = self.chunks[chunk]
            .get_or_init(|| (0..FIRST_CHUNK << chunk).map(|_| Slot::new()).collect());
        let name: &'static str = Box::leak(name.into());
        // Empty so far: slots are filled here only, with `growing` held, one for each number.
        let _ = slots[at].set(name);
        // Release: pairs with the Acquire in `is_known`: a thread that sees the count sees the slot.
        self.count.store(id + 1, Ordering::Release);
        Ok((id, name))
    }

    fn name(&self, id: u32) -> Option<&'static str> {
        let (chunk, at) = place(id);
        // Acquire, inside `OnceLock::get`: pairs with the Release inside `OnceLock::set`, which `append` calls.
        self.chunks.get(chunk)?.get()?.get(at)?.get().copied()
    }

    /// Returns whether this number was given out.
    fn is_known(&self, id: u32) -> bool {
        // Acquire: pairs with the Release in `append`.
        id < self.count.load(Ordering::Acquire)
    }
}

impl Atom {
    /// Interns `name`. O(length); a name that is known takes no exclusive lock.
    ///
    /// # Errors
    ///
    /// [`AtomError::TooLong`] beyond 255 characters (not bytes); [`AtomError::TableFull`] for a new name when there
    /// are [`MAX_ATOMS`], but for some thousand that are kept for [`Atom::word`].
    pub fn new(name: &str) -> Result<Atom, AtomError> {
        TABLE.intern(name, MAX_ATOMS - WORDS).map(Atom)
    }

    /// Returns the atom of a word of the program itself, for which there is room when input has filled the table.
    ///
    /// # Panics
    ///
    /// If the name has more than 255 characters, or is new and there are [`MAX_ATOMS`].
    pub fn word(name: &str) -> Atom {
        match TABLE.intern(name, MAX_ATOMS) {
            Ok(id) => Atom(id),
            Err(error) => panic!("the word {name:?}: {error}"),
        }
    }

    /// Returns the atom of a name that has been interned. Interns nothing.
    pub fn known(name: &str) -> Option<Atom> {
        TABLE.find(name).map(Atom)
    }

    /// Returns the name. O(1), without locks.
    pub fn as_str(self) -> &'static str {
        // NAMED_BEFORE_NUMBERED: the slot is there.
        TABLE.name(self.0).unwrap_or_default()
    }

    /// Returns the number that stands for the name in this process.
    pub fn id(self) -> u32 {
        self.0
    }

    /// Returns the atom with this number, if one was interned. O(1), without locks.
    pub fn from_id(id: u32) -> Option<Atom> {
        TABLE.is_known(id).then_some(Atom(id))
    }

    /// Returns the number of atoms.
    pub fn count() -> usize {
        // Relaxed: a figure, not a permission to read.
        TABLE.count.load(Ordering::Relaxed) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fill_the_chunks_without_gaps() {
        let mut expected = (0, 0);
        for id in 0..100_000 {
            assert_eq!(place(id), expected, "{id}");
            expected.1 += 1;
            if expected.1 == FIRST_CHUNK << expected.0 {
                expected = (expected.0 + 1, 0);
            }
        }
        assert!(place(MAX_ATOMS as u32 - 1).0 < CHUNKS);
    }

    #[test]
    fn one_name_has_one_number() {
        let (a, b) = (
            Atom::new("one name").unwrap(),
            Atom::new("another").unwrap(),
        );
        assert_eq!(a, Atom::new("one name").unwrap());
        assert_ne!(a, b);
        assert_eq!((a.as_str(), b.as_str()), ("one name", "another"));
        assert_eq!(Atom::from_id(a.id()), Some(a));
        assert_eq!(Atom::from_id(u32::MAX), None);
    }

    #[test]
    fn length_is_counted_in_characters() {
        assert!(Atom::new(&"日".repeat(255)).is_ok());
        assert_eq!(Atom::new(&"a".repeat(256)), Err(AtomError::TooLong(256)));
    }

    #[test]
    fn a_full_table_refuses_new_names_only() {
        let table = Table::new();
        for n in 0..100 {
            assert_eq!(table.intern(&n.to_string(), 100), Ok(n));
        }
        assert_eq!(table.intern("100", 100), Err(AtomError::TableFull));
        assert_eq!(table.intern("99", 100), Ok(99));
        assert_eq!((table.find("99"), table.find("100")), (Some(99), None));
        assert_eq!(table.name(64), Some("64"));
        assert!(!table.is_known(100));
    }

    #[test]
    fn threads_agree() {
        let table = Table::new();
        let names: Vec<String> = (0..2000).map(|n| format!("name {n}")).collect();
        let ids: Vec<Vec<u32>> = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..4)
                .map(|worker| {
                    let (table, names) = (&table, &names);
                    scope.spawn(move || {
                        let order = (0..names.len()).map(|i| (i * 7 + worker * 500) % names.len());
                        let mut ids = vec![0; names.len()];
                        for i in order {
                            ids[i] = table.intern(&names[i], 10_000).unwrap();
                            assert_eq!(table.name(ids[i]), Some(names[i].as_str()));
                        }
                        ids
                    })
                })
                .collect();
            workers
                .into_iter()
                .map(|worker| worker.join().unwrap())
                .collect()
        });
        assert!(ids.iter().all(|theirs| *theirs == ids[0]));
        // Relaxed: the other threads have been joined.
        assert_eq!(table.count.load(Ordering::Relaxed), 2000);
    }
}

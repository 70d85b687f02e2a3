//! What the tables of a store take.

use crate::ids::{ProcessId, TableRef};
use crate::store::Store;

/// Bytes that are allocated for tables, by what they are for. See [`Store::memory`].
///
/// Memory that is free inside of the allocator is not in it, nor what was deleted or replaced and waits for the last
/// reader that may see it.
///
/// ```
/// # use fyris::{Options, Store, term};
/// # let owner = Store::new().owner();
/// # let table = owner.new_table("t", &Options::set())?;
/// table.insert_many((0..100).map(|n| term!({n, "a text that does not fit an index entry"})))?;
/// let memory = table.memory_by_kind();
/// assert!(memory.objects > 4000 && memory.total() == table.memory());
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Memory {
    /// Objects with their keys, as far as they do not lie in the index itself.
    pub objects: usize,
    /// Indexes, with the objects that lie in them, and what each table needs besides.
    pub indexes: usize,
}

impl Memory {
    /// Returns all of it.
    ///
    /// ```
    /// # use fyris::{Options, Store};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let memory = table.memory_by_kind();
    /// assert_eq!(memory.total(), memory.objects + memory.indexes);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn total(self) -> usize {
        self.objects + self.indexes
    }
}

impl Store {
    /// Returns the number of bytes allocated for all tables, by what they are for.
    ///
    /// O(number of tables). Each table is counted at a moment of its own, as [`Table::memory`] counts it.
    ///
    /// [`Table::memory`]: crate::Table::memory
    ///
    /// ```
    /// use fyris::{Options, Store};
    ///
    /// let store = Store::new();
    /// let owner = store.owner();
    /// assert_eq!(store.memory().total(), 0);
    /// let table = owner.new_table("t", &Options::set())?;
    /// assert_eq!(store.memory().total(), table.memory());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn memory(&self) -> Memory {
        // Nothing here depends on the process.
        let table = |table: TableRef| self.table(ProcessId(0), table).ok();
        let tables = self.all().into_iter().filter_map(table);
        tables.fold(Memory::default(), |sum, table| {
            let memory = table.memory_by_kind();
            Memory {
                objects: sum.objects + memory.objects,
                indexes: sum.indexes + memory.indexes,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Options, Store, term};

    #[test]
    fn tables_count_while_they_live() {
        let store = Store::new();
        let none = store.memory();
        assert_eq!(none.total(), 0);
        let owner = store.owner();
        let table = owner.new_table("words", &Options::set()).unwrap();
        let empty = store.memory();
        assert!(empty.indexes > 0 && empty.objects == 0, "{empty:?}");
        for n in 0..1000 {
            let object = term!({n, "a word that does not fit into the index", n});
            table.insert(&object).unwrap();
        }
        let full = store.memory();
        assert!(full.objects > 40_000, "{full:?}");
        assert_eq!(full.total(), table.memory());
        let other = owner.new_table("other", &Options::ordered_set()).unwrap();
        assert_eq!(store.memory().total(), table.memory() + other.memory());
        table.delete_all_objects().unwrap();
        assert_eq!(store.memory().objects, 0);
        drop((table, other));
        drop(owner);
        assert_eq!(store.memory(), none);
    }
}

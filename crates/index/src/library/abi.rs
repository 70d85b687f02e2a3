//! The functions of a library, as `fyris_index.h` lays them out, and calls of them.

use std::ffi::{c_int, c_void};
use std::marker::PhantomData;
use std::ptr::NonNull;

use super::Fault;

/// The version of the interface, and the symbol that has it.
pub(super) const VERSION: u32 = 1;
pub(super) const SYMBOL: &str = "fyris_index_v1";

pub(super) const ITERATION: u64 = 1;
pub(super) const ORDER: u64 = 2;
pub(super) const CONCURRENT_READERS: u64 = 4;
pub(super) const CONCURRENT_WRITERS: u64 = 8;
pub(super) const KNOWN: u64 = ITERATION | ORDER | CONCURRENT_READERS | CONCURRENT_WRITERS;

/// `fyris_index_key`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Key<'k> {
    bytes: *const u8,
    length: usize,
    pub(super) hash: u64,
    borrowed: PhantomData<&'k [u8]>,
}

impl<'k> Key<'k> {
    pub(super) fn new(bytes: &'k [u8], hash: u64) -> Self {
        Self {
            bytes: bytes.as_ptr(),
            length: bytes.len(),
            hash,
            borrowed: PhantomData,
        }
    }

    pub(super) fn bytes(&self) -> &'k [u8] {
        // SAFETY: of the slice of `new`, which is borrowed for `'k`.
        unsafe { std::slice::from_raw_parts(self.bytes, self.length) }
    }
}

type Create = unsafe extern "C" fn(usize) -> *mut c_void;
type Destroy = unsafe extern "C" fn(*mut c_void);
type Get = unsafe extern "C" fn(*mut c_void, *const Key<'_>) -> u64;
type Insert = unsafe extern "C" fn(*mut c_void, *const Key<'_>, u64) -> c_int;
type Count = unsafe extern "C" fn(*mut c_void) -> usize;
type Walk = unsafe extern "C" fn(*mut c_void, *const Key<'_>, c_int, *mut u64, usize) -> usize;

/// What begins a `fyris_index_ops` of every version.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct OpsHead {
    pub(super) version: u32,
    pub(super) size: u32,
}

/// `fyris_index_ops`. A null function is `None`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Ops {
    head: OpsHead,
    pub(super) capabilities: u64,
    create: Option<Create>,
    destroy: Option<Destroy>,
    get: Option<Get>,
    insert: Option<Insert>,
    remove: Option<Get>,
    length: Option<Count>,
    memory: Option<Count>,
    above: Option<Walk>,
    below: Option<Walk>,
}

/// The functions, those that must be there.
#[derive(Clone, Copy)]
pub(super) struct Functions {
    create: Create,
    destroy: Destroy,
    get: Get,
    insert: Insert,
    remove: Get,
    length: Count,
    memory: Option<Count>,
    above: Option<Walk>,
    below: Option<Walk>,
}

impl Ops {
    /// Returns the functions, if all are there that the capabilities ask for.
    pub(super) fn functions(&self) -> Result<Functions, Fault> {
        let (iterates, is_ordered) = (self.has(ITERATION | ORDER), self.has(ORDER));
        Ok(Functions {
            create: self.create.ok_or(Fault::NoFunction("create"))?,
            destroy: self.destroy.ok_or(Fault::NoFunction("destroy"))?,
            get: self.get.ok_or(Fault::NoFunction("get"))?,
            insert: self.insert.ok_or(Fault::NoFunction("insert"))?,
            remove: self.remove.ok_or(Fault::NoFunction("remove"))?,
            length: self.length.ok_or(Fault::NoFunction("length"))?,
            memory: self.memory,
            above: asked_for(iterates, self.above, "above")?,
            below: asked_for(is_ordered, self.below, "below")?,
        })
    }

    /// Returns whether the library declares one of these capabilities.
    pub(super) fn has(&self, capabilities: u64) -> bool {
        self.capabilities & capabilities != 0
    }
}

/// Returns a function that a capability asks for, if the library declares it.
fn asked_for(
    declared: bool,
    function: Option<Walk>,
    name: &'static str,
) -> Result<Option<Walk>, Fault> {
    match function {
        None if declared => Err(Fault::NoFunction(name)),
        function => Ok(function.filter(|_| declared)),
    }
}

/// The two directions of an iteration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

/// A table of a library.
///
/// Its methods call the library. What makes that sound is invariant CALLS of the [module](super): the functions are
/// called as the header says, and nothing that they return is followed.
pub(super) struct LibraryTable {
    functions: Functions,
    table: NonNull<c_void>,
}

// SAFETY: CALLS: the header lets calls come from any thread.
unsafe impl Send for LibraryTable {}
// SAFETY: CALLS: at the same time only those that the capabilities allow, by the locks of the index.
unsafe impl Sync for LibraryTable {}

impl LibraryTable {
    pub(super) fn create(functions: Functions, capacity: usize) -> Result<Self, Fault> {
        // SAFETY: CALLS.
        let table = unsafe { (functions.create)(capacity) };
        let table = NonNull::new(table).ok_or(Fault::NotCreated)?;
        Ok(Self { functions, table })
    }

    /// Frees the table.
    ///
    /// # Safety
    ///
    /// It is not used any more.
    pub(super) unsafe fn destroy(&self) {
        // SAFETY: CALLS; the last one, as the caller says.
        unsafe { (self.functions.destroy)(self.table.as_ptr()) }
    }

    pub(super) fn get(&self, key: &Key<'_>) -> u64 {
        // SAFETY: CALLS.
        unsafe { (self.functions.get)(self.table.as_ptr(), key) }
    }

    /// Puts a key in.
    ///
    /// # Safety
    ///
    /// The key's bytes stay until it has been removed and all threads have unpinned that are pinned then, or until the
    /// table has been destroyed or will not be used any more.
    pub(super) unsafe fn insert(&self, key: &Key<'_>, word: u64) -> c_int {
        // SAFETY: CALLS, and the caller's promise.
        unsafe { (self.functions.insert)(self.table.as_ptr(), key, word) }
    }

    pub(super) fn remove(&self, key: &Key<'_>) -> u64 {
        // SAFETY: CALLS.
        unsafe { (self.functions.remove)(self.table.as_ptr(), key) }
    }

    pub(super) fn length(&self) -> usize {
        // SAFETY: CALLS.
        unsafe { (self.functions.length)(self.table.as_ptr()) }
    }

    pub(super) fn memory(&self) -> usize {
        match self.functions.memory {
            // SAFETY: CALLS.
            Some(memory) => unsafe { memory(self.table.as_ptr()) },
            None => 0,
        }
    }

    /// Returns whether the keys can be gone through in a direction.
    pub(super) fn can_walk(&self, direction: Direction) -> bool {
        self.walk_function(direction).is_some()
    }

    /// Writes words of the keys beyond `from` and returns how many there are, as the library says; none in a direction
    /// that it does not know.
    pub(super) fn walk(
        &self,
        direction: Direction,
        (from, inclusive): (Option<&Key<'_>>, bool),
        words: &mut [u64],
    ) -> usize {
        let Some(walk) = self.walk_function(direction) else {
            return 0;
        };
        let from = from.map_or(std::ptr::null(), std::ptr::from_ref);
        let (table, inclusive) = (self.table.as_ptr(), c_int::from(inclusive));
        // SAFETY: CALLS; there is room for as many words as are asked for.
        unsafe { walk(table, from, inclusive, words.as_mut_ptr(), words.len()) }
    }

    fn walk_function(&self, direction: Direction) -> Option<Walk> {
        match direction {
            Direction::Up => self.functions.above,
            Direction::Down => self.functions.below,
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::mem::offset_of;
    use std::process::Command;

    use super::*;

    /// The header's structures are laid out as those of this file.
    #[test]
    fn the_header_has_the_same_layout() {
        let sizes = [size_of::<Key<'_>>(), size_of::<Ops>()];
        let offsets = [
            ("key", "bytes", offset_of!(Key<'_>, bytes)),
            ("key", "length", offset_of!(Key<'_>, length)),
            ("key", "hash", offset_of!(Key<'_>, hash)),
            ("ops", "version", offset_of!(Ops, head.version)),
            ("ops", "size", offset_of!(Ops, head.size)),
            ("ops", "capabilities", offset_of!(Ops, capabilities)),
            ("ops", "create", offset_of!(Ops, create)),
            ("ops", "destroy", offset_of!(Ops, destroy)),
            ("ops", "get", offset_of!(Ops, get)),
            ("ops", "insert", offset_of!(Ops, insert)),
            ("ops", "remove", offset_of!(Ops, remove)),
            ("ops", "length", offset_of!(Ops, length)),
            ("ops", "memory", offset_of!(Ops, memory)),
            ("ops", "above", offset_of!(Ops, above)),
            ("ops", "below", offset_of!(Ops, below)),
        ];
        let numbers = [
            ("FYRIS_INDEX_VERSION", u64::from(VERSION)),
            ("FYRIS_INDEX_ITERATION", ITERATION),
            ("FYRIS_INDEX_ORDER", ORDER),
            ("FYRIS_INDEX_CONCURRENT_READERS", CONCURRENT_READERS),
            ("FYRIS_INDEX_CONCURRENT_WRITERS", CONCURRENT_WRITERS),
        ];
        let mut source = format!(
            "#include <fyris_index.h>\n_Static_assert(sizeof(fyris_index_key) == {} && sizeof(fyris_index_ops) == {}, \
             \"size\");\n",
            sizes[0], sizes[1]
        );
        for (structure, field, offset) in offsets {
            source += &format!(
                "_Static_assert(offsetof(fyris_index_{structure}, {field}) == {offset}, \"{field}\");\n"
            );
        }
        for (name, number) in numbers {
            source += &format!("_Static_assert({name} == {number}, \"{name}\");\n");
        }
        let file = std::env::temp_dir().join(format!("fyris-layout-{}.c", std::process::id()));
        std::fs::write(&file, source).expect("to write");
        let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../capi/include");
        let done = Command::new("cc")
            .args([
                "-std=c11",
                "-fsyntax-only",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-I",
                include,
            ])
            .arg(&file)
            .status();
        std::fs::remove_file(&file).expect("to remove");
        assert!(done.expect("to run cc").success());
    }
}

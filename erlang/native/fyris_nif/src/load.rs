//! Loading: kinds of resources, and what must be true of the machine.
//!
//! # Upgrade, unload
//!
//! The tables live in this library's memory. So once it is loaded it stays mapped for the life of the
//! machine ([`stay`]), whatever happens to the module `fyris_nif`: purged and loaded again, it finds the same library and
//! the same tables. A *different* library (a new build under another path, or over the old file) would
//! find none of them; it refuses to take over, and the running one goes on.

use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

use rustler::sys::{ErlNifEnv, ErlNifFunc, ErlNifTerm};

use crate::sys::{Env, Layout, Type, destroy};
use crate::{calls, process, sys, tables, term, words};

/// The kinds of resources.
#[derive(PartialEq, Eq, Clone)]
pub(crate) struct Types {
    /// A table's identity.
    pub(crate) table: Type,
    /// A process that we want to hear the end of.
    pub(crate) process: Type,
    /// A large binary.
    pub(crate) blob: Type,
    /// A place in a table.
    pub(crate) cursor: Type,
    /// A query between slices.
    pub(crate) query: Type,
    /// Where a chunk begins.
    pub(crate) chunk: Type,
    /// A range between slices.
    pub(crate) range: Type,
    /// A compiled match specification.
    pub(crate) spec: Type,
}

// SAFETY: the pointers name kinds, which live as long as the machine; nothing is read through them here.
unsafe impl Send for Types {}
// SAFETY: as above.
unsafe impl Sync for Types {}

static TYPES: OnceLock<Types> = OnceLock::new();

/// The kinds of resources; there once the library is loaded.
#[inline]
pub(crate) fn types() -> &'static Types {
    TYPES.get().expect("set when the library was loaded")
}

/// What went wrong, as the exit code of `load`.
const BAD_LAYOUT: c_int = 2;
const NO_TYPES: c_int = 3;
const OTHER_LIBRARY: c_int = 4;
const PANIC: c_int = 5;

fn open_types(env: Env) -> Option<Types> {
    Some(Types {
        table: env.open_type(c"table", destroy::<tables::Held>, None)?,
        process: env.open_type(c"process", destroy::<process::Watched>, Some(process::down))?,
        blob: env.open_type(c"blob", destroy::<std::sync::Arc<[u8]>>, None)?,
        cursor: env.open_type(c"cursor", destroy::<calls::CursorPlace>, None)?,
        query: env.open_type(c"query", destroy::<calls::QueryPlace>, None)?,
        chunk: env.open_type(c"chunk", destroy::<calls::ChunkPlace>, None)?,
        range: env.open_type(c"range", destroy::<calls::RangePlace>, None)?,
        spec: env.open_type(c"match_spec", destroy::<fyris::MatchSpec>, None)?,
    })
}

fn begin(env: Env) -> c_int {
    if !Layout::probe(env) {
        return BAD_LAYOUT;
    }
    let Some(types) = open_types(env) else {
        return NO_TYPES;
    };
    // Loaded again, the machine hands out the same ones.
    if *TYPES.get_or_init(|| types.clone()) != types {
        return NO_TYPES;
    }
    sys::learn_records(env);
    sys::learn_references(env);
    words::probe(env);
    term::begin_keeping();
    stay();
    0
}

/// What tells this library from another build of it: an address in it.
fn identity() -> *mut c_void {
    std::ptr::from_ref(&TYPES).cast_mut().cast()
}

/// Keeps the library mapped for ever.
fn stay() {
    // SAFETY: asks for the file that holds this very function, and opens it once more.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(identity(), &mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NODELETE);
        }
    }
}

unsafe extern "C" fn load(env: *mut ErlNifEnv, private: *mut *mut c_void, _: ErlNifTerm) -> c_int {
    // SAFETY: the machine's environment, for this call (C); `private` is ours to set.
    unsafe {
        *private = identity();
        let env = Env::new(env);
        std::panic::catch_unwind(|| begin(env)).unwrap_or(PANIC)
    }
}

unsafe extern "C" fn upgrade(
    env: *mut ErlNifEnv,
    private: *mut *mut c_void,
    old: *mut *mut c_void,
    info: ErlNifTerm,
) -> c_int {
    // SAFETY: as in `load`; `old` is what `load` has set, in this library or another.
    unsafe {
        if *old != identity() {
            return OTHER_LIBRARY;
        }
        load(env, private, info)
    }
}

/// The description of this library that the machine asks for.
pub(crate) fn entry(
    name: &'static CStr,
    functions: &'static [ErlNifFunc],
) -> rustler::codegen_runtime::ErlNifEntry {
    let mut entry = rustler::codegen_runtime::ErlNifEntry::new(name, functions, load);
    entry.upgrade = Some(upgrade);
    entry
}

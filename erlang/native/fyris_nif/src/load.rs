//! Loading: kinds of resources, and what must be true of the machine.
//!
//! # Upgrade, unload
//!
//! The tables live in this library's memory. So once it is loaded it stays mapped for the life of the machine
//! ([`stay`]), whatever happens to the module `fyris_nif`: purged and loaded again, also by a restart of the system
//! inside the machine, it finds the same library and the same tables; a second copy of it finds the first (see
//! [`copies`]). *Another* build would find none of the tables: while there are any it refuses to be loaded, and it
//! never replaces a running one.
//!
//! # Generations
//!
//! The machine forgets the kinds of resources of a module that it has purged, and makes new ones at the next loading;
//! resources that terms refer to keep the kind that they were made with. So all kinds there ever were are known
//! ([`resource`]). Each has one resource that is never released: what the machine has no resources of it frees, and a
//! kind of another library might get the address.

use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use rustler::codegen_runtime::ErlNifEntry;
use rustler::sys::{ErlNifEnv, ErlNifFunc, ErlNifTerm};

use crate::machine::{self, Env, Term, Type, WordLayout, destroy};
use crate::{calls, copies, kind, process, tables, term};

/// The kinds of resources, as one loading of the module made them.
pub(crate) struct Types {
    /// A table's identity.
    pub(crate) table: Type,
    /// A process that we want to hear the end of.
    pub(crate) process: Type,
    /// A large binary.
    pub(crate) blob: Type,
    /// A place in a table.
    pub(crate) cursor: Type,
    /// A fold between slices.
    pub(crate) fold: Type,
    /// A query between slices.
    pub(crate) query: Type,
    /// A continuation of a limited query.
    pub(crate) chunk: Type,
    /// A range between slices.
    pub(crate) range: Type,
    /// A compiled match specification.
    pub(crate) spec: Type,
    /// The kinds of the load before.
    older: Option<&'static Types>,
}

impl Types {
    fn all(&self) -> [Type; 9] {
        [
            self.table,
            self.process,
            self.blob,
            self.cursor,
            self.fold,
            self.query,
            self.chunk,
            self.range,
            self.spec,
        ]
    }
}

static TYPES: AtomicPtr<Types> = AtomicPtr::new(std::ptr::null_mut());

fn newest_types() -> Option<&'static Types> {
    // Acquire: pairs with the store in `begin`.
    // SAFETY: what is stored there is never freed.
    unsafe { TYPES.load(Ordering::Acquire).as_ref() }
}

/// Returns the kinds of resources to be made now; there once the library is loaded.
#[inline]
pub(crate) fn types() -> &'static Types {
    newest_types().expect("set when the library was loaded")
}

/// Returns the resource of a kind that a term refers to, whenever it was made.
///
/// # Safety
///
/// Resources of that kind hold a `T`.
#[inline(always)]
pub(crate) unsafe fn resource<'t, T>(
    env: Env,
    term: Term,
    kind: impl Fn(&Types) -> Type,
) -> Option<&'t T> {
    let types = types();
    // SAFETY: the caller's contract.
    let found = unsafe { env.resource(term, kind(types)) };
    if found.is_some() || types.older.is_none() {
        return found;
    }
    std::iter::successors(types.older, |types| types.older)
        // SAFETY: as above.
        .find_map(|types| unsafe { env.resource(term, kind(types)) })
}

/// Exit codes of `load` for errors.
const BAD_LAYOUT: c_int = 2;
const NO_TYPES: c_int = 3;
const OTHER_LIBRARY: c_int = 4;
const PANIC: c_int = 5;
const OTHER_MODULE: c_int = 6;

fn open_types(env: Env) -> Option<Types> {
    Some(Types {
        table: env.open_type(c"table", destroy::<tables::TableResource>, None)?,
        process: env.open_type(c"process", destroy::<process::Watched>, Some(process::down))?,
        blob: env.open_type(c"blob", destroy::<std::sync::Arc<[u8]>>, None)?,
        cursor: env.open_type(c"cursor", destroy::<calls::CursorPlace>, None)?,
        fold: env.open_type(c"fold", destroy::<calls::FoldPlace>, None)?,
        query: env.open_type(c"query", destroy::<calls::QueryPlace>, None)?,
        chunk: env.open_type(c"chunk", destroy::<calls::ChunkPlace>, None)?,
        range: env.open_type(c"range", destroy::<calls::RangePlace>, None)?,
        spec: env.open_type(c"match_spec", destroy::<calls::CompiledSpec>, None)?,
        older: newest_types().filter(|_| !cfg!(fyris_mutant = "nif_kinds_forgotten")),
    })
}

/// What the module tells of the machine (`fyris_nif:init/0`). Aliases and ports are there for their layout to be
/// learned: no function of the machine's makes some.
pub(crate) struct Samples {
    /// Whether the machine counts by atomic instructions.
    pub(crate) native_atomics: bool,
    /// The process whose aliases they are.
    pub(crate) process: Term,
    pub(crate) aliases: Vec<Term>,
    pub(crate) ports: Vec<Term>,
    /// The pid with number 0 and serial number 1, and those with powers of two as numbers.
    pub(crate) pids: Vec<Term>,
}

impl Samples {
    fn of(env: Env, info: Term) -> Option<Samples> {
        let &[atomics, process, aliases, ports, pids] = env.tuple(info)? else {
            return None;
        };
        Some(Samples {
            native_atomics: atomics == env.make_atom(b"native_atomics"),
            process,
            aliases: elements(env, aliases),
            ports: elements(env, ports),
            pids: elements(env, pids),
        })
    }
}

fn elements(env: Env, list: Term) -> Vec<Term> {
    let cells = std::iter::successors(env.cell(list), |&(_, rest)| env.cell(rest));
    cells.map(|(element, _)| element).collect()
}

fn begin(env: Env, info: Term) -> c_int {
    if copies::another_has_tables() {
        return OTHER_LIBRARY;
    }
    if !WordLayout::probe(env) {
        return BAD_LAYOUT;
    }
    let Some(samples) = Samples::of(env, info) else {
        return OTHER_MODULE;
    };
    let Some(types) = open_types(env) else {
        return NO_TYPES;
    };
    // Loaded over itself, the machine hands out the same ones.
    if newest_types().is_none_or(|newest| newest.all() != types.all()) {
        types.all().into_iter().for_each(machine::anchor);
        // Release: pairs with the load in `newest_types`.
        TYPES.store(Box::leak(Box::new(types)), Ordering::Release);
    }
    kind::learn(env, &samples);
    term::begin_keeping();
    0
}

/// Returns an address that tells this library from another build of it.
fn identity() -> *mut c_void {
    std::ptr::from_ref(&TYPES).cast_mut().cast()
}

/// Keeps the library mapped for ever.
pub(crate) fn stay() {
    // SAFETY: asks for the file that holds this very function, and opens it once more.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(identity(), &mut info) != 0 && !info.dli_fname.is_null() {
            libc::dlopen(info.dli_fname, libc::RTLD_NOW | libc::RTLD_NODELETE);
        }
    }
}

unsafe extern "C" fn load(
    env: *mut ErlNifEnv,
    private: *mut *mut c_void,
    info: ErlNifTerm,
) -> c_int {
    // SAFETY: the machine's environment and term, for this call (CALL); `private` is ours to set.
    unsafe {
        *private = identity();
        let env = Env::new(env);
        std::panic::catch_unwind(|| begin(env, Term::from_c(info))).unwrap_or(PANIC)
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

/// Returns the description of this library that the machine asks for, and keeps.
pub(crate) extern "C" fn entry() -> *const ErlNifEntry {
    let functions: &'static [ErlNifFunc] = Box::leak(calls::functions().into_boxed_slice());
    let mut entry = ErlNifEntry::new(c"fyris_nif", functions, load);
    entry.upgrade = Some(upgrade);
    Box::leak(Box::new(entry))
}

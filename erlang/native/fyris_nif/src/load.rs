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
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use rustler::codegen_runtime::ErlNifEntry;
use rustler::sys::{ErlNifEnv, ErlNifFunc, ErlNifTerm};

use crate::machine::{self, Env, ResourceCount, Term, Type, WordLayout, destroy};
use crate::{calls, copies, kind, process, tables, term, watch};

/// What resources of a kind of their own hold.
///
/// # Safety
///
/// The kind with this number is opened with the destroyer of the type.
pub(crate) unsafe trait Resource: Sized {
    const KIND: KindNumber;
}

/// Says which kinds of resources there are: a name for each here and for the machine, what its resources hold, and what
/// is called when a process ends that one of them monitors.
macro_rules! kinds {
    ($($kind:ident: $name:literal, $holds:ty, $down:expr;)*) => {
        /// The number of a kind of resources.
        #[derive(Clone, Copy)]
        pub(crate) enum KindNumber { $($kind),* }

        const KINDS: usize = [$(KindNumber::$kind),*].len();

        $(
            // SAFETY: the kinds are opened in the order of their numbers, this one with the type's destroyer.
            unsafe impl Resource for $holds {
                const KIND: KindNumber = KindNumber::$kind;
            }
        )*

        fn open_kinds(env: Env) -> Option<[Type; KINDS]> {
            Some([$(env.open_type($name, destroy::<$holds>, $down)?),*])
        }
    };
}

kinds! {
    Table: c"table", tables::TableResource, None;
    Process: c"process", process::Watched, Some(process::down);
    Blob: c"blob", Arc<[u8]>, None;
    Cursor: c"cursor", calls::CursorPlace, None;
    Query: c"query", calls::QueryPlace, None;
    Chunk: c"chunk", calls::ChunkPlace, None;
    Range: c"range", calls::RangePlace, None;
    Spec: c"match_spec", calls::CompiledSpec, None;
    Transaction: c"transaction", calls::TransactionPlace, None;
    Subscription: c"subscription", watch::SubscriptionPlace, Some(watch::down);
}

/// The kinds of resources, as one loading of the module made them.
struct Types {
    kinds: [Type; KINDS],
    /// The kinds of the load before.
    older: Option<&'static Types>,
}

static TYPES: AtomicPtr<Types> = AtomicPtr::new(std::ptr::null_mut());

fn newest_types() -> Option<&'static Types> {
    // Acquire: pairs with the store in `begin`.
    // SAFETY: what is stored there is never freed.
    unsafe { TYPES.load(Ordering::Acquire).as_ref() }
}

/// Returns the kinds of resources to be made now; there once the library is loaded.
#[inline]
fn types() -> &'static Types {
    newest_types().expect("set when the library was loaded")
}

/// Returns the resource of a kind that a term refers to, whenever it was made.
#[inline(always)]
pub(crate) fn resource<'t, T: Resource>(env: Env, term: Term) -> Option<&'t T> {
    let types = types();
    // SAFETY: resources of the kind hold a `T`, or its destroyer would not be theirs.
    let of = |types: &Types| unsafe { env.resource(term, types.kinds[T::KIND as usize]) };
    let found = of(types);
    if found.is_some() || types.older.is_none() {
        return found;
    }
    std::iter::successors(types.older, |types| types.older).find_map(of)
}

/// Makes a resource that holds `value`.
pub(crate) fn new_resource<T: Resource>(value: T) -> ResourceCount {
    // SAFETY: the kind has the destroyer of the type.
    unsafe { ResourceCount::new(types().kinds[T::KIND as usize], value) }
}

/// Makes a resource that holds `value`; returns a term that refers to it.
pub(crate) fn wrap<T: Resource>(env: Env, value: T) -> Term {
    new_resource(value).term(env)
}

/// Exit codes of `load` for errors.
const BAD_LAYOUT: c_int = 2;
const NO_TYPES: c_int = 3;
const OTHER_LIBRARY: c_int = 4;
const PANIC: c_int = 5;
const OTHER_MODULE: c_int = 6;

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
            aliases: env.elements(aliases).collect(),
            ports: env.elements(ports).collect(),
            pids: env.elements(pids).collect(),
        })
    }
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
    let Some(kinds) = open_kinds(env) else {
        return NO_TYPES;
    };
    // Loaded over itself, the machine hands out the same ones.
    if newest_types().is_none_or(|newest| newest.kinds != kinds) {
        kinds.into_iter().for_each(machine::anchor);
        let older = newest_types().filter(|_| !cfg!(fyris_mutant = "nif_kinds_forgotten"));
        // Release: pairs with the load in `newest_types`.
        TYPES.store(
            Box::leak(Box::new(Types { kinds, older })),
            Ordering::Release,
        );
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

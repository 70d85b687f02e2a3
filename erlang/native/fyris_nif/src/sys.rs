//! The one door to the Erlang machine's C interface.
//!
//! # Invariant
//!
//! **CALL**: an [`Env`] is made when the machine calls us and is used only until we return, on that thread; a [`Term`]
//! is used only with the `Env` it came with. Nothing else of this crate keeps either. So every call below passes a live
//! environment and a term that belongs to it, which is all that the C functions ask for; CALL in the comments stands
//! for this paragraph.
//!
//! # Words
//!
//! Small integers, atoms and local pids are single words with a tag in the low bits, and asking the machine what they
//! are costs more than looking. The tags have been the same since OTP R12, but they are no promise:
//! [`WordLayout::probe`] compares them, when the library is loaded, with what the machine makes of known values. If
//! they ever differ, the library refuses to load and says so.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use fyris_sync::counter::Striped;
use rustler::sys as raw;
pub(crate) use rustler::sys::{ErlNifEnv, ErlNifPid, ErlNifTerm, ErlNifTermType};

/// A term of the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Term(pub(crate) usize);

const IMMEDIATE: usize = 0xF;
const SMALL: usize = 0xF;
const PID: usize = 0x3;
const PORT: usize = 0x7;
const ATOM_MASK: usize = 0x3F;
const ATOM: usize = 0xB;
/// Bits of a pointer that are none of the address.
pub(crate) const POINTER_TAGS: usize = 0x7;
/// Bits of a word that tell pointers, and those of pointers to a header.
pub(crate) const PRIMARY: usize = 0x3;
pub(crate) const BOXED: usize = 0x2;
/// Bits of a header that tell the kind of what follows.
pub(crate) const SUBTAG: usize = 0x3F;
/// Of no header, whose last bits are zero.
const NO_RECORDS: usize = 1;
/// The subtag of the headers of native records.
static RECORD: AtomicUsize = AtomicUsize::new(NO_RECORDS);

/// Small integers have 60 bits.
const SMALL_BITS: u32 = 60;

impl Term {
    /// Returns the value of a small integer.
    #[inline(always)]
    pub(crate) fn small(self) -> Option<i64> {
        (self.0 & IMMEDIATE == SMALL).then_some(self.0 as i64 >> 4)
    }

    /// Returns whether it is a small integer or an atom: a word that is the same term everywhere on the node.
    #[inline(always)]
    pub(crate) fn is_small_or_atom(self) -> bool {
        self.small().is_some() || self.atom_index().is_some()
    }

    /// Returns whether it points to words with a header.
    pub(crate) fn is_boxed(self) -> bool {
        self.0 & PRIMARY == BOXED
    }

    /// Returns the place in the machine's atom table.
    #[inline(always)]
    pub(crate) fn atom_index(self) -> Option<usize> {
        (self.0 & ATOM_MASK == ATOM).then_some(self.0 >> 6)
    }

    /// Returns the word that identifies a local process.
    #[inline(always)]
    pub(crate) fn local_pid(self) -> Option<u64> {
        (self.0 & IMMEDIATE == PID).then_some(self.0 as u64 >> 4)
    }

    /// Returns the local process that [`Term::local_pid`] identified so.
    #[inline(always)]
    pub(crate) fn from_local_pid(id: u64) -> Term {
        Term((id << 4) as usize | PID)
    }

    /// Returns the word that identifies a local port.
    pub(crate) fn local_port(self) -> Option<u64> {
        (self.0 & IMMEDIATE == PORT).then_some(self.0 as u64 >> 4)
    }

    /// Returns the local port that [`Term::local_port`] identified so.
    pub(crate) fn from_local_port(id: u64) -> Term {
        Term((id << 4) as usize | PORT)
    }

    /// Returns a small integer; `None` if it is too large to be one.
    #[inline(always)]
    pub(crate) fn from_small(value: i64) -> Option<Term> {
        let fits = (value << (64 - SMALL_BITS)) >> (64 - SMALL_BITS) == value;
        fits.then_some(Term((value << 4) as usize | SMALL))
    }

    /// Returns whether it is a native record, of which the machine itself does not tell the kind: OTP 29 ends at once
    /// when it is asked.
    #[inline(always)]
    fn is_record(self) -> bool {
        // Relaxed: written when the library is loaded, before any call.
        let record = RECORD.load(Ordering::Relaxed);
        record != NO_RECORDS && self.0 & PRIMARY == BOXED && self.subtag() == record
    }

    /// Returns the kind of a boxed term, from its header.
    #[inline(always)]
    pub(crate) fn subtag(self) -> usize {
        let header: *const usize = std::ptr::with_exposed_provenance(self.0 & !POINTER_TAGS);
        // SAFETY: callers pass boxed terms, which are pointers, with a tag in the low bits, to a word at least.
        unsafe { header.read() & SUBTAG }
    }

    #[inline(always)]
    pub(crate) fn c(self) -> ErlNifTerm {
        // SAFETY: both are one word, `repr(transparent)`.
        unsafe { std::mem::transmute(self.0) }
    }

    #[inline(always)]
    pub(crate) fn from_c(term: ErlNifTerm) -> Term {
        // SAFETY: as in `c`.
        Term(unsafe { std::mem::transmute::<ErlNifTerm, usize>(term) })
    }

    /// Returns the pid as the machine's C interface has it.
    pub(crate) fn as_pid(self) -> ErlNifPid {
        // SAFETY: `ErlNifPid` is one word, the pid's; callers pass local pids.
        unsafe { std::mem::transmute(self.0) }
    }
}

/// An environment. See invariant CALL.
#[derive(Clone, Copy)]
pub(crate) struct Env(*mut ErlNifEnv);

/// A block that the machine counts references to, and its type.
pub(crate) type Type = *const raw::ErlNifResourceType;

/// The destructor of a resource, called when nothing refers to it any more.
pub(crate) type Destroy = unsafe extern "C" fn(*mut ErlNifEnv, *mut c_void);
/// The function that is called when a monitored process ends.
pub(crate) type Down =
    unsafe extern "C" fn(*mut ErlNifEnv, *mut c_void, *const ErlNifPid, *const raw::ErlNifMonitor);
/// A function as the machine calls it.
pub(crate) type Entry =
    unsafe extern "C" fn(*mut ErlNifEnv, c_int, *const ErlNifTerm) -> ErlNifTerm;

impl Env {
    /// # Safety
    ///
    /// The machine has just given it to us, and the result is not kept (CALL).
    #[inline(always)]
    pub(crate) unsafe fn new(env: *mut ErlNifEnv) -> Env {
        Env(env)
    }

    /// Returns the pointer.
    pub(crate) fn as_ptr(self) -> *mut ErlNifEnv {
        self.0
    }

    /// Returns the kind of a term. Native records pass for funs: like those they go by way of the external format,
    /// which refuses them.
    #[inline]
    pub(crate) fn kind(self, term: Term) -> ErlNifTermType {
        if term.is_record() {
            return ErlNifTermType::ERL_NIF_TERM_TYPE_FUN;
        }
        // SAFETY: the term belongs to the call under way (CALL); it is no record, and the machine knows every other
        // kind.
        unsafe { raw::enif_term_type(self.0, term.c()) }
    }

    /// Returns the elements of a tuple.
    #[inline]
    pub(crate) fn tuple<'t>(self, term: Term) -> Option<&'t [Term]> {
        let (mut arity, mut first) = (0, std::ptr::null());
        // SAFETY: the term belongs to the call under way (CALL), and the array lies in it and does not move during the
        // call.
        unsafe {
            if raw::enif_get_tuple(self.0, term.c(), &mut arity, &mut first) == 0 {
                return None;
            }
            if arity == 0 {
                return Some(&[]);
            }
            Some(std::slice::from_raw_parts(first.cast(), arity as usize))
        }
    }

    /// Returns the first element of a list, and the rest.
    #[inline]
    pub(crate) fn cell(self, term: Term) -> Option<(Term, Term)> {
        let (mut head, mut tail) = (term.c(), term.c());
        // SAFETY: the term belongs to the call under way (CALL); both out words are ours, and read only when set.
        let found = unsafe { raw::enif_get_list_cell(self.0, term.c(), &mut head, &mut tail) };
        (found != 0).then(|| (Term::from_c(head), Term::from_c(tail)))
    }

    /// Returns whether it is `[]`.
    #[inline]
    pub(crate) fn is_nil(self, term: Term) -> bool {
        // SAFETY: the term belongs to the call under way (CALL), and is only looked at.
        unsafe { raw::enif_is_empty_list(self.0, term.c()) != 0 }
    }

    /// Returns the bytes of a binary.
    #[inline]
    pub(crate) fn binary<'t>(self, term: Term) -> Option<&'t [u8]> {
        let mut binary = MaybeUninit::uninit();
        // SAFETY: the term belongs to the call under way (CALL), and its bytes live as long as it does. `binary` is
        // initialised where the machine says that it was a binary.
        unsafe {
            if raw::enif_inspect_binary(self.0, term.c(), binary.as_mut_ptr()) == 0 {
                return None;
            }
            let binary: raw::ErlNifBinary = binary.assume_init();
            if binary.size == 0 {
                return Some(&[]);
            }
            Some(std::slice::from_raw_parts(binary.data, binary.size))
        }
    }

    /// Returns a float.
    #[inline]
    pub(crate) fn float(self, term: Term) -> Option<f64> {
        let mut value = 0.0;
        // SAFETY: the term belongs to the call under way (CALL); the out word is ours, and read only when set.
        let found = unsafe { raw::enif_get_double(self.0, term.c(), &mut value) };
        (found != 0).then_some(value)
    }

    /// Returns an integer of 64 bits.
    #[inline]
    pub(crate) fn integer(self, term: Term) -> Option<i64> {
        if let Some(value) = term.small() {
            return Some(value);
        }
        let mut value = 0;
        // SAFETY: the term belongs to the call under way (CALL); the out word is ours, and read only when set.
        let found = unsafe { raw::enif_get_long(self.0, term.c(), &mut value) };
        (found != 0).then_some(value)
    }

    /// Returns the number of pairs of a map.
    pub(crate) fn map_size(self, term: Term) -> Option<usize> {
        let mut size = 0;
        // SAFETY: the term belongs to the call under way (CALL); the out word is ours, and read only when set.
        let found = unsafe { raw::enif_get_map_size(self.0, term.c(), &mut size) };
        (found != 0).then_some(size)
    }

    /// Returns the keys and values of a map. Not inlined: its stack space would be needed at every level of a deep
    /// term.
    #[inline(never)]
    pub(crate) fn pairs(self, map: Term) -> Vec<(Term, Term)> {
        let mut pairs = Vec::with_capacity(self.map_size(map).unwrap_or(0));
        let mut iter = MaybeUninit::uninit();
        let head = raw::ErlNifMapIteratorEntry::ERL_NIF_MAP_ITERATOR_HEAD;
        // SAFETY: the map belongs to the call under way (CALL), as do its keys and values; the iterator is initialised
        // by the call that says so, and destroyed below.
        unsafe {
            if raw::enif_map_iterator_create(self.0, map.c(), iter.as_mut_ptr(), head) == 0 {
                return pairs;
            }
            let iter: *mut raw::ErlNifMapIterator = iter.as_mut_ptr();
            let (mut key, mut value) = (map.c(), map.c());
            while raw::enif_map_iterator_get_pair(self.0, iter, &mut key, &mut value) != 0 {
                pairs.push((Term::from_c(key), Term::from_c(value)));
                raw::enif_map_iterator_next(self.0, iter);
            }
            raw::enif_map_iterator_destroy(self.0, iter);
        }
        pairs
    }

    /// Returns the name of an atom whose characters are Latin-1, in Latin-1; `None` for other atoms.
    pub(crate) fn latin1_name(self, term: Term) -> Option<Vec<u8>> {
        let mut name = [0u8; 256];
        let latin1 = raw::ErlNifCharEncoding::ERL_NIF_LATIN1;
        // SAFETY: the term belongs to the call under way (CALL); 255 characters and the final zero fit.
        let length =
            unsafe { raw::enif_get_atom(self.0, term.c(), name.as_mut_ptr().cast(), 256, latin1) };
        (length > 0).then(|| name[..length as usize - 1].to_vec())
    }

    /// Returns the atom with this name in Latin-1, of at most 255 characters.
    pub(crate) fn make_atom(self, latin1: &[u8]) -> Term {
        // SAFETY: the environment is that of the call under way (CALL); the machine copies as many bytes as the slice
        // has.
        Term::from_c(unsafe {
            raw::enif_make_atom_len(self.0, latin1.as_ptr().cast::<c_char>(), latin1.len())
        })
    }

    /// Makes an integer.
    #[inline]
    pub(crate) fn make_int(self, value: i64) -> Term {
        // SAFETY: the environment is that of the call under way (CALL), and the new term is used with it.
        Term::from_small(value)
            .unwrap_or_else(|| Term::from_c(unsafe { raw::enif_make_long(self.0, value) }))
    }

    /// Makes a float, which must be finite.
    pub(crate) fn make_float(self, value: f64) -> Term {
        // SAFETY: the environment is that of the call under way (CALL), and the new term is used with it.
        Term::from_c(unsafe { raw::enif_make_double(self.0, value) })
    }

    /// Makes a binary from a copy of the bytes.
    #[inline]
    pub(crate) fn make_binary(self, bytes: &[u8]) -> Term {
        let mut term = MaybeUninit::uninit();
        // SAFETY: the environment is that of the call under way (CALL); the machine sets `term`, and gives room for as
        // many bytes as are copied there.
        unsafe {
            let room = raw::enif_make_new_binary(self.0, bytes.len(), term.as_mut_ptr());
            room.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            Term::from_c(term.assume_init())
        }
    }

    /// Makes a tuple.
    #[inline]
    pub(crate) fn make_tuple(self, elements: &[Term]) -> Term {
        // SAFETY: the elements belong to the call under way (CALL); `Term` is a transparent word, so they are an array
        // of as many words as is said.
        Term::from_c(unsafe {
            raw::enif_make_tuple_from_array(
                self.0,
                elements.as_ptr().cast(),
                elements.len() as c_uint,
            )
        })
    }

    /// Makes `[Head | Tail]`.
    #[inline]
    pub(crate) fn make_cell(self, head: Term, tail: Term) -> Term {
        // SAFETY: head and tail belong to the call under way (CALL).
        Term::from_c(unsafe { raw::enif_make_list_cell(self.0, head.c(), tail.c()) })
    }

    /// Makes a proper list.
    #[inline]
    pub(crate) fn make_list(self, elements: &[Term]) -> Term {
        // SAFETY: the elements belong to the call under way (CALL); `Term` is a transparent word, so they are an array
        // of as many words as is said.
        Term::from_c(unsafe {
            raw::enif_make_list_from_array(
                self.0,
                elements.as_ptr().cast(),
                elements.len() as c_uint,
            )
        })
    }

    /// Makes a map of keys that are all different.
    pub(crate) fn make_map(self, keys: &[Term], values: &[Term]) -> Option<Term> {
        debug_assert_eq!(keys.len(), values.len());
        let mut map = MaybeUninit::uninit();
        // SAFETY: keys and values belong to the call under way (CALL); `Term` is a transparent word, so both are arrays
        // of as many words as is said. `map` is initialised where the machine says that it made one.
        unsafe {
            let made = raw::enif_make_map_from_arrays(
                self.0,
                keys.as_ptr().cast(),
                values.as_ptr().cast(),
                keys.len(),
                map.as_mut_ptr(),
            );
            (made != 0).then(|| Term::from_c(map.assume_init()))
        }
    }

    /// Returns a hash of a term that is the same only on this machine, as long as it runs.
    #[inline]
    pub(crate) fn hash(self, term: Term) -> u64 {
        // SAFETY: the term belongs to the call under way (CALL).
        unsafe { raw::enif_hash(raw::ErlNifHash::ERL_NIF_INTERNAL_HASH, term.c(), 0) }
    }

    /// Returns a term in the external format.
    pub(crate) fn write_external(self, term: Term) -> Option<Vec<u8>> {
        let mut binary = MaybeUninit::uninit();
        // SAFETY: the term belongs to the call under way (CALL); the binary is initialised where the machine says that
        // it made one, and is ours to release, once, here.
        unsafe {
            if raw::enif_term_to_binary(self.0, term.c(), binary.as_mut_ptr()) == 0 {
                return None;
            }
            let mut binary: raw::ErlNifBinary = binary.assume_init();
            let bytes = std::slice::from_raw_parts(binary.data, binary.size).to_vec();
            raw::enif_release_binary(&mut binary);
            Some(bytes)
        }
    }

    /// Returns the term of an external format.
    pub(crate) fn read_external(self, bytes: &[u8]) -> Option<Term> {
        let mut term = MaybeUninit::uninit();
        // SAFETY: the environment is that of the call under way (CALL); the machine reads as many bytes as the slice
        // has, whatever they are, and sets `term` where it says that it read one.
        unsafe {
            let read =
                raw::enif_binary_to_term(self.0, bytes.as_ptr(), bytes.len(), term.as_mut_ptr(), 0);
            (read != 0).then(|| Term::from_c(term.assume_init()))
        }
    }

    /// Makes a reference.
    pub(crate) fn make_ref(self) -> Term {
        // SAFETY: the environment is that of the call under way (CALL), and the new term is used with it.
        Term::from_c(unsafe { raw::enif_make_ref(self.0) })
    }

    /// Nanoseconds by the machine's clock that never goes back.
    pub(crate) fn monotonic_time() -> i64 {
        // SAFETY: called on a thread of the machine.
        unsafe { raw::enif_monotonic_time(raw::ErlNifTimeUnit::ERL_NIF_NSEC) }
    }

    /// Returns the calling process.
    #[inline]
    pub(crate) fn self_pid(self) -> Option<Term> {
        let mut pid = Term(0).as_pid();
        // SAFETY: the environment is that of the call under way (CALL); `pid` is ours, one word wide, and read only
        // when set.
        unsafe {
            if raw::enif_self(self.0, &mut pid).is_null() {
                return None;
            }
            Some(Term(std::mem::transmute::<ErlNifPid, usize>(pid)))
        }
    }

    /// Returns whether a local process is alive, and not about to end.
    #[inline]
    pub(crate) fn is_alive(self, pid: Term) -> bool {
        // SAFETY: the environment is that of the call under way (CALL); a pid is one word, copied, and may name a dead
        // process.
        unsafe { raw::enif_is_process_alive(self.0, &pid.as_pid()) != 0 }
    }

    /// Sends a term of this environment to a local process.
    pub(crate) fn send(self, to: Term, message: Term) {
        // SAFETY: the message belongs to the call under way (CALL), and is copied into an environment of its own, which
        // is freed once. A send to a dead process fails, as it should.
        unsafe {
            let copy = raw::enif_alloc_env();
            let message = raw::enif_make_copy(copy, message.c());
            raw::enif_send(self.0, &to.as_pid(), copy, message);
            raw::enif_free_env(copy);
        }
    }

    /// Raises an error; what is returned must be returned to the machine.
    pub(crate) fn raise(self, reason: Term) -> Term {
        // SAFETY: the reason belongs to the call under way (CALL), which returns the result to the machine.
        Term::from_c(unsafe { raw::enif_raise_exception(self.0, reason.c()) })
    }

    /// Says that the call has used `percent` per cent of the process's time slice; true when it is used up.
    pub(crate) fn consume(self, percent: usize) -> bool {
        // SAFETY: the environment is that of the call under way (CALL); the number is from 1 to 100, as the machine
        // asks.
        unsafe { raw::enif_consume_timeslice(self.0, percent.clamp(1, 100) as c_int) != 0 }
    }

    /// Goes on with `entry` on a scheduler for long work; what is returned must be returned to the machine.
    pub(crate) fn go_dirty(self, entry: Entry, args: &[Term]) -> Term {
        let flags = raw::ERL_NIF_DIRTY_JOB_CPU_BOUND as c_int;
        // SAFETY: the arguments belong to the call under way (CALL), and the machine copies them; the name lives for
        // ever.
        Term::from_c(unsafe {
            raw::enif_schedule_nif(
                self.0,
                c"fyris_long".as_ptr(),
                flags,
                entry,
                args.len() as c_int,
                args.as_ptr().cast(),
            )
        })
    }

    /// Makes a kind of resource known.
    pub(crate) fn open_type(
        self,
        name: &std::ffi::CStr,
        destroy: Destroy,
        down: Option<Down>,
    ) -> Option<Type> {
        let init = raw::ErlNifResourceTypeInit {
            // The binding's types say "pointer to function pointer" where C has the function pointer itself.
            dtor: destroy as *const _,
            stop: std::ptr::null(),
            down: down.map_or(std::ptr::null(), |down| down as *const _),
            members: 3,
            dyncall: std::ptr::null(),
        };
        use raw::ErlNifResourceFlags::{ERL_NIF_RT_CREATE, ERL_NIF_RT_TAKEOVER};
        let mut tried = ERL_NIF_RT_CREATE;
        // The C function takes either flag or both; a Rust enum cannot say "both", so one after the other.
        [ERL_NIF_RT_TAKEOVER, ERL_NIF_RT_CREATE]
            .into_iter()
            .find_map(|flags| {
                // SAFETY: the environment is that of the load under way (CALL); name and functions live as long as the
                // library, and the functions have the types that C expects.
                let kind = unsafe {
                    raw::enif_open_resource_type_x(self.0, name.as_ptr(), &init, flags, &mut tried)
                };
                (!kind.is_null()).then_some(kind)
            })
    }

    /// Returns the resource a term refers to.
    ///
    /// # Safety
    ///
    /// Resources of the type hold a `T`.
    #[inline]
    pub(crate) unsafe fn resource<'t, T>(self, term: Term, kind: Type) -> Option<&'t T> {
        let mut object = std::ptr::null();
        // SAFETY: the term belongs to the call under way (CALL), and keeps the resource alive during the call; the
        // resource holds a `T`, by the caller's contract.
        unsafe {
            if raw::enif_get_resource(self.0, term.c(), kind, &mut object) == 0 {
                return None;
            }
            Some(&*object.cast())
        }
    }

    /// Makes a term that refers to a resource.
    pub(crate) fn make_resource(self, object: *const c_void) -> Term {
        // SAFETY: the environment is that of the call under way (CALL); the caller holds a count of the resource.
        Term::from_c(unsafe { raw::enif_make_resource(self.0, object) })
    }

    /// Makes a binary whose bytes lie in (or are kept by) a resource.
    ///
    /// # Safety
    ///
    /// The bytes do not change and live as long as the resource.
    pub(crate) unsafe fn make_resource_binary(self, object: *const c_void, bytes: &[u8]) -> Term {
        // SAFETY: the environment is that of the call under way (CALL); bytes and resource are as the caller promises.
        Term::from_c(unsafe {
            raw::enif_make_resource_binary(self.0, object, bytes.as_ptr().cast(), bytes.len())
        })
    }

    /// Calls the resource's `down` function when the process ends; false if it is not alive.
    pub(crate) fn monitor(self, object: *const c_void, pid: Term) -> bool {
        // SAFETY: the environment is that of the call under way (CALL); the caller holds a count of the resource, whose
        // type has a `down` function.
        unsafe {
            raw::enif_monitor_process(self.0, object, &pid.as_pid(), std::ptr::null_mut()) == 0
        }
    }
}

/// Resources that live now.
static RESOURCES: LazyLock<Striped> = LazyLock::new(|| {
    let count = Striped::new();
    count.inflate();
    count
});

/// Returns the number of resources that live now.
pub(crate) fn resources() -> i64 {
    RESOURCES.exact()
}

/// # Safety
///
/// The resource holds a `T`, and nothing refers to it any more.
pub(crate) unsafe extern "C" fn destroy<T>(_: *mut ErlNifEnv, object: *mut c_void) {
    RESOURCES.add(-1);
    // SAFETY: the caller's contract.
    unsafe { object.cast::<T>().drop_in_place() }
}

/// Makes a resource that holds `value`; the caller has its one count.
///
/// # Safety
///
/// The type's destroyer drops a `T`.
pub(crate) unsafe fn new_resource<T>(kind: Type, value: T) -> *mut c_void {
    // SAFETY: the block is large enough, aligned to 8 bytes, and fresh.
    unsafe {
        let object = raw::enif_alloc_resource(kind, size_of::<T>());
        object.cast::<T>().write(value);
        RESOURCES.add(1);
        object
    }
}

/// Makes a resource that is never released, so that its kind stays.
pub(crate) fn anchor(kind: Type) {
    // SAFETY: of one byte, which is never read; nor is the resource ever destroyed.
    unsafe { raw::enif_alloc_resource(kind, 1) };
}

/// Makes a resource that holds `value`; returns a term that refers to it.
///
/// # Safety
///
/// The type's destroyer drops a `T`.
pub(crate) unsafe fn wrap<T>(env: Env, kind: Type, value: T) -> Term {
    // SAFETY: the caller's contract; our count goes back once the term has one.
    unsafe {
        let object = new_resource(kind, value);
        let term = env.make_resource(object);
        release(object);
        term
    }
}

/// Learns what native records look like, where there are any.
pub(crate) fn learn_records(env: Env) {
    // `#true:ok{}` in the external format, which machines without records do not read.
    let external = b"\x83C\0\0\0\0\x01w\x04truew\x02ok";
    if let Some(record) = env.read_external(external)
        && record.0 & PRIMARY == BOXED
        && record.subtag() != env.make_tuple(&[record]).subtag()
    {
        // Relaxed: the machine publishes the library after its loading.
        RECORD.store(record.subtag(), Ordering::Relaxed);
    }
}

/// A term in an environment of its own.
pub(crate) struct OwnTerm {
    env: *mut ErlNifEnv,
    term: ErlNifTerm,
}

// SAFETY: such an environment belongs to no thread, and nothing is written to it once the term is there.
unsafe impl Send for OwnTerm {}
// SAFETY: as above.
unsafe impl Sync for OwnTerm {}

impl OwnTerm {
    /// Copies a term of the call under way.
    pub(crate) fn copy_of(term: Term) -> OwnTerm {
        // SAFETY: the term belongs to the call under way (CALL), and is copied; the new environment is ours alone.
        unsafe {
            let env = raw::enif_alloc_env();
            let term = raw::enif_make_copy(env, term.c());
            OwnTerm { env, term }
        }
    }

    /// Returns the term itself, to be copied.
    pub(crate) fn get(&self) -> Term {
        Term::from_c(self.term)
    }

    /// Returns a copy of a part of it for the call under way.
    pub(crate) fn copy_part_to(&self, env: Env, part: Term) -> Term {
        // SAFETY: the environment is that of the call under way (CALL); the part lives as long as the term.
        Term::from_c(unsafe { raw::enif_make_copy(env.0, part.c()) })
    }

    /// Returns a copy of it for the call under way.
    pub(crate) fn copy_to(&self, env: Env) -> Term {
        self.copy_part_to(env, self.get())
    }
}

impl Drop for OwnTerm {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { raw::enif_free_env(self.env) }
    }
}

/// Gives back a count of a resource.
///
/// # Safety
///
/// It was the caller's.
pub(crate) unsafe fn release(object: *const c_void) {
    // SAFETY: forwarded.
    unsafe { raw::enif_release_resource(object) }
}

/// The layout of the words of terms.
pub(crate) struct WordLayout;

impl WordLayout {
    /// Returns whether the machine's words are those we know.
    pub(crate) fn probe(env: Env) -> bool {
        let smalls = [0, 1, -1, 42, i64::from(i32::MIN), (1 << 59) - 1, -1 << 59];
        let integers = smalls.iter().all(|&value| {
            // SAFETY: the environment is that of the load under way (CALL), and the new term is used with it.
            let made = Term::from_c(unsafe { raw::enif_make_long(env.0, value) });
            made.small() == Some(value) && Term::from_small(value) == Some(made)
        });
        // SAFETY: as above.
        let large = Term::from_c(unsafe { raw::enif_make_long(env.0, 1 << 59) });
        let atoms = ["true", "fyris", "undefined"]
            .iter()
            .all(|name| env.make_atom(name.as_bytes()).atom_index().is_some());
        let others = [large, env.make_tuple(&[large]), env.make_list(&[large])];
        let is_none =
            |t: &Term| t.small().is_none() && t.atom_index().is_none() && t.local_pid().is_none();
        let pid = env.self_pid().is_none_or(|pid| {
            pid.local_pid().map(Term::from_local_pid) == Some(pid) && pid.small().is_none()
        });
        integers && atoms && pid && others.iter().all(is_none)
    }
}

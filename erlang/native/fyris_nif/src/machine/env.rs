//! The one door to the machine's C interface (CALL).

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::MaybeUninit;

use fyris_term::{Term as Owned, etf};
use rustler::sys as raw;
pub(crate) use rustler::sys::{ErlNifEnv, ErlNifPid, ErlNifTerm, ErlNifTermType};

use super::Term;

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

    /// Returns the elements of a list, which may have a tail.
    #[inline]
    pub(crate) fn elements(self, list: Term) -> Elements {
        Elements {
            env: self,
            rest: list,
        }
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

    /// Returns the keys and values of a map. Not inlined: its stack space would be needed at every level of a deep
    /// term.
    #[inline(never)]
    pub(crate) fn pairs(self, map: Term) -> Vec<(Term, Term)> {
        let (mut pairs, mut size) = (Vec::new(), 0);
        let mut iter = MaybeUninit::uninit();
        let head = raw::ErlNifMapIteratorEntry::ERL_NIF_MAP_ITERATOR_HEAD;
        // SAFETY: the map belongs to the call under way (CALL), as do its keys and values; the iterator is initialised
        // by the call that says so, and destroyed below.
        unsafe {
            if raw::enif_map_iterator_create(self.0, map.c(), iter.as_mut_ptr(), head) == 0 {
                return pairs;
            }
            raw::enif_get_map_size(self.0, map.c(), &mut size);
            pairs.reserve_exact(size);
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

    /// Returns a term as its external format tells it.
    pub(crate) fn decoded(self, term: Term) -> Option<Owned> {
        etf::decode(&self.write_external(term)?).ok()
    }

    /// Returns the term that the external format of one of ours stands for.
    pub(crate) fn encoded(self, term: &Owned) -> Option<Term> {
        self.read_external(&etf::encode(term))
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
        self.go(raw::ERL_NIF_DIRTY_JOB_CPU_BOUND as c_int, entry, args)
    }

    /// Goes on with `entry` on a scheduler for work that waits; what is returned must be returned to the machine.
    pub(crate) fn go_waiting(self, entry: Entry, args: &[Term]) -> Term {
        self.go(raw::ERL_NIF_DIRTY_JOB_IO_BOUND as c_int, entry, args)
    }

    fn go(self, flags: c_int, entry: Entry, args: &[Term]) -> Term {
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
}

/// The elements of a list that are left.
pub(crate) struct Elements {
    env: Env,
    rest: Term,
}

impl Elements {
    /// Returns what is behind the elements that were read.
    pub(crate) fn rest(&self) -> Term {
        self.rest
    }

    /// Returns the list of the elements that are left; `None` if there are none, and it was no proper list.
    pub(crate) fn list_left(mut self) -> Option<Term> {
        let rest = self.rest;
        (self.are_all() || self.next().is_some()).then_some(rest)
    }

    /// Returns whether all elements of a proper list were read.
    pub(crate) fn are_all(&self) -> bool {
        self.env.is_nil(self.rest)
    }
}

impl Iterator for Elements {
    type Item = Term;

    #[inline]
    fn next(&mut self) -> Option<Term> {
        let (head, tail) = self.env.cell(self.rest)?;
        self.rest = tail;
        Some(head)
    }
}

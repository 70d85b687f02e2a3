//! Resources: blocks of ours that the machine counts references to; and environments of ours.

use std::ffi::c_void;
use std::sync::LazyLock;

use fyris_sync::counter::Striped;
use rustler::sys as raw;

use super::{Env, ErlNifEnv, ErlNifTerm, Term, Type};

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

/// A count of a resource of ours, which is given back at the end.
pub(crate) struct ResourceCount(*mut c_void);

// SAFETY: counts of resources may be given back on any thread.
unsafe impl Send for ResourceCount {}

impl ResourceCount {
    /// Makes a resource that holds `value`.
    ///
    /// # Safety
    ///
    /// The kind's destroyer drops a `T`.
    pub(crate) unsafe fn new<T>(kind: Type, value: T) -> ResourceCount {
        // SAFETY: the block is large enough, aligned to 8 bytes, and fresh.
        unsafe {
            let object = raw::enif_alloc_resource(kind, size_of::<T>());
            object.cast::<T>().write(value);
            RESOURCES.add(1);
            ResourceCount(object)
        }
    }

    /// Returns a term that refers to the resource.
    pub(crate) fn term(&self, env: Env) -> Term {
        // SAFETY: the environment is that of the call under way (CALL), and the resource is there.
        Term::from_c(unsafe { raw::enif_make_resource(env.as_ptr(), self.0) })
    }

    /// Makes a binary whose bytes lie in (or are kept by) the resource.
    ///
    /// # Safety
    ///
    /// The bytes do not change and live as long as the resource.
    pub(crate) unsafe fn binary(&self, env: Env, bytes: &[u8]) -> Term {
        // SAFETY: the environment is that of the call under way (CALL); bytes and resource are as the caller promises.
        Term::from_c(unsafe {
            let at = bytes.as_ptr().cast();
            raw::enif_make_resource_binary(env.as_ptr(), self.0, at, bytes.len())
        })
    }

    /// Calls the kind's `down` function, which it has, when the process ends; false if it is not alive.
    pub(crate) fn monitor(&self, env: Env, pid: Term) -> bool {
        // SAFETY: the environment is that of the call under way (CALL), and the resource is there.
        unsafe {
            raw::enif_monitor_process(env.as_ptr(), self.0, &pid.as_pid(), std::ptr::null_mut())
                == 0
        }
    }
}

impl Drop for ResourceCount {
    fn drop(&mut self) {
        // SAFETY: the count is ours.
        unsafe { raw::enif_release_resource(self.0) }
    }
}

/// Makes a resource that is never released, so that its kind stays.
pub(crate) fn anchor(kind: Type) {
    // SAFETY: of one byte, which is never read; nor is the resource ever destroyed.
    unsafe { raw::enif_alloc_resource(kind, 1) };
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
        Term::from_c(unsafe { raw::enif_make_copy(env.as_ptr(), part.c()) })
    }

    /// Returns a copy of it for the call under way.
    pub(crate) fn copy_to(&self, env: Env) -> Term {
        self.copy_part_to(env, self.get())
    }
}

/// An environment of ours in which messages are built, one after another. Of a thread of ours: the machine would have
/// to be told on which process's behalf another one sends.
pub(crate) struct MessageEnv(*mut ErlNifEnv);

impl MessageEnv {
    pub(crate) fn new() -> MessageEnv {
        // SAFETY: the environment is ours alone, and freed once.
        MessageEnv(unsafe { raw::enif_alloc_env() })
    }

    /// Returns it, for the terms of one message (CALL).
    pub(crate) fn env(&self) -> Env {
        // SAFETY: it is ours, and the caller does not keep the result (CALL).
        unsafe { Env::new(self.0) }
    }

    /// Sends a term of this environment to a local process, without a copy; false if the process is not alive. From
    /// then on the terms are others': it is to be cleared.
    pub(crate) fn send(&mut self, to: Term, message: Term) -> bool {
        // SAFETY: the message was built in this environment since it was cleared; the thread is none of the machine's.
        unsafe { raw::enif_send(std::ptr::null_mut(), &to.as_pid(), self.0, message.c()) != 0 }
    }

    /// Forgets all terms.
    pub(crate) fn clear(&mut self) {
        // SAFETY: ours, and the terms are not used any more (CALL).
        unsafe { raw::enif_clear_env(self.0) }
    }
}

impl Drop for MessageEnv {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { raw::enif_free_env(self.0) }
    }
}

impl Drop for OwnTerm {
    fn drop(&mut self) {
        // SAFETY: ours, freed once.
        unsafe { raw::enif_free_env(self.env) }
    }
}

//! Notices of the system that reclamation needs: forks, and the end of threads whose thread-local values were
//! dropped before.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Calls `before` before each fork of the process, and `after` in the parent and `child` in the child behind it. Only
/// the first call counts.
pub(super) fn watch_forks(before: extern "C" fn(), after: extern "C" fn(), child: extern "C" fn()) {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    // Relaxed: the second to come need not wait.
    if !WATCHED.load(Ordering::Relaxed) && !WATCHED.swap(true, Ordering::Relaxed) {
        // SAFETY: the functions live as long as this library, with which the system forgets them.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(child)) };
    }
}

/// The number of the key by whose destructor a thread learns that it ends, plus one.
static KEY: AtomicU64 = AtomicU64::new(0);

/// Calls `end` when this thread ends, after its thread-local values are dropped, unless it [forgets](forget_end) that.
pub(super) fn on_end(end: fn()) {
    if let Some(key) = key() {
        // SAFETY: the key was created, and its destructor takes what is put there.
        unsafe { libc::pthread_setspecific(key, end as *const libc::c_void) };
    }
}

/// Takes back what [`on_end`] did: a thread that ends in time must not call a library later that may be unloaded then.
pub(super) fn forget_end() {
    // Relaxed: what this thread knows of is all that matters.
    if let Some(key) = KEY.load(Ordering::Relaxed).checked_sub(1) {
        // SAFETY: the key was created.
        unsafe { libc::pthread_setspecific(key as libc::pthread_key_t, std::ptr::null()) };
    }
}

/// Returns the key, or `None` if the process has as many keys as it may.
fn key() -> Option<libc::pthread_key_t> {
    // Relaxed: the key is a number, and the system knows it.
    let known = KEY.load(Ordering::Relaxed);
    if known != 0 {
        return Some((known - 1) as libc::pthread_key_t);
    }
    let mut key = 0;
    // SAFETY: writes the number of a new key.
    if unsafe { libc::pthread_key_create(&mut key, Some(call)) } != 0 {
        return None;
    }
    let mine = u64::from(key) + 1;
    // Relaxed, both: as above.
    match KEY.compare_exchange(0, mine, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => Some(key),
        Err(first) => {
            // SAFETY: created above, and no thread uses it.
            unsafe { libc::pthread_key_delete(key) };
            Some((first - 1) as libc::pthread_key_t)
        }
    }
}

unsafe extern "C" fn call(end: *mut libc::c_void) {
    // SAFETY: `on_end` put a function there.
    let end = unsafe { std::mem::transmute::<*mut libc::c_void, fn()>(end) };
    end();
}

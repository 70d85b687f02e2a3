//! Processes: callers, owners, and those that have ended.
//!
//! # Ends
//!
//! A process that owns, fixes or may inherit a table is monitored, once. The machine calls [`down`] after the process
//! has sent its exit signals, so a process that learned of the end by a link or a monitor may come here first.
//! Therefore every access by another process than the owner asks whether the owner is alive, and if not does here and
//! now what `down` would do ([`ended`]); the second to come finds it done. What tells of fixes asks the same of the
//! processes that have fixed the table ([`tables::settle_fixes`]), and `register` of a receiver or an heir.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{LazyLock, Mutex, MutexGuard};

use fyris::{Event, ProcessId, TableRef};

use crate::kind::atom;
use crate::machine::{Env, ErlNifEnv, ErlNifPid, ResourceCount, Term};
use crate::tables::store;
use crate::{load, tables, term};

/// A process that is monitored: what its resource holds.
pub(crate) struct Watched(ProcessId);

static MONITORS: LazyLock<Mutex<HashMap<ProcessId, ResourceCount>>> = LazyLock::new(Mutex::default);

fn monitors() -> MutexGuard<'static, HashMap<ProcessId, ResourceCount>> {
    MONITORS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Returns the number of processes that are monitored now.
pub(crate) fn monitored() -> usize {
    monitors().len()
}

/// Local pids take fewer bits; larger numbers are owners that are no Erlang processes.
const PIDS: u64 = 1 << 60;

/// Returns the calling process.
#[inline]
pub(crate) fn me(env: Env) -> ProcessId {
    let id = env.self_pid().and_then(Term::local_pid);
    ProcessId(id.unwrap_or(PIDS))
}

/// Returns the pid of a process.
pub(crate) fn pid(id: ProcessId) -> Option<Term> {
    (id.0 < PIDS).then(|| Term::from_local_pid(id.0))
}

/// Makes a local process known to the store and monitors it; `None` if it is not alive, or no local pid.
pub(crate) fn register(env: Env, pid: Term) -> Option<ProcessId> {
    let id = ProcessId(pid.local_pid()?);
    let mut monitors = monitors();
    if monitors.contains_key(&id) {
        return env.is_alive(pid).then_some(id);
    }
    let monitor = load::new_resource(Watched(id));
    if !monitor.monitor(env, pid) {
        return None;
    }
    store().register(id, Some(Box::new(move |event| deliver(id, event))));
    monitors.insert(id, monitor);
    Some(id)
}

/// Handles the end of a monitored process.
///
/// # Safety
///
/// Called by the machine with a resource of the type `process`.
pub(crate) unsafe extern "C" fn down(
    env: *mut ErlNifEnv,
    object: *mut c_void,
    _: *const ErlNifPid,
    _: *const rustler::sys::ErlNifMonitor,
) {
    // SAFETY: the resource holds a `Watched`; the environment is for this call (CALL).
    let (env, Watched(id)) = unsafe { (Env::new(env), &*object.cast::<Watched>()) };
    // A panic must not go further up; there is no caller to tell.
    let _ = std::panic::catch_unwind(|| ended(env, *id));
}

/// Cleans up after a process that has ended. Doing it twice does no harm.
pub(crate) fn ended(env: Env, id: ProcessId) {
    with_env(env, || store().ended(id));
    let monitor = monitors().remove(&id);
    drop(monitor);
}

/// Returns whether the process, if it is one of Erlang's, is alive.
#[inline]
pub(crate) fn is_alive(env: Env, id: ProcessId) -> bool {
    pid(id).is_none_or(|pid| env.is_alive(pid))
}

thread_local! {
    /// The environment of the call under way, where events may be sent.
    static CURRENT: Cell<*mut ErlNifEnv> = const { Cell::new(std::ptr::null_mut()) };
}

/// Runs `f`, which may cause events.
pub(crate) fn with_env<R>(env: Env, f: impl FnOnce() -> R) -> R {
    let before = CURRENT.replace(env.as_ptr());
    let result = f();
    CURRENT.set(before);
    result
}

/// Sends an event to its process: `{'ETS-TRANSFER', Table, From, Data}`.
fn deliver(to: ProcessId, event: Event) {
    let env = CURRENT.get();
    let Some(to) = pid(to).filter(|_| !env.is_null()) else {
        return;
    };
    // SAFETY: set by `with_env` further up on this stack, so the call it belongs to is under way (CALL).
    let env = unsafe { Env::new(env) };
    let Event::Transfer { table, from, data } = event;
    let table = match table {
        TableRef::Name(name) => atom::to_machine(env, name),
        TableRef::Id(id) => tables::tid(env, id).unwrap_or_else(|| atom::undefined(env)),
    };
    let from = pid(from).unwrap_or_else(|| atom::undefined(env));
    let data = term::make(env, &data);
    env.send(
        to,
        env.make_tuple(&[atom::transfer(env), table, from, data]),
    );
}

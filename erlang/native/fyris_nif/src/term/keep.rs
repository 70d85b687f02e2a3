//! References to resources, and how objects keep those alive.
//!
//! A resource of the machine (what `atomics:new/2` gives, a socket, a compiled expression) lives as long as terms refer to
//! it. What is stored of a reference are its numbers, which are no such term. So an object with one brings a
//! keeper ([`fyris::Keepers`]) along: a mark and the reference in the external format. For each
//! resource that objects hold, there is one environment of the machine with a term that refers to it, and
//! a count of the records.
//!
//! Tids of our own are not kept: a table's end does not wait for them.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use fyris::{Keepers, ObjectWriter};

use crate::sys::{Env, OwnEnv, Term};

/// What keepers begin with: nobody else's binaries do, as nobody can know it.
static MARK: LazyLock<[u8; 32]> = LazyLock::new(|| {
    use std::hash::{BuildHasher, RandomState};
    let mut mark = [0; 32];
    for (i, part) in mark.chunks_mut(8).enumerate() {
        part.copy_from_slice(&RandomState::new().hash_one(i).to_le_bytes());
    }
    mark
});

/// A resource that objects hold.
struct Kept {
    /// How many records do.
    records: usize,
    /// What keeps it alive.
    _env: OwnEnv,
}

static KEPT: LazyLock<Mutex<HashMap<Box<[u8]>, Kept>>> = LazyLock::new(Mutex::default);

fn kept() -> MutexGuard<'static, HashMap<Box<[u8]>, Kept>> {
    KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// To be called once.
pub(crate) fn begin() {
    fyris::set_keepers(Keepers {
        is_keeper: |bytes| bytes.starts_with(&*MARK),
        retain,
        release,
    });
}

/// How many resources objects hold.
pub(crate) fn count() -> usize {
    kept().len()
}

fn retain(keeper: &[u8]) {
    if let Some(kept) = kept().get_mut(keeper) {
        kept.records += 1;
    }
}

fn release(keeper: &[u8]) {
    let mut kept = kept();
    let Some(this) = kept.get_mut(keeper) else {
        return;
    };
    this.records -= 1;
    let gone = (this.records == 0).then(|| kept.remove(keeper));
    // The destroyer of the resource may run now: not under the lock.
    drop(kept);
    drop(gone);
}

thread_local! {
    /// References to resources met by the [`gather`] under way, if there is one.
    static MET: Cell<Option<Vec<Met>>> = const { Cell::new(None) };
}

/// A reference, and its external form.
type Met = (Term, Vec<u8>);

/// A reference to a resource was written, with this external form.
pub(super) fn met(env: Env, term: Term, external: &[u8]) {
    if env.refers_to_resource(term)
        && !crate::tables::is_tid(env, term)
        && let Some(mut met) = MET.take()
    {
        met.push((term, external.to_vec()));
        MET.set(Some(met));
    }
}

/// Runs `write`, which writes an object, and lets the object keep the resources it refers to.
pub(super) fn gather<R, E>(
    out: &mut ObjectWriter<'_>,
    write: impl FnOnce(&mut ObjectWriter<'_>) -> Result<R, E>,
) -> Result<R, E> {
    MET.set(Some(Vec::new()));
    let result = write(out);
    let met = MET.take().unwrap_or_default();
    let result = result?;
    for (term, external) in met {
        let keeper: Arc<[u8]> = [&MARK[..], &external].concat().into();
        let mut kept = kept();
        let entry = kept.entry((*keeper).into()).or_insert_with(|| Kept {
            records: 0,
            _env: OwnEnv::with_copy(term),
        });
        entry.records += 1;
        drop(kept);
        out.keep(keeper);
    }
    Ok(result)
}

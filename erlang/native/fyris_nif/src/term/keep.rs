//! References to resources, and how objects keep those alive.
//!
//! A resource of the machine (what `atomics:new/2` gives, a socket, a compiled expression) lives as long as terms refer
//! to it. Of a reference its numbers are stored, which are no such term. So an object with one, or with a fun
//! that has captured one, brings a keeper ([`fyris::ResourceRefs`]) along: a mark and the numbers. For each resource
//! that objects hold, there is one environment of the machine with a term that refers to it, and a count of the
//! holders: records, and calls that have read the reference and may put it into records ([`offer`]).
//!
//! Tids of our own are not kept: a table's end does not wait for them.
//!
//! # Large binaries
//!
//! A binary that is looked up is a reference to a resource which holds the blob. For a large blob that resource is made
//! when the object is inserted, so that a lookup counts one reference and makes nothing. A keeper holds it: the mark, a
//! zero, and the addresses of blob and resource. An object with more than a few blobs does without, and so does one of
//! which an element was changed. The blob itself is kept once for all objects that the same binary was put into
//! (`share`).

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard};

use fyris::{ObjectWriter, ResourceRefs};
use fyris_term::value::MAX_INLINE_BINARY;
use fyris_term::{Reference, Term as Owned};

use smallvec::SmallVec;

use super::{rare, share};
use crate::load;
use crate::sys::{self, Env, OwnEnv, Term};

/// The beginning of keepers, and of no other binaries, as nobody can know it.
static MARK: LazyLock<[u8; 32]> = LazyLock::new(|| {
    use std::hash::{BuildHasher, RandomState};
    let mut mark = [0; 32];
    for (i, part) in mark.chunks_mut(8).enumerate() {
        part.copy_from_slice(&RandomState::new().hash_one(i).to_le_bytes());
    }
    mark
});

/// A resource that is held.
struct Kept {
    holders: usize,
    /// The environment that keeps it alive.
    _env: OwnEnv,
}

type Keeper = Arc<[u8]>;

static KEPT: LazyLock<Mutex<HashMap<Keeper, Kept>>> = LazyLock::new(Mutex::default);
/// The number of kept resources.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn kept() -> MutexGuard<'static, HashMap<Keeper, Kept>> {
    KEPT.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// To be called once.
pub(crate) fn begin() {
    fyris::set_resource_refs(ResourceRefs {
        is_resource_ref: |bytes| bytes.starts_with(&*MARK),
        any: || count() > 0,
        find,
        release,
    });
}

/// Returns the number of resources that are held.
pub(crate) fn count() -> usize {
    // Relaxed: whose reference goes into an object was counted before, by this thread or by one that published a record
    // which this thread has found.
    COUNT.load(Ordering::Relaxed)
}

/// The keeper of a local reference, as it is stored.
fn keeper(reference: &Reference) -> Keeper {
    let words = reference.significant().iter();
    let bytes = words.flat_map(|word| word.to_le_bytes());
    MARK.iter().copied().chain(bytes).collect()
}

fn find(reference: &Reference) -> Option<Keeper> {
    if reference.node != rare::here() {
        return None;
    }
    let mut kept = kept();
    let keeper = keeper(reference);
    kept.get_mut(&keeper)?.holders += 1;
    Some(keeper)
}

/// A blob that is worth a resource of its own, in bytes.
pub(super) const LARGE: usize = 1 << 14;
/// An object keeps resources for no more blobs than this.
const FEW: usize = 4;

/// The length of such a keeper: mark, zero, two addresses.
const OF_BLOB: usize = 32 + 1 + 2 * size_of::<usize>();
// Its length alone tells it from what values refer to, which is longer, and from keepers of references, which have
// fours of bytes: so the mark need not be compared with every lookup.
const _: () = assert!(OF_BLOB <= MAX_INLINE_BINARY && !OF_BLOB.is_multiple_of(4));

/// The address of a blob, and the resource that holds it, of such a keeper among an object's blobs.
#[inline]
fn of_blob(keeper: &[u8]) -> Option<(usize, *const c_void)> {
    let keeper: &[u8; OF_BLOB] = keeper.try_into().ok()?;
    debug_assert!(keeper.starts_with(&*MARK));
    let words = keeper.last_chunk::<{ 2 * size_of::<usize>() }>()?;
    let (blob, resource) = (words.first_chunk()?, words.last_chunk()?);
    let resource = std::ptr::with_exposed_provenance(usize::from_ne_bytes(*resource));
    Some((usize::from_ne_bytes(*blob), resource))
}

/// A resource that holds a blob; the caller has its one count.
pub(super) fn blob_resource(blob: Arc<[u8]>) -> *mut c_void {
    // SAFETY: the destroyer of the type drops an `Arc<[u8]>`.
    unsafe { sys::new_resource(load::types().blob, blob) }
}

/// The resource that an object with these blobs keeps for one of them.
#[inline]
pub(super) fn resource_of(blob: &Arc<[u8]>, blobs: &[Arc<[u8]>]) -> Option<*const c_void> {
    if blob.len() < LARGE {
        return None;
    }
    let mut kept = blobs.iter().rev().take(FEW).filter_map(|b| of_blob(b));
    kept.find_map(|(address, resource)| (address == blob.as_ptr().addr()).then_some(resource))
}

/// Lets an object, which has no keepers yet, keep resources for its large blobs.
fn keep_blobs(writing: &share::Writing, out: &mut ObjectWriter<'_>) {
    if out.blobs().len() > FEW {
        return;
    }
    let large = out.blobs().iter().filter(|blob| blob.len() >= LARGE);
    let large: SmallVec<[Arc<[u8]>; FEW]> = large.cloned().collect();
    for blob in large {
        let address = blob.as_ptr().addr();
        writing.hold(&blob);
        let resource = blob_resource(blob).expose_provenance();
        let words = [address, resource].map(usize::to_ne_bytes);
        out.keep([&MARK[..], &[0], words.as_flattened()].concat().into());
    }
}

fn release(keeper: &[u8]) {
    if let Some((blob, resource)) = of_blob(keeper) {
        share::release(blob);
        // SAFETY: the record had this count, its only one.
        return unsafe { sys::release(resource) };
    }
    let mut kept = kept();
    let Some(this) = kept.get_mut(keeper) else {
        return;
    };
    this.holders -= 1;
    let gone = (this.holders == 0).then(|| kept.remove(keeper));
    // Relaxed: as in `count`.
    COUNT.store(kept.len(), Ordering::Relaxed);
    // The destroyer of the resource may run now: not under the lock.
    drop(kept);
    drop(gone);
}

thread_local! {
    /// References to resources met by the [`offer`] under way, if there is one.
    static MET: Cell<Option<Vec<Met>>> = const { Cell::new(None) };
}

/// A term that keeps a resource alive, and the keeper of its reference.
type Met = (Term, Keeper);

/// A term that came by way of the external format was read.
pub(super) fn met(env: Env, term: Term, owned: &Owned) {
    let Some(mut met) = MET.take() else {
        return;
    };
    fyris::each_reference(owned, &mut |reference| {
        // What a fun has captured is seen only so.
        let itself = match owned {
            Owned::Reference(_) => term,
            _ => rare::make(env, &Owned::Reference(Box::new(reference.clone()))),
        };
        if env.refers_to_resource(itself) && !crate::tables::is_tid(env, itself) {
            met.push((term, keeper(reference)));
        }
    });
    MET.set(Some(met));
}

/// Holds resources until it is dropped.
pub(crate) struct Offered(Vec<Keeper>);

impl Offered {
    #[inline]
    fn hold_all(met: Vec<Met>) -> Offered {
        if met.is_empty() {
            return Offered(Vec::new());
        }
        Offered(met.into_iter().map(hold).collect())
    }

    /// Returns whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Drop for Offered {
    fn drop(&mut self) {
        self.0.iter().for_each(|keeper| release(keeper));
    }
}

/// Runs `read`, which reads terms. The resources that they refer to can get into objects until the other value is
/// dropped.
pub(crate) fn offer<R>(read: impl FnOnce() -> R) -> (R, Offered) {
    // By `with`: `set` makes sure first that there is something to be replaced.
    MET.with(|met| met.set(Some(Vec::new())));
    let result = read();
    let met = MET.take().unwrap_or_default();
    (result, Offered::hold_all(met))
}

/// One more holder.
fn hold((term, keeper): Met) -> Keeper {
    let mut kept = kept();
    let fresh = || Kept {
        holders: 0,
        _env: OwnEnv::with_copy(term),
    };
    kept.entry(keeper.clone()).or_insert_with(fresh).holders += 1;
    // Relaxed: as in `count`.
    COUNT.store(kept.len(), Ordering::Relaxed);
    keeper
}

/// Runs `write`, which writes an object, and lets the object keep the resources it refers to.
pub(super) fn gather<R, E>(
    out: &mut ObjectWriter<'_>,
    write: impl FnOnce(&mut ObjectWriter<'_>) -> Result<R, E>,
) -> Result<R, E> {
    let writing = share::Writing::begin();
    let (result, mut offered) = offer(|| write(out));
    let result = result?;
    if !out.blobs().is_empty() {
        keep_blobs(&writing, out);
    }
    std::mem::take(&mut offered.0)
        .into_iter()
        .for_each(|keeper| out.keep(keeper));
    Ok(result)
}

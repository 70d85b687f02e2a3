//! Resources of large binaries.
//!
//! A binary that is looked up is a reference to a resource which holds the blob. For a large blob that resource is made
//! when the object is inserted, so that a lookup counts one reference and makes nothing. A keeper holds it: the mark, a
//! zero, and the addresses of blob and resource. An object with more than a few blobs does without, and so does one of
//! which an element was changed. Both are given back when the record is freed, which is soon after it was retired, as
//! its weight is that of the blob (`Guard::weigh`). The blob itself is kept once for all objects that the same binary
//! was put into (`share`).

use std::ffi::c_void;
use std::sync::Arc;

use fyris::ObjectWriter;
use fyris_term::value::MAX_INLINE_BINARY;
use smallvec::SmallVec;

use super::{MARK, THE_MARK};
use crate::load;
use crate::sys;
use crate::term::share;

/// A blob that is worth a resource of its own, in bytes.
pub(in crate::term) const LARGE: usize = 1 << 14;
/// An object keeps resources for no more blobs than this.
const FEW: usize = 4;

/// The length of such a keeper: mark, zero, two addresses.
const LENGTH: usize = MARK + 1 + 2 * size_of::<usize>();
// Keepers of references have fours of bytes.
const _: () = assert!(LENGTH <= MAX_INLINE_BINARY && !LENGTH.is_multiple_of(4));

/// Returns the address of a blob, and the resource that holds it, of such a keeper among an object's blobs.
#[inline]
fn of_blob(keeper: &[u8]) -> Option<(usize, *const c_void)> {
    let keeper: &[u8; LENGTH] = keeper.try_into().ok()?;
    debug_assert!(keeper.starts_with(&*THE_MARK));
    let words = keeper.last_chunk::<{ 2 * size_of::<usize>() }>()?;
    let (blob, resource) = (words.first_chunk()?, words.last_chunk()?);
    let resource = std::ptr::with_exposed_provenance(usize::from_ne_bytes(*resource));
    Some((usize::from_ne_bytes(*blob), resource))
}

/// Returns a resource that holds a blob; the caller has its one count.
pub(in crate::term) fn blob_resource(blob: Arc<[u8]>) -> *mut c_void {
    // SAFETY: the destroyer of the type drops an `Arc<[u8]>`.
    unsafe { sys::new_resource(load::types().blob, blob) }
}

/// Returns the resource that an object with these blobs keeps for one of them.
#[inline]
pub(in crate::term) fn resource_of(blob: &Arc<[u8]>, blobs: &[Arc<[u8]>]) -> Option<*const c_void> {
    if blob.len() < LARGE {
        return None;
    }
    let mut kept = blobs.iter().rev().take(FEW).filter_map(|b| of_blob(b));
    kept.find_map(|(address, resource)| (address == blob.as_ptr().addr()).then_some(resource))
}

/// Lets an object, which has no keepers yet, keep resources for its large blobs.
pub(super) fn keep(writing: &share::Writing, out: &mut ObjectWriter<'_>) {
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
        out.keep([&THE_MARK[..], &[0], words.as_flattened()].concat().into());
    }
}

/// Gives up the resource of a keeper, if it is one of a large binary, when its record is freed.
pub(super) fn release(keeper: &[u8]) {
    if let Some((blob, resource)) = of_blob(keeper) {
        share::release(blob);
        // SAFETY: the record had this count, its only one.
        unsafe { sys::release(resource) }
    }
}

//! Keepers, by which objects keep alive what their terms refer to: resources of the machine, and of large binaries.
//!
//! Of a reference its numbers are stored, and of a large binary its bytes: neither keeps a resource alive. So an object
//! that needs one has a *keeper* ([`fyris::ResourceRefs`]) among its blobs: bytes that begin with a mark, and hold the
//! resource until the record is retired or freed. [`resources`] has the keepers of references, and [`blobs`] those of
//! large binaries. The two differ in length, and the blobs of values are longer than any keeper; so a lookup need not
//! compare the mark.

mod blobs;
mod resources;

use std::sync::{Arc, LazyLock};

use fyris::{ObjectWriter, ResourceRefs};

pub(super) use blobs::{LARGE, blob_resource, resource_of};
pub(crate) use resources::{Offered, count, offer};
pub(super) use resources::{kept_reference, met, met_resource};

use super::share;

/// The bytes that an object holds besides its values.
type Keeper = Arc<[u8]>;

/// Bytes of a mark.
const MARK: usize = 32;

/// The beginning of keepers. It is random, so that no binary of a program has it.
static THE_MARK: LazyLock<[u8; MARK]> = LazyLock::new(|| {
    use std::hash::{BuildHasher, RandomState};
    let mut mark = [0; MARK];
    for (i, part) in mark.chunks_mut(8).enumerate() {
        part.copy_from_slice(&RandomState::new().hash_one(i).to_le_bytes());
    }
    mark
});

/// Tells the store how to handle keepers. To be called once.
pub(crate) fn begin() {
    fyris::set_resource_refs(ResourceRefs {
        is_resource_ref: |bytes| bytes.starts_with(&*THE_MARK),
        any: || count() > 0,
        find: resources::find,
        retire,
        release,
    });
}

fn retire(keeper: &[u8]) -> bool {
    !cfg!(fyris_mutant = "nif_kept_till_freed") && resources::give_up(keeper)
}

/// Gives up the resource of a blob; that of a reference was given up by [`retire`].
fn release(keeper: &[u8]) {
    blobs::release(keeper);
    if cfg!(fyris_mutant = "nif_kept_till_freed") {
        resources::give_up(keeper);
    }
}

/// Runs `write`, which writes an object, and lets the object keep the resources it refers to.
pub(super) fn gather<R, E>(
    out: &mut ObjectWriter<'_>,
    write: impl FnOnce(&mut ObjectWriter<'_>) -> Result<R, E>,
) -> Result<R, E> {
    let writing = share::Writing::begin();
    let (result, offered) = offer(|| write(out));
    let result = result?;
    if !out.blobs().is_empty() {
        blobs::keep(&writing, out);
    }
    offered.into_keepers().for_each(|keeper| out.keep(keeper));
    Ok(result)
}

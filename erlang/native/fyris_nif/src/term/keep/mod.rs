//! Keepers, by which objects keep alive what their terms refer to: resources of the machine.
//!
//! Of a reference its numbers are stored, which keep no resource alive. So an object with one to a resource has a
//! *keeper* ([`fyris::ResourceRefs`]) among its blobs: bytes that begin with a mark, and hold the resource until the
//! record is retired. The blobs of values are longer than any keeper; so a lookup need not compare the mark.

mod resources;

use std::sync::LazyLock;

use fyris::{ObjectWriter, ResourceRefs};
use fyris_term::Blob;

pub(super) use resources::met;
pub(crate) use resources::{Offered, count, offer};
pub(crate) use resources::{kept_reference, met_resource};

/// The bytes that an object holds besides its values.
type Keeper = Blob;

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

/// Does nothing: the resource was given up by [`retire`].
fn release(keeper: &[u8]) {
    if cfg!(fyris_mutant = "nif_kept_till_freed") {
        resources::give_up(keeper);
    }
}

/// The gathering of what an object is to keep alive, while it is written: begun when a term comes that may refer to a
/// resource, since most objects have none.
pub(super) struct Gathering {
    has_begun: bool,
}

impl Gathering {
    /// Makes one that has not begun.
    #[inline]
    pub(super) fn new() -> Gathering {
        Gathering { has_begun: false }
    }

    /// Makes one for a value whose caller gathers ([`offer`]).
    pub(super) fn of_caller() -> Gathering {
        Gathering { has_begun: true }
    }

    /// Begins, if that was not done. From here on resources that terms refer to are met.
    #[inline]
    pub(super) fn begin(&mut self) {
        if !self.has_begun && !cfg!(fyris_mutant = "nif_holds_unasked") {
            self.has_begun = true;
            resources::begin();
        }
    }

    /// Lets an object, of which everything `is_written`, hold the resources that were met.
    #[inline]
    pub(super) fn end(self, is_written: bool, out: &mut ObjectWriter<'_>) {
        if self.has_begun {
            let offered = resources::end();
            if is_written {
                offered.into_keepers().for_each(|keeper| out.keep(keeper));
            }
        }
    }
}

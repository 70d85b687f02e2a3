//! One copy of a large binary for all objects that it was put into.
//!
//! The machine keeps a large binary once, however many terms refer to it, and so do tables: a binary that comes from
//! the same place in memory as one that objects hold, with the same content, is that one. A binary that came out of a
//! table lies in the blob itself, and needs no comparing.
//!
//! A blob is here while objects with a keeper hold it (see `keep`): each is a holder. The machine's binary may be long
//! gone by then, and another one in its place, hence the comparing.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::Stage;

type Blob = Arc<[u8]>;
/// The address and the number of some bytes.
type Place = (usize, usize);

fn place(bytes: &[u8]) -> Place {
    (bytes.as_ptr().addr(), bytes.len())
}

/// A blob that objects hold.
struct Shared {
    blob: Blob,
    holders: usize,
    /// The place that it was copied from.
    source: Place,
}

#[derive(Default)]
struct All {
    /// By the places of the blobs.
    held: HashMap<usize, Shared>,
    /// The places of the blobs by those of their sources.
    sources: HashMap<Place, usize>,
}

static ALL: LazyLock<Mutex<All>> = LazyLock::new(Mutex::default);

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the blob with these bytes of the machine's, if objects hold it. O(length), at most.
pub(super) fn known(bytes: &[u8]) -> Option<Blob> {
    let (at, len) = place(bytes);
    let found = {
        let all = all();
        let own = all.held.get(&at).filter(|held| held.blob.len() == len);
        if let Some(held) = own {
            return Some(held.blob.clone());
        }
        let blob = all.sources.get(&(at, len))?;
        all.held.get(blob)?.blob.clone()
    };
    (*found == *bytes || cfg!(fyris_mutant = "nif_source_trusted")).then_some(found)
}

thread_local! {
    static STAGE: Cell<Stage> = const { Cell::new(Stage::None) };
    /// Blobs of the object that is being written, and where they came from.
    static NEW: RefCell<Vec<(Blob, Place)>> = const { RefCell::new(Vec::new()) };
}

/// The blobs of an object that is being written.
pub(super) struct Writing(());

fn stage(new: Stage) -> Stage {
    STAGE.with(|stage| stage.replace(new))
}

impl Writing {
    /// Begins the writing of an object that gets keepers, by this thread.
    pub(super) fn begin() -> Writing {
        stage(Stage::Begun);
        Writing(())
    }

    /// Counts one more object that holds a blob, which others that get the same binary find from now on.
    pub(super) fn hold(&self, blob: &Blob) {
        let source = NEW.with_borrow(|new| {
            new.iter()
                .find_map(|(made, source)| Arc::ptr_eq(made, blob).then_some(*source))
        });
        let (at, mut all) = (blob.as_ptr().addr(), all());
        let held = all.held.entry(at).or_insert_with(|| Shared {
            blob: blob.clone(),
            holders: 0,
            source: source.unwrap_or_else(|| place(blob)),
        });
        held.holders += 1;
        if let Some(source) = source {
            all.sources.insert(source, at);
        }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if stage(Stage::None) == Stage::Met {
            NEW.take();
        }
    }
}

/// Returns the blob of a large binary that is part of an object: one that is there, or a new one.
pub(super) fn blob(bytes: &[u8]) -> Option<Blob> {
    if STAGE.with(Cell::get) == Stage::None {
        return None;
    }
    NEW.with_borrow_mut(|new| {
        let twin = new.iter().find(|(_, source)| *source == place(bytes));
        if let Some((blob, _)) = twin {
            return Some(blob.clone());
        }
        if let Some(blob) = known(bytes) {
            return Some(blob);
        }
        let blob = Blob::from(bytes);
        new.push((blob.clone(), place(bytes)));
        stage(Stage::Met);
        Some(blob)
    })
}

/// Counts one object less that holds the blob at this address.
pub(super) fn release(at: usize) {
    let gone = {
        let mut all = all();
        let Some(held) = all.held.get_mut(&at) else {
            return;
        };
        held.holders -= 1;
        if held.holders > 0 {
            return;
        }
        let source = held.source;
        if all.sources.get(&source) == Some(&at) {
            all.sources.remove(&source);
        }
        all.held.remove(&at)
    };
    // Its memory may go now: not under the lock.
    drop(gone);
}

//! Reading without permission to write: no slot, so nothing is kept for this process.
//!
//! A *look* goes over all page heads and copies the pages whose head says that they have changed, out of the file into
//! private memory. It is good if the log's position was the same before and after, and all published entries were
//! applied: then each frame was current all the time, and no process wrote to it. Otherwise it looks again; pages that
//! have not changed since are not copied twice. The working copy is touched only when a look is good.
//!
//! Why that suffices: a frame is written to only after the entry that replaced it was published. A reader that copies a
//! word of its next content finds the position moved afterwards (the fence here pairs with that in `commit::fill`).

use fyris_sync::atomic::{Ordering, fence};
use std::collections::BTreeMap;
use std::time::Instant;

use super::{Segment, Updated};
use crate::PAGE;
use crate::error::{Error, Result};
use crate::failpoints::{failpoint, patience};

/// Looks before the processor is given to others between two.
const EAGER: usize = 100;

/// A page that was copied, and the log position after its last change.
struct Staged {
    changed: u64,
    frame: u32,
    page: Box<[u8; PAGE]>,
}

type Stage = BTreeMap<usize, Staged>;

/// The position, version and size that a good look saw.
struct Sight {
    position: u64,
    version: u64,
    size: usize,
}

impl Segment {
    /// Brings the working copy, in which nothing was changed, to the trunk's newest version.
    pub(super) fn look(&mut self) -> Result<Updated> {
        let (start, mut stage) = (Instant::now(), Stage::new());
        for looks in 0.. {
            if let Some(sight) = self.try_look(&mut stage)? {
                return self.show(sight, stage);
            }
            if start.elapsed() > patience() {
                break;
            }
            if looks > EAGER {
                std::thread::yield_now();
            }
        }
        Err(Error::Busy)
    }

    /// Takes one look; returns `None` if it was not good.
    fn try_look(&self, stage: &mut Stage) -> Result<Option<Sight>> {
        let trunk = &self.trunk;
        let position = trunk.position();
        let early = cfg!(fyris_mutant = "segment_version_early").then(|| trunk.version());
        failpoint!("position looked at");
        if trunk.applied() != position {
            return Ok(None);
        }
        // Behind `applied`: a commit stores its version after its position and before it says that it is applied.
        let sight = Sight {
            position,
            version: early.unwrap_or_else(|| trunk.version()),
            size: trunk.size()?,
        };
        for page in 0..sight.size.div_ceil(PAGE) {
            let (frame, changed) = trunk.head(page)?;
            let known = stage
                .get(&page)
                .map_or(self.seen[page], |staged| staged.changed);
            if changed == known {
                continue;
            }
            let mut copy = Box::new([0; PAGE]);
            trunk.read_frame(frame, &mut copy)?;
            // Acquire fence: pairs with the Release fence in `commit::fill` (see the module).
            fence(Ordering::Acquire);
            if trunk.head(page)? != (frame, changed) {
                return Ok(None);
            }
            stage.insert(
                page,
                Staged {
                    changed,
                    frame,
                    page: copy,
                },
            );
            failpoint!("page looked at");
        }
        // Acquire fence: as above, for the pages that were not copied: their heads are loaded before the position.
        fence(Ordering::Acquire);
        let same = trunk.position() == sight.position || cfg!(fyris_mutant = "segment_looks_once");
        Ok(same.then_some(sight))
    }

    /// Puts the content that was seen into the working copy.
    fn show(&mut self, sight: Sight, stage: Stage) -> Result<Updated> {
        let pages = stage.len();
        for (page, staged) in stage {
            // SAFETY: a page of this process's own, which no other thread writes to; the copy is as long as a page.
            unsafe {
                self.copy
                    .page(page)
                    .copy_from_nonoverlapping(staged.page.as_ptr(), PAGE)
            };
            self.seen[page] = staged.changed;
            self.base[page] = staged.frame;
        }
        self.position = sight.position;
        self.version = sight.version;
        self.extend_to(sight.size)?;
        Ok(Updated {
            version: self.version,
            pages,
            bytes: pages * PAGE,
            conflicts: 0,
        })
    }
}

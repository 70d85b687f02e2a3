//! Telling how far a dump has come, and being told to stop.

use std::ops::ControlFlow;

use super::DumpError;

/// The progress of saving or loading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file read or written.
    pub bytes: u64,
    /// Length of the file, where known; never known when saving.
    pub bytes_total: Option<u64>,
    /// Objects read or written.
    pub objects: u64,
    /// The number of objects that there should be, where known: a guess when the table changes meanwhile.
    pub objects_total: Option<u64>,
}

/// Is called about every 64 KiB of the file, and once at the end.
///
/// It runs on the thread that saves or loads, between two objects, with no lock held; the table may be
/// used inside. It may take its time. [`ControlFlow::Break`] stops the work with
/// [`DumpError::Cancelled`]; a panic stops it the same way and goes on to the caller. The work so far is
/// then undone: no file, no table.
pub type Watch<'w> = dyn FnMut(&Progress) -> ControlFlow<()> + 'w;

/// Watches nothing.
pub fn unwatched(_: &Progress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Bytes of the file between two calls.
const STRIDE: u64 = 64 * 1024;

/// Calls the callback when it is time.
pub(super) struct Reporter<'r, 'w> {
    watch: &'r mut Watch<'w>,
    due: u64,
    bytes_total: Option<u64>,
    objects_total: Option<u64>,
}

impl<'r, 'w> Reporter<'r, 'w> {
    pub(super) fn new(
        watch: &'r mut Watch<'w>,
        bytes_total: Option<u64>,
        objects_total: Option<u64>,
    ) -> Reporter<'r, 'w> {
        Reporter {
            watch,
            due: STRIDE,
            bytes_total,
            objects_total,
        }
    }

    /// Tells how far it has come, if that is worth telling.
    #[inline]
    pub(super) fn at(&mut self, bytes: u64, objects: u64) -> Result<(), DumpError> {
        if bytes < self.due {
            return Ok(());
        }
        self.due = bytes + STRIDE;
        self.report(bytes, objects)
    }

    /// Tells how far it has come, and turns the wish to stop into the error.
    pub(super) fn report(&mut self, bytes: u64, objects: u64) -> Result<(), DumpError> {
        let Reporter {
            bytes_total,
            objects_total,
            ..
        } = *self;
        match (self.watch)(&Progress {
            bytes,
            bytes_total,
            objects,
            objects_total,
        }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(DumpError::Cancelled),
        }
    }
}

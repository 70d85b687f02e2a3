//! What subscriptions tell.

use ::fyris_term::Term;
use fyris::{TableRef, WatchEvent, WatchKind};
use fyris_event_kind::*;

use crate::args::handle;
use crate::error::{Outcome, answer, free};
use crate::term::fyris_term;

/// What a subscription tells, at once.
pub struct fyris_event {
    event: WatchEvent,
    /// The place of the table of each change, or of the event.
    tables: Vec<usize>,
}

/// The kinds of events.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum fyris_event_kind {
    /// No event: NULL was asked about.
    FYRIS_EVENT_NONE = 0,
    /// What one call, or one transaction, has changed, of what was asked for: `fyris_event_len` changes.
    FYRIS_EVENT_CHANGES = 1,
    /// All objects of a table went at once, `fyris_event_count` of them.
    FYRIS_EVENT_CLEARED = 2,
    /// A table was deleted; nothing more is told of it.
    FYRIS_EVENT_DELETED = 3,
    /// Changes did not fit into the queue, here, `fyris_event_count` of them at most: what is known of the tables by
    /// this subscription is not what they hold any more.
    FYRIS_EVENT_OVERFLOW = 4,
    /// Objects of a table that were there when the subscription began, some of them: `fyris_event_len` objects. With
    /// the option `{from, snapshot}`.
    FYRIS_EVENT_OBJECTS = 5,
    /// All objects that were there have been told; from now on changes come.
    FYRIS_EVENT_CURRENT = 6,
}

impl fyris_event {
    /// Makes one of an event; `place` says where among the tables of the subscription one is.
    pub(super) fn new(event: WatchEvent, place: impl Fn(&TableRef) -> usize) -> fyris_event {
        let tables = match &event.kind {
            WatchKind::Changes(changes) => changes.iter().map(|told| place(&told.table)).collect(),
            WatchKind::Objects { table, .. }
            | WatchKind::Cleared { table, .. }
            | WatchKind::Deleted { table } => vec![place(table)],
            _ => vec![],
        };
        fyris_event { event, tables }
    }

    fn len(&self) -> usize {
        match &self.event.kind {
            WatchKind::Objects { objects, .. } => objects.len(),
            _ => self.event.changes().len(),
        }
    }

    fn old(&self, at: usize) -> Option<&Term> {
        self.event.changes().get(at)?.old.as_ref()
    }

    fn new_at(&self, at: usize) -> Option<&Term> {
        match &self.event.kind {
            WatchKind::Objects { objects, .. } => objects.get(at),
            _ => self.event.changes().get(at)?.new.as_ref(),
        }
    }

    fn table(&self, at: usize) -> usize {
        let place = match &self.event.kind {
            WatchKind::Changes(_) => self.tables.get(at),
            _ => self.tables.first(),
        };
        place.copied().unwrap_or(usize::MAX)
    }
}

/// Answers a question about an event.
///
/// # Safety
///
/// HANDLE: the event.
unsafe fn of<T>(event: *const fyris_event, otherwise: T, ask: impl FnOnce(&fyris_event) -> T) -> T {
    answer(otherwise, || -> Outcome<T> {
        // SAFETY: HANDLE: the event.
        Ok(ask(unsafe { handle(event, "the event") }?))
    })
}

/// Returns the kind of an event. Later versions may add kinds.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_event_kind_of(event: *const fyris_event) -> fyris_event_kind {
    let kind = |event: &fyris_event| match event.event.kind {
        WatchKind::Changes(_) => FYRIS_EVENT_CHANGES,
        WatchKind::Cleared { .. } => FYRIS_EVENT_CLEARED,
        WatchKind::Deleted { .. } => FYRIS_EVENT_DELETED,
        WatchKind::Overflow { .. } => FYRIS_EVENT_OVERFLOW,
        WatchKind::Objects { .. } => FYRIS_EVENT_OBJECTS,
        WatchKind::Current => FYRIS_EVENT_CURRENT,
        _ => FYRIS_EVENT_NONE,
    };
    // SAFETY: HANDLE: the event.
    unsafe { of(event, FYRIS_EVENT_NONE, kind) }
}

/// Returns the number of an event in its subscription, from 1: what was lost counts as well. 0 for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_event_seq(event: *const fyris_event) -> u64 {
    // SAFETY: HANDLE: the event.
    unsafe { of(event, 0, |event| event.event.seq) }
}

/// Returns the number of changes, or of objects, that an event tells one by one; 0 for other events, and for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_event_len(event: *const fyris_event) -> usize {
    // SAFETY: HANDLE: the event.
    unsafe { of(event, 0, fyris_event::len) }
}

/// Returns the table of change number `at`, from 0, and of another event that of the event: its place in the array that
/// was subscribed to, from 0. SIZE_MAX if there is no such change or no table, and for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_event_table(event: *const fyris_event, at: usize) -> usize {
    // SAFETY: HANDLE: the event.
    unsafe { of(event, usize::MAX, |event| event.table(at)) }
}

/// Returns the object that is not there any more since change number `at`, from 0, borrowed from the event; NULL for
/// one that came, and if there is no such change.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_event_old(
    event: *const fyris_event,
    at: usize,
) -> *const fyris_term {
    let old = |event: &fyris_event| event.old(at).map_or(std::ptr::null(), fyris_term::part);
    // SAFETY: HANDLE: the event.
    unsafe { of(event, std::ptr::null(), old) }
}

/// Returns the object that is there since change number `at`, from 0, borrowed from the event; NULL for one that was
/// deleted, and if there is no such change. Of FYRIS_EVENT_OBJECTS, object number `at`.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_event_new(
    event: *const fyris_event,
    at: usize,
) -> *const fyris_term {
    let new = |event: &fyris_event| event.new_at(at).map_or(std::ptr::null(), fyris_term::part);
    // SAFETY: HANDLE: the event.
    unsafe { of(event, std::ptr::null(), new) }
}

/// Returns how many objects a table had that was emptied at once, and how many changes were lost; 0 for other events,
/// and for NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_event_count(event: *const fyris_event) -> u64 {
    let count = |event: &fyris_event| match event.event.kind {
        WatchKind::Cleared { objects, .. } => objects as u64,
        WatchKind::Overflow { lost } => lost,
        _ => 0,
    };
    // SAFETY: HANDLE: the event.
    unsafe { of(event, 0, count) }
}

/// Frees an event, and with it the terms that were borrowed from it.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_event_free(event: *mut fyris_event) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(event) }
}

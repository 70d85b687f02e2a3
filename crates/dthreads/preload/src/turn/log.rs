//! The record of synchronization points.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use fyris_dthreads_tools::record::{self, EVENTS, Header, Operation};

use crate::shared::control::{control, record};
use crate::system::{LOCAL, Solo, real, site};
use crate::turn::region;

/// Events that there is room for: none without a file.
static ROOM: AtomicUsize = AtomicUsize::new(0);

/// Says that the record has room for events.
pub(crate) fn keep_events() {
    // Relaxed: stored before the program begins.
    ROOM.store(EVENTS, Ordering::Relaxed);
}

/// A synchronization point under way.
pub(crate) struct Event {
    operation: Operation,
    object: u64,
    arrived: u64,
    waits: bool,
    at: usize,
    site: u64,
}

fn since_begin() -> u64 {
    real::now() - control().began.get()
}

impl Event {
    pub(crate) fn arrived(operation: Operation, object: u64) -> Event {
        Event {
            operation,
            object,
            arrived: 0,
            waits: false,
            at: usize::MAX,
            site: site::get(),
        }
    }

    /// Says that the token is waited for from now on.
    pub(crate) fn waited(&mut self) {
        self.arrived = since_begin();
        self.waits = true;
    }

    /// Notes it: the token is here.
    pub(crate) fn began(&mut self, me: usize) {
        let record = record();
        mix(me, self.operation, self.object);
        self.at = record.count.get() as usize;
        record.count.add(1);
        let row = &record.threads[me];
        row.points.add(1);
        let kept = self.kept();
        if !self.waits && kept.is_none() {
            return;
        }
        let now = since_begin();
        if self.waits {
            row.token.add(now - self.arrived);
        }
        if let Some(event) = kept {
            let what = me as u64 | (self.operation as u64) << 16;
            event.what.set(what | region::number() << 32);
            event.site.set(self.site);
            event.object.set(self.object);
            event
                .arrived
                .set(if self.waits { self.arrived } else { now });
            event.began.set(now);
        }
    }

    /// Returns the call that it is.
    pub(crate) fn operation(&self) -> Operation {
        self.operation
    }

    /// Notes the pages committed since the last point. To be called before the token is passed: the program may end
    /// then at any time.
    pub(crate) fn committed(&self) {
        let pages = LOCAL.committed.take();
        if let Some(event) = self.kept() {
            event.pages.add(pages);
        }
    }

    /// Notes its end.
    pub(crate) fn ended(&self) {
        if let Some(event) = self.kept() {
            event.ended.set(since_begin());
        }
    }

    fn kept(&self) -> Option<&'static record::Event> {
        // Relaxed: as above.
        if self.at >= ROOM.load(Ordering::Relaxed) {
            return None;
        }
        let events = std::ptr::from_ref::<Header>(record()).wrapping_add(1);
        // SAFETY: the record has room for `ROOM` events behind its header; all in them are atomics.
        Some(unsafe { &*events.cast::<record::Event>().add(self.at) })
    }
}

/// Mixes a synchronization point into the hash of the schedule.
fn mix(thread: usize, operation: Operation, object: u64) {
    let record = record();
    record
        .hash
        .set(record::mix(record.hash.get(), thread, operation, object));
}

/// Page faults of this process before its present thread.
static FAULTS: Solo<Cell<u64>> = Solo::new(Cell::new(0));

/// Returns the page faults of this process so far.
fn faults() -> u64 {
    // SAFETY: zeros are valid, and the call fills them.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        (usage.ru_minflt + usage.ru_majflt) as u64
    }
}

/// Says that a thread begins in this process.
pub(crate) fn begin_faults() {
    FAULTS.set(faults());
}

/// Adds the page faults of this thread to the record.
pub(crate) fn count_faults() {
    record().threads[LOCAL.me.get()]
        .faults
        .add(faults() - FAULTS.get());
}

/// Notes the time that the program took.
pub(crate) fn close_record() {
    record().took.set(real::now() - control().began.get());
}

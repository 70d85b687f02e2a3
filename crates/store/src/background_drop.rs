//! A thread that frees the content of large tables.
//!
//! Freeing ten million objects takes seconds; the thread that happens to do it may be one that must not
//! be held up, such as a scheduler of the Erlang machine. One thread at a time does that work; it
//! ends when there is none left.

use std::sync::{Mutex, MutexGuard};
use std::thread;

use crate::table_data::AnyTableData;

struct Queue {
    contents: Vec<AnyTableData>,
    /// Whether there is a thread that will look at `contents` again.
    working: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    contents: Vec::new(),
    working: false,
});

fn lock() -> MutexGuard<'static, Queue> {
    // Nothing under the lock panics half-way.
    QUEUE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Frees a content in the background.
pub(crate) fn drop_later(data: AnyTableData) {
    let mut queue = lock();
    queue.contents.push(data);
    if queue.working {
        return;
    }
    let thread = thread::Builder::new().name("fyris-drop".to_owned());
    match thread.spawn(work) {
        Ok(_) => queue.working = true,
        // No thread to be had: the work is done here.
        Err(_) => {
            let contents = std::mem::take(&mut queue.contents);
            drop(queue);
            contents.into_iter().for_each(AnyTableData::free);
        }
    }
}

fn work() {
    while let Some(data) = next() {
        data.free();
    }
}

fn next() -> Option<AnyTableData> {
    let mut queue = lock();
    let data = queue.contents.pop();
    queue.working = data.is_some();
    data
}

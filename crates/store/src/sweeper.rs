//! A thread that frees the content of large tables.
//!
//! Freeing ten million objects takes seconds; the thread that happens to do it may be one that must not
//! be held up, such as a scheduler of the Erlang machine. One thread at a time does that work; it
//! ends when there is none left.

use std::sync::{Mutex, MutexGuard};
use std::thread;

use crate::body::AnyBody;

struct Queue {
    bodies: Vec<AnyBody>,
    /// Whether there is a thread that will look at `bodies` again.
    working: bool,
}

static QUEUE: Mutex<Queue> = Mutex::new(Queue {
    bodies: Vec::new(),
    working: false,
});

fn lock() -> MutexGuard<'static, Queue> {
    // Nothing under the lock panics half-way.
    QUEUE
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Frees a content in the background.
pub(crate) fn sweep(body: AnyBody) {
    let mut queue = lock();
    queue.bodies.push(body);
    if queue.working {
        return;
    }
    let thread = thread::Builder::new().name("fyris-sweeper".to_owned());
    match thread.spawn(work) {
        Ok(_) => queue.working = true,
        // No thread to be had: the work is done here.
        Err(_) => {
            let bodies = std::mem::take(&mut queue.bodies);
            drop(queue);
            drop(bodies);
        }
    }
}

fn work() {
    while let Some(body) = next() {
        drop(body);
    }
}

fn next() -> Option<AnyBody> {
    let mut queue = lock();
    let body = queue.bodies.pop();
    queue.working = body.is_some();
    body
}

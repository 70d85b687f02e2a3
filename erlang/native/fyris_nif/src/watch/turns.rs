//! The list of the subscriptions that may have something to send, and the thread that sends it.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::Watch;
use crate::machine::MessageEnv;

struct Turns {
    list: VecDeque<Arc<Watch>>,
    /// Subscriptions that are not dropped.
    living: usize,
    /// Whether the thread runs.
    runs: bool,
}

static TURNS: Mutex<Turns> = Mutex::new(Turns {
    list: VecDeque::new(),
    living: 0,
    runs: false,
});
/// Told when there is one in the list.
static ADDED: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Turns> {
    // Nothing is left half done by a panic.
    TURNS.lock().unwrap_or_else(|p| p.into_inner())
}

/// Counts a subscription that begins, and sees to it that the thread runs.
pub(super) fn begin() -> io::Result<()> {
    let mut turns = lock();
    if !turns.runs {
        let thread = std::thread::Builder::new().name("fyris-watching".to_owned());
        thread.spawn(run)?;
        turns.runs = true;
    }
    turns.living += 1;
    Ok(())
}

/// Counts a subscription that was dropped.
pub(super) fn end_one() {
    lock().living -= 1;
}

/// Puts a subscription behind the others. There is nothing to do for one where the thread does not run: all have ended.
pub(super) fn add(watch: Arc<Watch>) {
    let mut turns = lock();
    if turns.runs {
        turns.list.push_back(watch);
        drop(turns);
        ADDED.notify_one();
    }
}

/// Takes the first subscription, if need be when there is one; `None` if none is left.
fn next() -> Option<Arc<Watch>> {
    let mut turns = lock();
    loop {
        if let Some(watch) = turns.list.pop_front() {
            return Some(watch);
        }
        if turns.living == 0 {
            turns.runs = false;
            return None;
        }
        turns = ADDED.wait(turns).unwrap_or_else(|p| p.into_inner());
    }
}

fn run() {
    let mut messages = MessageEnv::new();
    while let Some(watch) = next() {
        watch.turn(&mut messages);
    }
}

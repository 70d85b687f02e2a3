//! Two threads that each write a key and then read that of the other.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Action, Index};
use fyris_sync::reclaim::pin;

use super::object::{Census, Object, settle};

const ROUNDS: u64 = if cfg!(fyris_small) { 2_000 } else { 20_000 };
/// Rounds of spinning before a thread gives its time slice away.
const PATIENCE: u32 = 2_000;

/// Checks that of two threads that write and then read what the other writes, one sees the write of the other. A store
/// that waits in the store buffer of a processor when the operation returns (the litmus test SB) breaks this, and with
/// it linearizability, of two keys together.
pub fn crossing_writes<I: Index<Object>>(make: &dyn Fn() -> I) {
    let (census, index) = (Census::new(), make());
    for key in 0..2 {
        super::put(&index, &census, key, 0, &pin());
    }
    let at = [AtomicU64::new(0), AtomicU64::new(0)];
    let work = |me: usize| {
        let (mine, other) = (me as u64, 1 - me as u64);
        (1..=ROUNDS)
            .map(|round| {
                let new = census.object(mine, round);
                meet(&at, me, round);
                let pin = pin();
                let old = index.upsert(&mine, &pin, |old| (Action::Put(new), old));
                let seen = index.get(&other, &pin).map(|entry| entry.value());
                settle(old, &pin);
                seen == Some(round - 1)
            })
            .collect()
    };
    let [one, two]: [Vec<bool>; 2] = std::thread::scope(|s| {
        let work = &work;
        let threads = [0, 1].map(|me| s.spawn(move || work(me)));
        threads.map(|thread| thread.join().expect("a thread panicked"))
    });
    let missed = one.iter().zip(&two).filter(|(one, two)| **one && **two);
    assert_eq!(missed.count(), 0, "rounds where neither saw the other");
}

/// Waits until both threads have come to a round.
fn meet(at: &[AtomicU64; 2], me: usize, round: u64) {
    // Release and Acquire: so the writes of earlier rounds are seen.
    at[me].store(round, Ordering::Release);
    let mut spins = 0;
    while at[1 - me].load(Ordering::Acquire) < round {
        spins += 1;
        if spins > PATIENCE {
            std::thread::yield_now();
        }
        std::hint::spin_loop();
    }
}

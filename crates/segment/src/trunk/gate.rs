//! The gate of the log: how a process that begins to hold the log meets one that shortens it.
//!
//! A slot's *place* says from which position on its process holds the log; the *gate* says below which position the log
//! can no longer be held. Neither side waits for the other: a process may stop for ever between two instructions.
//!
//! Invariant **GATE**: if `Trunk::hold` returns true, no [`raise`] returns a position above that place while the place
//! stays. The process that holds writes its place, then reads the gate. The process that shortens writes the gate, then
//! reads all places, and brings the gate back to the lowest. Each has a SeqCst fence between the two, and one of the
//! fences comes first: either the first process sees the gate above its position and gives up, or the second sees the
//! place and stays behind it.
//!
//! The words lie in memory that processes share; loom's stand in for them in the model below, which `tests/loom.rs`
//! runs.

use fyris_sync::atomic::{AtomicU64, Ordering, fence};

/// Writes a slot's place and returns the place before.
pub(super) fn stand(place: &AtomicU64, at: u64) -> u64 {
    // AcqRel: pairs with the SeqCst loads of the place in `Trunk::standing`: this process's reads of entries and frames
    // below come before. The Acquire half with the exchange in `Trunk::evict`, whose flag the swap returns.
    let old = place.swap(at, Ordering::AcqRel);
    // SeqCst: pairs with the fence in `raise` (GATE).
    fence(Ordering::SeqCst);
    old
}

/// Returns whether the log can still be held from `position` on, where the caller [stands](stand) already.
pub(super) fn is_open(gate: &AtomicU64, position: u64) -> bool {
    // Acquire: pairs with the Release in `raise`; the fence in `stand` came before.
    gate.load(Ordering::Acquire) <= position
}

/// Raises the gate to `target`, or as far as `lowest` allows, which loads the places of all slots and returns the
/// lowest. Returns the new gate: entries below it are held by no slot, and will be by none.
pub(super) fn raise(gate: &AtomicU64, target: u64, lowest: impl FnOnce() -> u64) -> u64 {
    // Release: pairs with the Acquire in `is_open`.
    gate.store(target, Ordering::Release);
    if !cfg!(fyris_mutant = "segment_gate_unordered") {
        // SeqCst: pairs with the fence in `stand` (GATE).
        fence(Ordering::SeqCst);
    }
    let lowest = lowest();
    if lowest >= target || cfg!(fyris_mutant = "segment_keep_nothing") {
        return target;
    }
    // Release: pairs with the Acquire in `is_open`. A process that met the higher gate meanwhile tries again.
    gate.store(lowest, Ordering::Release);
    lowest
}

#[cfg(all(test, loom))]
mod tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread;

    /// The place of a slot that holds nothing.
    const IDLE: u64 = u64::MAX;

    /// The gate and two slots, as in the trunk.
    struct Words {
        gate: AtomicU64,
        places: [AtomicU64; 2],
    }

    /// Enters slot `slot` at `position`, as `Trunk::hold` does; returns whether it holds the log.
    fn hold(words: &Words, slot: usize, position: u64) -> bool {
        stand(&words.places[slot], position);
        is_open(&words.gate, position)
    }

    /// Checks the gate while two processes enter at `positions` while a third raises the gate to 2: it stays behind
    /// each that holds.
    fn check(positions: [u64; 2]) {
        loom::model(move || {
            let words = Arc::new(Words {
                gate: AtomicU64::new(0),
                places: [AtomicU64::new(IDLE), AtomicU64::new(IDLE)],
            });
            let holders = [0, 1].map(|slot| {
                let words = Arc::clone(&words);
                thread::spawn(move || hold(&words, slot, positions[slot]))
            });
            // Acquire: pairs with the AcqRel in `stand`, as the loads in `Trunk::standing` do.
            let lowest = || {
                let places = words.places.iter();
                places
                    .map(|place| place.load(Ordering::Acquire))
                    .min()
                    .unwrap()
            };
            let reached = raise(&words.gate, 2, lowest);
            for (holder, position) in holders.into_iter().zip(positions) {
                let holds = holder.join().unwrap();
                assert!(
                    !holds || reached <= position,
                    "{position} is held, the gate at {reached}"
                );
            }
        });
    }

    #[test]
    fn the_gate_stays_behind_every_holder() {
        check([0, 1]);
        check([1, 2]);
    }
}

//! Stamps: the versions of places.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fyris_sync::reclaim::pin;

use super::object::{Census, Object, put, remove};
use crate::{Action, Stamp, Stamped};

/// Checks that any change of a key changes the stamp of its place, and that the stamp stays without
/// a change.
pub fn stamps<I: Stamped<Object>>(make: &dyn Fn() -> I) {
    let (census, index) = (Census::new(), make());
    for k in 0..500u64 {
        // One for each key: a test beside this one waits until its objects are freed.
        let pin = pin();
        let absent = index.stamp(&k, &pin);
        assert_eq!(absent, index.stamp(&k, &pin));
        put(&index, &census, k, 1, &pin);
        let present = index.stamp(&k, &pin);
        assert_ne!(absent, present, "an arrival shows");
        put(&index, &census, k, 2, &pin);
        let replaced = index.stamp(&k, &pin);
        assert_ne!(present, replaced, "a replacement shows");
        if k % 3 == 0 {
            remove(&index, k, &pin);
            assert_ne!(replaced, index.stamp(&k, &pin), "a departure shows");
        }
        let before = settled_stamp(&index, k);
        index.upsert(&k, &pin, |_| (Action::Keep, ()));
        assert_eq!(before, index.stamp(&k, &pin), "keeping is no change");
    }
}

/// Returns the stamp of a key's place, after any move of the index's own that writers have to
/// finish.
fn settled_stamp(index: &impl Stamped<Object>, key: u64) -> Stamp {
    let pin = pin();
    let keep = |_| {
        index.upsert(&key, &pin, |_| (Action::Keep, ()));
        index.stamp(&key, &pin)
    };
    let stamps: Vec<Stamp> = (0..4000).map(keep).collect();
    assert!(
        stamps[3000..].iter().all(|stamp| *stamp == stamps[3000]),
        "nobody writes"
    );
    stamps[3999]
}

/// Checks that a closure that panics changes no stamp.
pub fn panic_keeps_stamps<I: Stamped<Object>>(make: &dyn Fn() -> I) {
    let (census, index) = (Census::new(), make());
    for k in 0..50 {
        put(&index, &census, 2 * k, k, &pin());
    }
    for k in 0..100 {
        // As above.
        let pin = pin();
        let stamp = settled_stamp(&index, k);
        let panics = AssertUnwindSafe(|| {
            index.upsert(&k, &pin, |_| -> (Action<Object>, ()) {
                std::panic::resume_unwind(Box::new(()))
            });
        });
        assert!(catch_unwind(panics).is_err());
        assert_eq!(stamp, index.stamp(&k, &pin));
    }
}

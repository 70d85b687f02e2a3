//! The conformance suite for the Judy arrays under one lock.
#![cfg(not(any(loom, shuttle)))]
#![allow(missing_docs)]

use fyris_classic::Locked;
use fyris_index::conformance::Object;
use fyris_judy::{JudyEntries, JudyHashes, Measured, Padded};

mod judysl {
    use super::{JudyEntries, Locked, Object, Padded};
    use fyris_index::conformance::{ordered_suite, suite};

    suite!(Locked::<JudyEntries<Object, Padded>>::default());
    ordered_suite!(Locked::<JudyEntries<Object, Padded>>::default());
}

mod judyesl {
    use super::{JudyEntries, Locked, Measured, Object};
    use fyris_index::conformance::{ordered_suite, suite};

    suite!(Locked::<JudyEntries<Object, Measured>>::default());
    ordered_suite!(Locked::<JudyEntries<Object, Measured>>::default());
}

mod judyeh {
    use super::{JudyHashes, Locked, Object};
    use fyris_index::conformance::suite;

    suite!(Locked::<JudyHashes<Object>>::default());
}

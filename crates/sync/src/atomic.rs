//! Atomics: the standard library's, or loom's under `--cfg loom`.
//!
//! loom's constructors are not `const` and its atomics are larger than the number they hold, so
//! code above neither puts them in statics nor reads them out of zeroed memory without a `cfg`.

#[cfg(not(loom))]
pub use std::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

#[cfg(loom)]
pub use loom::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};

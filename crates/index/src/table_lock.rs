//! The lock of tables that have one, or an array of them.

/// The reader-writer lock of ERTS ([`fyris_sync::lock::rw`]), as ETS has it: no thread starves.
#[cfg(not(any(loom, shuttle)))]
pub type TableLock = fyris_sync::lock::rw::RawFair<fyris_sync::lock::rw::InWord>;

/// A lock that models do not look into: it has models of its own.
#[cfg(any(loom, shuttle))]
pub type TableLock = parking_lot::RawRwLock;

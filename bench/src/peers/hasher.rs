//! The hash function of the peers.

/// The hash function of every hash table here.
pub(super) type Hasher = foldhash::fast::RandomState;

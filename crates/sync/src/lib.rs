//! The one door to atomics, threads and reclamation.
//!
//! Everything above takes its atomics from [`atomic`] and its threads from [`thread`], so that a
//! model checker can stand in for them (`--cfg loom`).

pub mod reclaim;

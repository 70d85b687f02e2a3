//! Dumps.

pub mod disk_log;

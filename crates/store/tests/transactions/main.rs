//! Transactions.

mod anomalies;
mod bank;
mod basics;
mod handle;
mod races;
mod random;
mod serial;
mod walks;
mod watched;

//! Transactions.

mod anomalies;
mod bank;
mod basics;
mod batch;
mod batch_model;
mod handle;
mod hold;
mod places;
mod races;
mod random;
mod serial;
mod walks;
mod watched;

//! Transactions.

mod basics;

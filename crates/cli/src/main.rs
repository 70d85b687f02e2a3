//! The `fyris` program.
fn main() {}

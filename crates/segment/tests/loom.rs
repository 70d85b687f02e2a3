//! The models of the handshakes between processes. Run by `ci/loom.sh`.
#![cfg(loom)]

#[path = "../src/trunk/gate.rs"]
mod gate;
#[path = "../src/copy/marks.rs"]
mod marks;

//! The `fyris` program.

use std::process::ExitCode;

/// The allocator of the program; the bench counts its blocks, so it has to be this one.
#[cfg(not(fyris_sanitize))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    fyris_cli::program::run()
}

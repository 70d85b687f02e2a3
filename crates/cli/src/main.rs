//! The `fyris` program.

use std::process::ExitCode;

/// The allocator of the program.
#[cfg(not(fyris_sanitize))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    fyris_cli::program::run()
}

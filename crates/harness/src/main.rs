//! `fyris-bench`: Fyris alone.

use std::process::ExitCode;

use clap::Parser;
use fyris_harness::{BenchArgs, Registry};

/// The allocator whose blocks the harness counts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match fyris_harness::run(&BenchArgs::parse(), &Registry::own("fyris-bench")) {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fyris-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

//! The `fyris` program.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fyris_cli::doctor::{self, DoctorArgs};
use fyris_cli::info::{self, InfoArgs};
use fyris_cli::shell::{self, ShellArgs};
use fyris_harness::{BenchArgs, Registry};

/// The allocator of the program; the bench counts its blocks, so it has to be this one.
#[cfg(not(fyris_sanitize))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// A concurrent in-memory term store.
#[derive(Parser)]
#[command(name = "fyris", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Shell(ShellArgs),
    /// Measure Fyris
    Bench(BenchArgs),
    Doctor(DoctorArgs),
    Info(InfoArgs),
}

fn main() -> ExitCode {
    match Cli::parse().command {
        Command::Shell(args) => shell::run(args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Bench(args) => match fyris_harness::run(&args, &Registry::own("fyris bench")) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("fyris bench: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

//! The command line of the program.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use fyris_harness::{BenchArgs, Registry};

use crate::doctor::{self, DoctorArgs};
use crate::dthreads::{self, DthreadsArgs};
use crate::info::{self, InfoArgs};
use crate::shell::{self, ShellArgs};

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
    Dthreads(DthreadsArgs),
}

/// Runs what the command line says.
pub fn run() -> ExitCode {
    match Cli::parse().command {
        Command::Shell(args) => shell::run(args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Dthreads(args) => dthreads::run(&args),
        Command::Bench(args) => match fyris_harness::run(&args, &Registry::own("fyris bench")) {
            Ok(_) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("fyris bench: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

/// Returns the command line, for its manual.
pub fn command() -> clap::Command {
    Cli::command()
}

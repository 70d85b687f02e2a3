//! The command line of the program.

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::doctor::{self, DoctorArgs};
use crate::dthreads::{self, DthreadsArgs};
use crate::info::{self, InfoArgs};
use crate::shell::{self, ShellArgs};

/// A concurrent in-memory term store.
#[derive(Parser)]
#[command(name = "fyris", version)]
struct Cli {
    #[command(subcommand)]
    command: ProgramCommand,
}

#[derive(Subcommand)]
enum ProgramCommand {
    Shell(ShellArgs),
    Doctor(DoctorArgs),
    Info(InfoArgs),
    Dthreads(DthreadsArgs),
}

/// Runs what the command line says.
pub fn run() -> ExitCode {
    match Cli::parse().command {
        ProgramCommand::Shell(args) => shell::run(args),
        ProgramCommand::Doctor(args) => doctor::run(&args),
        ProgramCommand::Info(args) => info::run(&args),
        ProgramCommand::Dthreads(args) => dthreads::run(&args),
    }
}

/// Returns the command line, for its manual.
pub fn command() -> clap::Command {
    Cli::command()
}

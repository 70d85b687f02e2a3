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
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Shell(ShellArgs),
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
    }
}

/// Returns the command line, for its manual.
pub fn command() -> clap::Command {
    Cli::command()
}

//! `fyris-bench`: Fyris alone, and the experiments of the papers.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fyris_harness::papers::{self, PapersArgs};
use fyris_harness::{BenchArgs, BenchError, Registry};

/// The allocator whose blocks the harness counts.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Measure Fyris: one suite, or all that the papers' figures need
#[derive(Parser)]
#[command(name = "fyris-bench", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    bench: Option<BenchArgs>,
}

#[derive(Subcommand)]
enum Command {
    Papers(PapersArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match (cli.command, cli.bench) {
        (Some(Command::Papers(args)), _) => papers::run(&args),
        (None, Some(args)) => fyris_harness::run(&args, &Registry::own("fyris-bench")).map(drop),
        (None, None) => {
            let why = "no suite was named; `fyris-bench --help` lists them".to_owned();
            Err(BenchError::NothingToRun(why))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fyris-bench: {error}");
            ExitCode::FAILURE
        }
    }
}

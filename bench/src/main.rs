//! `fyris-compare`: Fyris beside other people's maps, in one process.
//!
//! The harness, the workloads and Fyris's own subjects are those of `fyris-bench` (the crate
//! `fyris-harness`); this crate adds the peers, one small file each, and the check of what
//! Fyris claims. See the README for the method and for where others win.

mod arrays;
mod check;
#[cfg(libjudy)]
mod judyl;
mod load;
mod peers;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use fyris_harness::BenchArgs;

/// The allocator of every subject alike; the bench counts its blocks, so it has to be this one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Fyris beside other people's maps, interleaved in one process
#[derive(Parser)]
#[command(
    name = "fyris-compare",
    version,
    args_conflicts_with_subcommands = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    bench: Option<BenchArgs>,
    /// Then say which of the figures Fyris aims at are reached; exit status 2 if one is missed
    #[arg(long)]
    check: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Load a dump of integer pairs, against `ets:file2tab` on the same file (needs `erl`)
    Load(load::LoadArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match (cli.command, cli.bench) {
        (Some(Command::Load(args)), _) => load::run(&args)
            .map(|()| ExitCode::SUCCESS)
            .map_err(|error| error.to_string()),
        (None, Some(args)) => compare(&args, cli.check),
        (None, None) => Err("what to run? `fyris-compare --help` tells".to_owned()),
    };
    done.unwrap_or_else(|error| {
        eprintln!("fyris-compare: {error}");
        ExitCode::FAILURE
    })
}

/// Runs a suite, and judges it if asked to.
fn compare(args: &BenchArgs, check: bool) -> Result<ExitCode, String> {
    let lines = fyris_harness::run(args, &peers::registry()).map_err(|error| error.to_string())?;
    if !check {
        return Ok(ExitCode::SUCCESS);
    }
    let verdicts = check::verdicts(args.suite, &lines);
    // With `--json` standard output is for lines alone.
    if args.json {
        eprint!("{}", check::table(&verdicts));
    } else {
        print!("{}", check::table(&verdicts));
    }
    let missed = verdicts.iter().any(|v| v.measured.is_some() && !v.passed());
    Ok(if missed {
        ExitCode::from(2)
    } else {
        ExitCode::SUCCESS
    })
}

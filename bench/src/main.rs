//! `fyris-compare`: Fyris beside other people's maps, in one process.
//!
//! The harness, the workloads and Fyris's own subjects are those of `fyris bench` (the library of
//! `fyris-cli`); this crate adds the peers, one small file each, and the check of what
//! Fyris claims. See the README for the method and for where others win.

mod check;
mod peers;

use std::process::ExitCode;

use clap::Parser;
use fyris_cli::bench::{self, BenchArgs};

/// The allocator of every subject alike; the bench counts its blocks, so it has to be this one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Fyris beside other people's maps, interleaved in one process
#[derive(Parser)]
#[command(name = "fyris-compare", version)]
struct Cli {
    #[command(flatten)]
    bench: BenchArgs,
    /// Then say which of the figures Fyris aims at are reached; exit status 2 if one is not
    #[arg(long)]
    check: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match bench::run(&cli.bench, &peers::registry()) {
        Ok(lines) if cli.check => {
            let verdicts = check::verdicts(&lines);
            // With `--json` standard output is for lines alone.
            if cli.bench.json {
                eprint!("{}", check::table(&verdicts));
            } else {
                print!("{}", check::table(&verdicts));
            }
            let missed = verdicts.iter().any(|v| v.measured.is_some() && !v.passed());
            if missed {
                ExitCode::from(2)
            } else {
                ExitCode::SUCCESS
            }
        }
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fyris-compare: {error}");
            ExitCode::FAILURE
        }
    }
}

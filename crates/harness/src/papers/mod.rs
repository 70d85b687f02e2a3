//! `fyris-bench papers`: the experiments of the five papers from which Fyris is built, on this machine, as a page.
//!
//! # What it does
//!
//! The plan is a list of runs of the other suites (`plan`). Each is done by this program as its own child, and its
//! JSON lines are kept in a file of their own, behind a line that says when, where and by which version. A run whose
//! file is there is not done again: so an interrupted plan goes on where it stopped. After each run the page is made
//! from all lines that there are (`page`): a section for each paper (`study_2003` and so on), in it a drawing for
//! each figure that has a counterpart, with three paragraphs: what the paper found, what we see, why they differ.
//!
//! # True sentences
//!
//! What we see is written by functions of the lines (`say`): numbers are those of the drawing, and what a paper
//! found is stated as a claim that holds here or does not.

mod conversion;
mod drawings;
mod ets_2013;
mod lines;
mod measure;
mod page;
mod plan;
mod raw;
mod say;
mod study_2003;
mod talk_2010;
mod tree_2014;

use std::path::PathBuf;

use clap::Args;

use crate::error::BenchError;
use plan::Size;

/// Run the experiments of the papers, and make the page that shows them
#[derive(Args, Clone, Debug)]
pub struct PapersArgs {
    /// Within ten minutes: small tables, few runs; proves nothing
    #[arg(long, conflicts_with = "full")]
    pub quick: bool,
    /// The largest sizes of the papers: 54 million keys, needs hours and 16 GB of memory
    #[arg(long)]
    pub full: bool,
    /// Where the page and the raw lines go [default: docs/experiments, and docs/experiments/quick with --quick]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// The program `fyris-compare`, for the transactional memory and the single lock of the paper on CONVERSION
    #[arg(long, value_name = "PROGRAM")]
    pub compare: Option<PathBuf>,
    /// A shared library with `std::unordered_map` as an index, for the paper of 2013 (its code is run)
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// Print the plan, and do nothing
    #[arg(long)]
    pub plan: bool,
    /// Only make the page, from what was measured before
    #[arg(long)]
    pub page: bool,
}

/// Measures what is missing, and writes the page.
///
/// # Errors
///
/// [`BenchError::Child`] if a suite fails, [`BenchError::Io`] if a file cannot be written,
/// [`BenchError::NothingToRun`] if there is no line to make a page of.
pub fn run(args: &PapersArgs) -> Result<(), BenchError> {
    let size = match (args.quick, args.full) {
        (true, _) => Size::Quick,
        (_, true) => Size::Full,
        _ => Size::Usual,
    };
    let usual = if args.quick {
        "docs/experiments/quick"
    } else {
        "docs/experiments"
    };
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(usual));
    let files = [&args.compare, &args.library];
    let missing = files.into_iter().flatten().find(|file| !file.is_file());
    if let Some(file) = missing.filter(|_| !args.page) {
        let why = format!("there is no file {}", file.display());
        return Err(BenchError::NothingToRun(why));
    }
    let steps = plan::steps(size, args.compare.is_some(), args.library.as_deref());
    if args.plan {
        measure::print_plan(&steps, &out);
        return Ok(());
    }
    if !args.page {
        measure::all(&steps, &out, args.compare.as_deref())?;
    }
    page::write(&steps, &out)
}

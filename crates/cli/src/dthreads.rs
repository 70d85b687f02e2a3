//! `fyris dthreads`: programs of POSIX threads, the same in every run.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Duration;

use fyris_dthreads_tools::check::{self, Noise, Run, run_once};
use fyris_dthreads_tools::launch::{Options, Refused, command, end_with_us};
use fyris_dthreads_tools::picture;
use fyris_dthreads_tools::record::THREADS;
use fyris_dthreads_tools::report::{Point, Report, first_difference};
use fyris_dthreads_tools::scratch::Scratch;

/// Run programs of POSIX threads deterministically: the same order of threads, and the same output, in every run.
///
/// Programs need no change. Threads become processes that work on copies of memory and take turns at
/// synchronization points (locks, joins, waits); races on plain memory are decided the same way each time. Clocks are
/// virtual: they begin on 9 September 2001, and waiting takes no time. See the README of fyris-dthreads.
#[derive(clap::Args, Debug)]
pub struct DthreadsArgs {
    #[command(subcommand)]
    command: DthreadsCommand,
}

#[derive(clap::Subcommand, Debug)]
enum DthreadsCommand {
    /// Run a program; the exit status is its own (120: the library ended it and said why)
    Run(RunArgs),
    /// Run a program many times under noise and compare output, exit status and schedule
    Check(CheckArgs),
    /// Run a program and show who had a turn when
    Trace(TraceArgs),
}

#[derive(clap::Args, Debug)]
struct Common {
    /// Threads that may be alive at once, main included
    #[arg(long, value_name = "N", default_value_t = THREADS)]
    threads: usize,

    /// MiB that the heap may have
    #[arg(long, value_name = "MIB", default_value_t = 512)]
    heap: u64,

    /// Leave clocks real; timed waits then end the program
    #[arg(long)]
    real_time: bool,

    /// Synchronization points in a turn of a thread, which ends with one commit: more are faster for threads that lock
    /// every few microseconds, slower for threads that compute in between
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    turn: u32,

    /// Make threads wait at a fence before they commit, as Dthreads did before CONVERSION: slower, for comparison
    #[arg(long)]
    fence: bool,

    /// The program
    program: OsString,

    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

#[derive(clap::Args, Debug)]
struct RunArgs {
    /// Print where time went, to standard error: waiting for the token, updates, commits, page faults
    #[arg(long)]
    stats: bool,

    /// List the bytes that two threads wrote, neither knowing of the other's, to standard error: races
    #[arg(long)]
    conflicts: bool,

    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args, Debug)]
struct CheckArgs {
    /// How often to run it
    #[arg(long, value_name = "N", default_value_t = 100)]
    runs: u64,

    /// Seconds that a run may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience: u64,

    /// A file that each run has as its standard input (default: empty)
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,

    #[command(flatten)]
    common: Common,
}

#[derive(clap::Args, Debug)]
struct TraceArgs {
    /// Write a picture of the schedule to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Show this many synchronization points
    #[arg(long, value_name = "N", default_value_t = 200)]
    points: usize,

    #[command(flatten)]
    common: Common,
}

#[derive(Debug, thiserror::Error)]
enum DthreadsFailure {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error(transparent)]
    Check(#[from] check::Error),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Common {
    fn options(&self) -> Options {
        Options {
            threads: self.threads,
            heap: self.heap.saturating_mul(1 << 20),
            real_time: self.real_time,
            turn: self.turn,
            fence: self.fence,
            ..Options::default()
        }
    }

    fn command(&self, options: &Options) -> Result<Command, Refused> {
        command(&self.program, &self.arguments, options)
    }
}

/// Runs the command; the exit status is the program's, or 1 after an error, or 1 if runs differ.
pub fn run(args: &DthreadsArgs) -> ExitCode {
    let done = match &args.command {
        DthreadsCommand::Run(args) => run_program(args),
        DthreadsCommand::Check(args) => check_program(args),
        DthreadsCommand::Trace(args) => trace(args),
    };
    done.unwrap_or_else(|error| {
        eprintln!("fyris dthreads: {error}");
        ExitCode::FAILURE
    })
}

fn run_program(args: &RunArgs) -> Result<ExitCode, DthreadsFailure> {
    if !args.stats && !args.conflicts {
        // The program takes this process over: signals, exit status and terminal are its own.
        return Err(args.common.command(&args.common.options())?.exec().into());
    }
    let options = Options {
        conflicts: args.conflicts,
        ..args.common.options()
    };
    let (report, code) = recorded(&args.common, &options)?;
    let mut err = io::stderr().lock();
    if args.conflicts {
        write_conflicts(&report, &mut err)?;
    }
    if args.stats {
        write_stats(&report, &mut err)?;
    }
    Ok(code)
}

/// Lists the conflicts by their addresses.
fn write_conflicts(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let (all, mut rows) = report.conflicts();
    let modules = report.modules();
    rows.sort_by_key(|row| (row.address, row.len, row.threads));
    for row in &rows {
        let [first, second] = row.sites.map(|site| match site {
            0 => "its end, or more memory for the heap".to_owned(),
            site => modules.call(site),
        });
        let (address, [before, after]) = (row.address, row.threads);
        writeln!(
            out,
            "{} bytes at {address:#x} ({}): thread {before} wrote before {first}, thread {after}, whose bytes stayed, \
             before {second}; {} times",
            row.len,
            modules.name(address),
            row.count,
        )?;
    }
    match all {
        0 => writeln!(out, "no conflicts"),
        all => writeln!(out, "{all} conflicts in all, {} that differ", rows.len()),
    }
}

/// Runs the program with a record; its standard streams are this process's.
fn recorded(common: &Common, options: &Options) -> Result<(Report, ExitCode), DthreadsFailure> {
    let record = Scratch::new()?;
    let options = Options {
        record: Some(record.path()),
        ..options.clone()
    };
    let mut command = common.command(&options)?;
    end_with_us(&mut command);
    let status = command.status()?;
    let code = match (status.code(), status.signal()) {
        (Some(code), _) => ExitCode::from(code as u8),
        (None, signal) => {
            eprintln!(
                "fyris dthreads: the program ended by signal {}",
                signal.unwrap_or(0)
            );
            ExitCode::from(128 + signal.unwrap_or(0) as u8)
        }
    };
    Ok((Report::read(&record.path())?, code))
}

fn write_stats(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let (most, created, forked) = report.threads();
    writeln!(
        out,
        "{} synchronization points in {} ms, schedule {:016x}; {created} threads, {most} at once, {forked} processes \
         forked",
        report.count(),
        report.took() / 1_000_000,
        report.hash(),
    )?;
    writeln!(
        out,
        "{:>6} {:>13} {:>13} {:>9} {:>9} {:>9} {:>12} {:>15} {:>13} {:>9}",
        "thread",
        "token wait ms",
        "fence wait ms",
        "update ms",
        "commit ms",
        "points",
        "transactions",
        "pages committed",
        "pages updated",
        "faults"
    )?;
    let ms = |nanos: u64| nanos as f64 / 1e6;
    for slot in 0..THREADS {
        let [
            token,
            fence,
            update,
            commit,
            points,
            transactions,
            published,
            updated,
            faults,
        ] = report.row(slot);
        if points == 0 {
            continue;
        }
        writeln!(
            out,
            "{slot:>6} {:>13.2} {:>13.2} {:>9.2} {:>9.2} {points:>9} {transactions:>12} {published:>15} {updated:>13} \
             {faults:>9}",
            ms(token),
            ms(fence),
            ms(update),
            ms(commit)
        )?;
    }
    Ok(())
}

fn check_program(args: &CheckArgs) -> Result<ExitCode, DthreadsFailure> {
    let common = &args.common;
    let patience = Duration::from_secs(args.patience);
    let once = |n| {
        let noise = Noise::of(n);
        let input = args.input.as_deref();
        run_once(
            &common.program,
            &common.arguments,
            &common.options(),
            input,
            noise,
            patience,
        )
    };
    let first = once(0)?;
    for n in 1..args.runs {
        let run = once(n)?;
        if let Some(what) = first.differs(&run) {
            println!("run {} differs from the first in its {what}", n + 1);
            show_difference(&first, &run);
            return Ok(ExitCode::FAILURE);
        }
    }
    println!(
        "{} runs agree: {}, {} bytes of output, {} synchronization points, schedule {:016x}",
        args.runs,
        first.status,
        first.output.len(),
        first.report.count(),
        first.report.hash()
    );
    Ok(ExitCode::SUCCESS)
}

fn show_difference(first: &Run, other: &Run) {
    if first.status != other.status {
        println!("  {} and {}", first.status, other.status);
    }
    let pairs = first.output.iter().zip(&other.output);
    let at = pairs.take_while(|(a, b)| a == b).count();
    if first.output != other.output {
        println!("  output differs from byte {at} on");
    }
    let modules = first.report.modules();
    let tell = |point: Option<Point>| match point {
        Some(point) => format!(
            "thread {} in {} {} at {}",
            point.thread,
            point.operation.name(),
            modules.name(point.object),
            modules.call(point.site)
        ),
        None => "the end".to_owned(),
    };
    match first_difference(&first.report, &other.report) {
        Some((at, one, two)) => {
            println!(
                "  the runs part at synchronization point {at}: {}, and {}",
                tell(one),
                tell(two)
            );
        }
        None if first.report.hash() != other.report.hash() => println!(
            "  the runs part after the first {} synchronization points, which are all that is kept",
            first.report.kept()
        ),
        None => println!("  the synchronization points are the same"),
    }
}

fn trace(args: &TraceArgs) -> Result<ExitCode, DthreadsFailure> {
    let (report, code) = recorded(&args.common, &args.common.options())?;
    let modules = report.modules();
    if let Some(path) = &args.svg {
        std::fs::write(path, picture::svg(&report, args.points))?;
    }
    let mut err = io::stderr().lock();
    writeln!(
        err,
        "{:>6} {:>6} {:>10} {:>10} {:>9} {:>6}  call, object, where, region",
        "point", "thread", "at us", "waited us", "took us", "pages"
    )?;
    for (at, point) in report.points().take(args.points).enumerate() {
        let us = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e3;
        writeln!(
            err,
            "{at:>6} {:>6} {:>10.1} {:>10.1} {:>9.1} {:>6}  {} {}  {} {}",
            point.thread,
            us(0, point.began),
            us(point.arrived, point.began),
            us(point.began, point.ended),
            point.pages,
            point.operation.name(),
            modules.name(point.object),
            modules.call(point.site),
            report.region(point.region),
        )?;
    }
    let more = report.count().saturating_sub(args.points as u64);
    if more > 0 {
        writeln!(err, "and {more} more (--points)")?;
    }
    Ok(code)
}

//! The command line of the program.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::doctor::{self, DoctorArgs};
use crate::dthreads::{self, DthreadsArgs};
use crate::info::{self, InfoArgs};
use crate::shell::{self, OpenArgs, ShellArgs};

/// A concurrent in-memory term store.
///
/// `fyris FILE` opens a dump, CSV, JSON, a dets file or a directory of Mnesia in the shell; `fyris FILE QUERY` answers
/// and ends. A file that has the name of a command is written with a folder: `./info`.
#[derive(Parser)]
#[command(
    name = "fyris",
    version,
    args_conflicts_with_subcommands = true,
    arg_required_else_help = true
)]
struct Cli {
    #[command(subcommand)]
    command: Option<ProgramCommand>,

    #[command(flatten)]
    open: OpenArgs,
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
    let args = Cli::parse_from(with_two_dashes(std::env::args_os().collect()));
    match args.command {
        Some(ProgramCommand::Shell(args)) => shell::run(args),
        Some(ProgramCommand::Doctor(args)) => doctor::run(&args),
        Some(ProgramCommand::Info(args)) => info::run(&args),
        Some(ProgramCommand::Dthreads(args)) => dthreads::run(&args),
        None => open(args.open),
    }
}

/// Opens a file, unless it is a slip for a command.
fn open(args: OpenArgs) -> ExitCode {
    let Some(file) = args.file() else {
        eprintln!("fyris: a file is needed");
        return ExitCode::from(2);
    };
    if let Some(command) = slip(file) {
        let file = file.display();
        eprintln!("fyris: no file {file}, and no command: did you mean `fyris {command}`?");
        return ExitCode::from(2);
    }
    shell::open(args)
}

/// Returns the command that a file that is not there is a slip for.
fn slip(file: &Path) -> Option<String> {
    let word = file.to_str().filter(|_| !file.exists())?;
    let command = command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    shell::nearest(word, names).map(str::to_owned)
}

/// Returns the command line with two dashes before the options that sqlite3 writes with one, unless a command that is
/// named has options of its own.
fn with_two_dashes(args: Vec<OsString>) -> Vec<OsString> {
    let word = args
        .iter()
        .skip(1)
        .find_map(|arg| arg.to_str().filter(|arg| !arg.starts_with('-')));
    if word.is_some_and(|word| command().find_subcommand(word).is_some()) {
        return args;
    }
    let option = |arg: &OsString| {
        arg.to_str()
            .is_some_and(|arg| OpenArgs::WITH_ONE_DASH.contains(&arg))
    };
    let is_comment = |arg: &OsString| {
        let text = arg.to_str().and_then(|arg| arg.strip_prefix("--"));
        text.is_some_and(|text| text.contains(char::is_whitespace))
    };
    let behind = |before: &str, arg: &OsString| {
        let mut behind = OsString::from(before);
        behind.push(arg);
        behind
    };
    let dashed = args.into_iter().map(|arg| match option(&arg) {
        true => behind("-", &arg),
        // A query may begin with a comment of SQL, which is no option.
        false if is_comment(&arg) => behind(" ", &arg),
        false => arg,
    });
    dashed.collect()
}

/// Returns the command line, for its manual.
pub fn command() -> clap::Command {
    Cli::command()
}

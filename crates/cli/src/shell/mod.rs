//! `fyris shell`: open a dump, browse it, change it, save it.
//!
//! The shell is one process of the store: it owns the tables it opens. Input comes from a terminal (line editing,
//! history, completion), from `-e` commands, from a script, or from a pipe; all of them are the same lines, read by
//! `input` and run by the rows of `commands/verbs.rs`. Results go to standard output, all else to standard error.
//!
//! Each stands on those above it only: `error` and `interrupt`; `screen`, what is printed, and `names`; `query`, the
//! language of queries, and `gather`, groups and orders of what they find, beside `data`, files of rows, `moment`,
//! snapshots, `transaction`, `watch` and `unsaved`; `session`, the tables; `commands`, what runs, and `sql`; `input`,
//! from a line to a command; `script`, commands that nobody types.

mod commands;
mod data;
mod error;
mod gather;
mod input;
mod interrupt;
mod moment;
mod names;
mod query;
mod screen;
mod script;
mod session;
mod sql;
mod transaction;
mod unsaved;
mod watch;

use std::io::{self, BufRead, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use commands::{load, verbs};
use error::ShellError;
use input::command::{Commands, Line};
use input::editor::{Input, Prompt};
pub(crate) use names::nearest;
use rustyline::error::ReadlineError;
use screen::format::{Format, printable_lines};
use session::Session;

/// Open, browse and change dumps of ETS tables.
///
/// Files are opened before the first command: dumps that `ets:tab2file` or Fyris wrote. At the prompt, `help` lists the
/// commands. With -e or --script, or when standard input is no terminal, commands run one after the other and the first
/// error ends the program with exit status 1.
#[derive(clap::Args, Debug)]
pub struct ShellArgs {
    /// Dumps to open first.
    files: Vec<PathBuf>,

    /// Run COMMAND and leave; may be repeated.
    #[arg(short, value_name = "COMMAND")]
    execute: Vec<String>,

    /// Run the commands of a file (`-`: of standard input) and leave; `#!` and `%` lines are comments, commands are
    /// echoed.
    #[arg(long, value_name = "FILE", conflicts_with = "execute")]
    script: Option<PathBuf>,

    /// Print objects one a line in this form; without a terminal that is erl anyway. Remarks go to standard error then.
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,
}

/// A file to open, and what to do with it, without the name of a command.
#[derive(clap::Args, Debug)]
pub struct OpenArgs {
    /// A dump, a file of CSV or JSON, whose first column is the key, a dets file, a log of disk_log, or a directory of
    /// Mnesia; it is opened in the shell
    file: Option<PathBuf>,

    /// Commands or SQL to run before leaving; without any they are read from standard input, or typed
    #[arg(value_name = "QUERY")]
    queries: Vec<String>,

    /// Write results as JSON; -json, too
    #[arg(long, conflicts_with = "csv")]
    json: bool,

    /// Write results as CSV; -csv, too
    #[arg(long)]
    csv: bool,

    /// Write the names of columns above CSV; -header, too
    #[arg(long)]
    header: bool,
}

impl OpenArgs {
    /// Returns the options that sqlite3 writes with one dash.
    pub const WITH_ONE_DASH: [&'static str; 3] = ["-json", "-csv", "-header"];

    /// Returns the file.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

/// Opens a file in the shell, or runs queries over it; the exit status is that of [`run`].
pub fn open(args: OpenArgs) -> ExitCode {
    let format = match (args.json, args.csv) {
        (true, _) => Some(Format::Json),
        (_, true) => Some(Format::Csv),
        _ => None,
    };
    let header = args.header;
    let args = ShellArgs {
        files: args.file.into_iter().collect(),
        execute: args.queries,
        script: None,
        format,
    };
    ended(Shell::new().and_then(|mut shell| {
        if header {
            shell.session.display_mut().set_headers(true);
        }
        shell.all(args)
    }))
}

/// Runs the shell; the exit status is 0, or 1 after an error outside the prompt.
pub fn run(args: ShellArgs) -> ExitCode {
    ended(Shell::new().and_then(|mut shell| shell.all(args)))
}

/// Returns the exit status.
fn ended(result: Result<(), ShellError>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that had enough (`| head`) is no error.
        Err(ShellError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("fyris: {}", printable_lines(&e.to_string()));
            ExitCode::FAILURE
        }
    }
}

/// Returns how each command of the shell is written, and what it does.
pub fn commands() -> impl Iterator<Item = (&'static str, &'static str)> {
    verbs::VERBS.iter().map(|verb| (verb.usage, verb.help))
}

struct Shell {
    session: Session,
}

impl Shell {
    fn new() -> Result<Shell, ShellError> {
        interrupt::install()?;
        Ok(Shell {
            session: Session::new(),
        })
    }

    fn all(&mut self, args: ShellArgs) -> Result<(), ShellError> {
        let asks = args.execute.is_empty() && args.script.is_none() && io::stdin().is_terminal();
        self.session.display_mut().set_format(args.format, true);
        for file in &args.files {
            self.open(file)?;
        }
        if asks {
            return self.interactive();
        }
        let done = self.batch(args);
        match self.session.unsaved(true) {
            Some(lost) if self.session.has_begun() => done.and(Err(ShellError::other(lost))),
            unsaved => {
                unsaved.inspect(|unsaved| self.session.display().warn(unsaved));
                done
            }
        }
    }

    /// Opens a dump, or loads a file of rows.
    fn open(&mut self, file: &Path) -> Result<(), ShellError> {
        match load::has_rows(file) {
            false => self.session.open(file, None),
            true => self
                .session
                .run(|session| load::import_file(session, file, None, None)),
        }
    }

    /// Runs the commands of the command line, of a script or of standard input.
    fn batch(&mut self, args: ShellArgs) -> Result<(), ShellError> {
        let session = &mut self.session;
        if !args.execute.is_empty() {
            for command in &args.execute {
                if !session.over() {
                    let lines = command.lines().map(|line| Ok(line.to_owned()));
                    script::run(session, None, lines, false)?;
                }
            }
            return Ok(());
        }
        let reads_script = args.script.is_some();
        if let Some(path) = args.script.filter(|path| path.as_os_str() != "-") {
            return script::file(session, &path, true);
        }
        let lines = io::stdin().lock().lines();
        script::run(session, Some("standard input"), lines, reads_script)
    }

    fn interactive(&mut self) -> Result<(), ShellError> {
        let editor_error = |e| ShellError::other(format!("the line editor: {e}"));
        let mut prompt = Prompt::new(self.session.known()).map_err(editor_error)?;
        self.session.greet()?;
        loop {
            match prompt.read(&self.session.prompt()).map_err(editor_error)? {
                Input::End => self.session.set_over(true),
                Input::Cancelled => {}
                Input::Lines(lines) => self.entered(&lines)?,
            }
            if self.session.over() {
                if self.leaves(&mut prompt).map_err(editor_error)? {
                    return Ok(());
                }
                self.session.set_over(false);
            }
        }
    }

    /// Returns whether the user wants to leave, if there is something to lose. A second Ctrl-D means it.
    fn leaves(&self, prompt: &mut Prompt) -> Result<bool, ReadlineError> {
        let Some(unsaved) = self.session.unsaved(false) else {
            return Ok(true);
        };
        let answer = prompt.ask(&format!("{unsaved}; leave all the same? [y/N] "))?;
        Ok(answer.is_none_or(|answer| answer.trim().to_lowercase().starts_with('y')))
    }

    /// Runs the lines that came from the prompt at once, several if they were pasted, as if they had been typed one
    /// after the other; Ctrl-C gives up the rest as well.
    fn entered(&mut self, lines: &str) -> Result<(), ShellError> {
        let mut commands = Commands::default();
        let several = Commands::in_lines(lines) > 1;
        for line in lines.lines() {
            let before = commands.before(line, self.session.columns());
            if !self.step(before)? {
                return Ok(());
            }
            if several {
                self.session.echo(line)?;
            }
            let read = commands.add(line, self.session.columns());
            if !self.step(read)? {
                return Ok(());
            }
        }
        let last = commands.end(self.session.columns());
        self.step(last).map(|_| ())
    }

    /// Runs a command, if there is one; returns whether those behind it are to run.
    fn step(&mut self, read: Option<Result<Line, ShellError>>) -> Result<bool, ShellError> {
        let Some(read) = read else {
            return Ok(true);
        };
        match read.and_then(|line| script::step(&mut self.session, line)) {
            Ok(()) => Ok(!self.session.over()),
            Err(ShellError::Output(e)) => Err(ShellError::Output(e)),
            Err(e) => {
                self.session.display().error(&e);
                Ok(!matches!(e, ShellError::Interrupted))
            }
        }
    }
}

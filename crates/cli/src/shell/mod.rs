//! `fyris shell`: open a dump, browse it, change it, save it.
//!
//! The shell is one process of the store: it owns the tables it opens. Input comes from a terminal (line editing,
//! history, completion), from `-e` commands, from a script, or from a pipe; all of them are the same lines, read by
//! `input` and run by the rows of `commands/verbs.rs`. Results go to standard output, all else to standard error.
//!
//! Each stands on those above it only: `error`, `interrupt` and `names`; `screen`, what is printed; `query`, the
//! language of queries, and `gather`, groups and orders of what they find, beside `data`, files of rows, `moment`,
//! snapshots, `transaction` and `watch`; `session`, the tables; `commands`, what runs; `input`, from a line to a
//! command.

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
mod session;
mod transaction;
mod watch;

use std::io::{self, BufRead, IsTerminal};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use commands::verbs;
use error::ShellError;
use input::command::{Commands, Line};
use input::editor::{Input, Prompt};
use screen::format::Format;
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

/// Runs the shell; the exit status is 0, or 1 after an error outside the prompt.
pub fn run(args: ShellArgs) -> ExitCode {
    match Shell::new().and_then(|mut shell| shell.all(args)) {
        Ok(()) => ExitCode::SUCCESS,
        // A reader that had enough (`| head`) is no error.
        Err(ShellError::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("fyris: {e}");
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
        self.session.set_format(args.format);
        for file in &args.files {
            self.session.open(file, None)?;
        }
        if !args.execute.is_empty() {
            return self.batch(None, args.execute.into_iter().map(Ok), false);
        }
        let reads_script = args.script.is_some();
        if let Some(path) = args.script.filter(|path| path.as_os_str() != "-") {
            let name = path.display().to_string();
            let text =
                std::fs::read_to_string(&path).map_err(|source| ShellError::Io { path, source })?;
            let lines = text.lines().map(|line| Ok(line.to_owned()));
            return self.batch(Some(&name), lines, true);
        }
        if io::stdin().is_terminal() && !reads_script {
            return self.interactive();
        }
        self.batch(
            Some("standard input"),
            io::stdin().lock().lines(),
            reads_script,
        )
    }

    /// Commands one after the other until the end or the first error, which names the line of `source` where its
    /// command begins. With `echo`, for people to follow.
    fn batch(
        &mut self,
        source: Option<&str>,
        lines: impl Iterator<Item = io::Result<String>>,
        echo: bool,
    ) -> Result<(), ShellError> {
        let mut commands = Commands::default();
        let mut begins = 1;
        for (number, line) in (1..).zip(lines) {
            let line = line.map_err(|e| ShellError::other(format!("the input: {e}")))?;
            if line.starts_with("#!") {
                continue;
            }
            if echo {
                self.session.echo(&line)?;
            }
            if commands.unfinished().is_none() {
                begins = number;
            }
            if let Some(read) = commands.add(&line, self.session.columns()) {
                let done = read.and_then(|line| self.step(line));
                done.map_err(|error| error.at(source, begins))?;
                if self.session.over() {
                    return Ok(());
                }
            }
        }
        match commands.unfinished() {
            None => Ok(()),
            Some(text) => {
                let error = format!("the input ended inside a command: {text}");
                Err(ShellError::other(error).at(source, begins))
            }
        }
    }

    fn interactive(&mut self) -> Result<(), ShellError> {
        let editor_error = |e| ShellError::other(format!("the line editor: {e}"));
        let mut prompt = Prompt::new(self.session.known()).map_err(editor_error)?;
        self.session.greet()?;
        while !self.session.over() {
            match prompt.read(&self.session.prompt()).map_err(editor_error)? {
                Input::End => break,
                Input::Cancelled => {}
                Input::Lines(lines) => self.entered(&lines)?,
            }
        }
        Ok(())
    }

    /// Runs the lines that came from the prompt at once, several if they were pasted, as if they had been typed one
    /// after the other; Ctrl-C gives up the rest as well.
    fn entered(&mut self, lines: &str) -> Result<(), ShellError> {
        let mut commands = Commands::default();
        let several = Commands::in_lines(lines) > 1;
        for line in lines.lines() {
            if several {
                self.session.echo(line)?;
            }
            let Some(read) = commands.add(line, self.session.columns()) else {
                continue;
            };
            match read.and_then(|line| self.step(line)) {
                Ok(()) if self.session.over() => return Ok(()),
                Ok(()) => {}
                Err(ShellError::Output(e)) => return Err(ShellError::Output(e)),
                Err(e) => {
                    self.session.display().error(&e);
                    if matches!(e, ShellError::Interrupted) {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, line: Line) -> Result<(), ShellError> {
        interrupt::clear();
        let Line::Command(command) = line else {
            return Ok(());
        };
        let (timed, begun) = (self.session.timing, Instant::now());
        let done = command.run(&mut self.session);
        if timed {
            eprintln!("time: {:.3?}", begun.elapsed());
        }
        done
    }
}

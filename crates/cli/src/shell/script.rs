//! Commands that nobody types: of a script, of a pipe, of the command line.

use std::cell::Cell;
use std::io;
use std::path::Path;
use std::time::Instant;

use super::error::ShellError;
use super::input::command::{Commands, Line};
use super::interrupt;
use super::session::Session;

/// Scripts that read scripts, at most.
const DEEPEST: usize = 16;

/// Runs the commands of a file.
pub(crate) fn file(session: &mut Session, path: &Path, echo: bool) -> Result<(), ShellError> {
    if session.scripts == DEEPEST {
        let problem = format!("scripts read scripts {DEEPEST} levels deep");
        return Err(ShellError::other(problem));
    }
    let text = std::fs::read_to_string(path).map_err(|source| ShellError::Io {
        path: path.to_owned(),
        source,
    })?;
    let lines = text.lines().map(|line| Ok(line.to_owned()));
    session.scripts += 1;
    let done = run(session, Some(&path.display().to_string()), lines, echo);
    session.scripts -= 1;
    done
}

/// Runs commands one after the other until the end or the first error, which names the line of `source` where its
/// command begins. With `echo`, for people to follow.
pub(super) fn run(
    session: &mut Session,
    source: Option<&str>,
    lines: impl Iterator<Item = io::Result<String>>,
    echo: bool,
) -> Result<(), ShellError> {
    let mut commands = Commands::default();
    let begins = Cell::new(1);
    let one = |session: &mut Session, read: Result<Line, ShellError>| {
        let done = read.and_then(|line| step(session, line));
        done.map_err(|error| error.at(source, begins.get()))
    };
    for (number, line) in (1..).zip(lines) {
        let line = line.map_err(|e| ShellError::other(format!("the input: {e}")))?;
        if line.starts_with("#!") {
            continue;
        }
        if let Some(read) = commands.before(&line, session.columns()) {
            one(session, read)?;
        }
        if session.over() {
            return Ok(());
        }
        if echo {
            session.echo(&line)?;
        }
        if commands.unfinished().is_none() {
            begins.set(number);
        }
        if let Some(read) = commands.add(&line, session.columns()) {
            one(session, read)?;
        }
        if session.over() {
            return Ok(());
        }
    }
    if let Some(read) = commands.end(session.columns()) {
        one(session, read)?;
    }
    match commands.unfinished() {
        None => Ok(()),
        Some(text) => {
            let error = format!("the input ended inside a command: {text}");
            Err(ShellError::other(error).at(source, begins.get()))
        }
    }
}

/// Runs one command.
pub(super) fn step(session: &mut Session, line: Line) -> Result<(), ShellError> {
    interrupt::clear();
    let Line::Command(command) = line else {
        return Ok(());
    };
    let (timed, begun) = (session.timing, Instant::now());
    let done = command.run(session);
    if timed {
        eprintln!("time: {:.3?}", begun.elapsed());
    }
    done
}

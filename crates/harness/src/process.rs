//! The bench's other process: this program once more, spoken with by lines over two pipes.
//!
//! A line to the child is a command, its answer is one line: `ok` and what the command has to say, or
//! `error` and why. A child whose input ends goes away, so it does not outlive the program that started it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::args::BenchArgs;
use crate::error::BenchError;
use crate::report::Memory;

/// Returns the command of this program, to play `part` as a child of the suite that runs.
pub(super) fn command(args: &BenchArgs, part: &str) -> Result<Command, BenchError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([args.suite.name(), "--child", part]);
    Ok(command)
}

/// Runs a child that prints the bytes and the resident bytes an entry of what it has filled; `of` names that in errors.
///
/// # Errors
///
/// [`BenchError::Io`] if the child cannot be started, [`BenchError::Child`] if it fails or prints anything else.
pub(super) fn memory(child: &mut Command, of: &str) -> Result<Memory, BenchError> {
    let output = child.stdin(Stdio::null()).output()?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let mut numbers = printed.split_whitespace().map(str::parse::<f64>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(bytes_per_entry)), Some(Ok(rss_per_entry))) if output.status.success() => {
            Ok(Memory {
                bytes_per_entry,
                rss_per_entry,
            })
        }
        _ => {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = format!("{printed}{said}");
            Err(BenchError::Child(format!("{of}: {}", said.trim())))
        }
    }
}

/// A child that is ready for commands.
pub(super) struct Partner {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Partner {
    /// Starts a child; it may still be on its way when this returns.
    pub(super) fn start(args: &BenchArgs, part: &str) -> Result<Self, BenchError> {
        let mut child = command(args, part)?
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let to = child.stdin.take().expect("a piped input");
        let from = BufReader::new(child.stdout.take().expect("a piped output"));
        Ok(Self { child, to, from })
    }

    /// Says something without waiting for the answer.
    pub(super) fn tell(&mut self, line: &str) -> Result<(), BenchError> {
        Ok(self.to.write_all(format!("{line}\n").as_bytes())?)
    }

    /// Waits for an answer: what stands behind the `ok`.
    ///
    /// # Errors
    ///
    /// [`BenchError::Child`], with what the child says or that it has gone.
    pub(super) fn hear(&mut self) -> Result<String, BenchError> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        match line.trim_end().strip_prefix("ok") {
            Some(answer) => Ok(answer.trim_start().to_owned()),
            None if line.is_empty() => Err(BenchError::Child("it ended early".to_owned())),
            None => Err(BenchError::Child(line.trim_end().to_owned())),
        }
    }

    /// Says something and waits for the answer.
    pub(super) fn ask(&mut self, line: &str) -> Result<String, BenchError> {
        self.tell(line)?;
        self.hear()
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        // It may have ended by itself, and then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Answers commands until the input ends, in the child. A failed command is answered and not the end.
pub(super) fn serve(
    mut command: impl FnMut(&str) -> Result<String, BenchError>,
) -> Result<(), BenchError> {
    for line in std::io::stdin().lock().lines() {
        match command(&line?) {
            Ok(answer) => println!("ok {answer}"),
            Err(error) => println!("error {error}"),
        }
    }
    Ok(())
}

/// Returns the next word of a command, as whatever it has to be.
pub(super) fn word<'a, T: std::str::FromStr>(
    words: &mut impl Iterator<Item = &'a str>,
) -> Result<T, BenchError> {
    words
        .next()
        .and_then(|word| word.parse().ok())
        .ok_or_else(|| BenchError::Child("a command that makes no sense".to_owned()))
}

//! The real `ets` in the cases of the suite `query`: an Erlang process that is told what to do, where Erlang is
//! installed.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use fyris::TableType;

use super::case::Case;
use super::fyris::Done;
use super::kind::Kind;
use crate::error::BenchError;

const SCRIPT: &str = include_str!("ets.escript");

/// Nanoseconds of processor time that are told apart from their neighbours.
const ENOUGH: usize = 10_000_000;

/// The process, and the file it runs.
pub(super) struct Ets {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    file: PathBuf,
}

impl Ets {
    /// Starts Erlang; returns `None` where there is no `escript`.
    pub(super) fn start() -> Result<Option<Ets>, BenchError> {
        let file = std::env::temp_dir().join(format!("fyris-ets-{}.escript", std::process::id()));
        std::fs::write(&file, SCRIPT)?;
        let child = Command::new("escript")
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            std::fs::remove_file(&file)?;
            return Ok(None);
        };
        let to = child.stdin.take().expect("a piped input");
        let from = BufReader::new(child.stdout.take().expect("a piped output"));
        Ok(Some(Ets {
            child,
            to,
            from,
            file,
        }))
    }

    /// Fills a table, in the place of the one before.
    pub(super) fn fill(
        &mut self,
        table_type: TableType,
        kind: Kind,
        n: usize,
    ) -> Result<(), BenchError> {
        let (table_type, kind) = (table_type.as_str(), kind.word());
        match self.ask(&format!("{{new, {table_type}, {kind}, {n}}}"))? {
            answer if answer == "ok" => Ok(()),
            answer => Err(strange(&answer)),
        }
    }

    /// Does a case.
    pub(super) fn run(&mut self, case: Case) -> Result<Done, BenchError> {
        let answer = self.ask(&format!("{{run, {}}}", case.name()))?;
        let numbers: Result<Vec<usize>, _> = answer.split(' ').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[wall, cpu, units, answer]) => Ok(Done {
                wall: wall as f64,
                // Erlang counts processor time in milliseconds: too few of them say nothing.
                cpu: if cpu < ENOUGH { wall } else { cpu } as f64,
                units,
                answer,
            }),
            _ => Err(strange(&answer)),
        }
    }

    fn ask(&mut self, what: &str) -> Result<String, BenchError> {
        writeln!(self.to, "{what}.")?;
        self.to.flush()?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        Ok(answer.trim_end().to_owned())
    }
}

impl Drop for Ets {
    fn drop(&mut self) {
        // It would end at the end of its input; its table need not be taken apart first.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

fn strange(answer: &str) -> BenchError {
    BenchError::WrongAnswer(format!("ets: {answer:?} where numbers were expected"))
}

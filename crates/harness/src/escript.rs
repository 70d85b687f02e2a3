//! An Erlang process that is told what to do, where Erlang is installed.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::error::BenchError;

/// The process, and the file it runs.
pub(crate) struct Escript {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    file: PathBuf,
}

impl Escript {
    /// Starts a script of this name; returns `None` where there is no `escript`.
    pub(crate) fn start(name: &str, script: &str) -> Result<Option<Self>, BenchError> {
        let file =
            std::env::temp_dir().join(format!("fyris-{name}-{}.escript", std::process::id()));
        std::fs::write(&file, script)?;
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
        Ok(Some(Self {
            child,
            to,
            from,
            file,
        }))
    }

    /// Sends a term, and returns the line that comes back.
    pub(crate) fn ask(&mut self, what: &str) -> Result<String, BenchError> {
        writeln!(self.to, "{what}.")?;
        self.to.flush()?;
        let mut answer = String::new();
        self.from.read_line(&mut answer)?;
        Ok(answer.trim_end().to_owned())
    }
}

impl Drop for Escript {
    fn drop(&mut self) {
        // It would end at the end of its input; its table need not be taken apart first.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}

/// Returns the error of an answer that makes no sense.
pub(crate) fn strange(answer: &str) -> BenchError {
    BenchError::WrongAnswer(format!("ets: {answer:?} where numbers were expected"))
}

//! The prompt: line editing, history, completion, terms that go over several lines.

use std::path::PathBuf;

use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};

use super::command::Commands;
use super::completion;
use crate::shell::names::{Columns, Shared};

/// Input from the prompt.
pub(crate) enum Input {
    /// Whole commands: one, or several that were pasted.
    Lines(String),
    /// Ctrl-C on the prompt: the line is forgotten.
    Cancelled,
    /// Ctrl-D: the end.
    End,
}

/// The line editor with its history on disk.
pub(crate) struct Prompt {
    editor: Editor<ShellHelper, DefaultHistory>,
    history: Option<PathBuf>,
    known: Shared,
}

impl Prompt {
    /// Returns an editor that completes what is `known`, commands and their words, and file names.
    pub(crate) fn new(known: Shared) -> Result<Prompt, ReadlineError> {
        let config = Config::builder()
            .completion_type(CompletionType::List)
            .history_ignore_dups(true)?
            .max_history_size(5000)?
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(ShellHelper::new(known.clone())));
        let history = history_path();
        if let Some(path) = &history {
            // No history yet, or an unreadable one, is no reason not to start.
            let _ = editor.load_history(path);
        }
        Ok(Prompt {
            editor,
            history,
            known,
        })
    }

    /// Reads one command.
    pub(crate) fn read(&mut self, prompt: &str) -> Result<Input, ReadlineError> {
        match self.editor.readline(prompt) {
            Ok(lines) => {
                self.editor.add_history_entry(&lines)?;
                Ok(Input::Lines(lines))
            }
            Err(ReadlineError::Interrupted) => Ok(Input::Cancelled),
            Err(ReadlineError::Eof) => Ok(Input::End),
            Err(e) => Err(e),
        }
    }

    /// Reads the answer to a question: an empty one after Ctrl-C, none after Ctrl-D.
    pub(crate) fn ask(&mut self, question: &str) -> Result<Option<String>, ReadlineError> {
        self.editor.set_helper(None);
        let answer = self.editor.readline(question);
        self.editor
            .set_helper(Some(ShellHelper::new(self.known.clone())));
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(ReadlineError::Interrupted) => Ok(Some(String::new())),
            Err(ReadlineError::Eof) => Ok(None),
            Err(e) => Err(e),
        }
    }
}

impl Drop for Prompt {
    fn drop(&mut self) {
        if let Some(path) = &self.history {
            let made = path.parent().map(std::fs::create_dir_all);
            if matches!(made, Some(Ok(()))) {
                // The session is over: a history that cannot be kept is not worth an error.
                let _ = self.editor.save_history(path);
            }
        }
    }
}

/// Returns `$XDG_STATE_HOME/fyris/history`, or the default for it.
fn history_path() -> Option<PathBuf> {
    let absolute = |name: &str| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|p| p.is_absolute())
    };
    let state =
        absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("fyris").join("history"))
}

struct ShellHelper {
    known: Shared,
    files: FilenameCompleter,
}

impl ShellHelper {
    fn new(known: Shared) -> ShellHelper {
        ShellHelper {
            known,
            files: FilenameCompleter::new(),
        }
    }
}

impl Completer for ShellHelper {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        ctx: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = &line[..pos];
        let known = self.known.lock().map(|known| known.clone());
        let mut found = completion::complete(before, &known.unwrap_or_default());
        let mut pairs: Vec<Pair> = found.names.drain(..).map(pair).collect();
        if found.files {
            let (at, files) = self.files.complete(line, pos, ctx)?;
            if at != found.start {
                return Ok((at, files));
            }
            pairs.splice(0..0, files);
        }
        Ok((found.start, pairs))
    }
}

fn pair(name: String) -> Pair {
    Pair {
        replacement: format!("{name} "),
        display: name,
    }
}

impl Validator for ShellHelper {
    fn validate(&self, ctx: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        // An error is for the session to report; only an unfinished term keeps the editor open.
        let (mut commands, columns) = (Commands::default(), Columns::default());
        for line in ctx.input().lines() {
            commands.before(line, &columns);
            commands.add(line, &columns);
        }
        Ok(match commands.wants_more() {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Valid(None),
        })
    }
}

impl Hinter for ShellHelper {
    type Hint = String;
}
impl Highlighter for ShellHelper {}
impl Helper for ShellHelper {}

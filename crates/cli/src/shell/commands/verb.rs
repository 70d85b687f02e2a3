//! A command of the shell: how it is written, and with its arguments.

use fyris_term::Term;

use crate::shell::error::ShellError;
use crate::shell::query::{Does, Request};
use crate::shell::session::Session;

/// The function that runs, by the kind of its arguments: words, terms or a query.
pub(crate) enum Handler {
    /// File names and the like.
    Words(fn(&mut Session, &[String]) -> Result<(), ShellError>),
    /// Erlang terms.
    Terms(fn(&mut Session, Vec<Term>) -> Result<(), ShellError>),
    /// A query.
    Query(fn(&mut Session, Request) -> Result<(), ShellError>, Does),
    /// The name of a snapshot, and a command that reads it.
    At,
}

/// A command of the shell.
pub(crate) struct Verb {
    /// Its name.
    pub(crate) name: &'static str,
    /// Names that mean the same, `ets`'s among them.
    pub(crate) also: &'static [&'static str],
    /// The syntax.
    pub(crate) usage: &'static str,
    /// The summary for `help`.
    pub(crate) help: &'static str,
    /// The function that runs.
    pub(crate) handler: Handler,
}

impl Verb {
    /// Returns whether the usage has this name of a kind, `TABLE` or the like.
    pub(crate) fn takes(&self, what: &str) -> bool {
        let mut words = self.usage.split(|c: char| !c.is_uppercase());
        words.any(|word| word == what)
    }
}

/// A command with its arguments, ready to run.
pub(crate) enum Command {
    /// Arguments are words.
    Words(
        fn(&mut Session, &[String]) -> Result<(), ShellError>,
        Vec<String>,
    ),
    /// Arguments are terms.
    Terms(
        fn(&mut Session, Vec<Term>) -> Result<(), ShellError>,
        Vec<Term>,
    ),
    /// The argument is a query.
    Query(fn(&mut Session, Request) -> Result<(), ShellError>, Request),
    /// SQL, to be run or explained.
    Sql(fn(&mut Session, &str) -> Result<(), ShellError>, String),
    /// A command whose tables are those of a snapshot.
    At(String, Box<Command>),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self, session: &mut Session) -> Result<(), ShellError> {
        session.run(|session| self.apply(session))
    }

    fn apply(self, session: &mut Session) -> Result<(), ShellError> {
        match self {
            Command::Words(run, words) => run(session, &words),
            Command::Terms(run, terms) => run(session, terms),
            Command::Query(run, request) => run(session, request),
            Command::Sql(run, text) => run(session, &text),
            Command::At(name, command) => session.at(&name, |session| command.apply(session)),
        }
    }
}

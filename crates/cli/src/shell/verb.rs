//! A command of the shell.

use fyris_term::Term;

use super::error::ShellError;
use super::query::{Does, Request};
use super::session::Session;

/// The function that runs, by the kind of its arguments: words, terms or a query.
pub(crate) enum Handler {
    /// File names and the like.
    Words(fn(&mut Session, &[String]) -> Result<(), ShellError>),
    /// Erlang terms.
    Terms(fn(&mut Session, Vec<Term>) -> Result<(), ShellError>),
    /// A query.
    Query(fn(&mut Session, Request) -> Result<(), ShellError>, Does),
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
    /// Runs a command whose arguments are words.
    pub(crate) fn run_words(
        &self,
        session: &mut Session,
        words: &[String],
    ) -> Result<(), ShellError> {
        match self.handler {
            Handler::Words(run) => session.run(|session| run(session, words)),
            _ => unreachable!("the parser pairs verbs with their arguments"),
        }
    }

    /// Runs a command whose arguments are terms.
    pub(crate) fn run_terms(
        &self,
        session: &mut Session,
        terms: Vec<Term>,
    ) -> Result<(), ShellError> {
        match self.handler {
            Handler::Terms(run) => session.run(|session| run(session, terms)),
            _ => unreachable!("the parser pairs verbs with their arguments"),
        }
    }

    /// Runs a command whose argument is a query.
    pub(crate) fn run_query(
        &self,
        session: &mut Session,
        request: Request,
    ) -> Result<(), ShellError> {
        match self.handler {
            Handler::Query(run, _) => session.run(|session| run(session, request)),
            _ => unreachable!("the parser pairs verbs with their arguments"),
        }
    }
}

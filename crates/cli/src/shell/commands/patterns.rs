//! Commands that take match patterns, and `test_ms`.

use fyris::{Error, Machine, MatchSpec, Wanted};
use fyris_term::Term;

use super::browse::is_word;
use super::select::Asked;
use crate::shell::error::ShellError;
use crate::shell::session::Session;

/// Runs `match [TABLE] PATTERN [limit N]`.
pub(crate) fn match_bindings(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    matching(
        session,
        args,
        Wanted::Bindings,
        "match [TABLE] PATTERN [limit N]",
    )
}

/// Runs `match_object [TABLE] PATTERN [limit N]`.
pub(crate) fn match_object(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let usage = "match_object [TABLE] PATTERN [limit N]";
    matching(session, args, Wanted::Objects, usage)
}

/// Runs `match_delete [TABLE] PATTERN`.
pub(crate) fn match_delete(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    asked(
        session,
        args,
        Wanted::True,
        None,
        "match_delete [TABLE] PATTERN",
    )?
    .delete(session)
}

fn matching(
    session: &Session,
    mut args: Vec<Term>,
    wanted: Wanted,
    usage: &'static str,
) -> Result<(), ShellError> {
    let limit = take_limit(&mut args, usage)?;
    asked(session, args, wanted, limit, usage)?.select(session)
}

fn asked(
    session: &Session,
    args: Vec<Term>,
    wanted: Wanted,
    limit: Option<usize>,
    usage: &'static str,
) -> Result<Asked, ShellError> {
    let (table, pattern) = session.table_and_one(args, usage)?;
    let spec = MatchSpec::pattern(&pattern, wanted).map_err(Error::BadMatchSpec)?;
    Asked::of(table, spec, limit)
}

/// Takes `limit N` off the end of `args`, or a number behind the pattern as in `ets:match(T, P, N)`.
fn take_limit(args: &mut Vec<Term>, usage: &'static str) -> Result<Option<usize>, ShellError> {
    if args.len() > 1 && args.last().is_some_and(|last| is_word(last, "limit")) {
        return Err(Session::usage("`limit` without its number", usage));
    }
    let said = args.len() > 1 && is_word(&args[args.len() - 2], "limit");
    let given = args.len() > 2 && matches!(args.last(), Some(Term::Int(_)));
    if !said && !given {
        return Ok(None);
    }
    let limit = args.pop().and_then(|limit| limit.as_int());
    if said {
        args.pop();
    }
    match limit.map(usize::try_from) {
        Some(Ok(limit)) if limit > 0 => Ok(Some(limit)),
        _ => Err(Session::usage("a limit is a number above zero", usage)),
    }
}

/// Runs `test_ms OBJECT SPEC`.
pub(crate) fn test_ms(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [object, spec] = session.exactly(args, "test_ms OBJECT SPEC")?;
    match fyris::test_ms(&object, &spec, &Machine::default()) {
        Ok(Some(value)) => session.display().term(&value),
        Ok(None) => session.display().line("no clause matches"),
        Err(error) => Err(ShellError::other(error.texts().join("\n"))),
    }
}

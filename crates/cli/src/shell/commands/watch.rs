//! Commands that begin and end to watch a table.

use std::ops::Bound;

use fyris::WatchFilter;
use fyris_term::Term;

use super::browse::is_word;
use super::ranges::Wanted;
use crate::shell::error::ShellError;
use crate::shell::session::Session;

const WATCH: &str = "watch [TABLE] [key KEY | pattern PATTERN | from KEY | above KEY] [to KEY | below KEY] [limit N]";

const WORDS: [&str; 7] = ["key", "pattern", "from", "above", "to", "below", "limit"];

/// Runs `watch [TABLE] ...`.
pub(crate) fn watch(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let mut args = args.into_iter().peekable();
    let name = args.next_if(|arg| !WORDS.iter().any(|word| is_word(arg, word)));
    let table = session.table(name.as_ref())?;
    let (mut wanted, mut filters) = (Wanted::all(), Vec::new());
    while let Some(word) = args.next() {
        let value = args
            .next()
            .ok_or_else(|| Session::usage("a word without its value", WATCH))?;
        match word.as_atom().map_or("", |word| word.as_str()) {
            "key" => filters.push(WatchFilter::key(value)),
            "pattern" => filters.push(WatchFilter::pattern(&value)?),
            known if WORDS.contains(&known) => wanted.value(known, value, WATCH)?,
            _ => {
                let problem = format!("`{word}` makes no sense here");
                return Err(Session::usage(problem, WATCH));
            }
        }
    }
    let (bounds, limit) = (wanted.bounds, wanted.limit);
    if bounds != (Bound::Unbounded, Bound::Unbounded) {
        filters.push(WatchFilter::range(bounds));
    }
    let filter = filters.pop().unwrap_or_else(WatchFilter::all);
    if !filters.is_empty() {
        let problem = "a key, a pattern or a range: one of them";
        return Err(Session::usage(problem, WATCH));
    }
    session.watch(table, &filter, limit)?;
    session.display().done("true")
}

/// Runs `unwatch [TABLE]`.
pub(crate) fn unwatch(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let table = session.table_alone(args, "unwatch [TABLE]")?;
    session.unwatch(&table)?;
    session.display().done("true")
}

//! Commands that need the order of keys.

use std::ops::Bound;

use fyris::{Object, Prefix, RangeCursor, RangeOptions, Table};
use fyris_term::Term;

use super::browse::is_word;
use crate::shell::error::ShellError;
use crate::shell::interrupt;
use crate::shell::screen::display;
use crate::shell::session::{MANY, Session};

const RANGE: &str =
    "range [TABLE] [from KEY | above KEY] [to KEY | below KEY] [limit N] [reverse] [keys]";
const PREFIX: &str = "prefix [TABLE] PREFIX [limit N] [reverse] [keys]";
const SEEK: &str = "seek [TABLE] KEY [reverse]";
const NTH: &str = "nth [TABLE] N";
const RANK: &str = "rank [TABLE] KEY";
const COUNT: &str = "count_between [TABLE] [from KEY | above KEY] [to KEY | below KEY]";
const DELETE: &str = "delete_range [TABLE] [from KEY | above KEY] [to KEY | below KEY]";
const TAKE: &str =
    "take_range [TABLE] [from KEY | above KEY] [to KEY | below KEY] [limit N] [reverse] [keys]";

/// Objects read in one step.
const STEP: usize = 256;

/// Runs `range [TABLE] ...`.
pub(crate) fn range(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, wanted) = Wanted::read(session, args, RANGE)?;
    let cursor = table.range_cursor(wanted.bounds.clone(), wanted.options())?;
    show(session, &table, cursor, &wanted)
}

/// Runs `prefix [TABLE] PREFIX ...`.
pub(crate) fn prefix(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let words = args.iter().position(is_an_option).unwrap_or(args.len());
    let mut before = args;
    let rest = before.split_off(words);
    let (table, pattern) = session.table_and_one(before, PREFIX)?;
    let mut wanted = Wanted::all();
    wanted.words(rest.into_iter(), PREFIX)?;
    let cursor = table.prefix_cursor(&Prefix::of_pattern(&pattern)?, wanted.options())?;
    show(session, &table, cursor, &wanted)
}

/// Runs `seek [TABLE] KEY [reverse]`.
pub(crate) fn seek(session: &mut Session, mut args: Vec<Term>) -> Result<(), ShellError> {
    let back = args.len() > 1 && args.pop_if(|last| is_word(last, "reverse")).is_some();
    let (table, key) = session.table_and_one(args, SEEK)?;
    let found = match back {
        true => table.seek_back(&key)?,
        false => table.seek(&key)?,
    };
    session.show_key(found)
}

/// Runs `nth [TABLE] N`.
pub(crate) fn nth(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, n) = session.table_and_one(args, NTH)?;
    let number = match n {
        Term::Int(n) => usize::try_from(n).ok(),
        _ => None,
    };
    let Some(number) = number else {
        return Err(Session::usage(format!("{n} is no number from 0 on"), NTH));
    };
    session.show_key(table.nth(number)?)
}

/// Runs `rank [TABLE] KEY`.
pub(crate) fn rank(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, key) = session.table_and_one(args, RANK)?;
    session.display().line(table.rank(&key)?)
}

/// Runs `count_between [TABLE] ...`.
pub(crate) fn count_between(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, wanted) = Wanted::read(session, args, COUNT)?;
    if wanted.limit.is_some() || wanted.reverse || wanted.keys {
        return Err(Session::usage("a whole range is counted", COUNT));
    }
    session.display().line(table.count_between(&wanted.bounds)?)
}

/// Runs `delete_range [TABLE] ...`.
pub(crate) fn delete_range(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, wanted) = Wanted::read(session, args, DELETE)?;
    if wanted.limit.is_some() || wanted.reverse || wanted.keys {
        return Err(Session::usage("a whole range is deleted", DELETE));
    }
    if wanted.bounds == (Bound::Unbounded, Bound::Unbounded) {
        return Err(Session::usage(
            "a bound is needed; `delete_all` empties a table",
            DELETE,
        ));
    }
    let cursor = table.range_cursor(wanted.bounds, RangeOptions::new())?;
    let mut count = 0;
    let done = take_out(&table, cursor, |_| count += 1);
    told(&done, "deleted", count);
    done?;
    session.display().line(count)
}

/// Runs `take_range [TABLE] ...`.
pub(crate) fn take_range(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let (table, wanted) = Wanted::read(session, args, TAKE)?;
    let limit = wanted.limit.unwrap_or(MANY);
    let mut taken = Vec::new();
    let mut done = Ok(());
    while done.is_ok() && taken.len() < limit {
        let options = wanted.options().limit((limit - taken.len()).min(STEP));
        match table.take_range(wanted.bounds.clone(), options) {
            Ok(some) if some.is_empty() => break,
            Ok(some) => taken.extend(some),
            Err(error) => done = Err(error.into()),
        }
        done = done.and_then(|()| interrupt::check());
    }
    told(&done, "taken out", taken.len());
    // Objects that are out of the table are shown, also if the rest failed.
    session.show_objects(taken)?;
    done
}

/// Runs `drain TABLE`.
pub(crate) fn drain(session: &mut Session, args: Vec<Term>) -> Result<(), ShellError> {
    let [name] = session.exactly(args, "drain TABLE")?;
    let table = session.named(&name)?;
    // A program gets all of them: they are nowhere else any more.
    let most = match session.display().is_screen() {
        true => MANY,
        false => usize::MAX,
    };
    let (mut count, mut first) = (0, Vec::new());
    let done = take_out(&table, table.drain_cursor(), |object| {
        count += 1;
        if first.len() < most {
            first.push(object.to_term());
        }
    });
    told(&done, "taken out", count);
    if done.is_err() {
        session.show_objects(first)?;
        return done;
    }
    let (show, mut first) = (session.display(), first.into_iter());
    let shown = show.pages(most, || Ok(first.next()))?;
    show.note(format!(
        "{} taken out, {} shown",
        display::objects(count as u64),
        shown.0
    ))
}

/// Takes out all that a cursor finds; Ctrl-C stops it between two steps.
fn take_out(
    table: &Table,
    mut cursor: RangeCursor,
    mut f: impl FnMut(Object<'_>),
) -> Result<(), ShellError> {
    while cursor.take_batch(table, STEP, &mut f)? {
        interrupt::check()?;
    }
    Ok(())
}

/// Says how far a command came that was stopped: what was done stays done.
fn told(done: &Result<(), ShellError>, what: &str, count: usize) {
    if matches!(done, Err(ShellError::Interrupted)) {
        eprintln!("{what} {count} until then");
    }
}

/// Shows what a cursor finds, page by page.
fn show(
    session: &Session,
    table: &Table,
    mut cursor: RangeCursor,
    wanted: &Wanted,
) -> Result<(), ShellError> {
    let mut ready = Vec::new().into_iter();
    let (mut left, mut over) = (wanted.limit.unwrap_or(usize::MAX), false);
    let next = || {
        while left > 0 && ready.len() == 0 && !over {
            let pin = fyris::pin();
            let mut objects = Vec::new();
            over = !cursor.next_batch(table, left.min(STEP), &pin, &mut objects)?;
            let terms: Vec<Term> = objects.iter().map(|object| wanted.form(object)).collect();
            ready = terms.into_iter();
        }
        if left == 0 {
            return Ok(None);
        }
        left -= 1;
        Ok(ready.next())
    };
    let names = match wanted.keys {
        true => &[],
        false => session.names_shown(table),
    };
    session.show_found(wanted.limit, names, next).map(|_| ())
}

// ---- what is wanted of a range

/// Bounds and options.
pub(super) struct Wanted {
    pub(super) bounds: (Bound<Term>, Bound<Term>),
    pub(super) limit: Option<usize>,
    reverse: bool,
    keys: bool,
}

impl Wanted {
    pub(super) fn all() -> Wanted {
        Wanted {
            bounds: (Bound::Unbounded, Bound::Unbounded),
            limit: None,
            reverse: false,
            keys: false,
        }
    }

    /// Reads `[TABLE]`, bounds and options.
    fn read(
        session: &Session,
        args: Vec<Term>,
        usage: &'static str,
    ) -> Result<(Table, Wanted), ShellError> {
        let mut args = args.into_iter().peekable();
        let name =
            args.next_if(|arg| !BOUNDS.iter().any(|word| is_word(arg, word)) && !is_an_option(arg));
        let table = session.table(name.as_ref())?;
        let mut wanted = Wanted::all();
        wanted.words(args, usage)?;
        Ok((table, wanted))
    }

    fn words(
        &mut self,
        mut words: impl Iterator<Item = Term>,
        usage: &'static str,
    ) -> Result<(), ShellError> {
        while let Some(word) = words.next() {
            let name = word.as_atom().map_or("", |word| word.as_str());
            match name {
                "reverse" => self.reverse = true,
                "keys" => self.keys = true,
                "from" | "above" | "to" | "below" | "limit" => {
                    let value = words
                        .next()
                        .ok_or_else(|| Session::usage("a word without its value", usage))?;
                    self.value(name, value, usage)?;
                }
                _ => {
                    let problem = format!("`{word}` makes no sense here");
                    return Err(Session::usage(problem, usage));
                }
            }
        }
        Ok(())
    }

    /// Reads a bound or a limit, behind its word.
    pub(super) fn value(
        &mut self,
        word: &str,
        value: Term,
        usage: &'static str,
    ) -> Result<(), ShellError> {
        let (from, to) = (
            self.bounds.0 != Bound::Unbounded,
            self.bounds.1 != Bound::Unbounded,
        );
        match (word, value) {
            ("from" | "above", _) if from => {
                return Err(Session::usage("there are two lower bounds", usage));
            }
            ("to" | "below", _) if to => {
                return Err(Session::usage("there are two upper bounds", usage));
            }
            ("from", key) => self.bounds.0 = Bound::Included(key),
            ("above", key) => self.bounds.0 = Bound::Excluded(key),
            ("to", key) => self.bounds.1 = Bound::Included(key),
            ("below", key) => self.bounds.1 = Bound::Excluded(key),
            (_, Term::Int(limit)) if limit > 0 => self.limit = Some(limit as usize),
            (_, other) => {
                let problem = format!("a limit is a number above zero, not {other}");
                return Err(Session::usage(problem, usage));
            }
        }
        Ok(())
    }

    fn options(&self) -> RangeOptions {
        let mut options = RangeOptions::new();
        if self.reverse {
            options = options.reverse();
        }
        if self.keys {
            options = options.keys_only();
        }
        options
    }

    fn form(&self, object: &Object<'_>) -> Term {
        match self.keys {
            true => object.key(),
            false => object.to_term(),
        }
    }
}

const BOUNDS: [&str; 4] = ["from", "above", "to", "below"];

fn is_an_option(arg: &Term) -> bool {
    ["limit", "reverse", "keys"]
        .iter()
        .any(|word| is_word(arg, word))
}

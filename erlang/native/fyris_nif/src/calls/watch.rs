//! Subscriptions to what changes in tables.

use std::ops::Bound;

use fyris::{Borrowed, Error, MatchSpec, SubscribeOptions, Table, WatchFilter};
use fyris_term::Term as Owned;

use crate::call::{BAD, Fail, Reply};
use crate::kind::atom;
use crate::machine::{Env, OwnTerm, Term};
use crate::tables::{self, store};
use crate::term;
use crate::watch::{self, Begun, Demand, Tids};

/// Implements `subscribe(Tables, What, Queue, FromSnapshot, Conflate, Active, To)`: returns a reference to the
/// subscription.
pub(super) fn subscribe(env: Env, args: &[Term]) -> Reply {
    let mut elements = env.elements(args[0]);
    let names: Vec<Term> = elements.by_ref().collect();
    if !elements.are_all() {
        return Err(BAD);
    }
    let (filter, offered) = term::offer(|| filter(env, args[1]));
    let (filter, options) = (filter?, options(env, &args[2..5])?);
    let (demand, to) = (demand(env, args[5])?, args[6]);
    if to.local_pid().is_none() {
        return Err(Fail::Cause(&"receiver"));
    }
    let (subscription, tids) = tables::with_all(env, &names, |tables: &[Borrowed<'_>]| {
        let handles: Vec<&Table> = tables.iter().map(|table| &**table).collect();
        let tid = |table: &&Table| {
            let tid = tables::tid_of(env, table)?;
            Some((table.id(), OwnTerm::copy_of(tid)))
        };
        let tids = handles.iter().filter_map(tid).collect();
        Ok((store().subscribe(&handles, &filter, &options)?, Tids(tids)))
    })?;
    let begun = Begun {
        subscription,
        tids,
        offered,
    };
    watch::begin(env, begun, to, demand)
}

/// Implements `unsubscribe/1`.
pub(super) fn unsubscribe(env: Env, args: &[Term]) -> Reply {
    watch::end(env, args[0])?;
    Ok(atom::r#true(env))
}

/// Implements `set_active/2`.
pub(super) fn set_active(env: Env, args: &[Term]) -> Reply {
    watch::ask(env, args[0], demand(env, args[1])?)?;
    Ok(atom::r#true(env))
}

/// Reads `Queue`, `FromSnapshot` and `Conflate`.
fn options(env: Env, args: &[Term]) -> Result<SubscribeOptions, Fail> {
    let queue = args[0].small().and_then(|n| usize::try_from(n).ok());
    let mut options = SubscribeOptions::new().queue(queue.ok_or(BAD)?);
    if super::boolean(env, args[1])? {
        options = options.from_snapshot();
    }
    if super::boolean(env, args[2])? {
        options = options.conflate();
    }
    Ok(options)
}

/// Reads `true` or a positive number.
fn demand(env: Env, term: Term) -> Result<Demand, Fail> {
    if term == atom::r#true(env) {
        return Ok(Demand::All);
    }
    match term.small() {
        Some(n @ 1..) => Ok(Demand::Left(n as u64)),
        _ => Err(BAD),
    }
}

/// Reads `all`, `{key, Key}`, `{range, From, To}` of two bounds, `{pattern, Pattern}` or `{spec, MatchSpec}`.
fn filter(env: Env, what: Term) -> Result<WatchFilter, Fail> {
    let Some([word, rest @ ..]) = env.tuple(what) else {
        return Ok(WatchFilter::all());
    };
    let word = atom::from_machine(env, *word).ok_or(BAD)?;
    match (word.as_str(), rest) {
        ("key", [key]) => Ok(WatchFilter::key(term::read(env, *key)?)),
        ("range", [from, to]) => Ok(WatchFilter::range((bound(env, *from)?, bound(env, *to)?))),
        ("pattern", [pattern]) => Ok(WatchFilter::pattern(&term::read(env, *pattern)?)?),
        ("spec", [spec]) => {
            let spec = MatchSpec::new(&term::read(env, *spec)?).map_err(Error::BadMatchSpec)?;
            Ok(WatchFilter::matching(spec))
        }
        _ => Err(BAD),
    }
}

/// Reads `{included, Key}` or `unbounded`.
fn bound(env: Env, term: Term) -> Result<Bound<Owned>, Fail> {
    match env.tuple(term) {
        Some([_, key]) => Ok(Bound::Included(term::read(env, *key)?)),
        _ => Ok(Bound::Unbounded),
    }
}

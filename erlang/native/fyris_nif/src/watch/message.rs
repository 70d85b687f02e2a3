//! The terms of messages.

use fyris::{ObjectChange, TableId, TableRef, WatchEvent, WatchKind};
use fyris_term::Term as Owned;

use crate::kind::atom;
use crate::machine::{Env, OwnTerm, Term};
use crate::term;

/// The tids of the tables of a subscription, which stand in messages also when a table is deleted.
pub(crate) struct Tids(pub(crate) Vec<(TableId, OwnTerm)>);

impl Tids {
    /// Returns the name of a table, or its tid.
    fn reference(&self, env: Env, table: TableRef) -> Term {
        let tid = |id| self.0.iter().find(|(of, _)| *of == id);
        match table {
            TableRef::Name(name) => atom::to_machine(env, name),
            TableRef::Id(id) => match tid(id) {
                Some((_, tid)) => tid.copy_to(env),
                None => atom::undefined(env),
            },
        }
    }
}

/// Returns `{fyris, Subscription, Seq, Event}`; `None` for an event that has no term.
pub(super) fn of_event(
    env: Env,
    subscription: &OwnTerm,
    event: &WatchEvent,
    tids: &Tids,
) -> Option<Term> {
    let table = |table: &TableRef| tids.reference(env, *table);
    let count = |count: u64| env.make_int(i64::try_from(count).unwrap_or(i64::MAX));
    let told = match &event.kind {
        WatchKind::Objects { table: of, objects } => {
            let objects: Vec<Term> = objects.iter().map(|o| term::make(env, o)).collect();
            env.make_tuple(&[atom::objects(env), table(of), env.make_list(&objects)])
        }
        WatchKind::Current => atom::current(env),
        WatchKind::Changes(changes) => {
            let changes: Vec<Term> = changes.iter().map(|c| of_change(env, c, tids)).collect();
            env.make_tuple(&[atom::changes(env), env.make_list(&changes)])
        }
        WatchKind::Cleared { table: of, objects } => {
            let objects = count(*objects as u64);
            env.make_tuple(&[atom::cleared(env), table(of), objects])
        }
        WatchKind::Deleted { table: of } => env.make_tuple(&[atom::deleted(env), table(of)]),
        WatchKind::Overflow { lost } => env.make_tuple(&[atom::overflow(env), count(*lost)]),
        _ => return None,
    };
    let subscription = subscription.copy_to(env);
    Some(env.make_tuple(&[atom::fyris(env), subscription, count(event.seq), told]))
}

/// Returns `{fyris, Subscription, passive}`.
pub(super) fn of_passive(env: Env, subscription: &OwnTerm) -> Term {
    let subscription = subscription.copy_to(env);
    env.make_tuple(&[atom::fyris(env), subscription, atom::passive(env)])
}

/// Returns `{insert, Table, New}`, `{update, Table, Old, New}` or `{delete, Table, Old}`.
fn of_change(env: Env, change: &ObjectChange, tids: &Tids) -> Term {
    let table = tids.reference(env, change.table);
    let object = |object: &Owned| term::make(env, object);
    match (&change.old, &change.new) {
        (Some(old), Some(new)) => {
            env.make_tuple(&[atom::update(env), table, object(old), object(new)])
        }
        (None, Some(new)) => env.make_tuple(&[atom::insert(env), table, object(new)]),
        (Some(old), None) => env.make_tuple(&[atom::delete(env), table, object(old)]),
        (None, None) => atom::undefined(env),
    }
}

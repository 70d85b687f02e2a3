//! Tables: from a term to a table, and back.
//!
//! A tid is a reference to a resource that holds a handle of the table. The machine gives one resource one reference
//! for ever, so tids of one table are equal and print alike; and from the reference to the table it is one load,
//! without looking in the catalog. The table holds one count of its resource while it lives; afterwards the tids that
//! are still about keep a handle of a deleted table, a few hundred bytes.

use std::sync::LazyLock;

use fyris::{Borrowed, Error, LocalGuard, ProcessId, Store, Table, TableId, TableRef};

use crate::call::Fail;
use crate::kind::atom;
use crate::machine::{Env, ResourceCount, Term};
use crate::{load, process};

/// All tables of this machine.
static STORE: LazyLock<Store> = LazyLock::new(new_store);

/// Makes a store that knows the indexes of all crates.
fn new_store() -> Store {
    #[cfg_attr(not(feature = "classic"), expect(unused_mut))]
    let mut store = Store::new();
    #[cfg(feature = "classic")]
    {
        fyris_classic::register(&mut store).expect("new names");
        fyris_judy::register(&mut store).expect("new names");
    }
    store
}

/// Returns the store.
#[inline]
pub(crate) fn store() -> &'static Store {
    &STORE
}

/// The content of the resource of a table, of a snapshot of one, or of a table within a transaction.
pub(crate) struct TableResource(Table);

/// Gives a new table its resource.
pub(crate) fn adopt(table: &Table) -> Result<(), Error> {
    table.attach(Box::new(load::new_resource(TableResource(table.clone()))))
}

/// Returns the tid of a table.
pub(crate) fn tid_of(env: Env, table: &Table) -> Option<Term> {
    table.attachment(|attached| {
        let attached: &ResourceCount = attached?.downcast_ref()?;
        Some(attached.term(env))
    })
}

/// Returns the tid of the table with this identity, if it lives.
pub(crate) fn tid(env: Env, id: TableId) -> Option<Term> {
    let table = store().table(process::me(env), id).ok()?;
    tid_of(env, &table)
}

/// Returns the reference to a table: its name, or its tid.
pub(crate) fn reference(env: Env, table: TableRef) -> Option<Term> {
    match table {
        TableRef::Name(name) => Some(atom::to_machine(env, name)),
        TableRef::Id(id) => tid(env, id),
    }
}

/// Finds the table that a term names.
///
/// Inlined, as all on the way to a table by its tid: what a call returns in several words is written in other pieces
/// than it is read in, and each such read waits for the writes, which costs as much as the rest of the way.
#[inline(always)]
fn find<'g>(
    env: Env,
    term: Term,
    caller: ProcessId,
    pin: &'g LocalGuard,
) -> Result<Borrowed<'g>, Fail> {
    if term.atom_index().is_some() {
        return by_name(env, term, caller, pin);
    }
    match load::resource::<TableResource>(env, term) {
        Some(held) => Ok(held.0.as_caller(caller)),
        None => Err(Fail::Cause(&"type")),
    }
}

#[inline(never)]
fn by_name<'g>(
    env: Env,
    term: Term,
    caller: ProcessId,
    pin: &'g LocalGuard,
) -> Result<Borrowed<'g>, Fail> {
    let name = atom::from_machine(env, term).ok_or(Fail::Cause(&"id"))?;
    Ok(store().borrow(caller, name, pin)?)
}

/// Returns whether the owner, if it is another process than the caller, is a process that has ended. To a snapshot that
/// does not matter.
#[inline]
fn is_orphan(env: Env, table: &Table, caller: ProcessId) -> bool {
    let owner = table.owner().filter(|owner| *owner != caller);
    owner.is_some_and(|owner| !process::is_alive(env, owner))
        && table.as_snapshot().is_none()
        && !cfg!(fyris_mutant = "nif_dead_owner_unasked")
}

/// Ends owners that have died, and returns the table with its living owner, or the error if it is deleted.
#[cold]
fn inherited<'g>(
    env: Env,
    term: Term,
    caller: ProcessId,
    pin: &'g LocalGuard,
) -> Result<Borrowed<'g>, Fail> {
    let mut table = find(env, term, caller, pin)?;
    while let Some(owner) = table.owner()
        && owner != caller
        && !process::is_alive(env, owner)
    {
        process::ended(env, owner);
        table = find(env, term, caller, pin)?;
        if table.owner() == Some(owner) {
            // It had no heir: the next user of the table will find it deleted.
            break;
        }
    }
    Ok(table)
}

/// Runs `f` on the table that a term names, in the name of the calling process.
///
/// A table whose owner has ended is first inherited, or is gone.
#[inline]
pub(crate) fn with<R>(
    env: Env,
    term: Term,
    f: impl FnOnce(&Table, &LocalGuard) -> Result<R, Fail>,
) -> Result<R, Fail> {
    let caller = process::me(env);
    let pin = fyris::pin();
    let mut table = find(env, term, caller, &pin)?;
    if is_orphan(env, &table, caller) {
        table = inherited(env, term, caller, &pin)?;
    }
    f(&table, &pin)
}

/// Runs `f` on the tables that terms name, as [`with`] does on one.
pub(crate) fn with_all<R>(
    env: Env,
    terms: &[Term],
    f: impl FnOnce(&[Borrowed<'_>]) -> Result<R, Fail>,
) -> Result<R, Fail> {
    let caller = process::me(env);
    let pin = fyris::pin();
    let living = |term: &Term| {
        let table = find(env, *term, caller, &pin)?;
        match is_orphan(env, &table, caller) {
            true => inherited(env, *term, caller, &pin),
            false => Ok(table),
        }
    };
    let tables: Vec<Borrowed<'_>> = terms.iter().map(living).collect::<Result<_, Fail>>()?;
    f(&tables)
}

/// Returns a reference to a snapshot, or to a table within a transaction, which serves as a tid does.
pub(crate) fn reference_to(env: Env, table: &Table) -> Term {
    load::new_resource(TableResource(table.clone())).term(env)
}

/// Sees to it that a table whose owner has ended is inherited or gone, for a caller that has the table but not its
/// name.
#[inline]
pub(crate) fn inherit(env: Env, table: &Table) -> Result<(), Fail> {
    if !is_orphan(env, table, process::me(env)) {
        return Ok(());
    }
    let tid = tid(env, table.id()).ok_or(Fail::Cause(&"id"))?;
    with(env, tid, |_, _| Ok(()))
}

/// Ends the fixes of processes that have ended: what a fix shows is asked for after this.
pub(crate) fn settle_fixes(env: Env, table: &Table) {
    if cfg!(fyris_mutant = "nif_dead_fixers_unasked") {
        return;
    }
    let dead = table.fixers().into_iter();
    dead.filter(|fixer| !process::is_alive(env, *fixer))
        .for_each(|fixer| process::ended(env, fixer));
}

/// Gives each table whose owner has ended to its heir, or deletes it.
pub(crate) fn settle_orphans(env: Env) {
    let caller = process::me(env);
    for reference in store().all() {
        let owner = store()
            .table(caller, reference)
            .ok()
            .and_then(|t| t.owner());
        if let Some(owner) = owner.filter(|owner| !process::is_alive(env, *owner)) {
            process::ended(env, owner);
        }
    }
}

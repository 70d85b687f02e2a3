//! Tables as wholes: made, deleted, renamed, given away, fixed.

use fyris::{Error, Options, ProcessId};
use fyris_term::{Atom, AtomError, Term as Owned};

use crate::call::{BAD, Fail, Reply};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::tables::{self, store};
use crate::{process, term};

/// Returns the process that an argument, already read, stands for; made known.
pub(super) fn known_process(env: Env, pid: &Owned) -> Option<ProcessId> {
    let id = term::make(env, pid).local_pid()?;
    // One that has ended is as good as none, and the store knows it for that.
    process::register(env, Term::from_local_pid(id));
    Some(ProcessId(id))
}

/// Returns the calling process, made known.
pub(super) fn known_caller(env: Env) -> Result<ProcessId, Fail> {
    let me = env.self_pid().ok_or(BAD)?;
    process::register(env, me).ok_or(BAD)
}

/// Returns the atom that is to be a name.
fn name(env: Env, term: Term) -> Result<Atom, Fail> {
    match atom::from_machine(env, term) {
        Some(name) => Ok(name),
        None if term.atom_index().is_some() => Err(Error::Atom(AtomError::TableFull).into()),
        None => Err(BAD),
    }
}

/// Implements `new/2`.
pub(super) fn new(env: Env, args: &[Term]) -> Reply {
    let name = name(env, args[0])?;
    // The heir's data may refer to resources.
    let (options, _offered) = term::offer(|| term::read(env, args[1]));
    let options = Options::parse(&options?, |pid| known_process(env, pid))?;
    let caller = known_caller(env)?;
    let table = match store().create(caller, name, &options) {
        Err(Error::NameTaken(_)) => {
            // By a table of a process that has ended, perhaps.
            tables::with(env, args[0], |_, _| Ok(())).ok();
            store().create(caller, name, &options)?
        }
        made => made?,
    };
    tables::adopt(&table)?;
    tables::reference(env, table.reference()).ok_or(BAD)
}

/// Implements `delete/1`.
pub(super) fn delete(env: Env, args: &[Term]) -> Reply {
    tables::with(env, args[0], |table, _| Ok(table.delete()?))?;
    Ok(atom::r#true(env))
}

/// Implements `rename/2`.
pub(super) fn rename(env: Env, args: &[Term]) -> Reply {
    let name = name(env, args[1])?;
    tables::with(env, args[0], |table, _| {
        match table.rename(name) {
            Err(Error::NameTaken(_)) => {
                tables::with(env, args[1], |_, _| Ok(())).ok();
                table.rename(name)?;
            }
            renamed => drop(renamed?),
        }
        tables::reference(env, table.reference()).ok_or(BAD)
    })
}

/// Implements `whereis/1`.
pub(super) fn whereis(env: Env, args: &[Term]) -> Reply {
    if args[0].atom_index().is_none() {
        return Err(BAD);
    }
    let found = tables::with(env, args[0], |table, _| Ok(tables::tid_of(env, table)));
    Ok(found.ok().flatten().unwrap_or_else(|| atom::undefined(env)))
}

/// Implements `all/0`.
pub(super) fn all(env: Env, _: &[Term]) -> Reply {
    tables::settle_orphans(env);
    let tables = store().all().into_iter();
    let tables: Vec<Term> = tables.filter_map(|t| tables::reference(env, t)).collect();
    Ok(env.make_list(&tables))
}

/// Implements `give_away/3`.
pub(super) fn give_away(env: Env, args: &[Term]) -> Reply {
    let (data, _offered) = term::offer(|| term::read(env, args[2]));
    let data = data?;
    if args[1].local_pid().is_none() {
        return Err(BAD);
    }
    tables::with(env, args[0], |table, _| {
        let to = process::register(env, args[1]).ok_or(BAD)?;
        process::with_env(env, || table.give_away(to, data))?;
        Ok(atom::r#true(env))
    })
}

/// Implements `setopts/2`.
pub(super) fn setopts(env: Env, args: &[Term]) -> Reply {
    let (options, _offered) = term::offer(|| term::read(env, args[1]));
    let options = options?;
    tables::with(env, args[0], |table, _| {
        table.setopts_term(&options, |pid| known_process(env, pid))?;
        Ok(atom::r#true(env))
    })
}

/// Implements `safe_fixtable/2`.
pub(super) fn safe_fixtable(env: Env, args: &[Term]) -> Reply {
    let fix = super::boolean(env, args[1])?;
    tables::with(env, args[0], |table, _| {
        if fix {
            known_caller(env)?;
            tables::settle_fixes(env, table);
            table.fix_at(Env::monotonic_time())?;
        } else {
            table.safe_fixtable(false)?;
        }
        Ok(atom::r#true(env))
    })
}

//! `write_batch/1`: writes and checks of several tables, all or nothing.

use fyris::{Batch, BatchArgs, BatchOp, BatchReply, Error, Table};
use fyris_term::Term as Owned;

use super::transactions::{conflict, place};
use crate::call::{BAD, Fail, Reply, entry};
use crate::kind::atom;
use crate::machine::{Env, Term};
use crate::tables::{self, store};
use crate::term::{self, MachineObject};

/// Batches of more keys go to a scheduler for long work.
const MANY: usize = 500;
/// The percentage of a process's time slice that a batch of `MANY` keys takes.
const PERCENT: usize = 50;

/// An operation, and the terms of its table and of the snapshot that it is compared with.
struct Given {
    args: BatchArgs,
    table: Term,
    snapshot: Option<Term>,
}

/// Implements `write_batch(Transaction, Operations)`, with `undefined` for the transaction where there is none around
/// it. Returns `{ok, Replies}`, `{error, {check, Operation}}` or, within a transaction, what was in its way.
pub(super) fn write_batch(env: Env, args: &[Term]) -> Reply {
    if store().has_first_transaction() && args[0] == atom::undefined(env) {
        return Ok(env.go_waiting(entry!(write_long), args));
    }
    let Some(keys) = few_keys(env, args[1]) else {
        return Ok(env.go_dirty(entry!(write_long), args));
    };
    env.consume(PERCENT * keys / MANY);
    if args[0] != atom::undefined(env) {
        return write_within(env, args);
    }
    let done = match Inserts::of(env, args[1]) {
        Some(inserts) => inserts.run(env, Table::try_insert_batch)?,
        None => run(env, args[1], |ops| store().try_write_batch(ops))?,
    };
    // If others are in the way, this scheduler does not wait for them.
    Ok(done.unwrap_or_else(|| env.go_dirty(entry!(write_long), args)))
}

fn write_long(env: Env, args: &[Term]) -> Reply {
    if args[0] != atom::undefined(env) {
        return write_within(env, args);
    }
    let done = match Inserts::of(env, args[1]) {
        Some(inserts) => inserts.run(env, |table, all, new| {
            table.insert_batch(all, new).map(Some)
        })?,
        None => run(env, args[1], |ops| store().write_batch(ops).map(Some))?,
    };
    done.ok_or(BAD)
}

fn write_within(env: Env, args: &[Term]) -> Reply {
    let transaction = place(env, args[0])?.lock();
    let transaction = transaction.as_ref().ok_or(Error::TransactionEnded)?;
    let done = run(env, args[1], |ops| transaction.write_batch(ops).map(Some));
    match done {
        Err(Fail::Store(error)) => match *error {
            Error::Conflict { table, key } => conflict(env, table.reference, key),
            error => Err(error.into()),
        },
        done => done?.ok_or(BAD),
    }
}

/// Returns the number of operations and of objects in their lists, if they are not many.
fn few_keys(env: Env, operations: Term) -> Option<usize> {
    let mut keys = 0;
    for operation in env.elements(operations) {
        keys += 1;
        if let Some(&[_, _, objects]) = env.tuple(operation) {
            keys += env.elements(objects).take(MANY).count();
        }
        if keys > MANY {
            return None;
        }
    }
    Some(keys)
}

/// A batch of nothing but inserts into one table: its objects become records at once.
struct Inserts {
    table: Term,
    /// Objects and lists of them, one for each operation.
    objects: Vec<Term>,
}

impl Inserts {
    /// Returns `None` for any other batch.
    fn of(env: Env, operations: Term) -> Option<Inserts> {
        let (mut elements, mut table, mut objects) = (env.elements(operations), None, Vec::new());
        for operation in &mut elements {
            let &[name, on, object] = env.tuple(operation)? else {
                return None;
            };
            let is_such = name == atom::insert(env) && *table.get_or_insert(on) == on;
            if !is_such {
                return None;
            }
            objects.push(object);
        }
        let table = table.filter(|_| elements.are_all())?;
        Some(Inserts { table, objects })
    }

    fn run(
        &self,
        env: Env,
        insert: impl FnOnce(&Table, Batch, bool) -> Result<Option<bool>, Error>,
    ) -> Result<Option<Term>, Fail> {
        let done = tables::with(env, self.table, |table, pin| {
            if let [object] = self.objects[..]
                && env.tuple(object).is_some()
            {
                table.insert_object(&MachineObject::new(env, object), pin)?;
                return Ok(true);
            }
            table.check(fyris::Right::Write)?;
            let mut batch = Batch::with_capacity(self.objects.len());
            for (at, object) in self.objects.iter().enumerate() {
                push(env, *object, table.keypos(), &mut batch).map_err(|fail| of(at, fail))?;
            }
            Ok(insert(table, batch, false)?.is_some())
        });
        let yes = atom::r#true(env);
        match done.map_err(|fail| of(0, fail))? {
            true => Ok(Some(all_done(env, &vec![yes; self.objects.len()]))),
            false => Ok(None),
        }
    }
}

/// Adds an object, or the objects of a list.
fn push(env: Env, objects: Term, keypos: usize, batch: &mut Batch) -> Result<(), Fail> {
    if env.cell(objects).is_none() && !env.is_nil(objects) {
        return Ok(batch.push(&MachineObject::new(env, objects), keypos)?);
    }
    let mut elements = env.elements(objects);
    for object in &mut elements {
        batch.push(&MachineObject::new(env, object), keypos)?;
    }
    match elements.are_all() {
        true => Ok(()),
        false => Err(Error::BadArgument("not a proper list of objects".to_owned()).into()),
    }
}

/// Returns `{ok, Replies}`.
fn all_done(env: Env, replies: &[Term]) -> Term {
    env.make_tuple(&[atom::ok(env), env.make_list(replies)])
}

/// Reads the operations, lets `write` do them, and returns what is to be replied: `None` where `write` gave up.
fn run(
    env: Env,
    operations: Term,
    write: impl FnOnce(&[BatchOp<'_>]) -> Result<Option<Vec<BatchReply>>, Error>,
) -> Result<Option<Term>, Fail> {
    let (read, _offered) = term::offer(|| read(env, operations));
    let given = read?;
    let snapshots = given.iter().filter_map(|given| given.snapshot);
    let terms: Vec<Term> = given
        .iter()
        .map(|given| given.table)
        .chain(snapshots)
        .collect();
    let done = tables::with_all(env, &terms, |tables| {
        let (on, snapshots) = tables.split_at(given.len());
        let mut snapshots = snapshots.iter();
        let ops = given.iter().zip(on).map(|(given, table)| {
            let snapshot = given.snapshot.and_then(|_| snapshots.next());
            given
                .args
                .on(table, snapshot.map(|snapshot| -> &Table { snapshot }))
        });
        let ops: Vec<BatchOp<'_>> = ops.collect();
        let replies = write(&ops);
        // What was taken may be the last to hold what it refers to, which lives as long as the pin.
        Ok(replies.map(|done| done.map(|replies| reply(env, &given, replies))))
    });
    match done {
        Ok(Ok(done)) => Ok(done),
        Ok(Err(Error::CheckFailed { at })) => failed(env, operations, at).map(Some),
        Ok(Err(error)) => Err(error.into()),
        Err(fail) => Err(of_table(env, &given, fail)),
    }
}

/// Reads the operations.
fn read(env: Env, operations: Term) -> Result<Vec<Given>, Fail> {
    let (mut all, mut elements) = (Vec::new(), env.elements(operations));
    for operation in &mut elements {
        let at = all.len();
        let given = read_one(env, operation).map_err(|why| of(at, why.into()))?;
        all.push(given);
    }
    match elements.are_all() {
        true => Ok(all),
        false => Err(BAD),
    }
}

/// Returns the error of an operation, which may say already of which.
#[cold]
fn of(at: usize, fail: Fail) -> Fail {
    let why = match fail {
        Fail::Store(why) if matches!(*why, Error::InBatch { .. }) => return Fail::Store(why),
        Fail::Store(why) => why,
        Fail::Cause(_) => Box::new(Error::BadArgument("not a table".to_owned())),
    };
    Fail::from(Error::InBatch { at, why })
}

fn read_one(env: Env, operation: Term) -> Result<Given, Error> {
    let bad = || Error::BadArgument("no operation of a batch".to_owned());
    let Some(&[name, table, ref rest @ ..]) = env.tuple(operation) else {
        return Err(bad());
    };
    let (mut rest, mut snapshot) = (rest, None);
    if name == atom::check(env) {
        let &[_, expected] = rest else {
            return Err(bad());
        };
        if let Some(&[word, then]) = env.tuple(expected)
            && word == atom::unchanged(env)
        {
            (rest, snapshot) = (&rest[..1], Some(then));
        }
    }
    let name = atom::from_machine(env, name).ok_or_else(bad)?;
    let args = rest.iter().map(|&arg| term::read(env, arg));
    let args: Vec<Owned> = args.collect::<Result<_, Error>>()?;
    Ok(Given {
        args: BatchArgs::parse(name.as_str(), args)?,
        table,
        snapshot,
    })
}

fn reply(env: Env, given: &[Given], replies: Vec<BatchReply>) -> Term {
    let each = given.iter().zip(replies);
    let each = each.map(|(given, reply)| term::make(env, &given.args.reply(reply)));
    all_done(env, &each.collect::<Vec<_>>())
}

/// Returns `{error, {check, Operation}}`.
fn failed(env: Env, operations: Term, at: usize) -> Reply {
    let operation = env.elements(operations).nth(at).ok_or(BAD)?;
    let check = env.make_tuple(&[atom::check(env), operation]);
    Ok(env.make_tuple(&[atom::error(env), check]))
}

/// Returns the error for a term that is no table, with the first operation that names one.
#[cold]
fn of_table(env: Env, given: &[Given], fail: Fail) -> Fail {
    let fails = |term: Term| tables::with(env, term, |_, _| Ok(())).err();
    let each = given.iter().enumerate();
    let first = each.map(|(at, given)| {
        let fail = fails(given.table).or_else(|| given.snapshot.and_then(fails));
        fail.map(|fail| (at, fail))
    });
    match first.flatten().next() {
        Some((at, why)) => of(at, why),
        None => fail,
    }
}

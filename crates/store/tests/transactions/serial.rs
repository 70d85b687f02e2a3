//! Small programs over two tables, run interleaved or by threads, and the search for a serial order that explains what
//! each of them has seen.

use std::collections::BTreeMap;

use fyris::{
    CounterOp, Error, MatchSpec, Options, RangeOptions, SecondaryIndex, Store, Table, TableType,
    Transaction, term,
};
use fyris_term::Term;

/// The content of both tables: the values under each key of each table.
pub(crate) type Model = BTreeMap<(usize, i64), Vec<i64>>;

/// One operation. The first number is the table; then keys and values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Get(usize, i64),
    Put(usize, i64, i64),
    New(usize, i64, i64),
    Del(usize, i64),
    Take(usize, i64),
    Add(usize, i64, i64),
    Puts(usize, Vec<(i64, i64)>),
    News(usize, Vec<(i64, i64)>),
    All(usize),
    Len(usize),
    /// All objects of at least this value.
    Above(usize, i64),
    DelAbove(usize, i64),
    /// All objects of this value, by the secondary index.
    By(usize, i64),
    DelBy(usize, i64),
    /// From a key to another one, with a limit, in the order of keys or against it.
    Range(usize, i64, i64, usize, bool),
    DelRange(usize, i64, i64),
    Next(usize, Option<i64>),
    Prev(usize, Option<i64>),
    Clear(usize),
}

/// How a program is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// In a transaction, which is committed.
    Commit,
    /// In a transaction, which is given up.
    Abort,
    /// Without one: it has one operation.
    Plain,
    /// Reads, of snapshots of both tables.
    Snapshots,
}

#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) how: How,
    pub(crate) ops: Vec<Op>,
}

pub(crate) fn commits(ops: &[Op]) -> Program {
    let (how, ops) = (How::Commit, ops.to_vec());
    Program { how, ops }
}

pub(crate) fn plain(op: Op) -> Program {
    let (how, ops) = (How::Plain, vec![op]);
    Program { how, ops }
}

/// What a program has done, of which the moments of its begin and its end are known.
#[derive(Clone, Debug)]
pub(crate) struct Done {
    pub(crate) ops: Vec<Op>,
    pub(crate) results: Vec<Vec<i64>>,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

/// Two tables of a type.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) tables: Vec<Table>,
}

pub(crate) fn store() -> Store {
    let mut store = Store::new();
    fyris_classic::register(&mut store).expect("new names");
    fyris_judy::register(&mut store).expect("new names");
    store
}

/// Returns options of tables with one object a key: both types, on each index.
pub(crate) fn unique_kinds() -> Vec<Options> {
    kinds_of(&[TableType::Set, TableType::OrderedSet])
}

pub(crate) fn kinds_of(types: &[TableType]) -> Vec<Options> {
    let store = store();
    let owner = store.owner();
    let mut all = Vec::new();
    for &kind in types {
        let by_value = SecondaryIndex::element("by_value", 2);
        let kind = Options::new(kind).public().secondary(by_value);
        all.push(kind.clone());
        for index in store.index_names() {
            let kind = kind.clone().index(index);
            if owner.new_table("t", &kind).is_ok() {
                all.push(kind);
            }
        }
    }
    all
}

impl World {
    pub(crate) fn new(store: &Store, kind: &Options, model: &Model) -> World {
        let owner = store.owner();
        let tables: Vec<Table> = (0..2)
            .map(|_| owner.new_table("t", kind).expect("a table"))
            .collect();
        std::mem::forget(owner);
        for (&(table, key), values) in model {
            for &value in values {
                tables[table].insert(&object(key, value)).expect("room");
            }
        }
        let store = store.clone();
        World { store, tables }
    }

    pub(crate) fn content(&self) -> Model {
        let mut model = Model::new();
        for (at, table) in self.tables.iter().enumerate() {
            for object in table.tab2list().expect("a live table") {
                let (key, value) = pair(&object);
                model.entry((at, key)).or_default().push(value);
            }
            assert_eq!(table.len(), table.tab2list().expect("live").len());
        }
        model.values_mut().for_each(|values| values.sort_unstable());
        model
    }

    pub(crate) fn kind(&self) -> TableType {
        self.tables[0].table_type()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for table in &self.tables {
            let _ = table.delete();
        }
    }
}

pub(crate) fn object(key: i64, value: i64) -> Term {
    term!({ (key), (value) })
}

pub(crate) fn pair(object: &Term) -> (i64, i64) {
    match object {
        Term::Tuple(elements) => match elements[..] {
            [Term::Int(key), Term::Int(value)] => (key, value),
            _ => panic!("{object:?}"),
        },
        _ => panic!("{object:?}"),
    }
}

fn flat(objects: &[Term], sorted: bool) -> Vec<i64> {
    let mut pairs: Vec<_> = objects.iter().map(pair).collect();
    if sorted {
        pairs.sort_unstable();
    }
    pairs.into_iter().flat_map(|(k, v)| [k, v]).collect()
}

fn above(value: i64, body: Term) -> MatchSpec {
    let spec = term!([{ {:"$1", :"$2"}, [{ :">=", :"$2", (value) }], [(body)] }]);
    MatchSpec::new(&spec).expect("right")
}

fn with_value(value: i64) -> MatchSpec {
    let spec = term!([{ {:"_", (value)}, [], [true] }]);
    MatchSpec::new(&spec).expect("right")
}

fn key_of(key: Option<Term>) -> Vec<i64> {
    match key {
        None => vec![],
        Some(Term::Int(key)) => vec![key],
        Some(other) => panic!("{other:?}"),
    }
}

/// Does an operation by handles of the tables.
pub(crate) fn run(tables: &[&Table], op: &Op) -> fyris::Result<Vec<i64>> {
    let objects =
        |list: &[(i64, i64)]| -> Vec<Term> { list.iter().map(|&(k, v)| object(k, v)).collect() };
    let key = |key: i64| Term::Int(key);
    Ok(match op {
        Op::Get(t, k) => flat(&tables[*t].lookup(&key(*k))?, true),
        Op::Put(t, k, v) => {
            tables[*t].insert(&object(*k, *v))?;
            vec![]
        }
        Op::New(t, k, v) => vec![i64::from(tables[*t].insert_new(&object(*k, *v))?)],
        Op::Del(t, k) => {
            tables[*t].delete_key(&key(*k))?;
            vec![]
        }
        Op::Take(t, k) => flat(&tables[*t].take(&key(*k))?, true),
        Op::Add(t, k, n) => {
            let by = [CounterOp::add(*n)];
            let new = tables[*t].update_counter_or(&key(*k), &by, &object(*k, 0))?;
            new.into_iter().flat_map(|n| key_of(Some(n))).collect()
        }
        Op::Puts(t, list) => {
            tables[*t].insert_list(&objects(list))?;
            vec![]
        }
        Op::News(t, list) => vec![i64::from(tables[*t].insert_new_list(&objects(list))?)],
        Op::All(t) => flat(&tables[*t].tab2list()?, true),
        Op::Len(t) => vec![tables[*t].len() as i64],
        Op::Above(t, v) => flat(&tables[*t].select(&above(*v, Term::atom("$_")))?, true),
        Op::DelAbove(t, v) => {
            let spec = above(*v, Term::atom("true"));
            vec![tables[*t].select_delete(&spec)? as i64]
        }
        Op::By(t, v) => flat(&tables[*t].lookup_by("by_value", &key(*v))?, true),
        Op::DelBy(t, v) => vec![tables[*t].select_delete(&with_value(*v))? as i64],
        Op::Range(t, from, to, limit, back) => {
            let options = RangeOptions::new().limit(*limit);
            let options = if *back { options.reverse() } else { options };
            flat(&tables[*t].range(key(*from)..=key(*to), options)?, false)
        }
        Op::DelRange(t, from, to) => {
            vec![tables[*t].delete_range(key(*from)..=key(*to))? as i64]
        }
        Op::Next(t, None) => key_of(tables[*t].first()?),
        Op::Next(t, Some(k)) => key_of(tables[*t].next(&key(*k))?),
        Op::Prev(t, None) => key_of(tables[*t].last()?),
        Op::Prev(t, Some(k)) => key_of(tables[*t].prev(&key(*k))?),
        Op::Clear(t) => {
            tables[*t].delete_all_objects()?;
            vec![]
        }
    })
}

fn put(model: &mut Model, kind: TableType, at: (usize, i64), value: i64) {
    let values = model.entry(at).or_default();
    match kind {
        TableType::Bag if values.contains(&value) => {}
        TableType::Bag | TableType::DuplicateBag => values.push(value),
        _ => *values = vec![value],
    }
    values.sort_unstable();
}

/// Does an operation on the model, and returns the right result.
pub(crate) fn apply(model: &mut Model, kind: TableType, op: &Op) -> Vec<i64> {
    let of = |model: &Model, t: usize, goes: &dyn Fn(i64, i64) -> bool| -> Vec<(i64, i64)> {
        let all = model.range((t, i64::MIN)..=(t, i64::MAX));
        let each = all.flat_map(|(&(_, k), values)| values.iter().map(move |&v| (k, v)));
        each.filter(|&(k, v)| goes(k, v)).collect()
    };
    let flat = |pairs: Vec<(i64, i64)>| pairs.into_iter().flat_map(|(k, v)| [k, v]).collect();
    let without = |model: &mut Model, t: usize, goes: &dyn Fn(i64, i64) -> bool| -> usize {
        let gone = of(model, t, goes).len();
        for (&(table, k), values) in model.iter_mut() {
            if table == t {
                values.retain(|&v| !goes(k, v));
            }
        }
        model.retain(|_, values| !values.is_empty());
        gone
    };
    match op {
        Op::Get(t, k) => flat(of(model, *t, &|key, _| key == *k)),
        Op::Put(t, k, v) => {
            put(model, kind, (*t, *k), *v);
            vec![]
        }
        Op::New(t, k, v) => {
            let is_new = !model.contains_key(&(*t, *k));
            if is_new {
                put(model, kind, (*t, *k), *v);
            }
            vec![i64::from(is_new)]
        }
        Op::Del(t, k) => {
            model.remove(&(*t, *k));
            vec![]
        }
        Op::Take(t, k) => {
            let taken = of(model, *t, &|key, _| key == *k);
            model.remove(&(*t, *k));
            flat(taken)
        }
        Op::Add(t, k, n) => {
            let value = model.entry((*t, *k)).or_insert_with(|| vec![0]);
            value[0] += n;
            vec![value[0]]
        }
        Op::Puts(t, list) => {
            list.iter().for_each(|&(k, v)| put(model, kind, (*t, k), v));
            vec![]
        }
        Op::News(t, list) => {
            let are_new = list.iter().all(|&(k, _)| !model.contains_key(&(*t, k)));
            if are_new {
                list.iter().for_each(|&(k, v)| put(model, kind, (*t, k), v));
            }
            vec![i64::from(are_new)]
        }
        Op::All(t) => flat(of(model, *t, &|_, _| true)),
        Op::Len(t) => vec![of(model, *t, &|_, _| true).len() as i64],
        Op::Above(t, least) => flat(of(model, *t, &|_, v| v >= *least)),
        Op::DelAbove(t, least) => vec![without(model, *t, &|_, v| v >= *least) as i64],
        Op::By(t, value) => flat(of(model, *t, &|_, v| v == *value)),
        Op::DelBy(t, value) => vec![without(model, *t, &|_, v| v == *value) as i64],
        Op::Range(t, from, to, limit, back) => {
            let mut found = of(model, *t, &|k, _| (*from..=*to).contains(&k));
            if *back {
                found.reverse();
            }
            found.truncate(*limit);
            flat(found)
        }
        Op::DelRange(t, from, to) => {
            vec![without(model, *t, &|k, _| (*from..=*to).contains(&k)) as i64]
        }
        Op::Next(t, after) => {
            let found = of(model, *t, &|k, _| after.is_none_or(|after| k > after));
            found.first().map(|&(k, _)| k).into_iter().collect()
        }
        Op::Prev(t, before) => {
            let found = of(model, *t, &|k, _| before.is_none_or(|before| k < before));
            found.last().map(|&(k, _)| k).into_iter().collect()
        }
        Op::Clear(t) => {
            without(model, *t, &|_, _| true);
            vec![]
        }
    }
}

/// Returns whether a serial order of what was done, in which what had ended comes before what began later, explains all
/// results and the end.
pub(crate) fn is_serial(begin: &Model, kind: TableType, done: &[Done], end: &Model) -> bool {
    if done.is_empty() {
        return begin == end;
    }
    let may_be_first = |at: usize| {
        let mut others = done.iter().enumerate().filter(|&(other, _)| other != at);
        others.all(|(_, other)| other.to >= done[at].from)
    };
    (0..done.len()).filter(|&at| may_be_first(at)).any(|at| {
        let (mut model, mut left) = (begin.clone(), done.to_vec());
        let first = left.remove(at);
        let mut each = first.ops.iter().zip(&first.results);
        each.all(|(op, result)| apply(&mut model, kind, op) == *result)
            && is_serial(&model, kind, &left, end)
    })
}

/// What came of a run: the programs that happened, and those that met a conflict.
#[derive(Debug, Default)]
pub(crate) struct RunEnd {
    pub(crate) done: Vec<Done>,
    pub(crate) conflicts: usize,
}

/// Runs programs, a step of one after a step of another, as `order` says; a transaction's last step ends it. `opened`
/// says whether a transaction has both tables from its first step on.
pub(crate) fn interleave(
    world: &World,
    programs: &[Program],
    order: &[usize],
    opened: bool,
) -> RunEnd {
    enum Running {
        Not,
        Transaction(Transaction),
        Snapshots(Vec<Table>),
        Over,
    }
    let live: Vec<&Table> = world.tables.iter().collect();
    let mut sides: Vec<Running> = programs.iter().map(|_| Running::Not).collect();
    let mut states: Vec<Done> = programs
        .iter()
        .map(|program| Done {
            ops: program.ops.clone(),
            results: Vec::new(),
            from: 0,
            to: 0,
        })
        .collect();
    let mut outcome = RunEnd::default();
    for (time, &at) in (1..).zip(order) {
        let (program, state) = (&programs[at], &mut states[at]);
        if let Running::Not = sides[at] {
            state.from = time;
            sides[at] = match program.how {
                How::Commit | How::Abort => {
                    let transaction = world.store.begin();
                    if opened {
                        for table in &live {
                            transaction.table(table).expect("nothing was read");
                        }
                    }
                    Running::Transaction(transaction)
                }
                How::Plain => Running::Snapshots(world.tables.clone()),
                How::Snapshots => {
                    let taken = world.store.snapshots(&live).expect("live tables");
                    Running::Snapshots(taken.iter().map(|taken| (**taken).clone()).collect())
                }
            };
        }
        state.to = time;
        let next = program.ops.get(state.results.len());
        let result = match (&sides[at], next) {
            (Running::Over, _) => continue,
            (Running::Transaction(transaction), Some(op)) => within(transaction, &live, op),
            (Running::Snapshots(tables), Some(op)) => run(&tables.iter().collect::<Vec<_>>(), op),
            (_, None) => Ok(vec![]),
            (Running::Not, _) => unreachable!(),
        };
        match (result, next) {
            (Ok(result), Some(_)) => state.results.push(result),
            (Ok(_), None) => {
                let ended = match std::mem::replace(&mut sides[at], Running::Over) {
                    Running::Transaction(transaction) if program.how == How::Commit => {
                        transaction.commit()
                    }
                    Running::Transaction(_) => continue,
                    _ => Ok(()),
                };
                match ended {
                    Ok(()) => outcome.done.push(state.clone()),
                    Err(Error::Conflict { .. }) => outcome.conflicts += 1,
                    Err(error) => panic!("{error:?}"),
                }
            }
            (Err(Error::Conflict { .. }), _) => {
                sides[at] = Running::Over;
                outcome.conflicts += usize::from(program.how == How::Commit);
            }
            (Err(error), _) => panic!("{error:?} of {next:?}"),
        }
    }
    outcome
}

/// Does an operation of a transaction, in which its table may be new.
pub(crate) fn within(
    transaction: &Transaction,
    live: &[&Table],
    op: &Op,
) -> fyris::Result<Vec<i64>> {
    let at = table_of(op);
    let handle = transaction.table(live[at])?;
    let mut handles = live.to_vec();
    handles[at] = &handle;
    run(&handles, op)
}

pub(crate) fn table_of(op: &Op) -> usize {
    match *op {
        Op::Get(t, _)
        | Op::Put(t, ..)
        | Op::New(t, ..)
        | Op::Del(t, _)
        | Op::Take(t, _)
        | Op::Add(t, ..)
        | Op::Puts(t, _)
        | Op::News(t, _)
        | Op::All(t)
        | Op::Len(t)
        | Op::Above(t, _)
        | Op::DelAbove(t, _)
        | Op::By(t, _)
        | Op::DelBy(t, _)
        | Op::Range(t, ..)
        | Op::DelRange(t, ..)
        | Op::Next(t, _)
        | Op::Prev(t, _)
        | Op::Clear(t) => t,
    }
}

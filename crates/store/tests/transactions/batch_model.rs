//! Random batches over two tables against the same operations, one after another, on lists of pairs.

use std::slice::from_ref;

use fyris::{
    BatchCheck, BatchOp, BatchReply, CounterOp, Error, Options, Snapshot, Store, Table, TableType,
    Term, term,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::random::seed;

type Pair = (i64, i64);

/// An operation on the table of a number.
#[derive(Clone, Debug)]
enum ModelOp {
    Insert(usize, Vec<Pair>),
    InsertNew(usize, Vec<Pair>),
    Delete(usize, i64),
    DeleteObject(usize, Pair),
    Count(usize, i64, i64, Option<i64>),
    Edit(usize, i64, i64, Option<i64>),
    Check(usize, i64, Vec<Pair>),
    Unchanged(usize, i64),
}

const KEYS: i64 = 4;

fn op(rng: &mut StdRng, kind: TableType, model: &[Vec<Pair>; 2]) -> ModelOp {
    let (t, k, v) = (
        rng.random_range(0..2),
        rng.random_range(0..KEYS),
        rng.random_range(0..3),
    );
    let pairs = |rng: &mut StdRng| {
        let many = rng.random_range(0..4);
        let pair = |_| (rng.random_range(0..KEYS), rng.random_range(0..3));
        (0..many).map(pair).collect::<Vec<_>>()
    };
    let default = rng.random_bool(0.7).then_some(50);
    match rng.random_range(0..9) {
        0 => ModelOp::Insert(t, pairs(rng)),
        1 => ModelOp::InsertNew(t, pairs(rng)),
        2 => ModelOp::Delete(t, k),
        3 => ModelOp::DeleteObject(t, (k, v)),
        4 if !kind.is_bag() => ModelOp::Count(t, k, v, default),
        5 if !kind.is_bag() => ModelOp::Edit(t, k, v, default),
        6 => ModelOp::Unchanged(t, k),
        7 if rng.random_bool(0.2) => ModelOp::Check(t, k, pairs(rng)),
        8 => {
            let mut held: Vec<Pair> = model[t].iter().copied().filter(|p| p.0 == k).collect();
            held.reverse();
            ModelOp::Check(t, k, held)
        }
        _ => ModelOp::Insert(t, vec![(k, v)]),
    }
}

fn insert(objects: &mut Vec<Pair>, kind: TableType, new: Pair) {
    match kind {
        TableType::Bag if objects.contains(&new) => return,
        TableType::Bag | TableType::DuplicateBag => {}
        _ => objects.retain(|object| object.0 != new.0),
    }
    objects.push(new);
}

fn held(objects: &[Pair], key: i64) -> Vec<Pair> {
    let mut held: Vec<Pair> = objects.iter().copied().filter(|p| p.0 == key).collect();
    held.sort_unstable();
    held
}

/// Does a write; `Err` if it fails.
fn write(model: &mut [Vec<Pair>; 2], kind: TableType, op: &ModelOp) -> Result<BatchReply, Error> {
    Ok(match *op {
        ModelOp::Insert(t, ref new) => {
            new.iter().for_each(|&new| insert(&mut model[t], kind, new));
            BatchReply::Done
        }
        ModelOp::InsertNew(t, ref new) => {
            let is_there = |new: &Pair| model[t].iter().any(|object| object.0 == new.0);
            let is_new = !new.iter().any(is_there);
            if is_new {
                new.iter().for_each(|&new| insert(&mut model[t], kind, new));
            }
            BatchReply::Whether(is_new)
        }
        ModelOp::Delete(t, key) => {
            model[t].retain(|object| object.0 != key);
            BatchReply::Done
        }
        ModelOp::DeleteObject(t, gone) => {
            model[t].retain(|object| *object != gone);
            BatchReply::Done
        }
        ModelOp::Count(t, key, more, default) => {
            let now = model[t].iter().find(|object| object.0 == key).map(|o| o.1);
            let new = now.or(default).ok_or(Error::NoSuchKey)? + more;
            insert(&mut model[t], kind, (key, new));
            BatchReply::Counted(vec![Term::Int(new)])
        }
        ModelOp::Edit(t, key, value, default) => {
            let is_there = model[t].iter().any(|object| object.0 == key) || default.is_some();
            if is_there {
                insert(&mut model[t], kind, (key, value));
            }
            BatchReply::Whether(is_there)
        }
        ModelOp::Check(..) | ModelOp::Unchanged(..) => BatchReply::Done,
    })
}

fn model_batch(
    model: &mut [Vec<Pair>; 2],
    then: &[Vec<Pair>; 2],
    kind: TableType,
    ops: &[ModelOp],
) -> Result<Vec<BatchReply>, Error> {
    for (at, op) in ops.iter().enumerate() {
        let holds = match *op {
            ModelOp::Check(t, key, ref expected) => {
                let mut expected = expected.clone();
                expected.sort_unstable();
                held(&model[t], key) == expected
            }
            ModelOp::Unchanged(t, key) => held(&model[t], key) == held(&then[t], key),
            _ => true,
        };
        if !holds {
            return Err(Error::CheckFailed { at });
        }
    }
    let (mut new, mut replies) = (model.clone(), Vec::new());
    for (at, op) in ops.iter().enumerate() {
        let why = |why| Error::InBatch {
            at,
            why: Box::new(why),
        };
        replies.push(write(&mut new, kind, op).map_err(why)?);
    }
    *model = new;
    Ok(replies)
}

fn objects(pairs: &[Pair]) -> Vec<Term> {
    pairs.iter().map(|&(k, v)| term!({k, v})).collect()
}

/// The terms of an operation: the key, objects, operations, edits, a default.
struct Args(
    Term,
    Vec<Term>,
    [CounterOp; 1],
    [(usize, Term); 1],
    Option<Term>,
);

impl Args {
    fn of(op: &ModelOp) -> Args {
        let (key, pairs, value, default) = match op {
            ModelOp::Insert(_, pairs) | ModelOp::InsertNew(_, pairs) => (0, &pairs[..], 0, &None),
            ModelOp::Delete(_, key) | ModelOp::Unchanged(_, key) => (*key, &[][..], 0, &None),
            ModelOp::DeleteObject(_, pair) => (0, from_ref(pair), 0, &None),
            ModelOp::Count(_, key, value, default) | ModelOp::Edit(_, key, value, default) => {
                (*key, &[][..], *value, default)
            }
            ModelOp::Check(_, key, pairs) => (*key, &pairs[..], 0, &None),
        };
        Args(
            Term::Int(key),
            objects(pairs),
            [CounterOp::add(value)],
            [(2, Term::Int(value))],
            default.map(|value| term!({:key, value})),
        )
    }

    fn op<'a>(&'a self, op: &ModelOp, tables: &'a [Table; 2], then: &'a [Snapshot]) -> BatchOp<'a> {
        let Args(key, objects, ops, edits, default) = self;
        let table = |t: usize| &tables[t];
        match *op {
            ModelOp::Insert(t, _) => BatchOp::Insert(table(t), objects),
            ModelOp::InsertNew(t, _) => BatchOp::InsertNew(table(t), objects),
            ModelOp::Delete(t, _) => BatchOp::Delete(table(t), key),
            ModelOp::DeleteObject(t, _) => BatchOp::DeleteObject(table(t), &objects[0]),
            ModelOp::Count(t, ..) => BatchOp::UpdateCounter(table(t), key, ops, default.as_ref()),
            ModelOp::Edit(t, ..) => BatchOp::UpdateElement(table(t), key, edits, default.as_ref()),
            ModelOp::Check(t, ..) => BatchOp::Check(table(t), key, BatchCheck::Objects(objects)),
            ModelOp::Unchanged(t, _) => {
                BatchOp::Check(table(t), key, BatchCheck::Unchanged(&then[t]))
            }
        }
    }
}

fn content(table: &Table) -> Vec<Term> {
    let mut all = table.tab2list().expect("a table of ours");
    all.sort_by(Term::cmp_exact);
    all
}

fn random_batches(options: &Options, rounds: usize) {
    let store = Store::new();
    let owner = store.owner();
    let new = || owner.new_table("t", options).expect("a table");
    let tables = [new(), new()];
    let kind = tables[0].table_type();
    let mut model = [Vec::new(), Vec::new()];
    let mut rng = StdRng::seed_from_u64(seed());
    for round in 0..rounds / 8 {
        let then = store.snapshots(&[&tables[0], &tables[1]]).expect("two");
        let model_then = model.clone();
        for _ in 0..8 {
            let many = rng.random_range(1..6);
            let ops: Vec<ModelOp> = (0..many).map(|_| op(&mut rng, kind, &model)).collect();
            let args: Vec<Args> = ops.iter().map(Args::of).collect();
            let batch = args.iter().zip(&ops);
            let batch: Vec<_> = batch
                .map(|(args, op)| args.op(op, &tables, &then))
                .collect();
            let expected = model_batch(&mut model, &model_then, kind, &ops);
            let done = match rng.random_range(0..3) {
                0 => store.transaction(|tx| tx.write_batch(&batch)),
                _ => store.write_batch(&batch),
            };
            assert_eq!(done, expected, "{kind:?}, round {round}: {ops:?}");
            for (table, model) in tables.iter().zip(&model) {
                let mut all = objects(model);
                all.sort_by(Term::cmp_exact);
                assert_eq!(content(table), all, "{kind:?}, round {round}: {ops:?}");
            }
        }
        if rng.random_bool(0.1) {
            for (table, model) in tables.iter().zip(&mut model) {
                table.delete_all_objects().expect("a table of ours");
                model.clear();
            }
        }
    }
}

#[test]
fn random_batches_are_as_one_operation_after_another() {
    for options in [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ] {
        random_batches(&options, 1600);
    }
}

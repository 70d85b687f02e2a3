//! Commands as `ets` knows them, made at random, and how the store runs them.
//!
//! A command is the name of an `ets` function and its arguments without the table; a reply is
//! `{ok, Result}` or `{error, badarg | system_limit}`. The same commands go to the store, to a plain model
//! and to the real `ets`.

#![allow(dead_code)]

use fyris::{Options, Owner, Store, Table, TableType};
use fyris_term::Term;
use proptest::prelude::*;

/// Makes a store that knows the indexes of all crates.
pub(crate) fn store() -> Store {
    let mut store = Store::new();
    fyris_classic::register(&mut store).expect("new names");
    fyris_judy::register(&mut store).expect("new names");
    store
}

#[derive(Clone, Debug)]
pub(crate) struct Command {
    pub(crate) op: &'static str,
    pub(crate) args: Vec<Term>,
}

/// The limits of the generator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    pub(crate) kind: TableType,
    pub(crate) keypos: usize,
    /// Only what OTP 25 has and does in the same way.
    pub(crate) otp25: bool,
}

pub(crate) fn options(kind: TableType, keypos: usize) -> Options {
    Options::new(kind).keypos(keypos).public()
}

pub(crate) fn new_table(owner: &Owner, d: Dialect) -> Table {
    owner
        .new_table("t", &options(d.kind, d.keypos))
        .expect("a new table")
}

pub(crate) fn tuple(elements: impl IntoIterator<Item = Term>) -> Term {
    Term::Tuple(elements.into_iter().collect())
}

pub(crate) fn int(value: i64) -> Term {
    Term::Int(value)
}

pub(crate) fn float(value: f64) -> Term {
    Term::Float(fyris_term::Float::new(value).expect("finite"))
}

/// Generates few keys, so that they meet; equal ones of different exactness among them.
pub(crate) fn key(d: Dialect) -> impl Strategy<Value = Term> {
    let mut keys: Vec<Term> = (-2..6).map(int).collect();
    keys.extend([1.0, 2.0, 0.0, 2.5, -1.5, 1e300].map(float));
    keys.extend(["a", "b", "$end_of_table", ""].map(Term::atom));
    keys.extend([&b""[..], b"a", b"a\0", b"a\0b", &[7; 100]].map(Term::binary));
    keys.extend([
        tuple([Term::atom("a"), int(1)]),
        tuple([Term::atom("a"), float(1.0)]),
        tuple([]),
    ]);
    keys.extend([Term::list(vec![]), Term::list(vec![int(1), float(2.0)])]);
    keys.extend([
        Term::integer(num_bigint::BigInt::from(1) << 70),
        int(i64::MIN),
        int(1 << 53),
    ]);
    keys.push(Term::Map(fyris_term::Map::new(vec![(int(1), float(1.0))])));
    keys.push(Term::Map(fyris_term::Map::new(vec![(float(1.0), int(1))])));
    keys.push(Term::improper(vec![int(1)], int(2)));
    if !d.otp25 {
        keys.push(float(-0.0));
    }
    proptest::sample::select(keys)
}

pub(crate) fn value() -> impl Strategy<Value = Term> {
    prop_oneof![
        4 => (-3i64..4).prop_map(int),
        1 => any::<i64>().prop_map(int),
        1 => Just(Term::integer(num_bigint::BigInt::from(7) << 200)),
        1 => Just(float(1.5)),
        1 => Just(Term::atom("x")),
        1 => Just(Term::binary(&[1u8; 300][..])),
        1 => Just(Term::binary(&[2u8; 300][..])),
        1 => Just(Term::list(vec![int(1), int(300), Term::atom("y")])),
        1 => Just(tuple([Term::binary(&b"z"[..]), int(-1)])),
        1 => any::<u16>().prop_map(|n| Term::List((0..n as i64 % 20).map(int).collect())),
    ]
}

/// Generates objects, a few of them too short.
pub(crate) fn object(d: Dialect) -> impl Strategy<Value = Term> {
    let arity = prop_oneof![8 => d.keypos..d.keypos + 3, 1 => 0..d.keypos + 1];
    (arity, key(d), proptest::collection::vec(value(), 6)).prop_map(move |(arity, key, mut v)| {
        v[d.keypos - 1] = key;
        v.truncate(arity);
        Term::tuple(v)
    })
}

/// Returns a default object, long enough.
fn good_default(d: Dialect) -> impl Strategy<Value = Term> {
    proptest::collection::vec((-3i64..4).prop_map(int), d.keypos + 2).prop_map(Term::tuple)
}

/// Lists for `insert/2`; OTP 25.2.3 reversed the objects of one key within a list.
fn objects(d: Dialect) -> impl Strategy<Value = Term> {
    proptest::collection::vec(object(d), 0..6).prop_map(move |mut list| {
        if d.otp25 && d.kind.is_bag() {
            let mut seen: Vec<Term> = Vec::new();
            list.retain(|o| {
                let key = key_of(o, d.keypos);
                let fresh = key.as_ref().is_none_or(|k| !seen.contains(k));
                seen.extend(key);
                fresh
            });
        }
        Term::list(list)
    })
}

pub(crate) fn key_of(object: &Term, keypos: usize) -> Option<Term> {
    match object {
        Term::Tuple(elements) => elements.get(keypos - 1).cloned(),
        _ => None,
    }
}

fn position(d: Dialect) -> impl Strategy<Value = Term> {
    (0..d.keypos as i64 + 4).prop_map(int)
}

fn counter_op(d: Dialect) -> impl Strategy<Value = Term> {
    let number = prop_oneof![
        6 => (-4i64..5).prop_map(int),
        1 => Just(int(i64::MAX)),
        1 => Just(Term::integer(num_bigint::BigInt::from(-9) << 80)),
        1 => Just(float(1.0)),
    ];
    let limits = (
        number.clone(),
        (-4i64..5).prop_map(int),
        (-4i64..5).prop_map(int),
    );
    prop_oneof![
        (position(d), number).prop_map(|(p, n)| tuple([p, n])),
        (position(d), limits).prop_map(|(p, (n, t, v))| tuple([p, n, t, v])),
    ]
}

fn counter_ops(d: Dialect) -> impl Strategy<Value = Term> {
    prop_oneof![
        3 => (-4i64..5).prop_map(int),
        3 => counter_op(d),
        3 => proptest::collection::vec(counter_op(d), 0..4).prop_map(Term::list),
        1 => Just(Term::atom("no")),
    ]
}

fn edits(d: Dialect) -> impl Strategy<Value = Term> {
    let edit = (position(d), value())
        .prop_map(|(p, v)| tuple([p, v]))
        .boxed();
    prop_oneof![
        3 => edit.clone(),
        3 => proptest::collection::vec(edit, 0..4).prop_map(Term::list),
        1 => Just(Term::atom("no")),
    ]
}

fn cmd(op: &'static str, args: impl IntoIterator<Item = Term>) -> Command {
    Command {
        op,
        args: args.into_iter().collect(),
    }
}

/// Generates one command.
pub(crate) fn command(d: Dialect) -> BoxedStrategy<Command> {
    let k = move || key(d);
    let mut all: Vec<(u32, BoxedStrategy<Command>)> = vec![
        (8, object(d).prop_map(|o| cmd("insert", [o])).boxed()),
        (4, objects(d).prop_map(|o| cmd("insert", [o])).boxed()),
        (3, object(d).prop_map(|o| cmd("insert_new", [o])).boxed()),
        (2, objects(d).prop_map(|o| cmd("insert_new", [o])).boxed()),
        (1, value().prop_map(|v| cmd("insert", [v])).boxed()),
        (6, k().prop_map(|k| cmd("lookup", [k])).boxed()),
        (
            3,
            (k(), position(d))
                .prop_map(|(k, p)| cmd("lookup_element", [k, p]))
                .boxed(),
        ),
        (2, k().prop_map(|k| cmd("member", [k])).boxed()),
        (3, k().prop_map(|k| cmd("take", [k])).boxed()),
        (3, k().prop_map(|k| cmd("delete", [k])).boxed()),
        (3, object(d).prop_map(|o| cmd("delete_object", [o])).boxed()),
        (
            3,
            (k(), edits(d))
                .prop_map(|(k, e)| cmd("update_element", [k, e]))
                .boxed(),
        ),
        (
            4,
            (k(), counter_ops(d))
                .prop_map(|(k, c)| cmd("update_counter", [k, c]))
                .boxed(),
        ),
        (
            3,
            (k(), counter_ops(d), good_default(d))
                .prop_map(|(k, c, o)| cmd("update_counter", [k, c, o]))
                .boxed(),
        ),
        (2, Just(cmd("tab2list", [])).boxed()),
        (1, Just(cmd("size", [])).boxed()),
    ];
    if d.kind == TableType::OrderedSet {
        for op in ["next", "prev"] {
            all.push((2, k().prop_map(move |k| cmd(op, [k])).boxed()));
        }
        for op in ["first", "last"] {
            all.push((1, Just(cmd(op, [])).boxed()));
        }
        all.push((1, (0i64..12).prop_map(|i| cmd("slot", [int(i)])).boxed()));
    }
    if !d.otp25 {
        // `ets:foldr` ends at a key that looks like the end.
        all.push((1, Just(cmd("foldr", [])).boxed()));
        all.push((
            3,
            (k(), edits(d), object(d))
                .prop_map(|(k, e, o)| cmd("update_element", [k, e, o]))
                .boxed(),
        ));
        all.push((
            1,
            (k(), counter_ops(d), object(d))
                .prop_map(|(k, c, o)| cmd("update_counter", [k, c, o]))
                .boxed(),
        ));
        let three = (k(), position(d), value());
        all.push((
            2,
            three
                .prop_map(|(k, p, v)| cmd("lookup_element", [k, p, v]))
                .boxed(),
        ));
    }
    let rare = prop_oneof![60 => Just(false), 1 => Just(true)];
    let any = proptest::strategy::Union::new_weighted(all);
    (any, rare)
        .prop_map(|(c, clear)| {
            if clear {
                cmd("delete_all_objects", [])
            } else {
                c
            }
        })
        .boxed()
}

/// Runs a command on the store.
pub(crate) fn run(table: &Table, command: &Command) -> Term {
    match try_run(table, command) {
        Ok(term) => tuple([Term::atom("ok"), term]),
        Err(error) => tuple([Term::atom("error"), Term::atom(error.ets_class().as_str())]),
    }
}

fn boolean(value: bool) -> Term {
    Term::atom(if value { "true" } else { "false" })
}

fn or_end(key: Option<Term>) -> Term {
    key.unwrap_or_else(|| Term::atom("$end_of_table"))
}

fn try_run(t: &Table, Command { op, args }: &Command) -> fyris::Result<Term> {
    let truth = |_: ()| boolean(true);
    Ok(match (*op, &args[..]) {
        ("insert", [Term::List(list)]) => truth(t.insert_list(list)?),
        ("insert", [object]) => truth(t.insert(object)?),
        ("insert_new", [Term::List(list)]) => boolean(t.insert_new_list(list)?),
        ("insert_new", [object]) => boolean(t.insert_new(object)?),
        ("lookup", [key]) => Term::list(t.lookup(key)?),
        ("lookup_element", [key, p]) => t.lookup_element(key, position_of(p))?.into_term(),
        ("lookup_element", [key, p, d]) => t
            .lookup_element_or(key, position_of(p), d.clone())?
            .into_term(),
        ("member", [key]) => boolean(t.member(key)?),
        ("take", [key]) => Term::list(t.take(key)?),
        ("delete", [key]) => truth(t.delete_key(key)?),
        ("delete_object", [object]) => truth(t.delete_object(object)?),
        ("delete_all_objects", []) => truth(t.delete_all_objects()?),
        ("update_element", [key, edits]) => boolean(t.update_element_term(key, edits, None)?),
        ("update_element", [key, edits, d]) => {
            boolean(t.update_element_term(key, edits, Some(d))?)
        }
        ("update_counter", [key, ops]) => t.update_counter_term(key, ops, None)?,
        ("update_counter", [key, ops, d]) => t.update_counter_term(key, ops, Some(d))?,
        ("tab2list", []) => Term::list(t.tab2list()?),
        ("foldr", []) => Term::list(t.foldr(vec![], |o, mut list| {
            list.push(o);
            list
        })?),
        ("size", []) => int(t.info().expect("a live table").size as i64),
        ("first", []) => or_end(t.first()?),
        ("last", []) => or_end(t.last()?),
        ("next", [key]) => or_end(t.next(key)?),
        ("prev", [key]) => or_end(t.prev(key)?),
        ("slot", [Term::Int(i)]) => match t.slot(*i as usize)? {
            None => or_end(None),
            Some(objects) => Term::list(objects),
        },
        other => panic!("no command {other:?}"),
    })
}

fn position_of(term: &Term) -> usize {
    match term {
        Term::Int(p) => *p as usize,
        _ => 0,
    }
}

/// Returns a reply in a form that does not depend on the order of a hash table.
pub(crate) fn settled(d: Dialect, command: &Command, reply: Term) -> Term {
    if d.kind == TableType::OrderedSet || !matches!(command.op, "tab2list" | "foldr") {
        return reply;
    }
    match reply {
        Term::Tuple(mut parts) => {
            if let Some(Term::List(list)) = parts.get_mut(1) {
                list.sort_by(Term::cmp_exact);
            }
            Term::Tuple(parts)
        }
        other => other,
    }
}

pub(crate) const KINDS: [TableType; 4] = [
    TableType::Set,
    TableType::OrderedSet,
    TableType::Bag,
    TableType::DuplicateBag,
];

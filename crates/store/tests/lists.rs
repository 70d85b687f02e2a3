//! A list insert is atomic and isolated: a reader of several keys at one step sees all of it or nothing.
//!
//! Two keys that only list inserts write always sum up to the same, whichever call reads them, with writers of other
//! keys beside and with every thread stopped at random.

mod common;
mod stall;

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use common::{int, tuple};
use fyris::{Cursor, MatchSpec, Options, RangeOptions, Store, Table};
use fyris_term::Term;
use rand::{Rng, SeedableRng};

/// The sum of the values of a pair: odd, so that just one of them is above the half.
const SUM: i64 = 1001;

/// The number of rounds of all readings that each reader makes.
const ROUNDS: usize = if cfg!(fyris_small) { 100 } else { 400 };

/// One kind of table in one size.
struct Case {
    table: Table,
    /// The keys of the pairs.
    pairs: Vec<(i64, i64)>,
    /// Keys of other objects are below this.
    others: i64,
    /// Makes objects so large that each has a record of its own.
    large: bool,
}

impl Case {
    fn object(&self, key: i64, value: Term) -> Term {
        match self.large {
            true => tuple([int(key), value, Term::binary(&[7; 50][..])]),
            false => tuple([int(key), value]),
        }
    }

    fn pattern(&self, key: Term, value: &str) -> Term {
        let mut elements = vec![key, Term::atom(value)];
        elements.extend(self.large.then(|| Term::atom("_")));
        Term::tuple(elements)
    }

    /// Returns a specification for the values of pairs, with this guard and body.
    fn spec(&self, rest: &str) -> MatchSpec {
        let head = self.pattern(Term::atom("_"), "$1");
        let clause = Term::parse(rest).expect("a term");
        let [guards, body] = clause.as_tuple().expect("a pair") else {
            panic!("a pair");
        };
        let clause = tuple([head, guards.clone(), body.clone()]);
        MatchSpec::new(&Term::list(vec![clause])).expect("a specification")
    }

    /// Inserts a pair, and with it some of the other objects.
    fn put_pair(&self, at: usize, value: i64, others: i64) {
        let (a, b) = self.pairs[at];
        let is_other = |key: &i64| self.pairs.iter().all(|&(a, b)| *key != a && *key != b);
        let others = (0..others.min(self.others)).filter(is_other);
        let mut list: Vec<_> = others
            .map(|key| self.object(key, Term::atom("z")))
            .collect();
        list.push(self.object(b, int(SUM - value)));
        list.push(self.object(a, int(value)));
        self.table.insert_list(&list).expect("inserts");
    }

    /// Returns the sum of all values of pairs.
    fn total(&self) -> i64 {
        SUM * self.pairs.len() as i64
    }
}

fn value(object: &Term) -> i64 {
    match object.as_tuple().and_then(|elements| elements.get(1)) {
        Some(Term::Int(value)) => *value,
        _ => 0,
    }
}

fn sum(objects: &[Term]) -> i64 {
    objects.iter().map(value).sum()
}

fn cases(others: i64, large: bool) -> Vec<Case> {
    let owner = Box::leak(Box::new(common::store().owner()));
    let options = [
        Options::set(),
        Options::ordered_set(),
        Options::set().index("ordered"),
        Options::ordered_set().index("btree"),
        Options::set().index("split_ordered"),
        Options::ordered_set().index("ca_avl"),
    ];
    let case = |options: Options| {
        let case = Case {
            table: owner.new_table("t", &options.public()).expect("a table"),
            // Neighbours, and far from each other.
            pairs: vec![(3, others - 2), (others / 2, others / 2 + 1)],
            others,
            large,
        };
        for key in 0..others {
            case.table
                .insert(&case.object(key, Term::atom("x")))
                .expect("inserts");
        }
        (0..case.pairs.len()).for_each(|at| case.put_pair(at, 0, 0));
        case
    };
    options.map(case).into_iter().collect()
}

/// Runs one kind of reading beside writers of pairs and of other keys.
fn beside_writers(case: &Case, read: impl Fn(&Case) -> i64 + Sync) {
    let stop = AtomicBool::new(false);
    stall::with_stalls(|| {
        thread::scope(|s| {
            for writer in 0..2 {
                let stop = &stop;
                s.spawn(move || {
                    let _stalled = stall::join();
                    let mut random = rand::rngs::SmallRng::seed_from_u64(writer);
                    while !stop.load(Ordering::Relaxed) {
                        // Some of the lists are long enough that readers search them instead of gathering them.
                        let long = random.random_range(0..16) == 0;
                        let at = random.random_range(0..case.pairs.len());
                        let value = random.random_range(0..=SUM);
                        case.put_pair(at, value, if long { 400 } else { 0 });
                        let key = random.random_range(0..case.others);
                        if case.pairs.iter().all(|&(a, b)| key != a && key != b) {
                            let other = case.object(key, Term::atom(["x", "y"][key as usize % 2]));
                            case.table.insert(&other).expect("inserts");
                        }
                    }
                });
            }
            s.spawn(|| {
                struct Halt<'a>(&'a AtomicBool);
                impl Drop for Halt<'_> {
                    fn drop(&mut self) {
                        self.0.store(true, Ordering::Relaxed);
                    }
                }
                let _stalled = stall::join();
                let _halt = Halt(&stop);
                let torn = (0..ROUNDS).filter(|_| read(case) != case.total()).count();
                assert_eq!(torn, 0, "of {ROUNDS} readings so many were torn");
            });
        });
    });
}

/// Tests a whole call, of a table of several batches.
fn whole(read: impl Fn(&Case) -> i64 + Sync) {
    for case in cases(700, false).iter().chain(&cases(700, true)) {
        beside_writers(case, &read);
    }
}

/// Tests a whole call that needs an order, of ordered sets of several batches.
fn in_order(read: impl Fn(&Case) -> i64 + Sync) {
    for case in cases(700, false).iter().chain(&cases(700, true)) {
        if case
            .table
            .prefix(&fyris::Prefix::List(vec![]), RangeOptions::new())
            .is_ok()
        {
            beside_writers(case, &read);
        }
    }
}

/// Tests a step, of a table that is read in one.
fn step(read: impl Fn(&Case) -> i64 + Sync) {
    for case in cases(100, false).iter().chain(&cases(100, true)) {
        beside_writers(case, &read);
    }
}

#[test]
fn tab2list_sees_all_or_nothing() {
    whole(|case| sum(&case.table.tab2list().expect("reads")));
}

#[test]
fn select_sees_all_or_nothing() {
    whole(|case| {
        let spec = case.spec("{[{is_integer, '$1'}], ['$_']}");
        sum(&case.table.select(&spec).expect("reads"))
    });
}

#[test]
fn select_reverse_sees_all_or_nothing() {
    whole(|case| {
        let spec = case.spec("{[{is_integer, '$1'}], ['$_']}");
        sum(&case.table.select_reverse(&spec).expect("reads"))
    });
}

#[test]
fn select_on_threads_sees_all_or_nothing() {
    whole(|case| {
        let spec = case.spec("{[{is_integer, '$1'}], ['$_']}");
        let mut query = case.table.query(&spec).threads(3);
        query.run().expect("reads");
        sum(&query.take())
    });
}

#[test]
fn select_count_sees_all_or_nothing() {
    // Of each pair just one value is above the half.
    whole(|case| {
        let spec = case.spec("{[{is_integer, '$1'}, {'>', '$1', 500}], [true]}");
        SUM * case.table.select_count(&spec).expect("reads") as i64
    });
}

#[test]
fn match_object_sees_all_or_nothing() {
    whole(|case| {
        let pattern = case.pattern(Term::atom("_"), "_");
        sum(&case.table.match_object(&pattern).expect("reads"))
    });
}

#[test]
fn folds_see_all_or_nothing() {
    whole(|case| {
        case.table
            .foldl(0, |object, sum| sum + value(&object))
            .expect("reads")
    });
    whole(|case| {
        case.table
            .foldr(0, |object, sum| sum + value(&object))
            .expect("reads")
    });
}

#[test]
fn a_reduction_sees_all_or_nothing() {
    whole(|case| {
        let fold = |sum, object: &fyris::Object<'_>| sum + value(&object.to_term());
        case.table
            .reduce(2, || 0, fold, |a, b| a + b)
            .expect("reads")
    });
}

#[test]
fn ranges_see_all_or_nothing() {
    in_order(|case| sum(&case.table.range(.., RangeOptions::new()).expect("reads")));
    in_order(|case| {
        sum(&case
            .table
            .range(.., RangeOptions::new().reverse())
            .expect("reads"))
    });
}

#[test]
fn lookups_of_many_keys_see_all_or_nothing() {
    for down in [false, true] {
        step(|case| {
            let mut keys: Vec<Term> = (0..case.others).map(int).collect();
            if down {
                keys.reverse();
            }
            sum(&case.table.lookup_many(&keys).expect("reads").concat())
        });
        step(|case| {
            let keys = case.pairs.iter().flat_map(|&(a, b)| [a, b]);
            let mut keys: Vec<i64> = keys.collect();
            if down {
                keys.reverse();
            }
            let (pin, mut found) = (fyris::pin(), Vec::new());
            case.table.get_many(&keys, &pin, &mut found).expect("reads");
            let values = found.iter().flatten();
            values.map(|object| value(&object.to_term())).sum()
        });
    }
}

#[test]
fn a_step_of_a_query_sees_all_or_nothing() {
    whole(|case| {
        let spec = case.spec("{[], ['$_']}");
        let (mut query, mut total) = (case.table.query(&spec), 0);
        let step = query.step_with(1000, |object, _| total += value(&object.to_term()));
        assert!(!step.expect("reads"), "one step is enough");
        total
    });
}

#[test]
fn a_batch_of_a_cursor_sees_all_or_nothing() {
    step(|case| {
        let (pin, mut found) = (fyris::pin(), Vec::new());
        let mut cursor = Cursor::new();
        cursor
            .next_batch(&case.table, &pin, &mut found)
            .expect("reads");
        assert_eq!(found.len(), case.others as usize);
        found.iter().map(|object| value(&object.to_term())).sum()
    });
}

/// Keys that come with a list come together, and go on to be there.
#[test]
fn new_keys_come_together() {
    const LISTS: i64 = 3000;
    for case in cases(700, false).iter().chain(&cases(700, true)) {
        let stop = AtomicBool::new(false);
        stall::with_stalls(|| {
            thread::scope(|s| {
                s.spawn(|| {
                    let _stalled = stall::join();
                    for n in 0..LISTS {
                        let keys = [10_000 + n, 90_000 - n];
                        let list = keys.map(|key| case.object(key, int(n)));
                        assert!(case.table.insert_new_list(&list).expect("inserts"));
                    }
                    stop.store(true, Ordering::Relaxed);
                });
                s.spawn(|| {
                    let _stalled = stall::join();
                    while !stop.load(Ordering::Relaxed) {
                        let all = case.table.tab2list().expect("reads");
                        let key = |object: &Term| match object.as_tuple().map(|e| &e[0]) {
                            Some(Term::Int(key)) => *key,
                            _ => 0,
                        };
                        let low = |&key: &i64| (10_000..50_000).contains(&key);
                        let lows = all.iter().map(key).filter(low).count();
                        let highs = all.iter().map(key).filter(|&key| key >= 50_000).count();
                        assert_eq!(lows, highs);
                    }
                });
            });
        });
    }
}

/// A list that adds an object to each of two keys of a bag.
#[test]
fn the_objects_of_a_bag_come_together() {
    const LISTS: i64 = 150;
    let owner = Store::new().owner();
    for options in [Options::bag(), Options::duplicate_bag()] {
        let table = owner.new_table("t", &options.public()).expect("a table");
        for key in 0..50 {
            table.insert(&tuple([int(key), int(-1)])).expect("inserts");
        }
        let stop = AtomicBool::new(false);
        stall::with_stalls(|| {
            thread::scope(|s| {
                s.spawn(|| {
                    let _stalled = stall::join();
                    for n in 0..LISTS {
                        let list = [0, 49].map(|key| tuple([int(key), int(n)]));
                        table.insert_list(&list).expect("inserts");
                    }
                    stop.store(true, Ordering::Relaxed);
                });
                s.spawn(|| {
                    let _stalled = stall::join();
                    while !stop.load(Ordering::Relaxed) {
                        let found = table.lookup_many(&[int(49), int(0)]).expect("reads");
                        assert_eq!(found[0].len(), found[1].len());
                        let all = table.tab2list().expect("reads");
                        let under = |key| {
                            all.iter()
                                .filter(|object| {
                                    object.as_tuple().is_some_and(|e| e[0] == int(key))
                                })
                                .count()
                        };
                        assert_eq!(under(0), under(49));
                    }
                });
            });
        });
    }
}

/// Runs some threads, stalled at random, each of which is told its number.
fn stalled(threads: usize, f: impl Fn(usize) + Sync) {
    stall::with_stalls(|| {
        thread::scope(|s| {
            for number in 0..threads {
                let f = &f;
                s.spawn(move || {
                    let _stalled = stall::join();
                    f(number);
                });
            }
        });
    });
}

/// Lists and writers of single keys of a bag, none of which waits for the other: all that was put in and not taken out
/// is there once, and counted.
#[test]
fn what_lists_and_writers_of_a_bag_put_in_is_there() {
    const KEYS: i64 = 40;
    const LISTS: i64 = 60;
    const WRITES: i64 = 2000;
    let owner = Store::new().owner();
    for options in [Options::bag(), Options::duplicate_bag()] {
        let table = owner.new_table("t", &options.public()).expect("a table");
        stalled(4, |thread| {
            let object = |key, n| tuple([int(key), int(thread as i64), int(n)]);
            if thread < 2 {
                for n in 0..LISTS {
                    let list: Vec<_> = (0..KEYS).map(|key| object(key, n)).collect();
                    table.insert_list(&list).expect("inserts");
                }
                return;
            }
            // Half of what these put in goes again.
            for n in 0..WRITES {
                let key = n * 7 % KEYS;
                table.insert(&object(key, n)).expect("inserts");
                if n % 2 == 1 {
                    table.delete_object(&object(key, n)).expect("deletes");
                }
            }
        });
        let all = table.tab2list().expect("reads");
        assert_eq!(all.len() as i64, 2 * LISTS * KEYS + WRITES);
        assert_eq!(table.len(), all.len());
        for key in 0..KEYS {
            let found = table.lookup(&int(key)).expect("reads");
            let lists = found.iter().filter(|object| value(object) < 2).count();
            assert_eq!(lists as i64, 2 * LISTS);
        }
    }
}

/// Lists and writers count together where an object replaces the one before: the last list stays but for what was
/// written behind it.
#[test]
fn lists_and_writers_of_a_set_are_counted() {
    const KEYS: i64 = 60;
    const LISTS: i64 = 150;
    for case in cases(KEYS, false).iter().chain(&cases(KEYS, true)) {
        let table = &case.table;
        stalled(4, |thread| {
            let mut random = rand::rngs::SmallRng::seed_from_u64(thread as u64);
            for n in 0..LISTS {
                if thread < 2 {
                    let list: Vec<_> = (0..KEYS).map(|key| case.object(key, int(n))).collect();
                    table.insert_list(&list).expect("inserts");
                    continue;
                }
                for _ in 0..20 {
                    let key = random.random_range(0..KEYS);
                    match random.random_range(0..4) {
                        0 => table.delete_key(&key).expect("deletes"),
                        1 => drop(table.take(&int(key)).expect("takes")),
                        2 => drop(table.insert_new(&case.object(key, int(-1)))),
                        _ => drop(table.update_element(&int(key), &[(2, int(-2))])),
                    }
                }
            }
        });
        let all = table.tab2list().expect("reads");
        assert_eq!(table.len(), all.len());
        all.iter().for_each(|object| assert!(value(object) < LISTS));
        let list: Vec<_> = (0..KEYS).map(|key| case.object(key, int(1))).collect();
        table.insert_list(&list).expect("inserts");
        assert_eq!(table.tab2list().expect("reads").len() as i64, KEYS);
        (0..KEYS).for_each(|key| table.delete_key(&key).expect("deletes"));
        assert_eq!(table.len(), 0);
    }
}

/// Either the list came first, and then no other writer's keys were new, or nothing of it was inserted.
#[test]
fn of_a_new_list_and_new_keys_one_wins() {
    const ROUNDS: i64 = 400;
    const KEYS: i64 = 30;
    for case in cases(4, false).iter().chain(&cases(4, true)) {
        for round in 1..ROUNDS / 6 {
            let base = round * 1000;
            let (listed, won) = (AtomicBool::new(false), AtomicBool::new(false));
            stalled(2, |thread| {
                if thread == 0 {
                    let keys = base..base + KEYS;
                    let list: Vec<_> = keys.map(|key| case.object(key, int(1))).collect();
                    let done = case.table.insert_new_list(&list).expect("inserts");
                    listed.store(done, Ordering::Relaxed);
                    return;
                }
                let key = base + round % KEYS;
                let missing = base + (round + 1) % KEYS;
                case.table.delete_key(&missing).expect("deletes");
                let done = case.table.insert_new(&case.object(key, int(2)));
                won.store(done.expect("inserts"), Ordering::Relaxed);
            });
            let (listed, won) = (listed.into_inner(), won.into_inner());
            assert!(listed != won, "one of them comes first");
            let there = (base..base + KEYS)
                .filter(|key| case.table.member(key).expect("reads"))
                .count() as i64;
            match listed {
                true => assert!(there == KEYS || there == KEYS - 1),
                false => assert_eq!(there, 1),
            }
        }
    }
}

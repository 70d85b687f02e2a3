//! Tables that all threads work on, and what always holds of them.

use std::sync::atomic::{AtomicI64, Ordering};

use fyris::{CounterOp, MatchSpec, Options, Owner, RangeOptions, Table, TableType};
use fyris_term::{Term, term};
use rand::Rng;
use rand::rngs::SmallRng;

/// Keys of the tables of mixed objects.
const KEYS: i64 = 1500;

/// Pairs of keys, `{N, a}` and `{N, b}`, that only list inserts write.
const PAIRS: i64 = 40;

/// The sum of the values of a pair.
const SUM: i64 = 1000;

/// The most objects that a bag has under one key before they are deleted.
const MOST_IN_BAG: usize = 20;

/// The tables.
pub(crate) struct Shared {
    /// Of each type, with objects of every kind.
    mixed: Vec<Table>,
    /// A set and an ordered set of pairs.
    pairs: Vec<Table>,
    /// One counter.
    counter: Table,
    counted: AtomicI64,
}

impl Shared {
    pub(crate) fn new(owner: &Owner) -> Shared {
        let table = |options: Options| {
            let table = owner.new_table("shared", &options.public());
            table.expect("a new table")
        };
        let shared = Shared {
            mixed: vec![
                table(Options::set()),
                table(Options::ordered_set()),
                table(Options::bag()),
                table(Options::duplicate_bag()),
            ],
            pairs: vec![table(Options::set()), table(Options::ordered_set())],
            counter: table(Options::set()),
            counted: AtomicI64::new(0),
        };
        for table in &shared.pairs {
            for pair in 0..PAIRS {
                table.insert_list(&pair_of(pair, 0)).expect("our table");
            }
        }
        shared
    }

    /// Does something with one key of one table.
    pub(crate) fn one_key(&self, random: &mut SmallRng) {
        let table = &self.mixed[random.random_range(0..self.mixed.len())];
        let key = key(random);
        match random.random_range(0..12) {
            0..=4 => {
                self.keep_small(table, &key);
                let object = Term::tuple(vec![key, value(random)]);
                table.insert(&object).expect("our table");
            }
            5..=7 => {
                let found = table.lookup(&key).expect("our table");
                assert!(found.iter().all(|object| key_of(object) == Some(&key)));
            }
            8 => table.delete_key(&key).expect("our table"),
            9 => {
                let taken = table.take(&key).expect("our table");
                assert!(taken.iter().all(|object| key_of(object) == Some(&key)));
            }
            10 => {
                let object = Term::tuple(vec![key, value(random)]);
                self.keep_small(table, key_of(&object).expect("a tuple"));
                table.insert_new(&object).expect("our table");
            }
            _ => {
                let fresh = term!({:count, 0});
                let add = [CounterOp::add(1)];
                let key = Term::atom("count");
                self.counter
                    .update_counter_or(&key, &add, &fresh)
                    .expect("a counter");
                // Relaxed: a sum, read when all threads have been joined.
                self.counted.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Bags would grow without end.
    fn keep_small(&self, table: &Table, key: &Term) {
        let bag = matches!(table.table_type(), TableType::Bag | TableType::DuplicateBag);
        if bag && table.lookup(key).expect("our table").len() >= MOST_IN_BAG {
            table.delete_key(key).expect("our table");
        }
    }

    /// Changes a pair in one step.
    pub(crate) fn write_pair(&self, random: &mut SmallRng) {
        let table = &self.pairs[random.random_range(0..self.pairs.len())];
        let mut list = pair_of(random.random_range(0..PAIRS), random.random_range(0..SUM));
        if random.random() {
            list.reverse();
        }
        table.insert_list(&list).expect("our table");
    }

    /// Readers of several keys at one step see a pair before or after a change, never between.
    pub(crate) fn check_pairs(&self, random: &mut SmallRng) {
        let ordered = random.random_range(0..self.pairs.len());
        let table = &self.pairs[ordered];
        let all = Term::parse("[{'$1', [], ['$1']}]").expect("a term");
        let all = MatchSpec::new(&all).expect("a specification");
        let objects = match random.random_range(0..6) {
            0 => table.tab2list(),
            1 => table.select(&all),
            2 => table.match_object(&Term::parse("{'_', '_'}").expect("a term")),
            3 => table.foldl(Vec::new(), |object, mut objects| {
                objects.push(object);
                objects
            }),
            4 if table.table_type() == TableType::OrderedSet => {
                let options = RangeOptions::new().limit(usize::MAX);
                let options = if random.random() {
                    options.reverse()
                } else {
                    options
                };
                table.range(.., options)
            }
            _ => {
                let n = random.random_range(0..PAIRS);
                let keys = [term!({n, :a}), term!({n, :b})];
                let found = table.lookup_many(&keys).expect("our table").concat();
                assert_eq!(sum(&found), SUM, "{found:?}");
                return;
            }
        };
        let objects = objects.expect("our table");
        assert_eq!(objects.len() as i64, 2 * PAIRS);
        assert_eq!(sum(&objects), SUM * PAIRS, "{objects:?}");
    }

    /// Reads a table of mixed objects from end to end, or empties it now and then.
    pub(crate) fn scan(&self, random: &mut SmallRng) {
        let table = &self.mixed[random.random_range(0..self.mixed.len())];
        match random.random_range(0..20) {
            0 => table.delete_all_objects().expect("our table"),
            1..=10 => {
                let one = table.table_type() != TableType::Bag
                    && table.table_type() != TableType::DuplicateBag;
                let objects = table.tab2list().expect("our table");
                assert!(objects.iter().all(|object| key_of(object).is_some()));
                assert!(!one || objects.len() <= KEYS as usize);
            }
            _ => {
                table.safe_fixtable(true).expect("our table");
                let mut key = table.first().expect("our table");
                while let Some(at) = key {
                    key = table.next(&at).expect("a key of a fixed table");
                }
                table.safe_fixtable(false).expect("our table");
            }
        }
    }

    /// Checks the tables when all threads have ended.
    pub(crate) fn check_at_the_end(&self) {
        let count = self.counter.lookup_element(&Term::atom("count"), 2);
        let counted = self.counted.load(Ordering::Relaxed);
        if counted > 0 {
            assert_eq!(count.expect("a counter").one(), Some(Term::Int(counted)));
        }
        for table in &self.mixed {
            assert_eq!(table.len(), table.tab2list().expect("our table").len());
        }
    }
}

fn pair_of(n: i64, value: i64) -> [Term; 2] {
    let rest = SUM - value;
    [term!({{n, :a}, value}), term!({{n, :b}, rest})]
}

fn sum(objects: &[Term]) -> i64 {
    let value = |object: &Term| match object {
        Term::Tuple(elements) => elements[1].as_int().expect("an integer"),
        _ => panic!("{object} is no object"),
    };
    objects.iter().map(value).sum()
}

fn key_of(object: &Term) -> Option<&Term> {
    match object {
        Term::Tuple(elements) => elements.first(),
        _ => None,
    }
}

/// Returns a key, of several kinds: each number has one kind.
fn key(random: &mut SmallRng) -> Term {
    let n = random.random_range(0..KEYS);
    match n % 3 {
        0 => Term::Int(n),
        1 => Term::binary(format!("key {n}").into_bytes()),
        _ => Term::tuple(vec![Term::atom("key"), Term::Int(n)]),
    }
}

/// Values of several kinds and sizes.
pub(crate) fn value(random: &mut SmallRng) -> Term {
    match random.random_range(0..8) {
        0..=2 => Term::Int(random.random_range(0..1000)),
        3 => Term::Int(random.random()),
        4 => Term::binary(vec![7; random.random_range(0..300)]),
        5 => Term::binary(vec![7; random.random_range(300..6000)]),
        6 => Term::List((0..random.random_range(0..30)).map(Term::Int).collect()),
        _ => Term::tuple(vec![Term::atom("value"), term!(2.5)]),
    }
}

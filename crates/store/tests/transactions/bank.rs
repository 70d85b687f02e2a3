//! What applications keep true by transactions: sums, uniqueness, and that each job is done once.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fyris::{Error, Options, RangeOptions, Store, Table, term};
use fyris_term::Term;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::serial::object;

const TIME: Duration = Duration::from_millis(1200);

fn numbers(object: &Term) -> (i64, i64) {
    match object {
        Term::Tuple(elements) => match elements[..] {
            [Term::Int(a), Term::Int(b)] => (a, b),
            _ => panic!("{object:?}"),
        },
        _ => panic!("{object:?}"),
    }
}

/// One step of a thread: what is wrong, if anything is.
type Work<'w> = Box<dyn Fn(&mut StdRng) -> Result<(), String> + Send + Sync + 'w>;

/// Runs threads until the time is over or one of them finds something wrong, which is returned.
fn run(works: Vec<Work<'_>>) -> Vec<String> {
    let (stop, wrong) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|s| {
        for (seed, work) in works.iter().enumerate() {
            let (stop, wrong) = (&stop, &wrong);
            s.spawn(move || {
                let mut rng = StdRng::seed_from_u64(seed as u64);
                while !stop.load(Ordering::Relaxed) {
                    let step = std::panic::AssertUnwindSafe(|| work(&mut rng));
                    let result = std::panic::catch_unwind(step);
                    if let Err(error) = result.unwrap_or_else(|_| Err("panicked".to_owned())) {
                        wrong.lock().expect("no panic").push(error);
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
        let until = Instant::now() + TIME;
        while Instant::now() < until && !stop.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
    });
    wrong.into_inner().expect("no panic")
}

const ACCOUNTS: i64 = 1000;
/// From here on accounts are moved by inserting lists, by one thread.
const LISTED: i64 = 900;

struct Bank {
    store: Store,
    tables: Vec<Table>,
}

impl Bank {
    fn new() -> Bank {
        let store = Store::new();
        let owner = store.owner();
        let kinds = [
            Options::set(),
            Options::ordered_set(),
            Options::duplicate_bag(),
        ];
        let table = |kind: Options| owner.new_table("accounts", &kind.public()).expect("new");
        let tables: Vec<Table> = kinds.into_iter().map(table).collect();
        for account in 0..ACCOUNTS {
            tables[account as usize % 3]
                .insert(&object(account, 100))
                .expect("room");
        }
        std::mem::forget(owner);
        Bank { store, tables }
    }

    /// Reads an account and puts a sum to it.
    fn add(&self, tables: &[Table], account: i64, sum: i64) -> fyris::Result<()> {
        let table = &tables[account as usize % 3];
        let Some(old) = table.take(&Term::Int(account))?.pop() else {
            return Err(Error::NoSuchKey);
        };
        table.insert(&object(account, numbers(&old).1 + sum))
    }

    fn transfer(&self, rng: &mut StdRng) -> Result<(), String> {
        let (from, to) = (rng.random_range(0..LISTED), rng.random_range(0..LISTED));
        let sum = rng.random_range(1..50);
        let gives_up = rng.random_range(0..8) == 0;
        let moved = self.store.transaction(|tx| {
            let tables: Vec<Table> = self
                .tables
                .iter()
                .map(|t| tx.table(t))
                .collect::<Result<_, _>>()?;
            self.add(&tables, from, -sum)?;
            if gives_up {
                return Err(Error::NoSuchKey);
            }
            self.add(&tables, to, sum)
        });
        match moved {
            Ok(()) => Ok(()),
            Err(Error::NoSuchKey) if gives_up => Ok(()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    fn by_list(&self, rng: &mut StdRng) -> Result<(), String> {
        // Both of one table: 900 and 903 of the first, and so on.
        let step = || -> fyris::Result<()> {
            let (a, b) = (
                LISTED + rng.random_range(0..2),
                LISTED + 3 + rng.random_range(0..2),
            );
            let (a, b) = (a, a + (b - a) / 3 * 3);
            let table = &self.tables[a as usize % 3];
            if a == b || table.table_type().is_bag() {
                return Ok(());
            }
            let now =
                |k: i64| -> fyris::Result<i64> { Ok(numbers(&table.lookup(&Term::Int(k))?[0]).1) };
            let (sum_a, sum_b) = (now(a)?, now(b)?);
            table.insert_list(&[object(a, sum_a - 7), object(b, sum_b + 7)])
        };
        let mut step = step;
        step().map_err(|error| format!("{error:?}"))
    }

    fn check(all: &[Term]) -> Result<(), String> {
        let sum: i64 = all.iter().map(|object| numbers(object).1).sum();
        match (all.len() as i64, sum) {
            (ACCOUNTS, 100_000) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    }

    fn read(&self, _: &mut StdRng) -> Result<(), String> {
        let all = self.store.transaction(|tx| -> fyris::Result<Vec<Term>> {
            let mut all = Vec::new();
            for table in &self.tables {
                all.extend(tx.table(table)?.tab2list()?);
            }
            Ok(all)
        });
        match all {
            Ok(all) => Bank::check(&all).map_err(|found| format!("a transaction: {found}")),
            // It takes in one table after another.
            Err(Error::Conflict { .. }) => Ok(()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    /// Reads all, and writes what is in nobody's way.
    fn read_and_write(&self, rng: &mut StdRng) -> Result<(), String> {
        let transaction = self.store.begin();
        let mut all = Vec::new();
        let tables: Result<Vec<Table>, _> =
            self.tables.iter().map(|t| transaction.table(t)).collect();
        let tables = tables.map_err(|error| format!("{error:?}"))?;
        for table in &tables {
            all.extend(table.tab2list().map_err(|error| format!("{error:?}"))?);
        }
        Bank::check(&all).map_err(|found| format!("one that writes too: {found}"))?;
        let account = rng.random_range(0..LISTED);
        self.add(&tables, account, 0)
            .map_err(|error| format!("{error:?}"))?;
        match transaction.commit() {
            Ok(()) | Err(Error::Conflict { .. }) => Ok(()),
            Err(error) => Err(format!("{error:?}")),
        }
    }

    fn snapshots(&self, _: &mut StdRng) -> Result<(), String> {
        let tables: Vec<&Table> = self.tables.iter().collect();
        let taken = self
            .store
            .snapshots(&tables)
            .map_err(|error| format!("{error:?}"))?;
        let (mut all, mut len) = (Vec::new(), 0);
        for table in &taken {
            len += table.len() as i64;
            all.extend(table.tab2list().map_err(|error| format!("{error:?}"))?);
        }
        if len != ACCOUNTS {
            return Err(format!("a snapshot has {len}"));
        }
        Bank::check(&all).map_err(|found| format!("snapshots: {found}"))
    }
}

#[test]
fn sums_stay_the_same() {
    let bank = Bank::new();
    let wrong = run(vec![
        Box::new(|rng| bank.transfer(rng)),
        Box::new(|rng| bank.transfer(rng)),
        Box::new(|rng| bank.transfer(rng)),
        Box::new(|rng| bank.by_list(rng)),
        Box::new(|rng| bank.read(rng)),
        Box::new(|rng| bank.read_and_write(rng)),
        Box::new(|rng| bank.snapshots(rng)),
    ]);
    assert_eq!(wrong, [] as [&str; 0]);
    bank.store.collect();
    let owner = bank.store.owner();
    for table in &bank.tables {
        let (all, len) = (table.tab2list().expect("live"), table.len());
        assert_eq!(len, all.len());
        // The same objects in a table that had no other ones.
        let fresh = owner
            .new_table("t", &Options::new(table.table_type()))
            .expect("new");
        fresh.insert_list(&all).expect("room");
        let objects = |table: &Table| table.memory_by_kind().objects;
        assert_eq!(objects(table), objects(&fresh), "{:?}", table.table_type());
    }
}

#[test]
fn reservations_do_not_overlap() {
    let store = Store::new();
    let owner = store.owner();
    let rooms = owner
        .new_table("rooms", &Options::ordered_set().public())
        .expect("new");
    let guests = owner
        .new_table("guests", &Options::bag().public())
        .expect("new");
    let names = owner
        .new_table("names", &Options::set().public())
        .expect("new");
    let (number, taken) = (AtomicU64::new(0), AtomicU64::new(0));
    let reserve = |rng: &mut StdRng| -> Result<(), String> {
        let (room, from, days) = (
            rng.random_range(0..3_i64),
            rng.random_range(0..300_i64),
            rng.random_range(1..5_i64),
        );
        let guest = number.fetch_add(1, Ordering::Relaxed) as i64;
        let done = store.transaction(|tx| -> fyris::Result<bool> {
            let (rooms, guests, names) = (tx.table(&rooms)?, tx.table(&guests)?, tx.table(&names)?);
            let range = term!({ (room), (from - 5) })..term!({ (room), (from + days) });
            let near = rooms.range(range, RangeOptions::new())?;
            let overlaps = |object: &Term| match object {
                Term::Tuple(e) => match (&e[0], &e[1]) {
                    (Term::Tuple(key), Term::Int(end)) => {
                        *end > from && key[1].cmp_order(&Term::Int(from + days)).is_lt()
                    }
                    _ => true,
                },
                _ => true,
            };
            // One name for a guest; the names are few.
            if near.iter().any(overlaps) || !names.insert_new(&term!({ (guest % 500) }))? {
                return Ok(false);
            }
            rooms.insert(&term!({ { (room), (from) }, (from + days), (guest) }))?;
            guests.insert(&term!({ (room), (guest), (from) }))?;
            Ok(true)
        });
        match done {
            Ok(true) => drop(taken.fetch_add(1, Ordering::Relaxed)),
            Ok(false) | Err(Error::Conflict { .. }) => {}
            Err(error) => return Err(format!("{error:?}")),
        }
        // Some are given back, so that there is room.
        if rng.random_range(0..3) == 0 {
            let back = store.transaction(|tx| -> fyris::Result<bool> {
                let (rooms, guests, names) =
                    (tx.table(&rooms)?, tx.table(&guests)?, tx.table(&names)?);
                let Some(Term::Tuple(next)) = rooms.seek(&term!({ (room), (from) }))? else {
                    return Ok(false);
                };
                let Some(Term::Tuple(object)) = rooms.take(&next[0])?.pop() else {
                    return Err(Error::NoSuchKey);
                };
                let (Term::Tuple(key), Term::Int(guest)) = (&object[0], &object[2]) else {
                    return Err(Error::NoSuchKey);
                };
                guests.delete_object(&Term::tuple(vec![
                    key[0].clone(),
                    object[2].clone(),
                    key[1].clone(),
                ]))?;
                names.delete_key(&(guest % 500))?;
                Ok(true)
            });
            match back {
                Ok(true) => drop(taken.fetch_sub(1, Ordering::Relaxed)),
                Ok(false) | Err(Error::Conflict { .. }) => {}
                Err(error) => return Err(format!("back: {error:?}")),
            }
        }
        Ok(())
    };
    let wrong = run(vec![
        Box::new(&reserve),
        Box::new(&reserve),
        Box::new(&reserve),
        Box::new(&reserve),
    ]);
    assert_eq!(wrong, [] as [&str; 0]);
    let count = taken.load(Ordering::Relaxed) as usize;
    let mut ends: BTreeMap<i64, i64> = BTreeMap::new();
    for object in rooms.tab2list().expect("live") {
        let Term::Tuple(object) = object else {
            panic!()
        };
        let (Term::Tuple(key), Term::Int(end)) = (&object[0], &object[1]) else {
            panic!()
        };
        let (Term::Int(room), Term::Int(from)) = (&key[0], &key[1]) else {
            panic!()
        };
        let last = ends.insert(*room, *end).unwrap_or(i64::MIN);
        assert!(last <= *from, "{object:?} overlaps");
    }
    assert_eq!([rooms.len(), guests.len(), names.len()], [count; 3]);
    assert_eq!(
        [&rooms, &guests, &names].map(|t| t.tab2list().expect("live").len()),
        [count; 3]
    );
}

#[test]
fn each_job_is_claimed_once() {
    let store = Store::new();
    let owner = store.owner();
    let jobs = owner
        .new_table("jobs", &Options::ordered_set().public())
        .expect("new");
    let claimed = owner
        .new_table("claimed", &Options::duplicate_bag().public())
        .expect("new");
    let (next, count) = (AtomicU64::new(0), AtomicU64::new(0));
    let produce = |rng: &mut StdRng| -> Result<(), String> {
        if jobs.len() > 300 {
            std::thread::yield_now();
            return Ok(());
        }
        let at = next.fetch_add(3, Ordering::Relaxed) as i64;
        let list: Vec<Term> = (0..3).map(|n| object(at + n, 0)).collect();
        let done = match rng.random_range(0..3) {
            0 => jobs.insert_list(&list),
            1 => list.iter().try_for_each(|job| jobs.insert(job)),
            _ => store.transaction(|tx| {
                let jobs = tx.table(&jobs)?;
                list.iter().try_for_each(|job| jobs.insert(job))
            }),
        };
        done.map_err(|error| format!("{error:?}"))
    };
    let claim = |_: &mut StdRng| -> Result<(), String> {
        let done = store.transaction(|tx| -> fyris::Result<bool> {
            let (jobs, claimed) = (tx.table(&jobs)?, tx.table(&claimed)?);
            let Some(Term::Int(job)) = jobs.first()? else {
                return Ok(false);
            };
            jobs.delete_key(&job)?;
            claimed.insert(&object(job, 1))?;
            Ok(true)
        });
        match done {
            Ok(done) => drop(count.fetch_add(u64::from(done), Ordering::Relaxed)),
            Err(Error::Conflict { .. }) => {}
            Err(error) => return Err(format!("{error:?}")),
        }
        Ok(())
    };
    let wrong = run(vec![
        Box::new(&produce),
        Box::new(&claim),
        Box::new(&claim),
        Box::new(&claim),
    ]);
    assert_eq!(wrong, [] as [&str; 0]);
    let (left, done) = (
        jobs.tab2list().expect("live"),
        claimed.tab2list().expect("live"),
    );
    assert_eq!((jobs.len(), claimed.len()), (left.len(), done.len()));
    assert_eq!(done.len() as u64, count.load(Ordering::Relaxed), "claims");
    assert!(!done.is_empty());
    let mut all: Vec<i64> = left
        .iter()
        .chain(&done)
        .map(|object| numbers(object).0)
        .collect();
    all.sort_unstable();
    let made: Vec<i64> = (0..next.load(Ordering::Relaxed) as i64).collect();
    assert_eq!(all, made, "each job once");
}

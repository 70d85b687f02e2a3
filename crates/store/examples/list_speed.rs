//! Measures the cost of list inserts, and their cost to others: `cargo run --release -p fyris --example list_speed
//! [ROUNDS]`.
//!
//! Time of the processor, an object each; then, beside a thread that inserts a list of a million objects, how long a
//! writer of one of its keys takes at most: on the clock; on the clock, of those writes during which the system took
//! the processor from no thread of the two; and of the processor. On a busy machine only the last two tell of the
//! store, and they too have the time in which the system clears a huge page for memory that a write is the first to
//! touch, some milliseconds on a virtual machine: with `MIMALLOC_ALLOW_THP=0` in the environment there are none. With
//! `count NAME` as arguments one reading is made some times and nothing is printed: for counting instructions
//! (`valgrind --tool=callgrind --toggle-collect='list_speed::counted'`).

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use fyris::{MatchSpec, Options, RangeOptions, Store, Table};
use fyris_term::Term;
use rustix::time::{ClockId, clock_gettime};

const OBJECTS: i64 = 100_000;

fn object(key: i64, value: i64) -> Term {
    Term::tuple(vec![Term::Int(key), Term::Int(value)])
}

fn list(keys: impl Iterator<Item = i64>, value: i64) -> Vec<Term> {
    keys.map(|key| object(key, value)).collect()
}

/// Nanoseconds of the fastest round, for each of `per`.
fn fastest(rounds: usize, per: usize, mut run: impl FnMut(usize)) -> f64 {
    let time = |round| {
        let start = clock_gettime(ClockId::ThreadCPUTime);
        run(round);
        let time = clock_gettime(ClockId::ThreadCPUTime) - start;
        (time.tv_sec as f64 * 1e9 + time.tv_nsec as f64) / per as f64
    };
    (0..rounds).map(time).fold(f64::INFINITY, f64::min)
}

/// A name and what it stands for.
type Reading = (&'static str, fn(&Table));

/// Returns the readings that a list insert must not tear.
fn readings() -> [Reading; 5] {
    [
        ("tab2list", |table| {
            black_box(table.tab2list().expect("reads"));
        }),
        ("select", |table| {
            let spec = Term::parse("[{{'$1', 7}, [], ['$1']}]").expect("a term");
            let spec = MatchSpec::new(&spec).expect("a specification");
            black_box(table.select(&spec).expect("reads"));
        }),
        ("foldl", |table| {
            black_box(table.foldl(0, |_, n| n + 1).expect("reads"));
        }),
        ("lookup_many", |table| {
            let keys: Vec<Term> = (0..OBJECTS).step_by(10).map(Term::Int).collect();
            for some in keys.chunks(10) {
                black_box(table.lookup_many(some).expect("reads"));
            }
        }),
        ("range", |table| {
            for key in (0..OBJECTS).step_by(100) {
                let some = Term::Int(key)..Term::Int(key + 10);
                let _ = black_box(table.range(some, RangeOptions::new()));
            }
        }),
    ]
}

#[inline(never)]
fn counted(read: fn(&Table), table: &Table) {
    for _ in 0..5 {
        read(table);
    }
}

/// The longest of some writes, in three measures.
#[derive(Default)]
struct Longest {
    writes: usize,
    clock: Duration,
    /// The number of writes that were not interrupted, and the longest of them.
    whole: (usize, Duration),
    processor: Duration,
}

impl std::fmt::Display for Longest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (whole, longest) = self.whole;
        let Longest { writes, clock, .. } = self;
        let processor = self.processor;
        write!(
            f,
            "{clock:?} of {writes}, {longest:?} of {whole} uninterrupted, {processor:?} of the processor"
        )
    }
}

/// Returns the number of times that the system has taken the processor from a thread of this process (a call of
/// `sched_yield` counts as well).
fn interruptions() -> i64 {
    // SAFETY: the call writes the whole of it.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage.ru_nivcsw
    }
}

/// Measures a writer of one key beside lists of a million keys.
fn held_up(table: &Table, lists: i64) -> Longest {
    const KEYS: i64 = 1_000_000;
    let done = AtomicBool::new(false);
    thread::scope(|s| {
        s.spawn(|| {
            for n in 0..lists {
                table.insert_list(&list(0..KEYS, n)).expect("inserts");
            }
            done.store(true, Ordering::Relaxed);
        });
        let mut longest = Longest::default();
        while !done.load(Ordering::Relaxed) {
            let key = (longest.writes as i64 * 7919) % KEYS;
            let (before, start) = (interruptions(), Instant::now());
            let processor = fastest(1, 1, |_| {
                table.insert(&object(key, 0)).expect("inserts");
            });
            let clock = start.elapsed();
            longest.writes += 1;
            longest.clock = longest.clock.max(clock);
            longest.processor = longest
                .processor
                .max(Duration::from_nanos(processor as u64));
            if interruptions() == before {
                longest.whole = (longest.whole.0 + 1, longest.whole.1.max(clock));
            }
            thread::sleep(Duration::from_micros(50));
        }
        longest
    })
}

fn main() -> fyris::Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let owner = Store::new().owner();
    let tables = [Options::set(), Options::ordered_set(), Options::bag()];
    for options in tables {
        let table = owner.new_table("t", &options.public())?;
        let kind = table.table_type().as_str();
        (0..OBJECTS).try_for_each(|key| table.insert(&object(key, key % 1000)))?;
        if let [_, name] = &args[..] {
            let read = readings().into_iter().find(|(known, _)| known == name);
            let (_, read) = read.expect("one of the readings");
            counted(read, &table);
            continue;
        }
        let rounds = args.first().and_then(|n| n.parse().ok()).unwrap_or(9);
        for (name, read) in readings() {
            let ns = fastest(rounds, OBJECTS as usize, |_| read(&table));
            println!("{kind:12} {name:28} {ns:8.1} ns");
        }
        for length in [2, 10, 1000] {
            let lists = 10_000 / length;
            let lists: Vec<_> = (0..lists)
                .map(|n| list((0..length).map(|k| (n * length + k) * 7 % OBJECTS), n))
                .collect();
            let ns = fastest(rounds, 10_000, |_| {
                for list in &lists {
                    table.insert_list(list).expect("inserts");
                }
            });
            println!("{kind:12} lists of {length:<19} {ns:8.1} ns");
        }
        let longest = held_up(&table, 3);
        println!("{kind:12} longest write beside a list of a million: {longest}");
    }
    Ok(())
}

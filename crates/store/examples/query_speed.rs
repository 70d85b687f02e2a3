//! Measures the cost of queries, by object visited: `cargo run --release -p fyris --example query_speed [OBJECTS]`.
//!
//! Time of the processor, so that a busy machine shows less; on the clock where several threads run.

use std::time::Instant;

use fyris::{MatchSpec, Options, Owner, RangeOptions, Store, Table, TableType, match_spec_run};
use fyris_term::Term;
use rustix::time::{ClockId, clock_gettime};

const RUNS: usize = 5;

fn spec(text: &str) -> MatchSpec {
    let term = Term::parse(text).expect("a term");
    MatchSpec::new(&term).expect("a specification")
}

/// Nanoseconds of the median run, for each of `per`.
fn median(per: usize, mut run: impl FnMut()) -> f64 {
    middle(|| {
        let start = clock_gettime(ClockId::ThreadCPUTime);
        run();
        let time = clock_gettime(ClockId::ThreadCPUTime) - start;
        (time.tv_sec as f64 * 1e9 + time.tv_nsec as f64) / per as f64
    })
}

/// Returns the same by the clock on the wall.
fn median_wall(per: usize, mut run: impl FnMut()) -> f64 {
    middle(|| {
        let start = Instant::now();
        run();
        start.elapsed().as_nanos() as f64 / per as f64
    })
}

fn middle(mut run: impl FnMut() -> f64) -> f64 {
    let mut times: Vec<f64> = (0..RUNS).map(|_| run()).collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

fn show(table: &Table, what: &str, ns: f64) {
    let kind = table.table_type().as_str();
    println!("{kind:12} {what:44} {ns:8.1} ns");
}

fn filled(owner: &Owner, kind: TableType, count: i64, object: impl Fn(i64) -> Term) -> Table {
    let table = owner.new_table("t", &Options::new(kind)).expect("a table");
    for n in 0..count {
        // Not in the order of keys (a prime, so that each comes once).
        let n = n * 1_000_003 % count;
        table.insert(&object(n)).expect("fits");
    }
    table
}

fn scans(table: &Table) {
    let size = table.len();
    for (what, text) in [
        (
            "select_count, guard on $2, half true",
            "[{{'$1','$2'},[{'>','$2',500000}],[true]}]",
        ),
        (
            "select_count, guard on $2, none",
            "[{{'$1','$2'},[{'>','$2',2000000}],[true]}]",
        ),
        (
            "select_count, guard on the key, full scan",
            "[{{'$1','$2'},[{'==',{'rem','$1',10},3}],[true]}]",
        ),
    ] {
        let spec = spec(text);
        show(table, what, median(size, || _ = table.select_count(&spec)));
        let [one, two] = [1, 2].map(|threads| {
            median_wall(size, || {
                let mut query = table.query(&spec).counting().threads(threads);
                query.run().expect("runs");
            })
        });
        show(table, "   on the clock", one);
        show(table, "   on the clock, 2 threads", two);
    }
    for (what, text) in [
        (
            "select '$_', guard, a thousandth",
            "[{{'$1','$2'},[{'<','$2',1000}],['$_']}]",
        ),
        (
            "select '$1', guard, half",
            "[{{'$1','$2'},[{'>','$2',500000}],['$1']}]",
        ),
        (
            "select {{'$2','$1'}}, guard, half",
            "[{{'$1','$2'},[{'>','$2',500000}],[{{'$2','$1'}}]}]",
        ),
        ("select '$_', all", "[{'_',[],['$_']}]"),
    ] {
        let spec = spec(text);
        show(table, what, median(size, || _ = table.select(&spec)));
    }
    let all = median(size, || {
        _ = table.reduce(1, || 0, |n, _| n + 1, |a, b| a + b)
    });
    show(table, "reduce, 1 thread, counting", all);
    let all = median(size, || _ = table.tab2list());
    show(table, "tab2list", all);
}

fn points(table: &Table) {
    let calls = 10_000;
    let at = |i: usize| (i * 97 % table.len()) as i64;
    let lookup = median(calls, || {
        (0..calls).for_each(|i| _ = table.lookup(&Term::Int(at(i))));
    });
    show(table, "lookup", lookup);
    let compile = median(calls, || {
        (0..calls).for_each(|_| _ = spec("[{{5,'$1'},[{'>','$1',1},{is_integer,'$1'}],['$_']}]"));
    });
    show(table, "parsing the text and compiling", compile);
    let specs: Vec<_> = (0..calls)
        .map(|i| spec(&format!("[{{{{{},'_'}},[],['$_']}}]", at(i))))
        .collect();
    let select = median(calls, || specs.iter().for_each(|s| _ = table.select(s)));
    show(table, "select by a point plan", select);
    let keys: Vec<_> = (0..calls).map(|i| Term::Int(at(i))).collect();
    let many = median(calls, || _ = table.lookup_many(&keys));
    show(table, "lookup_many", many);
}

fn ranges(table: &Table) {
    let calls = 2000;
    let from = |i: usize| (i * 997 % (table.len() - 100)) as i64;
    let bare = median(calls, || {
        for i in 0..calls {
            let (lo, hi) = (Term::Int(from(i)), Term::Int(from(i) + 100));
            let mut cursor = table
                .range_cursor(lo..hi, RangeOptions::new())
                .expect("in order");
            let pin = fyris::pin();
            let mut objects = Vec::new();
            cursor
                .next_batch(table, 100, &pin, &mut objects)
                .expect("reads");
            assert_eq!(objects.len(), 100);
        }
    });
    show(table, "range of 100, borrowed objects", bare);
    let terms = median(calls, || {
        for i in 0..calls {
            let (lo, hi) = (Term::Int(from(i)), Term::Int(from(i) + 100));
            _ = table.range(lo..hi, RangeOptions::new());
        }
    });
    show(table, "range of 100, terms", terms);
    let specs: Vec<_> = (0..calls)
        .map(|i| {
            let (lo, hi) = (from(i), from(i) + 100);
            spec(&format!(
                "[{{{{'$1','_'}},[{{'>=','$1',{lo}}},{{'<','$1',{hi}}}],['$_']}}]"
            ))
        })
        .collect();
    let select = median(calls, || {
        specs
            .iter()
            .for_each(|s| assert_eq!(table.select(s).map(|r| r.len()), Ok(100)));
    });
    show(table, "select by a range plan of 100", select);
}

fn main() {
    let count = std::env::args()
        .nth(1)
        .map_or(1_000_000, |n| n.parse().expect("a number"));
    let owner = Store::new().owner();
    for kind in [TableType::OrderedSet, TableType::Set] {
        let pair = |n| Term::tuple(vec![Term::Int(n), Term::Int(n * 7 % count)]);
        let table = filled(&owner, kind, count, pair);
        scans(&table);
        points(&table);
        if kind == TableType::OrderedSet {
            ranges(&table);
        }
        table.delete().expect("ours");
    }
    let list: Vec<_> = (0..count)
        .map(|n| Term::tuple(vec![Term::Int(n), Term::Int(n)]))
        .collect();
    let half = spec("[{{'$1','$2'},[{'>','$2',500000}],['$1']}]");
    let run = median(list.len(), || _ = match_spec_run(&list, &half));
    println!(
        "{:12} {:44} {run:8.1} ns",
        "list", "match_spec_run, guard, half"
    );
}

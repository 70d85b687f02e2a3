//! Fyris in the cases of the suite `query`.

use std::hint::black_box;
use std::time::Instant;

use fyris::{MatchSpec, Options, Owner, RangeOptions, Store, Table, TableType, match_spec_run};
use fyris_term::Term;

use super::case::QueryCase;
use super::kind::ObjectKind;
use crate::clock::cpu_now;
use crate::error::BenchError;

/// Calls of the cases that are about one call.
const CALLS: usize = 10_000;

/// Entries of a range.
const RANGE: usize = 100;

/// The time of one pass, and its result.
pub(super) struct QueryPass {
    /// Nanoseconds by the clock.
    pub(super) wall: f64,
    /// Nanoseconds of this thread's processor time.
    pub(super) cpu: f64,
    /// By what the time is divided.
    pub(super) units: usize,
    /// Results, or calls that had to be.
    pub(super) answer: usize,
}

/// A full table.
pub(super) struct FullTable {
    /// The table lives as long as its owner.
    _owner: Owner,
    table: Table,
    kind: ObjectKind,
    n: usize,
}

impl FullTable {
    /// Returns a table of `n` objects.
    pub(super) fn new(
        table_type: TableType,
        kind: ObjectKind,
        n: usize,
    ) -> Result<FullTable, BenchError> {
        let owner = Store::new().owner();
        let table = owner
            .new_table("t", &Options::new(table_type))
            .map_err(broken)?;
        for i in 0..n {
            // Scattered over the keys: by steps of a large prime, so that each comes once.
            let object = kind.object(i * 7_368_787 % n, n);
            table.insert(&object).map_err(broken)?;
        }
        Ok(FullTable {
            _owner: owner,
            table,
            kind,
            n,
        })
    }

    /// Does a case.
    pub(super) fn run(&self, case: QueryCase, threads: usize) -> Result<QueryPass, BenchError> {
        match case {
            QueryCase::SelectGuard => self.select("'$1'"),
            QueryCase::SelectTupleBody => self.select("{{'$2','$1'}}"),
            QueryCase::SelectCountGuard => self.count(threads),
            QueryCase::Match => self.matching(),
            QueryCase::MatchSpecRun => self.run_over_list(),
            QueryCase::Compile => self.compile(),
            QueryCase::Lookup => self.lookup(),
            QueryCase::Point => self.point(),
            QueryCase::Range100 => self.range(),
            QueryCase::SelectRange100 => self.select_range(),
        }
    }

    fn select(&self, body: &str) -> Result<QueryPass, BenchError> {
        let spec = self.half(body)?;
        timed(self.n, || self.table.select(&spec), Vec::len)
    }

    fn count(&self, threads: usize) -> Result<QueryPass, BenchError> {
        let spec = self.half("true")?;
        let count = || {
            let mut query = self.table.query(&spec).counting().threads(threads);
            query.run().map(|()| query.count())
        };
        timed(self.n, count, |count| *count)
    }

    fn matching(&self) -> Result<QueryPass, BenchError> {
        let pattern = term(&self.kind.head("'$1'", "5"));
        timed(self.n, || self.table.match_pattern(&pattern), Vec::len)
    }

    fn run_over_list(&self) -> Result<QueryPass, BenchError> {
        let spec = self.half("'$1'")?;
        let list = self.table.tab2list().map_err(broken)?;
        timed(self.n, || Ok(match_spec_run(&list, &spec)), Vec::len)
    }

    fn compile(&self) -> Result<QueryPass, BenchError> {
        let head = self.kind.head("'$1'", "'$2'");
        let source = term(&format!(
            "[{{{head},[{{'>','$2',5}},{{is_integer,'$2'}}],['$_']}}]"
        ));
        let compile = |_| Ok(usize::from(MatchSpec::new(black_box(&source)).is_ok()));
        calls(CALLS, CALLS, compile)
    }

    fn lookup(&self) -> Result<QueryPass, BenchError> {
        let keys: Vec<Term> = (1..=CALLS)
            .map(|i| self.kind.key(i * 97 % self.n))
            .collect();
        calls(CALLS, CALLS, |i| Ok(self.table.lookup(&keys[i])?.len()))
    }

    fn point(&self) -> Result<QueryPass, BenchError> {
        let source = |i: usize| {
            let head = self
                .kind
                .head(&self.kind.key(i * 97 % self.n).to_string(), "'$2'");
            term(&format!("[{{{head},[{{'>=','$2',0}}],['$_']}}]"))
        };
        let sources: Vec<Term> = (1..=CALLS).map(source).collect();
        calls(CALLS, CALLS, |i| {
            let spec = MatchSpec::new(&sources[i]).map_err(fyris::Error::BadMatchSpec)?;
            Ok(self.table.select(&spec)?.len())
        })
    }

    fn range(&self) -> Result<QueryPass, BenchError> {
        let from = |i: usize| (i * 997 % (self.n - RANGE)) as i64;
        let count = CALLS / 10;
        calls(count, count * RANGE, |i| {
            let range = Term::Int(from(i))..Term::Int(from(i) + RANGE as i64);
            Ok(self.table.range(range, RangeOptions::new())?.len())
        })
    }

    fn select_range(&self) -> Result<QueryPass, BenchError> {
        let count = CALLS / 10;
        let spec = |i: usize| {
            let (lo, hi) = (
                i * 997 % (self.n - RANGE),
                i * 997 % (self.n - RANGE) + RANGE,
            );
            let guards = format!("{{'>=','$1',{lo}}},{{'<','$1',{hi}}}");
            compiled(&format!("[{{{{'$1','_'}},[{guards}],['$_']}}]"))
        };
        let specs: Vec<MatchSpec> = (0..count).map(spec).collect::<Result<_, _>>()?;
        calls(count, count * RANGE, |i| {
            Ok(self.table.select(&specs[i])?.len())
        })
    }

    /// Returns the specification that lets half of the objects through.
    fn half(&self, body: &str) -> Result<MatchSpec, BenchError> {
        let (head, half) = (self.kind.head("'$1'", "'$2'"), self.n / 2);
        compiled(&format!("[{{{head},[{{'<','$2',{half}}}],[{body}]}}]"))
    }
}

/// Times one call; dropping what it returns is not counted.
fn timed<R>(
    units: usize,
    work: impl FnOnce() -> fyris::Result<R>,
    answer: impl FnOnce(&R) -> usize,
) -> Result<QueryPass, BenchError> {
    let (cpu, start) = (cpu_now(), Instant::now());
    let result = work().map_err(broken)?;
    let (wall, cpu) = (start.elapsed().as_secs_f64() * 1e9, cpu_now() - cpu);
    Ok(QueryPass {
        wall,
        cpu,
        units,
        answer: answer(&result),
    })
}

/// Times many calls, each of which says how much it found.
fn calls(
    count: usize,
    units: usize,
    mut call: impl FnMut(usize) -> fyris::Result<usize>,
) -> Result<QueryPass, BenchError> {
    let all = || (0..count).try_fold(0, |sum, i| Ok(sum + call(i)?));
    timed(units, all, |sum| *sum)
}

fn term(text: &str) -> Term {
    Term::parse(text).expect("a term of our own")
}

fn compiled(text: &str) -> Result<MatchSpec, BenchError> {
    MatchSpec::new(&term(text)).map_err(broken)
}

fn broken(error: impl std::fmt::Display) -> BenchError {
    BenchError::WrongAnswer(format!("fyris: {error}"))
}

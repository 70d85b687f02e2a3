//! Measures the engine without a table: nanoseconds an object, for typical specifications.
//!
//! `cargo run --release -p fyris-query --example speed [PART OF A LINE]`

use std::hint::black_box;
use std::time::Instant;

use fyris_query::{Machine, MatchSpec, ObjectView};
use fyris_term::key::KeyBuf;
use fyris_term::{Blob, Term, term, value};

/// Few enough to stay in the cache, so that the engine is measured and not the memory.
const OBJECTS: usize = 1_000;
const RUNS: usize = 500;

/// Objects of one shape, as a table stores them.
struct Objects {
    terms: Vec<Term>,
    keys: Vec<KeyBuf>,
    values: Vec<Vec<u8>>,
}

impl Objects {
    fn new(object: impl Fn(i64) -> Term) -> Objects {
        let terms: Vec<Term> = (0..OBJECTS as i64).map(object).collect();
        let elements = |term: &Term| term.as_tuple().map(<[Term]>::to_vec).unwrap_or_default();
        let values = terms.iter().map(|term| {
            let mut bytes = Vec::new();
            for element in &elements(term)[1..] {
                value::encode(element, &mut bytes, &mut Vec::new());
            }
            bytes
        });
        Objects {
            keys: terms
                .iter()
                .map(|term| KeyBuf::encode(&elements(term)[0]))
                .collect(),
            values: values.collect(),
            terms,
        }
    }

    fn views(&self) -> impl Iterator<Item = ObjectView<'_>> {
        const NONE: &[Blob] = &[];
        let arity = self.terms[0].as_tuple().map_or(0, <[Term]>::len);
        self.keys
            .iter()
            .zip(&self.values)
            .map(move |(key, values)| ObjectView {
                arity,
                keypos: 1,
                key_order: key.order(),
                key_tail: key.trailer(),
                values,
                blobs: NONE,
            })
    }
}

/// Prints the least and the median cost of one of `n` steps; dropping results is not counted.
fn measure(what: &str, n: usize, mut run: impl FnMut(&mut Vec<Term>) -> usize) {
    if std::env::args()
        .nth(1)
        .is_some_and(|part| !what.contains(&part))
    {
        return;
    }
    let mut results = Vec::with_capacity(OBJECTS);
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            results.clear();
            let start = Instant::now();
            black_box(run(&mut results));
            start.elapsed().as_nanos() as f64 / n as f64
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{:8.1} {:8.1} ns  {what}", times[0], times[RUNS / 2]);
}

fn spec(text: &str) -> MatchSpec {
    MatchSpec::new(&Term::parse(text).expect("a term")).expect("a specification")
}

fn main() {
    let machine = Machine::default();
    let pairs = Objects::new(|n| term!({n * 7919 % 1_000_003, n % 1000}));
    let triples = Objects::new(|n| {
        let name = format!("user-{n:012}");
        term!({name.as_str(), n % 1000, Term::atom(["ok", "no"][n as usize % 2])})
    });
    let nested = Objects::new(|n| term!({{n % 100, n}, n}));
    let specs = [
        (&nested, "[{{{7,'$1'},'_'},[],[true]}]"),
        (&pairs, "[{{'$1','$2'},[{'>','$2',10}],[true]}]"),
        (&pairs, "[{{'$1','$2'},[{'>','$1',500000}],[true]}]"),
        (
            &pairs,
            "[{{'_','$2'},[{'>','$2',10},{'<','$2',500}],[true]}]",
        ),
        (&pairs, "[{{'_',7},[],[true]}]"),
        (&triples, "[{{'_','_','$3'},[{'=:=','$3',ok}],[true]}]"),
        (
            &triples,
            "[{{'$1','$2','$3'},[{is_atom,'$3'},{'>','$2',500}],[true]}]",
        ),
        (
            &triples,
            "[{{'$1','_','_'},[{'>','$1',<<\"user-000000050000\">>}],[true]}]",
        ),
    ];
    measure("looking at the objects", OBJECTS, |_| {
        pairs.views().map(|view| black_box(&view).arity).sum()
    });
    for (objects, text) in specs {
        let spec = spec(text);
        measure(&format!("count  {text}"), OBJECTS, |_| {
            objects
                .views()
                .filter(|view| spec.matches_true(view, &machine))
                .count()
        });
    }
    let bodies = [
        (&pairs, "[{{'$1','$2'},[{'>','$2',10}],[{{'$2','$1'}}]}]"),
        (&pairs, "[{{'$1','$2'},[{'>','$2',10}],['$1']}]"),
        (&pairs, "[{{'$1','$2'},[{'>','$2',10}],['$_']}]"),
        (&pairs, "[{{'$1','$2'},[],['$$']}]"),
        (
            &triples,
            "[{{'$1','$2','$3'},[{'>','$2',10}],[{{'$1','$3'}}]}]",
        ),
    ];
    for (objects, text) in bodies {
        let spec = spec(text);
        measure(&format!("select {text}"), OBJECTS, |results| {
            for view in objects.views() {
                spec.run_into(&view, &machine, results);
            }
            results.len()
        });
        measure(&format!("terms  {text}"), OBJECTS, |results| {
            for term in &objects.terms {
                spec.run_term_into(term, &machine, results);
            }
            results.len()
        });
    }
    let text = "[{{'$1','$2','_'},[{'>','$2',10},{is_atom,'$1'}],[{{'$1','$2'}}]}]";
    let source = Term::parse(text).expect("a term");
    measure(&format!("compile {text}"), 100, |_| {
        (0..100)
            .filter(|_| MatchSpec::new(black_box(&source)).is_ok())
            .count()
    });
    let compiled = spec(text);
    measure("plan of it", 100, |_| {
        (0..100)
            .filter(|_| {
                compiled
                    .plan(1, fyris_query::TableOrder::Ordered)
                    .ranges()
                    .is_empty()
            })
            .count()
    });
}

//! The study of Judy arrays as tables of ETS (2003).

use super::lines::{Findings, Paper, Part, Shown};
use super::say::{self, Claims, Verdict, above, at_end, below, joined};
use crate::args::Suite;
use crate::figure::{Bar, Figure, Shape, Value};
use crate::report::Line;

/// The study's Judy tables.
const JUDY: [&str; 3] = ["judysl", "judyesl", "judyeh"];

/// Keys from which on a table does not fit the second-level cache of the study's machine.
const LARGE: usize = 70_000;

const STEPS: &[&str] = &["judy-small", "judy-large"];

pub(super) fn paper(m: &Findings) -> Paper {
    let figures = m.drawings(Suite::Judy, "Error bars: quartiles.");
    let figures_of = |file: &str| -> Vec<Figure> {
        figures
            .iter()
            .filter(|figure| figure.file.starts_with(file))
            .cloned()
            .collect()
    };
    let mut parts = vec![Part::Absent {
        what: "Figures 1 to 5, Table 1",
        why: "They show data structures, and how long keys are as bytes: no measurements.",
    }];
    parts.extend(programs(m).map(|(file, mut shown)| {
        shown.figures = figures_of(file);
        let ends: Vec<String> = shown.figures.iter().map(ends).collect();
        shown.see = joined(&[joined(&ends), shown.see]);
        Part::Shown(shown)
    }));
    parts.push(Part::Shown(memory(m)));
    Paper {
        title: "A study of Erlang ETS table implementations and performance (2003)",
        source: "Fritchie. Its machine: a Xeon of 2 GHz with 512 KB of second-level cache, one thread. The figures \
                 show times relative to the `set` of ETS, over tables of `{K, 1}` with 700 to 54 million keys.",
        parts,
    }
}

fn ends(figure: &Figure) -> String {
    let unit = if figure.y.contains('%') {
        "keys, in per cent"
    } else {
        "keys, in microseconds per thousand keys"
    };
    at_end(figure, unit)
}

/// One table's time over that of another: how a claim looks at a program's lines.
struct ProgramTimes<'a> {
    lines: Vec<&'a Line>,
}

impl<'a> ProgramTimes<'a> {
    fn of(m: &Findings<'a>, case: &str) -> Self {
        let is = |line: &&Line| line.suite == Suite::Judy.name() && line.case == case;
        Self {
            lines: m.lines.iter().filter(is).collect(),
        }
    }

    fn is(line: &Line, table: &str) -> bool {
        match table {
            "set" | "ordered_set" => line.subject == "ets" && line.object == Some(table),
            index => line.index == Some(index),
        }
    }

    /// Returns the time of a table with `n` keys over that of the `set` of ETS.
    fn share(&self, table: &str, n: usize) -> Option<Value> {
        let of = |table| {
            let line = self
                .lines
                .iter()
                .find(|line| line.n == n && Self::is(line, table));
            line.map(|line| Value::of(line, |ns| ns))
        };
        Some(of(table)?.over(of("set")?))
    }

    /// Returns whether the tables' shares are all so, with every number of keys from `from` on.
    fn all(&self, tables: &[&str], from: usize, so: impl Fn(Value) -> Verdict) -> Option<Verdict> {
        let mut sizes: Vec<usize> = self
            .lines
            .iter()
            .map(|line| line.n)
            .filter(|n| *n >= from)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        let shares = sizes
            .into_iter()
            .flat_map(|n| tables.iter().filter_map(move |table| self.share(table, n)));
        say::all(shares.map(so))
    }

    fn largest(&self) -> usize {
        self.lines.iter().map(|line| line.n).max().unwrap_or(0)
    }

    /// Returns a table's share with the most keys.
    fn last(&self, table: &str) -> Option<Value> {
        self.share(table, self.largest())
    }
}

/// Figures 6 to 12: how the names of their drawings begin, and what is said of them.
fn programs(m: &Findings) -> impl Iterator<Item = (&'static str, Shown)> {
    let shown = |what, file, found, claims: Claims, why: &str| {
        let shown = Shown {
            what,
            figures: Vec::new(),
            steps: STEPS,
            found,
            see: claims.text(),
            why: why.to_owned(),
        };
        (file, shown)
    };
    let called = "Fyris is called from Rust here, `ets` from Erlang, through its emulator: tables that take some ten \
                  nanoseconds would be closer to each other if both were called alike.";
    let cache = "The study's caches hold 512 KB. Those of a machine of today hold tables of all but the largest sizes, \
                 at least in part.";
    let times = |case| ProgramTimes::of(m, case);
    let mut out = Vec::new();

    let insert = times("insert_sequential");
    let mut claims = Claims::default();
    claims.add(
        insert.all(&JUDY, LARGE, |share| below(share, 1.0)),
        "from 70,000 keys on every Judy table is filled faster than a `set` of ETS",
    );
    claims.add(
        insert.all(&["ordered_set", "avl", "btree"], LARGE, |share| {
            below(share, 1.0)
        }),
        "`ordered_set` of ETS, `avl` and `btree` are, too",
    );
    out.push(shown(
        "Figure 6: insertion in the order of keys",
        "judy-figure-06",
        "In small tables, which the second-level cache holds, `set` is fastest; from 70,000 keys on all ordered and \
         all Judy tables are faster, since neighbours in the order of keys are neighbours in memory (section 7.2).",
        claims,
        &format!("{cache} {called}"),
    ));

    let random = times("insert_random");
    let mut claims = Claims::default();
    claims.add(
        random.all(&JUDY, LARGE, |share| below(share, 1.0)),
        "from 70,000 keys on every Judy table is filled faster than a `set` of ETS",
    );
    claims.add(
        random.last("ordered_set").map(|share| above(share, 1.0)),
        "`ordered_set` is filled slower than `set` in the end",
    );
    out.push(shown(
        "Figure 7: insertion in random order",
        "judy-figure-07",
        "Without the order, Judy tables lose some of their advantage, and stay faster than `set` from 70,000 keys on \
         (section 7.2).",
        claims,
        called,
    ));

    let growth = |table: &str| {
        let of_table = insert
            .lines
            .iter()
            .filter(|line| ProgramTimes::is(line, table));
        let from = of_table
            .clone()
            .filter(|line| line.n >= 7_000)
            .min_by_key(|line| line.n)?;
        let to = of_table.max_by_key(|line| line.n)?;
        Some(Value::of(to, |ns| ns).over(Value::of(from, |ns| ns)))
    };
    let mut claims = Claims::default();
    let others = ["ordered_set", "avl", "btree", "judysl", "judyesl", "judyeh"];
    let beside = |table: &&str| Some(above(growth("set")?.over(growth(table)?), 1.0));
    claims.add(
        say::all(others.iter().filter_map(beside)),
        "the time of a `set` grows more with size, from 7,000 keys on, than that of any other table of the study",
    );
    out.push(shown(
        "Figure 8: insertion in the order of keys, per thousand keys",
        "judy-figure-08",
        "The time of `set` grows far faster with size than that of all others; its growing by single buckets is 12 % \
         of it (section 7.2).",
        claims,
        cache,
    ));

    let lookup = times("lookup_sequential");
    let mut claims = Claims::default();
    claims.add(
        lookup.all(&JUDY[..2], lookup.largest(), |share| below(share, 0.5)),
        "`judysl` and `judyesl` take less than half the time of a `set` of ETS with the most keys",
    );
    out.push(shown(
        "Figure 9: lookup in the order of keys",
        "judy-figure-09",
        "The best case of `judysl` and `judyesl`: 32.3 % of the time of `set` with 54 million keys, and 31.2 % with 21 \
         million (section 7.3).",
        claims,
        &format!("Both walk a trie whose lines the last lookup has left in the cache. {called}"),
    ));

    let lookup = times("lookup_random");
    let mut claims = Claims::default();
    claims.add(
        lookup.all(&JUDY, lookup.largest(), |share| below(share, 1.0)),
        "with the most keys each Judy table is faster than a `set` of ETS",
    );
    claims.add(
        lookup.last("ordered_set").map(|share| above(share, 1.0)),
        "`ordered_set` is slower than `set`",
    );
    let fastest = lookup.last("judyeh").zip(lookup.last("judysl"));
    claims.add(
        fastest.map(|(eh, sl)| below(eh.over(sl), 1.0)),
        "`judyeh` is faster than `judysl`",
    );
    out.push(shown(
        "Figure 10: lookup in random order",
        "judy-figure-10",
        "Trees suffer most; `judysl` and `judyesl` take 86.8 and 88.3 % of the time of `set` with the most keys, \
         `judyeh` 74.7 % (section 7.3).",
        claims,
        "The study's `judysl` walks the external format of a term; ours walks an encoding of keys that is in their \
         order, and shorter for integers. `judyeh` hashes first, and then walks a trie of hashes.",
    ));

    let traverse = times("traverse");
    let mut claims = Claims::default();
    claims.add(
        traverse.all(&["ordered_set"], 0, |share| below(share, 1.0)),
        "`ordered_set` is traversed faster than `set` in all sizes",
    );
    claims.add(
        traverse.all(&JUDY[..2], 0, |share| above(share, 1.0)),
        "`judysl` and `judyesl` never are",
    );
    let slowest = traverse.last("judyeh").zip(traverse.last("judysl"));
    claims.add(
        slowest.map(|(eh, sl)| above(eh.over(sl), 1.0)),
        "`judyeh` is slower than `judysl`",
    );
    out.push(shown(
        "Figure 11: traversal",
        "judy-figure-11",
        "`ordered_set` is best, 43.5 to 77.8 % of the time of `set`; Judy tables are never faster than `set`, and \
         `judyeh`, at 151 to 258 %, is slowest, which puzzles the author (section 7.4).",
        claims,
        &format!("`next` looks its key up again, and takes the one behind it: in a trie that is a walk from the root. \
                  {called}"),
    ));

    let delete = times("delete");
    let mut claims = Claims::default();
    let beside = |table: &&str| {
        let (delete, traverse) = (delete.last(table)?, traverse.last(table)?);
        Some(below(delete.over(traverse), 1.0))
    };
    claims.add(
        say::all(JUDY.iter().filter_map(beside)),
        "each Judy table does better beside a `set` of ETS in deletion than in traversal, with the most keys",
    );
    out.push(shown(
        "Figure 12: deletion of each key that a traversal finds",
        "judy-figure-12",
        "Although each step is one of a traversal, Judy tables do far better than in it: `judyeh` takes 106 % of the \
         time of `set` with 21 million keys, where traversal takes 155 % (section 7.4).",
        claims,
        "To delete a key that was just found is little work in a trie: its nodes are in the cache, no list is searched \
         and nothing is rebalanced.",
    ));
    out.into_iter()
}

/// Megabytes of 21 million objects in Table 2, by the table that answers for it here.
const TABLE_2: [(&str, f64); 6] = [
    ("set", 980.0),
    ("ordered_set", 1129.0),
    ("btree", 1055.0),
    ("judyeh", 1036.0),
    ("judysl", 1033.0),
    ("judyesl", 1324.0),
];

/// Table 2.
fn memory(m: &Findings) -> Shown {
    let is = |line: &&Line| line.suite == Suite::Judy.name() && line.case == "bytes";
    let lines: Vec<&Line> = m.lines.iter().filter(is).collect();
    let mut sizes: Vec<usize> = lines.iter().map(|line| line.n).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let find = |table: &str, n: usize| {
        lines
            .iter()
            .find(|line| line.n == n && ProgramTimes::is(line, table))
            .copied()
    };
    let mut bars = Vec::new();
    let mut tables: Vec<&str> = TABLE_2.iter().map(|(table, _)| *table).collect();
    tables.extend(["avl", "linear_hash", "hash", "ordered"]);
    for table in tables {
        let label = if table.ends_with("set") {
            format!("ets {table}")
        } else {
            table.to_owned()
        };
        if !sizes.iter().any(|n| find(table, *n).is_some()) {
            continue;
        }
        for &n in &sizes {
            bars.extend(find(table, n).map(|line| Bar {
                row: format!("{} keys", crate::figure::number(n as f64)),
                cluster: label.clone(),
                value: Value::from(line.figure()),
            }));
        }
        let paper = TABLE_2.iter().find(|(of, _)| *of == table);
        bars.extend(paper.map(|(_, megabytes)| Bar {
            row: "the paper, 21M keys".to_owned(),
            cluster: label.clone(),
            value: Value::from(megabytes / 21.0),
        }));
    }
    let most = sizes.last().copied().unwrap_or(0);
    let bytes = |table| find(table, most).map(Line::figure);
    let mut claims = Claims::default();
    let holds = |so| if so { Verdict::Holds } else { Verdict::Fails };
    let judy = bytes("judyeh").zip(bytes("judysl")).zip(bytes("set"));
    claims.add(
        judy.map(|((eh, sl), set)| holds(eh.max(sl) <= 1.1 * set)),
        "`judyeh` and `judysl` need at most a tenth more than a `set` of ETS",
    );
    let extra = bytes("judyesl").zip(bytes("judysl"));
    claims.add(
        extra.map(|(esl, sl)| holds(esl > 1.1 * sl)),
        "`judyesl` needs more than a tenth more than `judysl`",
    );
    let sentence = bytes("judysl").zip(bytes("set")).map(|(sl, set)| {
        format!("With the most keys an object takes {sl:.1} bytes in `judysl`, and {set:.1} in a `set` of ETS.")
    });
    let figure = Figure {
        file: "judy-table-2".to_owned(),
        title: "2003 paper, Table 2: memory of tables of {K, 1}".to_owned(),
        x: "table".to_owned(),
        y: "bytes an object".to_owned(),
        note: "Bytes of live blocks; of ETS, and in the paper, what the table says of itself. Measured once each: they \
               do not vary."
            .to_owned(),
        shape: Shape::Bars(bars.clone()),
    };
    Shown {
        what: "Table 2: memory",
        figures: if bars.is_empty() { Vec::new() } else { vec![figure] },
        steps: &["judy-bytes"],
        found: "With 21 million objects `judyeh` and `judysl` need 6 % more than `set`, `btree` lies between, and \
                `judyesl`, the hungriest, needs 35 % more, for leaves that say how a key ends (section 7.5).",
        see: joined(&[sentence.unwrap_or_default(), claims.text()]),
        why: "The study's words had 32 bits, and now have 64. A record of Fyris holds \
              its object encoded, a few bytes for `{K, 1}`, where ETS has words; the ends of keys are in our tries' \
              leaves without a block of their own."
            .to_owned(),
    }
}

//! The paper on contention adapting trees as `ordered_set` (2014).

use super::drawings::{bars_figure, curves_figure, ends, seen};
use super::ets_2013::{AVL, OPTIONS, SET};
use super::lines::{Findings, Kind, Paper, Part, Shown, million, name};
use super::say::{Claims, above, all, below, joined};
use crate::args::Suite;
use crate::figure::{Curve, Figure, Value, add_point, threads};
use crate::report::Line;

const CA_AVL: Kind = ("ca_avl", "no");
const CA_TREAP: Kind = ("ca_treap", "no");

/// The paper's four kinds of tables, and Fyris's own two.
const TABLES: [Kind; 6] = [
    SET,
    AVL,
    CA_AVL,
    CA_TREAP,
    ("hash", "no"),
    ("ordered", "no"),
];

pub(super) fn paper(m: &Findings) -> Paper {
    let parts = vec![
        Part::Shown(single_operations(m)),
        Part::Shown(mixes(m)),
        Part::Absent {
            what: "Figure 3",
            why: "It shows the structure of a contention adapting tree: no measurement.",
        },
        Part::Shown(adapting(m)),
        Part::Shown(adapting_mixes(m)),
        Part::Shown(ranges(m)),
        Part::Shown(sequential(m)),
    ];
    Paper {
        title: "More scalable ordered set for ETS using adaptation (2014)",
        source: "Sagonas, Winblad. Its machine: four chips with 8 cores of two threads. The figures show operations a \
                 microsecond of one to 64 threads over 2^21 keys, if nothing else is said. Its `set` is `linear_hash \
                 r+w`, its `ordered_set` is `avl r`, its adapting trees are `ca_avl` and `ca_treap`.",
        parts,
    }
}

/// Returns a drawing for each case, with a letter behind the number of the figure.
fn sub_figures(m: &Findings, number: u32, cases: &[(&str, &str)], kinds: &[Kind]) -> Vec<Figure> {
    let draw = |(letter, (case, words)): (char, &(&str, &str))| {
        let title = format!("2014 paper, Figure {number}{letter}: {words}");
        let file = format!("tree-{number:02}{letter}");
        bars_figure(
            m,
            &file,
            title,
            "index and its options",
            m.bars(case, kinds),
        )
    };
    ('a'..).zip(cases).flat_map(draw).collect()
}

const SINGLE: [(&str, &str); 3] = [
    ("insert", "insertion"),
    ("delete", "deletion"),
    ("mix100", "lookup"),
];

/// Figure 1.
fn single_operations(m: &Findings) -> Shown {
    let figures = sub_figures(m, 1, &SINGLE, &OPTIONS);
    let mut claims = Claims::default();
    claims.add(
        m.gain("insert", SET).map(|gain| above(gain, 1.2)),
        "insertion into a set with an array of locks gains from a second thread",
    );
    claims.add(
        m.gain("insert", AVL).map(|gain| below(gain, 1.2)),
        "insertion into an ordered_set under one lock does not",
    );
    claims.add(
        m.gain("mix100", AVL).map(|gain| above(gain, 1.2)),
        "lookups in an ordered_set with `read_concurrency` gain",
    );
    let why = if claims.fail() {
        "With two threads the one lock is often free when it is wanted; more threads, which this machine does not \
         have, would queue for it."
    } else {
        "Who changes a tree under one lock holds it alone, and readers in groups of their own share no line that is \
         written, here as there."
    };
    Shown {
        what: "Figure 1: insertion, deletion and lookup, by options",
        see: seen(&figures, &claims),
        figures,
        steps: &["ets-1", "ets-2"],
        found: "Updates scale only in tables of type `set` with `write_concurrency`: well on one chip, slower on its \
                second threads, and downwards across chips. Lookups scale everywhere on one chip, with \
                `read_concurrency` across chips too (section 2.3).",
        why: why.to_owned(),
    }
}

/// Figure 2.
fn mixes(m: &Findings) -> Shown {
    let cases = [
        ("mix50", "50 % lookups"),
        ("mix80", "80 % lookups"),
        ("mix99", "99 % lookups"),
    ];
    let figures = sub_figures(m, 2, &cases, &OPTIONS);
    let mut claims = Claims::default();
    for (case, words) in cases {
        let beside = |tree| Some(above(m.ratio(case, SET, tree, 2)?, 1.0));
        claims.add(
            all([AVL, ("avl", "no")].into_iter().filter_map(beside)),
            &format!("with {words} a set with an array of locks does more with two threads than any ordered_set"),
        );
    }
    Shown {
        what: "Figure 2: mixes, by options",
        see: seen(&figures, &claims),
        figures,
        steps: &["ets-1", "ets-2"],
        found: "Even few updates ruin the scaling of `ordered_set`; only a `set` with `write_concurrency` does well, \
                and no table gains from a second chip (section 2.3).",
        why: "A search in a tree of a million objects misses the cache more often than one in a hash table, which is a \
              part of the distance already with one thread; what several chips do is not seen here."
            .to_owned(),
    }
}

/// Figure 4.
fn adapting(m: &Findings) -> Shown {
    let figures = sub_figures(m, 4, &SINGLE, &TABLES);
    let mut claims = Claims::default();
    for (case, words) in &SINGLE[..2] {
        let gains = m.gain(case, CA_AVL).zip(m.gain(case, AVL));
        claims.add(
            gains.map(|(ca, avl)| above(ca.over(avl), 1.0)),
            &format!("the adapting tree gains more from a second thread in {words} than the tree under one lock"),
        );
    }
    claims.add(
        m.ratio("mix100", AVL, CA_AVL, 2).map(|ratio| above(ratio, 1.0)),
        "for lookups alone the tree under one lock for many readers does more than the adapting tree",
    );
    Shown {
        what: "Figure 4: contention adapting trees, one operation at a time",
        see: seen(&figures, &claims),
        figures,
        steps: &["ets-1", "ets-2"],
        found: "With insertions and deletions the adapting trees scale like a `set` on one chip, and fall less than it \
                across chips. With lookups alone the tree under a lock for many readers is best, as the adapting ones \
                also have to adapt (section 5.1).",
        why: "An adapting tree begins as one base node, which splits as threads meet in it: two threads meet less \
              often than 64, so there is less to gain and adapting is slower."
            .to_owned(),
    }
}

/// Figure 5.
fn adapting_mixes(m: &Findings) -> Shown {
    let cases = [
        ("mix50", "50 % lookups"),
        ("mix80", "80 % lookups"),
        ("mix90", "90 % lookups"),
        ("mix99", "99 % lookups"),
    ];
    let figures = sub_figures(m, 5, &cases, &TABLES);
    let mut claims = Claims::default();
    for (case, words) in cases {
        claims.add(
            m.ratio(case, CA_AVL, AVL, 2).map(|ratio| above(ratio, 1.0)),
            &format!(
                "with {words} and two threads the adapting tree does more than the one under a lock"
            ),
        );
    }
    let why = if claims.fail() {
        "Two threads are few for one lock, and the adapting tree pays for its base nodes from the first operation on."
    } else {
        "Threads in different base nodes do not meet, here as there."
    };
    Shown {
        what: "Figure 5: contention adapting trees, mixes",
        see: seen(&figures, &claims),
        figures,
        steps: &["ets-1", "ets-2"],
        found: "With any share of updates the adapting trees do better than `ordered_set` under one lock, and on \
                several chips better than `set` with its 64 locks too (section 5.1).",
        why: format!(
            "{why} `ordered`, the default, is a contention adapting tree whose readers take no lock."
        ),
    }
}

/// Returns a curve over the range of keys for each kind of table, with 80 % lookups.
fn over_ranges(m: &Findings, count: usize) -> Vec<Curve> {
    let mut curves = Vec::new();
    for kind in TABLES {
        let is = |line: &&Line| {
            line.suite == Suite::EtsBench.name()
                && (line.case, line.threads) == ("mix80", count)
                && (line.index, line.options) == (Some(kind.0), Some(kind.1))
        };
        let mut lines: Vec<&Line> = m.lines.iter().filter(is).collect();
        lines.sort_by_key(|line| line.n);
        for line in lines {
            add_point(&mut curves, &name(kind), (line.n as f64, million(line)));
        }
    }
    // One size alone is no curve.
    curves.retain(|curve| curve.points.len() > 1);
    curves
}

fn range_figure(m: &Findings, number: u32, count: usize, curves: &[Curve]) -> Vec<Figure> {
    let title = format!(
        "2014 paper, Figure {number}: 80 % lookups by range of keys, {}",
        threads(count)
    );
    curves_figure(
        m,
        &format!("tree-{number:02}"),
        title,
        "range of keys",
        curves,
    )
}

/// Returns the first or the last value of a kind's curve.
fn end(curves: &[Curve], kind: Kind, last: bool) -> Option<Value> {
    let curve = curves.iter().find(|curve| curve.row == name(kind))?;
    let point = if last {
        curve.points.last()
    } else {
        curve.points.first()
    };
    Some(point?.1)
}

/// Figure 6.
fn ranges(m: &Findings) -> Shown {
    let (one, two) = (over_ranges(m, 1), over_ranges(m, 2));
    let figures = range_figure(m, 6, 2, &two);
    let gain = |kind, last| Some(end(&two, kind, last)?.over(end(&one, kind, last)?));
    let mut claims = Claims::default();
    let gains = gain(CA_AVL, true).zip(gain(CA_AVL, false));
    claims.add(
        gains.map(|(large, small)| above(large.over(small), 1.0)),
        "the adapting tree gains more from a second thread with the most keys than with the fewest",
    );
    claims.add(
        gain(CA_AVL, false).map(|gain| above(gain, 0.9)),
        "with the fewest keys a second thread does not slow the adapting tree down",
    );
    let texts = TABLES.into_iter().filter_map(|kind| {
        let (small, large) = (gain(kind, false)?.median, gain(kind, true)?.median);
        Some(format!("{} {small:.2} and {large:.2}", name(kind)))
    });
    let texts = texts.collect::<Vec<_>>().join("; ");
    let sentence = match texts.is_empty() {
        true => texts,
        false => {
            format!(
                "A second thread multiplies throughput, with the fewest and with the most keys, by: {texts}."
            )
        }
    };
    Shown {
        what: "Figure 6: sizes of tables",
        see: joined(&[ends(&figures, "keys, in millions a second"), sentence, claims.text()]),
        figures,
        steps: &["ets-ranges"],
        found: "The adapting trees scale better the larger the range of keys is, as it bounds the number of their \
                locks; already with eight keys they do surprisingly well. `ordered_set` gains a little with size, as \
                its lock weighs less (section 5.2).",
        why: "Few keys lie in few lines, which two threads take from each other with every update whatever the locks \
              are; with many keys the cache misses of the search are what takes time, and they overlap between threads."
            .to_owned(),
    }
}

/// Figure 7.
fn sequential(m: &Findings) -> Shown {
    let one = over_ranges(m, 1);
    let mut figures = range_figure(m, 7, 1, &one);
    figures
        .iter_mut()
        .for_each(|figure| "Error bars: quartiles.".clone_into(&mut figure.note));
    let share = |last| Some(end(&one, CA_AVL, last)?.over(end(&one, AVL, last)?));
    let (small, large) = (share(false), share(true));
    let mut claims = Claims::default();
    claims.add(
        all([small, large].into_iter().flatten().map(|share| above(share, 0.75))),
        "the adapting tree does at least three quarters of what the tree under one lock does, with the fewest and with \
         the most keys",
    );
    let both = small.zip(large);
    claims.add(
        both.map(|(small, large)| above(large.over(small), 1.0)),
        "it does worse beside it with the fewest keys than with the most",
    );
    let sentence = both.map(|(small, large)| {
        format!(
            "The adapting AVL tree does {:.0} % of what the AVL tree under one lock does with the fewest keys, and \
             {:.0} % with the most.",
            small.median * 100.0,
            large.median * 100.0
        )
    });
    Shown {
        what: "Figure 7: one thread",
        see: joined(&[
            ends(&figures, "keys, in millions a second"),
            sentence.unwrap_or_default(),
            claims.text(),
        ]),
        figures,
        steps: &["ets-ranges"],
        found: "With one thread the adapting AVL tree is a little slower than `ordered_set` at all sizes, more so in \
                small tables: one node more on the way, and the statistics of its lock (section 5.3).",
        why: "The paper's adapting tree takes a second lock of its table, which ours does not have; the statistics are \
              the same."
            .to_owned(),
    }
}

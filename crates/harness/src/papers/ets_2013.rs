//! The paper on the scalability of ETS (2013).

use super::drawings::{bars_figure, curves_figure, ends, seen};
use super::lines::{Findings, Kind, Paper, Part, Shown, million, name};
use super::say::{Claims, Verdict, above, all, below, joined};
use crate::args::Suite;
use crate::figure::{Bar, Curve, Value, add_point, threads};
use crate::report::Line;

/// Every index, with the options of the paper's benchmark.
const INDEXES: [Kind; 14] = [
    ("hash", "no"),
    ("ordered", "no"),
    SET,
    ("split_ordered", "no"),
    ("judyeh", "r"),
    ("judysl", "r"),
    ("judyesl", "r"),
    SKIP_LIST,
    ("relaxed_avl", "no"),
    ("ca_avl", "no"),
    ("ca_treap", "no"),
    ("btree", "r"),
    ("treap", "r"),
    AVL,
];

/// The indexes of the paper's `set` and `ordered_set` with each set of options.
pub(super) const OPTIONS: [Kind; 7] = [
    ("linear_hash", "no"),
    ("linear_hash", "r"),
    ("linear_hash", "w"),
    SET,
    ("linear_hash", "auto"),
    ("avl", "no"),
    AVL,
];

/// The paper's `set` and `ordered_set` with both options.
pub(super) const SET: Kind = ("linear_hash", "r+w");
pub(super) const AVL: Kind = ("avl", "r");
const SKIP_LIST: Kind = ("skip_list", "no");

/// The gain from a second thread from which on a table is said to gain.
const GAINS: f64 = 1.2;

/// The share of lookups, the drawing, the title behind the paper's, and what the paper found.
type Row = (&'static str, &'static str, &'static str, &'static str);

pub(super) fn paper(m: &Findings) -> Paper {
    let mut parts = vec![Part::Absent {
        what: "Figures 1 to 3, Table 1",
        why: "They show how ETS is built, and what its options mean: no measurements.",
    }];
    parts.extend(by_index(m).map(Part::Shown));
    parts.extend(by_options(m).map(Part::Shown));
    parts.push(in_beam(m));
    parts.push(Part::Shown(reader_groups(m)));
    parts.push(Part::Absent {
        what: "Figure 19",
        why: "It compares the runtime system with a patched one, without the stack that all users of an AVL tree \
              share. No tree of Fyris has such a stack.",
    });
    parts.push(Part::Shown(bucket_locks(m)));
    parts.push(Part::Shown(skip_list(m)));
    parts.push(library(m));
    Paper {
        title: "On the scalability of the Erlang Term Storage (2013)",
        source: "Klaftenegger, Sagonas, Winblad. Its machine: four chips with 8 cores of two threads. The figures show \
                 the time that 2^24 operations take, of which 90, 99 or 100 % are lookups, over 2^21 keys, by one to \
                 64 threads; here throughput is drawn. The paper's `set` is `linear_hash`, its `ordered_set` is `avl`, \
                 with `r` for `read_concurrency` and `w` for `write_concurrency`.",
        parts,
    }
}

/// Figures 4 to 9: releases there, indexes here.
fn by_index(m: &Findings) -> impl Iterator<Item = Shown> {
    const ROWS: [Row; 3] = [
        (
            "mix90",
            "ets-04-05",
            "Figures 4 and 5: 90 % lookups",
            "The hash table scales from R14B on, when locks of the table of tables let readers in together; the \
             ordered table, under one lock, does not scale in any release, and R16B with 64 reader groups does worse \
             than R14B (section 5.1.1).",
        ),
        (
            "mix99",
            "ets-06-07",
            "Figures 6 and 7: 99 % lookups",
            "Much as with 90 %: the hash table scales; one per cent of updates is enough to keep the ordered table, \
             under its one lock, from doing so (section 5.1.2).",
        ),
        (
            "mix100",
            "ets-08-09",
            "Figures 8 and 9: lookups alone",
            "The hash table scales. The AVL tree does not, although nobody writes: its users share a stack in memory \
             (sections 5.1.3 and 5.3).",
        ),
    ];
    ROWS.into_iter().map(|(case, file, what, found)| {
        let title = format!("2013 paper, {what}, by index instead of release");
        let figures = bars_figure(m, file, title, "index and its options", m.bars(case, &INDEXES));
        let mut claims = Claims::default();
        claims.add(
            m.gain(case, SET).map(|gain| above(gain, GAINS)),
            "the hash table with an array of locks (`linear_hash r+w`) gains from a second thread",
        );
        let avl = m.gain(case, AVL).map(|gain| below(gain, GAINS));
        claims.add(avl, "the AVL tree under one lock (`avl r`) does not");
        let why = match (case, avl) {
            ("mix100", Some(Verdict::Fails)) => {
                "Our AVL tree has no stack that its users share, and its readers count themselves in groups, so \
                 lookups alone scale."
            }
            (_, Some(Verdict::Fails)) => {
                "With two threads a lock that is held for some hundred nanoseconds is mostly free when the other \
                 thread comes; the 64 threads of the paper queue for it."
            }
            _ => "The curves of the paper go on to 64 threads, where the differences are larger.",
        };
        Shown {
            what,
            see: seen(&figures, &claims),
            figures,
            steps: &["ets-1", "ets-2"],
            found,
            why: format!(
                "{why} Tables of Fyris have no releases to compare, so the rows are its indexes. `hash` and `ordered`, \
                 the default ones, take no lock to read."
            ),
        }
    })
}

/// Figures 10 to 12.
fn by_options(m: &Findings) -> impl Iterator<Item = Shown> {
    const ROWS: [Row; 3] = [
        (
            "mix90",
            "ets-10",
            "Figure 10: options of tables, 90 % lookups",
            "Only tables with an array of locks, `write_concurrency` on a `set`, scale; `read_concurrency` alone gains \
             nothing, and adds little to `write_concurrency` (section 5.2.1).",
        ),
        (
            "mix99",
            "ets-11",
            "Figure 11: options of tables, 99 % lookups",
            "As with 90 % lookups: with one per cent of updates `read_concurrency` alone still does not help \
             (section 5.2.1).",
        ),
        (
            "mix100",
            "ets-12",
            "Figure 12: options of tables, lookups alone",
            "The ordered table does not profit from `read_concurrency` even here, because of the stack that its users \
             share (sections 5.2.1 and 5.3).",
        ),
    ];
    ROWS.into_iter().map(|(case, file, what, found)| {
        let title = format!("2013 paper, {what}");
        let figures = bars_figure(m, file, title, "index and its options", m.bars(case, &OPTIONS));
        let mut claims = Claims::default();
        let ratio = |kind, other| m.ratio(case, kind, other, 2);
        if case == "mix100" {
            claims.add(
                ratio(AVL, ("avl", "no")).map(|ratio| below(ratio, 1.1)),
                "reader groups give the AVL tree a tenth more at most (`avl r` beside `avl`)",
            );
        } else {
            claims.add(
                ratio(("linear_hash", "w"), ("linear_hash", "no")).map(|ratio| above(ratio, 1.0)),
                "an array of locks gives more with two threads (`linear_hash w` beside `linear_hash`)",
            );
            claims.add(
                ratio(SET, ("linear_hash", "w")).map(|ratio| below(ratio, 1.15)),
                "both options together give 15 % more than `w` alone at most",
            );
            claims.add(
                ratio(("linear_hash", "r"), ("linear_hash", "no")).map(|ratio| below(ratio, 1.1)),
                "reader groups alone give a tenth more at most",
            );
        }
        let why = match case {
            "mix100" => {
                "Our AVL tree has no stack that its users share, so readers that count themselves in groups share no \
                 line that is written."
            }
            _ if claims.fail() => {
                "With two threads a single lock is contended little, so that what an option costs is seen before what \
                 it gains."
            }
            _ => "What the options do to the locks is the same as in ETS.",
        };
        Shown {
            what,
            see: seen(&figures, &claims),
            figures,
            steps: &["ets-1", "ets-2"],
            found,
            why: format!("{why} `auto` came to ETS after the paper."),
        }
    })
}

/// The suite of the lines that `make papers-erlang` leaves.
const BEAM: &str = "ets_bench_beam";

/// What is drawn of BEAM's tables: index, or type of `ets`, and options.
const IN_BEAM: [Kind; 12] = [
    ("set", "no"),
    ("set", "r+w"),
    ("set", "auto"),
    ("ordered_set", "no"),
    ("ordered_set", "r+w"),
    ("ordered_set", "auto"),
    ("hash", "no"),
    ("ordered", "no"),
    SET,
    ("ca_avl", "no"),
    SKIP_LIST,
    AVL,
];

/// Figures 4 to 12 inside of BEAM.
fn in_beam(m: &Findings) -> Part {
    let line = |case: &str, subject: &str, kind: Kind, count: usize| {
        let is = |line: &&Line| {
            line.suite == BEAM
                && (line.case, line.subject, line.threads) == (case, subject, count)
                && (line.index, line.options) == (Some(kind.0), Some(kind.1))
        };
        m.lines.iter().find(is)
    };
    let of_beam = m.lines.iter().filter(|line| line.suite == BEAM);
    let mut subjects: Vec<&str> = of_beam.map(|line| line.subject).collect();
    subjects.sort_unstable();
    subjects.dedup();
    let mut figures = Vec::new();
    for (case, words) in [
        ("mix90", "90 % lookups"),
        ("mix99", "99 % lookups"),
        ("mix100", "lookups alone"),
    ] {
        let mut bars = Vec::new();
        for subject in &subjects {
            for kind in IN_BEAM {
                for count in [1, 2] {
                    bars.extend(line(case, subject, kind, count).map(|line| Bar {
                        row: threads(count).replace("thread", "scheduler"),
                        cluster: format!("{subject} {}", name(kind)),
                        value: million(line),
                    }));
                }
            }
        }
        let title = format!("2013 paper, Figures 4 to 12 in BEAM: {words}");
        figures.extend(bars_figure(
            m,
            &format!("beam-{case}"),
            title,
            "table",
            bars,
        ));
    }
    if figures.is_empty() {
        return Part::Absent {
            what: "Figures 4 to 12, inside of BEAM",
            why: "`make papers-erlang` measures `ets` of the release that is installed, and `fyris` beside it; it has \
                  not been run.",
        };
    }
    let ets = subjects.iter().find(|subject| subject.starts_with("ets"));
    let gain = |kind| {
        let ops = |count| Some(million(line("mix90", ets?, kind, count)?));
        Some(ops(2)?.over(ops(1)?))
    };
    let mut claims = Claims::default();
    claims.add(
        gain(("set", "r+w")).map(|gain| above(gain, GAINS)),
        "with 90 % lookups a `set` of ETS with both options gains from a second scheduler",
    );
    claims.add(
        gain(("ordered_set", "no")).map(|gain| below(gain, GAINS)),
        "an `ordered_set` of ETS without options does not",
    );
    Part::Shown(Shown {
        what: "Figures 4 to 12, inside of BEAM",
        see: seen(&figures, &claims).replace("A second thread", "A second scheduler"),
        figures,
        steps: &["erlang-25", "erlang-27", "erlang-29"],
        found: "A `set` with `write_concurrency` scales, an `ordered_set` does not, in R16B as before (sections 5.1 \
                and 5.2.1).",
        why: "Since OTP 22 an `ordered_set` with `write_concurrency` is the contention adapting tree of the 2014 \
              paper. Here `ets` and `fyris` pay alike for being called from Erlang, and for copying what they return."
            .to_owned(),
    })
}

/// Returns curves over the number in the name of a set of options, of an index and each case, with two threads.
fn over_counts(m: &Findings, prefix: &str, index: &str) -> Vec<Curve> {
    let mut curves = Vec::new();
    let is = |line: &&Line| {
        line.suite == Suite::EtsBench.name() && line.threads == 2 && line.index == Some(index)
    };
    for line in m.lines.iter().filter(is) {
        let count = line.options.and_then(|name| name.strip_prefix(prefix));
        if let Some(count) = count.and_then(|count| count.parse().ok()) {
            let share = format!("{} % lookups", line.case.trim_start_matches("mix"));
            add_point(&mut curves, &share, (count, million(line)));
        }
    }
    curves
}

/// Returns what a curve has at one place over what it has at another.
fn ratio(curves: &[Curve], share: u32, x: f64, other: f64) -> Option<Value> {
    let row = format!("{share} % lookups");
    let curve = curves.iter().find(|curve| curve.row == row)?;
    let at = |x| curve.points.iter().find(|point| point.0 == x);
    Some(at(x)?.1.over(at(other)?.1))
}

/// Figures 13 to 18.
fn reader_groups(m: &Findings) -> Shown {
    const GROUPS: &str = "reader groups of each lock";
    let set = over_counts(m, "groups=", "linear_hash");
    let tree = over_counts(m, "groups=", "avl");
    let title = |what: &str| format!("2013 paper, {what}, with two threads");
    let figures = [
        curves_figure(
            m,
            "ets-13-15",
            title("Figures 13 to 15: reader groups of a set"),
            GROUPS,
            &set,
        ),
        curves_figure(
            m,
            "ets-16-18",
            title("Figures 16 to 18: reader groups of an ordered_set"),
            GROUPS,
            &tree,
        ),
    ]
    .concat();
    let mut claims = Claims::default();
    claims.add(
        ratio(&set, 90, 64.0, 4.0).map(|ratio| above(ratio, 0.8)),
        "64 groups are not a fifth worse than four for the hash table, with 90 % lookups",
    );
    claims.add(
        ratio(&tree, 90, 64.0, 2.0).map(|ratio| below(ratio, 1.0)),
        "64 groups are worse than two for the AVL tree, with 90 % lookups",
    );
    claims.add(
        ratio(&tree, 100, 2.0, 1.0).map(|ratio| above(ratio, 1.0)),
        "one group is too few, with lookups alone in the AVL tree",
    );
    Shown {
        what: "Figures 13 to 18: reader groups",
        see: joined(&[ends(&figures, "groups, in millions a second"), claims.text()]),
        figures,
        steps: &["ets-groups"],
        found: "One group is too few. For the hash table four to 64 do equally well; for the ordered table many groups \
                hurt as soon as there are updates, since a writer looks at each, and two to eight are best \
                (section 5.2.2).",
        why: "Two threads need two groups, so one shows what sharing a counter costs, and those beyond two are only \
              looked at by writers: the cost that the paper sees, without the readers that would use them."
            .to_owned(),
    }
}

/// Figures 20 to 22.
fn bucket_locks(m: &Findings) -> Shown {
    let curves = over_counts(m, "locks=", "linear_hash");
    let title = "2013 paper, Figures 20 to 22: bucket locks of a set, with two threads".to_owned();
    let figures = curves_figure(m, "ets-20-22", title, "bucket locks", &curves);
    let mut claims = Claims::default();
    claims.add(
        ratio(&curves, 90, 64.0, 1.0).map(|ratio| above(ratio, 1.0)),
        "64 locks give more than one, with 90 % lookups",
    );
    claims.add(
        ratio(&curves, 90, 1024.0, 64.0).map(|ratio| below(ratio, 1.15)),
        "the effect wears off: 1,024 locks give 15 % more than 64 at most",
    );
    let why = if claims.fail() {
        "Two threads seldom want one lock of many at the same time, and each further lock is a line that has to come \
         into the cache; the gain that the paper sees is that of 64 threads."
    } else {
        "The chance that two threads want one lock at the same time falls with the number of locks, however many \
         threads there are."
    };
    Shown {
        what: "Figures 20 to 22: bucket locks",
        see: joined(&[ends(&figures, "locks, in millions a second"), claims.text()]),
        figures,
        steps: &["ets-locks"],
        found: "More bucket locks help up to a point, where the effect wears off; their number should be an option \
                (section 6.1).",
        why: format!("{why} The number is an option here (`bucket_locks`)."),
    }
}

/// Figures 23 to 25.
fn skip_list(m: &Findings) -> Shown {
    let mut bars = Vec::new();
    for case in ["mix90", "mix99", "mix100"] {
        for kind in [SKIP_LIST, SET, AVL] {
            for count in [1, 2] {
                bars.extend(m.table(case, kind, count).map(|line| Bar {
                    row: format!("{}, {}", name(kind), threads(count)),
                    cluster: format!("{} % lookups", case.trim_start_matches("mix")),
                    value: million(line),
                }));
            }
        }
    }
    let title = "2013 paper, Figures 23 to 25: a concurrent skip list beside set and ordered_set";
    let figures = bars_figure(m, "ets-23-25", title.to_owned(), "share of lookups", bars);
    let mut claims = Claims::default();
    let beside = |other| Some(below(m.ratio("mix90", SKIP_LIST, other, 1)?, 1.0));
    claims.add(
        all([SET, AVL].into_iter().filter_map(beside)),
        "with one thread the skip list is the slowest of the three, with 90 % lookups",
    );
    let gains = m.gain("mix90", SKIP_LIST).zip(m.gain("mix90", AVL));
    claims.add(
        gains.map(|(list, tree)| above(list.over(tree), 1.0)),
        "with 90 % lookups it gains more from a second thread than the AVL tree under one lock",
    );
    let sentence = |case: &str| {
        let of = |kind| Some(format!("{:.2}", m.gain(case, kind)?.median));
        Some(format!(
            "With {} % lookups a second thread multiplies throughput by {} (skip list), {} (set), {} (ordered_set).",
            case.trim_start_matches("mix"),
            of(SKIP_LIST)?,
            of(SET)?,
            of(AVL)?
        ))
    };
    let gains = ["mix90", "mix99", "mix100"]
        .into_iter()
        .filter_map(sentence);
    Shown {
        what: "Figures 23 to 25: a concurrent skip list",
        see: joined(&[joined(&gains.collect::<Vec<_>>()), claims.text()]),
        figures,
        steps: &["ets-1", "ets-2"],
        found: "A skip list whose lookups wait for nobody is very slow with one thread, for which the paper suspects \
                hazard pointers, but scales far better than the AVL tree when there are updates (section 6.2.1).",
        why: "Readers of our skip list announce no pointers: memory is reclaimed when all have passed, so one thread \
              pays less for being safe."
            .to_owned(),
    }
}

/// The `std::unordered_map` of a shared library.
const LIBRARY: Kind = ("library", "no");

/// Figures 26 and 27.
fn library(m: &Findings) -> Part {
    const KINDS: [Kind; 4] = [LIBRARY, ("linear_hash", "no"), ("linear_hash", "r"), SET];
    let figure = |case, file, what: &str| match m.table(case, LIBRARY, 1) {
        Some(_) => {
            let title = format!("2013 paper, {what}; library is std::unordered_map");
            bars_figure(
                m,
                file,
                title,
                "index and its options",
                m.bars(case, &KINDS),
            )
        }
        None => Vec::new(),
    };
    let figures = [
        figure("mix90", "ets-26", "Figure 26: 90 % lookups"),
        figure("mix100", "ets-27", "Figure 27: lookups alone"),
    ]
    .concat();
    if figures.is_empty() {
        return Part::Absent {
            what: "Figures 26 and 27",
            why: "`make papers` makes `std::unordered_map` an index of Fyris (`fyris_index.h`); that was not at hand \
                  in this run.",
        };
    }
    let mut claims = Claims::default();
    for (case, words) in [("mix90", "90 % lookups"), ("mix100", "lookups alone")] {
        claims.add(
            m.ratio(case, LIBRARY, ("linear_hash", "no"), 1)
                .map(|ratio| above(ratio, 1.0)),
            &format!(
                "with one thread and {words} it does more than the hash table of the paper's `set`"
            ),
        );
    }
    claims.add(
        m.ratio("mix90", SET, LIBRARY, 2)
            .map(|ratio| above(ratio, 1.0)),
        "with two threads and 90 % lookups the array of locks does more",
    );
    Part::Shown(Shown {
        what: "Figures 26 and 27: a hash table of the C++ library",
        see: seen(&figures, &claims),
        figures,
        steps: &["ets-1", "ets-2"],
        found: "As an index under one lock, the hash table of the C++ library is clearly faster than ETS's with one \
                thread, and for lookups alone 36 % faster, with 64 threads 60 %; with updates it cannot keep up, as \
                each locks the whole table (section 6.2.2).",
        why: "Each call crosses a table of C functions, behind which the library follows a list of nodes, and its \
              answer is checked; ours lies in the program and knows what it looks for. The paper explains its \
              difference by what a `set` of ETS has to be able to do."
            .to_owned(),
    })
}

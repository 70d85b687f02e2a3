//! The figures of the suite `core`: our indexes against all peers.

use fyris_harness::{Case, Line};

use super::verdict::Verdict;

/// The best of several peers, or each of them.
#[derive(Clone, Copy)]
struct Against {
    ratio: f64,
    peers: &'static [&'static str],
}

/// A row: one of our indexes against peers, in several cases.
struct Row {
    index: &'static str,
    keys: &'static str,
    threads: &'static [usize],
    cases: &'static [Case],
    against: &'static [Against],
}

const READS: &[Case] = &[
    Case::Hit,
    Case::Lookup,
    Case::Mix99,
    Case::Mix90,
    Case::Mix80,
];
const READS_AND_MIXES: &[Case] = &[
    Case::Hit,
    Case::Lookup,
    Case::Mix99,
    Case::Mix90,
    Case::Mix80,
    Case::Mix50,
];
const HIT_AND_MIXES: &[Case] = &[
    Case::Hit,
    Case::Mix99,
    Case::Mix90,
    Case::Mix80,
    Case::Mix50,
];
const WRITES: &[Case] = &[Case::Insert, Case::Mix50, Case::Delete];
const EVERY: &[Case] = &[
    Case::Insert,
    Case::Hit,
    Case::Miss,
    Case::Lookup,
    Case::Mix99,
    Case::Mix90,
    Case::Mix80,
    Case::Mix50,
    Case::Delete,
];
const HASHES: &[&str] = &["dashmap", "scc::HashMap", "papaya"];
const TREES: &[&str] = &[
    "RwLock<BTreeMap>",
    "masstree",
    "scc::TreeIndex",
    "crossbeam-skiplist",
    "ferntree",
];

const ROWS: &[Row] = &[
    Row {
        index: "hash",
        keys: "u64",
        threads: &[1],
        cases: READS,
        against: &[
            Against {
                ratio: 1.5,
                peers: &["dashmap"],
            },
            Against {
                ratio: 0.8,
                peers: &["papaya"],
            },
        ],
    },
    Row {
        index: "hash",
        keys: "u64",
        threads: &[2],
        cases: READS,
        against: &[Against {
            ratio: 1.0,
            peers: HASHES,
        }],
    },
    Row {
        index: "hash",
        keys: "u64",
        threads: &[1, 2],
        cases: WRITES,
        against: &[Against {
            ratio: 1.3,
            peers: HASHES,
        }],
    },
    Row {
        index: "hash",
        keys: "bytes20",
        threads: &[1, 2],
        cases: EVERY,
        against: &[Against {
            ratio: 1.0,
            peers: &["dashmap"],
        }],
    },
    Row {
        index: "ordered",
        keys: "u64",
        threads: &[1],
        cases: READS_AND_MIXES,
        against: &[
            Against {
                ratio: 0.6,
                peers: &["RwLock<BTreeMap>", "masstree", "scc::TreeIndex"],
            },
            Against {
                ratio: 1.6,
                peers: &["congee"],
            },
        ],
    },
    Row {
        index: "ordered",
        keys: "u64",
        threads: &[2],
        cases: EVERY,
        against: &[
            Against {
                ratio: 0.4,
                peers: &["RwLock<BTreeMap>", "scc::TreeIndex"],
            },
            Against {
                ratio: 0.6,
                peers: &["masstree"],
            },
        ],
    },
    Row {
        index: "ordered",
        keys: "bytes20",
        threads: &[1, 2],
        cases: EVERY,
        against: &[Against {
            ratio: 0.65,
            peers: TREES,
        }],
    },
    Row {
        index: "ordered",
        keys: "u64",
        threads: &[1],
        cases: &[Case::Scan, Case::Range100],
        against: &[Against {
            ratio: 1.0,
            peers: &["RwLock<BTreeMap>"],
        }],
    },
    Row {
        index: "ordered",
        keys: "bytes20",
        threads: &[1],
        cases: &[Case::Scan, Case::Range100],
        against: &[Against {
            ratio: 1.0,
            peers: &["RwLock<BTreeMap>"],
        }],
    },
    Row {
        index: "ordered",
        keys: "u64_spread",
        threads: &[1],
        cases: &[Case::Bytes],
        against: &[Against {
            ratio: 1.25,
            peers: &["RwLock<BTreeMap>"],
        }],
    },
    Row {
        index: "ordered",
        keys: "u64_dense",
        threads: &[1],
        cases: &[Case::Bytes],
        against: &[Against {
            ratio: 1.25,
            peers: &["RwLock<BTreeMap>"],
        }],
    },
    Row {
        index: "hash",
        keys: "u64_spread",
        threads: &[1],
        cases: &[Case::Bytes],
        against: &[Against {
            ratio: 1.5,
            peers: &["RwLock<hashbrown>"],
        }],
    },
    Row {
        index: "hash",
        keys: "u64_dense",
        threads: &[1],
        cases: &[Case::Bytes],
        against: &[Against {
            ratio: 1.5,
            peers: &["RwLock<hashbrown>"],
        }],
    },
    Row {
        index: "split_ordered",
        keys: "u64",
        threads: &[1, 2],
        cases: HIT_AND_MIXES,
        against: &[Against {
            ratio: 1.5,
            peers: &["papaya"],
        }],
    },
    Row {
        index: "skip_list",
        keys: "u64",
        threads: &[1, 2],
        cases: HIT_AND_MIXES,
        against: &[Against {
            ratio: 0.7,
            peers: &["crossbeam-skiplist"],
        }],
    },
    Row {
        index: "skip_list",
        keys: "u64",
        threads: &[1, 2],
        cases: &[Case::Range100],
        against: &[Against {
            ratio: 0.7,
            peers: &["crossbeam-skiplist"],
        }],
    },
    Row {
        index: "btree",
        keys: "u64",
        threads: &[1, 2],
        cases: &[Case::Hit, Case::Insert],
        against: &[Against {
            ratio: 1.2,
            peers: &["RwLock<BTreeMap>"],
        }],
    },
];

/// Returns every figure of the suite.
pub(super) fn verdicts(lines: &[Line]) -> Vec<Verdict> {
    let mut out: Vec<Verdict> = ROWS.iter().flat_map(|row| row.verdicts(lines)).collect();
    for index in ["hash", "ordered"] {
        out.push(contention(lines, index));
        out.push(fairness(lines, index));
        out.push(through_the_store(lines, index));
    }
    out.push(adapting(lines));
    out.extend(store_bytes(lines));
    out.extend(encodings(lines));
    out
}

impl Row {
    fn verdicts<'a>(&'a self, lines: &'a [Line]) -> impl Iterator<Item = Verdict> + 'a {
        self.threads.iter().flat_map(move |&threads| {
            self.cases.iter().flat_map(move |&case| {
                self.against
                    .iter()
                    .map(move |against| self.verdict(lines, threads, case, against))
            })
        })
    }

    fn verdict(&self, lines: &[Line], threads: usize, case: Case, against: &Against) -> Verdict {
        let at = |l: &&Line| l.keys == self.keys && l.threads == threads && l.case == case.name();
        let ours = lines
            .iter()
            .filter(at)
            .find(|l| l.subject == "fyris" && l.index == Some(self.index) && l.object.is_none());
        let best = lines
            .iter()
            .filter(at)
            .filter(|l| against.peers.contains(&l.subject))
            .min_by(|a, b| a.figure().total_cmp(&b.figure()));
        let name = match (best, against.peers) {
            (Some(best), [_, _, ..]) => format!("best ({})", best.subject),
            (_, peers) => peers.join(", "),
        };
        Verdict {
            what: format!(
                "{} {} {}T {} / {name}",
                self.index,
                self.keys,
                threads,
                case.name()
            ),
            target: against.ratio,
            measured: ours
                .zip(best)
                .map(|(ours, best)| ours.figure() / best.figure()),
        }
    }
}

/// Returns one of our own lines.
fn own<'a>(
    lines: &'a [Line],
    index: &str,
    object: Option<&str>,
    keys: &str,
    threads: usize,
    case: Case,
) -> Option<&'a Line> {
    lines.iter().find(|l| {
        l.subject == "fyris"
            && l.index == Some(index)
            && l.object == object
            && l.keys == keys
            && l.threads == threads
            && l.case == case.name()
    })
}

/// Judges two threads on eight keys: the throughput of one thread alone, over that of both.
fn contention(lines: &[Line], index: &str) -> Verdict {
    let one = own(lines, index, None, "u64", 1, Case::Hot8);
    let two = own(lines, index, None, "u64", 2, Case::Hot8);
    Verdict {
        what: format!("{index} u64 hot8: one thread's throughput / two threads' together"),
        target: 1.0,
        measured: one
            .zip(two)
            .map(|(one, two)| two.figure() / 2.0 / one.figure()),
    }
}

/// Judges two threads on eight keys: a fair share of the operations, over that of the slowest thread.
fn fairness(lines: &[Line], index: &str) -> Verdict {
    let two = own(lines, index, None, "u64", 2, Case::Hot8).and_then(|l| l.extra("fairness"));
    Verdict {
        what: format!("{index} u64 hot8: a fair share / the least thread's, worst run"),
        target: 4.0,
        measured: two.map(|share| 1.0 / share),
    }
}

/// Judges two threads on a contention adapting tree, against the same tree under one lock.
fn adapting(lines: &[Line]) -> Verdict {
    let of = |index| own(lines, index, None, "u64", 2, Case::Mix50).map(Line::figure);
    Verdict {
        what: "ca_avl u64 2T mix50 / avl".to_owned(),
        target: 0.5,
        measured: of("ca_avl").zip(of("avl")).map(|(ca, avl)| ca / avl),
    }
}

/// Judges a table of the store against the same index with as many entries of its own behind pointers.
fn through_the_store(lines: &[Line], index: &str) -> Verdict {
    let alone = if index == "hash" {
        "hash_entries"
    } else {
        index
    };
    let bare = own(lines, alone, None, "u64", 1, Case::Lookup);
    let store = own(lines, index, Some("{K, V}"), "term_int", 1, Case::Lookup);
    Verdict {
        what: format!("store {index}, lookup of {{integer}} / {alone} alone"),
        target: 1.8,
        measured: store
            .zip(bare)
            .map(|(store, bare)| store.figure() / bare.figure()),
    }
}

fn store_bytes(lines: &[Line]) -> Vec<Verdict> {
    [
        ("term_int", "{integer, integer}", 48.0),
        ("term_bin20", "{20-byte binary, integer}", 80.0),
    ]
    .into_iter()
    .map(|(keys, what, target)| Verdict {
        what: format!("store hash, bytes of {what}"),
        target,
        measured: own(lines, "hash", Some("{K, V}"), keys, 1, Case::Bytes).map(Line::figure),
    })
    .collect()
}

fn encodings(lines: &[Line]) -> Vec<Verdict> {
    [
        (Case::EncodeInt, 5.0),
        (Case::EncodeBin20, 12.0),
        (Case::EncodeAtomInt, 25.0),
    ]
    .into_iter()
    .map(|(case, target)| Verdict {
        what: format!("{}, ns", case.name()),
        target,
        measured: lines
            .iter()
            .find(|l| l.case == case.name())
            .map(Line::figure),
    })
    .collect()
}

//! Arguments of the command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

/// The suites of the vocabulary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Suite {
    /// Single-key operations, scans and memory of every index and of the store
    Core,
    /// Match specifications over tables, beside the real ets where Erlang is installed
    Query,
    /// Snapshots: taking and reading them, and writing beside them
    Snapshot,
    /// The phases of the papers on ETS's scalability, over every index, its options, and ranges of keys
    EtsBench,
    /// The seven programs of the Judy study over all kinds of tables, beside the real ets where Erlang is installed
    Judy,
    /// Reader-writer locks: throughput and waits by share of reads, length of work and number of threads
    Rwlock,
    /// Version-controlled segments: faults, commits, updates and merges between two processes
    Segment,
    /// Lookups, writes and whole scans of one array by several processes
    ArrayMix,
}

impl Suite {
    /// Returns the name in the vocabulary.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Query => "query",
            Self::Snapshot => "snapshot",
            Self::EtsBench => "ets_bench",
            Self::Judy => "judy",
            Self::Rwlock => "rwlock",
            Self::Segment => "segment",
            Self::ArrayMix => "array_mix",
        }
    }
}

/// The clock that a figure is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    /// Elapsed time: what a user waits
    Wall,
    /// Processor time of the thread: steadier beside busy neighbours, blind to waiting
    Cpu,
}

/// Measure Fyris
// The command line of `fyris-bench`, and a part of that of `fyris-compare`.
#[derive(Parser, Clone, Debug)]
#[command(name = "fyris-bench", version)]
pub struct BenchArgs {
    /// The suite to run
    #[arg(value_enum)]
    pub suite: Suite,
    /// Print one JSON object a line instead of tables
    #[arg(long)]
    pub json: bool,
    /// Draw the figures as SVG files into this directory
    #[arg(long, value_name = "DIR")]
    pub plot: Option<PathBuf>,
    /// Small tables and few runs: ends within a minute, and proves nothing
    #[arg(long)]
    pub quick: bool,
    /// Numbers of threads, or of processes in `array_mix` [default: 1,2, or what the suite is about]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub threads: Vec<u64>,
    /// Only these subjects (`harness` is always there); in `core`, `judy` and `ets_bench` also an index by its name.
    /// May be repeated
    #[arg(long, value_delimiter = ',', value_name = "NAME")]
    pub subject: Vec<String>,
    /// Only these cases of the suite; a wrong name is answered by the list. May be repeated
    #[arg(long, value_delimiter = ',', value_name = "CASE")]
    pub case: Vec<String>,
    /// In `core`, only these keys: u64, bytes20, term_int, term_bin20; and on request only: u64_spread,
    /// u64_dense, bytes20_prefix
    #[arg(long, value_delimiter = ',', value_name = "KEYS")]
    pub keys: Vec<String>,
    /// Interleaved runs; the figure is their median
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,
    /// In `core`, entries in a table, of a range twice as large; in `judy`, in the largest table (700, 7,000, ...,
    /// 54 million) [default: 1,000,000, in `judy` 7,000,000]
    #[arg(long, value_parser = clap::value_parser!(u64).range(16..=100_000_000))]
    pub entries: Option<u64>,
    /// In `core`, operations of each case and thread; in `ets_bench`, of a mixed phase, by all threads together
    /// [default: as many as entries, in `ets_bench` 1,048,576; the papers' are 4,194,304]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub ops: Option<u64>,
    /// In `ets_bench`, the powers of two below which the keys lie [default: 3,6,9,12,15,18,21]
    #[arg(long, value_delimiter = ',', value_name = "BITS", value_parser = clap::value_parser!(u32).range(3..=27))]
    pub range: Vec<u32>,
    /// In `ets_bench`, only these options of tables: no, r, w, r+w, auto; and on request only: locks=N, groups=N
    #[arg(long, value_delimiter = ',', value_name = "SET")]
    pub options: Vec<String>,
    /// In `ets_bench`, the objects: key, pair, large [default: key]
    #[arg(long, value_delimiter = ',', value_name = "OBJECT")]
    pub object: Vec<String>,
    /// In `ets_bench`, also a set on the index of this shared library, under the name `library` (its code is run)
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
    /// The clock the figures are taken from
    #[arg(long, value_enum, default_value = "wall")]
    pub clock: Clock,
    /// Play the suite's child, as which the program starts itself. The meaning of the text is the suite's affair
    #[arg(long, hide = true, value_name = "PART")]
    pub child: Option<String>,
}

impl BenchArgs {
    /// Entries in a table.
    pub fn entry_count(&self) -> usize {
        let default = if self.quick { 100_000 } else { 1_000_000 };
        self.entries.unwrap_or(default) as usize
    }

    /// Operations of a case and thread.
    pub fn op_count(&self) -> usize {
        self.ops.map_or(self.entry_count(), |n| n as usize)
    }

    /// Returns the number of interleaved runs.
    pub fn run_count(&self) -> usize {
        self.runs.unwrap_or(if self.quick { 3 } else { 5 }) as usize
    }

    /// Returns the numbers of threads; those of the suite if none were asked for.
    pub fn thread_counts(&self, usual: &[usize]) -> Vec<usize> {
        if self.threads.is_empty() {
            usual.to_vec()
        } else {
            self.threads.iter().map(|&n| n as usize).collect()
        }
    }

    /// Returns true if the case was asked for, or nothing in particular was.
    pub fn wants_case(&self, case: &str) -> bool {
        self.case.is_empty() || self.case.iter().any(|c| c == case)
    }

    /// Returns true if the subject was asked for, or nothing in particular was.
    pub fn wants_subject(&self, name: &str) -> bool {
        self.subject.is_empty() || name == "harness" || self.subject.iter().any(|s| s == name)
    }

    /// Returns true if the keys were asked for, or nothing in particular was and they are among the usual.
    pub fn wants_keys(&self, name: &str, usual: bool) -> bool {
        if self.keys.is_empty() {
            usual
        } else {
            self.keys.iter().any(|k| k == name)
        }
    }
}

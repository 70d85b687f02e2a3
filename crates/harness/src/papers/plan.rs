//! The plan: which suites are run, with which options.

use std::path::Path;

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Size {
    Quick,
    Usual,
    Full,
}

impl Size {
    /// Returns what goes with this size.
    fn pick<T>(self, quick: T, usual: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Usual => usual,
            Self::Full => full,
        }
    }
}

/// What does a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Program {
    /// `fyris-bench`, as its own child.
    Bench,
    /// `fyris-compare`.
    Compare,
    /// `make`, by hand: the page shows what that has left.
    Make,
}

/// One run of a suite, whose lines are kept in a file of its own.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// The name of the file, without the ending.
    pub(super) name: &'static str,
    /// The figures that it is for.
    pub(super) of: &'static str,
    /// The command line, without the program.
    pub(super) args: Vec<String>,
    /// Seconds that it takes, about.
    pub(super) seconds: f64,
    pub(super) program: Program,
    pub(super) quick: bool,
}

impl Step {
    /// Returns the command line, by which a step whose options have changed is told from one that was done.
    pub(super) fn line(&self) -> String {
        let program = match self.program {
            Program::Bench => "fyris-bench",
            Program::Compare => "fyris-compare",
            Program::Make => "make",
        };
        format!("{program} {}", self.args.join(" "))
    }
}

/// The indexes beside which the 2003 study's tables are put, and the study's.
const JUDY: &str = "ets,hash,ordered,linear_hash,avl,btree,judysl,judyesl,judyeh";

/// Returns the steps in their order; `compare` says whether `fyris-compare` is at hand, `library` where
/// `std::unordered_map` is.
pub(super) fn steps(size: Size, compare: bool, library: Option<&Path>) -> Vec<Step> {
    let quick = size == Size::Quick;
    let step = |name, of, seconds, line: String| Step {
        name,
        of,
        args: line.split_whitespace().map(str::to_owned).collect(),
        seconds,
        program: Program::Bench,
        quick,
    };
    let runs = if quick { "--runs 3" } else { "--runs 5" };
    // The paper's number, or as many as there is time for.
    let ops = size.pick("--ops 65536", "--ops 524288", "--ops 4194304");
    let top = size.pick(16, 21, 21);
    let library = library.map_or(String::new(), |file| {
        format!(" --library {}", file.display())
    });
    let mut steps = vec![
        step(
            "judy-small",
            "2003, figures 6 to 12, tables up to 700,000 keys",
            size.pick(20.0, 150.0, 150.0),
            format!(
                "judy --subject {JUDY} --entries {} {runs} --case insert_sequential,insert_random,lookup_sequential,\
                 lookup_random,traverse,delete",
                size.pick(70_000, 700_000, 700_000)
            ),
        ),
        step(
            "judy-bytes",
            "2003, table 2",
            size.pick(10.0, 60.0, 240.0),
            format!(
                "judy --subject {JUDY} --entries {} --case bytes",
                size.pick(70_000, 7_000_000, 21_000_000)
            ),
        ),
        step(
            "rwlock",
            "2010: locks by share of reads and number of threads",
            size.pick(30.0, 290.0, 290.0),
            format!(
                "rwlock --case r100/0,r99/0,r90/0,r50/0,writer/0 --threads {} {runs} {}",
                size.pick("1,2,4,8", "1,2,4,8,16,32,64", "1,2,4,8,16,32,64"),
                if quick { "--quick" } else { "" }
            ),
        ),
        step(
            "ets-1",
            "2013, figures 4 to 12 and 23 to 27; 2014, figures 1, 2, 4, 5: one thread",
            size.pick(20.0, 330.0, 1500.0),
            format!("ets_bench --range {top} --threads 1 {runs} {ops}{library}"),
        ),
        step(
            "ets-2",
            "the same with two threads",
            size.pick(20.0, 250.0, 1200.0),
            format!("ets_bench --range {top} --threads 2 {runs} {ops}{library}"),
        ),
        step(
            "ets-groups",
            "2013, figures 13 to 18: reader groups",
            size.pick(10.0, 75.0, 450.0),
            format!(
                "ets_bench --range {top} --threads 2 {runs} {ops} --subject linear_hash,avl --case mix90,mix99,mix100 \
                 --options groups=1,groups=2,groups=4,groups=8,groups=16,groups=32,groups=64"
            ),
        ),
        step(
            "ets-locks",
            "2013, figures 20 to 22: bucket locks",
            size.pick(5.0, 35.0, 200.0),
            format!(
                "ets_bench --range {top} --threads 2 {runs} {ops} --subject linear_hash --case mix90,mix99,mix100 \
                 --options locks=1,locks=4,locks=16,locks=64,locks=256,locks=1024"
            ),
        ),
        step(
            "ets-ranges",
            "2014, figures 6 and 7: ranges of keys",
            size.pick(20.0, 150.0, 1500.0),
            format!(
                "ets_bench --range {} --threads 1,2 {runs} {ops} --case mix80 --options no,r,r+w \
                 --subject hash,ordered,linear_hash,avl,ca_avl,ca_treap",
                size.pick(
                    "3,6,9,12,16",
                    "3,6,9,12,15,18,21",
                    "3,6,9,12,15,18,21,24,27"
                )
            ),
        ),
        step(
            "segment",
            "CONVERSION, table 3",
            size.pick(10.0, 25.0, 25.0),
            format!("segment {runs}"),
        ),
    ];
    let worker = if quick { "--quick" } else { "" };
    let subjects = if compare { 5.0 } else { 3.0 };
    let mut arrays = vec![
        step(
            "array-sizes",
            "CONVERSION, figures 2 and 4",
            size.pick(8.0, 65.0, 65.0) * subjects,
            format!("array_mix --threads 2 {runs} {worker}"),
        ),
        step(
            "array-workers",
            "CONVERSION, figure 3",
            size.pick(4.0, 45.0, 45.0) * subjects,
            format!(
                "array_mix --threads 1,4{} {runs} {worker} --case 74:25:1/2M,49:50:1/2M,25:74:1/2M",
                size.pick("", ",8", ",8")
            ),
        ),
    ];
    if compare {
        arrays
            .iter_mut()
            .for_each(|step| step.program = Program::Compare);
    }
    steps.extend(arrays);
    if !quick {
        // The longest, and the last, so that all else is there when it is cut short.
        steps.push(step(
            "judy-large",
            "2003, figures 6 to 12, larger tables",
            size.pick(0.0, 800.0, 7200.0),
            format!(
                "judy --subject {JUDY} --entries {} --runs 3 --case insert_sequential,insert_random,\
                 lookup_sequential,lookup_random,traverse,delete",
                size.pick(0, 7_000_000, 54_000_000)
            ),
        ));
    }
    // The releases of Erlang/OTP that there are packages of.
    for name in ["erlang-25", "erlang-27", "erlang-29"] {
        let line = if quick {
            "papers-erlang QUICK=1"
        } else {
            "papers-erlang"
        };
        steps.push(Step {
            program: Program::Make,
            ..step(name, "2013, figures 4 to 12, in BEAM", 0.0, line.to_owned())
        });
    }
    steps
}

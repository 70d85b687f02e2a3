//! The talk on the reader-writer locks of Erlang's runtime system (2010).

use super::drawings::middles;
use super::lines::{Findings, Paper, Part, Shown};
use super::say::{Claims, Verdict, above, all, at, below, joined};
use crate::args::Suite;
use crate::figure::{Curve, Figure, Shape, Value, add_point};
use crate::report::Line;

/// glibc's locks.
const POSIX: [&str; 2] = ["pthread readers first", "pthread writers first"];

/// The shares of lookups: case, drawing.
const SHARES: [(&str, &str); 5] = [
    ("r100/0", "rwlock-r100-0"),
    ("r99/0", "rwlock-r99-0"),
    ("r90/0", "rwlock-r90-0"),
    ("r50/0", "rwlock-r50-0"),
    ("writer/0", "rwlock-writer-0"),
];

const STEPS: &[&str] = &["rwlock"];

pub(super) fn paper(m: &Findings) -> Paper {
    let note = format!(
        "{} From {} threads on they take turns on the processors.",
        m.limit(),
        m.cpus + 1
    );
    Paper {
        title: "RWLocks in Erlang/OTP (2010)",
        source: "Green, slides of a talk. Its machines: two chips with 4 cores, and two chips with one core of two \
                 threads. The curves show tables of ETS used by 1,000 processes, with 20,000 operations each, of which \
                 100, 99, 90 or 50 % are lookups; and 999 readers beside a process that also writes. Their numbers are \
                 not known here. What a lock sees of 1,000 processes is the threads that run them, so here threads use \
                 a lock, without a table: `fair`, `groups` and `pointers` are ours.",
        parts: vec![
            Part::Shown(throughput(m, &note)),
            Part::Shown(writers_wait(m, &note)),
            Part::Absent {
                what: "The options of tables, before and after R14B",
                why: "Tables with each set of options are those of Figures 10 to 12 of the 2013 paper, below; releases \
                      before R14B do not run on this machine.",
            },
        ],
    }
}

/// Returns the throughput of a lock.
fn ops(m: &Findings, case: &str, lock: &str, threads: usize) -> Option<Value> {
    let is = |line: &&Line| {
        line.suite == Suite::Rwlock.name()
            && (line.case, line.subject, line.threads) == (case, lock, threads)
    };
    let line = m.lines.iter().find(is)?;
    Some(Value::of(line, |ns| threads as f64 * 1e3 / ns))
}

/// Throughput by share of lookups and number of threads.
fn throughput(m: &Findings, note: &str) -> Shown {
    let drawings = m.drawings(Suite::Rwlock, note);
    let of = |file: &str| drawings.iter().find(|figure| figure.file == file).cloned();
    let figures: Vec<Figure> = SHARES.iter().filter_map(|(_, file)| of(file)).collect();
    let mut claims = Claims::default();
    let gain = |lock| Some(ops(m, "r100/0", lock, 2)?.over(ops(m, "r100/0", lock, 1)?));
    claims.add(
        gain("groups").map(|gain| above(gain, 1.5)),
        "with lookups alone and reader groups a second thread adds half as much again at least",
    );
    claims.add(
        gain("fair").map(|gain| below(gain, 1.2)),
        "with one counter of readers (`fair`), whose line two readers take from each other, it adds a fifth at most",
    );
    let beside = |case| {
        let ratio = |posix| {
            Some(above(
                ops(m, case, "fair", 2)?.over(ops(m, case, posix, 2)?),
                1.0,
            ))
        };
        all(POSIX.into_iter().filter_map(ratio))
    };
    let all_cases: Option<Verdict> = all(SHARES.iter().filter_map(|(case, _)| beside(case)));
    claims.add(
        all_cases,
        "a fair lock (`fair`) does more than glibc's two with two threads, whatever the share of lookups",
    );
    Shown {
        what: "Throughput by share of lookups",
        see: joined(&[middles(&figures, 2.0, "threads, in millions a second"), claims.text()]),
        figures,
        steps: STEPS,
        found: "A lock that lets readers and writers take turns does better than those of the POSIX library; its one \
                word still goes from processor to processor with each reader, which counters for groups of readers, in \
                lines of their own, avoid (slides on performance, and on the lock optimised for readers).",
        why: "A writer waits for all readers, and a lock with groups looks at each group first: so groups gain with \
              lookups alone and cost with many updates. What the talk adds, that two more lines in front of each table \
              of ETS were shared in the same way, concerns no table of Fyris. One thread at a time can have a lock to \
              write, so a second one adds nothing to many updates."
            .to_owned(),
    }
}

/// The waits of the writer among readers.
fn writers_wait(m: &Findings, note: &str) -> Shown {
    let is = |line: &&Line| line.suite == Suite::Rwlock.name() && line.case == "writer/0";
    let lines: Vec<&Line> = m.lines.iter().filter(is).collect();
    let mut curves: Vec<Curve> = Vec::new();
    for line in lines.iter().filter(|line| line.threads > 1) {
        if let Some(wait) = line.extra("write_p99_ns") {
            add_point(
                &mut curves,
                line.subject,
                (line.threads as f64, (wait / 1e3).into()),
            );
        }
    }
    let figure = Figure {
        file: "rwlock-writer-waits".to_owned(),
        title: "2010 talk: how long the one writer among readers waits, 99 of 100 times at most"
            .to_owned(),
        x: "threads, of which one writes".to_owned(),
        y: "microseconds".to_owned(),
        note: note.replace("Error bars: quartiles. ", ""),
        shape: Shape::Curves(curves.clone()),
    };
    let mut claims = Claims::default();
    let wait = |lock: &str| {
        let at_two = |line: &&&Line| line.threads == 2 && line.subject == lock;
        lines.iter().find(at_two)?.extra("write_p99_ns")
    };
    let both = wait(POSIX[0]).zip(wait("fair"));
    claims.add(
        both.map(|(posix, fair)| above(Value::from(posix / fair), 3.0)),
        "a writer waits more than three times as long for glibc's lock that prefers readers as for our fair one, with \
         two threads",
    );
    let see = match curves.is_empty() {
        true => String::new(),
        false => joined(&[at(&figure, 2.0, "threads, in microseconds"), claims.text()]),
    };
    Shown {
        what: "Starving writers",
        figures: if curves.is_empty() { Vec::new() } else { vec![figure] },
        steps: STEPS,
        found: "The locks of the POSIX library that prefer readers starved writers, which made a test of the runtime \
                system fail and is where the work began; those that prefer writers starve readers, less badly. The new \
                lock starves neither (first slides).",
        see,
        why: "With more threads than processors all who wait, wait for a turn on a processor too, which hides what the \
              lock does; the first point is without that."
            .to_owned(),
    }
}

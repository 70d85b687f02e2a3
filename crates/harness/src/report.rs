//! A figure as a line: what `--json` prints, and what tables, plots and checks are made from.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Mutex;

use crate::stats::Samples;

/// The time of one case in one pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Nanoseconds per operation, the mean over threads.
    pub(super) wall: f64,
    /// The same of the thread's processor time.
    pub(super) cpu: f64,
    /// The least thread's part of the work as a share of a fair one; 1 where each has a fixed part.
    pub(super) fairness: f64,
}

/// The time of one case of one subject.
#[derive(Clone, Debug)]
pub struct Times {
    /// Median over runs of nanoseconds per operation and thread (`scan` and `range100`: per entry), by
    /// the clock asked for.
    pub ns_per_op: f64,
    /// The least run.
    pub min: f64,
    /// The greatest run.
    pub max: f64,
    /// The lower quartile of the runs.
    pub q1: f64,
    /// The upper quartile of the runs.
    pub q3: f64,
    /// The number of runs.
    pub runs: usize,
    /// Median of the other measure: processor time, whatever the clock.
    pub cpu_ns_per_op: f64,
}

/// The memory of one subject.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Live blocks of the allocator, at their size class, per entry.
    pub bytes_per_entry: f64,
    /// Growth of the resident set per entry.
    pub rss_per_entry: f64,
}

/// One figure.
#[derive(Clone, Debug)]
pub struct Line {
    /// The suite.
    pub suite: &'static str,
    /// The case, by its name in the vocabulary.
    pub case: &'static str,
    /// `fyris`, `harness`, or a peer.
    pub subject: &'static str,
    /// On lines of Fyris: `hash` or `ordered`.
    pub index: Option<&'static str>,
    /// On lines of the store: what is stored for a key.
    pub object: Option<&'static str>,
    /// On lines of tables with options: the name of their set.
    pub options: Option<&'static str>,
    /// The kind of keys.
    pub keys: &'static str,
    /// Threads at once.
    pub threads: usize,
    /// Entries in the table.
    pub n: usize,
    /// The time, unless the case is `bytes`.
    pub times: Option<Times>,
    /// The memory, if the case is `bytes`.
    pub memory: Option<Memory>,
    /// Further measurements of the suite, by the name of the JSON field.
    pub extra: Vec<(&'static str, f64)>,
}

/// The samples of one case, run by run.
#[derive(Clone, Debug, Default)]
pub(super) struct Series {
    pub(super) wall: Samples,
    pub(super) cpu: Samples,
    pub(super) fairness: Samples,
}

impl Series {
    pub(super) fn push(&mut self, timing: &Timing) {
        self.wall.push(timing.wall);
        self.cpu.push(timing.cpu);
        self.fairness.push(timing.fairness);
    }

    /// Returns the figures; by processor time if `cpu`.
    pub(super) fn times(&self, cpu: bool) -> Times {
        let chosen = if cpu { &self.cpu } else { &self.wall };
        Times {
            ns_per_op: chosen.median(),
            min: chosen.min(),
            max: chosen.max(),
            q1: chosen.quantile(0.25),
            q3: chosen.quantile(0.75),
            runs: chosen.runs(),
            cpu_ns_per_op: self.cpu.median(),
        }
    }
}

impl Line {
    /// Returns the subject with what tells it from others of that name.
    pub fn label(&self) -> String {
        [Some(self.subject), self.index, self.object, self.options]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Returns one of the suite's own measures.
    pub fn extra(&self, field: &str) -> Option<f64> {
        let found = self.extra.iter().find(|(name, _)| *name == field);
        found.map(|&(_, value)| value)
    }

    /// Returns the figure of the line: nanoseconds, or bytes an entry.
    pub fn figure(&self) -> f64 {
        match (&self.times, &self.memory) {
            (Some(times), _) => times.ns_per_op,
            (None, Some(memory)) => memory.bytes_per_entry,
            (None, None) => f64::NAN,
        }
    }

    /// Reads a line that [`Line::json`] made; `None` if the text is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        const KNOWN: [&str; 18] = [
            "suite",
            "case",
            "subject",
            "index",
            "object",
            "options",
            "keys",
            "threads",
            "n",
            "ns_per_op",
            "min",
            "max",
            "q1",
            "q3",
            "runs",
            "cpu_ns_per_op",
            "bytes_per_entry",
            "rss_per_entry",
        ];
        let json: serde_json::Map<String, serde_json::Value> = serde_json::from_str(text).ok()?;
        let name = |field: &str| json.get(field)?.as_str().map(interned);
        let number = |field: &str| json.get(field)?.as_f64();
        let times = || {
            Some(Times {
                ns_per_op: number("ns_per_op")?,
                min: number("min")?,
                max: number("max")?,
                q1: number("q1")?,
                q3: number("q3")?,
                runs: number("runs")? as usize,
                cpu_ns_per_op: number("cpu_ns_per_op")?,
            })
        };
        let memory = || {
            Some(Memory {
                bytes_per_entry: number("bytes_per_entry")?,
                rss_per_entry: number("rss_per_entry")?,
            })
        };
        let further = json
            .iter()
            .filter(|(field, _)| !KNOWN.contains(&field.as_str()));
        Some(Self {
            suite: name("suite")?,
            case: name("case")?,
            subject: name("subject")?,
            index: name("index"),
            object: name("object"),
            options: name("options"),
            keys: name("keys")?,
            threads: number("threads")? as usize,
            n: number("n")? as usize,
            times: times(),
            memory: memory(),
            extra: further
                .filter_map(|(field, value)| Some((interned(field), value.as_f64()?)))
                .collect(),
        })
    }

    /// Returns the line as a JSON object.
    pub fn json(&self) -> String {
        // Every string is one of our own names: none needs escaping.
        let mut out = format!(
            r#"{{"suite":"{}","case":"{}","subject":"{}""#,
            self.suite, self.case, self.subject
        );
        if let Some(index) = self.index {
            let _ = write!(out, r#","index":"{index}""#);
        }
        if let Some(object) = self.object {
            let _ = write!(out, r#","object":"{object}""#);
        }
        if let Some(options) = self.options {
            let _ = write!(out, r#","options":"{options}""#);
        }
        let _ = write!(
            out,
            r#","keys":"{}","threads":{},"n":{}"#,
            self.keys, self.threads, self.n
        );
        if let Some(t) = &self.times {
            let _ = write!(
                out,
                r#","ns_per_op":{:.2},"min":{:.2},"max":{:.2},"q1":{:.2},"q3":{:.2},"runs":{},"cpu_ns_per_op":{:.2}"#,
                t.ns_per_op, t.min, t.max, t.q1, t.q3, t.runs, t.cpu_ns_per_op
            );
        }
        if let Some(m) = &self.memory {
            let _ = write!(
                out,
                r#","bytes_per_entry":{:.2},"rss_per_entry":{:.2}"#,
                m.bytes_per_entry, m.rss_per_entry
            );
        }
        for (field, value) in &self.extra {
            let _ = write!(out, r#","{field}":{value:.3}"#);
        }
        out.push('}');
        out
    }
}

/// Returns the text as one that is never freed: each different one is kept once, and names are few.
fn interned(text: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().expect("nothing panics with the lock");
    names.get(text).copied().unwrap_or_else(|| {
        let name: &'static str = Box::leak(text.into());
        names.insert(name);
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> Line {
        Line {
            suite: "core",
            case: "hit",
            subject: "fyris",
            index: Some("hash"),
            object: None,
            options: None,
            keys: "u64",
            threads: 2,
            n: 1000,
            times: None,
            memory: None,
            extra: Vec::new(),
        }
    }

    #[test]
    fn a_time_has_the_fields_of_the_vocabulary() {
        let mut series = Series::default();
        series.push(&Timing {
            wall: 40.0,
            cpu: 39.0,
            fairness: 1.0,
        });
        let line = Line {
            times: Some(series.times(false)),
            extra: vec![("fairness", 1.0)],
            ..line()
        };
        let again = Line::parse(&line.json()).expect("a line");
        assert_eq!(again.json(), line.json());
        assert_eq!(
            line.json(),
            concat!(
                r#"{"suite":"core","case":"hit","subject":"fyris","index":"hash","keys":"u64","#,
                r#""threads":2,"n":1000,"ns_per_op":40.00,"min":40.00,"max":40.00,"q1":40.00,"q3":40.00,"runs":1,"#,
                r#""cpu_ns_per_op":39.00,"fairness":1.000}"#
            )
        );
    }

    #[test]
    fn memory_has_bytes_per_entry() {
        let memory = Memory {
            bytes_per_entry: 36.5,
            rss_per_entry: 38.0,
        };
        let line = Line {
            case: "bytes",
            memory: Some(memory),
            ..line()
        };
        assert!(Line::parse(&line.json()).is_some_and(|again| again.figure() == 36.5));
        assert!(
            line.json()
                .ends_with(r#""bytes_per_entry":36.50,"rss_per_entry":38.00}"#)
        );
    }
}

//! `select` and its kin: queries in slices, with the plan behind the results.

use fyris::{Error, Explanation, MatchSpec, PlanKind, Query, Table};
use fyris_term::{Map, Term};

use crate::shell::error::ShellError;
use crate::shell::gather::Gathering;
use crate::shell::interrupt;
use crate::shell::query::Request;
use crate::shell::session::Session;

/// Objects visited between two looks for Ctrl-C: few at first, so that a small limit visits little more than it shows.
const SLICES: std::ops::RangeInclusive<usize> = 32..=4096;

/// Characters of a plan's bounds that are shown.
const BOUNDS_SHOWN: usize = 70;

/// Runs `select [TABLE] ...`.
pub(crate) fn select(session: &mut Session, request: Request) -> Result<(), ShellError> {
    let asked = Asked::new(session, &request)?;
    asked.results(session, asked.table.query(&asked.spec))
}

/// Runs `select_reverse [TABLE] ...`.
pub(crate) fn select_reverse(session: &mut Session, request: Request) -> Result<(), ShellError> {
    let asked = Asked::new(session, &request)?;
    asked.results(session, asked.table.query(&asked.spec).reverse())
}

/// Runs `select_count [TABLE] ...`.
pub(crate) fn select_count(session: &mut Session, request: Request) -> Result<(), ShellError> {
    let asked = Asked::new(session, &request)?;
    let query = asked.table.query(&asked.spec).counting();
    asked.number(session, query, "counted")
}

/// Runs `select_delete [TABLE] ...`.
pub(crate) fn select_delete(session: &mut Session, request: Request) -> Result<(), ShellError> {
    let asked = Asked::new(session, &request)?;
    let query = asked.table.query(&asked.spec).deleting();
    asked.number(session, query, "deleted")
}

/// Runs `select_replace [TABLE] ...`.
pub(crate) fn select_replace(session: &mut Session, request: Request) -> Result<(), ShellError> {
    let asked = Asked::new(session, &request)?;
    let query = asked.table.query(&asked.spec).replacing()?;
    asked.number(session, query, "replaced")
}

/// Runs `explain [TABLE] ...`.
pub(crate) fn explain(session: &mut Session, request: Request) -> Result<(), ShellError> {
    let asked = Asked::new(session, &request)?;
    let show = session.display();
    show.term(&request.spec)?;
    show.line(asked.plan())
}

/// A query that can run, and what it is going to do.
pub(crate) struct Asked {
    table: Table,
    spec: MatchSpec,
    plan: Explanation,
    gathering: Option<Gathering>,
    limit: Option<usize>,
    threads: usize,
    /// Are the results objects of the table?
    whole: bool,
}

impl Asked {
    fn new(session: &Session, request: &Request) -> Result<Asked, ShellError> {
        let table = session.table(request.table.as_ref())?;
        let spec = MatchSpec::new(&request.spec).map_err(Error::BadMatchSpec)?;
        for doubt in &request.doubts {
            session.display().warn(doubt);
        }
        if request.show_spec {
            session.display().term(&request.spec)?;
        }
        let gathering = request.shape.clone().map(Gathering::new).transpose()?;
        Ok(Asked {
            threads: request.threads,
            whole: request.whole,
            gathering,
            ..Asked::of(table, spec, request.limit)?
        })
    }

    /// Plans a query on one thread.
    pub(crate) fn of(
        table: Table,
        spec: MatchSpec,
        limit: Option<usize>,
    ) -> Result<Asked, ShellError> {
        let plan = table.explain(&spec)?;
        Ok(Asked {
            table,
            spec,
            plan,
            gathering: None,
            limit,
            threads: 1,
            whole: false,
        })
    }

    /// Returns its values, one by one.
    pub(crate) fn found(&self) -> QueryResults {
        QueryResults::new(self.table.query(&self.spec), self)
    }

    /// Returns whether it is going to visit all objects.
    pub(crate) fn is_full_scan(&self) -> bool {
        self.plan.kind == PlanKind::FullScan
    }

    /// Returns what it is going to do, in words.
    pub(crate) fn plan(&self) -> String {
        let (words, plan) = (plan_words(&self.plan), &self.plan);
        let (estimated, size) = (plan.estimated, plan.size);
        format!("{words}: about {estimated} of {size} objects would be visited")
    }

    /// Shows the values.
    pub(super) fn select(&self, session: &Session) -> Result<(), ShellError> {
        self.results(session, self.table.query(&self.spec))
    }

    /// Shows the values, page by page: as the query finds them, or all of them sorted or in groups.
    fn results(&self, session: &Session, query: Query) -> Result<(), ShellError> {
        let mut found = QueryResults::new(query, self);
        let names = match self.whole {
            true => session.names_shown(&self.table),
            false => &[],
        };
        let shown = match &self.gathering {
            None => session.show_found(self.limit, names, || found.next())?,
            Some(gathering) => {
                let limit = self.limit.unwrap_or(usize::MAX);
                let mut results = gathering.results(limit, || found.next())?.into_iter();
                session.show_found(self.limit, names, || Ok(results.next()))?
            }
        };
        self.report(&found.query, &format!("returned {shown}"));
        Ok(())
    }

    /// Prints the number of results, and the plan.
    fn number(&self, session: &Session, mut query: Query, what: &str) -> Result<(), ShellError> {
        query = query.threads(self.threads);
        let done = self.through(&mut query);
        let count = query.count();
        match done {
            Ok(()) => session.display().line(count)?,
            // Changes that were made stay made.
            Err(ShellError::Interrupted) => {
                eprintln!("{what} {count} until then");
                return Err(ShellError::Interrupted);
            }
            Err(error) => return Err(error),
        }
        self.report(&query, &format!("{what} {count}"));
        Ok(())
    }

    /// Runs a query to its end, unless Ctrl-C comes between two slices.
    fn through(&self, query: &mut Query) -> Result<(), ShellError> {
        match query.run_while(|| !interrupt::raised())? {
            true => Ok(()),
            false => Err(ShellError::Interrupted),
        }
    }

    /// Deletes the objects for which the value is `true`; returns how many there were.
    pub(crate) fn delete_all(&self) -> Result<u64, ShellError> {
        let mut query = self.table.query(&self.spec).deleting();
        self.through(&mut query)?;
        Ok(query.count() as u64)
    }

    /// Deletes the objects that match, and says how many there were.
    pub(super) fn delete(&self, session: &Session) -> Result<(), ShellError> {
        self.number(session, self.table.query(&self.spec).deleting(), "deleted")
    }

    /// Prints the plan and its outcome to standard error, beside the results and not among them.
    fn report(&self, query: &Query, done: &str) {
        eprintln!(
            "{}: visited {} of {}, {done}",
            plan_words(&self.plan),
            query.visited(),
            self.plan.size
        );
    }
}

/// The results of a query, one by one.
pub(crate) struct QueryResults {
    query: Query,
    ready: std::vec::IntoIter<Term>,
    /// Objects of the next slice.
    slice: usize,
    /// Results that are still wanted.
    left: usize,
    on_threads: bool,
    over: bool,
}

impl QueryResults {
    fn new(query: Query, asked: &Asked) -> QueryResults {
        QueryResults {
            query: query.threads(asked.threads),
            ready: Vec::new().into_iter(),
            slice: *SLICES.start(),
            left: match asked.gathering {
                None => asked.limit.unwrap_or(usize::MAX),
                Some(_) => usize::MAX,
            },
            on_threads: asked.threads > 1,
            over: false,
        }
    }

    /// Returns the next result.
    pub(crate) fn next(&mut self) -> Result<Option<Term>, ShellError> {
        while self.left > 0 {
            if let Some(value) = self.ready.next() {
                self.left -= 1;
                return Ok(Some(value));
            }
            if self.over {
                break;
            }
            self.more()?;
        }
        Ok(None)
    }

    fn more(&mut self) -> Result<(), ShellError> {
        interrupt::check()?;
        if self.on_threads {
            self.over = self.query.run_while(|| !interrupt::raised())?;
            interrupt::check()?;
        } else {
            self.over = !self.query.step(self.slice)?;
            self.slice = (self.slice * 2).min(*SLICES.end());
        }
        self.ready = self.query.take().into_iter();
        Ok(())
    }
}

// ---- plans in words

/// Returns the plan in words: `point 5`, `prefix {a,'_'}`, `range >= 10, < 20` or `full scan`; by a secondary index
/// `point london in by_city`.
fn plan_words(plan: &Explanation) -> String {
    let bounds = match &plan.plan {
        Term::Map(map) => bounds_of(map),
        _ => &[],
    };
    let name = plan.kind.name().replace('_', " ");
    if bounds.is_empty() {
        return name;
    }
    let bounds: Vec<String> = bounds.iter().map(bound_words).collect();
    let bounds = cut(&bounds.join("; "));
    match plan.secondary {
        Some(index) => format!("{name} {bounds} in {index}"),
        None => format!("{name} {bounds}"),
    }
}

fn bounds_of(map: &Map) -> &[Term] {
    let bounds = map.get(&Term::atom("bounds"));
    bounds.and_then(Term::as_list).unwrap_or(&[])
}

fn bound_words(bound: &Term) -> String {
    match bound.as_tuple() {
        Some([_, one]) => one.to_string(),
        Some([_, lower, upper]) => {
            let sides = [lower, upper].into_iter().filter_map(side_words);
            sides.collect::<Vec<_>>().join(", ")
        }
        _ => bound.to_string(),
    }
}

/// Returns one side of a range in words, `>= 10`; nothing for an open side.
fn side_words(side: &Term) -> Option<String> {
    match side.as_tuple() {
        Some([Term::Atom(sign), key]) => Some(format!("{} {key}", sign.as_str())),
        _ => None,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(BOUNDS_SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

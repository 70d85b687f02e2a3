//! From a plan to a scan: where the matching objects are, and about how many.

use std::sync::Arc;

use fyris_query::{KeyRange, MatchSpec, Plan, PlanKind, TableOrder};
use fyris_sync::reclaim::{Guard, LocalGuard};
use fyris_term::{Atom, Term, value};

use super::scan::{Part, Scan};
use crate::chain::{self, Fingerprints};
use crate::error::Result;
use crate::ids::TableType;
use crate::ops::Span;
use crate::secondary::{Candidates, Definition};
use crate::slot::Content;
use crate::table::Table;
use crate::view::{ReadMany, View};

/// Objects that are counted before a range is guessed at.
const EXACTLY: usize = 256;

/// Returns the order in which a table keeps its keys.
fn order(table: &Table) -> TableOrder {
    match table.table_type() {
        TableType::OrderedSet => TableOrder::Ordered,
        _ => TableOrder::Hash,
    }
}

/// Returns the plan of a specification for a table.
fn plan(table: &Table, spec: &MatchSpec) -> Arc<Plan> {
    spec.plan(table.keypos(), order(table))
}

/// Returns a scan of all that a specification can match.
pub(super) fn scan(table: &Table, spec: &MatchSpec) -> Scan {
    let ordered = table.table_type() == TableType::OrderedSet;
    let (parts, alike) = match point(table, spec) {
        Some(key) => (vec![Part::Key(key.to_vec())], alike(table, spec)),
        None => (found(table, spec).parts, chain::ANY),
    };
    Scan::new(parts, false, ordered, table.keypos()).of_alike(alike)
}

/// Returns the fingerprints of the objects that match, in a table with many of a key, if a specification names the key
/// in its head.
pub(super) fn alike(table: &Table, spec: &MatchSpec) -> Fingerprints {
    match table.table_type().is_bag() {
        true => value::fingerprints(&spec.prefix(table.keypos())),
        false => chain::ANY,
    }
}

/// Returns the bytes of the one key that a specification names in its head.
pub(super) fn point<'s>(table: &Table, spec: &'s MatchSpec) -> Option<&'s [u8]> {
    spec.point(table.keypos(), order(table))
}

/// How the objects of a query are found.
struct Found {
    plan: Arc<Plan>,
    parts: Vec<Part>,
    /// The secondary index that the plan is for, if it is not for the key.
    secondary: Option<Arc<Definition>>,
}

/// Returns the plan for the key; or, unless that names keys, the one for the first secondary index whose element has
/// one value in all objects that match, if it leaves fewer objects.
fn found(table: &Table, spec: &MatchSpec) -> Found {
    let plan = plan(table, spec);
    let by_key = Found {
        parts: parts(table, &plan),
        plan,
        secondary: None,
    };
    if let PlanKind::Point | PlanKind::Points = by_key.plan.kind() {
        return by_key;
    }
    let by_secondary = table.read(|view, pin| {
        let found = view
            .secondaries()
            .definitions()
            .find_map(|of| by_value(of, spec));
        let is_full = by_key.plan.kind() == PlanKind::FullScan;
        let left = |found: &Found| -> usize {
            let parts = found.parts.iter();
            parts.map(|part| estimate(part, &view, pin)).sum()
        };
        // Of more than are counted it is not known how many there are.
        let is_less = |found: &Found| left(found) < EXACTLY.min(left(&by_key));
        Ok(found.filter(|found| is_full || is_less(found)))
    });
    // Who may not read is told so by the query.
    by_secondary.ok().flatten().unwrap_or(by_key)
}

fn by_value(of: &Arc<Definition>, spec: &MatchSpec) -> Option<Found> {
    let plan = spec.plan(of.position()?, TableOrder::Hash);
    let [value] = plan.points() else {
        return None;
    };
    Some(Found {
        parts: vec![Part::Indexed(Candidates::new(of, value.bytes()))],
        secondary: Some(of.clone()),
        plan,
    })
}

fn parts(table: &Table, plan: &Plan) -> Vec<Part> {
    if plan.kind() == PlanKind::FullScan {
        return vec![Part::Span(Span::ALL)];
    }
    if table.table_type() != TableType::OrderedSet {
        let keys = plan.points().iter();
        return keys.map(|key| Part::Key(key.bytes().to_vec())).collect();
    }
    let part = |range: &KeyRange| match range.as_point() {
        Some(key) => Part::Key(key.to_vec()),
        None => Part::Span(Span::new(range.lower.clone(), range.upper.clone())),
    };
    plan.ranges().iter().map(part).collect()
}

/// The work that a query is going to do.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// The way in which the objects are found.
    pub kind: PlanKind,
    /// The plan in readable terms: see [`Plan::describe`].
    pub plan: Term,
    /// The secondary index that the plan is for, if it is not for the key.
    pub secondary: Option<Atom>,
    /// An estimate of the number of objects that will be visited.
    ///
    /// Exact, but for concurrent changes, for a full scan of a table without repeated keys and for up to 256 objects;
    /// 256 if a secondary index finds more; one for each key that is asked for; else guessed from where the bounds lie
    /// in the index, which is most often within a factor of two.
    pub estimated: usize,
    /// The number of objects in the table.
    pub size: usize,
}

impl Explanation {
    /// Returns the term `#{access => Kind, bounds => Bounds, estimated => Objects, size => Objects}`; with
    /// `secondary => Name`, if it finds objects by that secondary index.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// let plan = table.explain(&MatchSpec::new(&term!([{{1, :"_"}, [], [true]}]))?)?;
    /// let fyris::Term::Map(plan) = plan.to_term() else { panic!("a map") };
    /// assert_eq!(plan.get(&term!(:access)), Some(&term!(:point)));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn to_term(&self) -> Term {
        let mut pairs: Vec<(Term, Term)> = match &self.plan {
            Term::Map(plan) => plan.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
            _ => Vec::new(),
        };
        let number = |n: usize| Term::Int(n as i64);
        pairs.push((Term::atom("estimated"), number(self.estimated)));
        pairs.push((Term::atom("size"), number(self.size)));
        pairs.extend(
            self.secondary
                .map(|name| (Term::atom("secondary"), Term::Atom(name))),
        );
        pairs.into_iter().collect::<fyris_term::Map>().into()
    }
}

impl Table {
    /// Returns the plan of a query, and an estimate of the objects that it would visit. Visits none to say so, but up
    /// to 256 of a range.
    ///
    /// ```
    /// # use fyris::{MatchSpec, Options, PlanKind, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::ordered_set())?;
    /// table.insert_many((0..1000).map(|n| term!({n})))?;
    /// let low = MatchSpec::new(&term!([{{:"$1"}, [{:"<", :"$1", 10}], [:"$1"]}]))?;
    /// let plan = table.explain(&low)?;
    /// assert_eq!((plan.kind, plan.estimated, plan.size), (PlanKind::Range, 10, 1000));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    pub fn explain(&self, spec: &MatchSpec) -> Result<Explanation> {
        let Found {
            plan,
            parts,
            secondary,
        } = found(self, spec);
        self.read(|view, pin| {
            Ok(Explanation {
                secondary: secondary.map(|of| of.name),
                kind: plan.kind(),
                plan: plan.describe(),
                estimated: parts.iter().map(|part| estimate(part, &view, pin)).sum(),
                size: view.len(),
            })
        })
    }
}

fn estimate(part: &Part, view: &impl View, pin: &LocalGuard) -> usize {
    match part {
        Part::Key(_) => 1,
        Part::Indexed(left) => count_candidates(left, view, pin),
        Part::Waiting { addresses, .. } => addresses.len(),
        Part::Span(span) if *span == Span::ALL => view.about(),
        Part::Span(span) => count_or_guess(span, view, pin),
    }
}

/// Counts them, up to some number.
fn count_candidates(left: &Candidates, view: &impl View, pin: &LocalGuard) -> usize {
    let (by, mut keys) = (left.by_value(), Vec::new());
    view.read_many(pin)
        .candidates(by, &mut left.keys.clone(), false, EXACTLY, pin, &mut keys);
    keys.len()
}

fn count_or_guess(span: &Span, view: &impl View, pin: &impl Guard) -> usize {
    let mut few: Vec<Content> = Vec::new();
    let mut rest = span.clone();
    let more = view
        .read_many(pin)
        .scan(&mut rest, false, EXACTLY, pin, &mut few);
    if !more {
        return few.len();
    }
    let share = view.share_of_span(span, pin);
    few.len().max((share * view.about() as f64) as usize)
}

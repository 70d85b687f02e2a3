//! A whole query: which table, which specification, how much of the result.

use fyris_term::Term;

use super::expression::{Dollars, Expressions};
use super::scan::Scanner;
use super::shape::{Shape, ShapeParts};
use crate::shell::error::ShellError;
use crate::shell::names::Columns;

/// A query as it was asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Request {
    /// The table, if one was named.
    pub(crate) table: Option<Term>,
    /// The match specification, not checked.
    pub(crate) spec: Term,
    /// What is made of the values, if they are not the results.
    pub(crate) shape: Option<Box<Shape>>,
    /// The greatest number of results.
    pub(crate) limit: Option<usize>,
    /// On how many threads.
    pub(crate) threads: usize,
    /// Is the specification to be shown?
    pub(crate) show_spec: bool,
    /// Are the results the objects that match?
    pub(crate) whole: bool,
    /// What may not be meant as it was typed.
    pub(crate) doubts: Vec<String>,
}

/// The command's action on objects that match, which decides what the query may say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Does {
    /// Shows what `return` says, or the objects.
    Show,
    /// Counts them.
    Count,
    /// Deletes them.
    Delete,
    /// Puts what `return` says, which it must, in their places.
    Replace,
}

impl Does {
    fn returns(self) -> bool {
        matches!(self, Does::Show | Does::Replace)
    }

    fn shapes(self) -> bool {
        self == Does::Show
    }

    fn stops_early(self) -> bool {
        self == Does::Show
    }

    fn uses_threads(self) -> bool {
        matches!(self, Does::Show | Does::Count)
    }
}

/// Reads what stands behind the command, from byte `at` of `text` on.
pub(crate) fn parse(
    text: &str,
    at: usize,
    does: Does,
    columns: &Columns,
) -> Result<Request, ShellError> {
    let mut scan = Scanner::new(text, at);
    let table = table(&mut scan)?;
    let mut parts = Parts {
        columns: columns.of(table.as_ref()),
        atoms: columns.with_atoms(table.as_ref()),
        ..Parts::default()
    };
    let spec = match scan.rest().starts_with('[') {
        true => Some(scan.term()?),
        false => {
            parts.pattern(&mut scan)?;
            None
        }
    };
    while !scan.is_over() {
        parts.part(&mut scan, spec.is_some(), does)?;
    }
    if let (Does::Delete | Does::Replace, [doubt, ..]) = (does, &parts.doubts[..]) {
        return Err(scan.refused(&format!("{doubt}; so nothing is changed")));
    }
    let whole = spec.is_none() && parts.is_whole();
    let (spec, shape) = match spec {
        Some(spec) => (spec, None),
        None => parts.specification(&mut scan, does)?,
    };
    Ok(Request {
        table,
        spec,
        shape,
        limit: parts.limit,
        threads: parts.threads.unwrap_or(1),
        show_spec: parts.show_spec,
        whole,
        doubts: parts.doubts,
    })
}

impl Request {
    /// Returns the request of a call: `ets:select(Table, Spec)` or `ets:select(Table, Spec, Limit)`.
    pub(crate) fn of_call(terms: Vec<Term>, does: Does) -> Option<Request> {
        let mut terms = terms.into_iter();
        let (table, spec) = (terms.next()?, terms.next()?);
        let limit = match terms.next() {
            None => None,
            Some(_) if !does.stops_early() => return None,
            Some(limit) => Some(usize::try_from(limit.as_int()?).ok().filter(|&n| n > 0)?),
        };
        terms.next().is_none().then_some(Request {
            table: Some(table),
            spec,
            shape: None,
            limit,
            threads: 1,
            show_spec: false,
            whole: false,
            doubts: Vec::new(),
        })
    }
}

/// Words that begin a part.
const WORDS: [&str; 7] = [
    "where", "return", "group", "sort", "limit", "threads", "spec",
];

/// Words that can stand in a query, for completion.
pub(crate) fn words() -> impl Iterator<Item = &'static str> {
    let more = ["by", "asc", "desc", "in", "between", "like"];
    WORDS.into_iter().chain(more)
}

/// Returns the table's name: an atom that is none of the words, or one in quotes.
fn table(scan: &mut Scanner<'_>) -> Result<Option<Term>, ShellError> {
    let word = scan.word();
    let quoted = scan.rest().starts_with('\'');
    if !quoted && (word.is_empty() || WORDS.contains(&word)) {
        return Ok(None);
    }
    let name = scan.term()?;
    scan.take(",");
    Ok(Some(name))
}

/// The parts of a query, in the order in which they come.
#[derive(Default)]
struct Parts<'c> {
    /// The columns of the table.
    columns: &'c [String],
    /// Those that may hold atoms.
    atoms: &'c [String],
    doubts: Vec<String>,
    pattern: Option<Term>,
    guards: Option<Vec<Term>>,
    body: Option<Term>,
    shape: ShapeParts,
    limit: Option<usize>,
    threads: Option<usize>,
    show_spec: bool,
}

impl Parts<'_> {
    fn pattern(&mut self, scan: &mut Scanner<'_>) -> Result<(), ShellError> {
        if scan.rest().starts_with('{') {
            self.pattern = Some(Expressions::new(scan, Dollars::Variables, (&[], &[])).pattern()?);
        }
        Ok(())
    }

    /// Returns the meaning of `$1` here.
    fn dollars(&self) -> Dollars {
        match self.pattern {
            Some(_) => Dollars::Variables,
            None => Dollars::Elements,
        }
    }

    fn part(
        &mut self,
        scan: &mut Scanner<'_>,
        has_spec: bool,
        does: Does,
    ) -> Result<(), ShellError> {
        let dollars = self.dollars();
        match scan.word() {
            "where" if !has_spec && self.guards.is_none() => {
                scan.take("where");
                self.guards = Some(self.expressions(scan, dollars)?);
            }
            "return" if !has_spec && self.body.is_none() && does.returns() => {
                scan.take("return");
                self.body = Some(self.result(scan, dollars, does)?);
            }
            "group" if !has_spec && self.shape.group.is_none() && does.shapes() => {
                scan.take("group");
                scan.expect("by", "`by`")?;
                self.shape.group = Some(self.expressions(scan, dollars)?);
            }
            "sort" if !has_spec && self.shape.sort.is_empty() && does.shapes() => {
                scan.take("sort");
                scan.expect("by", "`by`")?;
                self.order(scan, dollars, does)?;
            }
            "limit" if self.limit.is_none() && does.stops_early() => {
                scan.take("limit");
                self.limit = Some(scan.count("a number above zero")?);
            }
            "threads" if self.threads.is_none() && does.uses_threads() => {
                scan.take("threads");
                self.threads = Some(scan.count("a number above zero")?);
            }
            "spec" if !self.show_spec => self.show_spec = scan.take("spec"),
            _ => return Err(scan.expected(&self.what_may_come(has_spec, does))),
        }
        Ok(())
    }

    /// Lists the words that may stand here.
    fn what_may_come(&self, has_spec: bool, does: Does) -> String {
        let open = !has_spec;
        let mut words = Vec::new();
        if open && self.guards.is_none() {
            words.push("`where`");
        }
        if open && self.body.is_none() && does.returns() {
            words.push("`return`");
        }
        if open && self.shape.group.is_none() && does.shapes() {
            words.push("`group by`");
        }
        if open && self.shape.sort.is_empty() && does.shapes() {
            words.push("`sort by`");
        }
        if open && (self.guards.is_some() || self.body.is_some()) {
            words.push("an operator");
        }
        let options = [
            (self.limit.is_none() && does.stops_early(), "`limit N`"),
            (self.threads.is_none() && does.uses_threads(), "`threads N`"),
            (!self.show_spec, "`spec`"),
        ];
        words.extend(
            options
                .iter()
                .filter(|(open, _)| *open)
                .map(|(_, word)| word),
        );
        words.join(", ")
    }

    /// Returns whether the results are objects.
    fn is_whole(&self) -> bool {
        let plain = self.shape.group.is_none() && self.shape.aggregates.len() == 0;
        plain && self.body.is_none()
    }

    /// Returns the specification that the shorthand stands for, and what is made of its values.
    fn specification(
        &mut self,
        scan: &mut Scanner<'_>,
        does: Does,
    ) -> Result<(Term, Option<Box<Shape>>), ShellError> {
        if does == Does::Delete && self.pattern.is_none() && self.guards.is_none() {
            return Err(scan.expected("what to delete (`delete_all` empties a table)"));
        }
        let (body, shape) = match (self.body.take(), does) {
            (body, Does::Show) => std::mem::take(&mut self.shape).finish(body, self.columns)?,
            (Some(body), _) => (body, None),
            (None, Does::Count | Does::Delete) => (Term::atom("true"), None),
            (None, Does::Replace) => {
                return Err(scan.expected("`return` and what takes the place of an object"));
            }
        };
        let mut guards = self.guards.take().unwrap_or_default();
        if does == Does::Replace && self.pattern.is_none() && !self.columns.is_empty() {
            self.check_replacement(scan, &body)?;
            if has_call(&body) {
                // Where the value cannot be computed, as `age + 1` of an empty age, the object stays.
                guards.push(Term::tuple(vec![Term::atom("is_tuple"), body.clone()]));
            }
        }
        let head = self.pattern.take().unwrap_or_else(|| self.any_object(does));
        let guards = Term::list(guards);
        let clause = Term::tuple(vec![head, guards, Term::list(vec![body])]);
        Ok((Term::list(vec![clause]), shape))
    }

    /// Refuses what would have another number of elements than there are columns.
    fn check_replacement(&self, scan: &Scanner<'_>, body: &Term) -> Result<(), ShellError> {
        let elements = match body.as_tuple() {
            Some([Term::Tuple(elements)]) => elements.len(),
            _ => return Ok(()),
        };
        if elements == self.columns.len() {
            return Ok(());
        }
        let names = self.columns.join(", ");
        let problem = format!("an object of {elements} elements for one with the columns {names}");
        Err(scan.refused(&problem))
    }

    /// Returns the pattern of all objects. What replaces an object needs a place for the key in the pattern, so there
    /// it is of the objects that have all columns, and no other elements.
    fn any_object(&self, does: Does) -> Term {
        let anything = Term::atom("_");
        match self.columns.len() {
            columns if does == Does::Replace && columns > 0 => Term::tuple(vec![anything; columns]),
            _ => anything,
        }
    }

    /// Parses expressions with commas between.
    fn expressions(
        &mut self,
        scan: &mut Scanner<'_>,
        dollars: Dollars,
    ) -> Result<Vec<Term>, ShellError> {
        let mut terms = Vec::new();
        loop {
            let columns = (self.columns, self.atoms);
            let mut expressions = Expressions::new(scan, dollars, columns);
            terms.push(expressions.expression()?);
            self.doubts.append(&mut expressions.doubts);
            if !scan.take(",") {
                return Ok(terms);
            }
        }
    }

    /// Parses an expression that aggregates may stand in, if the command has groups.
    fn result(
        &mut self,
        scan: &mut Scanner<'_>,
        dollars: Dollars,
        does: Does,
    ) -> Result<Term, ShellError> {
        let mut expressions = Expressions::new(scan, dollars, (self.columns, self.atoms));
        if does.shapes() {
            expressions = expressions.aggregating(&mut self.shape.aggregates);
        }
        let term = expressions.expression()?;
        if does.shapes() && !self.columns.is_empty() {
            expressions.doubt_constant(&term);
        }
        self.doubts.append(&mut expressions.doubts);
        Ok(term)
    }

    /// Parses what stands behind `sort by`.
    fn order(
        &mut self,
        scan: &mut Scanner<'_>,
        dollars: Dollars,
        does: Does,
    ) -> Result<(), ShellError> {
        loop {
            let value = self.result(scan, dollars, does)?;
            let descending = scan.take("desc");
            if !descending {
                scan.take("asc");
            }
            self.shape.sort.push((value, descending));
            if !scan.take(",") {
                return Ok(());
            }
        }
    }
}

/// Returns whether an expression of a match specification computes something.
fn has_call(body: &Term) -> bool {
    match body {
        Term::Tuple(parts) => match &parts[..] {
            [Term::Tuple(elements)] => elements.iter().any(has_call),
            parts => !parts.is_empty(),
        },
        Term::List(elements) => elements.iter().any(has_call),
        Term::Map(map) => map.iter().any(|(_, value)| has_call(value)),
        _ => false,
    }
}

//! Match specifications: made, asked, run.

use std::fmt;
use std::sync::Arc;

use fyris_term::Term;

use crate::compile;
use crate::compile::error::SpecError;
use crate::compile::key_preservation::{self, KeyChanges};
use crate::plan;
use crate::program::plan::{Plan, TableOrder};
use crate::program::{Clause, Node, Pattern, Program};
use crate::run;
use crate::run::context::Run;
use crate::run::eval::Evaluation;
use crate::run::machine::Machine;
use crate::run::object::ObjectView;
use crate::run::value::Subject;
use crate::syntax::atoms::known;

/// A match specification, checked and compiled. Cloning shares it.
#[derive(Clone)]
pub struct MatchSpec {
    pub(crate) program: Arc<Program>,
}

/// What a match pattern asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// `match`: the list of what the variables are bound to, in the order of their numbers.
    Bindings,
    /// `match_object`: the objects.
    Objects,
    /// `match_delete`: `true`, so that [`MatchSpec::matches_true`] says what to delete.
    True,
}

impl MatchSpec {
    /// Compiles a list of `{Head, Guards, Body}`. O(size).
    ///
    /// The empty list is accepted, as `ets:select` does, and matches nothing; [`MatchSpec::compile`] refuses it.
    ///
    /// # Errors
    ///
    /// [`SpecError::Bad`] with everything that is wrong; [`SpecError::SystemLimit`] if a head, a guard or a body is
    /// nested deeper than [`fyris_term::MAX_DEPTH`] levels.
    pub fn new(spec: &Term) -> Result<MatchSpec, SpecError> {
        let program = Arc::new(compile::specification(spec)?);
        Ok(MatchSpec { program })
    }

    /// As [`MatchSpec::new`], but as `ets:match_spec_compile` and `ets:test_ms` have it: there must be a clause.
    ///
    /// # Errors
    ///
    /// Those of [`MatchSpec::new`], and a list without clauses.
    pub fn compile(spec: &Term) -> Result<MatchSpec, SpecError> {
        let compiled = MatchSpec::new(spec)?;
        if compiled.is_empty() {
            return Err(compile::no_clause());
        }
        Ok(compiled)
    }

    /// The specification of one clause without guards that a match pattern stands for.
    ///
    /// # Errors
    ///
    /// A variable or `'_'` as a key of a map; too deep a pattern.
    pub fn pattern(pattern: &Term, wanted: Wanted) -> Result<MatchSpec, SpecError> {
        let body = match wanted {
            Wanted::Bindings => known().bindings,
            Wanted::Objects => known().object,
            Wanted::True => known().r#true,
        };
        let body = Term::List(vec![Term::Atom(body)]);
        compile::pattern(pattern, body).map(|program| MatchSpec {
            program: Arc::new(program),
        })
    }

    /// The term it was made of.
    pub fn source(&self) -> &Term {
        &self.program.source
    }

    /// Has it no clauses?
    pub fn is_empty(&self) -> bool {
        self.program.clauses.is_empty()
    }

    /// Is it `[{'_', [], [true]}]`, or another that gives `true` for every object whatever it is? `ets:select_delete`
    /// of it empties the table in one step.
    pub fn is_catch_all_true(&self) -> bool {
        let Some(clause) = self.program.clauses.first() else {
            return false;
        };
        clause.late.len == 0
            && matches!(clause.head, Pattern::Any | Pattern::Bind)
            && clause.is_true
    }

    /// Does it ask who runs it, or on which node? If not, any [`Machine`] will do.
    pub fn asks_machine(&self) -> bool {
        use crate::syntax::function::Function::{Node as OfRun, NodeOf, SelfPid};
        let asks = |node: &Node| matches!(node, Node::Call(OfRun | NodeOf | SelfPid, _));
        self.program.nodes.iter().any(asks)
    }

    /// Is the value always the whole object, `'$_'`? Then a caller who has the object need not build it again.
    pub fn returns_object(&self) -> bool {
        let is_object = |clause: &Clause| matches!(self.program.node(clause.body), Node::Object);
        self.program.clauses.iter().all(is_object)
    }

    /// Which keys of a table can match. O(size of the specification), but for the sorting of many ranges; the first
    /// plan is kept, and given again for tables of the same shape.
    pub fn plan(&self, keypos: usize, order: TableOrder) -> Arc<Plan> {
        plan::plan(&self.program, keypos, order)
    }

    /// The bytes of the one key that all matching objects have, if the head names it: order bytes for an ordered table,
    /// exact ones for a hash table. O(1); a [`MatchSpec::plan`] of the same key is dearer than the lookup. `None` does not
    /// mean that there is no such key.
    #[inline]
    pub fn point(&self, keypos: usize, order: TableOrder) -> Option<&[u8]> {
        plan::point(&self.program, keypos, order)
    }

    /// Whether every body keeps the key of the object it replaces. O(size).
    ///
    /// # Errors
    ///
    /// The first clause of which that cannot be seen.
    pub fn preserves_key(&self, keypos: usize) -> Result<(), KeyChanges> {
        key_preservation::check(self.source(), keypos)
    }

    /// The value of the first clause that matches a stored object; `None` if none does. A call in the body that fails
    /// is worth `'EXIT'`.
    #[inline]
    pub fn run(&self, object: &ObjectView<'_>, machine: &Machine) -> Option<Term> {
        if self.prefilter(object) == Some(false) {
            return None;
        }
        run::first_match(
            &self.program,
            &Run::new(Subject::Stored(object)),
            machine,
            |eval| eval.body(),
        )
    }

    /// Whether the value of the first clause that matches is exactly `true`: `select_count` and `select_delete`. Nothing
    /// is built that need not be.
    #[inline(always)]
    pub fn matches_true(&self, object: &ObjectView<'_>, machine: &Machine) -> bool {
        match (self.prefilter(object), &self.program.prefilter) {
            (Some(false), _) => false,
            (Some(true), Some(prefilter)) if prefilter.is_true() => true,
            _ => self.matches_true_slow(object, machine),
        }
    }

    /// Whether it is known that no clause matches an object of so many elements, of which `int` tells integers by their
    /// places, from 1. For those who come by integers with less work than by an [`ObjectView`]; `false` says nothing.
    #[inline(always)]
    pub fn rejects(&self, arity: usize, int: impl FnOnce(usize) -> Option<i64>) -> bool {
        let prefilter = self.program.prefilter.as_ref();
        prefilter.is_some_and(|prefilter| prefilter.rejects(arity, int))
    }

    #[inline(never)]
    fn matches_true_slow(&self, object: &ObjectView<'_>, machine: &Machine) -> bool {
        let is_true = |eval: &Evaluation<'_, '_>| eval.body_is_true();
        let run = Run::new(Subject::Stored(object));
        run::first_match(&self.program, &run, machine, is_true).unwrap_or(false)
    }

    /// Whether a stored object passes the prefilter; `None` if only the slow path can tell.
    #[inline(always)]
    fn prefilter(&self, object: &ObjectView<'_>) -> Option<bool> {
        self.program.prefilter.as_ref()?.passes(object)
    }

    /// Whether any clause matches, without evaluating its body.
    #[inline]
    pub fn matches(&self, object: &ObjectView<'_>, machine: &Machine) -> bool {
        if self.prefilter(object) == Some(false) {
            return false;
        }
        run::first_match(
            &self.program,
            &Run::new(Subject::Stored(object)),
            machine,
            |_| (),
        )
        .is_some()
    }

    /// As [`MatchSpec::run`], over a term, which need not be a tuple: `match_spec_run`, `test_ms`.
    #[inline]
    pub fn run_term(&self, term: &Term, machine: &Machine) -> Option<Term> {
        run::first_match(
            &self.program,
            &Run::new(Subject::Term(term)),
            machine,
            |eval| eval.body(),
        )
    }

    /// As [`MatchSpec::run`], appending the value to `values`; whether a clause matched. Faster where values are kept
    /// in a vector anyway: small ones are written where they belong.
    #[inline(always)]
    pub fn run_into(
        &self,
        object: &ObjectView<'_>,
        machine: &Machine,
        values: &mut Vec<Term>,
    ) -> bool {
        match (self.prefilter(object), &self.program.prefilter) {
            (Some(false), _) => false,
            (Some(true), Some(prefilter)) if prefilter.push(object, values) => true,
            _ => self.run_into_slow(Subject::Stored(object), machine, values),
        }
    }

    #[inline(never)]
    fn run_into_slow(
        &self,
        subject: Subject<'_>,
        machine: &Machine,
        values: &mut Vec<Term>,
    ) -> bool {
        let push = |eval: &Evaluation<'_, '_>| eval.push_body(values);
        run::first_match(&self.program, &Run::new(subject), machine, push).is_some()
    }

    /// As [`MatchSpec::run_term`], appending the value to `values`; whether a clause matched.
    #[inline(always)]
    pub fn run_term_into(&self, term: &Term, machine: &Machine, values: &mut Vec<Term>) -> bool {
        let prefilter = self.program.prefilter.as_ref();
        match prefilter.and_then(|prefilter| Some((prefilter.passes_term(term)?, prefilter))) {
            Some((false, _)) => false,
            Some((true, prefilter)) if prefilter.push_term(term, values) => true,
            _ => self.run_into_slow(Subject::Term(term), machine, values),
        }
    }
}

impl fmt::Debug for MatchSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MatchSpec({})", self.source())
    }
}

/// Two specifications are equal if they were made of the same term.
impl PartialEq for MatchSpec {
    fn eq(&self, other: &MatchSpec) -> bool {
        Arc::ptr_eq(&self.program, &other.program) || self.source() == other.source()
    }
}
impl Eq for MatchSpec {}

/// `ets:test_ms`: what a specification makes of a tuple or any other term.
///
/// `Ok(None)` means that no clause matches, which `test_ms` writes as `{ok, false}`. [`SpecError::texts`] are the texts
/// of `{error, Texts}`.
///
/// # Errors
///
/// Those of [`MatchSpec::compile`].
pub fn test_ms(subject: &Term, spec: &Term, machine: &Machine) -> Result<Option<Term>, SpecError> {
    Ok(MatchSpec::compile(spec)?.run_term(subject, machine))
}

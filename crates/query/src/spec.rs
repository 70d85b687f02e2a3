//! [`MatchSpec`]: the door to compiling, planning and running.

use std::fmt;
use std::str::FromStr;
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
///
/// ```
/// use fyris_query::{Machine, MatchSpec};
/// use fyris_term::term;
///
/// // Of objects `{Name, Age}` whose age is at least 18, the name.
/// let adults = MatchSpec::new(&term!([{{:"$1", :"$2"}, [{:">=", :"$2", 18}], [:"$1"]}]))?;
/// let here = Machine::default();
/// assert_eq!(adults.run_term(&term!({"Ada", 36}), &here), Some(term!("Ada")));
/// assert_eq!(adults.run_term(&term!({"Bob", 7}), &here), None);
/// # Ok::<(), fyris_query::SpecError>(())
/// ```
#[derive(Clone)]
pub struct MatchSpec {
    pub(crate) program: Arc<Program>,
}

/// Compiles a specification in Erlang's syntax, as [`MatchSpec::new`] does.
///
/// ```
/// use fyris_query::{Machine, MatchSpec, SpecError};
/// use fyris_term::term;
///
/// let adults: MatchSpec = "[{{'$1', '$2'}, [{'>=', '$2', 18}], ['$1']}]".parse()?;
/// assert_eq!(adults.run_term(&term!({"Ada", 36}), &Machine::default()), Some(term!("Ada")));
/// assert!(matches!("[{'$1', ".parse::<MatchSpec>(), Err(SpecError::Text(_))));
/// # Ok::<(), SpecError>(())
/// ```
impl FromStr for MatchSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<MatchSpec, SpecError> {
        let spec = Term::parse(text).map_err(|error| SpecError::Text(Box::new(error)))?;
        MatchSpec::of(spec)
    }
}

/// The results that a match pattern asks for.
///
/// ```
/// use fyris_query::{Machine, MatchSpec, Wanted};
/// use fyris_term::term;
///
/// let spec = MatchSpec::pattern(&term!({:"$2", :"$1"}), Wanted::Bindings)?;
/// assert_eq!(spec.run_term(&term!({1, 2}), &Machine::default()), Some(term!([2, 1])));
/// # Ok::<(), fyris_query::SpecError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// `match`: the list of what the variables are bound to, in the order of their numbers.
    Bindings,
    /// `match_object`: the objects.
    Objects,
    /// `match_delete`: `true`, so that [`MatchSpec::matches_true`] decides which objects to delete.
    True,
}

impl MatchSpec {
    /// Compiles a list of `{Head, Guards, Body}`. O(size).
    ///
    /// The empty list is accepted, as `ets:select` does, and matches nothing; [`MatchSpec::compile`] refuses it.
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// let error = MatchSpec::new(&term!([{:"_", [{:no_such, 1}], [:"$7"]}])).unwrap_err();
    /// assert_eq!(error.texts().len(), 2); // all that is wrong
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError::Bad`] with everything that is wrong.
    pub fn new(spec: &Term) -> Result<MatchSpec, SpecError> {
        MatchSpec::of(spec.clone())
    }

    /// Compiles like [`MatchSpec::new`], from an owned term, which the specification keeps as its source.
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// assert_eq!(MatchSpec::of(term!([]))?, MatchSpec::new(&term!([]))?);
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError::Bad`] with everything that is wrong.
    pub fn of(spec: Term) -> Result<MatchSpec, SpecError> {
        let program = Arc::new(compile::specification(spec)?);
        Ok(MatchSpec { program })
    }

    /// Compiles a list of at least one clause, as `ets:match_spec_compile` and `ets:test_ms` demand.
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// assert!(MatchSpec::compile(&term!([])).is_err() && MatchSpec::new(&term!([])).is_ok());
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError::Bad`] with everything that is wrong, also for a list without clauses.
    pub fn compile(spec: &Term) -> Result<MatchSpec, SpecError> {
        let compiled = MatchSpec::new(spec)?;
        if compiled.is_empty() {
            return Err(compile::no_clause());
        }
        Ok(compiled)
    }

    /// Compiles a match pattern into a specification of one clause without guards.
    ///
    /// ```
    /// use fyris_query::{Machine, MatchSpec, Wanted};
    /// use fyris_term::term;
    ///
    /// let spec = MatchSpec::pattern(&term!({:"_", 2}), Wanted::Objects)?;
    /// assert_eq!(spec.run_term(&term!({1, 2}), &Machine::default()), Some(term!({1, 2})));
    /// assert!(MatchSpec::pattern(&term!(#{:"$1" => 2}), Wanted::Objects).is_err());
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError::Bad`] for a variable or `'_'` as a key of a map.
    pub fn pattern(pattern: &Term, wanted: Wanted) -> Result<MatchSpec, SpecError> {
        MatchSpec::of_pattern(pattern.clone(), wanted)
    }

    /// Compiles like [`MatchSpec::pattern`], from an owned term, which the specification keeps in its source.
    ///
    /// ```
    /// use fyris_query::{MatchSpec, Wanted};
    /// use fyris_term::term;
    ///
    /// let spec = MatchSpec::of_pattern(term!({1, :"_"}), Wanted::True)?;
    /// assert_eq!(spec.source(), &term!([{{1, :"_"}, [], [true]}]));
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`SpecError::Bad`] for a variable or `'_'` as a key of a map.
    pub fn of_pattern(pattern: Term, wanted: Wanted) -> Result<MatchSpec, SpecError> {
        let body = match wanted {
            Wanted::Bindings => known().bindings,
            Wanted::Objects => known().object,
            Wanted::True => known().r#true,
        };
        let body = Term::list(vec![Term::Atom(body)]);
        compile::pattern(pattern, body).map(|program| MatchSpec {
            program: Arc::new(program),
        })
    }

    /// Returns the term that the specification was made of.
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// let term = term!([{:"_", [], [true]}]);
    /// assert_eq!(MatchSpec::new(&term)?.source(), &term);
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    pub fn source(&self) -> &Term {
        &self.program.source
    }

    /// Returns whether there are no clauses.
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// assert!(MatchSpec::new(&term!([]))?.is_empty());
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.program.clauses.is_empty()
    }

    /// Returns whether the value is `true` for every object, as that of `[{'_', [], [true]}]` is. `ets:select_delete`
    /// of such a specification empties the table in one step.
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// assert!(MatchSpec::new(&term!([{:"_", [], [true]}]))?.is_catch_all_true());
    /// assert!(!MatchSpec::new(&term!([{{:"_"}, [], [true]}]))?.is_catch_all_true()); // tuples of one
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    pub fn is_catch_all_true(&self) -> bool {
        let Some(clause) = self.program.clauses.first() else {
            return false;
        };
        clause.late.len == 0
            && matches!(clause.head, Pattern::Any | Pattern::Bind)
            && clause.is_true
    }

    /// Returns whether a value can depend on the [`Machine`]: on the process or the node that runs the specification.
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// assert!(MatchSpec::new(&term!([{:"_", [], [{:self}]}]))?.asks_machine());
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    pub fn asks_machine(&self) -> bool {
        use crate::syntax::function::Function::{Node as OfRun, NodeOf, SelfPid};
        let asks = |node: &Node| matches!(node, Node::Call(OfRun | NodeOf | SelfPid, _));
        self.program.nodes.iter().any(asks)
    }

    /// Returns whether the value is always the whole object, `'$_'`: a caller that has the object need not build it.
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// assert!(MatchSpec::new(&term!([{{1}, [], [:"$_"]}]))?.returns_object());
    /// assert!(!MatchSpec::new(&term!([{:"$1", [], [:"$1"]}]))?.returns_object()); // is not seen
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    pub fn returns_object(&self) -> bool {
        let is_object = |clause: &Clause| matches!(self.program.node(clause.body), Node::Object);
        self.program.clauses.iter().all(is_object)
    }

    /// Returns the keys of a table that can match. O(size of the specification), and O(n log n) in its ranges; the
    /// first plan is kept, and returned again for tables of the same shape.
    pub fn plan(&self, keypos: usize, order: TableOrder) -> Arc<Plan> {
        plan::plan(&self.program, keypos, order)
    }

    /// Returns the bytes of the one key that every matching object has, if the head names it: order bytes for an
    /// ordered table, exact bytes for a hash table. O(1), where making a [`MatchSpec::plan`] costs more than the
    /// lookup. `None` does not mean that there is no such key.
    #[inline]
    pub fn point(&self, keypos: usize, order: TableOrder) -> Option<&[u8]> {
        plan::point(&self.program, keypos, order)
    }

    /// Returns bytes that the values of every matching object begin with, in whole terms and headers of terms, if the
    /// head names the key: for a bag, which finds the objects of a key by these. O(size of the head). Empty bytes do
    /// not mean that there are none.
    pub fn prefix(&self, keypos: usize) -> Vec<u8> {
        plan::prefix(&self.program, keypos)
    }

    /// Checks that every body preserves the key of the object it replaces. O(size).
    ///
    /// ```
    /// use fyris_query::MatchSpec;
    /// use fyris_term::term;
    ///
    /// let spec = MatchSpec::new(&term!([{{:"$1", :"_"}, [], [{{:"$1", 0}}]}]))?;
    /// assert!(spec.preserves_key(1).is_ok() && spec.preserves_key(2).is_err());
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first clause whose body might change the key.
    pub fn preserves_key(&self, keypos: usize) -> Result<(), KeyChanges> {
        key_preservation::check(self.source(), keypos)
    }

    /// Returns the value of the first clause that matches a stored object; `None` if none does. The value of a call
    /// in the body that fails is `'EXIT'`.
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

    /// Returns whether the value of the first clause that matches is exactly `true`, for `select_count` and
    /// `select_delete`. Builds no value that the answer does not need.
    #[inline(always)]
    pub fn matches_true(&self, object: &ObjectView<'_>, machine: &Machine) -> bool {
        match (self.prefilter(object), &self.program.prefilter) {
            (Some(false), _) => false,
            (Some(true), Some(prefilter)) if prefilter.is_true() => true,
            _ => self.matches_true_slow(object, machine),
        }
    }

    /// Returns whether the prefilter rejects an object of `arity` elements: then no clause matches; `false` says
    /// nothing. `int` returns an element, counted from 1, if it is a small integer. For callers that can read an
    /// integer with less work than an [`ObjectView`] takes.
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

    /// Returns whether a stored object passes the prefilter; `None` if only the slow path can tell.
    #[inline(always)]
    fn prefilter(&self, object: &ObjectView<'_>) -> Option<bool> {
        self.program.prefilter.as_ref()?.passes(object)
    }

    /// Returns whether any clause matches, without evaluating its body.
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

    /// Returns the value of the first clause that matches a term, which need not be a tuple, for `match_spec_run` and
    /// `test_ms`; see [`MatchSpec::run`].
    ///
    /// ```
    /// use fyris_query::{Machine, MatchSpec};
    /// use fyris_term::term;
    ///
    /// let spec = MatchSpec::new(&term!([{:"$1", [], [{:"+", :"$1", 1}]}]))?;
    /// assert_eq!(spec.run_term(&term!(1), &Machine::default()), Some(term!(2)));
    /// assert_eq!(spec.run_term(&term!(:a), &Machine::default()), Some(term!(:"EXIT")));
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
    #[inline]
    pub fn run_term(&self, term: &Term, machine: &Machine) -> Option<Term> {
        run::first_match(
            &self.program,
            &Run::new(Subject::Term(term)),
            machine,
            |eval| eval.body(),
        )
    }

    /// Appends the value of the first clause that matches a stored object to `values`, and returns whether one
    /// matched. Faster than [`MatchSpec::run`] for many objects: small values are written to their place in the
    /// vector.
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

    /// Appends the value of the first clause that matches a term to `values`, and returns whether one matched.
    ///
    /// ```
    /// use fyris_query::{Machine, MatchSpec};
    /// use fyris_term::term;
    ///
    /// let (spec, mut values) = (MatchSpec::new(&term!([{{:"$1"}, [], [:"$1"]}]))?, Vec::new());
    /// assert!(spec.run_term_into(&term!({1}), &Machine::default(), &mut values));
    /// assert!(!spec.run_term_into(&term!({1, 2}), &Machine::default(), &mut values));
    /// assert_eq!(values, [term!(1)]);
    /// # Ok::<(), fyris_query::SpecError>(())
    /// ```
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

/// Runs a specification over a tuple or any other term, as `ets:test_ms` does.
///
/// `Ok(None)` means that no clause matches, which `test_ms` writes as `{ok, false}`. [`SpecError::texts`] are the
/// texts of `{error, Texts}`.
///
/// ```
/// use fyris_query::{Machine, test_ms};
/// use fyris_term::term;
///
/// let spec = term!([{{:"$1", :"_"}, [], [:"$1"]}]);
/// assert_eq!(test_ms(&term!({1, 2}), &spec, &Machine::default())?, Some(term!(1)));
/// assert_eq!(test_ms(&term!({1}), &spec, &Machine::default())?, None);
/// # Ok::<(), fyris_query::SpecError>(())
/// ```
///
/// # Errors
///
/// [`SpecError::Bad`] with everything that is wrong, also for a list without clauses.
pub fn test_ms(subject: &Term, spec: &Term, machine: &Machine) -> Result<Option<Term>, SpecError> {
    Ok(MatchSpec::compile(spec)?.run_term(subject, machine))
}

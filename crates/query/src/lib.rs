#![doc = include_str!("../README.md")]
//!
//! # Inside
//!
//! Match patterns and match specifications: parse, check, plan, compile, run.
//!
//! # Why a crate
//!
//! `select`, `match` and the calls like them need two things of every object: whether it matches, and the value that
//! the specification gives it. This crate computes both, over objects as a table stores them and over terms
//! (`match_spec_run`, `test_ms`), and plans beforehand which keys can match. It knows nothing of tables: it sees
//! storage only as an [`ObjectView`].
//!
//! # The language
//!
//! A specification is a list of clauses `{Head, Guards, Body}`. The first clause whose head matches and whose guards
//! all hold gives the object its value. A [`MatchSpec`] is a compiled specification.
//!
//! | part | rules |
//! |---|---|
//! | head | `'_'` matches anything, `'$0'` to `'$2147483647'` are variables, other terms match by `=:=` |
//! | map in a head | matches maps with at least its keys; its values may be patterns, its keys may not |
//! | guard | holds if its value is exactly `true`; a call that fails makes it not hold |
//! | body | its last expression is the value; the value of a call that fails is `'EXIT'` |
//! | expression | a variable, `'$_'` (the object), `'$$'` (all bindings, by number), `{const, T}`, any other term |
//! | call | `{Function, Argument...}` |
//! | structure | `{{...}}` (a tuple), lists and maps of expressions |
//! | `and`, `or` | any number of arguments, all evaluated, all booleans |
//! | `andalso`, `orelse` | any number of arguments, evaluated until the value is known; the last may be any term |
//!
//! The functions are those that OTP 29 has for tables. A [`SpecError`] lists every problem
//! of a specification with its place.
//!
//! # The floors
//!
//! | folder | holds | imports |
//! |---|---|---|
//! | `syntax` | the language as terms: its atoms, functions and structures, the shape of the key in a pattern | none |
//! | `program` | data: compiled specifications (with prefilter, irrefutable heads, tests) and plans | `syntax` |
//! | `compile` | compiles terms to programs; checks key preservation | `program`, `syntax` |
//! | `plan` | finds the keys that a program can match | `program`, `syntax` |
//! | `run` | runs programs over objects | `program`, `syntax` |
//! | `spec` | [`MatchSpec`], the door of the crate | all of them |
//!
//! A folder imports only folders above it in this table, and `compile`, `plan` and `run` do not know each other.
//!
//! # From term to program
//!
//! | step | module | task |
//! |---|---|---|
//! | compile | `compile` | checks names, arities and variables; makes vectors of patterns and nodes; folds constants |
//! | prefilter | `run::prefilter` | compares one element with a small integer: decides most objects of most scans |
//! | early tests | `run::irrefutable` | makes the tests of elements where the head is irrefutable; binds nothing |
//! | match | `run::head` | walks the stored bytes once, element by element, up to the last one used |
//! | test | `run::test` | compares an element with a constant, or tests its type, as soon as the head reaches it |
//! | evaluate | `run::eval` | evaluates the other guards, then the body |
//!
//! A binding is a place in the stored bytes (`run::value::Ref`); it is decoded when an expression needs its content,
//! and integers, floats, atoms and binaries are read in place. A constant in a head is compared as bytes: a value has
//! one encoding, so stored bytes that start with those of the constant are the constant. The parts of a key that is a
//! tuple, a list or a map are matched on its bytes, too, and variables bound to them. It is decoded, once an object,
//! where its bytes cannot decide: with an integral float in it, a fun, a port or a very large integer in front of
//! another part, or where a map of the head has a key that is no integer, atom or binary; and only if they have the
//! prefix of a match.
//!
//! # Plans
//!
//! [`MatchSpec::plan`] turns heads and guards into the keys that can match: see [`Plan`]. Every object of a plan is
//! still matched, so a plan can be slow but not wrong. A key that stands in the head needs no plan:
//! [`MatchSpec::point`] takes its bytes from the program.
//!
//! # In registers
//!
//! An object of a scan costs some ten nanoseconds, so stores and loads count. The engine passes the context of a run
//! by reference (`run::context::EvalContext`), tests places where it makes them, and appends results to the vector of
//! the caller ([`MatchSpec::run_into`]): two words that are stored one by one and loaded back as a pair cost as much
//! as a guard.
//!
//! # Invariants
//!
//! - **SLOTS**: patterns bind slots in the order in which they are matched, so the number of a slot is its position
//!   in the vector of bindings. A clause is evaluated only when all its slots are bound, or when its head is
//!   irrefutable and lazy.
//! - Specifications may be nested as deep as memory allows (ANY_DEPTH). Nothing recurses for more than a few dozen
//!   levels: terms are walked by [`fyris_term::walk`], heads are matched by a list of what is left, and expressions
//!   inside many others are evaluated by a list of those around them (`Node::Deep`).
//! - **RESULT_BOUNDED**: integers have at most 4,194,304 bits; the size of a result is at most that of the body times
//!   that of the object.
//!
//! # Consistency
//!
//! A run sees one object, whole, as it was at one moment. The store specifies which objects a `select` in several
//! slices sees.

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
mod compile;
mod plan;
mod program;
mod run;
mod spec;
mod syntax;

pub use compile::error::{Place, Problem, ProblemKind, SpecError};
pub use compile::key_preservation::KeyChanges;
pub use program::plan::{KeyRange, Plan, PlanKind, TableOrder};
pub use run::machine::Machine;
pub use run::object::ObjectView;
pub use spec::{MatchSpec, Wanted, test_ms};

//! Match patterns and match specifications: parse, check, plan, compile, run.
//!
//! # Why a crate
//!
//! `select`, `match` and their kin all ask one question of every object: does it match, and what is it worth? This crate
//! answers it, over objects as a table stores them and over plain terms (`match_spec_run`, `test_ms`), and says before any
//! object is looked at which keys can matter. It knows nothing of tables: an [`ObjectView`] is all it sees of storage.
//!
//! # The language
//!
//! A specification is a list of clauses `{Head, Guards, Body}`. The first clause whose head matches and whose guards all
//! hold gives the object its value; a [`MatchSpec`] is all of them, compiled.
//!
//! | part | rules |
//! |---|---|
//! | head | `'_'` matches anything, `'$0'` to `'$2147483647'` are variables, all else matches by `=:=`; a map matches maps with at least its keys, whose values may be patterns and whose keys may not |
//! | guard | holds if its value is exactly `true`; a call that fails makes it not hold |
//! | body | its last expression is the value; a call that fails is worth `'EXIT'`, and what is around it goes on |
//! | expression | a variable, `'$_'` (the object), `'$$'` (all bindings, by number), `{const, T}`, `{Function, Argument...}`, `{{...}}` (a tuple), lists and maps of expressions, any other term |
//! | `and`, `or` | any number of arguments, all evaluated, all booleans |
//! | `andalso`, `orelse` | any number of arguments, evaluated until the answer is known; the last may be anything |
//!
//! Functions are those that the newest OTP has for tables, and besides `is_record/2`. What is wrong with a specification
//! is told with its place, all of it at once ([`SpecError`]).
//!
//! # The floors
//!
//! | folder | holds | imports |
//! |---|---|---|
//! | `syntax` | the language as terms: its atoms and functions, and what a pattern says of the key | nothing |
//! | `program` | data: a compiled specification (the prefilter, irrefutable heads, tests), plans | `syntax` |
//! | `compile` | from the term to the program, with every problem; whether a body preserves the key | `program`, `syntax` |
//! | `plan` | from the program to the keys that it can match | `program`, `syntax` |
//! | `run` | a program over an object | `program`, `syntax` |
//! | `spec` | [`MatchSpec`], the crate's door | all of them |
//!
//! A folder imports only folders above it in this table, and `compile`, `plan` and `run` do not know each other.
//!
//! # From term to program
//!
//! | step | module | what |
//! |---|---|---|
//! | check | `compile::depth`, `compile` | no part is nested deeper than [`fyris_term::MAX_DEPTH`]; names, arities, variables |
//! | compile | `compile` | vectors of patterns and nodes that name each other by number; constants in all the forms they are compared in; constant structures folded |
//! | prefilter | `run::prefilter` | where the first guard compares an element with a small integer, or the head has one: most objects are told by it |
//! | admit | `run::irrefutable` | a head of variables alone: rejects objects by tests of elements; binds nothing, a variable is found when it is read |
//! | match | `run::head` | walks the stored bytes once, element by element, up to the last that matters |
//! | test | `run::test` | comparisons with constants and type tests on an element, asked as soon as the head is there |
//! | evaluate | `run::eval` | the other guards, then the body |
//!
//! A binding is a place in the stored bytes (`run::value::Ref`); it is decoded when an expression needs its content, and then
//! integers, floats, atoms and binaries are looked at where they are. A constant in a head is compared as bytes: values
//! have one form, so stored bytes that start with the constant's are it. Only a key that is a tuple, a list or a map and
//! whose inside is matched is decoded, once an object, and that only if its bytes start as those of a match would.
//!
//! # Plans
//!
//! [`MatchSpec::plan`] turns heads and guards into the keys that can match: see [`Plan`]. What a plan lets through is
//! still matched, so it can be slow but not wrong. A key that stands in the head needs no plan: [`MatchSpec::point`] has its
//! bytes from the program.
//!
//! # In registers
//!
//! An object of a scan costs some ten nanoseconds, so what is written to memory and read back counts. What the engine looks
//! into is handed on by reference (`value::EvalContext`), places are looked at where they are made, and results are appended
//! where they belong ([`MatchSpec::run_into`]): two words written one by one and read back as a pair cost as much as the
//! guard that they are for.
//!
//! # Invariants
//!
//! - **superset**: every object that a specification matches has a key in its plan.
//! - **slots**: patterns bind slots in the order in which they are matched, so a slot's number is its place in the vector
//!   of bindings, and a clause is evaluated only when all its slots are bound, or its head is irrefutable and they are near.
//! - **bounded**: recursion goes down with the specification, at most [`fyris_term::MAX_DEPTH`] levels; integers do not
//!   grow beyond 4,194,304 bits; a result is no larger than the body says, times the object.
//!
//! # Consistency
//!
//! A run sees one object, whole, as it was at one moment. Which objects a `select` in several slices sees is the store's
//! to say.

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

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExample;

//! Match patterns and match specifications: parse, check, plan, compile, run.

#[cfg(feature = "arbitrary")]
pub mod arbitrary;
mod arithmetic;
mod atoms;
mod bounds;
mod builtin;
mod depth;
mod error;
mod eval;
mod function;
mod head;
mod keep;
mod machine;
mod narrow;
mod object;
mod parse;
mod plan;
mod program;
mod shape;
mod spec;
mod test;
mod value;

pub use error::{Place, Problem, ProblemKind, SpecError};
pub use keep::KeyChanges;
pub use machine::Machine;
pub use object::ObjectView;
pub use plan::{KeyRange, Plan, PlanKind, TableOrder};
pub use spec::{MatchSpec, Wanted, test_ms};

//! Running a program over an object.

pub(crate) mod eval;
pub(crate) mod head;
pub(crate) mod irrefutable;
pub(crate) mod machine;
pub(crate) mod object;
pub(crate) mod prefilter;
pub(crate) mod test;
pub(crate) mod value;

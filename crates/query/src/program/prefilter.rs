//! The prefilter: one comparison of an element with a small integer, made in registers before anything else.
//!
//! Most specifications that scan many objects have one clause, whose head is irrefutable and whose first guard
//! compares an element with a small integer, or whose head has a small integer in an element. The prefilter makes
//! this comparison before a `Run` exists. If the specification asks nothing else and its value is an element or
//! `true`, the prefilter gives the value as well; otherwise objects that pass take the slow path, which makes the
//! comparison again.

/// The comparison, and the value of an object that passes it.
#[derive(Debug)]
pub(crate) struct Prefilter {
    /// The size of the tuples that can match.
    pub(crate) size: usize,
    /// The element that is compared, counted from 0.
    pub(crate) element: u32,
    /// The integer that it is compared with.
    pub(crate) int: i64,
    /// The orders of the two that pass, as a mask: see [`Comparison::orders`](crate::syntax::function::Comparison).
    pub(crate) orders: u8,
    /// The value of an object that passes, if the specification asks nothing else.
    pub(crate) value: PrefilterValue,
}

/// The value of an object that passes the prefilter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrefilterValue {
    /// Only the slow path knows.
    Unknown,
    True,
    /// This element, counted from 0.
    Element(u32),
}

//! The first look at an object: in registers, and enough for most.
//!
//! Most specifications that are run over many objects have one clause, and an open head with a first guard that compares an
//! element with a small integer, or a head in which an element is a small integer. What that says of an object is then
//! told before a `Run` is made, and where nothing else is asked and the value is an element too, the object is done
//! with. All else takes the long way, which asks the same again.

/// What there is to know at once of a specification of that kind.
#[derive(Debug)]
pub(crate) struct Prefilter {
    /// The size of the tuples that can match.
    pub(crate) size: usize,
    /// The element that is compared, from 0.
    pub(crate) element: u32,
    /// With what.
    pub(crate) int: i64,
    /// Which orders of the two let it pass: see [`Comparison::orders`](crate::syntax::function::Comparison).
    pub(crate) orders: u8,
    /// What the value of an object that passes is, if nothing else is asked.
    pub(crate) value: PrefilterValue,
}

/// The value of an object that passes, as far as it is known at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrefilterValue {
    /// The long way tells.
    Unknown,
    True,
    /// This element, from 0.
    Element(u32),
}

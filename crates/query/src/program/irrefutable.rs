//! Open heads: tuples of nothing but variables, each met once, and `'_'`.
//!
//! Such a head matches every tuple of its size, so all that can turn an object away are the guards; and most objects of a
//! scan are turned away. So those guards that test an element are asked first, of the few bytes they are about. What is left
//! has its variables in places that the head tells: in a small tuple they are found when they are read, and never
//! bound; in a large one they are bound as in other heads, if anything will read them.

/// What there is to know of an open head.
#[derive(Debug)]
pub(crate) struct IrrefutableHead {
    /// The size of the tuples it matches.
    pub(crate) size: usize,
    /// The element of each slot, from 0.
    pub(crate) elements: Box<[u32]>,
    /// The variables are found when they are read, not bound before.
    pub(crate) is_near: bool,
}

//! Irrefutable heads: tuples of distinct variables and `'_'`.
//!
//! Such a head matches every tuple of its size, so only guards can reject an object, and most objects of a scan are
//! rejected. The guards that test an element are therefore made first, on the bytes of these elements alone. The
//! variables stand in known elements: in a small tuple a variable is found when it is read, and never bound; in a
//! large one all are bound as in other heads, if anything reads them.

/// An irrefutable head.
#[derive(Debug)]
pub(crate) struct IrrefutableHead {
    /// The size of the tuples it matches.
    pub(crate) size: usize,
    /// The element of each slot, counted from 0.
    pub(crate) elements: Box<[u32]>,
    /// Whether variables are found when they are read, and not bound before.
    pub(crate) is_lazy: bool,
}

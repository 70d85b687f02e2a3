//! Recognises irrefutable heads.

use crate::program::{IrrefutableHead, Pattern};

/// The most elements of a head whose variables are found when they are read: each read skips the elements before it,
/// which for more elements costs more than binding all variables once.
const LAZY: u32 = 6;

/// Returns the irrefutable head that a pattern is; `reads` is whether anything but the early tests reads its
/// variables.
pub(super) fn irrefutable_head(
    head: Pattern,
    patterns: &[Pattern],
    reads: bool,
) -> Option<IrrefutableHead> {
    let Pattern::Tuple { elements, used } = head else {
        return None;
    };
    let elements = elements.of(patterns);
    let is_irrefutable = |element: &Pattern| matches!(element, Pattern::Any | Pattern::Bind);
    let binds = |(_, element): &(u32, &Pattern)| matches!(element, Pattern::Bind);
    elements
        .iter()
        .all(is_irrefutable)
        .then(|| IrrefutableHead {
            size: elements.len(),
            elements: (0..)
                .zip(elements)
                .filter(binds)
                .map(|(at, _)| at)
                .collect(),
            is_lazy: used <= LAZY || !reads,
        })
}

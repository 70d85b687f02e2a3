//! Finds the heads that match every tuple of their size.

use crate::program::{IrrefutableHead, Pattern};

/// Up to so many elements of a stored object are walked over again for each variable that is read, instead of binding
/// them all.
const NEAR: u32 = 6;

/// Of a head that is open; `reads` tells whether anything but the early tests reads its variables.
pub(super) fn irrefutable_head(
    head: Pattern,
    patterns: &[Pattern],
    reads: bool,
) -> Option<IrrefutableHead> {
    let Pattern::Tuple { elements, used } = head else {
        return None;
    };
    let elements = elements.of(patterns);
    let is_open = |element: &Pattern| matches!(element, Pattern::Any | Pattern::Bind);
    let binds = |(_, element): &(u32, &Pattern)| matches!(element, Pattern::Bind);
    elements.iter().all(is_open).then(|| IrrefutableHead {
        size: elements.len(),
        elements: (0..)
            .zip(elements)
            .filter(binds)
            .map(|(at, _)| at)
            .collect(),
        is_near: used <= NEAR || !reads,
    })
}

//! Finding places in the list: from the highest level down, to the right on each.

use std::cmp::Ordering;

use crate::place::Place;

use super::node::SkipNodeRef;

/// Walks along a level as far as nodes are before the place; returns the last of them, and the node of the place if
/// there is one behind it.
#[inline]
pub(super) fn walk<'g, E>(
    mut at: SkipNodeRef<'g>,
    level: usize,
    place: &impl Place<E>,
) -> (SkipNodeRef<'g>, Option<SkipNodeRef<'g>>) {
    while let Some(next) = at.next(level) {
        if level > 0 {
            // Where the walk goes on if `next` is behind the place.
            at.prefetch(level - 1);
        }
        match place.side(next) {
            Ordering::Less => at = next,
            Ordering::Equal => return (at, Some(next)),
            Ordering::Greater => break,
        }
    }
    (at, None)
}

/// Descends from the first `levels` levels of the head to `bottom`, or to the node of the place if there is one higher
/// up; returns the last node before the place that it has met, and the node of the place. `note` is told of each level
/// and the last node before the place there.
#[inline]
pub(super) fn descend<'g, E>(
    head: SkipNodeRef<'g>,
    levels: usize,
    bottom: usize,
    place: &impl Place<E>,
    mut note: impl FnMut(usize, SkipNodeRef<'g>),
) -> (SkipNodeRef<'g>, Option<SkipNodeRef<'g>>) {
    let (mut at, mut found) = (head, None);
    for level in (bottom..levels).rev() {
        (at, found) = walk(at, level, place);
        note(level, at);
        if found.is_some() {
            break;
        }
    }
    (at, found)
}

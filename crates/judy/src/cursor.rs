//! The way through a tree in order, from either end.

use super::bits;
use super::digits::{above, beside, digit};
use super::jp::{At, Node, Place, Slot};
use super::leaf::ViewPairs;
use super::order::Found;
use super::part::Items;
use super::tree::Tree;
use super::words::Below;

/// Some neighbouring pairs: those of a leaf or a pointer from one index to another, or of a quarter of a bitmap leaf;
/// and what their keys have above.
#[derive(Clone, Copy)]
enum Run {
    None,
    Keys(ViewPairs<Slot>, u64),
    Bits(Items<Slot>, u64),
}

impl Run {
    /// Takes the first pair, or the last.
    #[inline(always)]
    fn next(&mut self, up: bool) -> Option<Found> {
        let (low, slot, prefix) = match self {
            Self::None => return None,
            Self::Keys(pairs, prefix) => {
                let (low, slot) = if up { pairs.next() } else { pairs.next_back() }?;
                (low, slot, prefix)
            }
            Self::Bits(items, prefix) => {
                let (bit, slot) = if up { items.next() } else { items.next_back() }?;
                (bit as u64, slot, prefix)
            }
        };
        Some((*prefix | low, slot))
    }
}

/// A branch on the way, or a bitmap leaf, whose quarters count as its children; and the child that the way is in.
#[derive(Clone, Copy)]
struct Step {
    at: At,
    place: Place,
    digit: usize,
}

impl Step {
    /// Returns the next child in a direction from a digit on.
    fn child(&self, up: bool, digit: usize) -> Option<(usize, Entered)> {
        let here = self.place.of_node(self.at.meta());
        let quarters = match Below::of(self.at) {
            Below::Branch(branch, _) => {
                let (digit, child) = branch.near(digit, up)?;
                return Some((digit, Entered::Pointer(child, here.child(digit))));
            }
            Below::Bits(bits, _) => bits.quarters(),
            _ => return None,
        };
        let filled = |at: &usize| quarters[*at].len() > 0;
        let at = if up {
            (digit..4).find(filled)
        } else {
            (0..=digit.min(3)).rfind(filled)
        }?;
        let run = Run::Bits(quarters[at].iter(), here.prefix | (64 * at as u64));
        Some((at, Entered::Quarter(run)))
    }
}

/// What is below a step.
enum Entered {
    Pointer(At, Place),
    Quarter(Run),
}

/// A position between two pairs, that moves in one direction: upwards and downwards are not mixed.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    steps: [Step; 8],
    depth: usize,
    run: Run,
}

impl Cursor {
    /// Makes a cursor that goes upwards from the first key at or above `key`, or downwards from the last at or below.
    pub(super) fn at(tree: &Tree, key: u64, up: bool) -> Self {
        let (mut at, mut place) = tree.root();
        let step = Step {
            at,
            place,
            digit: 0,
        };
        let mut cursor = Self {
            steps: [step; 8],
            depth: 0,
            run: Run::None,
        };
        loop {
            let here = place.of_node(at.meta());
            let order = here.cmp(key);
            if order.is_ne() {
                // All of the node's keys are ahead, or none is.
                if order.is_lt() == up {
                    cursor.enter(Entered::Pointer(at, place), up);
                }
                return cursor;
            }
            let digit = match at.meta().what() {
                Node::Branch { level, .. } => digit(key, level),
                Node::Bits { .. } => bits::place(key).0,
                _ => {
                    cursor.run = run_of(at, place, Some((key, up)));
                    return cursor;
                }
            };
            let step = Step { at, place, digit };
            cursor.push(step);
            match step.child(up, digit) {
                Some((found, Entered::Pointer(child, below))) if found == digit => {
                    (at, place) = (child, below);
                }
                Some((quarter, Entered::Quarter(mut run))) => {
                    if let (Below::Bits(bits, _), Run::Bits(items, _)) = (Below::of(at), &mut run)
                        && quarter == digit
                    {
                        *items = bits.quarters()[quarter].iter_from(bits::place(key).1, up);
                    }
                    cursor.steps[cursor.depth - 1].digit = quarter;
                    cursor.run = run;
                    return cursor;
                }
                // The child of the digit is not there: the next one has the first key, if there is one.
                _ => return cursor,
            }
        }
    }

    fn push(&mut self, step: Step) {
        self.steps[self.depth] = step;
        self.depth += 1;
    }

    /// Goes down to the first run, or to the last.
    #[inline]
    fn enter(&mut self, mut below: Entered, up: bool) {
        loop {
            let (at, place) = match below {
                Entered::Quarter(run) => {
                    self.run = run;
                    return;
                }
                Entered::Pointer(at, place) => (at, place),
            };
            if !matches!(at.meta().what(), Node::Bits { .. } | Node::Branch { .. }) {
                self.run = run_of(at, place, None);
                return;
            }
            let mut step = Step {
                at,
                place,
                digit: 0,
            };
            let Some((digit, child)) = step.child(up, if up { 0 } else { 255 }) else {
                return;
            };
            step.digit = digit;
            self.push(step);
            below = child;
        }
    }

    /// Goes on to the next run; returns whether there is one.
    fn advance(&mut self, up: bool) -> bool {
        while let Some(top) = self.depth.checked_sub(1) {
            let step = self.steps[top];
            let next = beside(step.digit, up).and_then(|digit| step.child(up, digit));
            if let Some((digit, child)) = next {
                self.steps[top].digit = digit;
                self.enter(child, up);
                return true;
            }
            self.depth = top;
        }
        false
    }

    /// Takes the next pair upwards, or downwards.
    #[inline(always)]
    pub(super) fn next(&mut self, up: bool) -> Option<Found> {
        loop {
            if let Some(found) = self.run.next(up) {
                return Some(found);
            }
            if !self.advance(up) {
                return None;
            }
        }
    }
}

/// Returns the keys of a leaf that is no bitmap leaf, or of those in a pointer: from a key on in a direction, or all.
#[inline]
fn run_of(at: At, place: Place, from: Option<(u64, bool)>) -> Run {
    let (Below::Few(view) | Below::Leaf(view)) = Below::of(at) else {
        return Run::None;
    };
    let pairs = match from {
        None => view.pairs(0, view.len()),
        Some((key, up)) => {
            let (rank, found) = view.search(key);
            if up {
                view.pairs(rank, view.len())
            } else {
                view.pairs(0, rank + usize::from(found))
            }
        }
    };
    let prefix = place.of_node(at.meta()).prefix & above(view.width());
    Run::Keys(pairs, prefix)
}

//! The way through a tree in order, from either end.

use super::bits::{self, Bits, Quarter};
use super::branch::Branch;
use super::jp::{Jp, Node, Slot, above, digit};
use super::leaf::View;
use super::order::Found;
use super::tree::{Place, Tree};

/// Some neighbouring pairs: those of a leaf or a pointer from one index to another, or of a quarter of a bitmap leaf.
#[derive(Clone, Copy)]
enum Run {
    Keys {
        view: View,
        prefix: u64,
        from: usize,
        to: usize,
    },
    /// The keys of the bits that are set; `values` is the place of the first one's value.
    Bits {
        bitmap: u64,
        values: *mut Slot,
        prefix: u64,
    },
}

impl Run {
    const NONE: Self = Self::Bits {
        bitmap: 0,
        values: std::ptr::null_mut(),
        prefix: 0,
    };

    /// Takes the first pair.
    #[inline(always)]
    fn next(&mut self) -> Option<Found> {
        // SAFETY: the tree lives and is not changed while it is borrowed; indexes are within the run.
        unsafe {
            match self {
                Self::Keys { from, to, .. } if from == to => None,
                Self::Keys {
                    view, prefix, from, ..
                } => {
                    let found = (*prefix | view.key(*from), view.values.add(*from));
                    *from += 1;
                    Some(found)
                }
                Self::Bits { bitmap: 0, .. } => None,
                Self::Bits {
                    bitmap,
                    values,
                    prefix,
                } => {
                    let found = (*prefix | u64::from(bitmap.trailing_zeros()), *values);
                    *bitmap &= *bitmap - 1;
                    *values = values.add(1);
                    Some(found)
                }
            }
        }
    }

    /// Takes the last pair.
    #[inline(always)]
    fn next_back(&mut self) -> Option<Found> {
        // SAFETY: as in `next`.
        unsafe {
            match self {
                Self::Keys { from, to, .. } if from == to => None,
                Self::Keys {
                    view, prefix, to, ..
                } => {
                    *to -= 1;
                    Some((*prefix | view.key(*to), view.values.add(*to)))
                }
                Self::Bits { bitmap: 0, .. } => None,
                Self::Bits {
                    bitmap,
                    values,
                    prefix,
                } => {
                    let bit = 63 - bitmap.leading_zeros();
                    *bitmap &= !(1 << bit);
                    let found = values.add(bitmap.count_ones() as usize);
                    Some((*prefix | u64::from(bit), found))
                }
            }
        }
    }
}

/// A branch on the way, or a bitmap leaf, whose quarters count as its children; and the child that the way is in.
#[derive(Clone, Copy)]
struct Step {
    jp: *mut Jp,
    place: Place,
    digit: usize,
}

impl Step {
    /// Returns the next child in a direction from a digit on.
    fn child(&self, up: bool, digit: usize) -> Option<(usize, Below)> {
        // SAFETY: a pointer of a living tree (NODES), which is not changed while it is borrowed.
        unsafe {
            let meta = (*self.jp).meta;
            let prefix = meta.prefix(self.place.prefix);
            if let Node::Branch { level, form } = meta.what() {
                let branch = Branch::of(self.jp, form);
                let (digit, child) = if up {
                    branch.child_from(digit)
                } else {
                    branch.child_to(digit)
                }?;
                let place = Place {
                    level: level - 1,
                    prefix: prefix | (digit as u64) << (8 * (level - 1)),
                    is_root: false,
                };
                return Some((digit, Below::Pointer(child, place)));
            }
            let quarters = &Bits::of(self.jp).0;
            let filled = |at: &usize| quarters[*at].bitmap != 0;
            let at = if up {
                (digit..4).find(filled)
            } else {
                (0..=digit).rfind(filled)
            }?;
            Some((at, Below::Quarter(quarters[at], prefix | (at as u64 * 64))))
        }
    }
}

/// What is below a step.
enum Below {
    Pointer(*mut Jp, Place),
    Quarter(Quarter, u64),
}

/// A position between two pairs, that moves in one direction: `next` and `next_back` are not mixed.
#[derive(Clone, Copy)]
pub(super) struct Cursor {
    steps: [Step; 8],
    depth: usize,
    run: Run,
}

impl Cursor {
    /// Makes a cursor with nothing before it nor behind it.
    pub(super) fn nowhere() -> Self {
        let step = Step {
            jp: std::ptr::null_mut(),
            place: Place {
                level: 8,
                prefix: 0,
                is_root: false,
            },
            digit: 0,
        };
        Self {
            steps: [step; 8],
            depth: 0,
            run: Run::NONE,
        }
    }

    /// Makes a cursor that goes upwards from the first key at or above `key`, or downwards from the last at or below.
    pub(super) fn at(tree: &Tree, key: u64, up: bool) -> Self {
        let mut cursor = Self::nowhere();
        let (mut jp, mut place) = tree.root();
        loop {
            // SAFETY: a pointer of a living tree (NODES), which is not changed while it is borrowed.
            let meta = unsafe { (*jp).meta };
            let level = meta.level().unwrap_or(place.level);
            let prefix = meta.prefix(place.prefix);
            match (key & above(level)).cmp(&prefix) {
                std::cmp::Ordering::Equal => {}
                order => {
                    // All of the node's keys are ahead, or none is.
                    if order.is_lt() == up {
                        cursor.enter(Below::Pointer(jp, place), up);
                    }
                    return cursor;
                }
            }
            let at = match meta.what() {
                Node::Branch { level, .. } => digit(key, level),
                Node::Bits { .. } => bits::place(key).0,
                _ => {
                    cursor.run = Self::run_from(jp, place, key, up);
                    return cursor;
                }
            };
            let step = Step {
                jp,
                place,
                digit: at,
            };
            cursor.push(step);
            match step.child(up, at) {
                Some((digit, Below::Pointer(child, below))) if digit == at => {
                    (jp, place) = (child, below)
                }
                Some((quarter, Below::Quarter(mut part, prefix))) => {
                    if quarter == at {
                        let bit = bits::place(key).1;
                        let mask = if up { !0 << bit } else { !0 >> (63 - bit) };
                        if up {
                            // SAFETY: there are as many values as bits.
                            part.values = unsafe { part.values.add(part.below(bit)) };
                        }
                        part.bitmap &= mask;
                    }
                    cursor.steps[cursor.depth - 1].digit = quarter;
                    cursor.enter(Below::Quarter(part, prefix), up);
                    return cursor;
                }
                // The child of the digit is not there: the next one has the first key, if there is one.
                _ => return cursor,
            }
        }
    }

    /// Returns the part of a leaf or of a pointer from a key on.
    fn run_from(jp: *mut Jp, place: Place, key: u64, up: bool) -> Run {
        let Some(mut run) = Self::run_of(jp, place) else {
            return Run::NONE;
        };
        if let Run::Keys { view, from, to, .. } = &mut run {
            // SAFETY: as in `at`.
            let (rank, found) = unsafe { view.search(key) };
            if up {
                *from = rank;
            } else {
                *to = rank + usize::from(found);
            }
        }
        run
    }

    /// Returns the whole of a leaf that is no bitmap leaf, or of the keys in a pointer.
    #[inline]
    fn run_of(jp: *mut Jp, place: Place) -> Option<Run> {
        // SAFETY: as in `at`.
        let (view, prefix) = unsafe { (View::of(jp)?, (*jp).meta.prefix(place.prefix)) };
        Some(Run::Keys {
            prefix: prefix & above(view.width),
            from: 0,
            to: view.len,
            view,
        })
    }

    fn push(&mut self, step: Step) {
        self.steps[self.depth] = step;
        self.depth += 1;
    }

    /// Goes down to the first run, or to the last.
    #[inline]
    fn enter(&mut self, mut below: Below, up: bool) {
        loop {
            match below {
                Below::Quarter(quarter, prefix) => {
                    self.run = Run::Bits {
                        bitmap: quarter.bitmap,
                        values: quarter.values,
                        prefix,
                    };
                    return;
                }
                Below::Pointer(jp, place) => {
                    if let Some(run) = Self::run_of(jp, place) {
                        self.run = run;
                        return;
                    }
                    let mut step = Step {
                        jp,
                        place,
                        digit: 0,
                    };
                    // SAFETY: as in `at`.
                    let last = if matches!(unsafe { (*jp).meta.what() }, Node::Bits { .. }) {
                        3
                    } else {
                        255
                    };
                    let Some((digit, child)) = step.child(up, if up { 0 } else { last }) else {
                        // The tree is empty.
                        return;
                    };
                    step.digit = digit;
                    self.push(step);
                    below = child;
                }
            }
        }
    }

    /// Goes on to the next run; returns whether there is one.
    fn advance(&mut self, up: bool) -> bool {
        while let Some(top) = self.depth.checked_sub(1) {
            let step = self.steps[top];
            let next = if up {
                (step.digit < 255).then(|| step.child(true, step.digit + 1))
            } else {
                step.digit
                    .checked_sub(1)
                    .map(|digit| step.child(false, digit))
            };
            if let Some((digit, child)) = next.flatten() {
                self.steps[top].digit = digit;
                self.enter(child, up);
                return true;
            }
            self.depth = top;
        }
        false
    }

    /// Takes the next pair upwards.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.run.next() {
                return Some(found);
            }
            if !self.advance(true) {
                return None;
            }
        }
    }

    /// Takes the next pair downwards.
    #[inline]
    pub(super) fn next_back(&mut self) -> Option<Found> {
        loop {
            if let Some(found) = self.run.next_back() {
                return Some(found);
            }
            if !self.advance(false) {
                return None;
            }
        }
    }
}

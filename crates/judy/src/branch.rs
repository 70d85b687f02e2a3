//! Branches: a child for each digit that occurs.
//!
//! The three forms have the same functions; those here choose. The number of keys below a branch is kept in the
//! branch, on lines of its own or beside what only a search of it reads (COUNTED), and never in the pointer to it.

use super::bitmap::Bitmap;
use super::class::{Account, Use};
use super::jp::{Form, Jp};
use super::limits::{BITMAP_AGAIN, BITMAP_MOST, LINEAR_AGAIN, LINEAR_MOST};
use super::linear::Linear;
use super::uncompressed::Uncompressed;
use super::weigh::{Weigh, keys_of};

/// A branch, borrowed from its pointer.
#[derive(Clone, Copy)]
pub(super) enum Branch {
    Linear(*mut Linear),
    Bitmap(*mut Bitmap),
    Uncompressed(*mut Uncompressed),
}

/// Runs `$body` on the branch, whatever its form.
macro_rules! each {
    ($branch:expr, $node:ident: $type:ident => $body:expr) => {
        match $branch {
            Branch::Linear($node) => {
                type $type = Linear;
                // SAFETY: the node lives (NODES); who changes it has it alone, as the tree's operation has the tree.
                unsafe { $body }
            }
            Branch::Bitmap($node) => {
                type $type = Bitmap;
                // SAFETY: as above.
                unsafe { $body }
            }
            Branch::Uncompressed($node) => {
                type $type = Uncompressed;
                // SAFETY: as above.
                unsafe { $body }
            }
        }
    };
}

impl Branch {
    /// Returns the branch of a pointer to one of this form.
    ///
    /// # Safety
    ///
    /// `jp` is a pointer of a living tree (NODES) to such a branch.
    #[inline(always)]
    pub(super) unsafe fn of(jp: *const Jp, form: Form) -> Self {
        // SAFETY: the caller's contract.
        let node = unsafe { Jp::node_at(jp) };
        match form {
            Form::Linear => Self::Linear(node.cast()),
            Form::Bitmap => Self::Bitmap(node.cast()),
            Form::Uncompressed => Self::Uncompressed(node.cast()),
        }
    }

    /// Returns the child of a digit; null if there is none.
    #[inline(always)]
    pub(super) fn child(self, digit: usize) -> *mut Jp {
        each!(self, node: N => N::child(node, digit))
    }

    /// Returns the first child at or above a digit, and its digit.
    pub(super) fn child_from(self, digit: usize) -> Option<(usize, *mut Jp)> {
        each!(self, node: N => N::child_from(node, digit))
    }

    /// Returns the last child at or below a digit, and its digit.
    pub(super) fn child_to(self, digit: usize) -> Option<(usize, *mut Jp)> {
        each!(self, node: N => N::child_to(node, digit))
    }

    /// Returns the place of the number of keys that the digit's are counted in, and what one key is there.
    #[inline(always)]
    pub(super) fn counter(self, digit: usize) -> *mut u64 {
        each!(self, node: N => N::counter(node, digit))
    }

    /// Returns the number of keys.
    #[inline]
    pub(super) fn keys(self) -> usize {
        each!(self, node: N => N::keys(node))
    }

    /// Returns the number of keys below a digit's.
    pub(super) fn keys_below<W: Weigh>(self, digit: usize) -> usize {
        each!(self, node: N => N::keys_below::<W>(node, digit))
    }

    /// Returns the child that has the `n`-th key, from 0, its digit, and the number of keys before it there.
    pub(super) fn nth<W: Weigh>(self, n: usize) -> (usize, *mut Jp, usize) {
        each!(self, node: N => N::nth::<W>(node, n))
    }

    /// Returns the number of children.
    pub(super) fn children(self) -> usize {
        each!(self, node: N => N::children(node))
    }

    /// Returns whether the branch has room for a further child.
    #[inline]
    pub(super) fn has_room(self) -> bool {
        match self {
            Self::Linear(_) => self.children() < LINEAR_MOST,
            Self::Bitmap(_) => self.children() < BITMAP_MOST,
            Self::Uncompressed(_) => true,
        }
    }

    /// Returns the form that a branch with so few children should have, if it is another.
    pub(super) fn smaller_form(self) -> Option<Form> {
        match self {
            Self::Bitmap(_) if self.children() <= LINEAR_AGAIN => Some(Form::Linear),
            Self::Uncompressed(_) if self.children() <= BITMAP_AGAIN => Some(Form::Bitmap),
            _ => None,
        }
    }

    /// Inserts a child of a digit that has none, and returns its place. Its keys are not counted.
    #[inline]
    pub(super) fn insert(self, digit: usize, child: Jp, account: &mut Account) -> *mut Jp {
        each!(self, node: N => N::insert(node, digit, child, account))
    }

    /// Removes the child of a digit that has one, which owns nothing any more.
    #[inline]
    pub(super) fn remove(self, digit: usize, account: &mut Account) {
        each!(self, node: N => N::remove(&mut *node, digit, account))
    }

    /// Frees the branch; the children stay the caller's.
    pub(super) fn free(self, account: &mut Account) {
        each!(self, node: N => N::free_parts(&mut *node, account));
        match self {
            // SAFETY: allocated with these arguments by `make`, and freed once as it is owned by one pointer.
            Self::Linear(node) => unsafe { account.free(Use::Linear, node.cast(), WORDS[0]) },
            // SAFETY: as above.
            Self::Bitmap(node) => unsafe { account.free(Use::Bitmap, node.cast(), WORDS[1]) },
            // SAFETY: as above.
            Self::Uncompressed(node) => unsafe {
                account.free(Use::Uncompressed, node.cast(), WORDS[2]);
            },
        }
    }
}

const WORDS: [usize; 3] = [
    size_of::<Linear>() / 8,
    size_of::<Bitmap>() / 8,
    size_of::<Uncompressed>() / 8,
];

/// Makes an empty branch of a form.
fn make_empty(form: Form, account: &mut Account) -> (*mut u8, Branch) {
    // SAFETY: each block is of the size of what is written.
    unsafe {
        match form {
            Form::Linear => {
                let node = account.allocate(Use::Linear, WORDS[0]);
                node.cast::<Linear>().write(Linear::EMPTY);
                (node, Branch::Linear(node.cast()))
            }
            Form::Bitmap => {
                let node = account.allocate(Use::Bitmap, WORDS[1]);
                node.cast::<Bitmap>().write(Bitmap::EMPTY);
                (node, Branch::Bitmap(node.cast()))
            }
            Form::Uncompressed => {
                let node = account.allocate(Use::Uncompressed, WORDS[2]);
                // An empty child and a count of none are zeros.
                node.write_bytes(0, 8 * WORDS[2]);
                (node, Branch::Uncompressed(node.cast()))
            }
        }
    }
}

/// Makes a branch of these children, whose keys have the bits of `key` above its level. Each child's digit is above
/// that of the one before.
pub(super) fn make<W: Weigh>(
    children: impl Iterator<Item = (usize, Jp)> + Clone,
    level: usize,
    key: u64,
    account: &mut Account,
) -> Jp {
    let form = match children.clone().count() {
        count if count <= LINEAR_MOST => Form::Linear,
        count if count <= BITMAP_MOST => Form::Bitmap,
        _ => Form::Uncompressed,
    };
    make_as::<W>(form, children, level, key, account)
}

/// Makes a branch of these children as [`make`] does, in this form, which has room for all.
pub(super) fn make_as<W: Weigh>(
    form: Form,
    children: impl Iterator<Item = (usize, Jp)>,
    level: usize,
    key: u64,
    account: &mut Account,
) -> Jp {
    let (node, branch) = make_empty(form, account);
    for (digit, child) in children {
        branch.insert(digit, child, account);
        // SAFETY: the counter of a living branch, which is ours alone.
        unsafe { *branch.counter(digit) += keys_of::<W>(&raw const child) as u64 };
    }
    Jp::branch(node, level, form, key)
}

/// Returns the children of a branch with their digits.
pub(super) fn children(branch: Branch) -> impl Iterator<Item = (usize, *mut Jp)> + Clone {
    let mut from = Some(0);
    std::iter::from_fn({
        move || {
            let (digit, child) = branch.child_from(from?)?;
            from = (digit < 255).then_some(digit + 1);
            Some((digit, child))
        }
    })
}

/// Gives a branch another form that has room for its children.
///
/// # Safety
///
/// `jp` leads to this branch and owns it.
pub(super) unsafe fn change_form<W: Weigh>(
    jp: &mut Jp,
    branch: Branch,
    level: usize,
    form: Form,
    account: &mut Account,
) {
    // SAFETY: the children of a living branch; they move to the new one, and only the old node is freed.
    let moved = children(branch).map(|(digit, child)| (digit, unsafe { *child }));
    *jp = make_as::<W>(form, moved, level, jp.meta.0, account);
    branch.free(account);
}

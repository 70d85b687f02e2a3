//! Branches: a child for each digit that occurs.
//!
//! The three forms have the same functions ([`BranchForm`]); those of [`Branch`] choose. The number of keys below a
//! branch is kept in the branch, on lines of its own or beside what only a search of it reads (COUNTED), and never in
//! the pointer to it.

use std::cell::Cell;
use std::ptr::NonNull;

use super::bitmap::Bitmap;
use super::class::{Account, Use};
use super::jp::{At, Form, Jp, Meta};
use super::limits::LIMITS;
use super::linear::Linear;
use super::uncompressed::Uncompressed;
use super::words::{Weigh, keys_of};

/// A node of this type, which lives (NODES). Its children may be lent, so that no reference to all of it is made.
pub(super) struct Living<N>(NonNull<N>);

impl<N> Clone for Living<N> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<N> Copy for Living<N> {}

impl<N> Living<N> {
    #[inline(always)]
    pub(super) fn ptr(self) -> *mut N {
        self.0.as_ptr()
    }
}

/// Keys in a count; what is above them is the form's own.
pub(super) fn keys_in(count: u64) -> usize {
    (count & ((1 << 48) - 1)) as usize
}

/// What is done to a branch, in each of its forms. Who changes one has its tree alone.
pub(super) trait BranchForm: Copy {
    /// Digits that are counted together.
    const GROUP: usize;

    /// Returns the child of a digit.
    fn child(self, digit: usize) -> Option<At>;

    /// Returns the first child from a digit on, and its digit: upwards, or downwards.
    fn near(self, digit: usize, up: bool) -> Option<(usize, At)>;

    /// Returns the children of the digits that are counted together, with these; there may be empty ones.
    fn group(self, group: usize) -> impl Iterator<Item = (usize, At)>;

    /// Returns the counts of the groups.
    fn counts<'a>(self) -> &'a [Cell<u64>];

    /// Returns the number of children.
    fn children(self) -> usize;

    /// Inserts a child of a digit that has none, and returns its place. Its keys are not counted.
    fn insert(self, digit: usize, child: Jp, account: &mut Account) -> At;

    /// Removes the child of a digit that has one, which owns nothing any more.
    fn remove(self, digit: usize, account: &mut Account);

    /// Frees what the node has besides itself.
    fn free_parts(self, _: &mut Account) {}

    /// Returns the number of keys.
    #[inline]
    fn keys(self) -> usize {
        keys_in(self.counts().iter().map(Cell::get).sum())
    }

    /// Returns the number of keys below a digit's.
    #[inline]
    fn keys_below<W: Weigh>(self, digit: usize) -> usize {
        let group = digit / Self::GROUP;
        let before = self.counts()[..group].iter();
        let here = self.group(group).take_while(|(at, _)| *at < digit);
        before.map(|count| keys_in(count.get())).sum::<usize>()
            + here.map(|(_, child)| keys_of::<W>(child)).sum::<usize>()
    }

    /// Returns the child that has the `n`-th key, from 0, its digit, and the number of keys before it there.
    #[inline]
    fn nth<W: Weigh>(self, mut n: usize) -> (usize, At, usize) {
        let mut group = 0;
        while n >= keys_in(self.counts()[group].get()) {
            n -= keys_in(self.counts()[group].get());
            group += 1;
        }
        for (digit, child) in self.group(group) {
            let keys = keys_of::<W>(child);
            if n < keys {
                return (digit, child, n);
            }
            n -= keys;
        }
        unreachable!("fewer keys than are counted")
    }
}

/// A branch, borrowed from its pointer.
#[derive(Clone, Copy)]
pub(super) enum Branch {
    Linear(Living<Linear>),
    Bitmap(Living<Bitmap>),
    Uncompressed(Living<Uncompressed>),
}

/// Runs `$body` on the branch, whatever its form.
macro_rules! each {
    ($branch:expr, $node:ident => $body:expr) => {
        match $branch {
            Branch::Linear($node) => $body,
            Branch::Bitmap($node) => $body,
            Branch::Uncompressed($node) => $body,
        }
    };
}

/// Makes an empty node.
fn make_empty<N>(of: Use, account: &mut Account) -> Living<N> {
    let node = account.allocate(of, size_of::<N>() / 8);
    // An empty child, a part without digits and a count of none are zeros.
    // SAFETY: the block is of this size.
    unsafe { node.write_bytes(0, size_of::<N>()) };
    // SAFETY: a block is not at address zero.
    Living(unsafe { NonNull::new_unchecked(node.cast()) })
}

impl Branch {
    /// Returns the branch of a pointer.
    ///
    /// # Safety
    ///
    /// It leads to a branch of this form.
    #[inline(always)]
    pub(super) unsafe fn at(at: At, form: Form) -> Self {
        // SAFETY: the caller's contract: no node is at address zero.
        let node = unsafe { NonNull::new_unchecked(at.node()) };
        match form {
            Form::Linear => Self::Linear(Living(node.cast())),
            Form::Bitmap => Self::Bitmap(Living(node.cast())),
            Form::Uncompressed => Self::Uncompressed(Living(node.cast())),
        }
    }

    fn make_empty(form: Form, account: &mut Account) -> Self {
        match form {
            Form::Linear => Self::Linear(make_empty(Use::Linear, account)),
            Form::Bitmap => Self::Bitmap(make_empty(Use::Bitmap, account)),
            Form::Uncompressed => Self::Uncompressed(make_empty(Use::Uncompressed, account)),
        }
    }

    pub(super) fn form(self) -> Form {
        match self {
            Self::Linear(_) => Form::Linear,
            Self::Bitmap(_) => Form::Bitmap,
            Self::Uncompressed(_) => Form::Uncompressed,
        }
    }

    /// Returns the child of a digit.
    #[inline(always)]
    pub(super) fn child(self, digit: usize) -> Option<At> {
        each!(self, node => node.child(digit))
    }

    /// Returns the first child from a digit on, and its digit: upwards, or downwards.
    #[inline]
    pub(super) fn near(self, digit: usize, up: bool) -> Option<(usize, At)> {
        each!(self, node => node.near(digit, up))
    }

    /// Returns the children with their digits.
    pub(super) fn iter(self) -> impl Iterator<Item = (usize, At)> + Clone {
        let mut from = 0;
        std::iter::from_fn(move || {
            let found = (from < 256).then(|| self.near(from, true))??;
            from = found.0 + 1;
            Some(found)
        })
    }

    /// Returns the number of keys that the digit's are counted in.
    #[inline(always)]
    pub(super) fn counter<'a>(self, digit: usize) -> &'a Cell<u64> {
        fn of<'a, F: BranchForm>(node: F, digit: usize) -> &'a Cell<u64> {
            &node.counts()[digit / F::GROUP]
        }
        each!(self, node => of(node, digit))
    }

    /// Adds to the number of keys that a digit's are counted in.
    #[inline(always)]
    pub(super) fn count(self, digit: usize, keys: i64) {
        let counter = self.counter(digit);
        counter.set(counter.get().wrapping_add_signed(keys));
    }

    /// Returns the number of keys.
    #[inline]
    pub(super) fn keys(self) -> usize {
        each!(self, node => node.keys())
    }

    /// Returns the number of keys below a digit's.
    pub(super) fn keys_below<W: Weigh>(self, digit: usize) -> usize {
        each!(self, node => node.keys_below::<W>(digit))
    }

    /// Returns the child that has the `n`-th key, from 0, its digit, and the number of keys before it there.
    pub(super) fn nth<W: Weigh>(self, n: usize) -> (usize, At, usize) {
        each!(self, node => node.nth::<W>(n))
    }

    /// Returns the number of children.
    #[inline]
    pub(super) fn children(self) -> usize {
        each!(self, node => node.children())
    }

    /// Returns whether the branch has room for a further child.
    #[inline]
    pub(super) fn has_room(self) -> bool {
        match self {
            Self::Uncompressed(_) => true,
            _ => self.children() < LIMITS.most(self.form()),
        }
    }

    /// Returns the form that a branch with so few children should have, if it is another.
    pub(super) fn smaller_form(self) -> Option<Form> {
        LIMITS.smaller(self.form(), self.children())
    }

    /// Inserts a child of a digit that has none, and returns its place. Its keys are not counted.
    #[inline]
    pub(super) fn insert(self, digit: usize, child: Jp, account: &mut Account) -> At {
        each!(self, node => node.insert(digit, child, account))
    }

    /// Removes the child of a digit that has one, which owns nothing any more.
    #[inline]
    pub(super) fn remove(self, digit: usize, account: &mut Account) {
        each!(self, node => node.remove(digit, account));
    }

    /// Frees the branch, which is not used again; the children stay the caller's.
    pub(super) fn free(self, account: &mut Account) {
        /// Frees a node.
        ///
        /// # Safety
        ///
        /// It comes from `make_empty` with the same arguments, and is freed once.
        unsafe fn free<N>(node: Living<N>, of: Use, account: &mut Account)
        where
            Living<N>: BranchForm,
        {
            node.free_parts(account);
            // SAFETY: the caller's contract.
            unsafe { account.free(of, node.ptr().cast(), size_of::<N>() / 8) };
        }
        // SAFETY: each was made so, and is freed by its only pointer (NODES).
        unsafe {
            match self {
                Self::Linear(node) => free(node, Use::Linear, account),
                Self::Bitmap(node) => free(node, Use::Bitmap, account),
                Self::Uncompressed(node) => free(node, Use::Uncompressed, account),
            }
        }
    }
}

/// Returns the child of the key's digit; `Err` if the pointer, which says this, leads to no branch. What the branch's
/// pointer decodes is not compared, and an uncompressed branch may have an empty child there.
#[inline(always)]
pub(super) fn child_of(at: At, meta: Meta, key: u64) -> Result<Option<At>, ()> {
    // The shift of the digit is the kind itself, as shifts are taken modulo 64.
    let digit = (key.wrapping_shr(u32::from(meta.kind())) & 0xFF) as usize;
    // SAFETY: as the pointer says (NODES).
    let branch = |form| unsafe { Branch::at(at, form) };
    match meta.kind() >> 6 {
        0b10 => match branch(Form::Uncompressed) {
            Branch::Uncompressed(node) => Ok(Some(node.place(digit))),
            _ => Ok(None),
        },
        0b11 => Ok(branch(Form::Bitmap).child(digit)),
        0b01 => Ok(branch(Form::Linear).child(digit)),
        _ => Err(()),
    }
}

/// Makes a branch of these children, whose keys have the bits of `key` above its level. Each child's digit is above
/// that of the one before.
pub(super) fn make<W: Weigh>(
    children: &[(usize, Jp)],
    level: usize,
    key: u64,
    account: &mut Account,
) -> Jp {
    make_as::<W>(
        LIMITS.form(children.len()),
        children.iter().copied(),
        level,
        key,
        account,
    )
}

/// Makes a branch of this form, which has room for all these children. Their keys have the bits of `key` above its
/// level; each child's digit is above that of the one before.
fn make_as<W: Weigh>(
    form: Form,
    children: impl Iterator<Item = (usize, Jp)>,
    level: usize,
    key: u64,
    account: &mut Account,
) -> Jp {
    let branch = Branch::make_empty(form, account);
    for (digit, child) in children {
        let child = branch.insert(digit, child, account);
        branch.count(digit, keys_of::<W>(child) as i64);
    }
    let node = each!(branch, node => node.ptr().cast());
    Jp::branch(node, level, form, key)
}

/// Gives a branch another form that has room for its children.
pub(super) fn change_form<W: Weigh>(at: At, branch: Branch, form: Form, account: &mut Account) {
    let meta = at.meta();
    let moved = branch.iter().map(|(digit, child)| (digit, child.get()));
    at.set(make_as::<W>(
        form,
        moved,
        meta.level().unwrap_or(8),
        meta.0,
        account,
    ));
    // The children have moved to the new one.
    branch.free(account);
}

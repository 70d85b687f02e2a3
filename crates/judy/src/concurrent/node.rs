//! Branches and bitmap leaves: their layout, and what is done to one.

use fyris_sync::atomic::Ordering;
use fyris_sync::lock::{lock_bit, unlock};
use fyris_sync::reclaim::{LocalGuard, PROTECT, Retire, assert_not_reclaimed};

use super::super::jp::{above, digit};
use super::super::linear::Digits;
use super::block::{self, Cell};
use super::full::Full;
use super::group::{ALL, Group, open_group};
use super::limits::{BITMAP_MOST, BITS_MOST, CLOSED_AGAIN, LINEAR_MOST};
use super::link::{Kind, Link};

/// A thread changes the node.
const LOCKED: u64 = 1;
/// The node is out of the tree.
const GONE: u64 = 2;

/// What writers and those that count look at; and the prefix.
#[repr(C)]
pub(super) struct Header {
    lock: Cell,
    /// Keys below the node: those that are counted.
    keys: Cell,
    /// How many of these the parent has counted. Under the parent's lock.
    passed: Cell,
    /// The bits of all keys below that are above the node's level.
    prefix: u64,
}

/// A linear branch.
#[repr(C)]
pub(super) struct SharedLinear {
    pub(super) digits: Cell,
    pub(super) slots: [Cell; 7],
    pub(super) header: Header,
    pub(super) spare: [u64; 4],
}

/// A bitmap leaf.
#[repr(C)]
pub(super) struct SharedBits {
    pub(super) groups: [Cell; 16],
    pub(super) header: Header,
}

/// A bitmap branch.
#[repr(C)]
pub(super) struct SharedBitmap {
    pub(super) groups: [Cell; 16],
    pub(super) header: Header,
    pub(super) counts: [Cell; 16],
}

/// An uncompressed branch.
#[repr(C)]
pub(super) struct SharedUncompressed {
    pub(super) slots: [Cell; 256],
    pub(super) header: Header,
    pub(super) counts: [Cell; 16],
    pub(super) children: Cell,
}

/// The place of the root.
#[repr(C)]
pub(super) struct Root {
    slot: Cell,
    header: Header,
}

macro_rules! retire_by_size {
    ($($node:ty)*) => {$(
        impl Retire for $node {
            unsafe fn reclaim(ptr: *mut Self) {
                // SAFETY: the caller's contract; made as this type.
                unsafe { block::free_node(ptr) }
            }
        }
    )*};
}
retire_by_size!(SharedLinear SharedBits Full SharedBitmap SharedUncompressed);

/// A branch, a bitmap leaf or the place of the root, which lives: the thread is pinned since it was in the tree
/// (RECLAIM), or it is the caller's.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct SharedBranch(pub(super) Link);

impl Header {
    pub(super) fn new(prefix: u64, keys: u64) -> Self {
        Self {
            lock: Cell::new(0),
            keys: Cell::new(keys),
            passed: Cell::new(keys),
            prefix,
        }
    }
}

impl Root {
    pub(super) fn new() -> Self {
        Self {
            slot: Cell::new(0),
            header: Header::new(0, 0),
        }
    }
}

pub(super) fn empty<const N: usize>() -> [Cell; N] {
    std::array::from_fn(|_| Cell::new(0))
}

impl SharedBranch {
    /// Returns the branch that the place of the root is.
    #[inline(always)]
    pub(super) fn root(root: &Root) -> Self {
        Self(Link::branch(std::ptr::from_ref(root).cast(), Kind::Root, 9))
    }

    #[inline(always)]
    fn at<T>(self) -> *mut T {
        self.0.address().cast()
    }

    #[inline(always)]
    fn header<'a>(self) -> &'a Header {
        assert_not_reclaimed(self.0.address());
        // SAFETY: the node lives, and the link says what it is.
        unsafe {
            match self.0.kind() {
                Kind::Linear => &(*self.at::<SharedLinear>()).header,
                Kind::Bitmap => &(*self.at::<SharedBitmap>()).header,
                Kind::Uncompressed => &(*self.at::<SharedUncompressed>()).header,
                Kind::Bits => &(*self.at::<SharedBits>()).header,
                Kind::Full => &(*self.at::<Full>()).header,
                Kind::Root => &(*self.at::<Root>()).header,
                Kind::Empty | Kind::Leaf => unreachable!("no branch"),
            }
        }
    }

    #[inline(always)]
    pub(super) fn level(self) -> usize {
        self.0.level()
    }

    #[inline(always)]
    pub(super) fn is_bits(self) -> bool {
        self.0.is_bits()
    }

    /// Returns the node as an uncompressed leaf, if it is one.
    #[inline(always)]
    fn full<'a>(self) -> Option<&'a Full> {
        // SAFETY: the node lives, and the link says what it is.
        (self.0.kind() == Kind::Full).then(|| unsafe { &*self.at::<Full>() })
    }

    #[inline(always)]
    fn is_root(self) -> bool {
        self.0.kind() == Kind::Root
    }

    #[inline(always)]
    pub(super) fn prefix(self) -> u64 {
        self.header().prefix
    }

    /// Returns the digit of a key that the branch decodes.
    #[inline(always)]
    pub(super) fn digit(self, key: u64) -> usize {
        if self.is_root() {
            return 0;
        }
        digit(key, self.level())
    }

    /// Returns the bits of the keys below the child of a digit that are above the child's place.
    pub(super) fn prefix_at(self, digit: usize) -> u64 {
        if self.is_root() {
            return 0;
        }
        self.prefix() | (digit as u64) << (8 * (self.level() - 1))
    }

    /// Returns whether the key belongs below the branch, whose place decodes `place_level` bytes less than all
    /// (PREFIXED).
    #[inline(always)]
    pub(super) fn has_prefix_of(self, key: u64, place_level: usize) -> bool {
        let level = self.level();
        level == place_level
            || cfg!(fyris_mutant = "judy_shared_narrow_unchecked")
            || (self.prefix() ^ key) & above(level) == 0
    }

    /// Locks the node; returns false if it is out of the tree (GONE).
    #[inline]
    pub(super) fn lock(self) -> bool {
        if cfg!(fyris_mutant = "judy_shared_gone_unchecked") {
            let seen = lock_bit(&self.header().lock, LOCKED, 0);
            if seen & GONE != 0 {
                unlock(&self.header().lock, 0);
            }
            return true;
        }
        lock_bit(&self.header().lock, LOCKED, GONE) & GONE == 0
    }

    /// Unlocks the node.
    #[inline]
    pub(super) fn unlock(self) {
        unlock(&self.header().lock, 0);
    }

    /// Unlocks the node for good, as no link leads to it any more.
    pub(super) fn leave(self) {
        unlock(&self.header().lock, GONE);
    }

    /// Returns the word of a digit's child, or its value in a bitmap leaf: `None` if it has none.
    #[inline(always)]
    pub(super) fn get(self, digit: usize) -> Option<u64> {
        if self.is_bits() {
            return self.value(digit);
        }
        // PROTECT: pairs with the Release stores in `set` and `add`, so that what the word leads to is seen as it was
        // made.
        Some(self.slot(digit)?.load(PROTECT))
    }

    /// Returns the value of a digit in a bitmap leaf.
    #[inline(always)]
    fn value(self, digit: usize) -> Option<u64> {
        let (group, bit) = (self.group(digit), digit % 16);
        if !group.has(bit) {
            return None;
        }
        // Acquire: pairs with the Release stores in `set`, `add_value` and `Full::add`: a thread that sees the value of
        // a later key sees that the earlier one has gone.
        let value = self.place(group, digit).load(Ordering::Acquire);
        if group.is_open() && !cfg!(fyris_mutant = "judy_shared_bit_seen_once") {
            // OPEN: the value may be that of a key which is not there yet.
            let now = self.group(digit);
            if now.slots() == group.slots() && !now.has(bit) {
                return None;
            }
        }
        Some(value)
    }

    /// Returns the place of a digit that is there in a group of this bitmap.
    #[inline(always)]
    fn place<'a>(self, group: Group, digit: usize) -> &'a Cell {
        if let Some(full) = self.full() {
            // Where the slot is was known before the group was loaded.
            return &full.slots[digit & 0xFF];
        }
        assert_not_reclaimed(group.slots());
        // SAFETY: the slots of a group that was in the tree under the pin live (RECLAIM).
        unsafe { &*group.slots().add(group.index(digit % 16)) }
    }

    /// Returns the place of a digit's word. A word of zero is no child, except in a bitmap leaf.
    #[inline(always)]
    pub(super) fn slot<'a>(self, digit: usize) -> Option<&'a Cell> {
        assert_not_reclaimed(self.0.address());
        // SAFETY: the node lives, and the link says what it is.
        unsafe {
            match self.0.kind() {
                Kind::Uncompressed => Some(&(*self.at::<SharedUncompressed>()).slots[digit & 0xFF]),
                Kind::Bits | Kind::Full | Kind::Bitmap => {
                    let group = self.group(digit);
                    group.has(digit % 16).then(|| self.place(group, digit))
                }
                Kind::Linear => {
                    let node = &*self.at::<SharedLinear>();
                    // Acquire: pairs with the Release store in `add`: the digit's slot is written.
                    let digits = Digits(node.digits.load(Ordering::Acquire));
                    let i = digits.find(digit);
                    (i < digits.len()).then(|| &node.slots[i])
                }
                Kind::Root => Some(&(*self.at::<Root>()).slot),
                Kind::Empty | Kind::Leaf => unreachable!("no branch"),
            }
        }
    }

    /// Returns the groups of a bitmap.
    #[inline(always)]
    fn groups<'a>(self) -> &'a [Cell; 16] {
        debug_assert!(matches!(self.0.kind(), Kind::Bits | Kind::Bitmap));
        // SAFETY: the node lives; both kinds begin with them.
        unsafe { &(*self.at::<SharedBits>()).groups }
    }

    /// Returns the group of a digit.
    #[inline(always)]
    fn group(self, digit: usize) -> Group {
        if let Some(full) = self.full() {
            return full.group(digit);
        }
        // PROTECT: pairs with the Release store in `set_group`.
        Group(self.groups()[(digit / 16) & 15].load(PROTECT))
    }

    /// Replaces a group by one with other bits and slots.
    fn set_group(self, digit: usize, new: Group, pin: &LocalGuard) {
        let cell = &self.groups()[digit / 16];
        // Relaxed: under the lock.
        let old = Group(cell.load(Ordering::Relaxed));
        // Release: pairs with PROTECT in `group`.
        cell.store(new.0, Ordering::Release);
        if old.bits() != 0 {
            // SAFETY: the store took it out of the tree; allocated with its number of slots.
            unsafe { block::retire(old.slots(), old.cells(), pin) };
        }
    }

    /// Replaces the word of a digit that has one. Under the lock.
    #[inline]
    pub(super) fn set(self, digit: usize, word: u64) {
        if let Some(slot) = self.slot(digit) {
            let order = if cfg!(fyris_mutant = "judy_shared_unpublished") {
                Ordering::Relaxed
            } else {
                Ordering::Release
            };
            // Release: pairs with PROTECT in `get`.
            slot.store(word, order);
        }
    }

    /// Returns whether there is room for a child more, or a value in a bitmap leaf. Under the lock.
    pub(super) fn has_room(self) -> bool {
        match self.0.kind() {
            // SAFETY: the node lives. Relaxed: under the lock.
            Kind::Linear => unsafe {
                Digits((*self.at::<SharedLinear>()).digits.load(Ordering::Relaxed)).len()
                    < LINEAR_MOST
            },
            Kind::Bitmap => self.children() < BITMAP_MOST,
            Kind::Bits => self.keys() < BITS_MOST,
            _ => true,
        }
    }

    /// Gives a digit that has none a child, or a value in a bitmap leaf; there is room. Under the lock.
    pub(super) fn add(self, digit: usize, word: u64, pin: &LocalGuard) {
        if let Some(full) = self.full() {
            return full.add(digit, word);
        }
        match self.0.kind() {
            Kind::Bits if self.group(digit).opens() => self.add_value(digit, word, pin),
            Kind::Bits | Kind::Bitmap => {
                let (old, bit) = (self.group(digit), digit % 16);
                let (at, len) = (old.below(bit), old.len());
                let slots = block::allocate(len + 1);
                // SAFETY: a new block with room for them; the old one has `len` slots.
                unsafe {
                    copy_cells(old.slots(), 0..at, slots);
                    slots.add(at).write(Cell::new(word));
                    copy_cells(old.slots(), at..len, slots.add(at + 1));
                }
                self.set_group(digit, Group::new(slots, old.bits() | 1 << bit), pin);
            }
            Kind::Linear if self.slot(digit).is_none() => {
                // SAFETY: the node lives.
                let node = unsafe { &*self.at::<SharedLinear>() };
                // Relaxed: under the lock.
                let digits = Digits(node.digits.load(Ordering::Relaxed));
                // Relaxed: published by the next store.
                node.slots[digits.len()].store(word, Ordering::Relaxed);
                // Release: pairs with the Acquire in `slot`.
                node.digits
                    .store(digits.with(digits.len(), digit).0, Ordering::Release);
            }
            _ => {
                self.set(digit, word);
                self.count_child(1);
            }
        }
    }

    /// Puts a value into an open group, or opens the group. Under the lock.
    fn add_value(self, digit: usize, value: u64, pin: &LocalGuard) {
        let (old, bit) = (self.group(digit), digit % 16);
        let bits = old.bits() | 1 << bit;
        if !old.is_open() {
            let values = (0..ALL).map(|i| match i {
                i if i == bit => value,
                // SAFETY: the slot of a bit that is there. Relaxed: under the lock.
                i if old.has(i) => unsafe {
                    (*old.slots().add(old.index(i))).load(Ordering::Relaxed)
                },
                _ => 0,
            });
            return self.set_group(digit, open_group(values, bits), pin);
        }
        // SAFETY: one of the 16 slots. Release: pairs with the Acquire in `value`, which sees then that the bit is
        // clear.
        unsafe { (*old.slots().add(bit)).store(value, Ordering::Release) };
        // Release: pairs with PROTECT in `group`.
        self.groups()[digit / 16].store(old.with_bits(bits).0, Ordering::Release);
    }

    /// Adds to the number of children of an uncompressed branch; others are asked. Under the lock.
    fn count_child(self, more: i64) {
        if self.0.kind() == Kind::Uncompressed {
            // SAFETY: the node lives. Relaxed: under the lock.
            let children = unsafe { &(*self.at::<SharedUncompressed>()).children };
            let new = children.load(Ordering::Relaxed).wrapping_add(more as u64);
            children.store(new, Ordering::Relaxed);
        }
    }

    /// Takes away the child of a digit, or its value in a bitmap leaf. Under the lock. In a linear branch the digit
    /// keeps its place.
    pub(super) fn take(self, digit: usize, pin: &LocalGuard) {
        if let Some(full) = self.full() {
            return full.take(digit);
        }
        if !matches!(self.0.kind(), Kind::Bits | Kind::Bitmap) {
            self.set(digit, 0);
            return self.count_child(-1);
        }
        let old = self.group(digit);
        let left = old.with_bits(old.bits() & !(1 << (digit % 16)));
        if left.len() == 0 {
            return self.set_group(digit, Group::EMPTY, pin);
        }
        if left.is_open() && left.len() > CLOSED_AGAIN {
            // Release: pairs with PROTECT in `group`.
            return self.groups()[digit / 16].store(left.0, Ordering::Release);
        }
        let slots = block::allocate(left.len());
        for (to, bit) in (0..ALL).filter(|bit| left.has(*bit)).enumerate() {
            // SAFETY: a new block with room for what is left; the slot of a bit that is there.
            unsafe {
                copy_cells(
                    old.slots(),
                    old.index(bit)..old.index(bit) + 1,
                    slots.add(to),
                )
            };
        }
        self.set_group(digit, Group::new(slots, left.bits()), pin);
    }

    /// Returns the first child at or above a digit, with its digit; in a bitmap leaf the value.
    pub(super) fn next(self, from: usize) -> Option<(usize, u64)> {
        let mut from = from;
        while from < 256 {
            let digit = self.first_digit(from)?;
            // A child that a writer has taken away meanwhile is none.
            match self.get(digit) {
                Some(word) if word != 0 || self.is_bits() => return Some((digit, word)),
                _ => from = digit + 1,
            }
        }
        None
    }

    /// Returns the last child at or below a digit, as [`SharedBranch::next`] does.
    pub(super) fn prev(self, to: usize) -> Option<(usize, u64)> {
        let mut to = Some(to);
        while let Some(digit) = to.and_then(|to| self.last_digit(to)) {
            match self.get(digit) {
                Some(word) if word != 0 || self.is_bits() => return Some((digit, word)),
                _ => to = digit.checked_sub(1),
            }
        }
        None
    }

    /// Returns the first digit at or above one that may have a child.
    fn first_digit(self, from: usize) -> Option<usize> {
        match self.0.kind() {
            Kind::Bits | Kind::Full | Kind::Bitmap => (from / 16..16).find_map(|at| {
                let mask = if at == from / 16 {
                    !0 << (from % 16)
                } else {
                    !0
                };
                let bits = self.group(16 * at).bits() & mask;
                (bits != 0).then(|| 16 * at + bits.trailing_zeros() as usize)
            }),
            Kind::Linear => self.digits().filter(|digit| *digit >= from).min(),
            Kind::Root => (from == 0).then_some(0),
            _ => Some(from),
        }
    }

    /// Returns the last digit at or below one that may have a child.
    fn last_digit(self, to: usize) -> Option<usize> {
        match self.0.kind() {
            Kind::Bits | Kind::Full | Kind::Bitmap => (0..=to / 16).rev().find_map(|at| {
                let mask = if at == to / 16 {
                    (2 << (to % 16)) - 1
                } else {
                    !0
                };
                let bits = self.group(16 * at).bits() & mask;
                (bits != 0).then(|| 16 * at + 63 - bits.leading_zeros() as usize)
            }),
            Kind::Linear => self.digits().filter(|digit| *digit <= to).max(),
            Kind::Root => Some(0),
            _ => Some(to),
        }
    }

    /// Returns the digits of a linear branch.
    fn digits(self) -> impl Iterator<Item = usize> {
        // SAFETY: the node lives. Acquire: as in `slot`.
        let digits = unsafe { Digits((*self.at::<SharedLinear>()).digits.load(Ordering::Acquire)) };
        (0..digits.len()).map(move |i| digits.get(i))
    }

    /// Returns all children with their digits; in a bitmap leaf the values.
    pub(super) fn iter(self) -> impl Iterator<Item = (usize, u64)> {
        let mut from = 0;
        std::iter::from_fn(move || {
            let (digit, word) = self.next(from)?;
            from = digit + 1;
            Some((digit, word))
        })
    }

    /// Returns the number of children, or values in a bitmap leaf. Under the lock.
    pub(super) fn children(self) -> usize {
        match self.0.kind() {
            // SAFETY: the node lives. Relaxed: under the lock.
            Kind::Uncompressed => unsafe {
                (*self.at::<SharedUncompressed>())
                    .children
                    .load(Ordering::Relaxed) as usize
            },
            Kind::Bitmap => (0..16).map(|at| self.group(16 * at).len()).sum(),
            // Each value is counted with its bit.
            Kind::Bits | Kind::Full => self.keys(),
            _ => self.iter().count(),
        }
    }

    /// Returns the number of keys that are counted below the node (PASSED_ON).
    #[inline]
    pub(super) fn keys(self) -> usize {
        // Acquire: pairs with the Release store in `count`.
        let keys = self.header().keys.load(Ordering::Acquire);
        (keys as i64).max(0) as usize
    }

    /// Returns how many keys the parent has counted of this node's. Under the parent's lock.
    pub(super) fn passed(self) -> usize {
        // Relaxed: under the parent's lock.
        self.header().passed.load(Ordering::Relaxed) as usize
    }

    /// Notes the number of keys that the parent has counted. Under the parent's lock, or before a link leads here.
    pub(super) fn pass(self, keys: usize) {
        // Relaxed: as in `passed`.
        self.header().passed.store(keys as u64, Ordering::Relaxed);
    }

    /// Returns the counts by groups of 16 digits; a bitmap leaf and a linear branch have none.
    fn counts<'a>(self) -> Option<&'a [Cell; 16]> {
        // SAFETY: the node lives, and the link says what it is.
        unsafe {
            match self.0.kind() {
                Kind::Bitmap => Some(&(*self.at::<SharedBitmap>()).counts),
                Kind::Uncompressed => Some(&(*self.at::<SharedUncompressed>()).counts),
                _ => None,
            }
        }
    }

    /// Adds to the keys counted below a digit's child. Under the lock.
    #[inline]
    pub(super) fn count(self, digit: usize, more: i64) {
        let group = self.counts().map(|counts| &counts[digit / 16]);
        for cell in group.into_iter().chain([&self.header().keys]) {
            // Relaxed: under the lock. Release: pairs with the Acquire of those that read a count.
            let keys = cell.load(Ordering::Relaxed);
            cell.store(keys.wrapping_add(more as u64), Ordering::Release);
        }
    }

    /// Returns the keys that are counted below the children of digits below this one, those of its group left out, and
    /// the first digit of the group: of a node with counts by groups.
    pub(super) fn keys_before_group(self, digit: usize) -> (usize, usize) {
        let Some(counts) = self.counts() else {
            return (0, 0);
        };
        let group = digit / 16;
        // Acquire: as in `keys`.
        let before = counts[..group]
            .iter()
            .map(|cell| cell.load(Ordering::Acquire) as i64);
        (before.sum::<i64>().max(0) as usize, 16 * group)
    }

    /// Returns the first digit of the group with the `n`-th key, and makes `n` the number of keys before it there; of a
    /// linear branch 0.
    pub(super) fn group_with(self, n: &mut usize) -> usize {
        for at in 0..16 {
            let keys = match self.counts() {
                // Acquire: as in `keys`.
                Some(counts) => counts[at].load(Ordering::Acquire) as usize,
                None if self.is_bits() => self.group(16 * at).len(),
                None => return 0,
            };
            if *n < keys {
                return 16 * at;
            }
            *n -= keys;
        }
        256
    }

    /// Returns the number of values before a digit in a bitmap leaf.
    pub(super) fn values_before(self, digit: usize) -> usize {
        let whole: usize = (0..digit / 16).map(|at| self.group(16 * at).len()).sum();
        whole + self.group(digit).below(digit % 16)
    }

    /// Retires the node and its groups, not the children.
    ///
    /// # Safety
    ///
    /// No link leads to the node any more, it is left, and it is retired once.
    pub(super) unsafe fn retire(self, pin: &LocalGuard) {
        // SAFETY: the caller's contract; each block with the size that it was allocated with.
        unsafe {
            match self.0.kind() {
                Kind::Linear => block::retire_node(self.at::<SharedLinear>(), pin),
                Kind::Uncompressed => block::retire_node(self.at::<SharedUncompressed>(), pin),
                Kind::Full => block::retire_node(self.at::<Full>(), pin),
                Kind::Bitmap => {
                    self.groups_with(|slots, len| block::retire(slots, len, pin));
                    block::retire_node(self.at::<SharedBitmap>(), pin);
                }
                Kind::Bits => {
                    self.groups_with(|slots, len| block::retire(slots, len, pin));
                    block::retire_node(self.at::<SharedBits>(), pin);
                }
                Kind::Root | Kind::Empty | Kind::Leaf => {}
            }
        }
    }

    /// Frees the node and its groups, not the children.
    ///
    /// # Safety
    ///
    /// Only the caller can still reach it.
    pub(super) unsafe fn free(self) {
        // SAFETY: the caller's contract; each block with the size that it was allocated with.
        unsafe {
            match self.0.kind() {
                Kind::Linear => block::free_node(self.at::<SharedLinear>()),
                Kind::Uncompressed => block::free_node(self.at::<SharedUncompressed>()),
                Kind::Full => block::free_node(self.at::<Full>()),
                Kind::Bitmap => {
                    self.groups_with(|slots, len| block::free(slots, len));
                    block::free_node(self.at::<SharedBitmap>());
                }
                Kind::Bits => {
                    self.groups_with(|slots, len| block::free(slots, len));
                    block::free_node(self.at::<SharedBits>());
                }
                Kind::Root | Kind::Empty | Kind::Leaf => {}
            }
        }
    }

    fn groups_with(self, mut f: impl FnMut(*mut Cell, usize)) {
        for at in 0..16 {
            let group = self.group(16 * at);
            if group.bits() != 0 {
                f(group.slots(), group.cells());
            }
        }
    }

    /// Returns the bytes of the node, and those of its groups.
    pub(super) fn bytes(self) -> usize {
        let node = match self.0.kind() {
            Kind::Linear => size_of::<SharedLinear>(),
            Kind::Bitmap => size_of::<SharedBitmap>(),
            Kind::Uncompressed => size_of::<SharedUncompressed>(),
            Kind::Bits => size_of::<SharedBits>(),
            Kind::Full => size_of::<Full>(),
            Kind::Root | Kind::Empty | Kind::Leaf => 0,
        };
        let mut slots = 0;
        if matches!(self.0.kind(), Kind::Bits | Kind::Bitmap) {
            self.groups_with(|_, len| slots += 8 * len);
        }
        node + slots
    }
}

/// Copies cells to where `to` is and behind. Under the lock of their node.
///
/// # Safety
///
/// `from` has these cells, and there is room for them in a block that is the caller's.
unsafe fn copy_cells(from: *const Cell, range: std::ops::Range<usize>, to: *mut Cell) {
    for (place, i) in range.enumerate() {
        // SAFETY: the caller's contract. Relaxed: they change under the lock that the caller has.
        unsafe {
            to.add(place)
                .write(Cell::new((*from.add(i)).load(Ordering::Relaxed)))
        };
    }
}

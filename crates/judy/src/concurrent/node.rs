//! Branches and bitmap leaves: their layout, and what is done to one.

use fyris_sync::atomic::Ordering;
use fyris_sync::lock::{lock_bit, unlock};
use fyris_sync::reclaim::{LocalGuard, PROTECT, assert_not_reclaimed};

use super::super::digits::{Digits, above, at_level, beside, digit};
use super::super::jp::Form;
use super::super::limits::{BITS_MOST, CLOSED_AGAIN, SHARED};
use super::block::{self, Cell};
use super::full::Full;
use super::group::{ALL, Group, open_group};
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
        match self.0.kind() {
            Kind::Linear => &self.linear().header,
            Kind::Uncompressed => &self.uncompressed().header,
            // SAFETY: the node lives, and the link says what it is.
            kind => unsafe {
                match kind {
                    Kind::Bitmap => &(*self.at::<SharedBitmap>()).header,
                    Kind::Bits => &(*self.at::<SharedBits>()).header,
                    Kind::Full => &(*self.at::<Full>()).header,
                    Kind::Root => &(*self.at::<Root>()).header,
                    _ => unreachable!("no branch"),
                }
            },
        }
    }

    /// Returns the node as the linear branch that it is.
    #[inline(always)]
    fn linear<'a>(self) -> &'a SharedLinear {
        debug_assert_eq!(self.0.kind(), Kind::Linear);
        // SAFETY: the node lives, and the link says what it is.
        unsafe { &*self.at() }
    }

    /// Returns the node as the uncompressed branch that it is.
    #[inline(always)]
    fn uncompressed<'a>(self) -> &'a SharedUncompressed {
        debug_assert_eq!(self.0.kind(), Kind::Uncompressed);
        // SAFETY: the node lives, and the link says what it is.
        unsafe { &*self.at() }
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
        self.prefix() | at_level(digit, self.level())
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
        if !group.set().has(bit) {
            return None;
        }
        // Acquire: pairs with the Release stores in `set`, `add_value` and `Full::add`: a thread that sees the value of
        // a later key sees that the earlier one has gone.
        let value = self.place(group, digit).load(Ordering::Acquire);
        if group.is_open() && !cfg!(fyris_mutant = "judy_shared_bit_seen_once") {
            // OPEN: the value may be that of a key which is not there yet.
            let now = self.group(digit);
            if now.slots() == group.slots() && !now.set().has(bit) {
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
        match self.0.kind() {
            Kind::Uncompressed => Some(&self.uncompressed().slots[digit & 0xFF]),
            Kind::Bits | Kind::Full | Kind::Bitmap => {
                let group = self.group(digit);
                let is_there = group.set().has(digit % 16);
                is_there.then(|| self.place(group, digit))
            }
            Kind::Linear => {
                // Acquire: pairs with the Release store in `add`: the digit's slot is written.
                let digits = Digits(self.linear().digits.load(Ordering::Acquire));
                digits.find(digit).map(|i| &self.linear().slots[i])
            }
            // SAFETY: the node lives, and the link says what it is.
            Kind::Root => Some(unsafe { &(*self.at::<Root>()).slot }),
            Kind::Empty | Kind::Leaf => unreachable!("no branch"),
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
        if !old.set().is_empty() {
            // SAFETY: the store took it out of the tree; allocated with its number of slots.
            unsafe { block::put_away(old.slots(), old.cells(), Some(pin)) };
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
            // With the digits that have lost their child. Relaxed: under the lock.
            Kind::Linear => {
                let digits = Digits(self.linear().digits.load(Ordering::Relaxed));
                digits.len() < SHARED.most(Form::Linear)
            }
            Kind::Bitmap => self.children() < SHARED.most(Form::Bitmap),
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
                self.set_group(digit, Group::new(slots, old.set().with(bit)), pin);
            }
            Kind::Linear if self.slot(digit).is_none() => {
                let node = self.linear();
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
        let set = old.set().with(bit);
        if !old.is_open() {
            let values = (0..ALL).map(|i| match i {
                i if i == bit => value,
                // SAFETY: the slot of a bit that is there. Relaxed: under the lock.
                i if old.set().has(i) => unsafe {
                    (*old.slots().add(old.index(i))).load(Ordering::Relaxed)
                },
                _ => 0,
            });
            return self.set_group(digit, open_group(values, set), pin);
        }
        // SAFETY: one of the 16 slots. Release: pairs with the Acquire in `value`, which sees then that the bit is
        // clear.
        unsafe { (*old.slots().add(bit)).store(value, Ordering::Release) };
        // Release: pairs with PROTECT in `group`.
        self.groups()[digit / 16].store(old.with_set(set).0, Ordering::Release);
    }

    /// Adds to the number of children of an uncompressed branch; others are asked. Under the lock.
    fn count_child(self, more: i64) {
        if self.0.kind() == Kind::Uncompressed {
            let children = &self.uncompressed().children;
            // Relaxed: under the lock.
            let new = children.load(Ordering::Relaxed).wrapping_add(more as u64);
            children.store(new, Ordering::Relaxed);
        }
    }

    /// Takes away the child of a digit, or its value in a bitmap leaf. Under the lock. In a linear branch the digit
    /// keeps its place.
    pub(super) fn take(self, digit: usize, pin: &LocalGuard) {
        if let Some(full) = self.full() {
            return full.change(digit);
        }
        if !matches!(self.0.kind(), Kind::Bits | Kind::Bitmap) {
            self.set(digit, 0);
            return self.count_child(-1);
        }
        let old = self.group(digit);
        let left = old.with_set(old.set().without(digit % 16));
        if left.len() == 0 {
            return self.set_group(digit, Group::EMPTY, pin);
        }
        if left.is_open() && left.len() > CLOSED_AGAIN {
            // Release: pairs with PROTECT in `group`.
            return self.groups()[digit / 16].store(left.0, Ordering::Release);
        }
        let slots = block::allocate(left.len());
        for (to, bit) in left.set().enumerate() {
            let i = old.index(bit);
            // SAFETY: a new block with room for what is left; the slot of a bit that is there.
            unsafe { copy_cells(old.slots(), i..i + 1, slots.add(to)) };
        }
        self.set_group(digit, Group::new(slots, left.set()), pin);
    }

    /// Returns the first child from a digit on, with its digit; in a bitmap leaf the value: upwards, or downwards.
    pub(super) fn near<const UP: bool>(self, from: usize) -> Option<(usize, u64)> {
        let mut from = from;
        loop {
            let digit = self.near_digit::<UP>(from)?;
            // A child that a writer has taken away meanwhile is none.
            match self.get(digit) {
                Some(word) if word != 0 || self.is_bits() => return Some((digit, word)),
                _ => from = beside(digit, UP)?,
            }
        }
    }

    /// Returns the first digit from one on, upwards or downwards, that may have a child.
    fn near_digit<const UP: bool>(self, from: usize) -> Option<usize> {
        match self.0.kind() {
            Kind::Bits | Kind::Full | Kind::Bitmap => {
                let mut at = from / 16;
                let mut set = self.group(from).set().from(from % 16, UP);
                while set.is_empty() {
                    at = beside(16 * at + if UP { 15 } else { 0 }, UP)? / 16;
                    set = self.group(16 * at).set();
                }
                Some(16 * at + set.first(UP)?)
            }
            Kind::Linear => {
                // Acquire: as in `slot`.
                let digits = Digits(self.linear().digits.load(Ordering::Acquire));
                let digits = (0..digits.len()).map(|i| digits.get(i));
                if UP {
                    digits.filter(|digit| *digit >= from).min()
                } else {
                    digits.filter(|digit| *digit <= from).max()
                }
            }
            Kind::Root => (!UP || from == 0).then_some(0),
            _ => Some(from),
        }
    }

    /// Returns the children from a digit on, with their digits, upwards or downwards; in a bitmap leaf the values.
    pub(super) fn iter_from<const UP: bool>(
        self,
        from: usize,
    ) -> impl Iterator<Item = (usize, u64)> {
        let mut from = Some(from);
        std::iter::from_fn(move || {
            let (digit, word) = self.near::<UP>(from?)?;
            from = beside(digit, UP);
            Some((digit, word))
        })
    }

    /// Returns all children with their digits; in a bitmap leaf the values.
    pub(super) fn iter(self) -> impl Iterator<Item = (usize, u64)> {
        self.iter_from::<true>(0)
    }

    /// Returns the number of children, or values in a bitmap leaf. Under the lock.
    pub(super) fn children(self) -> usize {
        match self.0.kind() {
            // Relaxed: under the lock.
            Kind::Uncompressed => self.uncompressed().children.load(Ordering::Relaxed) as usize,
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
        match self.0.kind() {
            // SAFETY: the node lives, and the link says what it is.
            Kind::Bitmap => Some(unsafe { &(*self.at::<SharedBitmap>()).counts }),
            Kind::Uncompressed => Some(&self.uncompressed().counts),
            _ => None,
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
    pub(super) fn group_with(self, n: &mut usize) -> Option<usize> {
        for at in 0..16 {
            let keys = match self.counts() {
                // Acquire: as in `keys`.
                Some(counts) => counts[at].load(Ordering::Acquire) as usize,
                None if self.is_bits() => self.group(16 * at).len(),
                None => return Some(0),
            };
            if *n < keys {
                return Some(16 * at);
            }
            *n -= keys;
        }
        None
    }

    /// Returns the number of values before a digit in a bitmap leaf.
    pub(super) fn values_before(self, digit: usize) -> usize {
        let whole: usize = (0..digit / 16).map(|at| self.group(16 * at).len()).sum();
        whole + self.group(digit).below(digit % 16)
    }

    /// Frees the node and its groups, not the children: once no thread looks at them any more, or at once if there is
    /// no pin.
    ///
    /// # Safety
    ///
    /// No link leads to the node any more, and it is left; without a pin only the caller can still reach it. It is put
    /// away once.
    pub(super) unsafe fn put_away(self, pin: Option<&LocalGuard>) {
        // SAFETY: the caller's contract; each block with the size that it was allocated with.
        unsafe {
            self.groups_with(|slots, len| block::put_away(slots, len, pin));
            match self.0.kind() {
                Kind::Linear => block::put_away_node(self.at::<SharedLinear>(), pin),
                Kind::Uncompressed => block::put_away_node(self.at::<SharedUncompressed>(), pin),
                Kind::Full => block::put_away_node(self.at::<Full>(), pin),
                Kind::Bitmap => block::put_away_node(self.at::<SharedBitmap>(), pin),
                Kind::Bits => block::put_away_node(self.at::<SharedBits>(), pin),
                Kind::Root | Kind::Empty | Kind::Leaf => {}
            }
        }
    }

    /// Calls `f` with the slots of each group of a bitmap, and their number.
    fn groups_with(self, mut f: impl FnMut(*mut Cell, usize)) {
        if !matches!(self.0.kind(), Kind::Bits | Kind::Bitmap) {
            return;
        }
        let groups = (0..16).map(|at| self.group(16 * at));
        for group in groups.filter(|group| !group.set().is_empty()) {
            f(group.slots(), group.cells());
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
        self.groups_with(|_, len| slots += 8 * len);
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

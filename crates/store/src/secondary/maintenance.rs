//! Keeping the entries in step with the table.

use fyris_index::{Entry, Index};
use fyris_sync::reclaim::{Guard, LocalGuard, pin};

use super::Secondary;
use crate::chain;
use crate::displaced::Change;
use crate::key_kind::KeyKind;
use crate::ops::Writes;
use crate::record::{RecordPtr, newest, object};
use crate::slot::{Content, Slot};
use crate::table_data::TableData;
use crate::version::DeadItem;

/// The secondary indexes, a bit each, in which the object that a write has put in has the place of the old one
/// (HANDED_OVER).
pub(crate) type HandedOver = u64;

impl<K, I> TableData<K, I>
where
    K: KeyKind,
    I: Index<Slot<K>>,
    Slot<K>: Entry<Key = K::Key>,
{
    /// Enters what a write is going to put in the place of `old`. `is_plain` says that what goes is nobody's then.
    #[inline(never)]
    pub(crate) fn enter_change(
        &self,
        old: Option<Content>,
        change: &Change,
        is_plain: bool,
        pin: &impl Guard,
    ) -> HandedOver {
        match change {
            Change::Keep | Change::Remove => {}
            Change::Put(new) => match old {
                Some(old) if is_plain && !old.is_chain() && !new.is_chain() => {
                    return self.hand_over(old, *new, pin);
                }
                _ => self.enter_content(*new, pin),
            },
            Change::Push(new) => {
                chain::above(Some(*new), old).for_each(|record| self.enter(record, pin));
            }
            Change::Edit(edited) => {
                let came = edited.came();
                came.into_iter().for_each(|record| self.enter(record, pin));
            }
        }
        0
    }

    fn hand_over(&self, old: Content, new: Content, pin: &impl Guard) -> HandedOver {
        let (before, after) = (newest(old, self.keypos), newest(new, self.keypos));
        let mut handed_over = 0;
        for (at, secondary) in self.secondaries.iter().enumerate() {
            if secondary.definition.is_same_element(&before, &after) {
                handed_over |= 1 << at;
                continue;
            }
            let Some(value) = secondary.definition.value_of(&after) else {
                continue;
            };
            let old_value = secondary.definition.value_of(&before);
            if old_value.is_some_and(|old| old.bytes() == value.bytes()) {
                handed_over |= 1 << at;
            } else {
                secondary.enter(value.bytes(), self.bytes_of(new.newest()), pin);
            }
        }
        handed_over
    }

    /// Enters all objects of a content.
    pub(crate) fn enter_content(&self, content: Content, pin: &impl Guard) {
        chain::newest_first(Some(content)).for_each(|record| self.enter(record, pin));
    }

    fn enter(&self, record: RecordPtr, pin: &impl Guard) {
        self.each_entry(record, 0, |secondary, value, key| {
            secondary.enter(value, key, pin)
        });
    }

    /// Lets the entries of a record go, but those that were handed over.
    pub(crate) fn leave(&self, record: RecordPtr, but: HandedOver, pin: &impl Guard) {
        self.each_entry(record, but, |secondary, value, key| {
            secondary.leave(value, key, pin)
        });
    }

    fn each_entry(
        &self,
        record: RecordPtr,
        but: HandedOver,
        mut f: impl FnMut(&Secondary, &[u8], &[u8]),
    ) {
        let (object, key) = (object(record, self.keypos), self.bytes_of(record));
        for (at, secondary) in self.secondaries.iter().enumerate() {
            if but >> at & 1 == 0
                && let Some(value) = secondary.definition.value_of(&object)
            {
                f(secondary, value.bytes(), key);
            }
        }
    }

    /// Retires what nobody holds any more, and lets its entries go, but those that were handed over.
    ///
    /// # Safety
    ///
    /// As for [`DeadItem::retire`].
    #[inline]
    pub(crate) unsafe fn retire_item(&self, item: DeadItem, but: HandedOver, pin: &impl Guard) {
        if !self.secondaries.is_empty() {
            self.leave_item(&item, but, pin);
        }
        // SAFETY: forwarded.
        unsafe { item.retire(pin) };
    }

    #[inline(never)]
    pub(crate) fn leave_item(&self, item: &DeadItem, but: HandedOver, pin: &impl Guard) {
        match item {
            DeadItem::Nothing => {}
            DeadItem::Content(content) => {
                chain::newest_first(Some(*content)).for_each(|record| self.leave(record, but, pin));
            }
            DeadItem::Part(edited) => {
                let gone = edited.gone.iter();
                gone.for_each(|object| self.leave(object.record, but, pin));
            }
        }
    }

    /// Lets the entries of one of two objects go of which a commit has put the second in the place of the first: inline
    /// objects that are one word.
    pub(crate) fn leave_repeated(&self, content: Option<Content>, pin: &impl Guard) {
        if self.secondaries.is_empty() {
            return;
        }
        if let Some(content) = content.filter(|content| content.is_inline()) {
            self.leave(content.newest(), 0, pin);
        }
    }

    /// Enters what a commit is going to put in.
    pub(crate) fn enter_writes(&self, writes: &Writes) {
        self.each_write(writes, |record, pin| self.enter(record, pin));
    }

    /// Lets the entries of a commit go that is not made.
    pub(crate) fn leave_writes(&self, writes: &Writes) {
        self.each_write(writes, |record, pin| self.leave(record, 0, pin));
    }

    fn each_write(&self, writes: &Writes, f: impl Fn(RecordPtr, &LocalGuard)) {
        if self.secondaries.is_empty() {
            return;
        }
        for some in writes.contents.chunks(BATCH) {
            let pin = pin();
            for &content in some.iter().flatten() {
                chain::newest_first(Some(content)).for_each(|record| f(record, &pin));
            }
        }
        for some in writes.records.chunks(BATCH) {
            let pin = pin();
            some.iter().for_each(|&record| f(record, &pin));
        }
    }
}

/// Objects that are entered under one pin.
const BATCH: usize = 64;

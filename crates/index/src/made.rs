//! What is to be done although user code panics.

/// Calls a function when it goes, unless it is defused: so it frees what an operation has made if the hash or the
/// comparison of a key panics before that is in the map, or what is to be freed last.
pub(crate) struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> AtEnd<F> {
    #[inline]
    pub(crate) fn new(f: F) -> Self {
        Self(f)
    }

    /// All went well.
    #[inline]
    pub(crate) fn defuse(self) {
        std::mem::forget(self);
    }
}

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Calls `f` for each item, also for those behind one for which it panicked. A second panic ends the process, as in the
/// drop of a `Vec`.
pub(crate) fn for_all<I: Iterator>(items: I, f: impl FnMut(I::Item)) {
    struct LaterItems<I: Iterator, F: FnMut(I::Item)>(I, F);

    impl<I: Iterator, F: FnMut(I::Item)> LaterItems<I, F> {
        fn go(&mut self) {
            for item in self.0.by_ref() {
                (self.1)(item);
            }
        }
    }

    impl<I: Iterator, F: FnMut(I::Item)> Drop for LaterItems<I, F> {
        fn drop(&mut self) {
            self.go();
        }
    }

    LaterItems(items, f).go();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn those_behind_a_panic_are_called_for_too() {
        let mut seen = Vec::new();
        let all = AssertUnwindSafe(|| {
            for_all(0..5, |n| {
                seen.push(n);
                assert!(n != 2, "on purpose");
            });
        });
        assert!(catch_unwind(all).is_err());
        assert_eq!(seen, [0, 1, 2, 3, 4]);
    }
}

//! Makes tests of a place.

use crate::program::{Constant, Program, Test};
use crate::run::context::EvalContext;
use crate::run::value::{Ref, Subject};
use crate::syntax::function::Comparison;

impl<'a> EvalContext<'a> {
    /// Returns whether the value at a place passes a test.
    #[inline(always)]
    pub(crate) fn passes(self, program: &'a Program, place: Ref<'a>, test: Test) -> bool {
        match test {
            Test::Compare(comparison, id) => self.compares(place, comparison, program.constant(id)),
            Test::Kind(mask) => mask >> self.kind_at(place) as u16 & 1 == 1,
        }
    }

    #[inline(always)]
    fn compares(self, place: Ref<'a>, comparison: Comparison, constant: &'a Constant) -> bool {
        if let (Some(int), Some(value)) = (constant.int, self.small_int(place)) {
            return comparison.holds(value.cmp(&int));
        }
        self.compares_other(place, comparison, constant)
    }

    #[inline(never)]
    fn compares_other(
        self,
        place: Ref<'a>,
        comparison: Comparison,
        constant: &'a Constant,
    ) -> bool {
        match (comparison, place, self.subject()) {
            (Comparison::Exact, ..) => self.is_constant(place, constant),
            (Comparison::NotExact, ..) => !self.is_constant(place, constant),
            (_, Ref::Key, Subject::Stored(object)) => {
                comparison.holds(object.key_order.cmp(constant.key_order()))
            }
            _ => {
                let (value, constant) = (self.load(place), self.load(Ref::Constant(constant)));
                comparison.holds(self.compare(&value, &constant))
            }
        }
    }
}

//! The groups of a query: which values are in each, folded as they come.

use std::collections::HashMap;

use fyris::{Machine, MatchSpec};
use fyris_term::Term;

use super::fold::Fold;
use crate::shell::error::ShellError;
use crate::shell::interrupt;
use crate::shell::query::Groups;

/// Groups so far.
pub(super) struct Grouping<'g> {
    groups: &'g Groups,
    /// Groups are apart that `=:=` tells apart, as `1` and `1.0`.
    folds: HashMap<Vec<Term>, Vec<Fold>>,
}

impl Grouping<'_> {
    pub(super) fn new(groups: &Groups) -> Grouping<'_> {
        let mut grouping = Grouping {
            groups,
            folds: HashMap::new(),
        };
        // Without `group by` all objects are one group, also if there are none.
        if groups.by == 0 {
            let folds = grouping.fresh();
            grouping.folds.insert(Vec::new(), folds);
        }
        grouping
    }

    /// Adds what a query returned of an object: its group, and the arguments of the aggregates.
    pub(super) fn add(&mut self, value: Term) -> Result<(), ShellError> {
        let mut group = match value {
            Term::Tuple(parts) => parts.into_vec(),
            // The body failed as a whole, which the functions in it can make it do.
            other => {
                return Err(ShellError::other(format!(
                    "`group by` or an aggregate fails for an object, whose value is {}",
                    other.brief(80)
                )));
            }
        };
        let arguments = group.split_off(self.groups.by);
        if !self.folds.contains_key(&group) {
            let folds = self.fresh();
            self.folds.insert(group.clone(), folds);
        }
        let folds = self.folds.get_mut(&group).into_iter().flatten();
        for (fold, argument) in folds.zip(arguments) {
            fold.add(argument)?;
        }
        Ok(())
    }

    fn fresh(&self) -> Vec<Fold> {
        self.groups
            .aggregates
            .iter()
            .copied()
            .map(Fold::new)
            .collect()
    }

    /// Returns the results of `spec` for each group, in the order of the groups.
    pub(super) fn results(self, spec: &MatchSpec) -> Result<Vec<Term>, ShellError> {
        let mut groups: Vec<_> = self.folds.into_iter().collect();
        groups.sort_by(|(a, _), (b, _)| {
            let orders = a.iter().zip(b).map(|(a, b)| a.cmp_exact(b));
            orders.fold(std::cmp::Ordering::Equal, |order, next| order.then(next))
        });
        let mut results = Vec::with_capacity(groups.len());
        for (mut row, folds) in groups {
            interrupt::check()?;
            for fold in folds {
                row.push(fold.finish()?);
            }
            results.extend(spec.run_term(&Term::tuple(row), &Machine::default()));
        }
        Ok(results)
    }
}

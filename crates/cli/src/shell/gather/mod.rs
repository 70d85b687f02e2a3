//! Groups and orders of the values that a query finds (`query::Shape`): all of them are held, or of an order with a
//! limit at most twice as many as are wanted.

mod fold;
mod group;
mod order;

use fyris::MatchSpec;
use fyris_term::Term;

use super::error::ShellError;
use super::query::Shape;
pub(super) use fold::Sum;
use group::Grouping;
use order::Order;

/// A shape that is ready for values.
pub(crate) struct Gathering {
    shape: Box<Shape>,
    /// The specification of a group's result, checked.
    result: Option<MatchSpec>,
}

impl Gathering {
    /// Checks a shape.
    pub(crate) fn new(shape: Box<Shape>) -> Result<Gathering, ShellError> {
        let result = shape.groups.as_ref().map(|groups| {
            MatchSpec::new(&groups.result)
                .map_err(|e| ShellError::from(fyris::Error::BadMatchSpec(e)))
        });
        let result = result.transpose()?;
        Ok(Gathering { shape, result })
    }

    /// Takes in all values; returns the results, at most `limit`.
    pub(crate) fn results(
        &self,
        limit: usize,
        mut next: impl FnMut() -> Result<Option<Term>, ShellError>,
    ) -> Result<Vec<Term>, ShellError> {
        let mut order = Order::new(&self.shape.descending, limit);
        match (&self.shape.groups, &self.result) {
            (Some(groups), Some(result)) => {
                let mut grouping = Grouping::new(groups);
                while let Some(value) = next()? {
                    grouping.add(value)?;
                }
                for group in grouping.results(result)? {
                    order.add(group);
                }
            }
            _ => {
                while let Some(value) = next()? {
                    order.add(value);
                }
            }
        }
        Ok(order.finish())
    }
}

//! Results in the order of the values behind them.

use std::cmp::Ordering;

use fyris_term::Term;

/// The fewest results that are held before those beyond the limit are dropped.
const ROOM: usize = 1024;

/// Results that are being sorted: in the order of terms, equal ones in the order in which they came.
pub(super) struct Order<'s> {
    /// For each value, whether the greatest comes first; without any, results are bare and stay as they came.
    descending: &'s [bool],
    limit: usize,
    held: Vec<Term>,
}

impl Order<'_> {
    pub(super) fn new(descending: &[bool], limit: usize) -> Order<'_> {
        Order {
            descending,
            limit,
            held: Vec::new(),
        }
    }

    /// Adds a result: a tuple of it and the values to sort by, or without these the result.
    pub(super) fn add(&mut self, result: Term) {
        self.held.push(result);
        // Each result is sorted O(1) times more than without a limit, for there are as many new ones as old ones.
        if self.held.len() >= self.limit.saturating_mul(2).max(ROOM) {
            self.sort();
        }
    }

    /// Returns the results in order, as many as are wanted.
    pub(super) fn finish(mut self) -> Vec<Term> {
        self.sort();
        if self.descending.is_empty() {
            return self.held;
        }
        let first = |row| match row {
            Term::Tuple(mut parts) if !parts.is_empty() => parts.swap_remove(0),
            other => other,
        };
        self.held.into_iter().map(first).collect()
    }

    fn sort(&mut self) {
        let descending = self.descending;
        if !descending.is_empty() {
            self.held.sort_by(|a, b| compare(descending, a, b));
        }
        self.held.truncate(self.limit);
    }
}

fn compare(descending: &[bool], a: &Term, b: &Term) -> Ordering {
    // What is no tuple is the value of a body that fails, and comes first.
    let (Some(a), Some(b)) = (a.as_tuple(), b.as_tuple()) else {
        return a.as_tuple().is_some().cmp(&b.as_tuple().is_some());
    };
    let values = a[1..].iter().zip(&b[1..]).zip(descending);
    let mut orders = values.map(|((a, b), descending)| {
        let order = a.cmp_order(b);
        if *descending { order.reverse() } else { order }
    });
    orders
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(descending: &[bool], limit: usize, rows: &[&str]) -> String {
        let mut order = Order::new(descending, limit);
        for row in rows {
            order.add(Term::parse(row).expect("a term"));
        }
        Term::list(order.finish()).to_string()
    }

    #[test]
    fn rows_go_by_their_values_and_stay_where_these_are_equal() {
        let rows = ["{a,1,x}", "{b,2,x}", "{c,1.0,y}", "{d,undefined,x}"];
        assert_eq!(sorted(&[false, false], 9, &rows), "[a,c,b,d]");
        assert_eq!(sorted(&[true, true], 9, &rows), "[d,b,c,a]");
        assert_eq!(sorted(&[false, true], 2, &rows), "[c,a]");
        assert_eq!(sorted(&[], 3, &rows), "[{a,1,x},{b,2,x},{c,1.0,y}]");
    }

    #[test]
    fn a_limit_bounds_what_is_held() {
        let mut order = Order::new(&[true], 3);
        for i in 0..100_000 {
            order.add(Term::tuple(vec![
                Term::Int(i),
                Term::Int(i * 7919 % 100_003),
            ]));
            assert!(order.held.len() < ROOM);
        }
        let best = order.finish();
        assert_eq!(best.len(), 3);
        let value = |term: &Term| term.as_int().expect("a number") * 7919 % 100_003;
        assert!(best.iter().all(|term| value(term) >= 99_990), "{best:?}");
    }
}

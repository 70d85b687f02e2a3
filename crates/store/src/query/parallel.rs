//! Scans on several threads.
//!
//! The keys are cut into pieces at keys that the index picks, in the index's own order: that of keys, or
//! that of hashes. Threads take pieces as they get done; what they find is put together in the order of the pieces, so
//! the answer is that of one thread. There are more pieces than threads, for when some take longer than others.

use std::ops::Bound;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use fyris_sync::reclaim::Guard;

use super::scan::{BATCH, Pace, Part, Scan};
use crate::error::Result;
use crate::ids::TableType;
use crate::ops::Span;
use crate::record::Object;
use crate::table::Table;
use crate::view::View;

/// Pieces for each thread.
const PIECES: usize = 8;

/// Cuts a scan up; returns the pieces in the order in which it would have visited them.
pub(crate) fn pieces(scan: &Scan, view: &impl View, threads: usize, pin: &impl Guard) -> Vec<Scan> {
    let cuts = view.cuts(threads.saturating_mul(PIECES), pin);
    let mut pieces: Vec<Scan> = Vec::new();
    for part in scan.parts().cloned() {
        match part {
            Part::Span(span) if scan.is_ordered() || span == Span::ALL => {
                let spans = cut(span, &cuts, scan.is_ordered());
                pieces.extend(spans.into_iter().map(|s| scan.of(vec![Part::Span(s)])));
            }
            whole => pieces.push(scan.of(vec![whole])),
        }
    }
    if scan.goes_down() {
        pieces.reverse();
    }
    pieces
}

/// Cuts a span at those keys that lie in it; without order there is only one span, in which all lie.
fn cut(mut span: Span, cuts: &[Vec<u8>], ordered: bool) -> Vec<Span> {
    let mut spans = Vec::new();
    // A horizon, of a scan that has begun, would stand in the place of a bound of each piece.
    span.widen();
    for key in cuts {
        if ordered && !lies_in(key, &span) {
            continue;
        }
        let from = std::mem::replace(&mut span.from, Bound::Included(key.clone()));
        let to = Bound::Excluded(key.clone());
        spans.push(Span::new(from, to));
    }
    spans.push(span);
    spans
}

fn lies_in(key: &Vec<u8>, span: &Span) -> bool {
    let above = match &span.from {
        Bound::Included(from) | Bound::Excluded(from) => key > from,
        Bound::Unbounded => true,
    };
    above
        && match &span.to {
            Bound::Included(to) | Bound::Excluded(to) => key < to,
            Bound::Unbounded => true,
        }
}

/// Runs `work` on every piece, on several threads; what it made of them, in their order.
pub(super) fn run<R: Send>(
    pieces: Vec<Scan>,
    threads: usize,
    work: impl Fn(Scan) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let threads = threads.min(pieces.len());
    let work_on = || {
        let mut done = Vec::new();
        // Relaxed: each piece is taken once; the results are handed over by the end of the thread.
        while let Some((at, piece)) = take(&next, &pieces) {
            done.push((at, work(piece.clone())));
        }
        done
    };
    let mut done = thread::scope(|s| {
        let others: Vec<_> = (1..threads).map(|_| s.spawn(work_on)).collect();
        let mut done = work_on();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

fn take<'p>(next: &AtomicUsize, pieces: &'p [Scan]) -> Option<(usize, &'p Scan)> {
    // Relaxed: as above.
    let at = next.fetch_add(1, Ordering::Relaxed);
    Some((at, pieces.get(at)?))
}

impl Table {
    /// Reduces all objects on several threads: each folds its share into an accumulator of `init`, and `combine` puts
    /// two of them together, the left one from lower keys in an `ordered_set`. With `combine` associative and
    /// `init` its neutral element, the answer is that of one thread.
    ///
    /// The closures run under a pin, and outside of every lock. All objects are as they were at one moment of the call:
    /// of a [`snapshot`](Table::snapshot).
    ///
    /// ```
    /// # use fyris::{Options, Store, term};
    /// # let owner = Store::new().owner();
    /// # let table = owner.new_table("t", &Options::set())?;
    /// table.insert_many((1..=100).map(|n| term!({n, 2 * n})))?;
    /// let second = |object: &fyris::Object<'_>| object.element(2).and_then(|t| t.as_int()).unwrap_or(0);
    /// let sum = table.reduce(2, || 0, |sum, object| sum + second(object), |a, b| a + b)?;
    /// assert_eq!(sum, 10_100);
    /// # Ok::<(), fyris::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`crate::Error::NoSuchTable`], [`crate::Error::NoAccess`].
    pub fn reduce<A: Send>(
        &self,
        threads: usize,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &Object<'_>) -> A + Sync,
        combine: impl Fn(A, A) -> A,
    ) -> Result<A> {
        self.check_iteration("reduce")?;
        let threads = threads.max(1);
        let table = self.at_one_moment()?;
        let ordered = table.table_type() == TableType::OrderedSet;
        let whole = Scan::new(vec![Part::Span(Span::ALL)], false, ordered, table.keypos());
        let pieces = table.read(|view, pin| Ok(pieces(&whole, &view, threads, pin)))?;
        let shares = run(pieces, threads, |mut scan| {
            let mut share = Some(init());
            while !scan.is_done() {
                table.read(|view, pin| {
                    scan.step(
                        &mut view.read_many(pin),
                        (Pace::About(BATCH), BATCH),
                        pin,
                        |object| {
                            share = share.take().map(|share| fold(share, &object));
                            false
                        },
                    );
                    Ok(())
                })?;
            }
            Ok(share)
        });
        let shares: Result<Vec<Option<A>>> = shares.into_iter().collect();
        Ok(shares?.into_iter().flatten().fold(init(), combine))
    }
}

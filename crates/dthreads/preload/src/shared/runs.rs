//! Free pages of the heap: of mappings, and of large blocks that were freed. They are runs in the order of their
//! addresses, which are split where less is wanted and join with what is freed beside them. Where they are is known
//! outside of them: a program may have taken the rights from its pages.
//!
//! All of it is read and changed by the holder of the token (invariant TOKEN).

use std::ops::Range;

use crate::shared::control::{RUNS, control};

fn count() -> usize {
    control().run_count.get() as usize
}

fn run(at: usize) -> Range<usize> {
    let [start, end] = control().runs[at]
        .each_ref()
        .map(|word| word.get() as usize);
    start..end
}

fn set(at: usize, run: &Range<usize>) {
    let [start, end] = &control().runs[at];
    start.set(run.start as u64);
    end.set(run.end as u64);
}

/// Returns the bytes that are free.
pub(crate) fn bytes() -> usize {
    (0..count()).map(|at| run(at).len()).sum()
}

/// Returns the first run that has `len` bytes.
pub(crate) fn find(len: usize) -> Option<usize> {
    let fits = (0..count()).map(run).find(|run| run.len() >= len);
    fits.map(|run| run.start)
}

/// Returns the number of bytes that are free at an address.
pub(crate) fn len_at(start: usize) -> usize {
    match first_behind(start) {
        at if at < count() && run(at).start <= start => run(at).end - start,
        _ => 0,
    }
}

/// Returns where the free bytes before an address begin: there, if there are none.
pub(crate) fn start_of_end(end: usize) -> usize {
    let last = count().checked_sub(1).map(run);
    last.filter(|run| run.end == end)
        .map_or(end, |run| run.start)
}

/// Returns the number of the first run that ends behind an address.
fn first_behind(address: usize) -> usize {
    control().runs[..count()].partition_point(|[_, end]| end.get() as usize <= address)
}

/// Frees pages; some of them may be free already.
pub(crate) fn put(mut pages: Range<usize>) {
    let first = first_behind(pages.start.saturating_sub(1));
    let mut end = first;
    while end < count() && run(end).start <= pages.end {
        pages.start = pages.start.min(run(end).start);
        pages.end = pages.end.max(run(end).end);
        end += 1;
    }
    replace(first..end, [pages, 0..0]);
}

/// Makes pages that are free used.
pub(crate) fn cut(pages: Range<usize>) {
    let first = first_behind(pages.start);
    let mut end = first;
    while end < count() && run(end).start < pages.end {
        end += 1;
    }
    if first < end {
        let before = run(first).start..pages.start;
        let behind = pages.end..run(end - 1).end;
        replace(first..end, [before, behind]);
    }
}

/// Puts up to two runs, those that are not empty, in the place of some. Where there is no room for one more, it is
/// forgotten.
fn replace(old: Range<usize>, new: [Range<usize>; 2]) {
    let used = count();
    let new = new.iter().filter(|run| !run.is_empty());
    let room = RUNS - (used - old.len());
    let end = old.start + new.clone().count().min(room);
    if end <= old.end {
        (old.end..used).for_each(|at| set(at - old.end + end, &run(at)));
    } else {
        (old.end..used)
            .rev()
            .for_each(|at| set(at - old.end + end, &run(at)));
    }
    new.zip(old.start..end).for_each(|(run, at)| set(at, run));
    let count = used - old.len() + end - old.start;
    control().run_count.set(count as u64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_split_and_join() {
        // Against a set of pages; the control memory is this test's alone.
        let mut free = [false; 64];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (start, len) = ((state >> 40) as usize % 64, (state >> 50) as usize % 9);
            let end = (start + len + 1).min(64);
            let yes = state >> 63 == 0;
            free[start..end].fill(yes);
            match yes {
                true => put(start..end),
                false => cut(start..end),
            }
            let all: Vec<_> = (0..count()).map(run).collect();
            assert!(
                all.windows(2).all(|two| two[0].end < two[1].start),
                "{all:?}"
            );
            let has = |page: usize| all.iter().any(|run| run.contains(&page));
            assert!((0..64).all(|page| has(page) == free[page]), "{all:?}");
            let is_free = |page: usize| page < 64 && free[page];
            assert_eq!(bytes(), free.iter().filter(|&&yes| yes).count());
            let follow = (start..).take_while(|&page| is_free(page)).count();
            assert_eq!(len_at(start), follow);
            let before = (0..64).rev().take_while(|&page| is_free(page)).count();
            assert_eq!(start_of_end(64), 64 - before);
            let fits = |at: &usize| (*at..*at + 5).all(is_free);
            assert_eq!(find(5), (0..64).find(fits));
        }
    }
}

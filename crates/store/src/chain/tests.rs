use fyris_term::{Term, value};
use smallvec::SmallVec;

use super::cell::Cell;
use super::edit::Edited;
use super::*;
use crate::native_terms::record_of;

/// Returns an object whose first value it shares with two others.
fn record(n: i64) -> RecordPtr {
    let object = Term::tuple(vec![Term::Int(0), Term::Int(n / 3), Term::Int(n)]);
    record_of(&object, 1).expect("a record").publish_block()
}

fn chain(numbers: &[i64]) -> Content {
    let top = numbers
        .iter()
        .fold(None, |older, &n| Some(push(record(n), older)));
    top.expect("not empty")
}

fn number(record: RecordPtr) -> i64 {
    match crate::record::object(record, 1).element(3) {
        Some(Term::Int(n)) => n,
        other => panic!("{other:?}"),
    }
}

fn numbers(content: Option<Content>) -> Vec<i64> {
    let records = content.map(oldest_first).unwrap_or_default();
    records.into_iter().map(number).collect()
}

#[test]
fn what_is_taken_out_leaves_the_rest_in_order_and_shares_the_older() {
    for (before, gone, after) in [
        (&[1, 2, 3, 4][..], 3, &[1, 2, 4][..]),
        (&[1, 2, 3], 3, &[1, 2]),
        (&[1, 2, 3], 1, &[2, 3]),
        (&[1, 2], 2, &[1]),
        (&[5, 1, 5, 2, 5], 5, &[1, 2]),
        (&[7], 7, &[]),
        (&[7, 7], 7, &[]),
        (&[1, 2, 3], 9, &[1, 2, 3]),
    ] {
        let old = chain(before);
        let like = record(gone);
        check_without(old, like, after);
    }
}

/// Takes out what is like a record, which is freed with both chains.
fn check_without(old: Content, like: RecordPtr, after: &[i64]) {
    let (count, bytes) = (old.count(), old.size() as i64);
    let gone = super::like(old, like).collect();
    let change = without(old, gone);
    let rest = change.as_ref().map_or(Some(old), |change| change.new);
    assert_eq!(numbers(rest), after);
    assert_eq!(rest.map_or(0, Content::count), after.len());
    let removed = change.as_ref().map_or(0, Edited::fewer);
    assert_eq!(removed, count - after.len());
    let pin = fyris_sync::reclaim::pin();
    // SAFETY: no other thread has either chain.
    unsafe {
        let more = change.as_ref().map_or(0, Edited::more_bytes);
        change.into_iter().for_each(|change| change.retire(&pin));
        assert_eq!(bytes + more, rest.map_or(0, Content::size) as i64);
        rest.into_iter().for_each(|rest| free(rest));
        like.free();
    }
}

/// Returns the objects with one of these numbers, the newest first.
fn with_numbers(content: Content, chosen: &[i64]) -> SmallVec<[Member; 1]> {
    let is_one = |object: &Member| chosen.contains(&number(object.record));
    objects(Some(content)).filter(is_one).collect()
}

/// Checks that searches for a whole object, and for its first value, find what a walk finds.
fn check_searches(content: Content, n: i64) {
    let mut first = Vec::new();
    value::encode(&Term::Int(n / 3), &mut first, &mut Vec::new());
    let like = record(n);
    let siblings: Vec<i64> = (n / 3 * 3..n / 3 * 3 + 3).collect();
    for (fingerprints, chosen) in [
        (like.fingerprints(), &[n][..]),
        (value::fingerprints(&first), &siblings),
        (ANY, &numbers(Some(content))),
    ] {
        let bits = |object: Member| object.record.bits();
        // The oldest is found whatever is looked for.
        let found =
            search(content, fingerprints).filter(|object| chosen.contains(&number(object.record)));
        let found: Vec<u64> = found.map(bits).collect();
        let walked = with_numbers(content, chosen).into_iter().map(bits);
        assert_eq!(found, walked.collect::<Vec<_>>());
    }
    // SAFETY: not in the chain.
    unsafe { like.free() };
}

/// Objects come and go at random, in chains that are short and long, one or several at a time; a vector is
/// compared.
#[test]
fn a_chain_holds_what_was_put_in_and_not_taken_out() {
    let mut seed = 7_u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) as usize % below
    };
    let pin = fyris_sync::reclaim::pin();
    let (mut chain, mut all, mut bytes) = (None, Vec::new(), 0);
    let (mut buried, mut next) = (false, 0);
    for round in 0..6000 {
        let wanted = [5, 60, 300][round / 500 % 3];
        if random(wanted * 2) >= all.len() {
            // Every tenth is there twice.
            next += i64::from(random(10) > 0);
            let top = push(record(next), chain);
            bytes += size_above(top, chain) as i64;
            (chain, all) = (Some(top), [all, vec![next]].concat());
        } else {
            let part = [1, 1, 1, 40][random(4)];
            let chosen: Vec<i64> = (0..part).map(|_| all[random(all.len())]).collect();
            let old = chain.expect("it has objects");
            let change = without(old, with_numbers(old, &chosen)).expect("they are there");
            chain = change.new;
            bytes += change.more_bytes();
            // SAFETY: no other thread has the chains.
            unsafe { change.retire(&pin) };
            all.retain(|n| !chosen.contains(n));
        }
        if let Some(chain) = chain {
            check_searches(chain, all[random(all.len())]);
            check_searches(chain, random(next as usize + 2) as i64);
        }
        let figures = chain.map(cell::figures).unwrap_or_default();
        let (tombstones, newest) = (figures.tombstones, figures.seq);
        buried |= tombstones > 1;
        assert!(newest as usize <= all.len() + tombstones as usize);
        assert_eq!(numbers(chain), all);
        assert_eq!(chain.map_or(0, Content::count), all.len());
        assert_eq!(chain.map_or(0, Content::size) as i64, bytes);
        let newest = chain.map(|chain| number(chain.newest()));
        assert_eq!(newest.as_ref(), all.last());
    }
    assert!(buried);
    // SAFETY: no other thread has it.
    unsafe { chain.into_iter().for_each(|chain| free(chain)) };
}

fn tombstones(chain: Option<Content>) -> u32 {
    chain.map_or(0, |chain| cell::figures(chain).tombstones)
}

/// If the last object to come is the first to go, no cell is made, but where a large run would go, and come again.
#[test]
fn a_stack_leaves_no_tombstones() {
    let pin = fyris_sync::reclaim::pin();
    let all: Vec<i64> = (0..104).collect();
    let mut top = chain(&all);
    for n in (96..104).rev() {
        let like = record(n);
        let gone = super::like(top, like).take(1).collect();
        let change = without(top, gone).expect("it is there");
        let rest = change.new.expect("others are there");
        let (none, one) = ((0, 0), (size_of::<Cell>(), 1));
        let is_large = run::has_large(n as u32, n as u32);
        assert_eq!(is_large, n == 96);
        let left = (change.fresh, tombstones(change.new));
        assert_eq!(left, if is_large { one } else { none });
        // SAFETY: no other thread has the chains.
        unsafe {
            change.retire(&pin);
            like.free();
        }
        top = rest;
    }
    assert_eq!(numbers(Some(top)), all[..96]);
    // SAFETY: no other thread has it.
    unsafe { free(top) };
}

/// The newest that stays is found beneath many that go, whether cells are made anew or not.
#[test]
fn many_go_at_once() {
    let pin = fyris_sync::reclaim::pin();
    let all: Vec<i64> = (0..4000).collect();
    let mut top = chain(&all);
    for keep in [3600, 3500, 10] {
        let goes = |object: &Member| number(object.record) >= keep;
        let gone = objects(Some(top)).filter(goes).collect();
        let change = without(top, gone).expect("they are there");
        let rest = change.new.expect("others are there");
        // SAFETY: no other thread has the chains.
        unsafe { change.retire(&pin) };
        top = rest;
        assert_eq!(top.count() as i64, keep);
        assert_eq!(numbers(Some(Content::one(top.newest()))), [keep - 1]);
    }
    // SAFETY: no other thread has it.
    unsafe { free(top) };
}

#[test]
fn sizes_count_cells_and_records() {
    let (one, three) = (chain(&[1]), chain(&[1, 2, 3]));
    assert_eq!(three.size(), 3 * one.size() + 2 * size_of::<Cell>());
    let more = push(record(4), Some(three));
    assert_eq!(
        size_above(more, Some(three)),
        one.size() + size_of::<Cell>()
    );
    // SAFETY: no other thread has them.
    unsafe {
        free_above(more, Some(three));
        free(three);
        one.free();
    }
}

/// A search looks at few cells: fewer than two runs hold, and fewer than two runs of each level, wherever it starts.
#[test]
fn runs_cover_what_lies_below() {
    let all: Vec<i64> = (0..1000).collect();
    let mut top = chain(&all);
    let whole = top;
    while let Kind::Many(cell) = top.kind() {
        let (mut rest, mut steps) = (top, 0);
        while let Kind::Many(cell) = rest.kind() {
            rest = run::below(cell);
            steps += 1;
        }
        assert!(steps < 16, "{steps} from {}", cell.get().place());
        top = cell.get().older;
    }
    // SAFETY: no other thread has it.
    unsafe { free(whole) };
}

/// Takes one object out and frees what only the old chain had.
fn take_out(old: Content, n: i64) -> Content {
    let change = without(old, with_numbers(old, &[n])).expect("it is there");
    let rest = change.new.expect("others are there");
    // SAFETY: no other thread has the chains.
    unsafe { change.retire(&fyris_sync::reclaim::pin()) };
    rest
}

/// What was the newest when an object came may be deleted when that goes.
#[test]
fn the_newest_is_one_that_stays() {
    let all: Vec<i64> = (0..100).collect();
    // The first leaves a tombstone, so that the others do.
    let top = [0, 98, 99].into_iter().fold(chain(&all), take_out);
    assert_eq!((tombstones(Some(top)), number(top.newest())), (3, 97));
    let more = push(record(100), Some(top));
    let top = take_out(more, 100);
    assert_eq!((tombstones(Some(top)), number(top.newest())), (4, 97));
    // SAFETY: no other thread has it.
    unsafe { free(top) };
}

#[test]
fn sizes_count_runs() {
    let (four, five) = (chain(&[1, 2, 3, 4]), chain(&[1, 2, 3, 4, 5]));
    let entries = run::LENGTH as usize * 16;
    let newest = size_of::<Cell>() + size_of::<run::Run>() + entries;
    let record = five.newest().size();
    assert_eq!(five.size(), four.size() + record + newest);
    // SAFETY: no other thread has them.
    unsafe { [four, five].into_iter().for_each(|chain| free(chain)) };
}

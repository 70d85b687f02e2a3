//! Transactions under every interleaving: `ci/loom.sh`.
//!
//! What is tried is the order of the steps of a commit ([`super::commit`]), on a table of two keys that is versioned
//! from its beginning.

use std::ops::Bound;

use fyris_sync::reclaim::{check, pin};
use fyris_sync::thread::spawn;
use smallvec::smallvec;

use crate::key_kind::{Exact, KeyKind};
use crate::model::{self, Table, beside, key, look, record};
use crate::ops::{Outcome, Patience, Placed, Span, Writes};
use crate::pending::{Commit, Terms};
use crate::version::guards::Reads;
use crate::version::model::{Shot, put, table};
use crate::writer::Writer;

/// What a transaction does on the two keys.
struct Attempt {
    ticket: u64,
    /// The key that it reads; 0 for all of the table.
    reads: i64,
    /// The key that it writes, and the value.
    writes: (i64, i64),
}

/// Runs a transaction once; returns what it has read, if it was committed: the values under the key, or under the
/// second one of all.
fn transact(table: &Table, attempt: &Attempt) -> Option<Vec<i64>> {
    let shot = Shot::take(table);
    let mut reads = Reads::default();
    match attempt.reads {
        0 => reads.note_span(Span::new(Bound::Unbounded, Bound::Unbounded)),
        of => reads.note_key(Exact::bytes(Exact::of(&key(of)))),
    }
    let of = if attempt.reads == 0 { 2 } else { attempt.reads };
    let seen = shot.look(table, of);
    let done = commit(table, &shot, reads, attempt, || {});
    shot.end(table);
    done.then_some(seen)
}

/// Commits what a transaction writes that has read this; does something else when all but the decision is done.
fn commit(
    table: &Table,
    shot: &Shot,
    mut reads: Reads,
    attempt: &Attempt,
    last: impl FnOnce(),
) -> bool {
    let (of, value) = attempt.writes;
    reads.note_key(Exact::bytes(Exact::of(&key(of))));
    let (pin, new) = (pin(), record(of, value));
    let work = Writes {
        keys: vec![new.ptr()],
        terms: smallvec![Terms::Guarded],
        contents: vec![Some(new.publish())],
        records: Vec::new(),
        ends: Vec::new(),
        ranks: Vec::new(),
    };
    let commit = Commit::of_transaction([table.plan(&work, Vec::new())], attempt.ticket, None);
    let (mut placed, admission, me) = (Placed::default(), Writer::versioned(&pin), commit.block());
    let waits = Patience::Waits;
    let placing = table.place_all(&work, &commit, 0, &mut placed, waits, &admission);
    let mut done = placing == Ok(Outcome::Committed);
    if done {
        let guard = |reads| table.snapshots.guard(&shot.listed, reads, me);
        let late = cfg!(fyris_mutant = "store_guard_after_look");
        let standing = (!late).then(|| guard(std::mem::take(&mut reads)));
        let look_at = |reads: &Reads| table.validate(reads, shot.place, me, &pin).is_ok();
        done = match &standing {
            Some(standing) => look_at(standing.reads()),
            None => look_at(&reads),
        };
        let standing = standing.unwrap_or_else(|| guard(reads));
        done = done && table.passes_guards(commit.part(0), me, &pin);
        last();
        done = done && commit.seal();
        if done {
            table.count_coming(&placed, commit.part(0));
            table.commits.log.append(&commit, &pin);
            table.count_gone(&placed, commit.part(0));
        } else {
            commit.abort();
        }
        drop(standing);
    } else {
        commit.abort();
    }
    table.conclude(&work, commit.part(0), &placed, done, &admission);
    // SAFETY: out of the slots now.
    unsafe { commit.finish(&pin) };
    if !done {
        work.retire(&pin);
    }
    done
}

/// Each reads what the other one writes: not both can have come first.
fn skew(reads: [i64; 2]) {
    check(move || {
        let table = table::<Exact>(true);
        let other = {
            let table = table.clone();
            spawn(move || {
                let attempt = Attempt {
                    ticket: 1,
                    reads: reads[0],
                    writes: (1, 1),
                };
                transact(&table, &attempt)
            })
        };
        let attempt = Attempt {
            ticket: 2,
            reads: reads[1],
            writes: (2, 1),
        };
        let mine = transact(&table, &attempt);
        let others = other.join().unwrap();
        assert!(mine.is_some() || others.is_some(), "none goes on");
        if let (Some(mine), Some(others)) = (&mine, &others) {
            assert!(mine != &[0] || others != &[0], "a skew");
        }
        assert_eq!(look(&table, 1), [i64::from(others.is_some())]);
        assert_eq!(look(&table, 2), [i64::from(mine.is_some())]);
    });
}

#[test]
fn each_reads_what_the_other_writes() {
    skew([2, 1]);
}

#[test]
fn one_reads_all_the_other_a_key() {
    skew([0, 1]);
}

/// A transaction that has read before a write comes before it: who wrote sees it afterwards.
fn beside_a_write(reads: i64, there: bool) {
    check(move || {
        let table = table::<Exact>(there);
        let other = {
            let table = table.clone();
            spawn(move || {
                put(&table, 2, 7);
                look(&table, 1)
            })
        };
        let attempt = Attempt {
            ticket: 1,
            reads,
            writes: (1, 5),
        };
        let seen = transact(&table, &attempt);
        let after = other.join().unwrap();
        match seen {
            Some(seen) if seen != [7] => assert_eq!(after, [5], "it had seen {seen:?}"),
            Some(_) => assert_eq!(look(&table, 1), [5]),
            None => assert_ne!(after, [5]),
        }
        assert_eq!(look(&table, 2), [7]);
    });
}

#[test]
fn a_key_that_was_read_is_written() {
    beside_a_write(2, true);
}

#[test]
fn a_key_comes_into_a_range_that_was_read() {
    beside_a_write(0, false);
}

/// Who sees the write sees the transaction that came before it, in the present and in a snapshot.
fn seen_by_a_third(read: fn(&Table) -> [Vec<i64>; 2]) {
    check(move || {
        let table = table::<Exact>(true);
        let writer = {
            let table = table.clone();
            spawn(move || put(&table, 2, 7))
        };
        let reader = {
            let table = table.clone();
            spawn(move || read(&table))
        };
        let attempt = Attempt {
            ticket: 1,
            reads: 2,
            writes: (1, 5),
        };
        let seen = transact(&table, &attempt);
        let [second, first] = reader.join().unwrap();
        writer.join().unwrap();
        if seen.is_some_and(|seen| seen == [0]) && second == [7] {
            assert_eq!(first, [5]);
        }
    });
}

#[test]
fn a_reader_sees_them_in_their_order() {
    seen_by_a_third(|table| [2, 1].map(|of| look(table, of)));
}

#[test]
fn a_snapshot_sees_them_in_their_order() {
    seen_by_a_third(|table| {
        let shot = Shot::take(table);
        let both = [2, 1].map(|of| shot.look(table, of));
        shot.end(table);
        both
    });
}

/// One that begins before the decision sees neither the transaction nor a write that comes after that.
#[test]
fn a_snapshot_comes_between() {
    check(|| {
        let table = table::<Exact>(true);
        let writer = {
            let table = table.clone();
            spawn(move || put(&table, 2, 7))
        };
        let (shot, mut reads) = (Shot::take(&table), Reads::default());
        reads.note_key(Exact::bytes(Exact::of(&key(2))));
        let seen = shot.look(&table, 2);
        let attempt = Attempt {
            ticket: 1,
            reads: 2,
            writes: (1, 5),
        };
        let mut between = None;
        let done = commit(&table, &shot, reads, &attempt, || {
            between = Some(Shot::take(&table));
        });
        shot.end(&table);
        writer.join().unwrap();
        if let Some(between) = between {
            let both = [1, 2].map(|of| between.look(&table, of));
            assert!(!done || seen != [0] || both == [[0], [0]], "{both:?}");
            between.end(&table);
        }
    });
}

/// A list goes first, or comes after.
#[test]
fn a_list_beside_it() {
    check(|| {
        let table = table::<Exact>(true);
        let write = |table: &Table| {
            assert!(model::insert_list(
                table,
                7,
                false,
                &Writer::versioned(&pin())
            ));
        };
        beside(&table, &[write], |table| {
            let attempt = Attempt {
                ticket: 1,
                reads: 2,
                writes: (1, 5),
            };
            match transact(table, &attempt) {
                Some(seen) if seen == [0] => {
                    // It came before the list, which may be there by now.
                    let first = look(table, 1);
                    assert!(first == [5] || first == [7], "{first:?}");
                }
                Some(seen) => assert_eq!((seen, look(table, 1)), (vec![7], vec![5])),
                None => {}
            }
        });
        assert_eq!(look(&table, 2), [7]);
        let first = look(&table, 1);
        assert!(first == [5] || first == [7]);
    });
}

/// One that has read is not passed by a write of the key that it writes.
#[test]
fn no_write_is_lost_beneath_it() {
    check(|| {
        let table = table::<Exact>(true);
        let other = {
            let table = table.clone();
            spawn(move || {
                put(&table, 1, 7);
                look(&table, 1)
            })
        };
        let attempt = Attempt {
            ticket: 1,
            reads: 1,
            writes: (1, 5),
        };
        let seen = transact(&table, &attempt);
        let after = other.join().unwrap();
        match seen {
            Some(seen) if seen == [0] => assert_eq!((after, look(&table, 1)), (vec![7], vec![7])),
            Some(_) => assert_eq!(look(&table, 1), [5]),
            None => assert_eq!(look(&table, 1), [7]),
        }
    });
}

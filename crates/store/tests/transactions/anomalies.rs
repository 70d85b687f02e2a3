//! The anomalies of Hermitage's catalogue, by Adya's names, each in every interleaving of its steps: none is possible,
//! and nobody meets a conflict without a reason.

use fyris::{Options, TableType};

use crate::serial::{
    How, Model, Op, Program, RunEnd, World, commits, interleave, is_serial, plain, store,
    unique_kinds,
};

fn aborts(ops: &[Op]) -> Program {
    let how = How::Abort;
    Program {
        how,
        ..commits(ops)
    }
}

/// Both tables have 10 under 1 and 20 under 2.
fn begin() -> Model {
    let keys = [(1, 10), (2, 20)];
    let objects = (0..2).flat_map(|t| keys.map(|(k, v)| ((t, k), vec![v])));
    objects.collect()
}

/// Returns all orders of the steps of programs, of which each has one more to end.
fn orders(programs: &[Program]) -> Vec<Vec<usize>> {
    let mut left: Vec<usize> = programs.iter().map(|p| p.ops.len() + 1).collect();
    let (mut all, mut order) = (Vec::new(), Vec::new());
    fn go(left: &mut [usize], order: &mut Vec<usize>, all: &mut Vec<Vec<usize>>) {
        if left.iter().all(|&steps| steps == 0) {
            return all.push(order.clone());
        }
        for at in 0..left.len() {
            if left[at] > 0 {
                left[at] -= 1;
                order.push(at);
                go(left, order, all);
                order.pop();
                left[at] += 1;
            }
        }
    }
    go(&mut left, &mut order, &mut all);
    all
}

fn is_ordered(kind: &Options) -> bool {
    let owner = store().owner();
    let table = owner.new_table("t", kind);
    table.is_ok_and(|table| table.table_type() == TableType::OrderedSet)
}

/// Returns options of tables of both types on the indexes that they have by default.
fn defaults() -> [Options; 2] {
    [Options::set().public(), Options::ordered_set().public()]
}

/// Runs all interleavings on the kinds of tables that are to be tried, and shows each outcome.
fn all(programs: &[Program], kinds: &[Options], mut look: impl FnMut(&Options, &[usize], &RunEnd)) {
    let begin = begin();
    let store = store();
    for kind in kinds {
        for order in orders(programs) {
            // Tables that are taken in late are the same to all indexes.
            let is_default = defaults().contains(kind);
            for opened in [true, false].into_iter().take(1 + usize::from(is_default)) {
                let world = World::new(&store, kind, &begin);
                let outcome = interleave(&world, programs, &order, opened);
                let end = world.content();
                assert!(
                    is_serial(&begin, world.kind(), &outcome.done, &end),
                    "{kind:?}\n{order:?} {opened} of {programs:?}:\n{outcome:?}\n{end:?}"
                );
                assert!(
                    !outcome.done.is_empty() || outcome.conflicts == 0,
                    "all met a conflict: {kind:?} {order:?} of {programs:?}"
                );
                look(kind, &order, &outcome);
            }
        }
    }
}

fn everywhere(programs: &[Program]) {
    all(programs, &unique_kinds(), |_, _, _| ());
}

fn in_order() -> Vec<Options> {
    unique_kinds().into_iter().filter(is_ordered).collect()
}

/// Returns whether the programs ran one after another.
fn is_apart(order: &[usize]) -> bool {
    order.windows(2).filter(|pair| pair[0] != pair[1]).count() == 1
}

/// As [`all`], where nobody may meet a conflict.
fn without_conflict(programs: &[Program], kinds: &[Options]) {
    all(programs, kinds, |kind, order, outcome| {
        assert_eq!(outcome.conflicts, 0, "{kind:?} {order:?} of {programs:?}");
    });
}

#[test]
fn g0_write_cycles() {
    let writes = |v| [Op::Put(0, 1, v), Op::Put(1, 2, v + 1)];
    everywhere(&[commits(&writes(11)), commits(&writes(21))]);
    everywhere(&[
        commits(&writes(11)),
        commits(&[Op::Put(1, 2, 22), Op::Put(0, 1, 21)]),
    ]);
    everywhere(&[
        commits(&[Op::Put(0, 9, 1), Op::Del(1, 1)]),
        commits(&[Op::Put(1, 1, 2), Op::Del(0, 9)]),
    ]);
}

#[test]
fn g1a_aborted_reads() {
    let reads = [Op::Get(0, 1), Op::All(1), Op::Get(0, 9), Op::Get(0, 1)];
    let writes = [Op::Put(0, 1, 101), Op::Del(1, 2), Op::Put(0, 9, 9)];
    without_conflict(&[aborts(&writes), commits(&reads)], &unique_kinds());
}

#[test]
fn g1b_intermediate_reads() {
    let writes = [
        Op::Put(0, 1, 101),
        Op::Put(0, 1, 11),
        Op::Put(0, 9, 1),
        Op::Del(0, 9),
    ];
    everywhere(&[
        commits(&writes),
        commits(&[Op::Get(0, 1), Op::Get(0, 9), Op::All(0)]),
    ]);
}

#[test]
fn g1c_circular_information_flow() {
    everywhere(&[
        commits(&[Op::Put(0, 1, 11), Op::Get(1, 2)]),
        commits(&[Op::Put(1, 2, 22), Op::Get(0, 1)]),
    ]);
    everywhere(&[
        commits(&[Op::Put(0, 9, 11), Op::Get(1, 9)]),
        commits(&[Op::Put(1, 9, 22), Op::Get(0, 9)]),
    ]);
}

#[test]
fn otv_observed_transaction_vanishes() {
    let writes = |v| commits(&[Op::Put(0, 1, v), Op::Put(1, 2, v)]);
    let reads = commits(&[Op::Get(0, 1), Op::Get(1, 2), Op::Get(0, 1)]);
    let kinds = defaults();
    all(&[writes(11), writes(12), reads], &kinds, |_, _, _| ());
}

#[test]
fn pmp_predicate_many_preceders() {
    let inserts = commits(&[Op::Put(0, 3, 30), Op::Put(1, 3, 30)]);
    everywhere(&[
        commits(&[Op::Above(0, 30), Op::Above(1, 30), Op::Above(0, 30)]),
        inserts.clone(),
    ]);
    everywhere(&[
        commits(&[Op::Above(0, 30), Op::Put(1, 4, 4)]),
        inserts.clone(),
    ]);
    everywhere(&[
        commits(&[Op::By(0, 30), Op::By(1, 30), Op::By(0, 30)]),
        inserts.clone(),
    ]);
    everywhere(&[
        commits(&[Op::Add(0, 1, 10), Op::Add(0, 2, 10)]),
        commits(&[Op::Above(0, 20), Op::DelAbove(0, 20)]),
    ]);
    everywhere(&[
        plain(Op::Put(0, 3, 30)),
        commits(&[Op::DelAbove(0, 20), Op::All(0)]),
    ]);
}

#[test]
fn p4_lost_update() {
    let update = |v| commits(&[Op::Get(0, 1), Op::Put(0, 1, v)]);
    everywhere(&[update(11), update(12)]);
    let add = |n| commits(&[Op::Add(0, 1, n), Op::Add(0, 9, n)]);
    everywhere(&[add(1), add(10)]);
    everywhere(&[add(1), plain(Op::Add(0, 1, 10))]);
    everywhere(&[add(1), plain(Op::Puts(0, vec![(1, 7), (9, 8)]))]);
    let new = |v| commits(&[Op::New(0, 9, v), Op::Get(0, 9)]);
    everywhere(&[new(1), new(2)]);
    everywhere(&[new(1), plain(Op::News(0, vec![(8, 7), (9, 8)]))]);
    everywhere(&[new(1), plain(Op::Take(0, 9))]);
}

#[test]
fn g_single_read_skew() {
    let writes = commits(&[Op::Put(0, 1, 12), Op::Put(1, 2, 18)]);
    let reads = |then: &[Op]| {
        let mut ops = vec![Op::Get(0, 1), Op::Get(1, 2)];
        ops.extend_from_slice(then);
        commits(&ops)
    };
    everywhere(&[reads(&[]), writes.clone()]);
    everywhere(&[reads(&[Op::Put(0, 2, 1)]), writes.clone()]);
    everywhere(&[reads(&[Op::Put(1, 2, 1)]), writes.clone()]);
    everywhere(&[reads(&[Op::Del(0, 1)]), writes]);
    let deletes = commits(&[Op::Del(0, 1), Op::Take(1, 1), Op::Put(1, 3, 1)]);
    everywhere(&[
        commits(&[Op::All(0), Op::All(1), Op::Put(0, 8, 1)]),
        deletes.clone(),
    ]);
    everywhere(&[
        commits(&[Op::Len(0), Op::Above(1, 10), Op::Len(1)]),
        deletes,
    ]);
}

#[test]
fn g2_item_write_skew() {
    let both = [Op::Get(0, 1), Op::Get(1, 2)];
    let with = |op: Op| commits(&[both[0].clone(), both[1].clone(), op]);
    everywhere(&[with(Op::Put(0, 1, 11)), with(Op::Put(1, 2, 21))]);
    everywhere(&[with(Op::Del(0, 1)), with(Op::Del(1, 2))]);
    let absent = |get: Op, put: Op| commits(&[get, put]);
    everywhere(&[
        absent(Op::Get(0, 8), Op::Put(0, 9, 1)),
        absent(Op::Get(0, 9), Op::Put(0, 8, 1)),
    ]);
    everywhere(&[
        absent(Op::Get(0, 8), Op::Put(1, 9, 1)),
        absent(Op::Get(1, 9), Op::New(0, 8, 1)),
    ]);
    // Through a third one, which a single operation reads or writes.
    let kinds = defaults();
    let three = [
        absent(Op::Get(0, 8), Op::Put(0, 9, 1)),
        absent(Op::Get(0, 9), Op::Put(0, 8, 1)),
        plain(Op::Put(0, 8, 7)),
    ];
    all(&three, &kinds, |_, _, _| ());
}

#[test]
fn g2_anti_dependency_cycles_over_all() {
    let with = |op: Op| commits(&[Op::Above(0, 30), op]);
    everywhere(&[with(Op::Put(0, 3, 30)), with(Op::Put(0, 4, 42))]);
    let by = |op: Op| commits(&[Op::By(0, 30), op]);
    everywhere(&[by(Op::Put(0, 3, 30)), by(Op::Put(0, 4, 30))]);
    everywhere(&[
        by(Op::Put(1, 1, 1)),
        commits(&[Op::Get(1, 1), Op::Put(0, 1, 30)]),
    ]);
    everywhere(&[
        commits(&[Op::By(0, 10), Op::Put(1, 1, 1)]),
        commits(&[Op::Get(1, 1), Op::Del(0, 1)]),
    ]);
    let empty = |op: Op| commits(&[Op::All(1), op]);
    everywhere(&[empty(Op::Put(1, 3, 30)), empty(Op::Del(1, 1))]);
    everywhere(&[
        commits(&[Op::Len(0), Op::Put(1, 9, 1)]),
        commits(&[Op::Len(1), Op::Put(0, 9, 1)]),
    ]);
    everywhere(&[
        commits(&[Op::DelAbove(0, 15), Op::Put(0, 9, 1)]),
        commits(&[Op::DelAbove(0, 1), Op::Put(0, 8, 20)]),
    ]);
    everywhere(&[
        commits(&[Op::All(0), Op::Put(1, 9, 1)]),
        plain(Op::Clear(0)),
    ]);
    everywhere(&[
        commits(&[Op::All(0), Op::Put(1, 9, 1), Op::All(0)]),
        plain(Op::News(0, vec![(8, 8), (9, 9)])),
    ]);
}

#[test]
fn g2_anti_dependency_cycles_over_ranges() {
    let kinds = in_order();
    let range = |limit, back| Op::Range(0, 1, 9, limit, back);
    for (limit, back) in [(99, false), (99, true), (1, false), (1, true), (2, false)] {
        let with = |op: Op| commits(&[range(limit, back), op]);
        all(
            &[with(Op::Put(0, 3, 30)), with(Op::Put(0, 5, 42))],
            &kinds,
            |_, _, _| (),
        );
        all(
            &[with(Op::Del(0, 1)), with(Op::Del(0, 2))],
            &kinds,
            |_, _, _| (),
        );
        all(
            &[with(Op::Put(1, 3, 30)), plain(Op::Put(0, 0, 1))],
            &kinds,
            |_, _, _| (),
        );
    }
    let step = |step: Op, op: Op| commits(&[step, op]);
    for (a, b) in [
        (Op::Next(0, None), Op::Prev(0, None)),
        (Op::Next(0, Some(1)), Op::Prev(0, Some(2))),
        (Op::Next(0, Some(2)), Op::Prev(0, Some(1))),
        (Op::Range(0, 3, 5, 9, false), Op::Range(0, 0, 0, 9, false)),
        (Op::DelRange(0, 3, 5), Op::DelRange(0, 2, 4)),
    ] {
        let programs = [step(a.clone(), Op::Put(0, 0, 1)), step(b, Op::Put(0, 3, 1))];
        all(&programs, &kinds, |_, _, _| ());
        let programs = [step(a.clone(), Op::Del(0, 2)), plain(Op::Del(0, 1))];
        all(&programs, &kinds, |_, _, _| ());
        let programs = [
            commits(&[a, Op::Put(1, 1, 1)]),
            plain(Op::Puts(0, vec![(0, 1), (3, 3)])),
        ];
        all(&programs, &kinds, |_, _, _| ());
    }
}

#[test]
fn no_conflict_without_reason() {
    let kinds = unique_kinds();
    let blind = |t, k| commits(&[Op::Put(t, k, 1), Op::Del(t, k + 1)]);
    without_conflict(&[blind(0, 1), blind(0, 5)], &kinds);
    without_conflict(&[blind(0, 1), blind(1, 1)], &kinds);
    without_conflict(
        &[blind(0, 1), plain(Op::Puts(0, vec![(3, 3), (4, 4)]))],
        &kinds,
    );
    // Who only reads never meets one that has no table to take in.
    let reads = commits(&[Op::Get(0, 1), Op::All(0), Op::Get(0, 2)]);
    without_conflict(&[reads, blind(0, 1)], &kinds);
    // Readers of what the other does not write.
    let apart = |t: usize, k| commits(&[Op::Get(t, k), Op::Put(t, k + 1, 5), Op::Get(1 - t, 7)]);
    without_conflict(&[apart(0, 1), apart(0, 3)], &kinds);
    // Beyond what was read of a range.
    let kinds = in_order();
    let first = commits(&[Op::Next(0, None), Op::Put(1, 1, 1)]);
    without_conflict(&[first, plain(Op::Put(0, 2, 7))], &kinds);
    let outside = commits(&[Op::Range(0, 1, 2, 9, false), Op::Put(1, 1, 1)]);
    without_conflict(&[outside, plain(Op::Puts(0, vec![(0, 1), (3, 1)]))], &kinds);
}

#[test]
fn one_after_another_meets_no_conflict() {
    let a = commits(&[Op::All(0), Op::Add(0, 1, 1), Op::Take(1, 2)]);
    let b = commits(&[Op::Add(0, 1, 5), Op::Put(1, 2, 2), Op::DelAbove(1, 1)]);
    all(&[a, b], &unique_kinds(), |_, order, outcome| {
        assert!(!is_apart(order) || outcome.conflicts == 0);
    });
}

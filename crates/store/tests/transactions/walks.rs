//! Ranges without keys, transactions that move on to another table in the middle of a walk, handles that outlive their
//! transaction, and writes that change nothing.

use fyris::{MatchSpec, Options, Owner, RangeOptions, Store, Table, Term, term};

fn two_tables(options: Options) -> (Store, Owner, Table, Table) {
    let store = Store::new();
    let owner = store.owner();
    let a = owner.new_table("a", &options.clone().public()).unwrap();
    let b = owner.new_table("b", &options.public()).unwrap();
    (store, owner, a, b)
}

#[test]
fn an_empty_range_guards_no_less() {
    let (store, _owner, a, b) = two_tables(Options::ordered_set());
    a.insert_list(&[term!({ 1 }), term!({ 2 }), term!({ 3 })])
        .unwrap();
    let tx = store.begin();
    let (wa, wb) = (tx.table(&a).unwrap(), tx.table(&b).unwrap());
    let seen = wa.range(term!(1)..=term!(3), RangeOptions::new()).unwrap();
    assert_eq!(seen.len(), 3);
    assert!(
        wa.range(term!(3)..term!(3), RangeOptions::new())
            .unwrap()
            .is_empty()
    );
    wb.insert(&term!({ 9 })).unwrap();
    a.delete_key(&3).unwrap();
    assert!(tx.commit().is_err());
}

#[test]
fn a_range_may_end_before_it_begins() {
    let (store, _owner, a, _b) = two_tables(Options::ordered_set());
    let tx = store.begin();
    let wa = tx.table(&a).unwrap();
    wa.insert(&term!({ 1 })).unwrap();
    assert!(
        wa.range(term!(3)..term!(1), RangeOptions::new())
            .unwrap()
            .is_empty()
    );
}

/// A walk in whose function another table is taken in half way.
fn moves_on(walk: fn(&Table, &mut dyn FnMut(Term))) {
    let (store, _owner, a, b) = two_tables(Options::ordered_set());
    for k in 0..5000 {
        a.insert(&term!({ (k), 0 })).unwrap();
    }
    b.insert(&term!({1, 0})).unwrap();
    let tx = store.begin();
    let wa = tx.table(&a).unwrap();
    let mut of_b = None;
    let mut last = None;
    walk(&wa, &mut |object| {
        last = Some(object);
        if of_b.is_none() {
            // Another one changes the last key, which was not read yet, and the other table.
            store
                .transaction(|other| {
                    other.table(&a)?.insert(&term!({4999, 1}))?;
                    other.table(&b)?.insert(&term!({1, 1}))
                })
                .unwrap();
            of_b = Some(tx.table(&b).map(|b| b.lookup(&term!(1)).unwrap()));
        }
    });
    let Ok(of_b) = of_b.unwrap() else { return };
    if tx.commit().is_ok() {
        assert_eq!(last == Some(term!({4999, 1})), of_b == [term!({1, 1})]);
    }
}

#[test]
fn a_fold_goes_on_at_the_later_moment() {
    moves_on(|t, f| t.foldl((), |object, ()| f(object)).unwrap());
}

#[test]
fn a_query_goes_on_at_the_later_moment() {
    moves_on(|t, f| {
        let spec = MatchSpec::new(&term!([{ :"$1", [], [:"$_"] }])).unwrap();
        let mut query = t.query(&spec);
        while query
            .step_with(10_000, |object, _| f(object.to_term()))
            .unwrap()
        {}
    });
}

#[test]
fn an_iterator_goes_on_at_the_later_moment() {
    moves_on(|t, f| t.iter().for_each(|object| f(object.unwrap())));
}

#[test]
fn added_keys_of_a_set_are_met_once() {
    for count in [0, 10, 3000] {
        for options in [Options::set(), Options::bag(), Options::duplicate_bag()] {
            let (store, _owner, a, _b) = two_tables(options);
            for k in 0..count {
                a.insert(&term!({ (k), 0 })).unwrap();
            }
            let tx = store.begin();
            let wa = tx.table(&a).unwrap();
            for k in count..count + 700 {
                wa.insert(&term!({ (k), 0 })).unwrap();
            }
            let want = (count + 700) as usize;
            assert_eq!(wa.len(), want);
            assert_eq!(wa.foldr(0, |_, n| n + 1).unwrap(), want);
            assert_eq!(wa.foldl(0, |_, n| n + 1).unwrap(), want);
            assert_eq!(wa.iter().count(), want);
            assert_eq!(wa.iter_back().count(), want);
            assert_eq!(wa.drain().unwrap().len(), want);
            assert_eq!(wa.len(), 0);
            tx.commit().unwrap();
            assert_eq!(a.len(), 0);
        }
    }
}

/// A handle used while another thread commits.
#[test]
fn a_handle_that_is_used_beside_the_commit_is_right_or_refused() {
    let (store, _owner, a, _b) = two_tables(Options::ordered_set());
    let (mut stale, mut lost) = (0, 0);
    for round in 0..3000i64 {
        let tx = store.begin();
        let wa = tx.table(&a).unwrap();
        for k in 0..200 {
            wa.insert(&term!({ (k), (round) })).unwrap();
        }
        std::thread::scope(|s| {
            let reader = s.spawn(|| {
                let (mut stale, mut lost) = (0, None);
                for n in 0.. {
                    match wa.lookup(&term!(199)) {
                        Ok(found) => stale += i32::from(found != [term!({199, (round)})]),
                        Err(_) => break,
                    }
                    match wa.insert(&term!({ (1000 + n % 3), (round) })) {
                        Ok(()) => lost = Some(n % 3),
                        Err(_) => break,
                    }
                }
                (stale, lost)
            });
            let done = tx.commit();
            let (stale_now, wrote) = reader.join().unwrap();
            stale += stale_now;
            if let (Some(n), Ok(())) = (wrote, &done) {
                lost += i32::from(
                    a.lookup(&Term::Int(1000 + n)).unwrap() != [term!({ (1000 + n), (round) })],
                );
            }
        });
    }
    assert_eq!((stale, lost), (0, 0));
}

/// Two threads: one reads by the snapshot that the other one leaves.
#[test]
fn threads_move_on_together() {
    let (store, _owner, a, b) = two_tables(Options::ordered_set());
    a.insert(&term!({1, 0})).unwrap();
    b.insert(&term!({1, 0})).unwrap();
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut wrong = 0;
    std::thread::scope(|s| {
        s.spawn(|| {
            let mut n = 0i64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                n += 1;
                let tx = store.begin();
                tx.table(&a).unwrap().insert(&term!({1, (n)})).unwrap();
                tx.table(&b).unwrap().insert(&term!({1, (n)})).unwrap();
                let _ = tx.commit();
            }
        });
        let until = std::time::Instant::now() + std::time::Duration::from_secs(3);
        while std::time::Instant::now() < until {
            let tx = store.begin();
            let wa = tx.table(&a).unwrap();
            let (va, vb) = std::thread::scope(|s| {
                let ra = s.spawn(|| wa.lookup(&term!(1)).unwrap().pop().unwrap());
                let wb = tx.table(&b);
                (
                    ra.join().unwrap(),
                    wb.map(|wb| wb.lookup(&term!(1)).unwrap().pop().unwrap()),
                )
            });
            if let (Ok(vb), Ok(())) = (vb, tx.commit()) {
                wrong += i32::from(va != vb);
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert_eq!(wrong, 0);
}

#[test]
fn a_bag_write_that_changes_nothing_is_no_write() {
    let (store, _owner, a, b) = two_tables(Options::bag());
    a.insert(&term!({1, 1})).unwrap();
    let tx = store.begin();
    let (wa, wb) = (tx.table(&a).unwrap(), tx.table(&b).unwrap());
    wa.lookup(&term!(1)).unwrap();
    wb.insert(&term!({1, 1})).unwrap();
    store
        .transaction(|o| o.table(&a)?.insert(&term!({1, 1})))
        .unwrap(); // is there
    tx.commit().unwrap();
}

#[test]
fn ranges_without_keys_have_none() {
    type Case = (&'static str, fn(&Table) -> bool);
    let cases: [Case; 4] = [
        ("both excluded, equal", |t| {
            t.range(
                (
                    std::ops::Bound::Excluded(term!(1)),
                    std::ops::Bound::Excluded(term!(1)),
                ),
                RangeOptions::new(),
            )
            .unwrap()
            .is_empty()
        }),
        ("delete_range", |t| {
            t.delete_range(term!(3)..term!(1)).unwrap() == 0
        }),
        ("select", |t| {
            let spec = MatchSpec::new(
                &term!([{ {:"$1"}, [{:">", :"$1", 5}, {:"<", :"$1", 2}], [:"$_"] }]),
            )
            .unwrap();
            t.select(&spec).unwrap().is_empty()
        }),
        ("select_delete", |t| {
            let spec = MatchSpec::new(
                &term!([{ {:"$1"}, [{:">", :"$1", 5}, {:"<", :"$1", 2}], [:true] }]),
            )
            .unwrap();
            t.select_delete(&spec).unwrap() == 0
        }),
    ];
    for (name, case) in cases {
        let (store, _owner, a, _b) = two_tables(Options::ordered_set());
        let tx = store.begin();
        let wa = tx.table(&a).unwrap();
        wa.insert(&term!({ 1 })).unwrap();
        assert!(case(&a) && case(&wa), "{name}");
    }
}

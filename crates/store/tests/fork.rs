//! A child of a fork is told that it has no tables, whatever another thread was at.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, Ordering};

use fyris::{CounterOp, Error, MatchSpec, Options, Setting, Store, Table, term};

/// Runs `f` in a child of this process; whether it returned `true` there.
fn in_child(f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls the allocator of the C library, and what is tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: ends a child that waits for ever.
        unsafe { libc::alarm(20) };
        let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(false);
        // SAFETY: ends the child, without the destructors of the parent.
        unsafe { libc::_exit(if good { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child, and writes its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

fn refused<T>(result: Result<T, Error>) -> bool {
    matches!(result, Err(Error::Forked))
}

/// Every kind of operation on a table; `spec` was compiled before the fork.
fn all_refused(table: &Table, spec: &MatchSpec) -> bool {
    let key = term!(1);
    let all = term!({1, 2});
    let results = [
        refused(table.lookup(&key)),
        refused(table.member(&key)),
        refused(table.insert(&all)),
        refused(table.insert_list(&[all.clone(), term!({2, 2})])),
        refused(table.update_counter(&key, &[CounterOp::add(1)])),
        refused(table.take(&key)),
        refused(table.delete_key(&key)),
        refused(table.first()),
        refused(table.tab2list()),
        refused(table.select(spec)),
        refused(table.select_delete(spec)),
        refused(table.delete_all_objects()),
        refused(table.safe_fixtable(true)),
        refused(table.rename(fyris_term::Atom::new("other").expect("an atom"))),
        refused(table.setopts(&[Setting::Heir(None)])),
        refused(table.delete()),
        refused(table.snapshot().map(drop)),
        refused(table.iter().next().expect("an error")),
        table.info().is_none() && table.memory() == 0 && table.is_empty(),
    ];
    let wrong: Vec<_> = (0..results.len()).filter(|&i| !results[i]).collect();
    assert!(wrong.is_empty(), "not refused: {wrong:?}");
    true
}

#[test]
fn a_child_has_no_tables() {
    assert!(!Store::is_forked());
    assert!(
        in_child(
            || !Store::is_forked() && Store::new().owner().new_table("t", &Options::set()).is_ok()
        ),
        "before there is a store, a child may make its own"
    );
    let store = Store::new();
    let me = store.owner();
    let table = me
        .new_table("t", &Options::set().public().named())
        .expect("free");
    let spec = {
        let spec = fyris_term::Term::parse("[{'_', [], [true]}]").expect("a term");
        MatchSpec::compile(&spec).expect("a specification")
    };
    let (over, snapshot) = (
        AtomicBool::new(false),
        table.snapshot().expect("it is there"),
    );
    std::thread::scope(|s| {
        for _ in 0..3 {
            s.spawn(|| {
                // Relaxed: the scope's end orders the rest.
                while !over.load(Ordering::Relaxed) {
                    table.insert(&term!({1, 2})).expect("it is there");
                    let other = me.new_table("other", &Options::set()).expect("free");
                    other.delete().expect("it is there");
                    drop(table.snapshot().expect("it is there"));
                }
            });
        }
        let good = (0..100).all(|_| {
            in_child(|| {
                assert!(Store::is_forked());
                let gone = refused(me.named("t").map(drop))
                    && refused(me.new_table("new", &Options::set()).map(drop))
                    && refused(
                        Store::new()
                            .owner()
                            .new_table("new", &Options::set())
                            .map(drop),
                    )
                    && store.all().is_empty();
                let refused = all_refused(&table, &spec) && refused(snapshot.tab2list());
                snapshot.release();
                store.collect();
                drop(store.owner());
                gone && refused && store.all_snapshots().is_empty()
            })
        });
        over.store(true, Ordering::Relaxed);
        assert!(good);
    });
    table.insert(&term!({1, 3})).expect("the parent goes on");
    assert!(in_child(|| {
        // Its own end is no end of the parent's tables, and nothing is waited for.
        drop((me, table, store, snapshot));
        in_child(Store::is_forked)
    }));
}

//! What a transaction wrote that did not commit gives its memory back.

use fyris::{Options, Protection, Setting, Store, TableType, term};
use fyris_term::Term;

/// Returns the bytes of memory that the process has.
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let second = pages
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    second.unwrap_or(0) * 4096
}

/// One test, as it looks at the whole process.
#[test]
fn what_was_never_in_a_table_is_freed() {
    let store = Store::new();
    let (owner, guest) = (store.owner(), store.owner());
    let big = Term::binary(&[1_u8; 20_000][..]);
    let kinds = [
        TableType::Set,
        TableType::OrderedSet,
        TableType::Bag,
        TableType::DuplicateBag,
    ];
    let mut first = 0;
    for n in 0..if cfg!(fyris_sanitize) { 60 } else { 2000_i64 } {
        let kind = Options::new(kinds[n as usize % 4]).public();
        let new = |kind: &Options| owner.new_table("t", kind).expect("new");
        let (a, b, c) = (new(&kind), new(&kind), new(&kind));
        a.insert(&term!({ 1, 0, (big.clone()) })).expect("room");
        for way in 0..6 {
            let tx = store.begin();
            let theirs = b.for_caller(guest.id());
            let (wa, wb) = (
                tx.table(&a).expect("live"),
                tx.table(&theirs).expect("live"),
            );
            for key in 0..3 {
                for t in [&wa, &wb] {
                    t.insert(&term!({ (key), 1, (big.clone()) })).expect("live");
                    t.insert(&term!({ (key), 2, (big.clone()) })).expect("live");
                }
            }
            let ended = match way {
                0 => a.insert(&term!({1, 7})).and_then(|()| tx.commit()),
                1 => b.insert(&term!({1, 7})).and_then(|()| tx.commit()),
                2 => b.delete_all_objects().and_then(|()| tx.commit()),
                3 => a
                    .insert(&term!({1, 8}))
                    .and_then(|()| tx.table(&c).map(drop)),
                4 => {
                    let closed = [Setting::Protection(Protection::Protected)];
                    b.setopts(&closed).expect("mine");
                    let ended = tx.commit();
                    b.setopts(&[Setting::Protection(Protection::Public)])
                        .expect("mine");
                    ended
                }
                _ => b.delete().and_then(|()| tx.commit()),
            };
            assert!(ended.is_err(), "{way}");
        }
        for table in [a, b, c] {
            let _ = table.delete();
        }
        if n % 100 == 99 {
            store.collect();
            if n == 399 {
                first = resident();
            }
        }
    }
    // Of 1,600 rounds, each with some megabytes.
    let grown = resident().saturating_sub(first);
    assert!(first == 0 || grown < 20_000_000, "{grown} bytes more");
}

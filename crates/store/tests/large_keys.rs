//! Keys of a bag with very many objects: visited in slices, each object once.

use fyris::{MatchSpec, Options, Owner, Store, Table};
use fyris_term::{Term, term};

/// Few enough that a bag, which compares each new object with all others of the key, is soon full.
const MANY: i64 = 8_000;

/// Objects visited in one step: a share of the large key, and what a step may add to it.
const MOST: usize = MANY as usize / 16 + 2048;

fn bag(options: &Options) -> (Owner, Table) {
    let owner = Store::new().owner();
    let table = owner.new_table("t", options).expect("a table");
    for n in 0..MANY {
        table.insert(&term!({1, n})).expect("fits");
    }
    for key in 2..100 {
        table.insert(&term!({key, -key})).expect("fits");
    }
    (owner, table)
}

fn spec(text: &str) -> MatchSpec {
    MatchSpec::new(&Term::parse(text).expect("a term")).expect("a specification")
}

fn ints(terms: &[Term]) -> Vec<i64> {
    let mut ints: Vec<i64> = terms.iter().filter_map(Term::as_int).collect();
    ints.sort_unstable();
    ints
}

/// Returns all second elements, as they have to come out.
fn everything() -> Vec<i64> {
    (-99..-1).chain(0..MANY).collect()
}

#[test]
fn a_large_key_is_visited_in_slices() {
    for options in [Options::bag(), Options::duplicate_bag()] {
        let (_owner, table) = bag(&options);
        for text in ["[{{'_','$1'},[],['$1']}]", "[{{1,'$1'},[],['$1']}]"] {
            let mut query = table.query(&spec(text));
            let (mut steps, mut before) = (0, 0);
            while query.step(100).expect("reads") {
                let seen = query.visited() - before;
                assert!(seen <= MOST as u64, "{seen} objects in one step");
                before = query.visited();
                steps += 1;
            }
            assert!(steps > 10, "{steps} steps");
            let found = ints(&query.take());
            let wanted = everything();
            assert_eq!(found, wanted[if text.contains("{1") { 98 } else { 0 }..]);
        }
    }
}

#[test]
fn what_waits_is_visited_once_however_the_key_changes() {
    let (_owner, table) = bag(&Options::bag());
    let mut query = table.query(&spec("[{{1,'$1'},[],['$1']}]"));
    let mut round = 0;
    while query.step(100).expect("reads") {
        // Some go, from both ends of the key; others come, and take their places in memory.
        for n in [round, MANY - 1 - round] {
            table.delete_object(&term!({1, n})).expect("ours");
            table.insert(&term!({1, MANY + n})).expect("fits");
        }
        round += 1;
    }
    assert!(round > 10, "{round} steps");
    let found = ints(&query.take());
    let mut once = found.clone();
    once.dedup();
    assert_eq!(once, found, "an object came twice");
    let stayed: Vec<i64> = (round..MANY - round).collect();
    assert!(stayed.iter().all(|n| found.binary_search(n).is_ok()));
}

#[test]
fn chunks_go_on_from_a_term_in_the_midst_of_a_key() {
    let (_owner, table) = bag(&Options::bag());
    let all = spec("[{{'_','$1'},[],['$1']}]");
    let mut chunk = table.select_limit(&all, 100).expect("reads");
    let (mut found, mut chunks) = (Vec::new(), 0);
    loop {
        found.append(&mut chunk.results);
        chunks += 1;
        let Some(next) = chunk.next else { break };
        let saved = next.to_term();
        let again = table
            .repair_continuation(&saved, &all)
            .expect("of this table");
        chunk = again.next().expect("reads");
    }
    assert!(chunks > 50, "{chunks} chunks");
    assert_eq!(ints(&found), everything());
    let deleted = table.select_delete(&spec("[{{1,'_'},[],[true]}]"));
    assert_eq!(deleted, Ok(MANY as usize));
    assert_eq!(table.len(), 98);
}

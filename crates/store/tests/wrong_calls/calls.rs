//! Mistakes that the compiler finds: each on a line that is marked (`main.rs`). Not a part of any program.

use fyris::{CounterOp, Options, Owner, RangeOptions, Store, Table, Term, WatchFilter, term};
use fyris_index::{BytesTree, ConcurrentMap, InlineMap};

fn options(owner: &Owner) -> fyris::Result<()> {
    owner.new_table("t", &Options::sorted_set())?; // wrong
    owner.new_table("t", Options::set())?; // wrong
    owner.new_table(Term::from(7), &Options::set())?; // wrong
    owner.new_table("t", &Options::set().keypos("2"))?; // wrong
    owner.new_table("t", &Options::set().heir("me", None))?; // wrong
    owner.new_table("t", &Options::set().index(7))?; // wrong
    owner.new_table("t", &Options::set().consistent("yes"))?; // wrong
    Ok(())
}

fn objects(table: &Table) -> fyris::Result<()> {
    table.insert(("ada", 1))?; // wrong
    table.insert(&("ada", 1))?; // wrong
    let _: Option<Term> = table.lookup(&term!(1))?; // wrong
    let _: Vec<Term> = table.lookup(&term!(1)); // wrong
    table.lookup_element(&term!(1), -1)?; // wrong
    table.update_counter(&term!(1), 1)?; // wrong
    table.update_counter(&term!(1), &[CounterOp::add(1.5)])?; // wrong
    table.insert_many(term!([{1, 2}]))?; // wrong
    table.delete_key("ada", "bob")?; // wrong
    Ok(())
}

fn queries(table: &Table) -> fyris::Result<()> {
    table.select("[{'_', [], ['$_']}]")?; // wrong
    table.range(1..9, RangeOptions::new())?; // wrong
    table.range(term!(1)..term!(9), 10)?; // wrong
    table.prefix("jo", RangeOptions::new())?; // wrong
    table.range(.., RangeOptions::new().limit(-1))?; // wrong
    table.subscribe(&term!(1))?; // wrong
    let _: WatchFilter = term!({1, 2}); // wrong
    Ok(())
}

fn together(store: &Store, table: &Table) -> fyris::Result<()> {
    store.transaction(|| Ok(()))?; // wrong
    store.transaction(|tx| tx.insert(&term!({1, 2})))?; // wrong
    store.write_batch(table)?; // wrong
    Ok(())
}

fn typed(table: Table) -> fyris::Result<()> {
    let ages = table.typed::<String, u32>()?;
    ages.insert("ada", &-1)?; // wrong
    ages.insert(&36, &1)?; // wrong
    ages.remove(&'a')?; // wrong
    let _: u32 = ages.get("ada")?; // wrong
    Ok(())
}

fn maps(map: &ConcurrentMap<u64, String>, counts: &InlineMap<u64, u64>, names: &BytesTree<u32>) {
    map.pin().insert("ada", String::new()); // wrong
    map.pin().insert(1, "ada"); // wrong
    map.insert(1, String::new()); // wrong
    let _: String = map.pin().get(&1).unwrap(); // wrong
    counts.pin().insert(1, String::new()); // wrong
    names.pin().insert(1, 2); // wrong
}

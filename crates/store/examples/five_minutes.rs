//! Fyris in five minutes, for Rust: threads sharing tables of terms.
//!
//! `cargo run --release -p fyris --example five_minutes`

use std::thread;

use fyris::{CounterOp, Event, Options, Result, Store, Term};

/// Returns an object: a tuple of terms.
fn object(elements: impl IntoIterator<Item = Term>) -> Term {
    Term::Tuple(elements.into_iter().collect())
}

fn text(text: &str) -> Term {
    Term::binary(text.as_bytes())
}

fn main() -> Result<()> {
    let store = Store::new();
    // Tables have an owner. In Rust that is an `Owner`: when it is dropped, its tables go.
    let owner = store.owner();

    // A public table, which counts words from several threads at once.
    let words = owner.new_table("words", &Options::set().public())?;
    let lines = [
        "the river runs through the town",
        "the tree by the river",
        "a town a tree a river",
    ];
    thread::scope(|s| {
        for line in lines {
            let words = &words;
            s.spawn(move || -> Result<()> {
                for word in line.split(' ') {
                    let key = text(word);
                    let fresh = object([key.clone(), Term::Int(0)]);
                    // One atomic step: find or make the counter, and add.
                    words.update_counter_or(&key, &[CounterOp::add(1)], &fresh)?;
                }
                Ok(())
            });
        }
    });
    println!("{} different words; `the` came {:?} times", words.len(), {
        words.lookup_element(&text("the"), 2)?.into_term()
    });

    // The same in order: an ordered_set, filled in one atomic and isolated step.
    let by_count = owner.new_table("by_count", &Options::ordered_set())?;
    let turned = words.iter().map(|o| match o? {
        Term::Tuple(e) => Ok(object([Term::Tuple(e.into_iter().rev().collect())])),
        other => Ok(other),
    });
    by_count.insert_list(&turned.collect::<Result<Vec<_>>>()?)?;
    println!("in order of count, from the top:");
    for object in by_count.iter_back().take(3) {
        println!("  {:?}", object?);
    }

    // The fast way to read: no lock, no copy; what is found stays good while the pin lives.
    let pin = fyris::pin();
    if let Some(found) = words.get(&text("river"), &pin)? {
        words.delete_key(&text("river"))?;
        println!("river, deleted and still readable here: {found:?}");
    }
    drop(pin);

    // Errors say what is wrong, and leave the table as it was.
    let error = words
        .update_counter(&text("river"), &[CounterOp::add(1)])
        .unwrap_err();
    println!("counting what is not there: {error}");
    let error = words.insert(&object([])).unwrap_err();
    println!("an object without a key: {error}");

    // An heir gets the table when its owner ends.
    let heir = store.owner();
    words.setopts(&[fyris::Setting::Heir(Some((
        heir.id(),
        Some(Term::atom("yours")),
    )))])?;
    drop(owner);
    if let Some(Event::Transfer { table, data, .. }) = heir.try_event() {
        println!(
            "the heir was told {data:?}, and owns {} objects",
            heir.table(table)?.len()
        );
    }
    println!("tables left: {:?}", store.all());
    Ok(())
}

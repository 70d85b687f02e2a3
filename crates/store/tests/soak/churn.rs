//! Owners and tables that come and go.

use fyris::{Options, Owner, Setting, Store, Table};
use fyris_term::{Atom, Term};
use rand::Rng;
use rand::rngs::SmallRng;

use crate::shared::value;

/// The names that owners fight for.
const NAMES: [&str; 3] = ["soak_a", "soak_b", "soak_c"];

/// Makes an owner with some tables, which are filled, renamed, given away, deleted, inherited, or left to its end.
pub(crate) fn life_of_an_owner(store: &Store, random: &mut SmallRng) {
    let owner = store.owner();
    let heir = store.owner();
    for _ in 0..random.random_range(1..4) {
        let name = NAMES[random.random_range(0..NAMES.len())];
        let options = match random.random_range(0..4) {
            0 => Options::ordered_set(),
            1 => Options::bag(),
            2 => Options::duplicate_bag(),
            _ => Options::set(),
        };
        let named = if random.random() {
            options.named()
        } else {
            options
        };
        // The name may be taken.
        if let Ok(table) = owner.new_table(name, &named.public()) {
            one_table(&owner, &heir, &table, random);
        }
    }
}

fn one_table(owner: &Owner, heir: &Owner, table: &Table, random: &mut SmallRng) {
    let count = random.random_range(0..2000);
    for key in 0..count {
        let object = Term::tuple(vec![Term::Int(key), value(random)]);
        table.insert(&object).expect("an owner's table");
    }
    assert_eq!(table.len(), count as usize);
    match random.random_range(0..6) {
        0 => table.delete().expect("an owner's table"),
        1 => table.delete_all_objects().expect("an owner's table"),
        2 => {
            let heir = Some((heir.id(), Some(Term::atom("soak"))));
            table.setopts(&[Setting::Heir(heir)]).expect("a live heir");
        }
        3 => {
            table
                .give_away(heir.id(), Term::Int(1))
                .expect("a live process");
        }
        4 => {
            table.safe_fixtable(true).expect("an owner's table");
            while let Some(key) = table.first().expect("an owner's table") {
                table.delete_key(&key).expect("an owner's table");
            }
        }
        _ => {
            let name = Atom::new(NAMES[random.random_range(0..NAMES.len())]).expect("short");
            // The name may be taken.
            let _ = table.rename(name);
            // Another thread may have the name by now, or none.
            if let Ok(found) = owner.named(name.as_str()) {
                let _ = found.lookup(&Term::Int(1));
            }
        }
    }
}

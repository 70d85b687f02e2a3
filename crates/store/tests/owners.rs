//! Tables, names, rights, owners and heirs.

mod common;

use common::{int, tuple};
use fyris::{
    Error, Event, InfoValue, NamedTable, Options, Owner, ProcessId, Protection, Right, Setting,
    Store, Table, TableRef, TableType, WriteConcurrency,
};
use fyris_term::{Atom, Term};

fn atom(name: &str) -> Atom {
    Atom::new(name).unwrap()
}

fn object(key: i64) -> Term {
    tuple([int(key), Term::atom("v")])
}

/// The table as errors name it.
fn named(table: &Table) -> NamedTable {
    NamedTable {
        reference: table.reference(),
        name: Some(table.name()),
    }
}

fn as_other(owner: &Owner, table: &Table) -> Table {
    owner.table(table.id()).unwrap()
}

#[test]
fn rights_are_those_of_the_caller() {
    let store = Store::new();
    let (me, you) = (store.owner(), store.owner());
    for protection in [
        Protection::Public,
        Protection::Protected,
        Protection::Private,
    ] {
        let mine = me
            .new_table("t", &Options::set().protection(protection))
            .unwrap();
        let refused = Error::NoAccess {
            table: named(&mine),
            right: Right::Write,
            protection,
        };
        assert_eq!(
            refused.to_string(),
            format!(
                "no write access: table t ({}) is {protection} and belongs to another owner",
                mine.reference()
            )
        );
        mine.insert(&object(1)).unwrap();
        let yours = as_other(&you, &mine);
        let wrote = yours.insert(&object(2));
        let read = yours.member(&1);
        match protection {
            Protection::Public => assert_eq!((wrote, read), (Ok(()), Ok(true))),
            Protection::Protected => {
                assert_eq!((wrote, read), (Err(refused), Ok(true)));
            }
            Protection::Private => {
                assert_eq!(wrote, Err(refused));
                assert_eq!(
                    read,
                    Err(Error::NoAccess {
                        table: named(&mine),
                        right: Right::Read,
                        protection
                    })
                );
            }
        }
        assert_eq!(yours.info().unwrap().owner, Some(me.id()));
        assert_eq!(yours.delete().is_ok(), protection == Protection::Public);
    }
}

#[test]
fn a_name_finds_one_table_and_moves_at_once() {
    let store = Store::new();
    let me = store.owner();
    let table = me.new_table("old", &Options::set().named()).unwrap();
    assert_eq!(table.reference(), TableRef::Name(atom("old")));
    let taken = me.new_table("old", &Options::bag().named()).err();
    assert_eq!(taken, Some(Error::NameTaken("old".into())));
    let unnamed = me.new_table("old", &Options::set()).unwrap();
    assert_eq!(
        unnamed.rename(atom("other")).unwrap(),
        TableRef::Id(unnamed.id())
    );
    assert_eq!(unnamed.name(), atom("other"));
    assert_eq!(store.whereis(atom("other")), None);

    let pin = fyris::pin();
    let borrowed = store.borrow(me.id(), atom("old"), &pin).unwrap();
    borrowed.insert(&object(1)).unwrap();
    assert_eq!(
        table.rename(atom("new")).unwrap(),
        TableRef::Name(atom("new"))
    );
    assert_eq!(store.whereis(atom("old")), None);
    assert_eq!(store.whereis(atom("new")), Some(table.id()));
    table.insert(&object(2)).unwrap();
    let gone = Error::NoSuchTable(TableRef::Name(atom("old")).into());
    assert_eq!(
        borrowed.lookup(&int(2)),
        Err(gone.clone()),
        "never data put in under the new name"
    );
    assert_eq!(borrowed.insert(&object(3)), Err(gone));
    assert_eq!(table.len(), 2);

    let again = me.new_table("old", &Options::set().named()).unwrap();
    assert_ne!(again.id(), table.id());
    assert_eq!(
        table.rename(atom("old")),
        Err(Error::NameTaken("old".into()))
    );
    assert_eq!(
        table.rename(atom("new")),
        Err(Error::NameTaken("new".into()))
    );
    let all = store.all();
    assert_eq!(all.len(), 3);
    assert!(all.contains(&TableRef::Name(atom("new"))) && all.contains(&unnamed.id().into()));
}

#[test]
fn a_deleted_table_stops_for_everybody() {
    let store = Store::new();
    let me = store.owner();
    let table = me.new_table("t", &Options::set().named().public()).unwrap();
    let other = as_other(&store.owner(), &table);
    let mut iter = other.iter();
    table.insert(&object(1)).unwrap();
    other.delete().unwrap();
    let gone = Error::NoSuchTable(named(&table));
    assert_eq!(
        gone.to_string(),
        "table t was deleted, by a call or with its owner"
    );
    assert_eq!(table.insert(&object(2)), Err(gone.clone()));
    assert_eq!(table.delete(), Err(gone));
    let unnamed = me.new_table("u", &Options::set()).unwrap();
    unnamed.delete().unwrap();
    let (id, said) = (unnamed.reference(), unnamed.insert(&object(2)).unwrap_err());
    assert!(
        said.to_string()
            .starts_with(&format!("table u ({id}) was deleted"))
    );
    assert_eq!(
        me.table(unnamed.id()).unwrap_err().to_string(),
        format!("no table {id}")
    );
    assert!(matches!(iter.next(), Some(Err(Error::NoSuchTable(_)))));
    assert_eq!(iter.next(), None);
    assert_eq!(table.info(), None);
    assert_eq!(table.info_item("no such item"), Ok(None));
    assert!(store.table(me.id(), table.id()).is_err());
    let new = me.new_table("t", &Options::set().named()).unwrap();
    assert_ne!(new.id(), table.id());
    assert!(table.member(&1).is_err());
}

#[test]
fn a_table_goes_to_its_heir() {
    let store = Store::new();
    let (me, heir) = (store.owner(), store.owner());
    let data = Term::atom("last words");
    let options = Options::set().private().heir(heir.id(), Some(data.clone()));
    let named = me.new_table("named", &options.clone().named()).unwrap();
    let silent = me
        .new_table("silent", &Options::set().heir(heir.id(), None))
        .unwrap();
    let lost = me.new_table("lost", &Options::set()).unwrap();
    let kept = me.new_table("kept", &Options::set().unowned()).unwrap();
    named.insert(&object(1)).unwrap();
    let from = me.id();
    drop(me);
    let inherited = as_other(&heir, &named);
    assert_eq!(
        inherited.lookup(&int(1)),
        Ok(vec![object(1)]),
        "private, and usable by the heir"
    );
    let event = Event::Transfer {
        table: TableRef::Name(atom("named")),
        from,
        data,
    };
    assert_eq!(heir.try_event(), Some(event));
    assert_eq!(
        heir.try_event(),
        None,
        "an heir without data is told nothing"
    );
    assert_eq!(silent.info().unwrap().owner, Some(heir.id()));
    assert_eq!(
        silent.info().unwrap().heir,
        Some(heir.id()),
        "as in ETS, the heir stays what it is"
    );
    assert_eq!(lost.info(), None);
    assert_eq!(kept.info().unwrap().owner, None);
    kept.insert(&object(1)).unwrap();
    drop(heir);
    assert_eq!(store.all(), vec![kept.id().into()]);
}

#[test]
fn a_dead_heir_is_none_even_if_its_number_lives_again() {
    let store = Store::new();
    let (maker, heir) = (ProcessId(1), ProcessId(2));
    store.register(maker, None);
    store.register(heir, None);
    let options = Options::set().heir(heir, Some(int(0)));
    let table = store.create(maker, atom("t"), &options).unwrap();
    store.ended(heir);
    store.register(heir, None);
    store.ended(maker);
    assert_eq!(table.info(), None);

    let table = store
        .create(maker, atom("t"), &Options::set().heir(ProcessId(99), None))
        .unwrap();
    assert_eq!(table.info().unwrap().heir, None, "never known, so dead");
    table
        .setopts(&[Setting::Heir(Some((maker, None)))])
        .unwrap();
    store.ended(maker);
    assert_eq!(table.info(), None, "no process inherits from itself");
}

#[test]
fn giving_away() {
    let store = Store::new();
    let (me, you) = (store.owner(), store.owner());
    let table = me.new_table("t", &Options::set()).unwrap();
    assert_eq!(table.give_away(me.id(), int(1)), Err(Error::AlreadyOwner));
    assert_eq!(
        table.give_away(ProcessId(7), int(1)),
        Err(Error::NoSuchProcess(7))
    );
    table.give_away(you.id(), int(5)).unwrap();
    let event = Event::Transfer {
        table: table.id().into(),
        from: me.id(),
        data: int(5),
    };
    assert_eq!(you.event(std::time::Duration::from_secs(5)), Some(event));
    assert_eq!(table.give_away(you.id(), int(5)), Err(Error::NotOwner));
    assert!(table.insert(&object(1)).is_err());
    as_other(&you, &table).insert(&object(1)).unwrap();
    drop(me);
    assert_eq!(table.len(), 1);
}

#[test]
fn setopts() {
    let store = Store::new();
    let (me, you) = (store.owner(), store.owner());
    let table = me.new_table("t", &Options::set()).unwrap();
    let yours = as_other(&you, &table);
    table.setopts(&[]).unwrap();
    assert_eq!(yours.setopts(&[]), Err(Error::NotOwner));
    let public = Setting::Protection(Protection::Public);
    table
        .setopts(&[Setting::Heir(Some((you.id(), None))), public.clone()])
        .unwrap();
    yours.insert(&object(1)).unwrap();
    assert_eq!(table.info().unwrap().heir, Some(you.id()));
    let twice = table.setopts(&[public.clone(), public]);
    assert_eq!(twice, Err(Error::RepeatedOption("protection".into())));
    let private = Term::parse("[{protection, private}, {heir, none}]").unwrap();
    table.setopts_term(&private, |_| None).unwrap();
    assert!(yours.member(&1).is_err());
    assert_eq!(table.info().unwrap().heir, None);
    let bad = table.setopts_term(&Term::parse("{keypos, 2}").unwrap(), |_| None);
    let said = bad.expect_err("no setting").to_string();
    assert!(
        said.contains("{keypos,2}: options are {heir,Pid,Data}"),
        "{said}"
    );
}

#[test]
fn options_as_new_reads_them() {
    let parse = |text: &str| Options::parse(&Term::parse(text).unwrap(), |_| Some(ProcessId(3)));
    let info = |text: &str| {
        let owner = Store::new().owner();
        owner
            .new_table("t", &parse(text).unwrap())
            .unwrap()
            .info()
            .unwrap()
    };
    assert_eq!(parse("[bag, set]").unwrap(), Options::bag());
    assert_eq!(
        parse("[private, protected]").unwrap(),
        Options::set().private()
    );
    assert_eq!(parse("[bag, ordered_set]").unwrap(), Options::ordered_set());
    assert_eq!(
        parse("[{keypos, 3}, {keypos, 2}]").unwrap(),
        Options::set().keypos(2)
    );
    assert_eq!(
        parse("[{heir, x, y}, {heir, none}]").unwrap(),
        Options::set()
    );
    for bad in [
        "[{keypos, 0}]",
        "[{keypos, a}]",
        "[nothing]",
        "[set|bag]",
        "set",
        "[{heir}]",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
    let auto = info("[{write_concurrency, auto}, {read_concurrency, true}]");
    assert_eq!(auto.write_concurrency, WriteConcurrency::Auto);
    assert!(auto.decentralized_counters && auto.read_concurrency);
    let private = info("[private, {write_concurrency, auto}, {read_concurrency, true}]");
    assert_eq!(private.write_concurrency, WriteConcurrency::Off);
    assert!(!private.decentralized_counters && !private.read_concurrency);
    assert!(info("[ordered_set, {write_concurrency, true}]").decentralized_counters);
    assert!(!info("[{write_concurrency, true}]").decentralized_counters);
    assert!(!info("[{decentralized_counters, true}]").decentralized_counters);
    assert_eq!(info("[{index, ordered}]").index, "ordered");
    let owner = common::store().owner();
    for (wrong, text) in [
        (
            Options::ordered_set().index("hash"),
            "no index hash for type ordered_set: its own is ordered, others are avl, btree, ca_avl, ca_treap, \
             judyesl, judysl, relaxed_avl, skip_list, treap",
        ),
        // One that there is, of the wrong kind, is refused where the table is made.
        (
            Options::ordered_set().index("linear_hash"),
            "no index linear_hash for type ordered_set: its own is ordered, others are avl,",
        ),
        (
            Options::bag().index("nothing"),
            "no index nothing for type bag: its own is hash, others are avl, btree, ca_avl, ca_treap, judyeh, \
             linear_hash, michael_hash, ordered, relaxed_avl, skip_list, split_ordered, treap",
        ),
    ] {
        let error = owner.new_table("t", &wrong).expect_err("no such index");
        assert!(matches!(error, Error::BadIndex { .. }));
        let said = error.to_string();
        assert!(said.starts_with(text), "{said}");
    }
}

#[test]
fn fixing_keeps_deleted_keys_good_for_next() {
    let store = Store::new();
    let (me, you) = (store.owner(), store.owner());
    let table = me.new_table("t", &Options::set().public()).unwrap();
    let fixed = |t: &Table| t.info_item("fixed").unwrap().unwrap();
    for k in 0..50 {
        table.insert(&object(k)).unwrap();
    }
    let first = table.first().unwrap().unwrap();
    let second = table.next(&first).unwrap();
    table.safe_fixtable(true).unwrap();
    table.safe_fixtable(true).unwrap();
    assert_eq!(fixed(&table), InfoValue::Term(Term::atom("true")));
    table.delete_key(&first).unwrap();
    assert_eq!(table.member(&first), Ok(false));
    assert_eq!(table.next(&first), Ok(second.clone()));
    assert_eq!(
        table.next(&int(1000)),
        Err(Error::NoSuchKey),
        "never was there"
    );
    table.safe_fixtable(false).unwrap();
    as_other(&you, &table).safe_fixtable(true).unwrap();
    let Some(InfoValue::Fixed(Some(by))) = table.info_item("safe_fixed").unwrap() else {
        panic!()
    };
    assert_eq!(by.by, vec![(me.id(), 1), (you.id(), 1)]);
    table.safe_fixtable(false).unwrap();
    assert_eq!(table.next(&first), Ok(second));
    drop(you);
    assert_eq!(fixed(&table), InfoValue::Term(Term::atom("false")));
    assert_eq!(table.next(&first), Err(Error::NoSuchKey));
    table.safe_fixtable(false).unwrap();
}

#[test]
fn open_creates_or_returns() {
    let owner = Store::new().owner();
    let table = owner.open("t", &Options::bag()).unwrap();
    assert_eq!(owner.open("t", &Options::bag()).unwrap().id(), table.id());
    assert_eq!(
        owner.open("t", &Options::set()).err(),
        Some(Error::OtherTable {
            name: "t".into(),
            kind: TableType::Bag,
            keypos: 1
        })
    );
    assert_eq!(owner.named("t").unwrap().id(), table.id());
}

#[test]
fn errors_name_the_cause() {
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set().keypos(3)).unwrap();
    let short = table.insert(&object(1)).unwrap_err();
    assert_eq!(short.to_string(), "bad key position 3 in a tuple of 2");
    assert_eq!(short.ets_class(), fyris::EtsClass::Badarg);
    let list = [tuple([int(1), int(2), int(3)]), object(1)];
    assert_eq!(table.insert_list(&list), Err(short));
    assert_eq!(table.len(), 0, "nothing of the list");
    assert_eq!(
        table.insert(&int(7)).unwrap_err().to_string(),
        "an object must be a tuple, not 7"
    );
    let bag = owner.new_table("t", &Options::bag()).unwrap();
    let wrong = bag.update_counter(&int(1), &[]).unwrap_err();
    assert_eq!(wrong.to_string(), "update_counter does not work on a bag");
}

#[test]
fn init_table_and_loader_and_blobs() {
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set()).unwrap();
    table.insert(&object(99)).unwrap();
    let mut rounds = 0;
    let generator = || {
        rounds += 1;
        let objects = (0..10).map(|i| object(rounds * 10 + i)).collect();
        Ok(if rounds < 4 {
            fyris::Generated::Objects(objects)
        } else {
            fyris::Generated::EndOfInput
        })
    };
    table.init_table(generator).unwrap();
    assert_eq!((table.len(), table.member(&99)), (30, Ok(false)));

    let big = Term::binary(&[9u8; 1000][..]);
    let whole = tuple([int(1), big, Term::binary(&[8u8; 500][..])]);
    let mut loader = table.loader();
    loader.object(&whole).unwrap();
    assert!(loader.object(&tuple([])).is_err());
    loader.flush().unwrap();
    assert_eq!(table.lookup(&int(1)).unwrap(), vec![whole.clone()]);
    assert_eq!(table.update_element(&int(1), &[(3, int(4))]), Ok(true));
    let Some(InfoValue::Term(Term::List(list))) = table.info_item("binary").unwrap() else {
        panic!()
    };
    assert_eq!(list.len(), 1);
    table.delete_object(&whole).unwrap();
    assert!(table.member(&1).unwrap());
}

#[test]
#[cfg_attr(
    fyris_small,
    ignore = "the bounds are those of full-sized buckets and leaves"
)]
fn memory_is_within_the_published_bounds() {
    let owner = Store::new().owner();
    let key20 = |i: i64| Term::binary(format!("{i:020}").into_bytes());
    for options in [Options::set(), Options::ordered_set()] {
        let table = owner.new_table("t", &options).unwrap();
        for i in 0..100_000 {
            table.insert(&tuple([int(i * 2), int(i)])).unwrap();
        }
        let each = table.memory() / 100_000;
        assert!(each <= 48, "{each} bytes for two integers, {options:?}");
        table.delete_all_objects().unwrap();
        for i in 0..100_000 {
            table.insert(&tuple([key20(i), int(i)])).unwrap();
        }
        let each = table.memory() / 100_000;
        assert!(
            each <= 80,
            "{each} bytes for a 20-byte binary and an integer, {options:?}"
        );
    }
}

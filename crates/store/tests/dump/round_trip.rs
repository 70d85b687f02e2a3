//! Any table, saved and loaded, is the same table.

use std::ops::ControlFlow;

use fyris::dump::{DumpError, LoadOptions, SaveOptions, tabfile_info};
use fyris::{Options, Protection, Store, TableRef, WriteConcurrency};
use fyris_term::{Atom, Term, arbitrary};
use proptest::prelude::*;

use super::{Folder, TYPES, assorted, content, options, save_options};

fn objects(keypos: usize) -> impl Strategy<Value = Vec<Term>> {
    // Few keys, so that they meet.
    let key = prop_oneof![(0i64..4).prop_map(Term::Int), arbitrary::term()];
    let rest = prop::collection::vec(arbitrary::term(), keypos - 1..keypos + 3);
    let object = (key, rest).prop_map(move |(key, mut elements)| {
        elements.insert(keypos - 1, key);
        Term::tuple(elements)
    });
    prop::collection::vec(object, 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_table_comes_back(objects in objects(2), kind in 0..4usize, infos in 0..4usize, verify: bool) {
        let folder = Folder::new();
        let path = folder.file("t.ets");
        let store = Store::new();
        let owner = store.owner();
        let table = owner.new_table("t", &options(TYPES[kind], 2)).unwrap();
        for object in &objects {
            table.insert(object).unwrap();
        }
        let save = save_options().nth(infos).unwrap();
        let saved = table.tab2file(&path, &save).unwrap();
        prop_assert_eq!(saved as usize, table.len());
        let load = LoadOptions { verify, ..LoadOptions::default() };
        let loaded = owner.file2tab(&path, &load).unwrap();
        prop_assert_eq!(loaded.objects, saved);
        prop_assert!(loaded.damage.is_empty());
        prop_assert_eq!(content(&loaded.table), content(&table));
        let info = tabfile_info(&path).unwrap().info().unwrap();
        prop_assert_eq!(info.size, saved);
        prop_assert_eq!((info.object_count, info.md5sum), (save.object_count, save.md5sum));
    }
}

/// Objects of any depth are saved and loaded, on a stack of 64 kB.
#[test]
fn the_deepest_objects_come_back() {
    let small = std::thread::Builder::new().stack_size(256 << 10);
    let test = small.spawn(deep_objects_come_back).expect("a thread");
    test.join().expect("no panic");
}

fn deep_objects_come_back() {
    const DEEP: usize = 300_000;
    let nested = |levels| (1..levels).fold(Term::list([]), |inner, _| Term::list([inner]));
    let folder = Folder::new();
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set()).unwrap();
    for elements in [
        vec![Term::Int(1), nested(DEEP)],
        vec![nested(DEEP)],
        [vec![nested(999)], vec![nested(1000); 300]].concat(),
    ] {
        table.insert(&Term::tuple(elements)).unwrap();
    }
    for (n, save) in save_options().enumerate() {
        let path = folder.file(&format!("{n}.ets"));
        table.tab2file(&path, &save).unwrap();
        let loaded = owner.file2tab(&path, &LoadOptions::verified()).unwrap();
        assert!(content(&loaded.table) == content(&table));
    }
}

#[test]
fn a_table_keeps_its_options() {
    let folder = Folder::new();
    let path = folder.file("t.ets");
    let store = Store::new();
    let owner = store.owner();
    let made = Options::ordered_set()
        .named()
        .keypos(3)
        .protection(Protection::Private)
        .compressed()
        .read_concurrency(true)
        .write_concurrency(WriteConcurrency::Auto);
    let table = owner.new_table("named", &made).unwrap();
    let before = table.info().unwrap();
    table.tab2file(&path, &SaveOptions::default()).unwrap();
    table.delete().unwrap();
    let loaded = owner
        .file2tab(&path, &LoadOptions::verified())
        .unwrap()
        .table;
    let mut after = loaded.info().unwrap();
    (after.id, after.memory) = (before.id, before.memory);
    assert_eq!(after, before);
    assert_eq!(
        store.whereis(Atom::new("named").unwrap()),
        Some(loaded.id())
    );
}

#[test]
fn columns_come_back() {
    let folder = Folder::new();
    let path = folder.file("t.ets");
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set()).unwrap();
    for columns in [None, Some(Term::list([Term::binary(*b"id")]))] {
        let save = SaveOptions {
            columns: columns.clone(),
            ..SaveOptions::default()
        };
        table.tab2file(&path, &save).unwrap();
        let loaded = owner.file2tab(&path, &LoadOptions::verified()).unwrap();
        assert_eq!(loaded.columns, columns);
    }
}

#[test]
fn another_name_on_request() {
    let folder = Folder::new();
    let path = folder.file("t.ets");
    let owner = Store::new().owner();
    let table = owner.new_table("taken", &Options::set().named()).unwrap();
    table.tab2file(&path, &SaveOptions::default()).unwrap();
    let error = owner.file2tab(&path, &LoadOptions::default()).unwrap_err();
    assert!(matches!(error, DumpError::CannotCreateTable(_)), "{error}");
    assert_eq!(error.reason(), Term::atom("cannot_create_table"));
    let name = Some(Atom::new("free").unwrap());
    owner
        .file2tab(
            &path,
            &LoadOptions {
                name,
                ..LoadOptions::default()
            },
        )
        .unwrap();
    owner.named("free").unwrap();
}

#[test]
fn progress_is_told_and_heard() {
    let folder = Folder::new();
    let path = folder.file("t.ets");
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("big", &Options::set().named()).unwrap();
    table.insert_list(&assorted(20_000)).unwrap();
    let mut last = fyris::dump::Progress::default();
    let mut calls = 0;
    let save = SaveOptions::default();
    table
        .tab2file_watched(&path, &save, &mut |progress| {
            assert!(progress.bytes > last.bytes && progress.objects >= last.objects);
            (last, calls) = (*progress, calls + 1);
            ControlFlow::Continue(())
        })
        .unwrap();
    let length = std::fs::metadata(&path).unwrap().len();
    assert_eq!(
        (last.bytes, last.objects, last.objects_total),
        (length, 20_000, Some(20_000))
    );
    assert!(calls > 5);

    // Stopped half way, saving leaves what was there, loading leaves nothing.
    let mut stop_half_way = |progress: &fyris::dump::Progress| match progress.objects > 10_000 {
        true => ControlFlow::Break(()),
        false => ControlFlow::Continue(()),
    };
    table
        .insert(&Term::tuple(vec![Term::atom("one more")]))
        .unwrap();
    let error = table
        .tab2file_watched(&path, &save, &mut stop_half_way)
        .unwrap_err();
    assert!(matches!(error, DumpError::Cancelled));
    assert_eq!(std::fs::metadata(&path).unwrap().len(), length);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    table.delete().unwrap();
    let load = LoadOptions::default();
    let stopped = store.file2tab_watched(owner.id(), &path, &load, &mut stop_half_way);
    assert!(matches!(stopped.unwrap_err(), DumpError::Cancelled));
    let name = TableRef::Name(Atom::new("big").unwrap());
    assert!(!store.all().contains(&name));
    // A panic in the callback is a reason, too.
    let panicking = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let mut watch = |_: &fyris::dump::Progress| -> ControlFlow<()> { panic!("seen") };
        let _ = store.file2tab_watched(owner.id(), &path, &load, &mut watch);
    }));
    assert!(panicking.is_err() && !store.all().contains(&name));
    assert_eq!(owner.file2tab(&path, &load).unwrap().objects, 20_000);
}

#[test]
fn files_that_cannot_be_had() {
    let folder = Folder::new();
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set()).unwrap();
    let nowhere = folder.file("no/such/folder");
    let save = SaveOptions::default();
    let error = table.tab2file(&nowhere, &save).unwrap_err();
    assert!(matches!(error, DumpError::Write { .. }), "{error}");
    let error = table.tab2file(folder.path(), &save).unwrap_err();
    assert_eq!(error.reason(), Term::atom("eaccess"));
    let error = owner
        .file2tab(&nowhere, &LoadOptions::default())
        .unwrap_err();
    assert!(error.to_string().contains("no/such/folder"), "{error}");
    assert!(matches!(
        tabfile_info(folder.path()),
        Err(DumpError::Read { .. })
    ));
    table.delete().unwrap();
    let error = table.tab2file(folder.file("t"), &save).unwrap_err();
    assert_eq!(error.reason(), Term::atom("badtab"));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

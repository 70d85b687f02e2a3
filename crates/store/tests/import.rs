//! Tables of what Erlang systems have left; the files are those that `fyris-files` is tested with.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fyris::dump::SaveOptions;
use fyris::dump::disk_log::LogWriter;
use fyris::import::ImportError;
use fyris::{Options, Store, TableType, Term, term};
use fyris_term::etf;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../files/tests/erlang/golden")
        .join(name)
}

/// Returns the terms of a list in a file, sorted.
fn expected(name: &str) -> Vec<Term> {
    let bytes = std::fs::read(golden(name)).unwrap();
    let Term::List(rows) = etf::decode(&bytes).unwrap() else {
        panic!("{name}");
    };
    sorted(rows.into_vec())
}

fn sorted(mut rows: Vec<Term>) -> Vec<Term> {
    rows.sort_by(Term::cmp_exact);
    rows
}

#[test]
fn dets_files() {
    let owner = Store::new().owner();
    for (name, table_type, keypos, said) in [
        ("set", TableType::Set, 1, 0),
        ("bag", TableType::Bag, 1, 0),
        ("duplicate_bag", TableType::DuplicateBag, 1, 0),
        ("keypos2", TableType::Set, 2, 0),
        ("open_set", TableType::Set, 1, 1),
    ] {
        let file = golden(name).with_extension("dets");
        let imported = owner.import(&file, &Options::set().named()).unwrap();
        let table = &imported.tables[0].table;
        assert_eq!(
            (table.table_type(), table.keypos()),
            (table_type, keypos),
            "{name}"
        );
        assert_eq!(
            (table.name().as_str(), imported.wrong),
            (name, said),
            "{:?}",
            imported.messages
        );
        let rows = sorted(table.tab2list().unwrap());
        assert!(rows == expected(&format!("{name}.rows")), "{name}");
    }
    let taken = owner.import(golden("set.dets"), &Options::set().named());
    assert!(matches!(taken, Err(ImportError::Table(_))));
}

#[test]
fn a_directory_of_mnesia() {
    let owner = Store::new().owner();
    let imported = owner.import(golden("counters"), &Options::set()).unwrap();
    assert_eq!(imported.wrong, 0, "{:?}", imported.messages);
    let tables = expected("counters.tables");
    assert_eq!(imported.tables.len(), tables.len());
    for made in &imported.tables {
        let of_name = |table: &&Term| table.as_tuple().unwrap()[0] == Term::Atom(made.table.name());
        let Some(rows) = tables
            .iter()
            .find(of_name)
            .map(|table| table.as_tuple().unwrap()[2].clone())
        else {
            panic!("{}", made.table.name());
        };
        let found = Term::list(sorted(made.table.tab2list().unwrap()));
        assert_eq!(found, rows, "{}", made.table.name());
        assert_eq!(made.columns[0], "record");
    }
}

/// Writes a log of these terms.
fn log(file: &Path, terms: &[&str]) {
    let mut writer = LogWriter::new(std::fs::File::create(file).unwrap());
    for term in terms {
        let bytes = etf::encode(&Term::parse(term).unwrap());
        writer.item(|buf| buf.extend(&bytes), |_| {}).unwrap();
    }
    writer.finish().unwrap();
}

/// The object that a transaction has deleted is a pattern, in which a map matches those that have more.
#[test]
fn objects_with_maps_deleted() {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(golden("counters")).unwrap() {
        let file = entry.unwrap().path();
        std::fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
    }
    log(
        &folder.path().join("LATEST.LOG"),
        &[
            "{log_header,trans_log,\"4.3\",\"4.21\",nonode@nohost,{1,2,3}}",
            "{commit,nonode@nohost,presume_commit,[],
              [{{set,1},{set,1,#{a=>1,b=>2}},write},{{set,2},{set,2,#{a=>1,b=>2}},write},
               {{set,1},{set,1,#{a=>1}},delete_object},{{set,2},{set,2,#{a=>2}},delete_object}],[],[],[]}",
        ],
    );
    let owner = Store::new().owner();
    let imported = owner.import(folder.path(), &Options::set()).unwrap();
    assert_eq!(imported.wrong, 0, "{:?}", imported.messages);
    let mut tables = imported.tables.iter();
    let made = tables.find(|made| made.table.name().as_str() == "set");
    let rows = made.unwrap().table.tab2list().unwrap();
    assert_eq!(rows, [Term::parse("{set,2,#{a=>1,b=>2}}").unwrap()]);
}

/// A backup has the objects of all tables, whatever keeps them on whatever node.
#[test]
fn a_backup_of_other_nodes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("b.bup");
    let table = |name: &str, storage: &str| {
        format!(
            "{{schema,{name},[{{name,{name}}},{{type,set}},{{{storage},[a@b]}},{{record_name,{name}}},
              {{attributes,[key,value]}},{{cookie,1}}]}}"
        )
    };
    log(
        &file,
        &[
            "{log_header,backup_log,\"1.2\",\"4.21\",c@d,{1,2,3}}",
            &table("other", "leveldb_copies"),
            &table("ram", "ram_copies"),
            "{other,1,2}",
            "{ram,1,2}",
        ],
    );
    let owner = Store::new().owner();
    let imported = owner.import(&file, &Options::set()).unwrap();
    let sizes: Vec<_> = imported
        .tables
        .iter()
        .map(|made| made.table.len())
        .collect();
    assert_eq!(
        (sizes, imported.wrong),
        (vec![1, 1], 0),
        "{:?}",
        imported.messages
    );
}

#[test]
fn a_text_dump() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.txt");
    let text = "{tables,[{people,[{record_name,person},{attributes,[name,age]}]}]}.
{people,ada,36}.\n{people,\"Bo\",17}.\n{people,}.\n";
    std::fs::write(&file, text).unwrap();
    let imported = Store::new().owner().import(&file, &Options::set());
    let imported = imported.unwrap();
    assert_eq!(imported.tables[0].columns, ["record", "name", "age"]);
    assert_eq!(imported.wrong, 1, "{:?}", imported.messages);
    assert!(
        imported.messages[0].contains("dump.txt, byte "),
        "{:?}",
        imported.messages
    );
}

#[test]
fn logs_and_what_is_none() {
    let folder = tempfile::tempdir().unwrap();
    let owner = Store::new().owner();
    let file = folder.path().join("events.log");
    let mut writer = LogWriter::new(std::fs::File::create(&file).unwrap());
    for n in 1..=1000_i64 {
        writer
            .item(|buf| buf.extend(etf::encode(&term!({:event, n}))), |_| {})
            .unwrap();
    }
    writer.finish().unwrap();
    let imported = owner.import(&file, &Options::set()).unwrap();
    let made = &imported.tables[0];
    assert_eq!(
        (made.table.name().as_str(), made.table.len()),
        ("events", 1000)
    );
    assert_eq!(
        made.table.lookup(&term!(7)).unwrap(),
        [term!({7, {:event, 7}})]
    );
    assert_eq!(made.columns, ["nr", "term"]);

    let before = owner.store().all().len();
    let stopped = owner.import_watched(&file, &Options::set(), &mut |read| match read {
        512.. => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    assert!(matches!(stopped, Err(ImportError::Cancelled)));
    assert_eq!(owner.store().all().len(), before);

    let dump = folder.path().join("dump.ets");
    made.table.tab2file(&dump, &SaveOptions::default()).unwrap();
    std::fs::write(folder.path().join("text"), "nothing").unwrap();
    for (name, said) in [
        ("dump.ets", "file2tab"),
        ("text", "no file of dets"),
        ("none", "cannot read"),
    ] {
        let error = owner
            .import(folder.path().join(name), &Options::set())
            .unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
}

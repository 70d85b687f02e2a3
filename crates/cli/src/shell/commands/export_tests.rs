//! Every table that is exported comes back as it was, or nothing is written.

use std::fs;
use std::path::Path;

use fyris::{Options, Table, TableType};
use fyris_term::{Atom, Fun, LocalFun, Term, arbitrary};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use super::export::{Chosen, Export, ExportOptions};
use super::load::from_file;
use super::verb::Command;
use crate::shell::data::readings::Types;
use crate::shell::input::command::{Line, parse};
use crate::shell::names::Columns;
use crate::shell::screen::format::Format;
use crate::shell::session::Session;

const TYPES: [TableType; 4] = [
    TableType::Set,
    TableType::OrderedSet,
    TableType::Bag,
    TableType::DuplicateBag,
];

const READINGS: [&str; 6] = ["auto", "int", "float", "text", "atom", "term"];

/// Names of columns that have a meaning somewhere, or had one.
const NAMES: [&str; 14] = [
    "a",
    "b",
    "id",
    "first name",
    "a,b",
    "x:int",
    "",
    " edge",
    "q\"q'\\",
    "two\nlines",
    "a;b;c",
    "\u{feff}é",
    "as",
    "term",
];

/// A table, and how it is exported.
#[derive(Clone, Debug)]
struct Case {
    kind: TableType,
    keypos: usize,
    objects: Vec<Term>,
    names: Vec<String>,
    types: Types,
    format: Format,
}

fn case() -> impl Strategy<Value = Case> {
    let size = (1usize..4, 0usize..5);
    let table = size.prop_flat_map(|(width, rows)| {
        let columns = vec(column(rows), width);
        let names = prop_oneof![
            3 => Just(Vec::new()),
            1 => vec(select(&NAMES[..3]), width),
            1 => vec(select(&NAMES[..]), width),
        ];
        (columns, names, types(width), 1..=width, any::<bool>())
    });
    let formats = select(&[Format::Csv, Format::Json][..]);
    (table, select(&TYPES[..]), formats).prop_map(|(table, kind, format)| {
        let (columns, names, types, keypos, is_ragged) = table;
        let rows = columns[0].len();
        let mut objects: Vec<Vec<Term>> = (0..rows)
            .map(|row| columns.iter().map(|column| column[row].clone()).collect())
            .collect();
        if let Some(first) = objects.first_mut()
            && is_ragged
        {
            first.truncate(keypos);
        }
        Case {
            kind,
            keypos,
            objects: objects.into_iter().map(Term::tuple).collect(),
            names: names.into_iter().map(str::to_owned).collect(),
            types,
            format,
        }
    })
}

/// Values of one kind, as columns have them, or of any.
fn column(rows: usize) -> impl Strategy<Value = Vec<Term>> {
    let undefined = Just(Term::atom("undefined"));
    let text = |pattern: &'static str| pattern.prop_map(|text| Term::binary(text.into_bytes()));
    let kinds: Vec<BoxedStrategy<Term>> = vec![
        any::<i64>().prop_map(Term::Int).boxed(),
        arbitrary::number().boxed(),
        text("[0-9]{1,3}(\\.0)?").boxed(),
        text("(true|false|null|undefined|[a-z,;\" \\n\\r\\t]{0,4})").boxed(),
        arbitrary::atom().prop_map(Term::Atom).boxed(),
        select(&["true", "false"][..]).prop_map(Term::atom).boxed(),
        undefined.clone().boxed(),
        arbitrary::plain_term().boxed(),
        arbitrary::term().boxed(),
    ];
    let kinds = (select(kinds), any::<bool>());
    kinds.prop_flat_map(move |(kind, may_miss)| {
        let missing = u32::from(may_miss);
        vec(prop_oneof![4 => kind, missing => undefined.clone()], rows)
    })
}

fn types(width: usize) -> impl Strategy<Value = Types> {
    prop_oneof![
        3 => Just(Types::Auto),
        2 => Just(Types::Terms),
        3 => vec(select(&READINGS[..]), width).prop_map(|list| Types::List(list.join(","))),
    ]
}

fn table(case: &Case) -> (Session, Table) {
    let mut session = Session::new();
    let options = Options::new(case.kind).keypos(case.keypos);
    let name = Atom::word("exported");
    let table = session.create(name, &options).expect("a table");
    table.insert_list(&case.objects).expect("objects");
    (session, table)
}

/// Returns the type, the position of the key and all objects, in an order that does not depend on how they came in.
fn content(table: &Table) -> (TableType, usize, Vec<Term>) {
    let mut objects = table.tab2list().expect("objects");
    objects.sort_by(Term::cmp_exact);
    (table.table_type(), table.keypos(), objects)
}

/// Exports; returns what is said.
fn exported(case: &Case, table: &Table, lossy: bool, path: &Path) -> Result<String, String> {
    let options = ExportOptions {
        format: case.format,
        types: case.types.clone(),
        lossy,
    };
    let chosen = Chosen::new(case.names.clone(), None).map_err(|e| e.to_string())?;
    let export = Export::new(table.clone(), options, chosen).map_err(|e| e.to_string())?;
    let said = export.to_file(path).map_err(|e| e.to_string())?;
    Ok(said.unwrap_or_default())
}

/// Loads by the command that an export has said; returns what the table holds.
fn loaded(said: &str) -> (TableType, usize, Vec<Term>) {
    let command = said.split_once("; `").expect("a way back").1;
    let command = command.strip_suffix("` reads them back").expect("its end");
    let mut session = Session::new();
    match parse(command, &Columns::default()) {
        Ok(Line::Command(Command::Words(_, words))) => {
            let loaded = from_file(&mut session, &words);
            let (table, _) = loaded.unwrap_or_else(|e| panic!("{command}: {e}"));
            content(&table)
        }
        _ => panic!("{command}: no command"),
    }
}

/// Returns a folder in memory, where there is one: each export waits for the disk.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    folder.expect("a temporary folder")
}

#[test]
fn exports_come_back_or_are_refused() {
    let folder = folder();
    let config = ProptestConfig {
        cases: 1500,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let (kept, refused) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    let ran = TestRunner::new(config).run(&case(), |case| {
        let path = folder.path().join(format!("t.{}", case.format.name()));
        fs::write(&path, "old").expect("a file");
        let (_session, table) = table(&case);
        match exported(&case, &table, false, &path) {
            Ok(said) => {
                kept.set(kept.get() + 1);
                prop_assert_eq!(loaded(&said), content(&table), "{}", said);
            }
            Err(why) => {
                refused.set(refused.get() + 1);
                prop_assert_eq!(fs::read(&path).expect("the old file"), b"old", "{}", why);
                // What is refused for a value is written if asked.
                if why.contains("nothing is written") {
                    let said = exported(&case, &table, true, &path);
                    let said = said.expect("a lossy export");
                    prop_assert!(
                        said.contains("change") || said.contains("does not"),
                        "{}",
                        said
                    );
                    prop_assert!(fs::read(&path).expect("a file") != b"old");
                }
            }
        }
        prop_assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
        fs::remove_file(&path).expect("the file");
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
    let (kept, refused) = (kept.get(), refused.get());
    assert!(
        kept > 300 && refused > 300,
        "{kept} came back, {refused} were refused"
    );
}

/// JSON lines of terms hold everything that has a form of text, in tables of any kind.
#[test]
fn terms_keep_everything_but_closures() {
    let folder = folder();
    let path = folder.path().join("t.jsonl");
    let objects = vec(vec(arbitrary::term_without_closures(), 2..5), 1..5);
    let config = ProptestConfig {
        cases: 500,
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let cases = (objects, select(&TYPES[..]), 1usize..3);
    let ran = TestRunner::new(config).run(&cases, |(objects, kind, keypos)| {
        let case = Case {
            kind,
            keypos,
            objects: objects.into_iter().map(Term::tuple).collect(),
            names: Vec::new(),
            types: Types::Terms,
            format: Format::Json,
        };
        let (_session, table) = table(&case);
        let said = exported(&case, &table, false, &path).map_err(TestCaseError::fail)?;
        prop_assert_eq!(loaded(&said), content(&table));
        Ok(())
    });
    ran.unwrap_or_else(|error| panic!("{error}"));
}

/// No type of a column keeps a closure.
#[test]
fn no_form_is_said_to_keep_closures() {
    let Ok(Term::Pid(creator)) = Term::parse("<0.1.0>") else {
        panic!("a pid");
    };
    let closure = Term::Fun(Box::new(Fun::Local(LocalFun {
        module: Atom::word("m"),
        arity: 1,
        uniq: [0; 16],
        index: 0,
        old_index: 0,
        old_uniq: 0,
        creator: *creator,
        free: Vec::new().into(),
    })));
    let folder = folder();
    for format in [Format::Csv, Format::Json] {
        let case = Case {
            kind: TableType::Set,
            keypos: 1,
            objects: vec![Term::tuple(vec![
                Term::Int(1),
                Term::list(vec![closure.clone()]),
            ])],
            names: vec![],
            types: Types::Auto,
            format,
        };
        let (_session, table) = table(&case);
        let said = exported(&case, &table, false, &folder.path().join("t.csv"));
        let said = said.expect_err("a closure");
        assert!(
            !said.contains("`as ") && !said.contains("`terms`"),
            "{said}"
        );
        assert!(said.ends_with("`save` keeps every term, `lossy` writes the file all the same"));
    }
}

//! Directories of Mnesia beside what Mnesia itself has after its start.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use fyris_files::mnesia::{Change, Form, Mnesia, MnesiaType, Step, Storage};
use fyris_files::{FileError, Format, format};
use fyris_term::{Term, etf};

use crate::common::{GOLDEN, escript, list, sorted, term};

/// The rows of a table, by the bytes of their keys.
pub(crate) type Rows = BTreeMap<Vec<u8>, Vec<Term>>;

/// Returns what the tables hold, and what was said to be wrong.
pub(crate) fn replayed(mnesia: &Mnesia) -> (Vec<Rows>, Vec<String>) {
    let mut tables = vec![Rows::new(); mnesia.tables().len()];
    let mut wrong: Vec<_> = mnesia.wrong().iter().map(ToString::to_string).collect();
    mnesia.replay(|step| {
        match step {
            Step::Change(at, change) => {
                apply(&mut tables[at], mnesia.tables()[at].table_type, change)
            }
            Step::Wrong(error) => wrong.push(error.to_string()),
        }
        ControlFlow::Continue(())
    });
    (tables, wrong)
}

fn key(row: &Term) -> Vec<u8> {
    etf::encode(&row.as_tuple().unwrap()[1])
}

fn apply(rows: &mut Rows, kind: MnesiaType, change: Change) {
    match change {
        Change::Write(row) => {
            let of_key = rows.entry(key(&row)).or_default();
            of_key.retain(|old| kind == MnesiaType::Bag && *old != row);
            of_key.push(row);
        }
        Change::Delete(of) => _ = rows.remove(&etf::encode(&of)),
        Change::DeleteObject(row) => {
            let of_key = rows.entry(key(&row)).or_default();
            of_key.retain(|old| !matches(&row, old));
        }
        Change::Clear => rows.clear(),
        Change::Count {
            record,
            key,
            by,
            floor,
        } => {
            let of_key = rows.entry(etf::encode(&key)).or_default();
            let old = of_key
                .first()
                .and_then(|row| row.as_tuple()?.get(2)?.as_int());
            let sum = old.map(|old| old + by).filter(|sum| *sum >= 0 || !floor);
            let value = Term::Int(sum.unwrap_or(by.max(0)));
            *of_key = vec![Term::tuple([Term::Atom(record), key, value])];
        }
    }
}

/// Returns whether a pattern without variables matches: maps may have more than theirs.
fn matches(pattern: &Term, term: &Term) -> bool {
    let all = |patterns: &[Term], terms: &[Term]| {
        let pairs = patterns.iter().zip(terms);
        patterns.len() == terms.len() && pairs.fold(true, |all, (p, t)| all && matches(p, t))
    };
    match (pattern, term) {
        (Term::Map(pattern), Term::Map(term)) => pattern
            .iter()
            .all(|(key, of)| term.get(key).is_some_and(|value| matches(of, value))),
        (Term::Tuple(patterns), Term::Tuple(terms)) => all(patterns, terms),
        (Term::List(patterns), Term::List(terms)) => all(patterns, terms),
        _ => pattern == term,
    }
}

/// Compares with what Mnesia had, which is `[{Table, Type, Rows}]` in a file.
pub(crate) fn as_mnesia_has_it(mnesia: &Mnesia, expected: &Path) {
    let name = expected.display();
    let (tables, wrong) = replayed(mnesia);
    assert!(wrong.is_empty(), "{name}: {wrong:?}");
    let expected = list(term(expected));
    let names: Vec<_> = mnesia
        .tables()
        .iter()
        .map(|table| Term::Atom(table.name))
        .collect();
    let all: Vec<_> = expected
        .iter()
        .map(|table| table.as_tuple().unwrap()[0].clone())
        .collect();
    assert_eq!(names, all, "{name}");
    for (found, expected) in tables.into_iter().zip(expected) {
        let [table, _, rows] = expected.as_tuple().unwrap() else {
            panic!("{expected}");
        };
        let found = sorted(found.into_values().flatten().collect());
        assert_eq!(
            Term::list(found),
            Term::list(sorted(list(rows.clone()))),
            "{name}: {table}"
        );
    }
}

#[test]
fn the_committed_directory() {
    let dir = Path::new(GOLDEN).join("counters");
    as_mnesia_has_it(&Mnesia::open(&dir).unwrap(), &dir.with_extension("tables"));
    assert_eq!(format(&dir).unwrap(), Some(Format::Mnesia));
    assert_eq!(
        format(dir.join("LATEST.LOG")).unwrap(),
        Some(Format::DiskLog)
    );
    assert_eq!(format(dir.join("schema.DAT")).unwrap(), Some(Format::Dets));
    assert_eq!(format(GOLDEN).unwrap(), None);
}

/// Each byte of the logs and of a table changed: no panic, and it ends.
#[test]
fn each_byte_changed() {
    let folder = tempfile::tempdir().unwrap();
    let golden = Path::new(GOLDEN).join("counters");
    for entry in std::fs::read_dir(&golden).unwrap() {
        let file = entry.unwrap().path();
        std::fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
    }
    let (whole, _) = replayed(&Mnesia::open(folder.path()).unwrap());
    for name in ["LATEST.LOG", "hits.DCL", "hits.DCD"] {
        let file = folder.path().join(name);
        let bytes = std::fs::read(&file).unwrap();
        for at in (0..bytes.len()).step_by(if bytes.len() > 1000 { 7 } else { 1 }) {
            let mut changed = bytes.clone();
            changed[at] ^= 0x81;
            std::fs::write(&file, &changed).unwrap();
            let (tables, wrong) = replayed(&Mnesia::open(folder.path()).unwrap());
            let others = tables
                .iter()
                .zip(&whole)
                .filter(|(now, then)| now != then)
                .count();
            assert!(others <= 1 || !wrong.is_empty(), "{name}, byte {at}");
        }
        std::fs::write(&file, &bytes).unwrap();
    }
}

#[test]
fn directories_of_this_erlang() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    // Each has two nodes started, which takes seconds; all of them if this is set.
    let all = std::env::var_os("FYRIS_MNESIA_ALL").is_some();
    let args: &[&str] = if all { &["all", path] } else { &[path] };
    if !escript("mnesia.escript", args) {
        return;
    }
    let mut seen = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let dir = entry.unwrap().path();
        if !dir.is_dir() {
            continue;
        }
        let mnesia = Mnesia::open(&dir).unwrap();
        let tables = dir.with_extension("tables");
        as_mnesia_has_it(&mnesia, &tables);
        if dir.ends_with("fallback") {
            assert_eq!(mnesia.form(), Form::Fallback);
            let backup = Mnesia::open(dir.join("b.bup")).unwrap();
            assert_eq!(backup.form(), Form::Backup);
            as_mnesia_has_it(&backup, &tables);
        }
        if dir.ends_with("stopped") {
            definitions(&mnesia);
        }
        seen += 1;
    }
    assert_eq!(seen, if all { 10 } else { 3 });
}

fn definitions(mnesia: &Mnesia) {
    let find = |name: &str| {
        mnesia
            .tables()
            .iter()
            .find(|table| table.name.as_str() == name)
            .unwrap()
    };
    let ordered = find("ordered");
    assert_eq!(ordered.table_type, MnesiaType::OrderedSet);
    assert_eq!(ordered.storage, Storage::DiscCopies);
    let names: Vec<_> = ordered
        .attributes
        .iter()
        .map(|name| name.as_str())
        .collect();
    assert_eq!(
        (names, &ordered.indexes[..]),
        (vec!["id", "name", "year"], &[4][..])
    );
    assert_eq!(find("bag").record_name.as_str(), "item");
    assert_eq!(find("only").storage, Storage::DiscOnlyCopies);
    assert_eq!(find("ram").storage, Storage::RamCopies);
    assert_eq!(
        mnesia.node().map(|node| node.as_str()),
        Some("nonode@nohost")
    );
}

#[test]
fn dumps_as_text() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.txt");
    let text = "{tables,[{people,[{record_name,person},{attributes,[name,age]}]},
         {things,[{record_name,things},{attributes,[id,what]}]}]}.
{people,\"a.\n b\",7}.\n{people,'ö',\n        [1,2]}.
{things,1,<<\"x\">>}.
{nothing,1,2}.\n{people,,}.\n{things,2,<<\"y\">>}.\n";
    std::fs::write(&file, text).unwrap();
    let mnesia = Mnesia::open(&file).unwrap();
    assert_eq!(mnesia.form(), Form::Text);
    let (tables, wrong) = replayed(&mnesia);
    let rows = |at: usize| {
        let rows: Vec<_> = tables[at].values().flatten().map(Term::to_string).collect();
        rows.join(" ")
    };
    assert_eq!(rows(1), "{things,1,<<\"x\">>} {things,2,<<\"y\">>}");
    assert_eq!(tables[0].len(), 2);
    assert!(rows(0).contains("{person,"), "{}", rows(0));
    assert_eq!(wrong.len(), 2, "{wrong:?}");
    assert!(wrong[1].contains("byte "), "{wrong:?}");
}

/// A quote that is never closed costs a bounded number of tries, and no row behind it but those of these lines.
#[test]
fn text_without_an_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("dump.txt");
    let start = "{tables,[{t,[{record_name,t},{attributes,[a,b]}]}]}.\n{t,0,'";
    let text = format!("{start}{}{}", ".\n".repeat(150), "{t,1,2}.\n".repeat(3));
    std::fs::write(&file, text).unwrap();
    let (tables, wrong) = replayed(&Mnesia::open(&file).unwrap());
    assert_eq!(tables[0].len(), 1);
    assert!(!wrong.is_empty(), "{wrong:?}");
}

#[test]
fn what_is_not_mnesias_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Mnesia::open(folder.path()).is_err());
    let file = folder.path().join("x");
    for content in ["", "x", "{tables,[a]}.", "{tables,[]"] {
        std::fs::write(&file, content).unwrap();
        assert!(Mnesia::open(&file).is_err(), "{content}");
    }
}

/// A file of `fyris_copies`: its number, and the operations of each record.
pub(crate) fn copies(number: u64, records: &[&str]) -> Vec<u8> {
    let encoded = |record: &&str| etf::encode(&Term::parse(record).unwrap());
    copies_of(number, &records.iter().map(encoded).collect::<Vec<_>>())
}

/// A file of `fyris_copies` with these records.
pub(crate) fn copies_of(number: u64, records: &[Vec<u8>]) -> Vec<u8> {
    let sum = |parts: &[&[u8]]| {
        let mut crc = flate2::Crc::new();
        parts.iter().for_each(|part| crc.update(part));
        crc.sum().to_be_bytes()
    };
    let mut file = [&b"fyrismn2"[..], &number.to_be_bytes()].concat();
    file.extend(sum(&[&file]));
    for body in records {
        let at = (file.len() as u64).to_be_bytes();
        file.extend((body.len() as u64).to_be_bytes());
        file.extend(sum(&[&at, body]));
        file.extend(body);
    }
    file
}

#[test]
fn tables_of_fyris() {
    let folder = tempfile::tempdir().unwrap();
    let put = |ending: &str, file: &[u8]| {
        std::fs::write(folder.path().join(format!("t.{ending}")), file).unwrap()
    };
    put(
        "FYD",
        &copies(5, &["[{insert,[{t,1,a},{t,2,b},{t,3,c}]}]", "[]"]),
    );
    put("FYO", &copies(4, &["[{delete,1}]"]));
    let operations = [
        "[{delete,2},{insert,{t,4,d}}]",
        "[{match_delete,{t,3,c}}]",
        "[{insert,{t,5,e}}]",
    ];
    let log = copies(5, &operations);
    put("FYL", &log);
    let read = || {
        let (mut rows, mut wrong) = (Rows::new(), 0);
        fyris_files::mnesia::fyris_copies(folder.path(), "t", |read| {
            match read {
                Ok(change) => apply(&mut rows, MnesiaType::Set, change),
                Err(error) => {
                    assert!(!matches!(error, FileError::Read { .. }), "{error}");
                    wrong += 1;
                }
            }
            ControlFlow::Continue(())
        });
        let rows: Vec<_> = rows.values().flatten().map(Term::to_string).collect();
        (rows.join(" "), wrong)
    };
    assert_eq!(read(), ("{t,1,a} {t,4,d} {t,5,e}".to_owned(), 0));
    // A record that is damaged is passed over, and so is the header.
    let ends = [0, 1, 2].map(|whole| copies(5, &operations[..whole]).len());
    for at in 0..log.len() {
        let mut changed = log.clone();
        changed[at] ^= 0x11;
        put("FYL", &changed);
        let expected = match ends.iter().filter(|end| **end <= at).count() {
            0 => "{t,1,a} {t,4,d} {t,5,e}",
            1 => "{t,1,a} {t,2,b} {t,5,e}",
            2 => "{t,1,a} {t,3,c} {t,4,d} {t,5,e}",
            _ => "{t,1,a} {t,4,d}",
        };
        assert_eq!(read(), (expected.to_owned(), 1), "byte {at}");
    }
    put("FYL", &log[..log.len() - 3]);
    assert_eq!(read(), ("{t,1,a} {t,4,d}".to_owned(), 1));
    put("FYL", &log);
    put("FYD", &copies(5, &["[{insert,[{t,1,a},{t,2,b},{t,3,c}]}]"]));
    assert_eq!(read(), ("{t,1,a} {t,4,d} {t,5,e}".to_owned(), 1));
    for ending in ["FYD", "FYO", "FYL"] {
        std::fs::remove_file(folder.path().join(format!("t.{ending}"))).unwrap();
    }
    assert_eq!(read(), (String::new(), 1));
}

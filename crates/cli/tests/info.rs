//! `fyris info` on dumps, on every index, and on what is no dump.
#![allow(missing_docs)]

use std::path::Path;
use std::process::{Command, Output};

use fyris::dump::SaveOptions;
use fyris::{Options, Store, Term};

fn info(args: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_fyris"));
    program
        .arg("info")
        .args(args)
        .output()
        .expect("the program runs")
}

/// Returns the value of each line by its name.
fn told(args: &[&str]) -> Vec<(String, String)> {
    let output = info(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let pair = |line: &str| {
        line.split_once(' ')
            .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
    };
    text.lines()
        .map(|line| pair(line).expect("a name and a value"))
        .collect()
}

fn value<'a>(told: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = told.iter().find(|(known, _)| known == name)?;
    Some(&found.1)
}

/// Saves a table of 500 objects with the key in the second place.
fn dump(folder: &Path, options: Options) -> String {
    let owner = Store::new().owner();
    let table = owner
        .new_table("people", &options.keypos(2))
        .expect("a table");
    for n in 0..500 {
        let object = Term::tuple(vec![Term::atom("person"), Term::Int(n)]);
        table.insert(&object).expect("inserts");
    }
    let path = folder.join("dump");
    table
        .tab2file(&path, &SaveOptions::default())
        .expect("saves");
    path.display().to_string()
}

#[test]
fn it_tells_of_a_dump() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = dump(folder.path(), Options::ordered_set());
    let told = told(&[&file]);
    for (name, wanted) in [
        ("name", "people"),
        ("type", "ordered_set"),
        ("keypos", "2"),
        ("size", "500"),
        ("index", "ordered"),
        ("contention_splits", "0"),
    ] {
        assert_eq!(value(&told, name), Some(wanted), "{told:?}");
    }
}

#[test]
fn every_index_tells_of_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = dump(folder.path(), Options::set());
    tells_of(
        &file,
        &[
            ("hash", "min_length", None),
            ("ordered", "base_nodes", None),
            ("avl", "depth", Some("9")),
            ("treap", "lock", Some("normal")),
            ("btree", "lock", Some("normal")),
            ("ca_avl", "base_nodes", Some("1")),
            ("ca_treap", "conflicts", Some("0")),
            ("relaxed_avl", "depth", Some("9")),
            ("skip_list", "levels", None),
            ("linear_hash", "bucket_locks", Some("0")),
            ("split_ordered", "max_length", None),
            ("michael_hash", "buckets", Some("1024")),
            ("judyeh", "lock", Some("normal")),
        ],
    );
    let options = "[{write_concurrency, true}, {bucket_locks, 256}]";
    let told = told(&[&file, "--index", "linear_hash", "--options", options]);
    assert_eq!(value(&told, "bucket_locks"), Some("256"));
    assert_eq!(value(&told, "lock"), Some("freq_r"));
}

/// Checks an item of each index that holds the dump; the value where it is known.
fn tells_of(file: &str, indexes: &[(&str, &str, Option<&str>)]) {
    for (index, name, wanted) in indexes {
        let told = told(&[file, "--index", index]);
        assert_eq!(value(&told, "index"), Some(*index));
        assert_eq!(value(&told, "size"), Some("500"));
        let found = value(&told, name).expect(name);
        assert!(
            wanted.is_none_or(|wanted| found == wanted),
            "{index}: {name} is {found}"
        );
    }
}

/// Those that serve nothing else.
#[test]
fn every_index_of_ordered_sets_tells_of_itself() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = dump(folder.path(), Options::ordered_set());
    tells_of(
        &file,
        &[
            ("judysl", "lock", Some("normal")),
            ("judyesl", "conflicts", Some("0")),
        ],
    );
}

#[test]
fn it_says_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = dump(folder.path(), Options::set());
    for (args, says) in [
        (vec!["/nowhere/at all"], "/nowhere/at all"),
        (vec![&file, "--index", "nowhere"], "nowhere"),
        (
            vec![&file, "--options", "[{bucket_locks, 3}]"],
            "a power of two from 1 to 32768, or auto",
        ),
        (vec![&file, "--options", "[{"], "--options"),
        (vec![&file, "--options", "[bag]"], "the type is the dump's"),
        (vec![&file, "--options", "set"], "list set"),
    ] {
        let output = info(&args);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert!(
            errors.starts_with("fyris info: ") && errors.contains(says),
            "{errors}"
        );
    }
}

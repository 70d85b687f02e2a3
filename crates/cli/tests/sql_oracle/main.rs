//! Generated queries, which use each word of the shell's SQL, have the answers that sqlite3 gives: Python's module of
//! it runs them beside. A thousand, or as many as `FYRIS_SQL_QUERIES` says, from the seed `FYRIS_SQL_SEED`.

mod generator;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use generator::Generator;

/// Compares answers: gets the folder, which has the tables, the queries and what the shell said.
const COMPARE: &str = include_str!("compare.py");

/// Words that queries have to use.
const WORDS: [&str; 37] = [
    "SELECT",
    "DISTINCT",
    "AS",
    "FROM",
    "WHERE",
    "=",
    "<>",
    "!=",
    "<=",
    "IN",
    "BETWEEN",
    "LIKE",
    "IS NULL",
    "IS NOT NULL",
    "AND",
    "OR",
    "NOT",
    "JOIN",
    "LEFT JOIN",
    "GROUP BY",
    "HAVING",
    "ORDER BY",
    "LIMIT",
    "OFFSET",
    "count(",
    "sum(",
    "avg(",
    "min(",
    "max(",
    "CASE",
    "coalesce(",
    "lower(",
    "substr(",
    "||",
    "abs(",
    "round(",
    "length(",
];

fn variable(name: &str, otherwise: u64) -> u64 {
    let said = std::env::var(name).ok();
    said.map_or(otherwise, |said| said.parse().expect("a number"))
}

/// Runs a command with a text as its input.
fn with_input(command: &mut Command, input: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    std::thread::scope(|s| {
        // It may end before it has read all.
        s.spawn(move || _ = stdin.write_all(input.as_bytes()));
        child.wait_with_output().expect("it ends")
    })
}

/// Returns what the shell says to each statement, with a line of its own between.
fn answers(folder: &Path, inserts: &str, statements: &[String]) -> String {
    let mut script = String::from(
        "load t.jsonl key id\nload u.jsonl key k type set\nload w.jsonl key id\n\
         add_secondary t by_s {element, 4}\nuse w\n",
    );
    script += inserts;
    for statement in statements {
        _ = write!(script, "{statement}\nmember t 1\n");
    }
    let mut shell = Command::new(env!("CARGO_BIN_EXE_fyris"));
    shell
        .args(["shell", "--format", "json"])
        .current_dir(folder);
    let output = with_input(&mut shell, &script);
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().last().unwrap_or_default();
    assert!(
        output.status.success(),
        "{last}\nof the script {}",
        line(&script, last)
    );
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Returns the line that an error names.
fn line<'s>(script: &'s str, error: &str) -> &'s str {
    let number = error
        .split("line ")
        .nth(1)
        .and_then(|rest| rest.split(':').next());
    let number = number.and_then(|number| number.parse::<usize>().ok());
    number
        .and_then(|number| script.lines().nth(number - 1))
        .unwrap_or_default()
}

#[test]
fn generated_queries_have_the_answers_of_sqlite() {
    let python = Command::new("python3")
        .args(["-c", "import sqlite3"])
        .output();
    if !python.is_ok_and(|output| output.status.success()) {
        eprintln!("no python3 with sqlite3 here: skipped");
        return;
    }
    let (count, seed) = (
        variable("FYRIS_SQL_QUERIES", 1000),
        variable("FYRIS_SQL_SEED", 44),
    );
    let folder = tempfile::tempdir().expect("a folder");
    let mut generator = Generator::new(seed);
    for (name, rows) in generator.tables() {
        std::fs::write(folder.path().join(format!("{name}.jsonl")), rows).expect("a file");
    }
    let mut inserts = String::new();
    for (name, objects, rows) in generator.short_objects() {
        _ = writeln!(inserts, "insert {name}{objects}");
        std::fs::write(folder.path().join(format!("{name}.short")), rows).expect("a file");
    }
    let statements: Vec<String> = (0..count).map(|_| generator.statement()).collect();
    let used = |word: &&&str| {
        statements
            .iter()
            .any(|statement| statement.contains(**word))
    };
    let unused: BTreeSet<_> = WORDS.iter().filter(|word| !used(word)).collect();
    assert!(unused.is_empty(), "no query uses {unused:?}");
    let said = answers(folder.path(), &inserts, &statements);
    std::fs::write(folder.path().join("queries"), statements.join("\n")).expect("a file");
    let mut compare = Command::new("python3");
    compare.args(["-c", COMPARE]).current_dir(folder.path());
    let output = with_input(&mut compare, &said);
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "seed {seed}: {out}{err}");
    eprintln!("{out}");
}

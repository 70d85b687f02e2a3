//! SQL in the shell: what is found and changed, what is refused, and how it is found.

use std::process::{Command, Output, Stdio};

const TABLES: [&str; 5] = [
    "new people ordered_set {secondary, by_city, {element, 3}}",
    "insert people {1, ann, <<\"Lund\">>, 34}, {2, <<\"Bo\">>, lund, 17.5}, {3, {cy}, undefined, true}",
    "insert people {4, <<255>>, <<\"Rom\">>, undefined}",
    "new orders set",
    "insert orders {10, 1, <<\"x\">>}, {11, 2.0, y}, {12, 9, undefined}, {13, undefined, z}",
];

fn output(commands: &[&str]) -> Output {
    let args = TABLES.iter().chain(commands).flat_map(|c| ["-e", c]);
    Command::new(env!("CARGO_BIN_EXE_fyris"))
        .args(["shell", "--format", "list"])
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

fn run(commands: &[&str]) -> String {
    let output = output(commands);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{commands:?}: {said}");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs commands of which the last fails, and shows the tables then, which are as they were.
fn refused(statement: &str) -> String {
    let output = output(&["mode erl", statement]);
    assert_eq!(output.status.code(), Some(1), "{statement}");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    said.lines().last().unwrap_or_default().to_owned()
}

#[test]
fn terms_are_values() {
    for (statement, found) in [
        (
            "SELECT * FROM people WHERE c1 < 3",
            "1|ann|Lund|34\n2|Bo|lund|17.5\n",
        ),
        (
            "select c1 from people where c2 = 'ann' or c3 = 'lund'",
            "1\n2\n",
        ),
        (
            "SELECT c1 FROM people WHERE c4 = TRUE OR c4 > 17 ORDER BY 1 DESC",
            "3\n2\n1\n",
        ),
        (
            "SELECT c1 FROM people WHERE c3 IS NULL OR c4 IS NULL",
            "3\n4\n",
        ),
        ("SELECT c1 FROM people ORDER BY c2", "2\n1\n3\n4\n"),
        (
            "SELECT c2, c2 || '!' FROM people WHERE c1 = 3",
            "{cy}|{cy}!\n",
        ),
        (
            "SELECT sum(c4), count(c4), count(*) FROM people",
            "52.5|3|4\n",
        ),
        ("SELECT C1 FROM PEOPLE LIMIT 1 OFFSET 1", "2\n"),
        ("SELECT c7 FROM people WHERE c1 = 1", "\n"),
        (
            "SELECT upper(c3) AS city, count(*) FROM people GROUP BY city",
            "|1\nLUND|2\nROM|1\n",
        ),
    ] {
        assert_eq!(run(&[statement]), found, "{statement}");
    }
}

#[test]
fn joins_look_keys_up() {
    let join = "SELECT o.c1, p.c2 FROM orders o JOIN people p ON p.c1 = o.c2 ORDER BY o.c1";
    assert_eq!(run(&[join]), "10|ann\n11|Bo\n");
    let left = join.replace("JOIN", "LEFT JOIN");
    assert_eq!(run(&[&left]), "10|ann\n11|Bo\n12|\n13|\n");
    let index = "SELECT o.c1, p.c1 FROM orders o JOIN people p ON p.c3 = 'L' || 'und'";
    assert_eq!(run(&[&format!("{index} AND o.c1 = 10")]), "10|1\n");
    // The key of a set tells 1 from 1.0, and SQL does not.
    let back = "SELECT o.c3 FROM people p JOIN orders o ON o.c1 = p.c1 + 9.0 WHERE p.c1 < 3";
    assert_eq!(run(&[back]), "x\ny\n");
}

#[test]
fn plans_use_keys_and_indexes() {
    for (statement, plan) in [
        (
            "SELECT c2 FROM people WHERE c1 >= 2 AND c1 < 4 AND c2 LIKE 'B%'",
            "range >= 2, < 4: about",
        ),
        (
            "SELECT c2 FROM people WHERE c1 IN (1, 2)",
            "points 1; 2: about",
        ),
        (
            "SELECT c2 FROM people WHERE c3 = 'Lund'",
            "point <<\"Lund\">> in by_city",
        ),
        ("UPDATE people SET c4 = 1 WHERE 3 = c1", "point 3: about"),
        ("SELECT c2 FROM people WHERE c4 + 1 = 2", "full scan"),
        (
            "SELECT * FROM orders o JOIN people p ON p.c1 = o.c2",
            "join people: lookup of its key, c1",
        ),
        (
            "SELECT * FROM orders o LEFT JOIN people p ON o.c3 = p.c3",
            "left join people: lookup of c3 in by_city",
        ),
    ] {
        let said = run(&[&format!("explain {statement}")]);
        assert!(said.contains(plan), "{statement}: {said}");
    }
    let said = run(&["explain SELECT c2 FROM people WHERE c1 > 2 AND c2 LIKE 'B%'"]);
    assert!(said.ends_with("behind it: 1 condition\n"), "{said}");
}

#[test]
fn changes_are_whole() {
    let all = "SELECT * FROM people";
    assert_eq!(
        run(&[
            "INSERT INTO people VALUES (5, 'Fay', NULL, TRUE), (6, 'G''s', 1.5, -2)",
            "mode erl",
            "lookup people 5",
            "lookup people 6"
        ]),
        "{5,<<\"Fay\">>,undefined,true}\n{6,<<\"G's\">>,1.5,-2}\n"
    );
    assert_eq!(
        run(&[
            "UPDATE people SET c3 = c2, c4 = coalesce(c4, 0) + 1 WHERE c1 IN (1, 4)",
            "mode erl",
            "lookup people 1",
            "lookup people 4"
        ]),
        "{1,ann,ann,35}\n{4,<<\"ÿ\">>,<<\"ÿ\">>,1}\n"
    );
    assert_eq!(
        run(&["UPDATE people SET c1 = c1 + 1", "SELECT c1 FROM people"]),
        "2\n3\n4\n5\n"
    );
    assert_eq!(
        run(&["DELETE FROM people WHERE c4 IS NULL; SELECT count(*) FROM people"]),
        "3\n"
    );
    assert_eq!(run(&["delete from people", all]), "");
    let undone = [
        "begin people",
        "DELETE FROM people WHERE c1 = 1",
        "abort",
        "SELECT count(*) FROM people",
    ];
    assert!(run(&undone).ends_with("4\n"));
    let then = [
        "snapshot then people",
        "DELETE FROM people",
        "at then SELECT count(*) FROM people",
    ];
    assert!(run(&then).ends_with("4\n"));
}

#[test]
fn what_is_not_known_is_named() {
    for (statement, said) in [
        (
            "SELECT c2 FROM people WHERE c2 GLOB 'x'",
            "column 29: `c2 GLOB 'x'` is no part of the SQL here",
        ),
        (
            "SELECT CAST(c1 AS text) FROM people",
            "`CAST(c1 AS TEXT)` is no part",
        ),
        (
            "SELECT c1 FROM people UNION SELECT c1 FROM orders",
            "UNION SELECT",
        ),
        (
            "SELECT c1 FROM people WHERE c1 IN (SELECT c2 FROM orders)",
            "`c1 IN (SELECT c2 FROM orders)`",
        ),
        ("SELECT row_number() OVER () FROM people", "`OVER ()`"),
        (
            "SELECT count(*) FILTER (WHERE c1 > 1) FROM people",
            "`FILTER (WHERE c1 > 1)`",
        ),
        (
            "SELECT c1 FROM people ORDER BY c1 NULLS LAST",
            "`c1 NULLS LAST`",
        ),
        (
            "SELECT c1 FROM people, orders",
            "column 24: tables with commas",
        ),
        (
            "SELECT * FROM people JOIN orders USING (c1)",
            "`JOIN orders USING(c1)`",
        ),
        (
            "SELECT * FROM people p JOIN orders o ON o.c2 = p.c1",
            "its ON has to compare the key, c1,",
        ),
        (
            "SELECT c2, count(*) FROM people",
            "c2 may differ within a group",
        ),
        (
            "SELECT c1 FROM people WHERE count(*) > 1",
            "`count(*)` is of a group",
        ),
        (
            "SELECT \"Boris\" FROM people",
            "Boris is no column; the columns are c1, c2, c3, c4; a text is written 'Boris'",
        ),
        (
            "SELECT x.c1 FROM people",
            "x is no table of this query: they are people",
        ),
        ("SELECT c1 FROM peple", "column 16: no table peple"),
        (
            "DELETE FROM people WHERE c1 = 1 RETURNING c1",
            "`RETURNING c1`",
        ),
        (
            "DELETE FROM people WHERE c1 = 1; DELETE FROM peple",
            "no table peple",
        ),
        (
            "UPDATE people SET c4 = 1 ORDER BY c1",
            "found: ORDER at column 26",
        ),
        (
            "UPDATE people SET c1 = 1",
            "people has an object with the c1 1 already",
        ),
        (
            "UPDATE people SET c1 = NULL WHERE c1 = 1",
            "c1 is the key: it cannot be NULL",
        ),
        (
            "INSERT INTO people (c1, c2) VALUES (9)",
            "1 values for 2 columns",
        ),
        (
            "INSERT INTO people (c1) VALUES (9), (1)",
            "with the c1 1 already: nothing is changed",
        ),
        (
            "INSERT INTO people (c1) VALUES (9), (9)",
            "with the c1 9 already: nothing is changed",
        ),
        (
            "INSERT INTO people (c2) VALUES (9)",
            "c1 is the key: it cannot be NULL",
        ),
        (
            "INSERT OR REPLACE INTO people (c1) VALUES (1)",
            "`OR REPLACE`",
        ),
        ("CREATE TABLE x (a)", "of SQL there are SELECT ... FROM"),
        ("SELECT c1 FROM people WHERE", "Expected: an expression"),
        (
            "SELECT sum(9223372036854775807) FROM people",
            "integer overflow",
        ),
    ] {
        let refusal = refused(statement);
        assert!(refusal.contains(said), "{statement}: {refusal}");
    }
    let chain = format!("SELECT c1 FROM people WHERE {} c1", "c1 + ".repeat(5000));
    assert!(refused(&chain).contains("more than 300 words and signs"));
}

#[test]
fn statements_go_over_lines_and_rows_into_forms() {
    let mut shell = Command::new(env!("CARGO_BIN_EXE_fyris"));
    shell
        .args(["shell", "--format", "json"])
        .args(["-e", "new t", "-e", "insert {1, <<\"a\">>}"]);
    let select = "SELECT c1 AS \"the key\",\n c2 FROM t WHERE c1 IN (1,\n 2)";
    shell.args(["-e", select, "-e", "SELECT c1 FROM t WHERE FALSE"]);
    let output = shell
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(out, "[{\"the key\":1,\"c2\":\"a\"}]\n[]\n");
}

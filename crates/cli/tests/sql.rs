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
        ("SELECT c1 FROM people ORDER BY c2", "2\n1\n4\n3\n"),
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
    let join = "SELECT o.c1 FROM people p JOIN orders o ON p.c1 = o.c2";
    let said = refused(join);
    let cure = "add_secondary orders by_2 {element, 2}";
    assert!(said.contains(&format!("`{cure}` makes one")), "{said}");
    assert_eq!(run(&[cure, join]), "10\n11\n");
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
    let end = "behind it: 1 condition\nLIKE does not tell letters of ASCII by their case: no range of keys is that\n";
    assert!(said.ends_with(end), "{said}");
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
            "column 29: `c2 GLOB 'x'` is not supported: LIKE, with % and _",
        ),
        (
            "SELECT CAST(c1 AS text) FROM people",
            "`CAST(c1 AS TEXT)` is not supported: x + 0 makes a number",
        ),
        (
            "SELECT c1 FROM people UNION SELECT c1 FROM orders",
            "is not supported: each SELECT is a statement of its own",
        ),
        (
            "SELECT c1 FROM people WHERE c1 IN (SELECT c2 FROM orders)",
            "`c1 IN (SELECT c2 FROM orders)` is not supported: a JOIN, or the values themselves",
        ),
        (
            "SELECT row_number() OVER () FROM people",
            "`OVER ()` is not supported: GROUP BY",
        ),
        (
            "SELECT ifnull(c2, 1) FROM people",
            "`ifnull(c2, 1)` is not supported: there are abs, coalesce,",
        ),
        (
            "SELECT abs(1, 2) FROM people",
            "`abs(1, 2)` is not supported: it takes another number of arguments",
        ),
        (
            "SELECT sum(c1, 2) FROM people",
            "`sum(c1, 2)` is not supported: an aggregate takes one argument",
        ),
        (
            "SELECT count(*) FILTER (WHERE c1 > 1) FROM people",
            "`FILTER (WHERE c1 > 1)` is not supported: an aggregate of CASE",
        ),
        (
            "SELECT c1 FROM people ORDER BY c1 NULLS LAST",
            "`c1 NULLS LAST` is not supported: ORDER BY x IS NULL, x",
        ),
        (
            "SELECT c1 FROM people, orders",
            "column 24: tables with commas",
        ),
        (
            "SELECT * FROM people JOIN orders USING (c1)",
            "`JOIN orders USING(c1)` is not supported: JOIN and LEFT JOIN with `ON",
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
            "`count(*)` is an aggregate",
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
            "`RETURNING c1` is not supported: a SELECT beside it",
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
            "`OR REPLACE` is not supported: the command `insert` replaces objects",
        ),
        (
            "SELECT trim(c2) FROM people",
            "is not supported: there are abs, coalesce",
        ),
        ("CREATE TABLE x (a)", "of SQL there are SELECT ... FROM"),
        (
            "SELECT c1 FROM people WHERE",
            "the input ended inside a command",
        ),
        ("SELECT c1 FROM people WHERE;", "Expected: an expression"),
        (
            "SELECT sum(9223372036854775807) FROM people",
            "integer overflow",
        ),
    ] {
        let refusal = refused(statement);
        assert!(refusal.contains(said), "{statement}: {refusal}");
    }
    let chain = |signs| {
        format!(
            "SELECT 1 FROM people WHERE {} c1 LIMIT 1",
            "c1 + ".repeat(signs)
        )
    };
    assert_eq!(run(&[&chain(290)]), "1\n");
    let chain = chain(5000);
    assert!(refused(&chain).contains("more than 300 operators"));
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

/// Runs commands over no tables but those that they make, as a script.
fn alone(commands: &[&str]) -> (String, String, bool) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = folder.path().join("script");
    std::fs::write(&script, commands.join("\n")).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_fyris"))
        .args(["shell", "--format", "list", "--script"])
        .arg(&script)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        text(&output.stdout),
        text(&output.stderr),
        output.status.success(),
    )
}

/// Runs commands that succeed, of which the last ones show something.
fn found(commands: &[&str]) -> String {
    let (out, err, done) = alone(commands);
    assert!(done, "{commands:?}: {err}");
    out
}

/// An object that does not have an element has NULL there, on whichever side of OR that is looked at.
#[test]
fn short_objects_have_null() {
    for kind in ["ordered_set", "set", "bag", "duplicate_bag"] {
        let new = format!("new t {kind}");
        let run = |statement: &str| {
            let ids = "SELECT c1 FROM t ORDER BY c1";
            let rows = "insert t {1} {2,5} {3,6,7}";
            match statement.starts_with("SELECT") {
                true => found(&[&new, rows, statement]),
                false => found(&[&new, rows, statement, ids]),
            }
        };
        let of = |condition: &str| run(&format!("SELECT c1 FROM t WHERE {condition} ORDER BY 1"));
        assert_eq!(of("c2 = 5 OR c1 = 1"), "1\n2\n", "{kind}");
        assert_eq!(of("c1 = 1 OR c2 = 5"), "1\n2\n");
        assert_eq!(of("(c3 = 7 OR c2 = 5) OR c1 = 1"), "1\n2\n3\n");
        assert_eq!(of("c1 = 1 OR c2 = 5 AND c3 IS NULL"), "1\n2\n");
        assert_eq!(of("c2 IS NULL"), "1\n");
        assert_eq!(of("c3 IS NULL OR c3 = 7"), "1\n2\n3\n");
        assert_eq!(of("c3 IS NOT NULL OR c1 = 1"), "1\n3\n");
        assert_eq!(of("c3 IN (7, 8) OR c2 BETWEEN 5 AND 5"), "2\n3\n");
        assert_eq!(run("DELETE FROM t WHERE c3 = 7 OR c1 = 1"), "2\n");
        assert_eq!(
            run("UPDATE t SET c1 = 10 * c1 WHERE c3 = 7 OR c1 = 1"),
            "2\n10\n30\n"
        );
    }
}

/// What is equal in SQL is found by keys and by secondary indexes that tell it apart.
#[test]
fn equal_values_are_found_by_every_index() {
    let big = "18446744073709551617";
    let keys = format!(
        "insert t {{1,a}} {{2.0,b}} {{0,c}} {{0.0,d}} {{-0.0,e}} {{{big},f}} {{9007199254740993,g}}"
    );
    let keys = keys + " {9223372036854775808,h} {{1,x},i}";
    let rows = format!(
        "insert l {{a,1.0}} {{b,2}} {{c,0}} {{d,-0.0}} {{e,{big}}} {{f,9007199254740992.0}}"
    );
    let rows = rows + " {g,9.223372036854775808e18} {h,{1,x}} {i,{1.0,x}}";
    for (new, key) in [
        ("new t set", "c1"),
        (
            "new t set {keypos,2} {secondary, by_one, {element, 1}}",
            "c1",
        ),
        ("new t bag", "c1"),
    ] {
        let join = format!("SELECT l.c1, t.c2 FROM l JOIN t ON t.{key} = l.c2 ORDER BY l.c1, t.c2");
        let wanted = "a|a\nb|b\nc|c\nc|d\nc|e\nd|c\nd|d\nd|e\ne|f\ng|h\nh|i\n";
        assert_eq!(found(&[new, "new l", &keys, &rows, &join]), wanted, "{new}");
        for (condition, wanted) in [
            ("c1 = 0", "c\nd\ne\n"),
            ("c1 IN (-0.0, 1)", "a\nc\nd\ne\n"),
            ("c1 = 18446744073709551617", "f\n"),
            ("c1 = 18446744073709551616", ""),
            ("c1 = 9223372036854775808.0", "h\n"),
            (
                "c1 > 9007199254740992 AND c1 < 9223372036854775809",
                "g\nh\n",
            ),
        ] {
            let select = format!("SELECT c2 FROM t WHERE {condition} ORDER BY 1");
            assert_eq!(found(&[new, &keys, &select]), wanted, "{new}: {condition}");
        }
        let plan = found(&[new, &keys, "explain SELECT c2 FROM t WHERE c1 = 0"]);
        assert_eq!(plan.matches("point 0").count(), 2, "{plan}");
        assert!(plan.contains("point -0.0"), "{plan}");
    }
    let ordered = found(&[
        "new t ordered_set",
        "new l",
        &keys,
        &rows,
        "SELECT l.c1, t.c2 FROM l JOIN t ON t.c1 = l.c2 ORDER BY 1",
    ]);
    assert_eq!(ordered, "a|a\nb|b\nc|e\nd|e\ne|f\ng|h\nh|i\n");
    assert_eq!(
        found(&[
            "new t ordered_set",
            &format!("INSERT INTO t VALUES ({big})"),
            "SELECT c1 FROM t"
        ]),
        format!("{big}\n")
    );
}

/// IN of many values is one lookup a value where there is an index, and one search a row where there is none.
#[test]
fn many_values_of_in() {
    let many: Vec<String> = (0..5000).map(|n| (2 * n).to_string()).collect();
    let many = many.join(", ");
    let dir = tempfile::tempdir().expect("a folder");
    let file = dir.path().join("t.csv");
    let rows: String = (0..6000).map(|n| format!("{n},{n},{n}\n")).collect();
    std::fs::write(&file, format!("id,a,b\n{rows}")).expect("a file");
    let load = format!("load {} key id as t", file.display());
    for (index, wanted) in [
        ("id", "point 0:"),
        ("a", "point 0 in by_a:"),
        ("b", "full scan"),
    ] {
        let from = format!("FROM t WHERE {index} IN ({many}) AND id < 4000");
        let count = format!("SELECT count(*) {from}");
        let explain = format!("explain SELECT id {from}");
        let said = found(&[&load, "add_secondary t by_a {element, 2}", &count, &explain]);
        assert!(said.starts_with("2000\n"), "{}", &said[..60]);
        match index {
            "b" => assert!(said.contains("range < 4000"), "{said}"),
            "id" => assert!(said.contains("and 4997 more such lookups"), "{said}"),
            _ => assert!(said.contains("in by_a:"), "{said}"),
        }
        let alone = format!("explain SELECT id FROM t WHERE {index} IN ({many})");
        let said = found(&[&load, "add_secondary t by_a {element, 2}", &alone]);
        assert!(said.contains(wanted), "{said}");
    }
    let not = found(&[
        "new t ordered_set",
        "insert {1} {2} {3}",
        "SELECT c1 FROM t WHERE c1 NOT IN (1, 3) OR c1 IN (1, NULL)",
    ]);
    assert_eq!(not, "1\n2\n");
}

/// `DELETE ... WHERE ok <> 1` once deleted all objects.
#[test]
fn flags_are_numbers() {
    for new in [
        "new t ordered_set",
        "new t set {secondary, by, {element, 2}}",
    ] {
        let found = |condition: &str| {
            let rows = "insert {1,true} {2,false} {3,1} {4,0} {5,0.5} {6,undefined} {7,<<\"x\">>} {8,5} {9,1.0}";
            let select = format!("SELECT c1 FROM t WHERE {condition} ORDER BY 1");
            found(&[new, rows, &select]).trim().replace('\n', " ")
        };
        for (condition, ids) in [
            ("c2 = 1", "1 3 9"),
            ("c2 = 0.0", "2 4"),
            ("c2 <> 1", "2 4 5 7 8"),
            ("c2 > 0", "1 3 5 7 8 9"),
            ("c2 >= TRUE", "1 3 7 8 9"),
            ("c2 < 1", "2 4 5"),
            ("c2 <= FALSE", "2 4"),
            ("c2 < 9", "1 2 3 4 5 8 9"),
            ("c2 IN (TRUE)", "1 3 9"),
            ("c2 IN (TRUE, FALSE)", "1 2 3 4 9"),
            ("c2 BETWEEN FALSE AND TRUE", "1 2 3 4 5 9"),
            ("c2 BETWEEN 0 AND 1", "1 2 3 4 5 9"),
            ("c2 = (1 = 1)", "1 3 9"),
            ("CASE c2 WHEN TRUE THEN 1 ELSE 0 END", "1 3 9"),
            ("NOT c2", "2 4 7"),
        ] {
            assert_eq!(found(condition), ids, "{condition}");
            // The same behind the scan.
            let behind = condition.replace("c2", "coalesce(c2, NULL)");
            assert_eq!(found(&behind), ids, "{behind}");
        }
    }
    let groups = found(&[
        "new t ordered_set",
        "insert {1,true} {2,1} {3,false}",
        "SELECT c2, count(*) FROM t GROUP BY c2 ORDER BY c2",
    ]);
    assert_eq!(groups, "false|1\ntrue|2\n");
    // A number finds no key `true`, and takes it for no other number either.
    for (condition, keys) in [
        ("c1 <> 1", "false\n2\n"),
        ("c1 > 0", "true\n2\n"),
        ("c1 = TRUE", "true\n"),
        ("c1 = 1", ""),
    ] {
        let select = format!("SELECT c1 FROM t WHERE {condition} ORDER BY 1");
        let rows = "insert {true} {false} {2}";
        assert_eq!(
            found(&["new t ordered_set", rows, &select]),
            keys,
            "{condition}"
        );
    }
}

/// `DELETE FROM t`, and WHERE in the next line, once deleted all objects.
#[test]
fn statements_go_on_in_the_next_line() {
    let rows = ["new t ordered_set", "insert {1,a} {2,b} {3,c}"];
    for (lines, shown) in [
        (&["DELETE FROM t", "WHERE c1 = 1", "count"][..], "2\n"),
        (&["DELETE FROM t", "", "-- all of it", ";", "count"], "0\n"),
        (&["DELETE FROM t", "count"], "0\n"),
        (
            &[
                "SELECT c1,",
                "  c2",
                "FROM t",
                "-- downwards",
                "",
                "ORDER BY c1",
                "DESC",
                "LIMIT 1;",
            ],
            "3|c\n",
        ),
        (
            &[
                "UPDATE t",
                "SET c2 = 'x'",
                "WHERE c1 IN (",
                "1)",
                "SELECT c1 FROM t WHERE c2 = 'x'",
            ],
            "1\n",
        ),
        (
            &["SELECT c1 FROM t WHERE c2 = 'a'", "% a remark", "first"],
            "1\n1\n",
        ),
        (&["explain DELETE FROM t", "WHERE c1 = 1", "count"], "3\n"),
    ] {
        let (out, err, done) = alone(&[&rows, lines].concat());
        assert!(done && out.ends_with(shown), "{lines:?}: {out}{err}");
    }
    let (_, said, done) = alone(&["new t", "insert {1}", "DELETE FROM t WHERE"]);
    assert!(
        !done && said.contains("line 3: the input ended inside a command"),
        "{said}"
    );
    // Commands of the command line are whole.
    assert!(!output(&["SELECT 1", "FROM people"]).status.success());
}

#[test]
fn bounds_of_texts_are_exact() {
    let rows = "insert {1,<<\"B\">>} {2,'C'} {3,<<\"C\">>} {4,<<\"c\">>} {5,3} {6,undefined} {7,true} {8,{x}} {9,<<255>>} \
                {10,<<0,255>>} {11,<<\"D\",1:1>>} {12} {13,[]} {14,'A'} {15,'$1'}";
    let found = |condition: &str| {
        let said = found(&[
            "new t ordered_set",
            rows,
            &format!("SELECT c1 FROM t WHERE {condition}"),
        ]);
        said.trim().replace('\n', " ")
    };
    for (condition, ids) in [
        ("c2 > 'B'", "2 3 4 8 9 11 13"),
        ("c2 >= 'C'", "2 3 4 8 9 11 13"),
        ("c2 > 'C'", "4 8 9 11 13"),
        ("c2 < 'C'", "1 5 7 10 14 15"),
        ("c2 <= 'C'", "1 2 3 5 7 10 14 15"),
        ("c2 < ''", "5 7"),
        ("c2 >= 'true'", "8 9 13"),
        ("c2 <= 'undefined'", "1 2 3 4 5 7 10 11 14 15"),
        ("c2 BETWEEN 'B' AND 'C'", "1 2 3"),
        ("c2 = '$1' OR c2 < '$2' AND c2 > 9", "10 15"),
    ] {
        assert_eq!(found(condition), ids, "{condition}");
        // The same behind the scan.
        let behind = condition.replace("c2", "coalesce(c2, NULL)");
        assert_eq!(found(&behind), ids, "{behind}");
    }
    let plan = self::found(&[
        "new t ordered_set",
        "explain SELECT c1 FROM t WHERE c1 > 'M'",
    ]);
    assert!(plan.contains("range > 'M', < <<>>; > <<\"M\">>"), "{plan}");
}

/// Comments and names in brackets hide what would be signs.
#[test]
fn statements_end_where_they_end() {
    let one = |statement: &str| found(&["new t ordered_set", "insert {1, 2}", statement]);
    assert_eq!(one("SELECT c1 FROM t /* it's */"), "1\n");
    assert_eq!(one("SELECT c1 FROM t -- it's ("), "1\n");
    assert_eq!(one("/* it's */ SELECT c1 FROM t"), "1\n");
    assert_eq!(one("SELECT c1 AS [)], c2 AS [(] FROM t"), "1|2\n");
    assert_eq!(one("-- it's a comment"), "");
    let (_, said, done) = alone(&[
        "new t ordered_set",
        &format!("SELECT c1{} FROM t", " +/*,*/ 1".repeat(16_000)),
    ]);
    assert!(!done && said.contains("more than 300 operators"), "{said}");
    let (_, said, _) = alone(&["new t ordered_set", "SELECT c1 FROM t /* it's"]);
    assert!(said.contains("the input ended inside a command"), "{said}");
    // Tables may be called so.
    let named = found(&[
        "new into",
        "new from",
        "insert into {1, a}",
        "insert from {2, b}",
        "delete from 2",
        "count from",
        "count into",
    ]);
    assert!(named.ends_with("0\n1\n"), "{named}");
}

/// Each statement is planned when it runs, and `*` is all that an object has.
#[test]
fn all_columns_of_all_objects() {
    assert_eq!(
        found(&[
            "new t ordered_set",
            "insert {1} {2,5,6} {3,4}",
            "SELECT * FROM t"
        ]),
        "1||\n2|5|6\n3|4|\n"
    );
    let line =
        "INSERT INTO t VALUES (1, 2, 3); SELECT * FROM t; DELETE FROM t; SELECT count(*) FROM t";
    assert_eq!(found(&["new t ordered_set", line]), "1|2|3\n0\n");
    let big = "INSERT INTO t (c1, c16000000) VALUES (1, 2)";
    let (_, said, done) = alone(&["new t ordered_set", big]);
    assert!(!done && said.contains("c16000000 is no column"), "{said}");
    let wide = format!("insert {{{}1}}", "1,".repeat(2000));
    let (_, said, done) = alone(&["new t ordered_set", &wide, "SELECT * FROM t"]);
    assert!(
        !done && said.contains("an object of 2001 elements"),
        "{said}"
    );
}

#[test]
fn keys_may_be_undefined_and_stay() {
    let rows = ["new t set", "insert {undefined, 1} {1, 2}"];
    let update = "UPDATE t SET c2 = c2 + 1";
    assert_eq!(
        found(&[&rows[..], &[update, "SELECT c2 FROM t ORDER BY 1"]].concat()),
        "2\n3\n"
    );
    let update = "UPDATE t SET c1 = c1, c2 = 7";
    assert_eq!(
        found(&[&rows[..], &[update, "SELECT c2 FROM t"]].concat()),
        "7\n7\n"
    );
    let (_, said, _) = alone(&[&rows[..], &["UPDATE t SET c1 = NULL"]].concat());
    assert!(said.contains("c1 is the key: it cannot be NULL"), "{said}");
}

/// Counts are of what has changed.
#[test]
fn counts_of_bags_are_true() {
    let said = |kind: &str, statement: &str| {
        let new = format!("new t {kind}");
        alone(&[&new, "insert t {1,a} {1,b} {2,a}", statement]).1
    };
    let insert = "INSERT INTO t VALUES (1, 'x'), (1, 'x'), (3, 'y')";
    let same = "2 objects inserted: a bag keeps none of 1 that it has already";
    assert!(said("bag", insert).contains(same));
    assert!(said("duplicate_bag", insert).contains("3 objects inserted\n"));
    let update = "UPDATE t SET c2 = 'z' WHERE c1 = 1";
    let same = "2 objects updated: a bag keeps none of 1 that are the same as others now";
    assert!(said("bag", update).contains(same));
    assert!(said("duplicate_bag", update).contains("2 objects updated\n"));
    for (statement, of_bags, of_sets) in [
        ("DELETE FROM t", 3, 2),
        ("DELETE FROM t WHERE c1 = 1", 2, 1),
        ("DELETE FROM t WHERE c2 || '' = 'a'", 2, 1),
    ] {
        let kinds = [
            ("bag", of_bags),
            ("duplicate_bag", of_bags),
            ("set {keypos,2}", of_sets),
        ];
        for (kind, count) in kinds {
            let said = said(kind, statement);
            assert!(
                said.contains(&format!("{count} object")),
                "{kind} {statement}: {said}"
            );
        }
    }
}

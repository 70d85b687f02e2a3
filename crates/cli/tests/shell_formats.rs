//! What the shell writes for programs and reads from them: formats, exports, standard input, lines of scripts.

use std::io::Write;
use std::process::{Command, Output, Stdio};

fn shell(args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fyris"))
        .arg("shell")
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // A program that has ended does not read it.
    _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the program ends")
}

/// Returns standard output and standard error of a success.
fn run(args: &[&str], input: &str) -> (String, String) {
    let output = shell(args, input);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{args:?}: {err}");
    (out, err)
}

fn fails(args: &[&str], input: &str) -> String {
    let output = shell(args, input);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

const PEOPLE: &str = "name,age\nAnn,31\n\"Bo, jr\",17\nCy,\n";
const LOAD: &str = "load - key name as people format csv";

#[test]
fn each_format_has_one_object_a_line_and_nothing_else() {
    for (format, wanted) in [
        (
            "erl",
            "{<<\"Ann\">>,31}\n{<<\"Bo, jr\">>,17}\n{<<\"Cy\">>,undefined}\n",
        ),
        ("json", "[\"Ann\",31]\n[\"Bo, jr\",17]\n[\"Cy\",null]\n"),
        ("csv", "Ann,31\n\"Bo, jr\",17\nCy,\n"),
    ] {
        let args = ["--format", format, "-e", LOAD, "-e", "select people"];
        let (out, said) = run(&args, PEOPLE);
        assert_eq!(out, wanted, "{format}");
        assert!(
            said.contains("3 objects; columns name:text, age:integer"),
            "{said}"
        );
        let mode = format!("mode {format}");
        let (out, _) = run(&["-e", LOAD, "-e", &mode, "-e", "walk"], PEOPLE);
        assert_eq!(out, wanted, "{format}");
    }
    let args = [
        "--format",
        "json",
        "-e",
        "new t",
        "-e",
        "insert {a, 1}",
        "-e",
        "lookup a",
    ];
    assert_eq!(run(&args, "").0, "[\"a\",1]\n");
    assert!(
        fails(&["-e", "mode xml"], "")
            .contains("no mode xml: there are auto, screen, erl, json, csv, list and table")
    );
    assert_eq!(run(&["-e", ".mode"], "").0, "erl\n");
}

#[test]
fn what_is_exported_loads_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for ending in ["csv", "jsonl"] {
        let file = folder.path().join(format!("people.{ending}"));
        let export = format!("export {}", file.display());
        let (_, said) = run(&["-e", LOAD, "-e", &export], PEOPLE);
        assert!(said.contains("3 objects written to"), "{said}");
        let load = format!("load {} key name", file.display());
        let select = "select where age > 20 return {age, name}";
        let (out, _) = run(&["-e", &load, "-e", select], "");
        // `undefined` is an atom, and above all numbers.
        assert_eq!(
            out, "{31,<<\"Ann\">>}\n{undefined,<<\"Cy\">>}\n",
            "{ending}"
        );
        let to_itself = format!("export people {} columns who,old", file.display());
        run(&["-e", LOAD, "-e", &to_itself], PEOPLE);
        let text = std::fs::read_to_string(&file).expect("it was written");
        assert!(
            text.lines().next().expect("a line").contains("who"),
            "{text}"
        );
    }
    let (out, _) = run(
        &[
            "-e",
            "new t",
            "-e",
            "insert {a, [1, \"x\"]}",
            "-e",
            "export - format csv lossy",
        ],
        "",
    );
    assert!(out.ends_with("c1,c2\na,\"[1,\"\"x\"\"]\"\n"), "{out}");
    let uneven = [
        "-e",
        "new t",
        "-e",
        "insert [{a}, {b, 1}]",
        "-e",
        "export t - format csv",
    ];
    let both = "has 1 elements and the columns are 2: `format json terms` can hold both";
    assert!(fails(&uneven, "").contains(both));
    assert!(
        fails(&["-e", "new t", "-e", "export t x.bin"], "")
            .contains("no `format csv|json` is given")
    );
    let some = [
        "-e",
        LOAD,
        "-e",
        "export people - format csv columns age,name",
    ];
    let (out, _) = run(&some, PEOPLE);
    assert!(
        out.starts_with("age,name\n") && out.contains("31,Ann"),
        "{out}"
    );
    let one = ["-e", LOAD, "-e", "export people - format json columns name"];
    assert!(run(&one, PEOPLE).0.contains("{\"name\":\"Ann\"}"));
    let none = ["-e", LOAD, "-e", "export people - format csv columns nope"];
    assert!(fails(&none, PEOPLE).contains("no column nope: the columns are "));
    let few = [
        "-e",
        "new t",
        "-e",
        "insert {a, 1}",
        "-e",
        "export t - format json columns id",
    ];
    assert!(fails(&few, "").contains("has 2 elements and the columns are 1"));
    // Of a shorter object no element gets the name of another.
    let short = [
        "-e",
        LOAD,
        "-e",
        "insert people {<<\"Di\">>}",
        "-e",
        "export people - format json columns age,name",
    ];
    assert!(fails(&short, PEOPLE).contains("has 1 elements and the columns are 2"));
    let nowhere = fails(&["-e", "new t", "-e", "export t /nowhere/x.csv"], "");
    assert!(nowhere.contains("/nowhere/x.csv"), "{nowhere}");
}

#[test]
fn delimiters_and_headers_can_be_told() {
    let load = "load - key c1 as t delimiter | header no";
    let (out, said) = run(
        &["-e", load, "-e", "select where c2 == <<\"b,c\">>"],
        "1|b,c\n2|d\n",
    );
    assert_eq!(out, "{1,<<\"b,c\">>}\n");
    assert!(said.contains("columns c1:integer, c2:text"), "{said}");
    for (options, cause) in [
        ("delimiter ::", "it is one ASCII character"),
        ("header perhaps", "it is yes or no"),
        ("format xml", "there is no such format"),
        ("format json header no", "JSON has neither"),
    ] {
        let load = format!("load - key c1 {options}");
        assert!(fails(&["-e", &load], "1\n").contains(cause), "{options}");
    }
}

#[test]
fn a_header_of_numbers_may_be_a_row() {
    let warning = "the columns are called 1, 2.5: if that is a row, `load FILE key c1 header no`";
    for (load, input, warned) in [
        ("load - key 1 format csv", "1,2.5\n3,4\n", true),
        ("load - key 1 format csv", "1,x\n3,4\n", false),
        ("load - key c1 format csv header no", "1,2.5\n3,4\n", false),
        (
            "load - key 1 format json",
            "{\"1\": 1, \"2.5\": 2}\n",
            false,
        ),
    ] {
        let (_, said) = run(&["-e", load], input);
        assert_eq!(said.contains(warning), warned, "{load}: {said}");
    }
}

#[test]
fn errors_of_scripts_name_their_line() {
    let script = "% a comment\nnew t\ninsert {a,\n 1}\nlookup\n";
    let said = fails(&["--script", "-"], script);
    assert!(
        said.contains("fyris: standard input, line 5: an argument is missing"),
        "{said}"
    );
    assert!(
        said.contains("fyris:t> insert {a,"),
        "commands are echoed: {said}"
    );
    let said = fails(&[], script);
    assert!(
        said.contains("standard input, line 5: ") && !said.contains("insert"),
        "{said}"
    );
    let said = fails(&[], "count\n");
    assert!(
        said.contains("standard input, line 1: no table in use"),
        "{said}"
    );
    let said = fails(&[], "new t\n\ninsert {a,\n");
    assert!(
        said.contains("line 3: the input ended inside a command"),
        "{said}"
    );
}

#[test]
fn a_word_that_is_no_column_is_refused() {
    let deletes = "select_delete where ages > 80";
    let said = fails(&["-e", LOAD, "-e", deletes], PEOPLE);
    let why = "`ages` is no column (did you mean `age`?); the columns are name, age";
    assert!(said.contains(why), "{said}");
    let said = fails(
        &["-e", LOAD, "-e", "select_delete where name =/= 'Ann'"],
        PEOPLE,
    );
    assert!(
        said.contains("`'Ann'` is an atom") && said.contains("nothing is changed"),
        "{said}"
    );
}

/// The columns of a file were forgotten when the table was saved.
#[test]
fn columns_survive_a_dump() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("people.ets");
    let save = format!("save {}", file.display());
    let open = format!("open {}", file.display());
    let people = "first name,state\nAnn,in\nBo,out\n";
    let load = "load - key \"first name\" as people format csv as state:atom";
    run(&["-e", load, "-e", &save], people);
    let select = "select people where state == 'in' return `first name`";
    let (out, said) = run(&["-e", &open, "-e", select], "");
    assert_eq!(out, "<<\"Ann\">>\n");
    assert!(!said.contains("is an atom"), "{said}");
    let doubted = fails(
        &[
            "-e",
            &open,
            "-e",
            "select_delete where `first name` =/= 'Bo'",
        ],
        "",
    );
    assert!(doubted.contains("so nothing is changed"), "{doubted}");
    let another = format!("open {} as staff", file.display());
    let (out, _) = run(
        &["-e", &another, "-e", "export - format csv as state:atom"],
        "",
    );
    assert!(out.starts_with("first name,state\n"), "{out}");
    // A snapshot has the names of its time.
    let past = [
        "-e",
        load,
        "-e",
        "snapshot then people",
        "-e",
        "drop people",
    ];
    let at = format!("at then {save}");
    run(&[&past[..], &["-e", &at]].concat(), people);
    run(&["-e", &open, "-e", select], "");
    // A table without names has none.
    run(&["-e", "new t", "-e", "insert {1, 2}", "-e", &save], "");
    let (out, _) = run(&["-e", &open, "-e", "export - format csv"], "");
    assert!(out.starts_with("c1,c2\n"), "{out}");
}

#[test]
fn updates_name_columns() {
    let people = "id,first name,age\n1,Ann,31\n2,Bo,17\n";
    let load = "load - key id as people format csv";
    let (out, _) = run(
        &[
            "-e",
            load,
            "-e",
            "update_element 1 {age, 32}",
            "-e",
            "update_element people 2 [{'first name', <<\"Bob\">>}, {3, 18}]",
            "-e",
            "update_counter people 2 {age, 2}",
            "-e",
            "select_replace where age < 30 return {id, `first name`, age + 100}",
            "-e",
            "walk",
        ],
        people,
    );
    assert_eq!(
        out,
        "true\ntrue\n20\n1\n{1,<<\"Ann\">>,32}\n{2,<<\"Bob\">>,120}\n"
    );
    for (command, doubt) in [
        (
            "insert {9, zed}",
            "`{9,zed}` has 2 elements, and the columns are id, `first name`, age",
        ),
        (
            "insert_new {9, zed, 1}",
            "`first name` gets `zed`, an atom: texts in columns are binaries, `<<\"zed\">>`",
        ),
        (
            "update_element 1 {'first name', \"x\"}",
            "`first name` gets `\"x\"`, a list of characters",
        ),
    ] {
        let (out, said) = run(&["-e", load, "-e", command], people);
        assert!(out.starts_with("true"), "{command}: {out}");
        assert!(
            said.contains(&format!("warning: {doubt}")),
            "{command}: {said}"
        );
    }
    for command in [
        "insert {9, <<\"Zed\">>, undefined}",
        "update_element 1 [{'first name', <<\"x\">>}, {age, 1}]",
    ] {
        let (_, said) = run(&["-e", load, "-e", command], people);
        assert!(!said.contains("columns are"), "{command}: {said}");
    }
    let said = fails(&["-e", load, "-e", "update_element 1 {agee, 3}"], people);
    let problem = "agee is no column (did you mean age?); the columns are id, `first name`, age";
    assert!(said.contains(problem), "{said}");
}

#[test]
fn an_array_of_objects_loads() {
    let load = "load - key id as t format json";
    let array = "[\n {\"id\": 1, \"tags\": [\"a\"]},\n {\"id\": 2}\n]\n";
    let (out, said) = run(&["-e", load, "-e", "select"], array);
    assert_eq!(out, "{1,[<<\"a\">>]}\n{2,undefined}\n");
    assert!(said.contains("2 objects; columns id, tags"), "{said}");
    for (text, cause) in [
        (
            "[{\"id\": 1},\n 2]",
            "line 2: column 1: invalid type: integer `2`, expected a JSON object",
        ),
        (
            "[{\"id\": 1},\n {\n\"id\": x}]",
            "line 2: its line 2, column 7: expected value",
        ),
        ("[{\"id\": 1}", "line 1: the file ends inside the array"),
        ("[{\"id\": 1}] []", "line 1: something follows the array"),
    ] {
        let error = fails(&["-e", load], text);
        assert!(error.contains(cause), "{text}: {error}");
    }
}

/// Runs commands on a table `t`, an ordered set.
fn on_table(insert: &str, commands: &[&str]) -> Output {
    let insert = format!("insert {insert}");
    let mut args = vec!["-e", "new t ordered_set", "-e", &insert];
    args.extend(commands.iter().flat_map(|command| ["-e", command]));
    shell(&args, "")
}

/// All of this used to be written, and came back as something else.
#[test]
fn what_would_not_come_back_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (ending, insert, change) in [
        (
            "csv",
            "{1, <<\"12\">>}",
            "column c2: <<\"12\">> would come back as 12",
        ),
        (
            "csv",
            "{1, <<>>}",
            "column c2: <<>> would come back as undefined",
        ),
        (
            "csv",
            "{1, <<255>>}",
            "column c2: <<255>> would come back as ",
        ),
        (
            "csv",
            "{1, ok}",
            "column c2: ok would come back as <<\"ok\">>",
        ),
        (
            "csv",
            "{1, 1}, {2, 2.5}",
            "column c2: 1 would come back as 1.0",
        ),
        (
            "jsonl",
            "{1, {a}}",
            "column c2: {a} would come back as [<<\"a\">>]",
        ),
        (
            "jsonl",
            "{1, #{1 => 2}}",
            "column c2: #{1 => 2} would come back as #{<<\"1\">> => 2}",
        ),
        (
            "jsonl",
            "{1, #{a => 1, <<\"a\">> => 2}}",
            "column c2: #{a => 1,<<\"a\">> => 2} would come back as #{<<\"a\">> => 2}",
        ),
        (
            "jsonl",
            "{1, [1|2]}",
            "column c2: [1|2] would come back as <<\"[1|2]\">>",
        ),
        (
            "jsonl",
            "{1}, {2, b}",
            "row 1: {1} would come back as {1,undefined}",
        ),
    ] {
        let file = folder.path().join(format!("t.{ending}"));
        std::fs::write(&file, "old").expect("a file");
        let export = format!("export {}", file.display());
        let output = on_table(insert, &[&export]);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert_eq!(output.status.code(), Some(1), "{insert}: {said}");
        assert!(
            said.contains("row 1") && said.contains(change),
            "{insert}: {said}"
        );
        assert_eq!(
            std::fs::read(&file).expect("the old file"),
            b"old",
            "{insert}"
        );
        let output = on_table(insert, &[&format!("{export} lossy")]);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        let counted = said.contains("1 change") || said.contains("2 changes");
        assert!(
            output.status.success() && counted && said.contains(change),
            "{insert}: {said}"
        );
        let load = format!("load {} key c1 terms as back", file.display());
        let export = format!("{export} format json terms");
        let output = on_table(
            insert,
            &[&export, &format!("{load} format json"), "walk t", "walk"],
        );
        let out = String::from_utf8(output.stdout).expect("UTF-8");
        let lines: Vec<&str> = out.lines().filter(|line| line.starts_with('{')).collect();
        let (was, is) = lines.split_at(lines.len() / 2);
        assert!(was == is && !was.is_empty(), "{insert}: {out}");
        assert_eq!(
            std::fs::read_dir(folder.path()).expect("a folder").count(),
            1
        );
        std::fs::remove_file(&file).expect("the file");
    }
    let output = on_table("{1, <<255>>}", &["export - format csv"]);
    assert!(!output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "t\ntrue (1 inserted)\n"
    );
}

/// The types that keep a column are told, and serve both ways.
#[test]
fn types_keep_columns() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let insert = "{1, ok, {a, [\"x\"]}, <<\"7\">>}, {2, 'not ok', #{b => <<1>>}, <<>>}";
    for (ending, types) in [
        ("csv", "as c2:atom,c3:term,c4:text"),
        ("jsonl", "as c2:atom,c3:term"),
    ] {
        let file = folder.path().join(format!("t.{ending}"));
        let export = format!("export {}", file.display());
        let output = on_table(insert, &[&export]);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        assert!(said.contains(&format!("`{types}` behind both")), "{said}");
        let output = on_table(insert, &[&format!("{export} {types}")]);
        let said = String::from_utf8(output.stderr).expect("UTF-8");
        let load = said.split('`').nth(1).expect("how to load it");
        assert!(load.ends_with(types), "{said}");
        let (out, _) = run(&["-e", load, "-e", "select"], "");
        let wanted = "{1,ok,{a,[\"x\"]},<<\"7\">>}\n{2,'not ok',#{b => <<1>>},<<>>}\n";
        assert_eq!(out, wanted, "{ending}");
    }
    let load = "load - key id as int, text ,term as t format csv";
    let (out, said) = run(&["-e", load, "-e", "select"], "id,zip,x\n1,007,{a}\n");
    assert_eq!(out, "{1,<<\"007\">>,{a}}\n");
    assert!(said.contains("columns id:int, zip:text, x:term"), "{said}");
    for (types, problem) in [
        (
            "as int,int",
            "line 3: column \"zip\": <<\"x\">> cannot be read as int",
        ),
        (
            "as int",
            "the types are 1 (int), and the columns are 2 (id, zip)",
        ),
        ("as zap:int", "no column \"zap\"; the columns are: id, zip"),
        ("terms as int,int", "the columns are given types twice"),
    ] {
        let load = format!("load - key id format csv {types}");
        let said = fails(&["-e", &load], "id,zip\n1,7\n2,x\n");
        assert!(said.contains(problem), "{types}: {said}");
    }
}

/// An empty table was written as an empty file, which did not load.
#[test]
fn empty_tables_come_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (ending, new) in [("csv", "new t bag {keypos, 2}"), ("jsonl", "new t bag")] {
        let export = format!(
            "export {}",
            folder.path().join(format!("t.{ending}")).display()
        );
        let (_, said) = run(&["-e", new, "-e", &export], "");
        let load = said.split('`').nth(1).expect("how to load it");
        let kind = ["-e", "info type", "-e", "info keypos", "-e", "count"];
        let (out, _) = run(&[&["-e", load], &kind[..]].concat(), "");
        let (wanted, _) = run(&[&["-e", new], &kind[..]].concat(), "");
        assert_eq!(format!("t\n{out}"), wanted, "{ending}");
    }
    let said = fails(
        &["-e", "new t set {keypos, 2}", "-e", "export - format json"],
        "",
    );
    assert!(
        said.contains("does not say that element 2 is the key"),
        "{said}"
    );
}

/// A name that two columns have means neither, and control characters of a file stay out of the terminal.
#[test]
fn names_of_files_are_not_believed() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("t.csv");
    std::fs::write(&file, "id,x,x,a\u{1b}[2Jb\n1,2,3,4\n").expect("a file");
    let load = format!("load {} key id", file.display());
    let asked = |line: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_fyris"))
            .args(["shell", "-e", &load, "-e", line])
            .output()
            .expect("runs");
        let all = [output.stdout, output.stderr].concat();
        String::from_utf8(all).expect("text")
    };
    for line in [
        "select where x == 2",
        "select where `x` == 2",
        "update_element 1 {x, 7}",
    ] {
        let said = asked(line);
        assert!(said.contains("is the name of several columns"), "{said}");
    }
    for line in ["select where y == 2", "describe", "update_element 1 {y, 7}"] {
        let said = asked(line);
        assert!(!said.contains('\u{1b}'), "{line}: {said:?}");
    }
}

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
        fails(&["-e", "mode xml"], "").contains("no mode xml: there are screen, erl, json or csv")
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
            "export - format csv",
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
    assert!(fails(&uneven, "").contains("JSON lines can hold both"));
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
    let load = "load - key \"first name\" as people format csv atoms state";
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
    let (out, _) = run(&["-e", &another, "-e", "export - format csv"], "");
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
    let said = fails(&["-e", load, "-e", "update_element 1 {agee, 3}"], people);
    let problem =
        "\"agee\" is no column (did you mean \"age\"?); the columns are id, first name, age";
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

/// An atom, and a term that the format has no form for, used to be text for good.
#[test]
fn atoms_and_terms_survive_an_export() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let insert = "insert {1, ok, {a, [\"x\"]}}, {2, 'not ok', #{b => <<1>>}}";
    for (ending, options, wanted) in [
        (
            "csv",
            "atoms state terms value",
            "{1,ok,{a,[\"x\"]}}\n{2,'not ok',#{b => <<1>>}}\n",
        ),
        (
            "jsonl",
            "atoms state",
            "{1,ok,[<<\"a\">>,[\"x\"]]}\n{2,'not ok',#{<<\"b\">> => <<1>>}}\n",
        ),
    ] {
        let file = folder.path().join(format!("t.{ending}"));
        let export = format!("export t {} columns id,state,value", file.display());
        let (_, said) = run(
            &["-e", "new t ordered_set", "-e", insert, "-e", &export],
            "",
        );
        assert!(
            said.contains(&format!("`load FILE key COLUMN {options}`")),
            "{said}"
        );
        let load = format!("load {} key id {options}", file.display());
        let (out, _) = run(&["-e", &load, "-e", "select"], "");
        assert_eq!(out, wanted, "{ending}");
    }
    let error = fails(&["-e", "load - key c1 header no terms c1,c2"], "1,{\n");
    assert!(error.contains("column \"c2\": <<\"{\">>: "), "{error}");
    let error = fails(&["-e", "load - key c1 header no atoms c3"], "1,x\n");
    assert!(
        error.contains("no column \"c3\"; the columns are: c1, c2"),
        "{error}"
    );
}

//! The shell as scripts and people use it: the program itself, its output and its exit status.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for every test, gone at its end.
struct Folder(PathBuf);

impl Folder {
    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).expect("the folder was made by this test");
    }
}

fn folder(name: &str) -> Folder {
    let path = std::env::temp_dir().join(format!("fyris-shell-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a temporary folder");
    Folder(path)
}

fn shell(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fyris"))
        .arg("shell")
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// Runs commands one after the other; they must succeed.
fn run(commands: &[&str]) -> String {
    let args: Vec<&str> = commands.iter().flat_map(|c| ["-e", c]).collect();
    let output = shell(&args);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{commands:?}: {errors}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

/// Runs commands of which the last must fail; its message.
fn fails(commands: &[&str]) -> String {
    let args: Vec<&str> = commands.iter().flat_map(|c| ["-e", c]).collect();
    let output = shell(&args);
    assert_eq!(output.status.code(), Some(1), "{commands:?}");
    String::from_utf8(output.stderr).expect("errors are UTF-8")
}

#[test]
fn a_table_goes_through_its_life() {
    let out = run(&[
        "new users ordered_set",
        "insert {2, <<\"Bo\">>}, {1, <<\"Ann\">>}",
        "insert_new {1, nobody}",
        "lookup 1",
        "ets:lookup(users, 1.0).",
        "count",
        "first",
        "next 1",
        "prev 1",
        "update_counter users 9 {2, 5} {9, 0}",
        "update_element users 9 {2, done}",
        "take 9",
        "delete 1",
        "tab2list",
        "delete_all users",
        "count",
        "drop users",
        "tables",
    ]);
    let expected = "users\ntrue (2 inserted)\nfalse\n{1,<<\"Ann\">>}\n{1,<<\"Ann\">>}\n2\n1\n2\n'$end_of_table'\n5\ntrue\n\
                    {9,done}\ntrue\n{2,<<\"Bo\">>}\ntrue\n0\ntrue\n";
    assert_eq!(out.split("no tables").next(), Some(expected));
}

#[test]
fn what_is_saved_opens_again() {
    let dir = folder("save");
    let file = dir.join("two words.ets");
    let file = file.to_str().expect("a UTF-8 path");
    let save = format!("save \"{file}\"");
    run(&[
        "new t bag {keypos, 2}",
        "insert {a, 1}, {b, 1}, {c, #{x => [1.5 | y]}}",
        &save,
    ]);
    let out = run(&[
        &format!("open '{file}'"),
        "lookup 1",
        "info keypos",
        &format!("describe \"{file}\""),
    ]);
    assert!(out.starts_with("t: 3 objects, bag"), "{out}");
    assert!(out.contains("{a,1}\n{b,1}\n2\n"), "{out}");
    assert!(
        out.contains("{extended_info,[object_count,md5sum]}"),
        "{out}"
    );
}

#[test]
fn csv_columns_get_their_types() {
    let dir = folder("csv");
    let file = dir.join("people.csv");
    let text = "id;name;score\n2;\"B; o\";1\n1;Ann;2.5\n10;;\n";
    std::fs::write(&file, text).expect("a file");
    let load = format!("load {} key id", file.display());
    let out = run(&[&load, "walk"]);
    assert!(
        out.starts_with("3 objects; columns id:integer, name:text, score:float\n"),
        "{out}"
    );
    let rows = "{1,<<\"Ann\">>,2.5}\n{2,<<\"B; o\">>,1.0}\n{10,undefined,undefined}\n";
    assert!(out.ends_with(rows), "{out}");

    std::fs::write(&file, "id;name\n1;a\n2\n").expect("a file");
    let error = fails(&[&load]);
    assert!(
        error.contains("line 3: 1 fields, but the header has 2"),
        "{error}"
    );
    std::fs::write(&file, text).expect("a file");
    let error = fails(&[&format!("load {} key nothing", file.display())]);
    assert!(error.contains("the columns are: id, name"), "{error}");
}

#[test]
fn json_lines_lose_no_digit() {
    let dir = folder("json");
    let file = dir.join("x.jsonl");
    let text = "{\"k\": \"b\", \"n\": 98765432109876543210}\n\n{\"k\": \"a\", \"deep\": {\"x\": [1, null]}}\n";
    std::fs::write(&file, text).expect("a file");
    let load = format!("load {} key k as things type set", file.display());
    let out = run(&[&load, "lookup things <<\"b\">>", "lookup things <<\"a\">>"]);
    assert!(
        out.contains("{<<\"b\">>,98765432109876543210,undefined}"),
        "{out}"
    );
    assert!(
        out.contains("{<<\"a\">>,undefined,#{<<\"x\">> => [1,undefined]}}"),
        "{out}"
    );

    std::fs::write(&file, "{\"k\": 1}\n{\"k\": }\n").expect("a file");
    let error = fails(&[&load]);
    assert!(error.contains("line 2: "), "{error}");
    assert!(run(&["tables"]).starts_with("no tables"));
}

#[test]
fn errors_name_the_cause_and_end_scripts() {
    for (commands, cause) in [
        (
            &["new t", "insert {}"][..],
            "bad key position 1 in a tuple of 0",
        ),
        (
            &["new t", "insert {1, a}", "update_counter t 1 1"][..],
            "element 2 is a, not an integer",
        ),
        (
            &["new t", "insert {1, "][..],
            "the input ended inside a command",
        ),
        (&["lookup nowhere 1"][..], "no table nowhere"),
        (&["lookup 1"][..], "no table in use"),
        (&["lokup 1"][..], "did you mean `lookup`?"),
        (&["new t", "insert {1, )}"][..], "column"),
        (&["open /no/such/file"][..], "/no/such/file"),
        (&["new t", "head -1"][..], "usage: head"),
    ] {
        let error = fails(commands);
        assert!(error.contains(cause), "{commands:?}: {error}");
    }
}

#[test]
fn a_large_table_is_never_printed_whole() {
    let objects: Vec<String> = (0..500).map(|i| format!("{{{i}, x}}")).collect();
    let insert = format!("insert t [{}]", objects.join(", "));
    let out = run(&["new t ordered_set", &insert, "walk t"]);
    assert!(
        out.ends_with("{99,x}\n... 100 shown of 500 in the table\n"),
        "{out}"
    );
    let out = run(&[
        "new t ordered_set",
        &insert,
        "walk t from 497 limit 9",
        "tail t 1",
    ]);
    assert!(
        out.ends_with("{497,x}\n{498,x}\n{499,x}\n{499,x}\n"),
        "{out}"
    );
}

#[test]
fn a_pipe_is_a_script() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fyris"))
        .arg("shell")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let text =
        b"% a comment\nnew t\ninsert {a,\n  <<\"over two lines\">>}\nlookup a\nquit\nnonsense\n";
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(text)
        .expect("the pipe is read");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success());
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "t\ntrue (1 inserted)\n{a,<<\"over two lines\">>}\n"
    );
}

#[test]
fn help_is_everywhere() {
    let out = run(&["help", "help walk"]);
    assert!(out.contains("walk [TABLE] [from KEY] [limit N]"), "{out}");
    let output = shell(&["--help"]);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("--script"));
}

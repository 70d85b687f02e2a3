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

/// Runs commands; returns the remarks on standard error and then the output.
fn remarks_and(commands: &[&str]) -> String {
    let args: Vec<&str> = commands.iter().flat_map(|c| ["-e", c]).collect();
    let output = shell(&args);
    let texts = [output.stderr, output.stdout].concat();
    String::from_utf8(texts).expect("output is UTF-8")
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
        "update_element 9 {2, 0}",
        "update_counter 9 {2, 1}",
        "update_counter 8 1 {8, 0}",
        "delete users 8",
        "update_element 9 {2, done}",
        "take 9",
        "delete 1",
        "tab2list",
        "delete_all users",
        "count",
        "drop users",
        "tables",
    ]);
    let expected = "users\ntrue (2 inserted)\nfalse\n{1,<<\"Ann\">>}\n{1,<<\"Ann\">>}\n2\n1\n2\n'$end_of_table'\n5\ntrue\n\
                    true\n1\n1\ntrue\ntrue\n\
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
    let out = remarks_and(&[
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

/// `save` used to make private files readable to every user, and `/dev/full` a regular file.
#[cfg(target_os = "linux")]
#[test]
fn a_saved_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;

    let folder = folder("permissions");
    let path = folder.join("t.ets");
    let save = format!("save t {}", path.display());
    let mode = || {
        std::fs::metadata(&path)
            .expect("a file")
            .permissions()
            .mode()
            & 0o777
    };
    let set_mode = |mode| {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).expect("our file");
    };
    run(&["new t", &save]);
    set_mode(0o600);
    run(&["new t", "insert t {1}", &save]);
    assert_eq!(mode(), 0o600);
    set_mode(0o400);
    let said = fails(&["new t", &save]);
    assert!(said.contains("the file is read-only"), "{said}");
    let said = remarks_and(&[&format!("open {}", path.display())]);
    assert!(said.contains("1 object"), "{said}");
    let said = fails(&["new t", "save t /dev/full"]);
    assert!(said.contains("it is a device"), "{said}");
}

#[test]
fn csv_columns_get_their_types() {
    let dir = folder("csv");
    let file = dir.join("people.csv");
    let text = "id;name;score\n2;\"B; o\";1\n1;Ann;2.5\n10;;\n";
    std::fs::write(&file, text).expect("a file");
    let load = format!("load {} key id", file.display());
    let out = remarks_and(&[&load, "walk"]);
    assert!(
        out.starts_with("3 objects; columns id:integer, name:text, score:float\n"),
        "{out}"
    );
    let rows = "{1,<<\"Ann\">>,2.5}\n{2,<<\"B; o\">>,1.0}\n{10,undefined,undefined}\n";
    assert!(out.ends_with(rows), "{out}");

    std::fs::write(&file, "id;name\n1;a\n2\n").expect("a file");
    let error = fails(&[&load]);
    assert!(
        error.contains("line 3: number of fields: 1, in the first line: 2"),
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

/// Runs `load` on a file of these bytes and returns its message, with the rows if it succeeds.
fn load(dir: &Folder, name: &str, bytes: &[u8]) -> Result<String, String> {
    let file = dir.join(name);
    std::fs::write(&file, bytes).expect("a file");
    let load = format!("load {} key id as t", file.display());
    let output = shell(&["-e", &load, "-e", "walk"]);
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    match output.status.code() {
        Some(0) => Ok(text(output.stderr) + &text(output.stdout)),
        Some(1) => Err(text(output.stderr)),
        other => panic!("{name}: {other:?}: {}", text(output.stderr)),
    }
}

#[test]
fn odd_files_load_all_the_same() {
    let dir = folder("odd");
    for (name, bytes, rows) in [
        ("bom.csv", &b"\xef\xbb\xbfid,x\n1,a\n"[..], "{1,<<\"a\">>}"),
        ("bom.jsonl", b"\xef\xbb\xbf{\"id\": 1}\r\n", "{1}"),
        (
            "crlf.csv",
            b"id,x\r\n1,\"a\r\nb\"\r\n",
            "{1,<<\"a\\r\\nb\">>}",
        ),
        (
            "quotes.csv",
            b"id,x\n1,\"a\"\"b\"\n2,c\"d\n3,\"\"",
            "{1,<<\"a\\\"b\">>}\n{2,<<\"c\\\"d\">>}\n{3,undefined}",
        ),
        (
            "header.csv",
            b"id,x\n",
            "columns id:empty, x:empty\nno objects",
        ),
        ("blank.csv", b"id\n\n1\n\n", "{1}"),
        ("empty.jsonl", b"", "0 objects; columns id\nno objects"),
        (
            "keyless.jsonl",
            b"{\"x\": 1}\n{\"id\": 2}\n",
            "some rows have no \"id\": their key is `undefined`\n{undefined,2}\n{1,undefined}",
        ),
    ] {
        let out = load(&dir, name, bytes).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(out.trim_end().ends_with(rows), "{name}: {out}");
    }
}

/// An open quote once made one field of all rows behind it, a JSON line of 100,000 brackets overflowed the stack, and a
/// line that was no UTF-8 was not told.
#[test]
fn damaged_files_are_refused_with_a_place() {
    let dir = folder("damaged");
    let deep = format!("{{\"id\": 1}}\n{{\"id\": {}", "[".repeat(100_000));
    for (name, bytes, cause) in [
        (
            "open.csv",
            &b"id,x\n1,a\n2,\"abc\n3,d\n"[..],
            "line 3: a quote is opened and never closed",
        ),
        ("open-header.csv", b"id,\"x\n1,a\n", "line 1: a quote"),
        (
            "long.csv",
            b"id,x\n1,2,3\n",
            "line 2: number of fields: 3, in the first line: 2",
        ),
        (
            "bytes.csv",
            b"id,x\n1,a\xff\n",
            "line 2: field 2 is not UTF-8 at byte 2",
        ),
        (
            "names.csv",
            b"id,\xff\n1,2\n",
            "line 1: field 2 is not UTF-8 at byte 1",
        ),
        (
            "utf16.csv",
            b"\xff\xfei\0d\0\n\0",
            "line 1: field 1 is not UTF-8",
        ),
        ("empty.csv", b"", "column \"id\": the file has no columns"),
        (
            "twice.csv",
            b"id,id\n1,2\n",
            "column \"id\": several columns have this name",
        ),
        (
            "bytes.jsonl",
            b"{\"id\": 1}\n{\"id\": \"\xff\"}\n",
            "line 2: not UTF-8 at byte 9",
        ),
        (
            "array.jsonl",
            b"[1]\n",
            "line 1: column 1: invalid type: integer `1`, expected a JSON object",
        ),
        (
            "half.jsonl",
            b"{\"id\": 1}\n{\"id\":\n",
            "line 2: column 6: EOF while parsing",
        ),
        (
            "deep.jsonl",
            deep.as_bytes(),
            "line 2: column 507: nested deeper than 500 levels",
        ),
    ] {
        let error = load(&dir, name, bytes).expect_err(name);
        assert!(error.contains(cause), "{name}: {error}");
    }
}

#[test]
fn a_row_is_bounded() {
    let dir = folder("bounded");
    let file = dir.join("x.csv");
    let mut text = b"id,x\n1,a\n2,\"".to_vec();
    text.resize(70 << 20, b'y');
    std::fs::write(&file, text).expect("a file");
    let error = fails(&[&format!("load {} key id", file.display())]);
    assert!(
        error.contains("line 3: the row is longer than 67108864 bytes"),
        "{error}"
    );
}

#[test]
fn erlang_calls_name_files_by_strings() {
    let dir = folder("calls");
    let file = dir.join("a b.ets").display().to_string();
    run(&[
        "new t",
        "insert {a, 1}",
        &format!("ets:tab2file(t, \"{file}\")."),
    ]);
    assert!(std::path::Path::new(&file).exists());
    let said = remarks_and(&[&format!("ets:file2tab(\"{file}\").")]);
    assert!(said.starts_with("t: 1 object"), "{said}");
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
        (
            &["open Cargo.toml"][..],
            "Cargo.toml is no table dump: it begins with [",
        ),
        (
            &["open /dev/null"][..],
            "/dev/null is no table dump: it is empty",
        ),
        (
            &["new t bag {index, nonsense}"][..],
            "no index nonsense for type bag: its own is hash, others are avl, btree,",
        ),
        (&["new t", "head -1"][..], "usage: head"),
        (
            &["new t", "lookup t A"][..],
            "line 1, column 10: a variable",
        ),
        (&["new t", "lookup t a b"][..], "too many arguments"),
        (&["new t", "tail t"][..], "tail does not work on a set"),
        (
            &["new t", "match t {a} limit"][..],
            "`limit` without its number",
        ),
        (&["describe a b"][..], "`b` makes no sense here"),
        (&["help a b"][..], "one command at a time"),
        (&["new t", "save t x y"][..], "too many words"),
    ] {
        let error = fails(commands);
        assert!(error.contains(cause), "{commands:?}: {error}");
    }
}

/// A walk into a pipe once ended after 100 objects, and a program took these for all.
#[test]
fn a_pipe_gets_all_objects() {
    let objects: Vec<String> = (0..500).map(|i| format!("{{{i}, x}}")).collect();
    let insert = format!("insert t [{}]", objects.join(", "));
    let lines: String = (0..500).map(|i| format!("{{{i},x}}\n")).collect();
    for listing in ["walk t", "select t where true", "range t", "drain t"] {
        let out = run(&["new t ordered_set", &insert, listing]);
        assert!(out.ends_with(&lines), "{listing}: {out}");
    }
    let out = run(&["new t ordered_set", &insert, "walk t limit 7"]);
    assert!(out.ends_with("\n{5,x}\n{6,x}\n"), "{out}");
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

/// Bytes on standard input that are no text were once reported as a failure of the output.
#[test]
fn scripts_are_text() {
    let dir = folder("scripts");
    let file = dir.join("x.fyris");
    let script = |bytes: &[u8]| {
        std::fs::write(&file, bytes).expect("a file");
        Command::new(env!("CARGO_BIN_EXE_fyris"))
            .arg("shell")
            .stdin(std::fs::File::open(&file).expect("the file"))
            .output()
            .expect("the program runs")
    };
    assert!(script(b"\xef\xbb\xbfnew t\r\ncount\r\n").status.success());
    let output = script(b"new t\n\xff\n");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(error.starts_with("fyris: the input: "), "{error}");
}

const SNAPSHOT: [&str; 5] = [
    "new log",
    "insert {a, 1}",
    "new users ordered_set",
    "insert {1, <<\"Ann\">>}, {2, <<\"Bo\">>}",
    "snapshot before users",
];

#[test]
fn a_snapshot_stays_as_it_was() {
    let dir = folder("snapshot");
    let file = dir.join("then.ets").display().to_string();
    let save = format!("at before save '{file}'");
    let open = format!("open '{file}' as then");
    let changes = ["snapshot both log users", "delete_all log", "delete 1"];
    let rest = [
        "insert {3, <<\"Cy\">>}",
        "use log",
        "at both count log",
        "at both count users",
        "at before count",
        "drop users",
        "at before lookup users 1",
        "at before ets:lookup(users, 3).",
        "at before next 1",
        "at before select {$1,\n _} where $1 < 3",
        "at before info size",
        "at both export users - format csv",
        "count",
        &save,
        "release before",
        &open,
        "count",
    ];
    let out = run(&[&SNAPSHOT[..], &changes, &rest].concat());
    let expected = "both\ntrue\ntrue\ntrue (1 inserted)\n1\n2\n2\ntrue\n{1,<<\"Ann\">>}\n2\n\
                    {1,<<\"Ann\">>}\n{2,<<\"Bo\">>}\n2\nc1,c2\n1,Ann\n2,Bo\n0\ntrue\n2\n";
    assert_eq!(out.split_once("before\n").map(|out| out.1), Some(expected));
}

#[test]
fn a_snapshot_keeps_the_columns_of_its_tables() {
    let dir = folder("snapshot-columns");
    let file = dir.join("people.csv");
    std::fs::write(&file, "id,age\n1,90\n").expect("a file");
    let load = format!("load {} key id", file.display());
    let query = "at then select where age > 80 return age";
    let out = run(&[&load, "snapshot then people", "drop people", "new t", query]);
    assert_eq!(out, "then\ntrue\nt\n90\n");
}

#[test]
fn snapshots_are_listed_until_they_are_released() {
    // Without the age, which is "0.1 s".
    let fields = |line: &str| {
        let mut fields: Vec<_> = line.split_whitespace().collect();
        fields.drain(1..3);
        fields.join(" ")
    };
    let listed = |commands: &[&str]| {
        let out = run(&[&SNAPSHOT[..], commands, &["snapshots"]].concat());
        let lines = out.lines().filter(|line| line.contains(" s  "));
        lines.map(fields).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(listed(&["release before"]), "");
    let all = "before 0 B users\nx 0 B log, users";
    assert_eq!(listed(&["snapshot x log users"]), all);
    // What a table held that is gone or empty is kept for the snapshot alone.
    for change in ["delete 1", "delete_all users", "drop users"] {
        let kept = listed(&[change]);
        assert!(
            !kept.is_empty() && !kept.contains(" 0 B"),
            "{change}: {kept}"
        );
    }
}

#[test]
fn what_a_snapshot_cannot_do_is_refused() {
    let error = |command: &str| fails(&[&SNAPSHOT[..], &[command]].concat());
    for (command, cause) in [
        ("at later count", "no snapshot later: `snapshots` lists"),
        ("release later", "no snapshot later"),
        ("snapshot before log", "there is a snapshot before already"),
        ("snapshot x users nowhere", "no table nowhere"),
        ("snapshot x", "a name and a table are needed"),
        (
            "at before lookup log a",
            "no table log in the snapshot before: it is of users",
        ),
        ("at before use users", "is not taken in use"),
        ("at before new t", "`new` reads no table"),
        ("at before at before count", "`at` reads no table"),
        ("at before", "a command is needed"),
        ("at", "the name of a snapshot is needed"),
        ("at before lookup users A", "line 1, column 24: a variable"),
        ("at before select where $1 > ", "column 28: expected"),
    ] {
        let error = error(command);
        assert!(error.contains(cause), "{command}: {error}");
    }
    let both = ["snapshot both log users", "at both count"];
    let unnamed = fails(&[&SNAPSHOT[..], &both].concat());
    assert!(unnamed.contains("no table in use: name one"), "{unnamed}");
    let gone = fails(&[&SNAPSHOT[..], &["release before", "at before count"]].concat());
    assert!(gone.contains("no snapshot before"), "{gone}");
    for change in [
        "insert {9}",
        "insert_new {9}",
        "delete 9",
        "delete_object {9}",
        "delete_all users",
        "take 9",
        "update_element 9 {2, x}",
        "update_counter 9 1 {9, 0}",
        "cas {9} {9, x}",
        "match_delete {9}",
        "select_delete where $1 == 9",
        "select_replace {$1} return {$1}",
        "delete_range from 9",
        "take_range from 9",
        "drain users",
        "rename people",
        "drop users",
        "snapshot x users",
    ] {
        let error = error(&format!("at before {change}"));
        assert!(
            error.contains("a snapshot can only be read"),
            "{change}: {error}"
        );
    }
}

#[test]
fn a_transaction_is_committed_or_leaves_nothing() {
    let dir = folder("transaction");
    let file = dir.join("within.ets").display().to_string();
    let (save, open) = (
        format!("save users '{file}'"),
        format!("open '{file}' as saved"),
    );
    let commands = [
        "snapshot then log users",
        "begin users log",
        "insert {3, <<\"Cy\">>}",
        "delete users 1",
        "insert log {b, 2}",
        "use log",
        "count",
        "lookup users 3",
        "select users where $1 < 4 return $1 sort by $1",
        "at then count users",
        &save,
        "abort",
        "count",
        "count users",
        &open,
        "count",
        "begin users",
        "insert log {c, 3}",
        "take users 2",
        "update_element users 1 {2, x}",
        "commit",
        "count users",
        "lookup users 1",
        "count log",
    ];
    let out = run(&[&SNAPSHOT[..], &commands].concat());
    let aborted = "then\ntrue\ntrue (1 inserted)\ntrue\ntrue (1 inserted)\n2\n{3,<<\"Cy\">>}\n2\n3\n2\n\
                   true\n1\n2\n2\n";
    let committed = "true\ntrue (1 inserted)\n{2,<<\"Bo\">>}\ntrue\ntrue\n1\n{1,x}\n2\n";
    let expected = format!("{aborted}{committed}");
    assert_eq!(
        out.split_once("before\n").map(|out| out.1),
        Some(&*expected)
    );
}

#[test]
fn what_a_transaction_cannot_do_is_refused() {
    let error = |commands: &[&str]| fails(&[&SNAPSHOT[..], commands].concat());
    for (commands, cause) in [
        (&["commit"][..], "no transaction: `begin TABLE` begins one"),
        (&["abort"], "no transaction"),
        (
            &["begin"],
            "a table is needed\nusage: begin TABLE [TABLE ...]",
        ),
        (&["begin users nowhere"], "no table nowhere"),
        (
            &["begin users", "begin log"],
            "a transaction has begun already",
        ),
        (&["begin users", "commit now"], "too many arguments"),
        (&["begin users", "commit", "abort"], "no transaction"),
        (
            &["begin users", "at before commit"],
            "`commit` reads no table",
        ),
        (&["at before begin users"], "a snapshot can only be read"),
    ] {
        let error = error(commands);
        assert!(error.contains(cause), "{commands:?}: {error}");
    }
    for (whole, operation) in [
        ("drop users", "delete"),
        ("rename people", "rename"),
        ("delete_all users", "delete_all_objects"),
        ("snapshot x users", "snapshot"),
    ] {
        let error = error(&["begin users log", whole]);
        let cause = format!("{operation} does not work in a transaction");
        assert!(error.contains(&cause), "{whole}: {error}");
    }
}

#[test]
fn help_is_everywhere() {
    let out = run(&["help", "help walk"]);
    assert!(out.contains("walk [TABLE] [from KEY] [limit N]"), "{out}");
    assert!(
        out.contains(
            "use TABLE                     Make TABLE the one that commands mean when they\n"
        ),
        "{out}"
    );
    assert!(out.lines().all(|line| line.len() < 100), "{out}");
    let words = out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("`load ... terms` reads back"), "{out}");
    for help in ["help sql", "help SELECT", "help DELETE", "help create"] {
        let out = run(&[help]);
        assert!(
            out.contains("functions                     abs, coalesce"),
            "{out}"
        );
    }
    assert!(run(&["help select"]).starts_with("select [TABLE] SPEC"));
    assert!(fails(&["create x"]).contains("`help sql`"));
    let output = shell(&["--help"]);
    assert!(output.status.success());
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.contains("--script") && out.contains("exit status 1"));
}

//! `fyris FILE`: a file opened without the name of a command, as sqlite3 opens one.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

const PEOPLE: &str = "id,name,age\n1,Ann,34\n2,\"Bo, jr\",17\n3,Cy,\n";

/// Runs the program in a folder, with a text as its standard input.
fn program(folder: &Path, args: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_fyris"))
        .args(args)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program runs");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that reads nothing may have ended.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("the program ends")
}

/// Returns a folder with files of the people.
fn people() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("people.csv"), PEOPLE).expect("a file");
    let saved = program(folder.path(), &["people.csv", "save people.ets"], "");
    assert!(saved.status.success());
    folder
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

/// Runs the program, which succeeds, and returns its output.
fn run(folder: &Path, args: &[&str], input: &str) -> String {
    let output = program(folder, args, input);
    assert!(
        output.status.success(),
        "{args:?}: {}",
        text(&output.stderr)
    );
    text(&output.stdout)
}

#[test]
fn a_file_is_opened_and_queries_answer() {
    let folder = people();
    let at = folder.path();
    for file in ["people.ets", "people.csv"] {
        assert_eq!(
            run(at, &[file, "count", "lookup 1"], ""),
            "3\n{1,<<\"Ann\">>,34}\n"
        );
        assert_eq!(run(at, &[file], "count\nfirst\n"), "3\n1\n");
    }
    let rows = "1,Ann,34\n2,\"Bo, jr\",17\n3,Cy,\n";
    assert_eq!(run(at, &["-csv", "people.ets", "walk"], ""), rows);
    let with_names = run(at, &["people.ets", "-csv", "-header", "select"], "");
    assert_eq!(with_names, format!("id,name,age\n{rows}"));
    assert_eq!(
        run(at, &["-json", "people.ets", "head 1"], ""),
        "[1,\"Ann\",34]\n"
    );
}

/// What cannot be opened is said with what can be done instead.
#[test]
fn errors_name_a_cure() {
    let folder = people();
    let at = folder.path();
    std::fs::write(at.join("people.txt"), PEOPLE).expect("a file");
    for (args, cure) in [
        (
            &["people.txt", "count"][..],
            "`load people.txt key COLUMN format csv|json` reads",
        ),
        (&["-", "count"], "-e 'load - key COLUMN format csv|json'"),
        (
            &["people.csv", "export -"],
            "`export - format csv` or `json`",
        ),
        (
            &["people.csv", ".import --csv people.csv t"],
            "`--csv`: the ending of the file says",
        ),
        (
            &[
                "people.csv",
                "SELECT p.id FROM people p JOIN people q ON q.age = p.id",
            ],
            "`add_secondary people by_age {element, age}` makes one",
        ),
    ] {
        let output = program(at, args, PEOPLE);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        let said = text(&output.stderr);
        assert!(said.contains(cure), "{args:?}: {said}");
    }
    let added = [
        "people.csv",
        "add_secondary by_age {unique, {element, age}}",
        "info secondary",
        "-- a comment\nSELECT name FROM people WHERE age = 34",
    ];
    assert_eq!(
        run(at, &added, ""),
        "true\n[{by_age,{unique,{element,3}}}]\nAnn\n"
    );
}

#[test]
fn a_command_has_its_name_before_a_file() {
    let folder = people();
    let at = folder.path();
    std::fs::rename(at.join("people.ets"), at.join("info")).expect("a name");
    let output = program(at, &["info"], "count\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("<FILE>"), "{output:?}");
    assert_eq!(run(at, &["./info"], "count\n"), "3\n");
    assert_eq!(run(at, &["./info", "info size"], ""), "3\n");
    let output = program(at, &["shel"], "");
    let said = "fyris: no file shel, and no command: did you mean `fyris shell`?\n";
    assert_eq!(
        (output.status.code(), text(&output.stderr)),
        (Some(2), said.to_owned())
    );
    let output = program(at, &["nowhere.ets"], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("nowhere.ets"), "{output:?}");
}

#[test]
fn the_dot_commands_of_sqlite_are_known() {
    let folder = people();
    let at = folder.path();
    std::fs::write(at.join("do.fyris"), "count\n.mode json\nlookup 1\n").expect("a file");
    let out = run(at, &["people.ets", ".schema", ".read do.fyris"], "");
    assert_eq!(
        out,
        "people (id key, name, age) ordered_set\n3\n[1,\"Ann\",34]\n"
    );
    let tables = run(at, &["people.ets", ".tables"], "");
    assert!(tables.contains("* people  ordered_set"), "{tables}");
    let table = "id  name    age\n--  ------  ---\n 1  Ann      34\n 2  Bo, jr   17\n 3  Cy\n";
    assert_eq!(run(at, &["people.ets", ".mode box", "walk"], ""), table);
    let list = "id|name|age\n1|Ann|34\n";
    assert_eq!(
        run(
            at,
            &["people.ets", ".mode list", ".headers on", "head 1"],
            ""
        ),
        list
    );
    let dumped = run(at, &["people.ets", ".dump"], "");
    assert!(
        dumped.starts_with("id,name,age\n1,\"<<\"\"Ann\"\">>\",34\n"),
        "{dumped}"
    );
    let out = run(
        at,
        &["people.ets", ".output o.txt", "count", ".output", "first"],
        "",
    );
    assert_eq!(out, "1\n");
    assert_eq!(
        std::fs::read_to_string(at.join("o.txt")).expect("a file"),
        "3\n"
    );
    assert_eq!(run(at, &["people.ets", ".quit", "count"], ""), "");
    assert!(run(at, &["people.ets", ".help"], "").contains("select [TABLE]"));
    let out = run(
        at,
        &["people.ets", ".import people.csv more key name", "first"],
        "",
    );
    assert_eq!(out, "<<\"Ann\">>\n");
}

#[test]
fn an_import_loses_no_row() {
    let folder = people();
    let at = folder.path();
    std::fs::write(at.join("twice.csv"), "city,n\nLund,1\nLund,2\n").expect("a file");
    let output = program(at, &["people.ets", ".import twice.csv"], "");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("twice.csv: column \"city\": several rows"),
        "{said}"
    );
    let out = run(
        at,
        &["people.ets", ".import twice.csv t key n", "count t"],
        "",
    );
    assert_eq!(out, "2\n");
}

#[test]
fn a_script_is_warned_of_what_is_not_saved() {
    let folder = people();
    let at = folder.path();
    let warned = |args: &[&str]| text(&program(at, args, "").stderr).contains("not saved");
    for quiet in [
        &["people.ets", "count"][..],
        &["people.ets", "delete 99"],
        &["people.ets", "insert {9, x, 1}", "save new.ets"],
        &["people.ets", "insert {9, x, 1}", "export new.jsonl terms"],
        &["people.ets", "new t", "insert {1}"],
        &["people.ets", "insert {9}", "drop people"],
    ] {
        assert!(!warned(quiet), "{quiet:?}");
    }
    for loud in [
        &["people.ets", "delete 1"][..],
        &["people.csv", "insert {9, x, 1}"],
        &["people.ets", "delete_all people"],
        &[
            "people.ets",
            "save new.ets",
            "update_element 1 {age, 35}",
            "quit",
        ],
        &[
            "people.ets",
            "insert {9, x, 1}",
            "export new.csv lossy columns id",
        ],
        &["people.ets", "begin people", "delete 1", "commit"],
    ] {
        assert!(warned(loud), "{loud:?}");
    }
}

#[test]
fn scripts_that_read_themselves_end() {
    let folder = people();
    std::fs::write(folder.path().join("do.fyris"), ".read do.fyris\n").expect("a file");
    let output = program(folder.path(), &["people.ets", ".read do.fyris"], "");
    assert_eq!(output.status.code(), Some(1));
    let said = text(&output.stderr);
    assert!(
        said.contains("do.fyris, line 1: scripts read scripts 16 levels deep"),
        "{said}"
    );
}

/// The name of a file is bytes.
#[cfg(unix)]
#[test]
fn names_of_files_need_not_be_text() {
    use std::os::unix::ffi::OsStrExt;

    let folder = people();
    let file = std::ffi::OsStr::from_bytes(b"p\xff.csv");
    std::fs::copy(folder.path().join("people.csv"), folder.path().join(file)).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_fyris"))
        .arg(file)
        .arg("count")
        .current_dir(folder.path())
        .output()
        .expect("the program runs");
    assert_eq!(text(&output.stdout), "3\n", "{}", text(&output.stderr));
}

/// Returns a file that `fyris-files` is tested with.
fn left(name: &str) -> String {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../files/tests/erlang/golden");
    format!("{golden}/{name}")
}

#[test]
fn what_erlang_systems_leave_is_opened() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path();
    let dets = program(folder, &[&left("keypos2.dets"), "lookup 7"], "");
    assert!(dets.status.success() && text(&dets.stdout).contains("{r,7,"));
    let said = text(&dets.stderr);
    assert!(
        said.contains("a dets file") && said.contains("20 objects, set"),
        "{said}"
    );

    let mnesia = left("counters");
    let most = "SELECT key, val FROM hits ORDER BY val DESC LIMIT 1";
    assert_eq!(run(folder, &["-csv", &mnesia, most], ""), "c,47\n");
    run(
        folder,
        &[
            &mnesia,
            "use hits",
            "save hits.ets",
            "export hits.jsonl terms",
        ],
        "",
    );
    std::fs::copy(folder.join("hits.ets"), folder.join("hits.idx")).expect("a copy");
    for dump in ["hits.ets", "hits.idx"] {
        assert_eq!(run(folder, &["-csv", dump, most], ""), "c,47\n");
    }

    let torn = folder.join("torn.dets");
    let bytes = std::fs::read(left("set.dets")).expect("a file");
    std::fs::write(&torn, &bytes[..bytes.len() - 40]).expect("a file");
    let output = program(folder, &["torn.dets", "count"], "");
    assert!(output.status.success());
    assert!(
        text(&output.stderr).contains("it was not closed"),
        "{}",
        text(&output.stderr)
    );
    let named = program(
        folder,
        &["shell", "-e", &format!("open {mnesia} as one")],
        "",
    );
    assert!(
        text(&named.stderr).contains("names one table"),
        "{}",
        text(&named.stderr)
    );
}

/// Runs the program, which fails, and returns what it says.
fn fails(folder: &Path, args: &[&str], input: &str) -> String {
    let output = program(folder, args, input);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    text(&output.stderr)
}

#[test]
fn what_is_begun_is_ended() {
    let folder = people();
    let begun = "begin people\ndelete 1\n";
    let said = fails(folder.path(), &["people.csv"], begun);
    assert!(said.contains("is not committed"), "{said}");
    let ended = format!("{begun}commit\ncount\n");
    assert_eq!(
        run(folder.path(), &["people.csv"], &ended),
        "true\ntrue\ntrue\n2\n"
    );
}

#[test]
fn a_dump_takes_the_place_of_dumps_alone() {
    let folder = people();
    let at = folder.path();
    std::fs::write(at.join("notes"), "mine").expect("a file");
    std::fs::write(at.join("empty"), "").expect("a file");
    for place in ["people.csv", "new.jsonl", "notes"] {
        let said = fails(at, &["people.ets", &format!("save {place}")], "");
        assert!(said.contains("`export` writes rows"), "{said}");
    }
    assert_eq!(
        std::fs::read_to_string(at.join("people.csv")).expect("a file"),
        PEOPLE
    );
    assert_eq!(
        std::fs::read_to_string(at.join("notes")).expect("a file"),
        "mine"
    );
    for place in ["people.ets", "empty", "new.ets"] {
        run(at, &["people.ets", &format!("save {place}")], "");
        assert_eq!(run(at, &[place, "count"], ""), "3\n");
    }
}

#[test]
fn what_replaces_an_object_has_all_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = folder.path();
    std::fs::write(at.join("a.csv"), "id,age\n1,30\n2,\n").expect("a file");
    let said = fails(
        at,
        &["a.csv", "select_replace a where age > 3 return {id}"],
        "",
    );
    assert!(said.contains("the columns id, age"), "{said}");
    let replace = "select_replace a where age > 3 return {id, age + 1}";
    assert_eq!(
        run(at, &["a.csv", replace, "walk"], ""),
        "1\n{1,31}\n{2,undefined}\n"
    );
}

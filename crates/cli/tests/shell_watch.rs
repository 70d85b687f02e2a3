//! Tables that are watched, in the program itself: what each command has changed comes after what it says.

use std::process::{Command, Output, Stdio};

fn shell(more: &[&str], commands: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fyris"))
        .arg("shell")
        .args(more)
        .args(commands.iter().flat_map(|command| ["-e", command]))
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// Runs commands, which must succeed, on two tables; what is said after these are made.
fn said(more: &[&str], commands: &[&str]) -> String {
    let tables = ["new users ordered_set", "new log bag"];
    let output = shell(more, &[&tables[..], commands].concat());
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{commands:?}: {errors}");
    let out = String::from_utf8(output.stdout).expect("output is UTF-8");
    // With a form of results it is no result that a table was made.
    out.strip_prefix("users\nlog\n").unwrap_or(&out).to_owned()
}

/// Runs commands of which the last fails; its message.
fn refused(commands: &[&str]) -> String {
    let output = shell(
        &[],
        &[&["new users ordered_set", "new log bag"], commands].concat(),
    );
    assert_eq!(output.status.code(), Some(1), "{commands:?}");
    String::from_utf8(output.stderr).expect("errors are UTF-8")
}

#[test]
fn each_command_tells_what_it_has_changed() {
    let out = said(
        &[],
        &[
            "watch users",
            "insert users {1, a}",
            "insert users {1, a}",
            "insert users {1, b}, {2, c}",
            "insert log {1, x}",
            "rename users people",
            "delete people 1",
            "delete_all people",
            "drop people",
            "new users",
            "insert users {3}",
        ],
    );
    let expected = "true\n\
                    true (1 inserted)\n{insert,users,{1,a}}\n\
                    true (1 inserted)\n\
                    true (2 inserted)\n{update,users,{1,a},{1,b}}\n{insert,users,{2,c}}\n\
                    true (1 inserted)\n\
                    people\n\
                    true\n{delete,people,{1,b}}\n\
                    true\n{cleared,people,1}\n\
                    true\n{deleted,people}\n\
                    users\n\
                    true (1 inserted)\n";
    assert_eq!(out, expected);
}

#[test]
fn a_transaction_tells_at_its_commit() {
    let out = said(
        &[],
        &[
            "watch users",
            "watch log",
            "begin users log",
            "insert users {1, a}",
            "insert log {1, x}",
            "commit",
            "begin users",
            "delete users 1",
            "abort",
        ],
    );
    let expected = "true\ntrue\ntrue\ntrue (1 inserted)\ntrue (1 inserted)\n\
                    true\n{insert,users,{1,a}}\n{insert,log,{1,x}}\n\
                    true\ntrue\ntrue\n";
    assert_eq!(out, expected);
}

#[test]
fn a_key_a_range_a_pattern_and_a_limit() {
    let objects = "insert users {1, a}, {2, b}, {3, a}, {4, a}";
    for (watch, told) in [
        ("watch users key 2", "{insert,users,{2,b}}\n"),
        (
            "watch users above 1 to 3",
            "{insert,users,{2,b}}\n{insert,users,{3,a}}\n",
        ),
        ("watch users below 2", "{insert,users,{1,a}}\n"),
        ("watch users pattern {'_', b}", "{insert,users,{2,b}}\n"),
        (
            "watch users pattern {'_', a} limit 2",
            "{insert,users,{1,a}}\n{insert,users,{3,a}}\n",
        ),
    ] {
        let out = said(&[], &["use users", watch, objects]);
        let expected = format!("true\ntrue (4 inserted)\n{told}");
        assert!(out.ends_with(&expected), "{watch}: {out}");
    }
    // The limit is one of all commands.
    let out = said(
        &[],
        &[
            "watch log limit 2",
            "insert log {1}",
            "insert log {2}, {3}",
            "insert log {4}",
        ],
    );
    let told = "true\ntrue (1 inserted)\n{insert,log,{1}}\ntrue (2 inserted)\n{insert,log,{2}}\ntrue (1 inserted)\n";
    assert_eq!(out, told);
}

#[test]
fn unwatch_ends_it() {
    let out = said(
        &[],
        &[
            "use users",
            "watch",
            "watch key 1",
            "insert {1}",
            "unwatch",
            "insert {2}",
        ],
    );
    assert!(
        out.ends_with("{insert,users,{1}}\n{insert,users,{1}}\ntrue\ntrue (1 inserted)\n"),
        "{out}"
    );
}

/// Changes are results, in the form that was chosen for these.
#[test]
fn changes_come_in_the_form_of_results() {
    let commands = [
        "watch users",
        "insert users {1, <<\"Ann\">>}",
        "insert users {1, <<\"Bo\">>}",
    ];
    assert_eq!(
        said(&["--format", "json"], &commands),
        "[\"insert\",\"users\",[1,\"Ann\"]]\n[\"update\",\"users\",[1,\"Ann\"],[1,\"Bo\"]]\n"
    );
    let out = said(
        &[],
        &["use log", "watch limit 200", "insert [{1}, {2}]", "walk"],
    );
    // A walk of a bag is in no order of keys.
    let walks = ["{1}\n{2}\n", "{2}\n{1}\n"];
    let told = walks.map(|walk| format!("{{insert,log,{{1}}}}\n{{insert,log,{{2}}}}\n{walk}"));
    assert!(told.iter().any(|told| out.ends_with(told)), "{out}");
}

/// A command that fails has told what it did before.
#[test]
fn a_command_that_fails_tells_what_it_has_changed() {
    let commands = [
        "watch users",
        "insert users {1, a}",
        "update_counter users 1 {2, 1}",
    ];
    let tables = ["new users ordered_set"];
    let output = shell(&[], &[&tables[..], &commands].concat());
    assert_eq!(output.status.code(), Some(1));
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(out.ends_with("{insert,users,{1,a}}\n"), "{out}");
}

#[test]
fn what_cannot_be_watched_is_refused() {
    for (commands, cause) in [
        (&["watch nowhere"][..], "no table nowhere"),
        (
            &["watch users key"],
            "a word without its value\nusage: watch [TABLE]",
        ),
        (&["watch users limit 0"], "a limit is a number above zero"),
        (&["watch users 3 4"], "`3` makes no sense here"),
        (&["watch users key 1 from 2"], "one of them"),
        (&["watch users from 1 above 2"], "two lower bounds"),
        (&["watch log from 1"], "a range does not work"),
        (
            &["snapshot s users", "at s watch"],
            "a snapshot can only be read",
        ),
        (
            &["begin users", "watch users"],
            "does not work in a transaction",
        ),
        (
            &["unwatch users"],
            "users is not watched: `watch users` does so",
        ),
    ] {
        let error = refused(commands);
        assert!(error.contains(cause), "{commands:?}: {error}");
    }
}

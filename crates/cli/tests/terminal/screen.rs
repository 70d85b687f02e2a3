//! What is made for a screen: colours, folded objects, help in pages.

use crate::emulator::Terminal;
use crate::{command, shell_with_table};

/// Returns a shell that may use colours.
fn coloured(folder: &std::path::Path, variables: &[(&str, &str)]) -> Terminal {
    let mut command = command(folder);
    command.env_remove("NO_COLOR").env("TERM", "xterm");
    command.envs(variables.iter().copied());
    let mut shell = Terminal::start(&mut command);
    shell.until("fyris> ");
    shell.enters("new t set");
    shell.until("fyris:t> ");
    shell.enters("insert {a, 1}");
    shell.until("fyris:t> ");
    shell
}

#[test]
fn a_terminal_has_colours_unless_it_is_told_not_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = coloured(folder.path(), &[]);
    shell.enters("lookup a");
    shell.until("{\x1b[35ma\x1b[0m,\x1b[36m1\x1b[0m}\r\n");
    shell.enters("lookup");
    shell.until("\x1b[31man argument is missing");
    for variable in [("NO_COLOR", "1"), ("TERM", "dumb")] {
        let mut shell = coloured(folder.path(), &[variable]);
        shell.enters("lookup a");
        shell.until("{a,1}\r\n");
        shell.enters("lookup");
        // The line editor moves the cursor; nothing is red.
        assert!(!shell.until("an argument is missing").contains("\x1b[31m"));
    }
}

#[test]
fn a_large_object_is_folded_in_listings() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 1);
    let list: Vec<String> = (1..=5000).map(|n| n.to_string()).collect();
    let row = format!(
        "{{\"n\":2,\"long\":[{}],\"last\":\"seen\"}}\n",
        list.join(",")
    );
    std::fs::write(folder.path().join("tall.jsonl"), row).expect("a file");
    shell.enters("load tall.jsonl key n");
    shell.until("fyris:tall> ");
    shell.enters("head");
    let shown = shell.until("... folded from ");
    assert!(shown.matches("\r\n").count() <= 12, "{shown}");
    assert!(
        shown.contains("<<\"seen\">>") && shown.contains("..."),
        "{shown}"
    );
    shell.until("`lookup` shows all of it\r\n");
}

#[test]
fn help_is_paged() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 1);
    shell.enters("help");
    shell.until("-- 49 shown; Space: next page, Enter: next line, q: stop --");
    shell.types("q");
    shell.until("fyris:t> ");
}

#[test]
fn tab_offers_types_and_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 3);
    shell.types("new other ord\t");
    shell.until("ordered_set ");
    shell.types("\r");
    shell.until("fyris:other> ");
    shell.enters("use t");
    shell.until("fyris:t> ");
    shell.types("select where n > 2 ret\t");
    shell.until("return ");
    shell.types("n\r");
    shell.until("\n3\r\n");
}

#[test]
fn rows_stand_under_their_names() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 3);
    shell.enters("mode auto");
    shell.until("fyris:t> ");
    shell.enters("select where n > 2");
    shell.until("n\r\n-\r\n3\r\n");
}

#[test]
fn leaving_with_changes_asks() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 1);
    shell.enters("insert {2}");
    shell.until("fyris:t> ");
    for no in ["", "n", "\x03"] {
        shell.enters("quit");
        shell.until("table t has changes that are not saved; leave all the same? [y/N] ");
        shell.enters(no);
        shell.until("fyris:t> ");
    }
    shell.enters("save t.ets");
    shell.until("fyris:t> ");
    shell.enters("insert {3}");
    shell.until("fyris:t> ");
    shell.enters("quit");
    shell.until("[y/N] ");
    shell.enters("y");
    assert!(shell.ends().success());
}

/// Files of others may have any characters: a terminal is told none of them that it would obey.
#[test]
fn control_characters_do_not_come_to_the_terminal() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 1);
    let rows = "id,\x1b[2Jname\r\n1,a\x1b]0;title\x07\u{9b}m\n2,\"x\ry\x7f\"\n";
    std::fs::write(folder.path().join("evil.csv"), rows).expect("a file");
    shell.enters("load evil.csv key id");
    let mut said = shell.until("fyris:evil> ");
    for line in [
        "SELECT * FROM evil",
        "head",
        "mode csv",
        "headers on",
        "SELECT * FROM evil",
        "mode list",
        "SELECT * FROM evil",
        "lookup 2",
        "mode json",
        "head",
        "mode auto",
        "lookup 1",
        "SELECT nme FROM evil",
        "lookup_by evil nme 1",
        "select where nme == 1",
        "dump",
    ] {
        shell.enters(line);
        said += &shell.until("fyris:evil> ");
    }
    assert!(said.contains("\\u{1b}[2Jname"), "{said:?}");
    assert!(said.contains("x\\ry\\u{7f}"), "{said:?}");
    for obeyed in ["\x1b[2J", "\x1b]", "\x07", "\u{9b}", "x\ry", "\x7f"] {
        assert!(!said.contains(obeyed), "{obeyed:?} in {said:?}");
    }
}

/// A file that is refused leaves the table in use that was.
#[test]
fn a_refused_file_takes_no_table_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 1);
    let write = |name: &str, rows: &str| {
        std::fs::write(folder.path().join(name), rows).expect("a file");
    };
    write("good.csv", "id,n\n1,2\n");
    write("twice.csv", "id,n\n1,2\n1,3\n");
    write("bad.csv", "id,n\n1,2\n2,x\n");
    shell.enters("load good.csv key id");
    shell.until("fyris:good> ");
    for refused in ["import twice.csv", "load bad.csv key id as int,int"] {
        shell.enters(refused);
        shell.until(" column ");
        shell.until("fyris:good> ");
    }
}

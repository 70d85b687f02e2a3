//! Tests of the line editor with pasted text and with Tab.

use crate::shell;
use crate::shell_with_table;

/// Several pasted lines used to be taken for one command.
#[test]
fn pasted_lines_run_one_by_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell(folder.path());
    let pasted = "new t set public named_table\ninsert {a,\n  1}\nnonsense\ninsert {b, 2}\ncount";
    shell.types(&format!("\x1b[200~{pasted}\x1b[201~"));
    shell.types("\r");
    shell.until("true (1 inserted)");
    shell.until("no command `nonsense`");
    shell.until("true (1 inserted)");
    shell.until("\n2\r\n");
    shell.until("fyris:t> ");
    // An unfinished term at the end of the pasted lines waits for the rest.
    shell.types("\x1b[200~insert {c, 3}\ninsert {d,\x1b[201~\r");
    shell.types("4}\r");
    shell.until("true (1 inserted)");
    shell.until("true (1 inserted)");
    shell.enters("count");
    shell.until("4\r\n");
}

/// `open` used to be offered the names of tables.
#[test]
fn tab_offers_files_where_files_go() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 3);
    std::fs::write(folder.path().join("table.ets"), "").expect("a file");
    shell.enters("new tabular set named_table public");
    shell.until("fyris:tabular> ");
    // Each has one candidate: the file for `open`, the table for `count`.
    shell.types("open tab\t");
    shell.until("open table.ets");
    shell.types("\x03");
    shell.until("fyris:tabular> ");
    shell.types("count tab\t");
    shell.until("count tabular");
    shell.types("\r");
    shell.until("\n0\r\n");
}

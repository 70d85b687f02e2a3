//! Long output stops when the screen is full, and goes on by key.

use crate::emulator::{ROWS, Terminal};
use crate::shell_with_table;

const QUESTION: &str = "q: stop --";

/// Returns the lines that were shown, up to the question.
fn lines(shell: &mut Terminal) -> usize {
    let shown = shell.until(QUESTION);
    shown.matches("\r\n").count()
}

#[test]
fn space_shows_a_page_enter_a_line_and_q_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 1000);
    shell.enters("walk");
    let page = usize::from(ROWS) - 1;
    assert_eq!(lines(&mut shell), page);
    shell.types(" ");
    assert_eq!(lines(&mut shell), page);
    shell.types("\r");
    assert_eq!(lines(&mut shell), 1);
    // Keys without a meaning change nothing; Page Down and Down have one.
    shell.types("x\x1b[6~");
    assert_eq!(lines(&mut shell), page);
    shell.types("\x1b[B");
    assert_eq!(lines(&mut shell), 1);
    let shown = 3 * page + 2;
    shell.types("q");
    shell.until(&format!("... {shown} shown of 1000 in the table"));
    shell.until("fyris:t> ");
    // No limit has cut this.
    for query in ["select t", "SELECT n FROM t"] {
        shell.enters(query);
        shell.until(QUESTION);
        shell.types("q");
        let said = shell.until("fyris:t> ");
        assert!(said.contains(" shown\r\n"), "{said}");
    }
    shell.enters("count");
    shell.until("1000\r\n");
}

/// An object used to be one step, however tall: a lookup ran past the top of the screen.
#[test]
fn a_tall_object_is_paged() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 1);
    let list: Vec<String> = (1..=5000).map(|n| format!("{n}000000")).collect();
    let file = folder.path().join("tall");
    std::fs::write(&file, format!("{{\"n\":2,\"v\":[{}]}}\n", list.join(","))).expect("a file");
    std::fs::rename(&file, folder.path().join("tall.jsonl")).expect("a name");
    shell.enters("load tall.jsonl key n");
    shell.until("fyris:tall> ");
    shell.enters("lookup 2");
    assert_eq!(lines(&mut shell), usize::from(ROWS) - 1);
    shell.types("q");
    shell.until("... 0 shown of 1");
    shell.until("fyris:tall> ");
}

#[test]
fn ctrl_c_ends_a_listing() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), 1000);
    shell.enters("walk");
    shell.until(QUESTION);
    shell.types("\x03");
    shell.until("interrupted");
    shell.until("fyris:t> ");
    shell.enters("count");
    shell.until("1000\r\n");
}

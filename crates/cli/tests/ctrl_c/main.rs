//! Ctrl-C on a terminal: it stops the command under way, says how far that came, and leaves the shell and its tables as
//! they are.
#![cfg(target_os = "linux")]

mod terminal;

use std::process::Command;

use terminal::Terminal;

/// Objects: several slices of the slowest query.
const COUNT: usize = 60_000;

/// What takes long on every object, and is worth its key.
const SLOW: &str = "($1 bsl 4000000) bsr 4000000";

/// A shell with a table `t` of `{1}`, `{2}` and so on, in a folder of its own.
fn shell(folder: &std::path::Path) -> Terminal {
    let rows: String = (1..=COUNT).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    std::fs::write(folder.join("t.jsonl"), rows).expect("a file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_fyris"));
    command.arg("shell").current_dir(folder);
    command.env("HOME", folder).env_remove("XDG_STATE_HOME");
    command.env("TERM", "xterm");
    let mut shell = Terminal::start(&mut command);
    shell.until("fyris> ");
    shell.enters("load t.jsonl key n");
    shell.until("fyris:t> ");
    shell
}

/// How many objects there are.
fn count(shell: &mut Terminal) -> usize {
    shell.enters("count");
    let count = shell.until("\r\n");
    shell.until("fyris:t> ");
    number(&count)
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

#[test]
fn long_commands_stop_and_the_shell_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell(folder.path());
    for command in [
        format!("select where {SLOW} /= $1"),
        format!("select where {SLOW} /= $1 threads 2"),
        format!("select_reverse where {SLOW} /= $1"),
        format!("select_count where {SLOW} == $1"),
        format!("select_count where {SLOW} == $1 threads 2"),
        format!("select_replace {{$1}} where {SLOW} == $1 return {{$1}}"),
    ] {
        shell.enters(&command);
        let said = shell.interrupts_until("interrupted");
        assert!(
            !said.contains("visited"),
            "{command} came to its end: {said}"
        );
        shell.until("fyris:t> ");
        assert_eq!(count(&mut shell), COUNT, "{command}");
    }
    // What was done stays done, and is told.
    shell.enters(&format!("select_delete where {SLOW} == $1"));
    shell.interrupts_until("deleted ");
    let deleted = number(&shell.until(" until then"));
    shell.until("interrupted");
    shell.until("fyris:t> ");
    assert!(deleted < COUNT);
    assert_eq!(count(&mut shell), COUNT - deleted);
    shell.enters("quit");
    assert!(shell.ends().success());
}

/// On the prompt Ctrl-C forgets the line, and nothing else.
#[test]
fn on_the_prompt_the_line_is_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell(folder.path());
    shell.types("delete_all t");
    shell.until("delete_all t");
    shell.types("\x03");
    shell.until("\n");
    shell.until("fyris:t> ");
    assert_eq!(count(&mut shell), COUNT);
}

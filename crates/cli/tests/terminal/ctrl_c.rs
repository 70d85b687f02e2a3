//! Ctrl-C on a terminal: it stops the command under way, says how far that came, and leaves the shell and its tables as
//! they are.

use crate::emulator::Terminal;
use crate::shell_with_table;

/// Objects: several slices of the slowest query.
const COUNT: usize = 60_000;

/// An expression that takes long on every object, and equals its key.
const SLOW: &str = "($1 bsl 4000000) bsr 4000000";

/// Returns the number of objects.
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
    let mut shell = shell_with_table(folder.path(), COUNT);
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
    // Deletions that were made stay made, and are reported.
    shell.enters(&format!("select_delete where {SLOW} == $1"));
    shell.interrupts_until("deleted ");
    let deleted = number(&shell.until(" until then"));
    shell.until("interrupted");
    shell.until("fyris:t> ");
    assert!(deleted < COUNT);
    assert_eq!(count(&mut shell), COUNT - deleted);
    shell.enters("quit");
    shell.until("[y/N] ");
    shell.enters("y");
    assert!(shell.ends().success());
}

/// On the prompt Ctrl-C forgets the line, and nothing else.
#[test]
fn on_the_prompt_the_line_is_forgotten() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut shell = shell_with_table(folder.path(), COUNT);
    shell.types("delete_all t");
    shell.until("delete_all t");
    shell.types("\x03");
    shell.until("\n");
    shell.until("fyris:t> ");
    assert_eq!(count(&mut shell), COUNT);
}

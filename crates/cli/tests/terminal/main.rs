//! The shell on a terminal of its own: Ctrl-C, pages, pasted lines, completion, colours.
#![cfg(target_os = "linux")]

mod ctrl_c;
mod emulator;
mod input;
mod pages;
mod screen;

use std::path::Path;
use std::process::Command;

use emulator::Terminal;

/// Returns the program, to be run in a folder of its own.
fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fyris"));
    command.arg("shell").current_dir(folder);
    command.env("HOME", folder).env_remove("XDG_STATE_HOME");
    command
}

/// Returns a shell in a folder of its own, without colours.
fn shell(folder: &Path) -> Terminal {
    let mut command = command(folder);
    command.env("TERM", "xterm").env("NO_COLOR", "1");
    let mut shell = Terminal::start(&mut command);
    shell.until("fyris> ");
    shell
}

/// Returns a shell with a table `t` of `{1}`, `{2}` and so on to `count`, in a folder of its own, that shows terms.
fn shell_with_table(folder: &Path, count: usize) -> Terminal {
    let rows: String = (1..=count).map(|n| format!("{{\"n\":{n}}}\n")).collect();
    std::fs::write(folder.join("t.jsonl"), rows).expect("a file");
    let mut shell = shell(folder);
    shell.enters("load t.jsonl key n");
    shell.until("fyris:t> ");
    shell.enters("mode screen");
    shell.until("fyris:t> ");
    shell
}

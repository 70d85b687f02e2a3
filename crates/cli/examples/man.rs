//! Writes the manual pages of the program into a folder: `cargo run -p fyris-cli --example man -- FOLDER`.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap_mangen::roff::{Roff, bold, roman};
use fyris_cli::{program, shell};

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: man FOLDER");
        return ExitCode::from(2);
    };
    match pages(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("man: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

/// A page of each command; that of the shell goes on with the commands of the shell.
fn pages(folder: &Path) -> io::Result<()> {
    clap_mangen::generate_to(program::command(), folder)?;
    let mut commands = Roff::new();
    commands.control("SH", ["COMMANDS"]);
    for (usage, help) in shell::commands() {
        commands.control("TP", []);
        commands.text([bold(usage)]);
        commands.text([roman(help)]);
    }
    let page = folder.join("fyris-shell.1");
    let mut page = OpenOptions::new().append(true).open(page)?;
    page.write_all(commands.to_roff().as_bytes())
}

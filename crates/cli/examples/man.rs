//! Writes the manual pages of the program into a folder: `cargo run -p fyris-cli --example man -- FOLDER`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: man FOLDER");
        return ExitCode::from(2);
    };
    match clap_mangen::generate_to(fyris_cli::program::command(), &folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("man: {}: {error}", folder.display());
            ExitCode::FAILURE
        }
    }
}

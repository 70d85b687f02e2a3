//! Commands about the shell itself.

use std::path::Path;

use crate::shell::error::ShellError;
use crate::shell::screen::format::Format;
use crate::shell::script;
use crate::shell::session::Session;

/// Runs `quit`.
pub(crate) fn quit(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    if !words.is_empty() {
        return Err(Session::usage("too many arguments", "quit"));
    }
    session.set_over(true);
    Ok(())
}

/// Runs `timing [on|off]`.
pub(crate) fn timing(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    const USAGE: &str = "timing [on|off]";
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            return session
                .display()
                .line(if session.timing { "on" } else { "off" });
        }
        ["on"] => session.timing = true,
        ["off"] => session.timing = false,
        _ => return Err(Session::usage("timing is on or off", USAGE)),
    }
    Ok(())
}

/// Runs `mode [FORMAT]`.
pub(crate) fn mode(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    const USAGE: &str = "mode [auto|screen|erl|json|csv|list|table]";
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => {
            let show = session.display();
            return show.line(show.mode());
        }
        ["auto"] => session.display_mut().set_format(None, true),
        ["screen"] => session.display_mut().set_format(None, false),
        [name] => match Format::named(table_mode(name)) {
            Some(format) => session.display_mut().set_format(Some(format), true),
            None => {
                let problem = format!("no mode {name}: there are auto, screen, {}", Format::NAMES);
                return Err(Session::usage(problem, USAGE));
            }
        },
        _ => return Err(Session::usage("too many arguments", USAGE)),
    }
    Ok(())
}

/// Returns the name of a mode; sqlite3 has several of tables.
fn table_mode(name: &str) -> &str {
    match name {
        "box" | "column" | "columns" => Format::Table.name(),
        name => name,
    }
}

/// Runs `headers on|off`.
pub(crate) fn headers(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["on"] => session.display_mut().set_headers(true),
        ["off"] => session.display_mut().set_headers(false),
        _ => return Err(Session::usage("headers are on or off", "headers on|off")),
    }
    Ok(())
}

/// Runs `output [FILE]`.
pub(crate) fn output(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    match words {
        [] => session.display_mut().set_output(None),
        [file] if file == "stdout" => session.display_mut().set_output(None),
        [file] => session.display_mut().set_output(Some(Path::new(file))),
        _ => Err(Session::usage(
            "too many words: quote a name with spaces",
            "output [FILE]",
        )),
    }
}

/// Runs `read FILE`.
pub(crate) fn read(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    match words {
        [file] => script::file(session, Path::new(file), false),
        _ => Err(Session::usage("one file is needed", "read FILE")),
    }
}

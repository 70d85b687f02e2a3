//! Commands about the shell itself.

use crate::shell::error::ShellError;
use crate::shell::screen::format::Format;
use crate::shell::session::Session;

/// Runs `quit`.
pub(crate) fn quit(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    if !words.is_empty() {
        return Err(Session::usage("too many arguments", "quit"));
    }
    session.end();
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
    const USAGE: &str = "mode [screen|erl|json|csv]";
    match words {
        [] => {
            let format = session.display().format();
            return session.display().line(match format {
                None => "screen",
                Some(format) => format.name(),
            });
        }
        [name] if name == "screen" => session.set_format(None),
        [name] => match Format::named(name) {
            Some(format) => session.set_format(Some(format)),
            None => {
                let problem = format!("no mode {name}: there are screen, {}", Format::NAMES);
                return Err(Session::usage(problem, USAGE));
            }
        },
        _ => return Err(Session::usage("too many arguments", USAGE)),
    }
    Ok(())
}

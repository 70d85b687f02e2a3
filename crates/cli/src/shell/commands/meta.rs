//! Commands about the shell itself.

use crate::shell::error::ShellError;
use crate::shell::session::Session;

/// Runs `quit`.
pub(crate) fn quit(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    if !words.is_empty() {
        return Err(Session::usage("too many arguments", "quit"));
    }
    session.end();
    Ok(())
}

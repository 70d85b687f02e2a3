//! Commands about the shell itself.

use crate::shell::error::ShellError;
use crate::shell::session::Session;
use crate::shell::verbs::{self, VERBS};

/// `help [COMMAND]`
pub(crate) fn help(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let show = session.display();
    if let Some(name) = words.first() {
        let verb = verbs::find(name)?;
        show.line(verb.usage)?;
        show.line(format!("    {}", verb.help))?;
        if !verb.also.is_empty() {
            show.line(format!("    also: {}", verb.also.join(", ")))?;
        }
        return Ok(());
    }
    let width = VERBS.iter().map(|verb| verb.usage.len()).max().unwrap_or(0);
    for verb in VERBS {
        let summary = verb
            .help
            .split_inclusive(['.', ':'])
            .next()
            .unwrap_or(verb.help);
        show.line(format!(
            "{:width$}  {}",
            verb.usage,
            summary.trim_end_matches([':', '.'])
        ))?;
    }
    show.line("")?;
    show.line("Arguments are Erlang terms: {users, 1}, \"text\", <<\"bytes\">>, #{k => v}, 16#ff. Or write ets:lookup(T, K).")?;
    show.line("TABLE may be left out once one is in use. Tab completes; Ctrl-C stops a command; Ctrl-D leaves.")
}

/// `quit`
pub(crate) fn quit(session: &mut Session, _: &[String]) -> Result<(), ShellError> {
    session.end();
    Ok(())
}

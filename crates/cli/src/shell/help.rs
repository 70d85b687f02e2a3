//! The text of `help`.

use crate::shell::error::ShellError;
use crate::shell::session::Session;
use crate::shell::verb::Verb;

/// The column of summaries in the list of commands.
const SUMMARY: usize = 30;

/// The text below the list.
const FOOT: &str = "Arguments are Erlang terms: {users, 1}, \"text\", <<\"bytes\">>, #{k => v}, 16#ff. Or write ets:lookup(T, K). \
     TABLE may be left out once one is in use. Tab completes; Ctrl-C stops a command; Ctrl-D leaves.";

/// Shows how one command is written, what it does and what else it is called.
pub(crate) fn one(session: &Session, verb: &Verb) -> Result<(), ShellError> {
    let show = session.display();
    show.line(verb.usage)?;
    show.line(indented(verb.help, 4, show.width()))?;
    if !verb.also.is_empty() {
        show.line(format!("    also: {}", verb.also.join(", ")))?;
    }
    Ok(())
}

/// Shows the list of all commands.
pub(crate) fn all(session: &Session, verbs: &[Verb]) -> Result<(), ShellError> {
    let show = session.display();
    for verb in verbs {
        show.line(entry(verb, show.width()))?;
    }
    show.line("")?;
    show.line(indented(FOOT, 0, show.width()))
}

/// Returns a command in the list: how it is written, and the first sentence on it beside that or below.
fn entry(verb: &Verb, width: usize) -> String {
    let summary = verb.help.split_once(". ").map_or(verb.help, |(s, _)| s);
    let summary = indented(summary.trim_end_matches('.'), SUMMARY, width);
    let usage = verb.usage;
    if usage.len() + 2 > SUMMARY {
        return format!("{usage}\n{summary}");
    }
    format!("{usage:SUMMARY$}{}", summary.trim_start())
}

/// Breaks text into lines of at most `width` columns, as far as its words allow, each behind `indent` spaces.
fn indented(text: &str, indent: usize, width: usize) -> String {
    let mut out = " ".repeat(indent);
    let mut column = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            out = out + "\n" + &" ".repeat(indent);
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
    }
    out
}

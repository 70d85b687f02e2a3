//! The text of `help`.

use super::verb::Verb;
use crate::shell::error::ShellError;
use crate::shell::session::Session;

/// The column of summaries in the list of commands.
const SUMMARY: usize = 30;

/// The text below the list.
const FOOT: &str = "Arguments are Erlang terms: {users, 1}, \"text\", <<\"bytes\">>, #{k => v}, 16#ff. Or write ets:lookup(T, K). \
     A line that begins with SELECT ... FROM, INSERT INTO, UPDATE ... SET or DELETE FROM is SQL as sqlite3 knows it, and \
     `explain` before it shows its plan. TABLE may be left out once one is in use. Tab completes; Ctrl-C stops a command; Ctrl-D leaves.";

/// Shows how one command is written, what it does and what else it is called.
pub(crate) fn one(session: &Session, verb: &Verb) -> Result<(), ShellError> {
    let show = session.display();
    let mut text = indented(verb.usage, 0, show.width()) + "\n";
    text += &indented(verb.help, 4, show.width());
    if !verb.also.is_empty() {
        text += &format!("\n    also: {}", verb.also.join(", "));
    }
    show.text(&text)
}

/// Shows the list of all commands.
pub(crate) fn all(session: &Session, verbs: &[Verb]) -> Result<(), ShellError> {
    let show = session.display();
    let width = show.width();
    let entries: Vec<String> = verbs.iter().map(|verb| entry(verb, width)).collect();
    show.text(&format!(
        "{}\n\n{}",
        entries.join("\n"),
        indented(FOOT, 0, width)
    ))
}

/// Returns a command in the list: how it is written, and the first sentence on it beside that or below.
fn entry(verb: &Verb, width: usize) -> String {
    let summary = verb.help.split_once(". ").map_or(verb.help, |(s, _)| s);
    let summary = indented(summary.trim_end_matches('.'), SUMMARY, width);
    let usage = verb.usage;
    if usage.len() + 2 > SUMMARY {
        return format!("{}\n{summary}", indented(usage, 0, width));
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

//! Commands about the shell itself.

use crate::shell::error::ShellError;
use crate::shell::session::Session;
use crate::shell::verbs::{self, VERBS, Verb};

/// Where what a command does begins in the list of them.
const SUMMARY: usize = 30;

/// What is below the list.
const FOOT: &str = "Arguments are Erlang terms: {users, 1}, \"text\", <<\"bytes\">>, #{k => v}, 16#ff. Or write ets:lookup(T, K). \
     TABLE may be left out once one is in use. Tab completes; Ctrl-C stops a command; Ctrl-D leaves.";

/// `help [COMMAND]`
pub(crate) fn help(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    let show = session.display();
    if words.len() > 1 {
        return Err(Session::usage("one command at a time", "help [COMMAND]"));
    }
    if let Some(name) = words.first() {
        let verb = verbs::find(name)?;
        show.line(verb.usage)?;
        show.line(indented(verb.help, 4, show.width()))?;
        if !verb.also.is_empty() {
            show.line(format!("    also: {}", verb.also.join(", ")))?;
        }
        return Ok(());
    }
    for verb in VERBS {
        show.line(entry(verb, show.width()))?;
    }
    show.line("")?;
    show.line(indented(FOOT, 0, show.width()))
}

/// `quit`
pub(crate) fn quit(session: &mut Session, words: &[String]) -> Result<(), ShellError> {
    if !words.is_empty() {
        return Err(Session::usage("too many arguments", "quit"));
    }
    session.end();
    Ok(())
}

/// A command in the list: how it is written, and the first sentence on it beside that or below.
fn entry(verb: &Verb, width: usize) -> String {
    let summary = verb.help.split_once(". ").map_or(verb.help, |(s, _)| s);
    let summary = indented(summary.trim_end_matches('.'), SUMMARY, width);
    let usage = verb.usage;
    if usage.len() + 2 > SUMMARY {
        return format!("{usage}\n{summary}");
    }
    format!("{usage:SUMMARY$}{}", summary.trim_start())
}

/// Text in lines of at most `width` columns, as far as its words allow, each behind `indent` spaces.
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

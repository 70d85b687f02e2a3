//! The text of `help`.

use super::verb::Verb;
use crate::shell::error::ShellError;
use crate::shell::session::Session;

/// The column of summaries in the list of commands.
const SUMMARY: usize = 30;

/// The text below the list.
const FOOT: &str = "Arguments are Erlang terms: {users, 1}, \"text\", <<\"bytes\">>, #{k => v}, 16#ff. Or write ets:lookup(T, K). \
     A line that begins with SELECT ... FROM, INSERT INTO, UPDATE ... SET or DELETE FROM is SQL as sqlite3 knows it, and \
     `explain` before it shows its plan: `help sql`. TABLE may be left out once one is in use. Tab completes; Ctrl-C \
     stops a command; Ctrl-D leaves.";

/// What there is of SQL: what it is about, and how it is written.
const SQL: [(&str, &str); 9] = [
    (
        "SELECT [DISTINCT] ...",
        "FROM TABLE [AS NAME] [[LEFT] JOIN TABLE ON ...] [WHERE ...] [GROUP BY ...] [HAVING ...] [ORDER BY ...] \
         [LIMIT N [OFFSET N]]; 1 in GROUP BY and ORDER BY is the first result",
    ),
    (
        "INSERT INTO TABLE",
        "[(COLUMN, ...)] VALUES (VALUE, ...), ...",
    ),
    ("UPDATE TABLE SET", "COLUMN = VALUE, ... [WHERE ...]"),
    ("DELETE FROM TABLE", "[WHERE ...]"),
    (
        "conditions",
        "=, <>, !=, <, <=, >, >=, IN of values, BETWEEN, LIKE, IS NULL, AND, OR, NOT",
    ),
    (
        "values",
        "numbers, texts ('Bo'; \"name\" is a column), NULL, TRUE, FALSE; +, -, *, /, ||, CASE",
    ),
    (
        "functions",
        "abs, coalesce, length, lower, round, substr, upper",
    ),
    (
        "aggregates",
        "count, sum, avg, min, max, also of DISTINCT values",
    ),
    (
        "tables",
        "made by `new` and `load`, changed by `rename`, `add_secondary` and `drop`; `begin`, `commit` and `abort` are \
         commands; `explain` before a statement shows its plan",
    ),
];

/// Shows what there is of SQL.
pub(crate) fn sql(session: &Session) -> Result<(), ShellError> {
    let show = session.display();
    let lines = SQL.map(|(what, how)| beside(what, how, show.width()));
    show.text(&lines.join("\n"))
}

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
    let ends = verb.help.match_indices(". ").map(|(at, _)| at);
    // `...` ends no sentence.
    let end = { ends }.find(|&at| !verb.help[..at].ends_with('.'));
    let summary = &verb.help[..end.unwrap_or(verb.help.len())];
    beside(verb.usage, summary.trim_end_matches('.'), width)
}

/// Returns how something is written, and what it is beside that or below.
fn beside(usage: &str, summary: &str, width: usize) -> String {
    let summary = indented(summary, SUMMARY, width);
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

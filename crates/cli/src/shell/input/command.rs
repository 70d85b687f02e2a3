//! One line of input: a verb and its arguments.
//!
//! Two ways of writing the same command are read: words (`lookup users 42`) and, for fingers used to Erlang, a call
//! (`ets:lookup(users, 42).`). Arguments are Erlang terms, but for the commands about files, whose arguments are words
//! (quoted where they hold spaces), and for queries, which have a language of their own (`query`).

use fyris_term::Term;
use fyris_term::text::{self, ParseError};

use crate::shell::commands::verb::{Command, Handler, Verb};
use crate::shell::commands::verbs;
use crate::shell::error::ShellError;
use crate::shell::names::Columns;
use crate::shell::query::{self, Does, Request};
use crate::shell::session::Session;
use crate::shell::sql::{self, OpenSql, SqlEnd};

/// A parsed line.
pub(crate) enum Line {
    /// Nothing but space or a comment.
    Blank,
    /// A term or a call is not closed yet: more lines are to come.
    Incomplete,
    /// A command.
    Command(Command),
}

/// Lines on their way to become commands, of which one may take several lines.
///
/// SQL ends with `;`, or with a line behind which no part of a statement follows: so the command before a line is taken
/// by [`Commands::before`], then the line is added.
#[derive(Default)]
pub(crate) struct Commands {
    pending: String,
    /// What is known of SQL that goes on, and whether it is whole as it is.
    open: Option<(OpenSql, bool)>,
}

impl Commands {
    /// Returns the command that is whole if `next`, the line that follows, is no part of it.
    pub(crate) fn before(
        &mut self,
        next: &str,
        columns: &Columns,
    ) -> Option<Result<Line, ShellError>> {
        match sql::goes_on(next) {
            true => None,
            false => self.end(columns),
        }
    }

    /// Returns the command that is whole if no line follows.
    pub(crate) fn end(&mut self, columns: &Columns) -> Option<Result<Line, ShellError>> {
        self.open.take_if(|(_, is_whole)| *is_whole)?;
        Some(parse(&std::mem::take(&mut self.pending), columns))
    }

    /// Adds a line. Returns the command that it completes (or why there is none), or nothing as long as a term, a call
    /// or a statement may go on.
    pub(crate) fn add(
        &mut self,
        line: &str,
        columns: &Columns,
    ) -> Option<Result<Line, ShellError>> {
        self.pending.push_str(line);
        self.pending.push('\n');
        if self.open.is_none() && is_statement(self.pending.trim_start()) {
            self.open = Some((OpenSql::default(), false));
        }
        if let Some((sql, is_whole)) = &mut self.open {
            let end = sql.end(&self.pending);
            *is_whole = end == SqlEnd::MayGoOn;
            if end != SqlEnd::Ended {
                return None;
            }
        }
        let read = parse(&self.pending, columns);
        if matches!(read, Ok(Line::Incomplete)) {
            return None;
        }
        self.open = None;
        self.pending.clear();
        Some(read)
    }

    /// Returns the lines since the last command, if they are more than space.
    pub(crate) fn unfinished(&self) -> Option<&str> {
        let text = self.pending.trim();
        (!text.is_empty()).then_some(text)
    }

    /// Returns whether a person who has typed these lines is to type more.
    pub(crate) fn wants_more(&self) -> bool {
        let is_whole = |(sql, is_whole): &(OpenSql, bool)| *is_whole && !sql.wants_semicolon();
        self.unfinished().is_some() && !self.open.as_ref().is_some_and(is_whole)
    }

    /// Returns the number of commands in `lines`, the unfinished one at the end not counted.
    pub(crate) fn in_lines(lines: &str) -> usize {
        let (mut commands, columns) = (Commands::default(), Columns::default());
        let mut read = Vec::new();
        for line in lines.lines() {
            read.extend(commands.before(line, &columns));
            read.extend(commands.add(line, &columns));
        }
        read.extend(commands.end(&columns));
        read.iter()
            .filter(|line| !matches!(line, Ok(Line::Blank)))
            .count()
    }
}

/// Returns whether a text begins a statement of SQL, perhaps one to explain.
fn is_statement(text: &str) -> bool {
    let (name, rest) = split_verb(text);
    sql::is_sql(text) || name.eq_ignore_ascii_case("explain") && sql::is_sql(rest)
}

/// Reads one line (or several, joined, where a term goes over lines). Columns are names in queries.
pub(crate) fn parse(input: &str, columns: &Columns) -> Result<Line, ShellError> {
    // Some editors put a mark at the beginning of a file.
    let input = input.trim_start_matches('\u{feff}').trim();
    if input.is_empty() || input.starts_with('%') {
        return Ok(Line::Blank);
    }
    if sql::is_comment(input) {
        return match sql::is_open(input) {
            true => Ok(Line::Incomplete),
            false => Ok(Line::Blank),
        };
    }
    match command(input, input, columns) {
        Ok(command) => Ok(Line::Command(command)),
        Err(ShellError::Parse(e)) if e.is_incomplete() => Ok(Line::Incomplete),
        Err(ShellError::Syntax(e)) if e.incomplete => Ok(Line::Incomplete),
        Err(e) => Err(e),
    }
}

/// Parses the command that is the end of `input`.
fn command(input: &str, end: &str, columns: &Columns) -> Result<Command, ShellError> {
    if sql::is_sql(end) {
        return statement(sql::run, end);
    }
    let (name, rest) = split_verb(end);
    if name.eq_ignore_ascii_case("explain") && sql::is_sql(rest) {
        return statement(sql::explain, rest);
    }
    let verb = verbs::find(name)?;
    let called = rest.starts_with('(');
    match verb.handler {
        Handler::Words(run) if called => {
            words_of_call(input, rest).map(|words| Command::Words(run, words))
        }
        Handler::Words(run) => words(rest).map(|words| Command::Words(run, words)),
        Handler::Terms(run) => terms(input, rest, called).map(|terms| Command::Terms(run, terms)),
        Handler::Query(run, does) => {
            query(verb, input, rest, does, columns).map(|request| Command::Query(run, request))
        }
        Handler::At => at(verb, input, rest, columns),
    }
}

/// Returns the command of SQL, unless more is to come.
fn statement(
    run: fn(&mut Session, &str) -> Result<(), ShellError>,
    text: &str,
) -> Result<Command, ShellError> {
    match sql::is_open(text) {
        true => Err(ShellError::Parse(incomplete())),
        false => Ok(Command::Sql(run, text.to_owned())),
    }
}

/// Parses the name of a snapshot and a command that reads it.
fn at(
    verb: &'static Verb,
    input: &str,
    rest: &str,
    columns: &Columns,
) -> Result<Command, ShellError> {
    let usage = |problem: String| Session::usage(problem, verb.usage);
    if rest.is_empty() || rest.starts_with('(') {
        return Err(usage("the name of a snapshot is needed".to_owned()));
    }
    let (name, used) = text::parse_prefix(rest).map_err(|e| placed(e, input, rest))?;
    let name = Session::name(name, verb.usage)?.as_str();
    let end = rest[used..].trim_start();
    if end.is_empty() {
        return Err(usage("a command is needed".to_owned()));
    }
    if !sql::is_sql(end) {
        let reader = verbs::find(split_verb(end).0)?;
        if !reader.takes("TABLE") {
            return Err(usage(format!("`{}` reads no table", reader.name)));
        }
    }
    let command = command(input, end, &columns.at(name))?;
    Ok(Command::At(name.to_owned(), Box::new(command)))
}

/// Parses a query, in its own language or as a call.
fn query(
    verb: &'static Verb,
    input: &str,
    rest: &str,
    does: Does,
    columns: &Columns,
) -> Result<Request, ShellError> {
    if !rest.starts_with('(') {
        return query::parse(input, input.len() - rest.len(), does, columns);
    }
    Request::of_call(terms(input, rest, true)?, does).ok_or_else(|| ShellError::Usage {
        problem:
            "a call takes a table, a match specification, and `select` a limit above zero or none"
                .to_owned(),
        usage: verb.usage,
    })
}

/// Returns the `ets:` or `fyris:` before a verb, and what follows it.
pub(crate) fn split_module(input: &str) -> (&str, &str) {
    let known = ["ets:", "fyris:"]
        .into_iter()
        .find(|module| input.starts_with(module));
    input.split_at(known.map_or(0, str::len))
}

/// Returns the verb without an `ets:` or `fyris:` before it, and what follows it.
pub(crate) fn split_verb(input: &str) -> (&str, &str) {
    let (_, body) = split_module(input);
    let end = body
        .find(|c: char| !(c.is_alphanumeric() || c == '_'))
        .unwrap_or(body.len());
    let end = if end == 0 {
        body.find(char::is_whitespace).unwrap_or(body.len())
    } else {
        end
    };
    (&body[..end], body[end..].trim_start())
}

/// Parses terms side by side (commas between them are allowed), or in the parentheses of a call. `rest` is the end of
/// `input`.
fn terms(input: &str, rest: &str, called: bool) -> Result<Vec<Term>, ShellError> {
    let mut at = if called { &rest[1..] } else { rest };
    let mut terms = Vec::new();
    loop {
        at = at.trim_start();
        let over = if called {
            at.starts_with(')')
        } else {
            at.is_empty() || at == "."
        };
        if over {
            break;
        }
        if at.is_empty() {
            return Err(ShellError::Parse(incomplete()));
        }
        let (term, used) = text::parse_prefix(at).map_err(|e| placed(e, input, at))?;
        terms.push(term);
        at = at[used..].trim_start();
        at = at.strip_prefix(',').unwrap_or(at);
    }
    let tail = if called { at[1..].trim_start() } else { at };
    match tail.trim() {
        "" | "." => Ok(terms),
        tail => Err(ShellError::other(format!(
            "`{tail}` is left over after the command"
        ))),
    }
}

/// Returns an error in `at`, which is the end of `input`, with its place in the whole.
fn placed(error: ParseError, input: &str, at: &str) -> ParseError {
    let offset = input.len() - at.len() + error.offset;
    let before = &input[..offset];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    ParseError {
        offset,
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        ..error
    }
}

/// Returns the error of a call whose `)` has not come yet, which is that of a tuple cut short.
fn incomplete() -> ParseError {
    match text::parse_prefix("{") {
        Err(e) => e,
        Ok(_) => unreachable!("an open brace is no term"),
    }
}

/// Parses a call whose arguments are words: `ets:file2tab("x.ets").`
fn words_of_call(input: &str, rest: &str) -> Result<Vec<String>, ShellError> {
    terms(input, rest, true)?.iter().map(word).collect()
}

/// Returns the text of a term where a word is expected: an atom, a string or a binary of text.
fn word(term: &Term) -> Result<String, ShellError> {
    let text = match term {
        Term::Atom(atom) => Some(atom.as_str().to_owned()),
        Term::List(codes) => codes.iter().map(character).collect(),
        Term::Binary(bytes) => String::from_utf8(bytes.to_vec()).ok(),
        _ => None,
    };
    text.ok_or_else(|| {
        ShellError::other(format!(
            "{term} is no word: an atom, a string or a binary of text is"
        ))
    })
}

fn character(code: &Term) -> Option<char> {
    char::from_u32(u32::try_from(code.as_int()?).ok()?)
}

/// Words split at spaces; `"..."` and `'...'` keep spaces, a backslash keeps the next character.
fn words(rest: &str) -> Result<Vec<String>, ShellError> {
    let (mut words, mut word, mut inside, mut quote) = (Vec::new(), String::new(), false, None);
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (_, '\\') => word.extend(chars.next()),
            (Some(q), c) if c == q => quote = None,
            (Some(_), c) => word.push(c),
            (None, '"' | '\'') => (quote, inside) = (Some(c), true),
            (None, c) if c.is_whitespace() => {
                if inside || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                inside = false;
            }
            (None, c) => word.push(c),
        }
    }
    if let Some(q) = quote {
        return Err(ShellError::other(format!("a {q} is not closed")));
    }
    if inside || !word.is_empty() {
        words.push(word);
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(input: &str) -> Result<Line, ShellError> {
        super::parse(input, &Columns::default())
    }

    fn terms_of(input: &str) -> Vec<String> {
        match parse(input) {
            Ok(Line::Command(Command::Terms(_, terms))) => {
                terms.iter().map(Term::to_string).collect()
            }
            Ok(_) => panic!("{input}: no command of terms"),
            Err(e) => panic!("{input}: {e}"),
        }
    }

    fn words_in(input: &str) -> Vec<String> {
        match parse(input) {
            Ok(Line::Command(Command::Words(_, words))) => words,
            _ => panic!("{input}: no command of words"),
        }
    }

    #[test]
    fn words_and_calls_say_the_same() {
        let wanted = ["users", "{a,1}"];
        for input in [
            "insert users {a, 1}",
            "insert users, {a,1}.",
            "ets:insert(users, {a, 1}).",
            "insert(users,{a,1})",
        ] {
            assert_eq!(terms_of(input), wanted, "{input}");
        }
    }

    #[test]
    fn an_open_term_waits_for_more() {
        for input in [
            "insert users {a,",
            "ets:insert(users, {a, 1}",
            "insert users [1,\n 2",
            "lookup users \"abc",
        ] {
            assert!(matches!(parse(input), Ok(Line::Incomplete)), "{input}");
        }
        assert_eq!(terms_of("insert users {a,\n 1}").len(), 2);
    }

    #[test]
    fn lines_become_commands_one_by_one() {
        assert_eq!(Commands::in_lines("count\n\n% note\nhead 3"), 2);
        assert_eq!(Commands::in_lines("insert t {a,\n 1}\ncount\nlookup {"), 2);
        assert_eq!(Commands::in_lines("nonsense\ncount"), 2);
        let mut commands = Commands::default();
        assert!(commands.add("insert t {a,", &Columns::default()).is_none());
        assert_eq!(commands.unfinished(), Some("insert t {a,"));
        assert!(matches!(
            commands.add("1}", &Columns::default()),
            Some(Ok(Line::Command(_)))
        ));
        assert_eq!(commands.unfinished(), None);
    }

    #[test]
    fn file_commands_take_words() {
        assert_eq!(words_in("open \"my file.ets\" x"), ["my file.ets", "x"]);
        assert_eq!(words_in("open my\\ file.ets"), ["my file.ets"]);
        assert_eq!(words_in("open ''"), [""]);
        assert!(parse("open \"abc").is_err());
    }

    /// `ets:tab2file(t, "/tmp/x.ets").` once wrote a file called `[47,116,109,112,...]`: a string is a list, and was
    /// shown as one.
    #[test]
    fn file_commands_take_calls() {
        for call in [
            "ets:tab2file(t, \"/tmp/x y.ets\").",
            "tab2file('t', '/tmp/x y.ets')",
            "ets:tab2file(t, <<\"/tmp/x y.ets\">>).",
        ] {
            assert_eq!(words_in(call), ["t", "/tmp/x y.ets"], "{call}");
        }
        assert_eq!(words_in("ets:file2tab(\"\")."), [""]);
        for call in ["ets:file2tab(1).", "file2tab({a})", "file2tab([a])"] {
            assert!(parse(call).is_err(), "{call}");
        }
    }

    #[test]
    fn errors_are_placed_in_the_whole_line() {
        for (input, line, column) in [
            ("lookup t A", 1, 10),
            ("ets:lookup(t, A).", 1, 15),
            ("insert t {a,\n {ö, B}}", 2, 6),
        ] {
            match parse(input) {
                Err(ShellError::Parse(e)) => {
                    assert_eq!((e.line, e.column), (line, column), "{input}");
                }
                _ => panic!("{input}: no error of a term"),
            }
        }
    }

    #[test]
    fn blanks_and_strangers() {
        assert!(matches!(parse("  % a comment"), Ok(Line::Blank)));
        assert!(matches!(
            parse("lokup users 1"),
            Err(ShellError::UnknownVerb(..))
        ));
        assert!(parse("lookup users 1)").is_err());
    }
}

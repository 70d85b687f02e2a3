//! One line of input: a verb and its arguments.
//!
//! Two ways of writing the same command are read: words (`lookup users 42`) and, for fingers used to Erlang, a call
//! (`ets:lookup(users, 42).`). Arguments are Erlang terms, but for the commands about files, whose arguments are words
//! (quoted where they hold spaces), and for queries, which have a language of their own (`query`).

use fyris_term::Term;
use fyris_term::text::{self, ParseError};

use super::error::ShellError;
use super::query::{self, Request, Returns};
use super::verbs::{self, Handler, Verb};

/// A command ready to run.
pub(crate) enum Command {
    /// Arguments are words.
    Words(&'static Verb, Vec<String>),
    /// Arguments are terms.
    Terms(&'static Verb, Vec<Term>),
    /// The argument is a query.
    Query(&'static Verb, Request),
}

/// What a line turned out to be.
pub(crate) enum Line {
    /// Nothing but space or a `%` comment.
    Blank,
    /// A term or a call is not closed yet: more lines are to come.
    Incomplete,
    /// A command.
    Command(Command),
}

/// Reads one line (or several, joined, where a term goes over lines).
pub(crate) fn parse(input: &str) -> Result<Line, ShellError> {
    let input = input.trim();
    if input.is_empty() || input.starts_with('%') {
        return Ok(Line::Blank);
    }
    let (name, rest) = split_verb(input);
    let verb = verbs::find(name)?;
    let called = rest.starts_with('(');
    match verb.handler {
        Handler::Words(_) if called => words_of_call(verb, rest),
        Handler::Words(_) => Ok(Line::Command(Command::Words(verb, words(rest)?))),
        Handler::Terms(_) => match terms(rest, called) {
            Ok(terms) => Ok(Line::Command(Command::Terms(verb, terms))),
            Err(ShellError::Parse(e)) if e.is_incomplete() => Ok(Line::Incomplete),
            Err(e) => Err(e),
        },
        Handler::Query(_, returns) => match query(verb, input, rest, returns) {
            Ok(request) => Ok(Line::Command(Command::Query(verb, request))),
            Err(ShellError::Parse(e)) if e.is_incomplete() => Ok(Line::Incomplete),
            Err(ShellError::Syntax(e)) if e.incomplete => Ok(Line::Incomplete),
            Err(e) => Err(e),
        },
    }
}

/// A query, in its own language or as a call.
fn query(
    verb: &'static Verb,
    input: &str,
    rest: &str,
    returns: Returns,
) -> Result<Request, ShellError> {
    if !rest.starts_with('(') {
        return query::parse(input, input.len() - rest.len(), returns);
    }
    Request::of_call(terms(rest, true)?).ok_or_else(|| ShellError::Usage {
        problem: "a call takes a table, a match specification, and a limit above zero or none"
            .to_owned(),
        usage: verb.usage,
    })
}

/// The verb without an `ets:` or `fyris:` before it, and what follows it.
fn split_verb(input: &str) -> (&str, &str) {
    let body = input
        .strip_prefix("ets:")
        .or_else(|| input.strip_prefix("fyris:"))
        .unwrap_or(input);
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

/// Terms side by side (commas between them are allowed), or in the parentheses of a call.
fn terms(rest: &str, called: bool) -> Result<Vec<Term>, ShellError> {
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
        let (term, used) = text::parse_prefix(at)?;
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

/// The error of a call whose `)` has not come yet, which is that of a tuple cut short.
fn incomplete() -> ParseError {
    match text::parse_prefix("{") {
        Err(e) => e,
        Ok(_) => unreachable!("an open brace is no term"),
    }
}

/// A call whose arguments are words: `ets:file2tab("x.ets").`
fn words_of_call(verb: &'static Verb, rest: &str) -> Result<Line, ShellError> {
    let as_word = |term: Term| match &term {
        Term::Atom(atom) => atom.as_str().to_owned(),
        term => term.to_string().trim_matches('"').to_owned(),
    };
    match terms(rest, true) {
        Ok(terms) => Ok(Line::Command(Command::Words(
            verb,
            terms.into_iter().map(as_word).collect(),
        ))),
        Err(ShellError::Parse(e)) if e.is_incomplete() => Ok(Line::Incomplete),
        Err(e) => Err(e),
    }
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
    fn file_commands_take_words() {
        assert_eq!(words_in("open \"my file.ets\" x"), ["my file.ets", "x"]);
        assert_eq!(words_in("open my\\ file.ets"), ["my file.ets"]);
        assert_eq!(words_in("open ''"), [""]);
        assert!(parse("open \"abc").is_err());
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

//! What can be told of a line before it is parsed: whether it is SQL, whether it goes on, how deep it is.

use sqlparser::dialect::{Dialect, GenericDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace};

use crate::shell::error::ShellError;

/// Operators that may stand in a row, each of which nests.
const DEEPEST: usize = 300;

/// Returns the tokens of a text as far as there are such, and the error behind them.
fn tokens_of(
    dialect: &dyn Dialect,
    text: &str,
) -> (Vec<TokenWithSpan>, Result<(), TokenizerError>) {
    let mut tokens = Vec::new();
    let read = Tokenizer::new(dialect, text).tokenize_with_location_into_buf(&mut tokens);
    (tokens, read)
}

/// Returns whether a line is SQL: begins with `SELECT ... FROM`, `INSERT INTO`, `UPDATE ... SET` or `DELETE FROM`, in
/// any case, with a name behind. The shorthand of `select` has no FROM before these words of its own, and objects and
/// keys that are no names tell commands of tables that are called `into` or `from`.
pub(crate) fn is_sql(text: &str) -> bool {
    let begins = ["select", "insert", "update", "delete", "--", "/*"];
    let begins_so = |word: &&str| {
        let begin = text.get(..word.len());
        begin.is_some_and(|begin| begin.eq_ignore_ascii_case(word))
    };
    if !begins.iter().any(begins_so) {
        return false;
    }
    // In terms there are brackets, which quote names in SQL.
    let (tokens, _) = tokens_of(&GenericDialect {}, text);
    let tokens = tokens.into_iter().map(|token| token.token);
    let tokens = tokens.filter(|token| !matches!(token, Token::Whitespace(_)));
    begins_as_sql(outside(tokens))
}

/// Returns the tokens outside of parentheses and the like, and these themselves.
fn outside(tokens: impl Iterator<Item = Token>) -> impl Iterator<Item = Token> {
    let mut open: Vec<Token> = Vec::new();
    tokens.filter(move |token| match token {
        Token::LParen | Token::LBracket | Token::LBrace => {
            open.push(token.clone());
            open.len() == 1
        }
        Token::RParen | Token::RBracket | Token::RBrace => {
            let opens = match token {
                Token::RParen => Token::LParen,
                Token::RBracket => Token::LBracket,
                _ => Token::LBrace,
            };
            // What is open inside of brackets belongs to the name that they quote.
            if let Some(at) = open.iter().rposition(|known| *known == opens) {
                open.truncate(at);
            }
            false
        }
        _ => open.is_empty(),
    })
}

fn begins_as_sql(mut tokens: impl Iterator<Item = Token>) -> bool {
    let keyword = |token: &Token| match token {
        Token::Word(word) if word.quote_style.is_none() => word.value.to_ascii_lowercase(),
        _ => String::new(),
    };
    let Some(first) = tokens.next().map(|token| keyword(&token)) else {
        return false;
    };
    match first.as_str() {
        "select" => {
            let ends = ["from", "where", "return", "group", "sort"];
            let mut words = tokens.map(|token| keyword(&token)).enumerate();
            let end = words.find(|(_, word)| ends.contains(&word.as_str()));
            end.is_some_and(|(at, word)| at > 0 && word == "from")
        }
        "update" => tokens.any(|token| keyword(&token) == "set"),
        "insert" | "delete" => {
            let second = tokens.next().map(|token| keyword(&token));
            let third = tokens.next();
            match (first.as_str(), second.as_deref()) {
                ("insert", Some("into")) if third == Some(Token::LBracket) => {
                    tokens.next().is_some()
                }
                ("insert", Some("into" | "or")) | ("delete", Some("from")) => {
                    matches!(third, Some(Token::Word(_)))
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// Returns whether a text is comments of SQL and nothing else.
pub(crate) fn is_comment(text: &str) -> bool {
    let begins = text.starts_with("--") || text.starts_with("/*");
    let is_space = |token: &TokenWithSpan| matches!(token.token, Token::Whitespace(_));
    begins && tokens_of(&SQLiteDialect {}, text).0.iter().all(is_space)
}

/// Returns whether a line of SQL goes on: a parenthesis, a quote or a comment is open.
pub(crate) fn is_open(text: &str) -> bool {
    OpenSql::default().is_open(text)
}

/// A statement that grows line by line, of which each line is looked at once.
#[derive(Default)]
pub(crate) struct OpenSql {
    /// What was looked at, and how many parentheses are open there.
    seen: usize,
    depth: i64,
}

impl OpenSql {
    /// Returns whether a text goes on, which has more lines than the time before.
    pub(crate) fn is_open(&mut self, text: &str) -> bool {
        let (tokens, read) = tokens_of(&SQLiteDialect {}, &text[self.seen..]);
        if let Err(error) = read {
            let is_unclosed = |what| error.message.contains(what);
            return ["Unterminated", "EOF"].into_iter().any(is_unclosed);
        }
        // One at the end of the input is none for SQLite, but here the next line may end it.
        if let Some(Token::Whitespace(Whitespace::MultiLineComment(comment))) =
            tokens.last().map(|token| &token.token)
            && !text.ends_with(&format!("/*{comment}*/"))
        {
            return true;
        }
        let depth = tokens.iter().map(|token| match token.token {
            Token::LParen => 1,
            Token::RParen => -1,
            _ => 0,
        });
        (self.seen, self.depth) = (text.len(), self.depth + depth.sum::<i64>());
        self.depth > 0
    }
}

/// Returns the tokens of a text that is not nested too deeply: the parser bounds parentheses, but not chains of
/// operators.
pub(super) fn tokens(text: &str) -> Result<Vec<TokenWithSpan>, ShellError> {
    let (tokens, read) = tokens_of(&SQLiteDialect {}, text);
    read.map_err(|error| super::refuse::parse_error(error.into()))?;
    let mut counts = vec![0_usize];
    let mut all = 0;
    for token in &tokens {
        let depth = counts.len() - 1;
        match &token.token {
            Token::LParen => counts.push(0),
            Token::RParen if depth > 0 => all -= counts.pop().unwrap_or(0),
            Token::Comma | Token::SemiColon => all -= std::mem::take(&mut counts[depth]),
            Token::Whitespace(_) | Token::Number(..) | Token::SingleQuotedString(_) => {}
            Token::Word(word) if word.keyword == Keyword::NoKeyword => {}
            Token::Period | Token::RParen => {}
            _ => {
                counts[depth] += 1;
                all += 1;
            }
        }
        if all > DEEPEST {
            let problem = format!("more than {DEEPEST} operators in a row: too many to nest");
            return Err(super::refuse::at(token.span, &problem));
        }
    }
    Ok(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_is_told_from_the_shorthand() {
        for sql in [
            "SELECT name FROM people",
            "select count(*) from people where age > 3",
            "Select \"where\" From t",
            "SELECT [(] FROM t",
            "INSERT INTO t VALUES (1)",
            "insert into [a b] (c) values (1)",
            "INSERT INTO t VALUES ('it",
            "update t set a = 1",
            "DELETE FROM t",
            "select a -- where\nfrom t",
            "/* it's */ SELECT 1 FROM t",
            "select a /* where */ from t",
        ] {
            assert!(is_sql(sql), "{sql}");
        }
        for other in [
            "select people where from == 3",
            "select people",
            "select people return {from}",
            "select t sort by from",
            "select t [{[],from}]",
            "select from where age > 3",
            "insert t {into, 1}",
            "insert into {a, 1}",
            "insert into, {a, 1}",
            "insert into [{a, 1}]",
            "insert or {a, 1}",
            "delete t from",
            "delete from 1",
            "delete from {a, 1}",
            "delete 'from' a",
            "select {from, _}",
            "",
        ] {
            assert!(!is_sql(other), "{other}");
        }
    }

    #[test]
    fn open_lines_go_on() {
        for (text, open) in [
            ("SELECT a FROM t WHERE a IN (1,", true),
            ("SELECT 'it''s' FROM t", false),
            ("SELECT 'a FROM t", true),
            ("SELECT \"a FROM t", true),
            ("SELECT a) FROM t", false),
            ("SELECT a FROM t /* it's */", false),
            ("SELECT a FROM t /* (", true),
            ("SELECT a FROM t /*/", true),
            ("SELECT a FROM t /*/*/", false),
            ("SELECT a FROM t -- it's (", false),
            ("SELECT [)] FROM t", false),
            ("SELECT [(] FROM t", false),
        ] {
            assert_eq!(is_open(text), open, "{text}");
        }
    }

    #[test]
    fn chains_are_bounded() {
        for chain in [
            "1 + ",
            "1 +/*,*/ ",
            "NOT ",
            "(1, 2) + ",
            "CASE WHEN 1 THEN 2 ELSE ",
        ] {
            assert!(tokens(&chain.repeat(DEEPEST + 1)).is_err(), "{chain}");
        }
        for list in ["(1 + 2), ", "DELETE FROM t WHERE a = 1; "] {
            assert!(tokens(&list.repeat(10 * DEEPEST)).is_ok(), "{list}");
        }
    }
}

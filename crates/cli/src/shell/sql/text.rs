//! What can be told of a line before it is parsed: whether it is SQL, whether it goes on, how deep it is.

use sqlparser::dialect::{Dialect, GenericDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError, Whitespace, Word};

use crate::shell::error::ShellError;

/// Words that no statement ends with, and that go on with one in the next line.
const WITHIN: [Keyword; 36] = [
    Keyword::AND,
    Keyword::AS,
    Keyword::BETWEEN,
    Keyword::BY,
    Keyword::CASE,
    Keyword::CROSS,
    Keyword::DISTINCT,
    Keyword::ELSE,
    Keyword::EXCEPT,
    Keyword::FROM,
    Keyword::FULL,
    Keyword::GROUP,
    Keyword::HAVING,
    Keyword::IN,
    Keyword::INNER,
    Keyword::INTERSECT,
    Keyword::INTO,
    Keyword::IS,
    Keyword::JOIN,
    Keyword::LEFT,
    Keyword::LIKE,
    Keyword::LIMIT,
    Keyword::NATURAL,
    Keyword::NOT,
    Keyword::OFFSET,
    Keyword::ON,
    Keyword::OR,
    Keyword::ORDER,
    Keyword::OUTER,
    Keyword::RIGHT,
    Keyword::SET,
    Keyword::THEN,
    Keyword::UNION,
    Keyword::VALUES,
    Keyword::WHEN,
    Keyword::WHERE,
];

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
/// any case, with a name behind; or with the first of these words in capitals, as no command does. The shorthand of `select` has no FROM before these words of its own, and objects and
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
    let first = text.split(|c: char| !c.is_ascii_alphabetic()).next();
    if let Some("SELECT" | "INSERT" | "UPDATE" | "DELETE") = first {
        return true;
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

/// Returns whether more of a statement has to come.
pub(crate) fn is_open(text: &str) -> bool {
    OpenSql::default().end(text) == SqlEnd::Open
}

/// Returns whether a line goes on with the statement before it, which is whole without it.
pub(crate) fn goes_on(line: &str) -> bool {
    let (tokens, _) = tokens_of(&SQLiteDialect {}, line);
    let mut tokens = tokens.into_iter().map(|token| token.token);
    match tokens.find(|token| !matches!(token, Token::Whitespace(_))) {
        None | Some(Token::LParen | Token::RParen | Token::SemiColon) => true,
        Some(Token::Word(word)) => {
            let ends = [Keyword::ASC, Keyword::DESC, Keyword::END, Keyword::NULL];
            is_one_of(&word, &WITHIN) || is_one_of(&word, &ends)
        }
        Some(token) => is_operator(&token),
    }
}

fn is_one_of(word: &Word, keywords: &[Keyword]) -> bool {
    word.quote_style.is_none() && keywords.contains(&word.keyword)
}

/// Returns whether a token stands between two others. `%` begins a comment, and `.` a command.
fn is_operator(token: &Token) -> bool {
    matches!(
        token,
        Token::Comma
            | Token::Eq
            | Token::DoubleEq
            | Token::Neq
            | Token::Lt
            | Token::LtEq
            | Token::Gt
            | Token::GtEq
            | Token::Plus
            | Token::Minus
            | Token::Mul
            | Token::Div
            | Token::StringConcat
    )
}

/// How a text of SQL ends.
#[derive(Debug, PartialEq)]
pub(crate) enum SqlEnd {
    /// Within a parenthesis, a quote or a comment, or behind a word or an operator that something follows.
    Open,
    /// As a statement may end; the next line may go on with it.
    MayGoOn,
    /// With `;`, or with what is no SQL.
    Ended,
}

/// A statement that grows line by line, of which each line is looked at once.
#[derive(Default)]
pub(crate) struct OpenSql {
    /// What was looked at, how many parentheses are open there, and the last token.
    seen: usize,
    depth: i64,
    last: Option<Token>,
    /// The word that the last statement begins with, and whether it has a part that says what it is about.
    first: Option<Keyword>,
    is_limited: bool,
}

impl OpenSql {
    /// Returns how a text ends, which has more lines than the time before.
    pub(crate) fn end(&mut self, text: &str) -> SqlEnd {
        let (tokens, read) = tokens_of(&SQLiteDialect {}, &text[self.seen..]);
        if let Err(error) = read {
            let is_unclosed = |what| error.message.contains(what);
            return match ["Unterminated", "EOF"].into_iter().any(is_unclosed) {
                true => SqlEnd::Open,
                false => SqlEnd::Ended,
            };
        }
        // One at the end of the input is none for SQLite, but here the next line may end it.
        if let Some(Token::Whitespace(Whitespace::MultiLineComment(comment))) =
            tokens.last().map(|token| &token.token)
            && !text.ends_with(&format!("/*{comment}*/"))
        {
            return SqlEnd::Open;
        }
        self.seen = text.len();
        tokens.into_iter().for_each(|token| self.add(token.token));
        let wants_more = |token: &Token| match token {
            Token::Word(word) => {
                let begins = [
                    Keyword::SELECT,
                    Keyword::INSERT,
                    Keyword::UPDATE,
                    Keyword::DELETE,
                ];
                is_one_of(word, &WITHIN) || is_one_of(word, &begins)
            }
            token => is_operator(token),
        };
        match &self.last {
            Some(Token::SemiColon) if self.depth <= 0 => SqlEnd::Ended,
            Some(token) if self.depth > 0 || wants_more(token) => SqlEnd::Open,
            _ => SqlEnd::MayGoOn,
        }
    }

    fn add(&mut self, token: Token) {
        match &token {
            Token::Whitespace(_) => return,
            Token::LParen => self.depth += 1,
            Token::RParen => self.depth -= 1,
            Token::SemiColon => (self.first, self.is_limited) = (None, false),
            Token::Word(word) if self.first.is_none() => self.first = Some(word.keyword),
            Token::Word(word) => {
                let limit = match self.first {
                    Some(Keyword::SELECT) => Keyword::FROM,
                    _ => Keyword::WHERE,
                };
                self.is_limited |= word.keyword == limit;
            }
            _ => {}
        }
        self.last = Some(token);
    }

    /// Returns whether a statement that may go on had better be ended by `;`, where nobody knows the next line: one
    /// that changes all objects as it is, and a SELECT without FROM.
    pub(crate) fn wants_semicolon(&self) -> bool {
        let wants = [Keyword::SELECT, Keyword::UPDATE, Keyword::DELETE];
        !self.is_limited && self.first.is_some_and(|first| wants.contains(&first))
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
            "SELECT name,",
            "UPDATE t",
        ] {
            assert!(is_sql(sql), "{sql}");
        }
        for other in [
            "select people where from == 3",
            "select people",
            "Select people",
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
    fn the_next_line_goes_on() {
        for (text, end) in [
            ("DELETE FROM t", SqlEnd::MayGoOn),
            ("DELETE FROM t;", SqlEnd::Ended),
            ("DELETE FROM t; -- all", SqlEnd::Ended),
            ("DELETE FROM t WHERE", SqlEnd::Open),
            ("SELECT a,", SqlEnd::Open),
            ("SELECT a FROM t WHERE b = -- what", SqlEnd::Open),
            ("SELECT a FROM t WHERE b = 'x';'", SqlEnd::Open),
            ("SELECT a FROM \"where\"", SqlEnd::MayGoOn),
        ] {
            assert_eq!(OpenSql::default().end(text), end, "{text}");
        }
        for line in [
            "WHERE a",
            "  and b",
            ", c",
            ")",
            "",
            "-- note",
            ";",
            "order by 1",
            "= 2",
        ] {
            assert!(goes_on(line), "{line}");
        }
        for line in [
            "count",
            "% note",
            ".tables",
            "select t",
            "\"where\"",
            "wherever",
        ] {
            assert!(!goes_on(line), "{line}");
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

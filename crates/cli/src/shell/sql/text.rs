//! What can be told of a line before it is parsed: whether it is SQL, whether it goes on, how deep it is.

use crate::shell::error::ShellError;

/// Operators that may stand in a row, each of which nests.
const DEEPEST: usize = 300;

/// A piece of a line.
#[derive(Debug, PartialEq)]
enum Piece<'t> {
    Word(&'t str),
    Open,
    Close,
    /// A text or a name in quotes that has no end.
    Unclosed,
    /// A text or a name in quotes.
    Quoted,
    Comma,
    Other,
}

/// Returns the pieces of a line, comments left out.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            rest = rest.trim_start();
            match rest.strip_prefix("--") {
                Some(comment) => rest = &comment[comment.find('\n').unwrap_or(comment.len())..],
                None => break,
            }
        }
        let first = rest.chars().next()?;
        let in_word = |c: char| c.is_alphanumeric() || c == '_';
        let (length, piece) = match first {
            '\'' | '"' | '`' => match rest[1..].find(first) {
                Some(end) => (end + 2, Piece::Quoted),
                None => (rest.len(), Piece::Unclosed),
            },
            '(' | '[' | '{' => (1, Piece::Open),
            ')' | ']' | '}' => (1, Piece::Close),
            ',' => (1, Piece::Comma),
            c if in_word(c) => {
                let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
                (end, Piece::Word(&rest[..end]))
            }
            c => (c.len_utf8(), Piece::Other),
        };
        rest = &rest[length..];
        Some(piece)
    })
}

/// Returns whether a line is SQL: begins with `SELECT ... FROM`, `INSERT INTO`, `UPDATE ... SET` or `DELETE FROM`, in any
/// case. The shorthand of `select` has no FROM before these words of its own.
pub(crate) fn is_sql(text: &str) -> bool {
    let is = |word: &str, of: &str| word.eq_ignore_ascii_case(of);
    let mut depth = 0_usize;
    let mut words = pieces(text).filter_map(|piece| {
        match piece {
            Piece::Open => depth += 1,
            Piece::Close => depth = depth.saturating_sub(1),
            Piece::Word(word) if depth == 0 => return Some(word),
            _ => {}
        }
        None
    });
    let Some(first) = words.next() else {
        return false;
    };
    if is(first, "select") {
        let ends = ["from", "where", "return", "group", "sort"];
        let end = words.find(|word| ends.iter().any(|end| is(word, end)));
        return end.is_some_and(|word| is(word, "from"));
    }
    if is(first, "update") {
        return words.any(|word| is(word, "set"));
    }
    let second = words.next().unwrap_or_default();
    let inserts = is(first, "insert") && (is(second, "into") || is(second, "or"));
    inserts || (is(first, "delete") && is(second, "from"))
}

/// Returns whether a line of SQL goes on: a parenthesis or a quote is open.
pub(crate) fn is_open(text: &str) -> bool {
    let mut depth = 0_i64;
    for piece in pieces(text) {
        match piece {
            Piece::Open => depth += 1,
            Piece::Close => depth -= 1,
            Piece::Unclosed => return true,
            _ => {}
        }
    }
    depth > 0
}

/// Refuses what would nest too deeply: the parser bounds parentheses, but not chains of operators.
pub(super) fn check_depth(text: &str) -> Result<(), ShellError> {
    let mut counts = vec![0_usize];
    for piece in pieces(text) {
        match piece {
            Piece::Open => counts.push(0),
            Piece::Close if counts.len() > 1 => drop(counts.pop()),
            Piece::Comma => counts.last_mut().into_iter().for_each(|count| *count = 0),
            Piece::Word(_) | Piece::Other => {
                counts.last_mut().into_iter().for_each(|count| *count += 1)
            }
            _ => {}
        }
        if counts.iter().sum::<usize>() > DEEPEST {
            let problem = format!("more than {DEEPEST} words and signs without a comma between");
            return Err(ShellError::other(problem));
        }
    }
    Ok(())
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
            "INSERT INTO t VALUES (1)",
            "update t set a = 1",
            "DELETE FROM t",
            "select a -- where\nfrom t",
        ] {
            assert!(is_sql(sql), "{sql}");
        }
        for other in [
            "select people where from == 3",
            "select people",
            "select people return {from}",
            "select t sort by from",
            "insert t {into, 1}",
            "delete t from",
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
            ("SELECT a) FROM t", false),
        ] {
            assert_eq!(is_open(text), open, "{text}");
        }
    }

    #[test]
    fn chains_are_bounded() {
        let chain = "1 + ".repeat(DEEPEST);
        assert!(check_depth(&chain).is_err());
        assert!(check_depth(&"(1, 2), ".repeat(10 * DEEPEST)).is_ok());
    }
}

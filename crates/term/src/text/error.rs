//! Errors in a text.

/// Why a text is no term, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {kind}")]
pub struct ParseError {
    /// The kind of error.
    pub kind: ParseErrorKind,
    /// The byte of the text where it is.
    pub offset: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
}

/// Kinds of errors in a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Something else stands where `expected` should.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// The item expected here.
        expected: &'static str,
        /// The text found.
        found: String,
    },
    /// The text ends too early; more of it may make it right.
    #[error("expected {0}, found the end of the text")]
    Incomplete(&'static str),
    /// A quoted atom, string or identifier that is never closed; more text may make it right.
    #[error("{0} is not closed")]
    Unclosed(&'static str),
    /// A term, but none that a text can stand for.
    #[error("{0}")]
    Refused(&'static str),
    /// A number whose digits are wrong or that is out of range.
    #[error("{what}: `{text}`")]
    Number {
        /// The kind of error.
        what: &'static str,
        /// The digits.
        text: String,
    },
    /// A backslash and what may not follow it.
    #[error("wrong escape sequence: {0}")]
    Escape(&'static str),
    /// No atom can have this name.
    #[error(transparent)]
    Atom(#[from] crate::AtomError),
}

impl ParseError {
    /// Returns whether more text behind could make it right. A shell then asks for another line.
    pub fn is_incomplete(&self) -> bool {
        matches!(
            self.kind,
            ParseErrorKind::Incomplete(_) | ParseErrorKind::Unclosed(_)
        )
    }

    /// Makes the error `kind` at byte `offset` of `text`. O(offset).
    pub(super) fn at(text: &str, offset: usize, kind: ParseErrorKind) -> ParseError {
        let before = &text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        ParseError {
            kind,
            offset,
            line: before.bytes().filter(|&b| b == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// An error of the scanner or the parser: the offset becomes a line and a column only once.
pub(super) struct Wrong {
    pub(super) offset: usize,
    pub(super) kind: ParseErrorKind,
}

impl Wrong {
    pub(super) fn new(offset: usize, kind: impl Into<ParseErrorKind>) -> Wrong {
        Wrong {
            offset,
            kind: kind.into(),
        }
    }
}

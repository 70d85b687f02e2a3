//! The parser: recursive descent, a level of recursion a level of nesting, at most [`MAX_DEPTH`] of them.

use super::chars::starts_variable;
use super::error::{ParseErrorKind, Wrong};
use super::scan::Scanner;
use crate::term::Fun;
use crate::{MAX_DEPTH, Map, Term};

pub(super) struct Parser<'a> {
    pub(super) scan: Scanner<'a>,
    /// Levels entered and not yet left.
    depth: usize,
}

const A_TERM: &str = "a term";

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Parser<'a> {
        Parser {
            scan: Scanner { text, at: 0 },
            depth: 0,
        }
    }

    /// Parses a term, blanks before it too.
    pub(super) fn term(&mut self) -> Result<Term, Wrong> {
        self.scan.skip_blank();
        let rest = self.scan.rest();
        match self.scan.peek() {
            Some('0'..='9') => self.scan.number(false),
            Some('-' | '+') => self.signed(),
            Some('$') => {
                self.scan.bump();
                self.scan.character()
            }
            Some('"') => self.string(),
            Some('~') => self.scan.sigil(),
            Some('[') => self.nested(Self::list),
            Some('{') => self.nested(Self::tuple),
            Some('<') if rest.starts_with("<<") => self.bitstring(),
            Some('<') if rest.len() > 1 => self.pid(),
            Some('#') if rest.starts_with("#{") => self.nested(Self::map),
            Some('#') if rest.len() > 1 => self.hash_identifier(),
            Some(c) if starts_variable(c) => {
                let what = "a variable, which has no value here (an atom starts with a small letter or is quoted)";
                Err(Wrong::new(self.scan.at, ParseErrorKind::Refused(what)))
            }
            _ if is_word(rest, "fun") => self.fun(),
            _ => self.scan.atom(A_TERM).map(Term::Atom),
        }
    }

    /// Enters a level, unless it is one too many.
    fn nested(&mut self, parse: fn(&mut Self) -> Result<Term, Wrong>) -> Result<Term, Wrong> {
        if self.depth >= MAX_DEPTH {
            return Err(Wrong::new(self.scan.at, ParseErrorKind::TooDeep));
        }
        self.depth += 1;
        let term = parse(self);
        self.depth -= 1;
        term
    }

    fn signed(&mut self) -> Result<Term, Wrong> {
        let negative = self.scan.bump() == Some('-');
        self.scan.skip_blank();
        match self.scan.peek() {
            Some('0'..='9') => self.scan.number(negative),
            Some('$') => {
                self.scan.bump();
                match self.scan.character()? {
                    Term::Int(c) if negative => Ok(Term::Int(-c)),
                    term => Ok(term),
                }
            }
            _ => Err(self.scan.unexpected("a number behind the sign")),
        }
    }

    fn string(&mut self) -> Result<Term, Wrong> {
        let text = self.strings()?;
        let chars = text.chars().map(|c| Term::Int(i64::from(u32::from(c))));
        Ok(Term::List(chars.collect()))
    }

    /// Parses the text of a string, and of those that follow it without anything between.
    pub(super) fn strings(&mut self) -> Result<String, Wrong> {
        let mut text = String::new();
        loop {
            text += &self.scan.string()?;
            let end = self.scan.at;
            self.scan.skip_blank();
            if self.scan.peek() != Some('"') {
                // Text behind the term is left to the caller.
                self.scan.at = end;
                return Ok(text);
            }
        }
    }

    fn list(&mut self) -> Result<Term, Wrong> {
        self.scan.expect("[", "`[`")?;
        let elements = self.elements("]")?;
        self.scan.skip_blank();
        if !elements.is_empty() && self.scan.take("|") {
            let tail = self.term()?;
            self.scan.expect("]", "`]` behind the tail of the list")?;
            return Ok(Term::improper(elements, tail));
        }
        self.scan.expect(
            "]",
            if elements.is_empty() {
                "a term or `]`"
            } else {
                "`,`, `|` or `]`"
            },
        )?;
        Ok(Term::List(elements))
    }

    fn tuple(&mut self) -> Result<Term, Wrong> {
        self.scan.expect("{", "`{`")?;
        let elements = self.elements("}")?;
        self.scan.expect(
            "}",
            if elements.is_empty() {
                "a term or `}`"
            } else {
                "`,` or `}`"
            },
        )?;
        Ok(Term::Tuple(elements))
    }

    /// Parses terms with commas between; none if `close` follows at once.
    fn elements(&mut self, close: &str) -> Result<Vec<Term>, Wrong> {
        let mut elements = Vec::new();
        self.scan.skip_blank();
        if self.scan.rest().starts_with(close) {
            return Ok(elements);
        }
        loop {
            elements.push(self.term()?);
            self.scan.skip_blank();
            if !self.scan.take(",") {
                return Ok(elements);
            }
        }
    }

    fn map(&mut self) -> Result<Term, Wrong> {
        self.scan.expect("#{", "`#{`")?;
        let mut pairs = Vec::new();
        self.scan.skip_blank();
        if self.scan.take("}") {
            return Ok(Term::Map(Map::default()));
        }
        loop {
            let key = self.term()?;
            self.scan.expect("=>", "`=>` behind the key")?;
            pairs.push((key, self.term()?));
            self.scan.skip_blank();
            if !self.scan.take(",") {
                break;
            }
        }
        self.scan.expect("}", "`,` or `}`")?;
        Ok(Term::Map(Map::new(pairs)))
    }

    /// Parses `fun m:f/1`.
    fn fun(&mut self) -> Result<Term, Wrong> {
        let start = self.scan.at;
        self.scan.take("fun");
        self.scan.skip_blank();
        if matches!(self.scan.peek(), Some('(')) {
            let what = "a closure: only funs like `fun lists:map/2` can be written";
            return Err(Wrong::new(start, ParseErrorKind::Refused(what)));
        }
        let module = self.scan.atom("a module, as in `fun lists:map/2`")?;
        self.scan.expect(":", "`:` behind the module")?;
        self.scan.skip_blank();
        let function = self.scan.atom("a function")?;
        self.scan.expect("/", "`/` and the arity")?;
        self.scan.skip_blank();
        let start = self.scan.at;
        let arity = self.scan.plain_number("an arity")?;
        let Ok(arity) = u8::try_from(arity) else {
            return Err(Wrong::new(
                start,
                ParseErrorKind::Refused("an arity above 255"),
            ));
        };
        Ok(Term::Fun(Box::new(Fun::External {
            module,
            function,
            arity,
        })))
    }
}

/// Returns whether `text` starts with `word`, and that is the whole name.
fn is_word(text: &str, word: &str) -> bool {
    text.strip_prefix(word).is_some_and(|rest| {
        !rest
            .chars()
            .next()
            .is_some_and(super::chars::continues_name)
    })
}

//! The parser: each step reads a token or what separates two terms; containers that are open wait in [`grow`].

use super::chars::{starts_atom, starts_variable};
use super::error::{ParseErrorKind, Wrong};
use super::scan::Scanner;
use crate::term::Fun;
use crate::walk::{Gather, Grow, Part, grow};
use crate::{Atom, Definition, Map, NativeRecord, Term};

pub(super) struct Parser<'a> {
    pub(super) scan: Scanner<'a>,
    /// What a variable stands for.
    value: &'a mut dyn FnMut(&str) -> Option<Term>,
    /// What text in double quotes stands for.
    pub(super) string: fn(&str) -> Term,
}

/// A container that is being read.
pub(super) struct TextFrame {
    kind: TextContainer,
    met: Met,
    parts: Gather,
    record: Option<Box<Record>>,
}

/// What is known of a native record that is being read.
struct Record {
    /// Where it begins.
    at: usize,
    module: Atom,
    name: Atom,
    exported: bool,
    fields: Vec<Atom>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum TextContainer {
    Tuple,
    List,
    Map,
    Record,
}

/// What was read last inside a container.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Met {
    Bracket,
    Part,
    Key,
    Tail,
}

const A_TERM: &str = "a term";

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str, value: &'a mut dyn FnMut(&str) -> Option<Term>) -> Parser<'a> {
        Parser {
            scan: Scanner { text, at: 0 },
            value,
            string: Term::string,
        }
    }

    /// Parses a term, blanks before it too.
    pub(super) fn term(&mut self) -> Result<Term, Wrong> {
        match self.next()? {
            Part::Leaf(term) => Ok(term),
            Part::Open(frame) => grow(self, frame),
        }
    }

    /// Parses a term, or the bracket that opens one.
    fn next(&mut self) -> Result<Part<Term, TextFrame>, Wrong> {
        self.scan.skip_blank();
        let rest = self.scan.rest();
        let leaf = match self.scan.peek() {
            Some('[') => return Ok(self.open("[", TextContainer::List)),
            Some('{') => return Ok(self.open("{", TextContainer::Tuple)),
            Some('#') if rest.starts_with("#{") => return Ok(self.open("#{", TextContainer::Map)),
            Some('0'..='9') => self.scan.number(false),
            Some('-' | '+') => self.signed(),
            Some('$') => {
                self.scan.bump();
                self.scan.character()
            }
            Some('"') => self.string(),
            Some('~') => self.scan.sigil(),
            Some('<') if rest.starts_with("<<") => self.bitstring(),
            Some('<') if rest.len() > 1 => self.pid(),
            Some('#') if rest[1..].starts_with(starts_name) => return self.record(),
            Some('#') if rest.len() > 1 => self.hash_identifier(),
            Some(c) if starts_variable(c) => self.variable(),
            _ if is_word(rest, "fun") => self.fun(),
            _ => self.scan.atom(A_TERM).map(Term::Atom),
        };
        leaf.map(Part::Leaf)
    }

    fn variable(&mut self) -> Result<Term, Wrong> {
        let start = self.scan.at;
        let what =
            "a variable, which has no value here (an atom starts with a small letter or is quoted)";
        let value = (self.value)(self.scan.word());
        value.ok_or_else(|| Wrong::new(start, ParseErrorKind::Refused(what)))
    }

    fn open(&mut self, bracket: &str, kind: TextContainer) -> Part<Term, TextFrame> {
        self.scan.take(bracket);
        Part::Open(TextFrame {
            kind,
            met: Met::Bracket,
            parts: match kind {
                TextContainer::Map => Gather::pairs(0),
                _ => Gather::Terms(Vec::new()),
            },
            record: None,
        })
    }

    /// Reads what stands before the next part of a container, and returns what that part is; `None` at the end of the
    /// container.
    fn separator(&mut self, kind: TextContainer, met: Met) -> Result<Option<Met>, Wrong> {
        self.scan.skip_blank();
        let (close, expected) = match kind {
            TextContainer::Tuple => ("}", "`,` or `}`"),
            TextContainer::List => ("]", "`,`, `|` or `]`"),
            TextContainer::Map | TextContainer::Record => ("}", "`,` or `}`"),
        };
        let part = match kind {
            TextContainer::Map => Met::Key,
            _ => Met::Part,
        };
        match met {
            Met::Bracket if self.scan.take(close) => Ok(None),
            Met::Bracket => Ok(Some(part)),
            Met::Key => {
                self.scan.expect("=>", "`=>` behind the key")?;
                Ok(Some(Met::Part))
            }
            Met::Tail => {
                self.scan.expect(close, "`]` behind the tail of the list")?;
                Ok(None)
            }
            Met::Part if self.scan.take(",") => Ok(Some(part)),
            Met::Part if kind == TextContainer::List && self.scan.take("|") => Ok(Some(Met::Tail)),
            Met::Part => {
                self.scan.expect(close, expected)?;
                Ok(None)
            }
        }
    }

    /// Parses nothing, of a native record that its module exports, or `/local`.
    fn is_exported(&mut self) -> Result<bool, Wrong> {
        self.scan.skip_blank();
        if !self.scan.take("/") {
            return Ok(true);
        }
        let (at, what) = (self.scan.at, "`local` behind the name of a native record");
        match self.scan.word() {
            "local" => Ok(false),
            _ if self.scan.rest().is_empty() => Err(self.scan.unexpected(what)),
            _ => Err(Wrong::new(at, ParseErrorKind::Refused(what))),
        }
    }

    /// Parses `#m:n{`, of a native record that its module exports, or `#m:n/local{`.
    fn record(&mut self) -> Result<Part<Term, TextFrame>, Wrong> {
        let at = self.scan.at;
        self.scan.take("#");
        let module = self.scan.atom("the module of a native record")?;
        self.scan
            .expect(":", "`:` and the name of a native record")?;
        self.scan.skip_blank();
        let name = self.scan.atom("the name of a native record")?;
        let exported = self.is_exported()?;
        self.scan
            .expect("{", "`{` behind the name of a native record")?;
        let Part::Open(frame) = self.open("", TextContainer::Record) else {
            return Err(self.scan.unexpected(A_TERM));
        };
        let fields = Vec::new();
        Ok(Part::Open(TextFrame {
            record: Some(Box::new(Record {
                at,
                module,
                name,
                exported,
                fields,
            })),
            ..frame
        }))
    }

    /// Parses `field =`.
    fn field(&mut self) -> Result<Atom, Wrong> {
        self.scan.skip_blank();
        let field = self
            .scan
            .atom("the name of a field, as in `#m:n{field = 1}`")?;
        self.scan.expect("=", "`=` behind the name of a field")?;
        Ok(field)
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
        Ok((self.string)(&self.strings()?))
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

impl Grow for Parser<'_> {
    type Out = Term;
    type Frame = TextFrame;
    type Error = Wrong;

    fn part(&mut self, frame: &mut TextFrame) -> Result<Option<Part<Term, TextFrame>>, Wrong> {
        match self.separator(frame.kind, frame.met)? {
            Some(met) => {
                frame.met = met;
                if let Some(record) = &mut frame.record {
                    record.fields.push(self.field()?);
                }
                self.next().map(Some)
            }
            None => Ok(None),
        }
    }

    fn put(&mut self, frame: &mut TextFrame, part: Term) {
        frame.parts.put(part);
    }

    fn finish(&mut self, frame: TextFrame) -> Result<Term, Wrong> {
        let parts = frame.parts;
        Ok(match frame.kind {
            TextContainer::Tuple => Term::tuple(parts.into_terms()),
            TextContainer::Record => return finish_record(frame.record, parts.into_terms()),
            TextContainer::Map => Term::Map(Map::new(parts.into_pairs())),
            TextContainer::List => {
                let mut elements = parts.into_terms();
                let tail = match frame.met {
                    Met::Tail => elements.pop(),
                    _ => None,
                };
                Term::improper(elements, tail.unwrap_or_else(|| Term::list([])))
            }
        })
    }
}

fn finish_record(record: Option<Box<Record>>, values: Vec<Term>) -> Result<Term, Wrong> {
    let made = record.as_ref().and_then(|record| {
        let definition =
            Definition::new(record.module, record.name, record.exported, &record.fields)?;
        NativeRecord::new(definition, values)
    });
    made.map(Term::from).ok_or_else(|| {
        let what = "a native record with the same field twice";
        let at = record.map_or(0, |record| record.at);
        Wrong::new(at, ParseErrorKind::Refused(what))
    })
}

/// Returns whether a character can begin the module of a native record.
fn starts_name(c: char) -> bool {
    c == '\'' || starts_atom(c)
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

//! Pids, ports and references in a text: `<0.1.2>`, `#Port<0.1>`, `#Ref<0.1.2.3>`, with `0` for the nameless node or
//! the node's name (and `/Creation`).

use super::error::{ParseErrorKind, Wrong};
use super::parse::Parser;
use super::write::NO_NODE;
use crate::term::{Pid, Port, Reference};
use crate::{Atom, Term};

impl Parser<'_> {
    /// Parses `<Node.Id.Serial>`.
    pub(super) fn pid(&mut self) -> Result<Term, Wrong> {
        self.scan.expect("<", "`<`")?;
        let (node, creation) = self.node()?;
        let id = self.dotted_word()?;
        let serial = self.dotted_word()?;
        self.closing()?;
        Ok(Term::Pid(Box::new(Pid {
            node,
            id,
            serial,
            creation,
        })))
    }

    /// Parses `#Port<...>` or `#Ref<...>`; anything else behind a `#` is refused.
    pub(super) fn hash_identifier(&mut self) -> Result<Term, Wrong> {
        let start = self.scan.at;
        self.scan.bump();
        match self.scan.word() {
            "Port" => self.port(),
            "Ref" => self.reference(),
            "Fun" => {
                let what =
                    "a closure, which cannot be read from text (funs like `fun lists:map/2` can)";
                Err(Wrong::new(start, ParseErrorKind::Refused(what)))
            }
            // More text could make it `#Port`.
            word if self.scan.rest().is_empty()
                && ["Port", "Ref"].iter().any(|w| w.starts_with(word)) =>
            {
                Err(Wrong::new(
                    start,
                    ParseErrorKind::Incomplete("`#{`, `#Port<` or `#Ref<`"),
                ))
            }
            _ => {
                self.scan.at = start;
                Err(self.scan.unexpected("`#{`, `#Port<` or `#Ref<`"))
            }
        }
    }

    fn port(&mut self) -> Result<Term, Wrong> {
        self.scan.expect("<", "`<`")?;
        let (node, creation) = self.node()?;
        self.dot()?;
        let id = self.scan.plain_number("the number of the port")?;
        self.closing()?;
        Ok(Term::Port(Box::new(Port { node, id, creation })))
    }

    fn reference(&mut self) -> Result<Term, Wrong> {
        self.scan.expect("<", "`<`")?;
        let (node, creation) = self.node()?;
        let start = self.scan.at;
        let mut ids = Vec::new();
        while self.scan.peek() == Some('.') && ids.len() <= 5 {
            ids.push(self.dotted_word()?);
        }
        self.closing()?;
        if !(1..=5).contains(&ids.len()) {
            let what = "a reference has one to five numbers behind its node";
            return Err(Wrong::new(start, ParseErrorKind::Refused(what)));
        }
        ids.reverse();
        Ok(Term::Reference(Box::new(Reference {
            node,
            creation,
            ids,
        })))
    }

    /// Parses `0`, or a name and perhaps `/` and the creation.
    fn node(&mut self) -> Result<(Atom, u32), Wrong> {
        let start = self.scan.at;
        if self.scan.peek().is_some_and(|c| c.is_ascii_digit()) {
            if self.scan.plain_number("a node")? != 0 {
                let what = "an identifier of another node: Erlang prints a number there that means \
                            something inside that node only; write the node's name, as in <'n@host'.1.2>";
                return Err(Wrong::new(start, ParseErrorKind::Refused(what)));
            }
            return Atom::new(NO_NODE)
                .map(|node| (node, 0))
                .map_err(|e| Wrong::new(start, e));
        }
        let node = self.scan.atom("0 or the name of a node")?;
        if self.scan.take("/") {
            Ok((node, self.word()?))
        } else {
            Ok((node, 0))
        }
    }

    fn dot(&mut self) -> Result<(), Wrong> {
        if self.scan.take(".") {
            Ok(())
        } else {
            Err(self.scan.unexpected("`.`"))
        }
    }

    fn dotted_word(&mut self) -> Result<u32, Wrong> {
        self.dot()?;
        self.word()
    }

    fn word(&mut self) -> Result<u32, Wrong> {
        let start = self.scan.at;
        let number = self.scan.plain_number("a number")?;
        u32::try_from(number).map_err(|_| {
            Wrong::new(
                start,
                ParseErrorKind::Refused("a number beyond 32 bits in an identifier"),
            )
        })
    }

    fn closing(&mut self) -> Result<(), Wrong> {
        if self.scan.take(">") {
            Ok(())
        } else {
            Err(self.scan.unexpected("`.` or `>`"))
        }
    }
}

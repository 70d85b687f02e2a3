//! Like `io:format("~tw")`: a term on one line, strings as lists of numbers, binaries as numbers or, if asked for,
//! text.

use std::fmt::{self, Write};

use super::chars::{is_printable, write_atom, write_quoted};
use super::float::write_float;
use crate::term::{BitString, Fun, Pid, Port, Reference};
use crate::walk::{Open, Parts, Visit, walk};
use crate::{Atom, Definition, Term};

/// The node of an Erlang system that was not given a name.
pub(super) const NO_NODE: &str = "nonode@nohost";

/// The node under which the binding of a machine keeps pids, ports and references of the node that it runs in. No node
/// can have it as its name.
pub const OWN_NODE: &str = "nonode@nohost\u{1}";

/// The style in which terms are written.
#[derive(Clone, Copy)]
pub(super) struct Style {
    /// Whether characters beyond Latin-1 are written as they are, not escaped.
    pub(super) unicode: bool,
    /// Integers of more bits are named, not written out.
    pub(super) most_bits: Option<u64>,
    /// Binaries of at most this many bytes that are printable text are written as text.
    pub(super) text_up_to: usize,
    /// Whether the text is for a message, which is not read back: lists of characters, letters among them, are written
    /// as strings, and [`OWN_NODE`] as `0`.
    pub(super) message: bool,
}

impl Style {
    pub(super) fn whole(unicode: bool) -> Style {
        Style {
            unicode,
            most_bits: None,
            text_up_to: 0,
            message: false,
        }
    }
}

/// Writes `term`.
pub(super) fn write_term(out: &mut impl Write, term: &Term, style: Style) -> fmt::Result {
    walk(&mut TextWriter { out, style }, term)
}

struct TextWriter<'a, W> {
    out: &'a mut W,
    style: Style,
}

/// What its visitor wants to know about a container.
enum TextMark<'t> {
    /// The brackets that close it.
    Close(&'static str),
    /// That it is a native record, and its fields.
    Fields(&'t Definition),
}

impl<'t, W: Write> Visit<'t> for TextWriter<'_, W> {
    type Mark = TextMark<'t>;
    type Stop = fmt::Error;

    fn open(&mut self, term: &'t Term) -> Result<Option<Open<'t, TextMark<'t>>>, fmt::Error> {
        let (brackets, mark) = match term {
            Term::Tuple(_) => ("{", "}"),
            Term::Map(_) => ("#{", "}"),
            Term::List(elements)
                if self.style.message && is_text(elements, self.style.text_up_to) =>
            {
                write_quoted(self.out, elements.iter().filter_map(character), '"', true)?;
                return Ok(None);
            }
            Term::List(_) | Term::Improper(..) => ("[", "]"),
            Term::Record(record) => {
                write_record_head(self.out, record.definition(), self.style.unicode)?;
                let (parts, mark) = (
                    Parts::Terms(record.values()),
                    TextMark::Fields(record.definition()),
                );
                return Ok(Some(Open { parts, mark }));
            }
            _ => return write_leaf(self.out, term, self.style).map(|()| None),
        };
        self.out.write_str(brackets)?;
        let mark = TextMark::Close(mark);
        Ok(Parts::of(term).map(|parts| Open { parts, mark }))
    }

    fn before(&mut self, open: &Open<'t, TextMark<'t>>, at: usize) -> fmt::Result {
        self.out.write_str(match open.parts {
            _ if at == 0 => "",
            Parts::Pairs(_) if at % 2 == 1 => " => ",
            Parts::Cells(elements, _) if at == elements.len() => "|",
            _ => ",",
        })?;
        match open.mark {
            TextMark::Fields(definition) => {
                write_field(self.out, definition.fields()[at], self.style.unicode)
            }
            TextMark::Close(_) => Ok(()),
        }
    }

    fn close(&mut self, open: Open<'t, TextMark<'t>>) -> fmt::Result {
        self.out.write_str(match open.mark {
            TextMark::Close(brackets) => brackets,
            TextMark::Fields(_) => "}",
        })
    }
}

/// Writes a term without parts, or a fun.
fn write_leaf(out: &mut impl Write, term: &Term, style: Style) -> fmt::Result {
    match term {
        Term::Int(value) => write!(out, "{value}"),
        Term::Big(value) => match style.most_bits {
            Some(most) if value.bits() > most => {
                write!(out, "an integer of {} bits", value.bits())
            }
            _ => write!(out, "{value}"),
        },
        Term::Float(value) => write_float(out, value.get()),
        Term::Atom(atom) => write_atom(out, atom.as_str(), style.unicode),
        Term::Reference(reference) => write_reference(out, reference, style),
        Term::Fun(fun) => write_fun(out, fun, style),
        Term::Port(port) => write_port(out, port, style),
        Term::Pid(pid) => write_pid(out, pid, style),
        Term::Binary(bytes) => {
            out.write_str("<<")?;
            match text_in(bytes, style.text_up_to) {
                Some(text) => write_text(out, text)?,
                None => write_bytes(out, bytes)?,
            }
            out.write_str(">>")
        }
        Term::Bits(bits) => {
            out.write_str("<<")?;
            write_bits(out, bits)?;
            out.write_str(">>")
        }
        // `open` writes the others.
        _ => Ok(()),
    }
}

/// Writes `#module:name{` or `#module:name/local{`.
pub(super) fn write_record_head(
    out: &mut impl Write,
    definition: &Definition,
    unicode: bool,
) -> fmt::Result {
    out.write_char('#')?;
    write_atom(out, definition.module().as_str(), unicode)?;
    out.write_char(':')?;
    write_atom(out, definition.name().as_str(), unicode)?;
    if !definition.is_exported() {
        out.write_str("/local")?;
    }
    out.write_char('{')
}

/// Writes `field = `.
pub(super) fn write_field(out: &mut impl Write, field: Atom, unicode: bool) -> fmt::Result {
    write_atom(out, field.as_str(), unicode)?;
    out.write_str(" = ")
}

/// Returns the character that an element of a string is.
fn character(element: &Term) -> Option<char> {
    match element {
        Term::Int(c) => char::from_u32(u32::try_from(*c).ok()?).filter(|c| !c.is_control()),
        _ => None,
    }
}

/// Returns whether the elements are characters, letters among them, and at most `most`.
fn is_text(elements: &[Term], most: usize) -> bool {
    let is_letter = |element| character(element).is_some_and(char::is_alphabetic);
    elements.len() <= most
        && elements.iter().all(|element| character(element).is_some())
        && elements.iter().any(is_letter)
}

/// Returns the bytes of a binary as text, if they are printable and at most `most`.
fn text_in(bytes: &[u8], most: usize) -> Option<&str> {
    let short = !bytes.is_empty() && bytes.len() <= most;
    let text = std::str::from_utf8(bytes.get(..).filter(|_| short)?).ok()?;
    text.chars()
        .all(|c| is_printable(u32::from(c), true))
        .then_some(text)
}

/// Writes text in quotes; with the type of the segment if it has characters of several bytes.
fn write_text(out: &mut impl Write, text: &str) -> fmt::Result {
    write_quoted(out, text.chars(), '"', true)?;
    match text.is_ascii() {
        true => Ok(()),
        false => out.write_str("/utf8"),
    }
}

pub(super) fn write_bytes(out: &mut impl Write, bytes: &[u8]) -> fmt::Result {
    for (i, byte) in bytes.iter().enumerate() {
        if i > 0 {
            out.write_char(',')?;
        }
        write!(out, "{byte}")?;
    }
    Ok(())
}

/// Writes the bytes, then `Value:Bits` for the last, incomplete one.
pub(super) fn write_bits(out: &mut impl Write, bits: &BitString) -> fmt::Result {
    if let Some((last, whole)) = bits.bytes().split_last() {
        for byte in whole {
            write!(out, "{byte},")?;
        }
        write!(
            out,
            "{}:{}",
            last >> (8 - bits.last_bits()),
            bits.last_bits()
        )?;
    }
    Ok(())
}

/// Writes `0` for the nameless node; else its name, and `/` and its creation if that is not 0. (OTP prints a number
/// that means something in one run of one node only.)
fn write_node(out: &mut impl Write, node: Atom, creation: u32, style: Style) -> fmt::Result {
    match (node.as_str(), creation) {
        (NO_NODE, 0) => out.write_char('0'),
        (OWN_NODE, _) if style.message => out.write_char('0'),
        (name, 0) => write_atom(out, name, style.unicode),
        (name, creation) => {
            write_atom(out, name, style.unicode)?;
            write!(out, "/{creation}")
        }
    }
}

fn write_pid(out: &mut impl Write, pid: &Pid, style: Style) -> fmt::Result {
    out.write_char('<')?;
    write_node(out, pid.node, pid.creation, style)?;
    write!(out, ".{}.{}>", pid.id, pid.serial)
}

fn write_port(out: &mut impl Write, port: &Port, style: Style) -> fmt::Result {
    out.write_str("#Port<")?;
    write_node(out, port.node, port.creation, style)?;
    write!(out, ".{}>", port.id)
}

fn write_reference(out: &mut impl Write, reference: &Reference, style: Style) -> fmt::Result {
    out.write_str("#Ref<")?;
    write_node(out, reference.node, reference.creation, style)?;
    for word in reference.ids.iter().rev() {
        write!(out, ".{word}")?;
    }
    out.write_char('>')
}

fn write_fun(out: &mut impl Write, fun: &Fun, style: Style) -> fmt::Result {
    match fun {
        Fun::External {
            module,
            function,
            arity,
        } => {
            out.write_str("fun ")?;
            write_atom(out, module.as_str(), style.unicode)?;
            out.write_char(':')?;
            write_atom(out, function.as_str(), style.unicode)?;
            write!(out, "/{arity}")
        }
        Fun::Local(fun) => {
            out.write_str("#Fun<")?;
            write_atom(out, fun.module.as_str(), style.unicode)?;
            write!(out, ".{}.{}>", fun.old_index, fun.old_uniq)
        }
    }
}

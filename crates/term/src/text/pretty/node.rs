//! The term as pieces of text with their widths, from which the layout is made.

use std::fmt::Write;

use super::PrintOptions;
use crate::text::chars::{is_printable, write_atom, write_quoted};
use crate::text::write::{Style, write_bits, write_field, write_record_head, write_term};
use crate::{Map, NativeRecord, Term};

/// A term, or the pair of a key and its value, measured.
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// Characters it takes on one line.
    pub(super) width: i64,
}

pub(super) enum NodeKind {
    /// Never broken, and kept on the line of its neighbours if it fits.
    Text(String),
    /// The inside of `<<1,2,3>>`: broken behind commas.
    Bytes(String),
    List(Sequence),
    /// `tagged`: at least two elements, the first an atom; the others are then indented behind it.
    Tuple {
        tagged: bool,
        elements: Sequence,
    },
    /// Of pairs.
    Map(Sequence),
    Pair(Box<(Node, Node)>),
    /// `#m:n{`, and fields.
    Record(String, Sequence),
    /// `name = `, and the value.
    Field(String, Box<Node>),
}

/// The items between brackets.
pub(super) struct Sequence {
    pub(super) items: Vec<Node>,
    pub(super) rest: Rest,
}

/// The text after the last item.
pub(super) enum Rest {
    Nothing,
    /// `...`: cut by the depth limit.
    Dots,
    /// The tail of an improper list.
    Tail(Box<Node>),
}

impl Node {
    fn text(text: impl Into<String>) -> Node {
        let text = text.into();
        Node {
            width: text.chars().count() as i64,
            kind: NodeKind::Text(text),
        }
    }

    pub(super) fn is_text(&self) -> bool {
        matches!(self.kind, NodeKind::Text(_))
    }

    /// Returns whether this is a pair both sides of which are plain text.
    pub(super) fn is_text_pair(&self) -> bool {
        matches!(&self.kind, NodeKind::Pair(pair) if pair.0.is_text() && pair.1.is_text())
    }
}

impl Sequence {
    fn width(&self) -> i64 {
        let items: i64 = self.items.iter().map(|item| item.width).sum();
        let rest = match &self.rest {
            Rest::Nothing => None,
            Rest::Dots => Some(3),
            Rest::Tail(tail) => Some(tail.width),
        };
        let parts = self.items.len() as i64 + i64::from(rest.is_some());
        items + rest.unwrap_or(0) + (parts - 1).max(0)
    }
}

/// The levels that are laid out. Deeper ones, which are far beyond the right end of any line, stay on one line: what is
/// laid out recurses.
const LEVELS: usize = 200;

/// Measures `term`, which lies inside `level` others. `depth`: how much of it to show, `None` for all.
pub(super) fn measure(
    term: &Term,
    level: usize,
    depth: Option<usize>,
    options: &PrintOptions,
) -> Node {
    let cut = depth == Some(1);
    match term {
        _ if level >= LEVELS && !cut => {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write_term(&mut text, term, Style::whole(options.unicode));
            Node::text(text)
        }
        Term::List(e) if e.is_empty() => Node::text("[]"),
        Term::Tuple(e) if e.is_empty() => Node::text("{}"),
        Term::Map(map) if map.is_empty() => Node::text("#{}"),
        Term::Binary(bytes) if bytes.is_empty() => Node::text("<<>>"),
        Term::Atom(atom) => {
            let mut text = String::new();
            // Writing to a string cannot fail.
            let _ = write_atom(&mut text, atom.as_str(), options.unicode);
            Node::text(text)
        }
        Term::List(elements) => match string(elements, options) {
            Some(text) if !cut => Node::text(text),
            _ => list(elements, None, level, depth, options),
        },
        Term::Improper(elements, tail) => list(elements, Some(tail), level, depth, options),
        Term::Tuple(_) if cut => Node::text("{...}"),
        Term::Tuple(elements) => {
            let tagged = elements.len() > 1 && matches!(elements[0], Term::Atom(_));
            let elements = sequence(elements, None, level, depth, options);
            Node {
                width: 2 + elements.width(),
                kind: NodeKind::Tuple { tagged, elements },
            }
        }
        Term::Map(_) if cut => Node::text("#{...}"),
        Term::Map(map) => pairs(map, level, depth, options),
        Term::Record(record) => fields(record, level, depth, options),
        Term::Binary(_) | Term::Bits(_) if cut => Node::text("<<...>>"),
        Term::Binary(bytes) => binary(bytes, depth, options),
        Term::Bits(bits) => {
            let mut text = String::new();
            match depth {
                Some(depth) if bits.bytes().len() >= depth => {
                    return cut_bytes(bits.bytes(), depth);
                }
                _ => drop(write_bits(&mut text, bits)),
            }
            Node {
                width: 4 + text.len() as i64,
                kind: NodeKind::Bytes(text),
            }
        }
        other => {
            let mut text = String::new();
            let _ = write_term(&mut text, other, Style::whole(options.unicode));
            Node::text(text)
        }
    }
}

/// Returns the depth that is left one level or one element further.
fn less(depth: Option<usize>, by: usize) -> Option<usize> {
    depth.map(|depth| depth.saturating_sub(by).max(1))
}

fn list(
    elements: &[Term],
    tail: Option<&Term>,
    level: usize,
    depth: Option<usize>,
    options: &PrintOptions,
) -> Node {
    let sequence = sequence(elements, tail, level, depth, options);
    Node {
        width: 2 + sequence.width(),
        kind: NodeKind::List(sequence),
    }
}

/// Makes the nodes of a sequence. Every element counts against the depth, as every level does.
fn sequence(
    elements: &[Term],
    tail: Option<&Term>,
    level: usize,
    depth: Option<usize>,
    options: &PrintOptions,
) -> Sequence {
    let mut items = Vec::new();
    for (i, element) in elements.iter().enumerate() {
        if less(depth, i) == Some(1) {
            return Sequence {
                items,
                rest: Rest::Dots,
            };
        }
        items.push(measure(element, level + 1, less(depth, i + 1), options));
    }
    let left = less(depth, elements.len());
    let rest = match tail {
        None => Rest::Nothing,
        Some(_) if left == Some(1) => Rest::Dots,
        Some(tail) => Rest::Tail(Box::new(measure(tail, level + 1, less(left, 1), options))),
    };
    Sequence { items, rest }
}

fn pairs(map: &Map, level: usize, depth: Option<usize>, options: &PrintOptions) -> Node {
    let inner = less(depth, 1);
    let mut sequence = Sequence {
        items: Vec::new(),
        rest: Rest::Nothing,
    };
    for (i, (key, value)) in map.iter().enumerate() {
        if less(depth, i) == Some(1) {
            sequence.rest = Rest::Dots;
            break;
        }
        let measure = |term| measure(term, level + 1, inner, options);
        let pair = (measure(key), measure(value));
        let width = pair.0.width + 4 + pair.1.width;
        sequence.items.push(Node {
            width,
            kind: NodeKind::Pair(Box::new(pair)),
        });
    }
    Node {
        width: 3 + sequence.width(),
        kind: NodeKind::Map(sequence),
    }
}

fn fields(
    record: &NativeRecord,
    level: usize,
    depth: Option<usize>,
    options: &PrintOptions,
) -> Node {
    let mut open = String::new();
    // Writing to a string cannot fail.
    let _ = write_record_head(&mut open, record.definition(), options.unicode);
    let fields = record.definition().fields();
    if depth == Some(1) && !fields.is_empty() {
        return Node::text(open + "...}");
    }
    let mut sequence = sequence(record.values(), None, level, depth, options);
    for (item, field) in sequence.items.iter_mut().zip(fields) {
        let mut name = String::new();
        let _ = write_field(&mut name, *field, options.unicode);
        let value = std::mem::replace(item, Node::text(""));
        *item = Node {
            width: name.chars().count() as i64 + value.width,
            kind: NodeKind::Field(name, Box::new(value)),
        };
    }
    Node {
        width: open.chars().count() as i64 + 1 + sequence.width(),
        kind: NodeKind::Record(open, sequence),
    }
}

/// Returns the list in double quotes, if all of it is printable characters.
fn string(elements: &[Term], options: &PrintOptions) -> Option<String> {
    let character = |term: &Term| match term {
        Term::Int(c) => u32::try_from(*c)
            .ok()
            .filter(|&c| is_printable(c, options.unicode)),
        _ => None,
    };
    if !elements.iter().all(|term| character(term).is_some()) {
        return None;
    }
    let chars = elements
        .iter()
        .filter_map(character)
        .filter_map(char::from_u32);
    let mut text = String::new();
    let _ = write_quoted(&mut text, chars, '"', options.unicode);
    Some(text)
}

fn binary(bytes: &[u8], depth: Option<usize>, options: &PrintOptions) -> Node {
    if let Some(text) = string_in_binary(bytes, depth, options) {
        return Node::text(text);
    }
    if let Some(depth) = depth.filter(|&depth| bytes.len() >= depth) {
        return cut_bytes(bytes, depth);
    }
    let text = join_bytes(bytes);
    Node {
        width: 4 + text.len() as i64,
        kind: NodeKind::Bytes(text),
    }
}

fn join_bytes(bytes: &[u8]) -> String {
    let mut text = String::new();
    let _ = crate::text::write::write_bytes(&mut text, bytes);
    text
}

/// Makes `1,2,...`: fewer bytes than `depth`.
fn cut_bytes(bytes: &[u8], depth: usize) -> Node {
    let text = join_bytes(&bytes[..depth - 1]) + ",...";
    Node {
        width: 4 + text.len() as i64,
        kind: NodeKind::Bytes(text),
    }
}

/// Returns `<<"...">>` or `<<"..."/utf8>>` if the bytes are printable, or enough of them for the depth limit.
fn string_in_binary(bytes: &[u8], depth: Option<usize>, options: &PrintOptions) -> Option<String> {
    let depth = depth.map(|depth| depth - 1);
    let limit = depth.map_or(bytes.len(), |depth| bytes.len().min(4 * depth));
    if limit == 0 {
        return None;
    }
    if options.unicode
        && let Some(text) = valid_prefix(bytes, limit)
    {
        return utf8_string(bytes, text, limit, depth);
    }
    let printable = bytes[..limit]
        .iter()
        .take_while(|&&b| is_printable(u32::from(b), false))
        .count();
    let whole = printable == bytes.len();
    if !whole && !depth.is_some_and(|depth| depth > 0 && printable >= depth) {
        return None;
    }
    let chars = bytes[..printable].iter().map(|&b| char::from(b));
    Some(in_brackets(chars, true, whole))
}

/// Returns the text of the first `limit` characters, or of all bytes if they are fewer; `None` if they are no UTF-8.
fn valid_prefix(bytes: &[u8], limit: usize) -> Option<&str> {
    // A character has at most 4 bytes.
    let bytes = &bytes[..bytes.len().min(limit.saturating_mul(4))];
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text),
        Err(error) => {
            let text = std::str::from_utf8(&bytes[..error.valid_up_to()]).ok()?;
            (text.chars().count() >= limit).then_some(text)
        }
    }
}

fn utf8_string(bytes: &[u8], text: &str, limit: usize, depth: Option<usize>) -> Option<String> {
    let printable = |c: &char| is_printable(u32::from(*c), true);
    let shown: String = text.chars().take(limit).take_while(printable).collect();
    let count = shown.chars().count();
    let whole = shown.len() == bytes.len();
    if !whole && !depth.is_some_and(|depth| depth > 0 && count >= depth) {
        return None;
    }
    let one_byte_each = count == shown.len();
    Some(in_brackets(shown.chars(), one_byte_each, whole))
}

fn in_brackets(chars: impl Iterator<Item = char>, one_byte_each: bool, whole: bool) -> String {
    let mut text = String::from("<<");
    let _ = write_quoted(&mut text, chars, '"', true);
    if !one_byte_each {
        text.push_str("/utf8");
    }
    if !whole {
        text.push_str("...");
    }
    text.push_str(">>");
    text
}

/// Writes the node on one line.
pub(super) fn write_flat(out: &mut impl Write, node: &Node) -> std::fmt::Result {
    match &node.kind {
        NodeKind::Text(text) => out.write_str(text),
        NodeKind::Bytes(text) => write!(out, "<<{text}>>"),
        NodeKind::List(sequence) => write_sequence(out, "[", sequence, '|', ']'),
        NodeKind::Tuple { elements, .. } => write_sequence(out, "{", elements, ',', '}'),
        NodeKind::Map(sequence) => write_sequence(out, "#{", sequence, ',', '}'),
        NodeKind::Pair(pair) => {
            write_flat(out, &pair.0)?;
            out.write_str(" => ")?;
            write_flat(out, &pair.1)
        }
        NodeKind::Record(open, fields) => write_sequence(out, open, fields, ',', '}'),
        NodeKind::Field(name, value) => {
            out.write_str(name)?;
            write_flat(out, value)
        }
    }
}

fn write_sequence(
    out: &mut impl Write,
    open: &str,
    sequence: &Sequence,
    before_rest: char,
    close: char,
) -> std::fmt::Result {
    out.write_str(open)?;
    for (i, item) in sequence.items.iter().enumerate() {
        if i > 0 {
            out.write_char(',')?;
        }
        write_flat(out, item)?;
    }
    if !sequence.items.is_empty() && !matches!(sequence.rest, Rest::Nothing) {
        out.write_char(before_rest)?;
    }
    match &sequence.rest {
        Rest::Nothing => {}
        Rest::Dots => out.write_str("...")?,
        Rest::Tail(tail) => write_flat(out, tail)?,
    }
    out.write_char(close)
}

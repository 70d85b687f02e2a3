//! Line breaking.
//!
//! One walk over the measured term serves twice: as a *trial* that only asks whether the indentation behind tags
//! leaves enough room, and as the printing itself. They go through the same decisions; where the original's two walks
//! count columns differently, so does this one, and says it.

use super::node::{Node, NodeKind, Rest, Sequence, write_flat};

/// A trial found that tags push their tuples too far to the right.
pub(super) struct TooFarRight;

/// The position of the walk.
#[derive(Clone, Copy)]
pub(super) struct At {
    /// The column.
    pub(super) col: i64,
    /// The indentation of the lines below.
    pub(super) indent: i64,
    /// The number of brackets that close right behind.
    pub(super) closing: i64,
    /// Characters on this line since its indentation.
    pub(super) written: i64,
}

pub(super) struct Layout {
    pub(super) line: i64,
    /// The width of the whole term on one line.
    pub(super) most: i64,
    /// Tags longer than this do not indent the tuple; not positive: all tags do.
    pub(super) tag_indent: i64,
    /// `None` in a trial.
    pub(super) out: Option<String>,
}

type Walk<T = ()> = Result<T, TooFarRight>;

impl Layout {
    fn put(&mut self, text: &str) {
        if let Some(out) = &mut self.out {
            out.push_str(text);
        }
    }

    fn flat(&mut self, node: &Node) {
        if let Some(out) = &mut self.out {
            // Writing to a string cannot fail.
            let _ = write_flat(out, node);
        }
    }

    fn new_line(&mut self, indent: i64) {
        if let Some(out) = &mut self.out {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent.max(0) as usize));
        }
    }

    fn is_trial(&self) -> bool {
        self.out.is_none()
    }

    /// Returns whether an item of this width fits on the line, with the brackets behind it.
    fn fits(&self, width: i64, at: At) -> bool {
        width < self.line - at.col - at.closing && width + at.written + at.closing <= self.most
    }

    /// Returns whether an item of this width fits on the line behind a comma.
    fn fits_behind_comma(&self, width: i64, at: At) -> bool {
        let with_comma = width + 1;
        if at.closing == 0 {
            // Another comma will follow.
            with_comma + 1 < self.line - at.col && at.written + with_comma < self.most
        } else {
            self.fits(with_comma, at)
        }
    }

    /// Writes any node: on one line if it fits, else broken.
    pub(super) fn node(&mut self, node: &Node, at: At) -> Walk {
        if self.fits(node.width, at) {
            self.flat(node);
            return Ok(());
        }
        match &node.kind {
            NodeKind::List(sequence) => {
                self.put("[");
                self.sequence(sequence, inside(at, 1), '|')?;
                self.put("]");
            }
            NodeKind::Tuple {
                tagged: true,
                elements,
            } => {
                self.put("{");
                self.tagged(
                    elements,
                    At {
                        written: at.written + 1,
                        ..at
                    },
                )?;
                self.put("}");
            }
            NodeKind::Tuple {
                tagged: false,
                elements,
            } => {
                self.put("{");
                self.sequence(elements, inside(at, 1), ',')?;
                self.put("}");
            }
            NodeKind::Map(pairs) => {
                self.put("#{");
                let mut within = inside(at, 2);
                // The printing walk counts one character of `#{`, the trial both.
                within.written -= i64::from(!self.is_trial());
                self.pairs(pairs, within)?;
                self.put("}");
            }
            NodeKind::Record(open, fields) => {
                self.put(open);
                self.sequence(fields, inside(at, open.chars().count() as i64), ',')?;
                self.put("}");
            }
            NodeKind::Field(name, value) => {
                self.put(name);
                self.node(value, inside(at, name.chars().count() as i64))?;
            }
            NodeKind::Bytes(text) if !self.is_trial() => self.bytes(text, at),
            NodeKind::Text(_) | NodeKind::Bytes(_) | NodeKind::Pair(_) => self.flat(node),
        }
        Ok(())
    }

    /// Writes a tuple behind its tag: beside it, or below it if the tag is long.
    fn tagged(&mut self, elements: &Sequence, at: At) -> Walk {
        let Some((tag, others)) = elements.items.split_first() else {
            self.put("...");
            return Ok(());
        };
        let beside = tag.width + 2;
        let tag_col = at.col + beside;
        self.flat(tag);
        if self.tag_indent > 0 && beside > self.tag_indent {
            let col = at.col + self.tag_indent;
            if self.is_trial() && self.most + col > self.line && col > self.line / 2 {
                return Err(TooFarRight);
            }
            let first = At {
                col,
                indent: at.indent + self.tag_indent,
                ..at
            };
            let here = At {
                col: tag_col,
                written: at.written + tag.width,
                ..first
            };
            return self.others(others, &elements.rest, first.col, here, ',');
        }
        if self.is_trial() && self.most + tag_col >= self.line && tag_col >= self.line / 2 {
            return Err(TooFarRight);
        }
        self.put(",");
        let written = at.written + tag.width + 1;
        let at = At {
            col: tag_col,
            indent: at.indent + beside,
            written,
            ..at
        };
        self.items(others, &elements.rest, at, ',')
    }

    fn sequence(&mut self, sequence: &Sequence, at: At, before_rest: char) -> Walk {
        self.items(&sequence.items, &sequence.rest, at, before_rest)
    }

    fn items(&mut self, items: &[Node], rest: &Rest, at: At, before_rest: char) -> Walk {
        let Some((first, others)) = items.split_first() else {
            self.put(if matches!(rest, Rest::Dots) {
                "..."
            } else {
                ""
            });
            return Ok(());
        };
        let closing = closing(others, at.closing);
        let width = self.item(first, At { closing, ..at })?;
        let here = At {
            col: at.col + width,
            written: at.written + width,
            ..at
        };
        self.others(others, rest, at.col, here, before_rest)
    }

    /// Writes one item at the start of a line or of a sequence; returns how far it moves the column: beyond the end of
    /// the line if nothing may stand behind it.
    fn item(&mut self, item: &Node, at: At) -> Walk<i64> {
        if item.is_text() && self.fits(item.width, at) {
            self.flat(item);
            return Ok(item.width);
        }
        self.node(item, at)?;
        Ok(self.line)
    }

    /// Writes the items behind the first, and what follows them; `first_col` is where a new line starts.
    fn others(
        &mut self,
        items: &[Node],
        rest: &Rest,
        first_col: i64,
        mut at: At,
        before_rest: char,
    ) -> Walk {
        for (i, item) in items.iter().enumerate() {
            let closing = closing(&items[i + 1..], at.closing);
            self.put(",");
            if item.is_text() && self.fits_behind_comma(item.width, At { closing, ..at }) {
                self.flat(item);
                at.col += item.width + 1;
                at.written += item.width + 1;
            } else {
                self.new_line(at.indent);
                let width = self.item(
                    item,
                    At {
                        col: first_col,
                        closing,
                        written: 0,
                        ..at
                    },
                )?;
                at.col = first_col + width;
                at.written = width;
            }
        }
        self.rest(rest, first_col, at, before_rest)
    }

    fn rest(&mut self, rest: &Rest, first_col: i64, at: At, before_rest: char) -> Walk {
        let mut separator = [0; 4];
        match rest {
            Rest::Nothing => {}
            Rest::Dots => {
                self.put(before_rest.encode_utf8(&mut separator));
                self.put("...");
            }
            Rest::Tail(tail) => {
                self.put(before_rest.encode_utf8(&mut separator));
                let at = At {
                    closing: at.closing + 1,
                    ..at
                };
                if tail.is_text() && self.fits(tail.width + 1, at) {
                    self.flat(tail);
                    return Ok(());
                }
                self.new_line(at.indent);
                // The trial goes on from the column it is at.
                let col = if self.is_trial() { at.col } else { first_col };
                self.node(
                    tail,
                    At {
                        col,
                        written: 0,
                        ..at
                    },
                )?;
            }
        }
        Ok(())
    }

    fn pairs(&mut self, pairs: &Sequence, at: At) -> Walk {
        let Some((first, others)) = pairs.items.split_first() else {
            self.put("...");
            return Ok(());
        };
        let width = self.pair(
            first,
            At {
                closing: closing(others, at.closing),
                ..at
            },
        )?;
        // Here too only the trial counts what was written before the first pair.
        let before = if self.is_trial() { at.written } else { 0 };
        let mut here = At {
            col: at.col + width,
            written: before + width,
            ..at
        };
        for (i, pair) in others.iter().enumerate() {
            let closing = closing(&others[i + 1..], at.closing);
            self.put(",");
            if pair.is_text_pair() && self.fits_behind_comma(pair.width, At { closing, ..here }) {
                self.flat(pair);
                here.col += pair.width + 1;
                here.written += pair.width + 1;
            } else {
                self.new_line(at.indent);
                let width = self.pair(
                    pair,
                    At {
                        closing,
                        written: 0,
                        ..at
                    },
                )?;
                here.col = at.col + width;
                here.written = width;
            }
        }
        if matches!(pairs.rest, Rest::Dots) {
            self.put(",...");
        }
        Ok(())
    }

    fn pair(&mut self, node: &Node, at: At) -> Walk<i64> {
        if self.fits(node.width, at) {
            self.flat(node);
            return Ok(if node.is_text_pair() {
                node.width
            } else {
                self.line
            });
        }
        if let NodeKind::Pair(pair) = &node.kind {
            self.node(&pair.0, at)?;
            self.put(" =>");
            let deeper = if self.tag_indent > 0 {
                self.tag_indent
            } else {
                4
            };
            let (col, indent) = (at.col + deeper, at.indent + deeper);
            self.new_line(indent);
            self.node(
                &pair.1,
                At {
                    col,
                    indent,
                    written: 0,
                    ..at
                },
            )?;
        }
        Ok(self.line)
    }

    /// Writes `<<1,2,3>>`, broken behind commas.
    fn bytes(&mut self, text: &str, at: At) {
        let room = (self.line - (at.col + 2)).min(self.most - 4 - at.written) - at.closing;
        let room = room.max(8);
        self.put("<<");
        let mut left = room;
        let mut parts = text.split_inclusive(',').peekable();
        while let Some(part) = parts.next() {
            let width = part.len() as i64;
            if width > left {
                self.new_line(at.indent + 2);
                left = room;
            }
            // The last part has no comma; nothing is placed behind it.
            if parts.peek().is_some() {
                left -= width;
            }
            self.put(part);
        }
        self.put(">>");
    }
}

/// Returns the place behind an opening bracket of `width` characters.
fn inside(at: At, width: i64) -> At {
    At {
        col: at.col + width,
        indent: at.indent + width,
        written: at.written + width,
        ..at
    }
}

/// Returns the number of brackets that close right behind an item: none if `others` follow it.
fn closing(others: &[Node], outer: i64) -> i64 {
    if others.is_empty() { outer + 1 } else { 0 }
}

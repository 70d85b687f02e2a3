//! What the head of a clause says of the key.

use fyris_term::Term;
use fyris_term::key::{KeyBuf, KeyWriter};

use crate::syntax::atoms::{is_anything, known, variable};

/// The key of the objects that a head can match.
pub(crate) enum Shape {
    /// No object: the head is no tuple, or one without the key's element.
    Nothing,
    /// Any key.
    Any,
    /// `=:=` to this.
    Literal(Term),
    /// A tuple or a list of which the first parts are known.
    Prefix(Prefix),
}

/// A key that starts in a known way.
pub(crate) struct Prefix {
    /// Order bytes up to the first part that is not known.
    pub(crate) bytes: Vec<u8>,
    /// The variable in that place.
    pub(crate) next: Option<u32>,
    /// The pattern, with what is known of the variables in it.
    pattern: Term,
}

impl Prefix {
    /// The pattern, with `next` in the first place that is not known and `'_'` for all behind it.
    pub(crate) fn label(&self, next: Option<&Term>) -> Term {
        let next = next.cloned().unwrap_or(Term::Atom(known().anything));
        blank(&self.pattern, &mut Some(next))
    }
}

/// What the guards say a variable is equal to.
pub(crate) type Substitution<'p> = dyn Fn(u32) -> Option<Term> + 'p;

/// The shape of the key in a head, and the variables that stand for it.
pub(crate) fn of_head(head: &Term, keypos: usize, substitution: &Substitution<'_>) -> Shape {
    if is_anything(head) || variable(head).is_some() {
        return Shape::Any;
    }
    match head
        .as_tuple()
        .and_then(|elements| elements.get(keypos.checked_sub(1)?))
    {
        Some(key) => of_key(key, substitution),
        None => Shape::Nothing,
    }
}

fn of_key(key: &Term, substitution: &Substitution<'_>) -> Shape {
    if is_anything(key) || variable(key).is_some() || key.as_map().is_some() {
        return Shape::Any;
    }
    if is_literal(key) {
        return Shape::Literal(key.clone());
    }
    let mut buf = KeyBuf::new();
    let mut writer = KeyWriter::new(&mut buf);
    let next = write_prefix(key, &mut writer, substitution);
    writer.finish();
    let bytes = buf.order().to_vec();
    match next {
        // Everything is known, by what the guards say.
        Stop::Nowhere => Shape::Literal(substituted(key, substitution)),
        Stop::At(next) => Shape::Prefix(Prefix {
            bytes,
            next,
            pattern: substituted(key, substitution),
        }),
    }
}

/// What the order bytes of every key that matches start with, if the pattern is one with parts.
pub(crate) fn prefix_of(pattern: &Term) -> Option<Vec<u8>> {
    match of_key(pattern, &|_| None) {
        Shape::Prefix(prefix) => Some(prefix.bytes),
        Shape::Nothing | Shape::Any | Shape::Literal(_) => None,
    }
}

/// Where a prefix ends.
enum Stop {
    /// The pattern was written whole.
    Nowhere,
    /// In front of something that is not known; which variable it is.
    At(Option<u32>),
}

/// Writes the order bytes of a pattern, up to the first part that is not known.
fn write_prefix(
    pattern: &Term,
    writer: &mut KeyWriter<'_>,
    substitution: &Substitution<'_>,
) -> Stop {
    if is_literal(pattern) {
        writer.term(pattern);
        return Stop::Nowhere;
    }
    if let Some(number) = variable(pattern) {
        return match substitution(number) {
            Some(value) => {
                writer.term(&value);
                Stop::Nowhere
            }
            None => Stop::At(Some(number)),
        };
    }
    match pattern {
        Term::Tuple(elements) => {
            writer.begin_tuple(elements.len());
            write_parts(elements, false, writer, substitution)
        }
        Term::List(elements) => match write_parts(elements, true, writer, substitution) {
            Stop::Nowhere => {
                writer.nil();
                Stop::Nowhere
            }
            stop => stop,
        },
        Term::Improper(elements, tail) => match write_parts(elements, true, writer, substitution) {
            Stop::Nowhere => match write_prefix(tail, writer, substitution) {
                // The tail of a list is no term that may be compared alone: `[a | T]` with `T > b` is another order.
                Stop::At(_) => Stop::At(None),
                whole => whole,
            },
            stop => stop,
        },
        _ => Stop::At(None),
    }
}

fn write_parts(
    parts: &[Term],
    cells: bool,
    writer: &mut KeyWriter<'_>,
    substitution: &Substitution<'_>,
) -> Stop {
    for part in parts {
        if cells {
            writer.cons();
        }
        if let Stop::At(next) = write_prefix(part, writer, substitution) {
            return Stop::At(next);
        }
    }
    Stop::Nowhere
}

/// Is the pattern matched by one term only? A map never is, since it matches maps with more keys.
pub(crate) fn is_literal(pattern: &Term) -> bool {
    match pattern {
        Term::Atom(_) => !is_anything(pattern) && variable(pattern).is_none(),
        Term::Map(_) => false,
        Term::Tuple(parts) | Term::List(parts) => parts.iter().all(is_literal),
        Term::Improper(parts, tail) => parts.iter().all(is_literal) && is_literal(tail),
        _ => true,
    }
}

/// The pattern with what is known of its variables in their places.
fn substituted(pattern: &Term, substitution: &Substitution<'_>) -> Term {
    let all = |parts: &[Term]| {
        parts
            .iter()
            .map(|part| substituted(part, substitution))
            .collect()
    };
    match pattern {
        Term::Tuple(parts) => Term::Tuple(all(parts)),
        Term::List(parts) => Term::List(all(parts)),
        Term::Improper(parts, tail) => Term::improper(all(parts), substituted(tail, substitution)),
        other => variable(other)
            .and_then(substitution)
            .unwrap_or_else(|| other.clone()),
    }
}

/// The pattern for people: `next`, which is taken, in the first place that is not known, `'_'` behind it.
fn blank(pattern: &Term, next: &mut Option<Term>) -> Term {
    let anything = Term::Atom(known().anything);
    if next.is_none() {
        return anything;
    }
    match pattern {
        literal if is_literal(literal) => literal.clone(),
        Term::Tuple(parts) => Term::Tuple(parts.iter().map(|part| blank(part, next)).collect()),
        Term::List(parts) => blank_list(parts, &Term::List(Vec::new()), next),
        Term::Improper(parts, tail) => blank_list(parts, tail, next),
        _ => next.take().unwrap_or(anything),
    }
}

fn blank_list(parts: &[Term], tail: &Term, next: &mut Option<Term>) -> Term {
    let mut known = Vec::new();
    for part in parts {
        known.push(blank(part, next));
        if next.is_none() {
            break;
        }
    }
    let tail = blank(tail, next);
    Term::improper(known, tail)
}

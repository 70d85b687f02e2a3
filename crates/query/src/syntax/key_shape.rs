//! The shape that the head of a clause gives the key.

use fyris_term::Term;
use fyris_term::key::{KeyBuf, KeyWriter};

use crate::syntax::atoms::{is_anything, known, variable};

/// The key of the objects that a head can match.
pub(crate) enum Shape {
    /// None: the head is no tuple, or a tuple without the key's element.
    Nothing,
    /// Any key.
    Any,
    /// A key that is `=:=` to this term.
    Literal(Term),
    /// A tuple or a list whose first parts are known.
    Prefix(Prefix),
}

/// The known first parts of a key.
pub(crate) struct Prefix {
    /// Order bytes up to the first part that is not known.
    pub(crate) bytes: Vec<u8>,
    /// The variable that is the first unknown part, if it is one.
    pub(crate) next: Option<u32>,
    /// The pattern, with the known variables replaced.
    pattern: Term,
}

impl Prefix {
    /// Returns the pattern for printing: with `next` in the place of the first unknown part, and `'_'` for those
    /// behind.
    pub(crate) fn label(&self, next: Option<&Term>) -> Term {
        let next = next.cloned().unwrap_or(Term::Atom(known().anything));
        blank(&self.pattern, &mut Some(next))
    }
}

/// The literals that the guards require variables to equal.
pub(crate) type Substitution<'p> = dyn Fn(u32) -> Option<Term> + 'p;

/// Returns the shape of the key in a head.
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
        // The guards determine every variable.
        Stop::Nowhere => Shape::Literal(substituted(key, substitution)),
        Stop::At(next) => Shape::Prefix(Prefix {
            bytes,
            next,
            pattern: substituted(key, substitution),
        }),
    }
}

/// Returns the prefix of the order bytes of every key that matches a pattern with parts; `None` for other patterns.
pub(crate) fn prefix_of(pattern: &Term) -> Option<Vec<u8>> {
    match of_key(pattern, &|_| None) {
        Shape::Prefix(prefix) => Some(prefix.bytes),
        Shape::Nothing | Shape::Any | Shape::Literal(_) => None,
    }
}

/// The end of a prefix.
enum Stop {
    /// The pattern was written whole.
    Nowhere,
    /// In front of an unknown part, and which variable that is.
    At(Option<u32>),
}

/// Writes the order bytes of a pattern up to the first unknown part.
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
                // No range follows from a tail: in order bytes, `T > b` and `[a | T] > [a | b]` are different orders.
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

/// Returns whether exactly one term matches the pattern. That of a map never does: maps with more keys match as well.
pub(crate) fn is_literal(pattern: &Term) -> bool {
    match pattern {
        Term::Atom(_) => !is_anything(pattern) && variable(pattern).is_none(),
        Term::Map(_) => false,
        Term::Tuple(parts) | Term::List(parts) => parts.iter().all(is_literal),
        Term::Improper(parts, tail) => parts.iter().all(is_literal) && is_literal(tail),
        _ => true,
    }
}

/// Returns the pattern with the known variables replaced.
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

/// Returns the pattern with `next`, which is taken, for the first unknown part, and `'_'` for those behind.
fn blank(pattern: &Term, next: &mut Option<Term>) -> Term {
    let anything = Term::Atom(known().anything);
    if next.is_none() {
        return anything;
    }
    match pattern {
        literal if is_literal(literal) => literal.clone(),
        Term::Tuple(parts) => Term::Tuple(parts.iter().map(|part| blank(part, next)).collect()),
        Term::List(parts) => blank_list(parts, &Term::list(Vec::new()), next),
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

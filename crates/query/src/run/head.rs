//! Matches heads: over stored objects without decoding them, and over terms.
//!
//! Variables are bound in the order in which they stand in the pattern, so a binding is a push, and the number of a
//! slot is its position in the vector. A pattern that fails leaves bindings behind; the caller clears them before the
//! next clause.
//!
//! Recursion goes down with the pattern, which has at most [`MAX_DEPTH`](fyris_term::MAX_DEPTH) levels.

use fyris_term::value::{self, Pairs, View};
use fyris_term::{Map, Term, Terms, key};
use smallvec::SmallVec;

use crate::program::{Clause, Constant, Id, Pattern, Program, Span, Test};
use crate::run::context::{EvalContext, is_key};
use crate::run::object::ObjectView;
use crate::run::value::{Ref, Subject};

/// The values of the variables, by slot.
pub(crate) type Bindings<'a> = SmallVec<[Ref<'a>; 6]>;

/// One attempt to match.
pub(crate) struct Matcher<'m, 'a> {
    pub(crate) program: &'a Program,
    pub(crate) context: EvalContext<'a>,
    pub(crate) bindings: &'m mut Bindings<'a>,
    /// Whether the early tests were made already.
    pub(crate) tested: bool,
}

impl<'a> Matcher<'_, 'a> {
    /// Returns whether the subject matches the head.
    #[inline]
    pub(crate) fn head(&mut self, clause: &'a Clause) -> bool {
        match (clause.head, self.context.subject()) {
            (Pattern::Any, _) => true,
            (Pattern::Bind, _) => self.bind(Ref::Object),
            (Pattern::Tuple { elements, used }, Subject::Stored(object)) => {
                self.object(clause, elements, used, object)
            }
            // An object is a tuple, and every tuple in a head is a tuple pattern, even of constants alone.
            (_, Subject::Stored(_)) => false,
            (Pattern::Tuple { elements, used }, Subject::Term(Term::Tuple(terms))) => {
                self.tuple(clause, elements, used, terms)
            }
            (head, Subject::Term(term)) => self.term(head, term),
        }
    }

    #[inline]
    fn bind(&mut self, place: Ref<'a>) -> bool {
        self.bindings.push(place);
        true
    }

    /// Returns the tests that are still to be made.
    #[inline]
    fn tests(&self, clause: &'a Clause) -> &'a [(u32, Test)] {
        if self.tested { &[] } else { &clause.early }
    }

    /// Matches the tuple of a stored object, element by element, up to the last one that the pattern uses.
    #[inline]
    fn object(
        &mut self,
        clause: &'a Clause,
        elements: Span,
        used: u32,
        object: &'a ObjectView<'a>,
    ) -> bool {
        if object.arity != elements.len as usize {
            return false;
        }
        let used = &elements.of(&self.program.patterns)[..used as usize];
        let mut early = self.tests(clause);
        let mut values = object.values;
        for (i, &pattern) in used.iter().enumerate() {
            let is_key = i + 1 == object.keypos;
            let here = if is_key {
                Ref::Key
            } else {
                Ref::Stored(values)
            };
            // Cheap tests first: they reject most objects that do not match.
            while let Some((&(element, test), rest)) = early.split_first()
                && element as usize == i
            {
                if !self.context.passes(self.program, here, test) {
                    return false;
                }
                early = rest;
            }
            if is_key {
                if !self.key(pattern, clause, object) {
                    return false;
                }
            } else if matches!(pattern, Pattern::Bind) && i + 1 == used.len() {
                // The last element that is used: nothing behind it is read.
                self.bind(here);
            } else {
                match self.element(pattern, values) {
                    Some(behind) => values = behind,
                    None => return false,
                }
            }
        }
        true
    }

    /// Matches the tuple of a term; see [`Matcher::object`].
    #[inline]
    fn tuple(&mut self, clause: &'a Clause, elements: Span, used: u32, terms: &'a [Term]) -> bool {
        if terms.len() != elements.len as usize {
            return false;
        }
        let used = &elements.of(&self.program.patterns)[..used as usize];
        let mut early = self.tests(clause);
        for (i, (&pattern, term)) in used.iter().zip(terms).enumerate() {
            while let Some((&(element, test), rest)) = early.split_first()
                && element as usize == i
            {
                if !self.context.passes(self.program, Ref::Term(term), test) {
                    return false;
                }
                early = rest;
            }
            let matches = match pattern {
                Pattern::Any => true,
                Pattern::Bind => self.bind(Ref::Term(term)),
                _ => self.term(pattern, term),
            };
            if !matches {
                return false;
            }
        }
        true
    }

    #[inline]
    fn key(&mut self, pattern: Pattern, clause: &'a Clause, object: &'a ObjectView<'a>) -> bool {
        match pattern {
            Pattern::Any => true,
            Pattern::Bind => self.bind(Ref::Key),
            Pattern::Constant(constant) => is_key(object, self.program.constant(constant)),
            Pattern::Same(slot) => self.is_bound_to(slot, Ref::Key),
            _ if !has_key_prefix(clause, object) => false,
            _ => match matches_key_bytes(self.program, pattern, object) {
                Some(matches) => matches,
                None => self.term(pattern, self.context.key_term()),
            },
        }
    }

    /// Matches the value at the front of `values`, and returns the bytes behind it; `None` if it does not match.
    #[inline]
    fn element(&mut self, pattern: Pattern, values: &'a [u8]) -> Option<&'a [u8]> {
        match pattern {
            Pattern::Any => behind(values),
            Pattern::Bind => {
                self.bind(Ref::Stored(values));
                behind(values)
            }
            Pattern::Constant(id) => {
                let constant = self.program.constant(id);
                if constant.plain {
                    return constant.strip(values);
                }
                self.element_with_parts(pattern, values)
            }
            _ => self.element_with_parts(pattern, values),
        }
    }

    #[inline(never)]
    fn element_with_parts(&mut self, pattern: Pattern, values: &'a [u8]) -> Option<&'a [u8]> {
        let place = Ref::Stored(values);
        let matches = match pattern {
            Pattern::Constant(id) => self.context.is_constant(place, self.program.constant(id)),
            Pattern::Same(slot) => self.is_bound_to(slot, place),
            _ => self.stored(pattern, values),
        };
        if matches { behind(values) } else { None }
    }

    /// Matches consecutive values, and returns the bytes behind them; `None` if one does not match.
    fn elements(&mut self, patterns: &[Pattern], values: &'a [u8]) -> Option<&'a [u8]> {
        patterns
            .iter()
            .try_fold(values, |values, &pattern| self.element(pattern, values))
    }

    #[inline(never)]
    fn is_bound_to(&self, slot: Id, place: Ref<'a>) -> bool {
        let bound = self.context.load(self.bindings[slot as usize]);
        self.context.same(&bound, &self.context.load(place))
    }

    /// Matches a pattern with parts on stored bytes.
    fn stored(&mut self, pattern: Pattern, bytes: &'a [u8]) -> bool {
        match (pattern, value::view(bytes)) {
            (Pattern::Tuple { elements, used }, Ok(View::Tuple(arity, values))) => {
                let parts = &elements.of(&self.program.patterns)[..used as usize];
                arity == u64::from(elements.len) && self.elements(parts, values).is_some()
            }
            (Pattern::Cons(parts), Ok(view)) => self.stored_list(parts, view),
            (Pattern::Map(parts), Ok(View::Map(pairs))) => self.stored_map(parts, pairs),
            _ => false,
        }
    }

    fn stored_list(&mut self, parts: Span, view: View<'a>) -> bool {
        let program = self.program;
        let Some((&tail, heads)) = parts.of(&program.patterns).split_last() else {
            return false;
        };
        match view {
            View::String(bytes) => {
                let Some((first, rest)) = bytes.split_at_checked(heads.len()) else {
                    return false;
                };
                let matches =
                    |(&part, &byte): (&Pattern, &u8)| self.place(part, Ref::Int(i64::from(byte)));
                heads.iter().zip(first).all(matches) && self.string_tail(tail, rest)
            }
            View::List(count, values) => self.stored_cells(heads, tail, count, false, values),
            View::Improper(count, values) => self.stored_cells(heads, tail, count, true, values),
            _ => false,
        }
    }

    fn string_tail(&mut self, tail: Pattern, rest: &'a [u8]) -> bool {
        if rest.is_empty() {
            return self.place(tail, Ref::Term(&NIL));
        }
        self.place(tail, Ref::String(rest))
    }

    fn stored_cells(
        &mut self,
        heads: &[Pattern],
        tail: Pattern,
        count: u64,
        improper: bool,
        values: &'a [u8],
    ) -> bool {
        let Some(left) = count.checked_sub(heads.len() as u64) else {
            return false;
        };
        let Some(values) = self.elements(heads, values) else {
            return false;
        };
        let place = match (left, improper) {
            (0, false) => Ref::Term(&NIL),
            (0, true) => Ref::Stored(values),
            (count, improper) => Ref::Tail {
                count,
                improper,
                values,
            },
        };
        self.place(tail, place)
    }

    /// Matches a map in one pass: the keys of both sides ascend.
    fn stored_map(&mut self, parts: Span, mut pairs: Pairs<'a>) -> bool {
        let program = self.program;
        let mut wanted = parts.of(&program.patterns).as_chunks::<2>().0.iter();
        let Some(mut next) = wanted.next() else {
            return true;
        };
        while let Ok(Some((key, value))) = pairs.next_pair() {
            if !self.is(next[0], Ref::Stored(key)) {
                if pairs.pass().is_err() {
                    return false;
                }
                continue;
            }
            match self.element(next[1], value) {
                Some(behind) => pairs.go_on(behind),
                None => return false,
            }
            match wanted.next() {
                Some(more) => next = more,
                None => return true,
            }
        }
        false
    }

    /// Returns whether the value at a place is `=:=` to a constant pattern.
    fn is(&self, constant: Pattern, place: Ref<'a>) -> bool {
        match constant {
            Pattern::Constant(id) => self.context.is_constant(place, self.program.constant(id)),
            _ => false,
        }
    }

    /// Matches a pattern on a place that is a tail or an element of a string.
    fn place(&mut self, pattern: Pattern, place: Ref<'a>) -> bool {
        match (pattern, place) {
            (Pattern::Any, _) => true,
            (Pattern::Bind, _) => self.bind(place),
            (Pattern::Same(slot), _) => self.is_bound_to(slot, place),
            // A constant as a tail is `[]` or no list, and these are lists that are not empty.
            (Pattern::Constant(_), Ref::String(_) | Ref::Tail { .. } | Ref::Terms(..)) => false,
            (Pattern::Constant(id), _) => {
                self.context.is_constant(place, self.program.constant(id))
            }
            (_, Ref::Stored(bytes)) => self.stored(pattern, bytes),
            (_, Ref::Term(term)) => self.term(pattern, term),
            // No other pattern can be here: a list pattern whose tail is a list pattern is compiled to one pattern.
            _ => false,
        }
    }

    /// Matches a pattern on a term.
    fn term(&mut self, pattern: Pattern, term: &'a Term) -> bool {
        match (pattern, term) {
            (Pattern::Any, _) => true,
            (Pattern::Bind, _) => self.bind(Ref::Term(term)),
            (Pattern::Same(slot), _) => self.is_bound_to(slot, Ref::Term(term)),
            (Pattern::Constant(id), _) => self.program.constant(id).term == *term,
            (Pattern::Tuple { elements, .. }, Term::Tuple(terms)) => {
                elements.len as usize == terms.len() && self.terms(elements, terms)
            }
            (Pattern::Cons(parts), Term::List(terms)) => self.cells(parts, terms, None),
            (Pattern::Cons(parts), Term::Improper(terms, tail)) => {
                self.cells(parts, terms, Some(tail))
            }
            (Pattern::Map(parts), Term::Map(map)) => self.term_map(parts, map),
            _ => false,
        }
    }

    fn term_map(&mut self, parts: Span, map: &'a Map) -> bool {
        let program = self.program;
        let mut pairs = parts.of(&program.patterns).as_chunks::<2>().0.iter();
        pairs.all(|&[key, value]| match key {
            Pattern::Constant(id) => map
                .get(&program.constant(id).term)
                .is_some_and(|found| self.term(value, found)),
            _ => false,
        })
    }

    fn terms(&mut self, parts: Span, terms: &'a [Term]) -> bool {
        let parts = parts.of(&self.program.patterns).iter();
        parts.zip(terms).all(|(&part, term)| self.term(part, term))
    }

    fn cells(&mut self, parts: Span, terms: &'a [Term], tail: Option<&'a Term>) -> bool {
        let program = self.program;
        let Some((&last, heads)) = parts.of(&program.patterns).split_last() else {
            return false;
        };
        let Some((first, rest)) = terms.split_at_checked(heads.len()) else {
            return false;
        };
        if !heads
            .iter()
            .zip(first)
            .all(|(&part, term)| self.term(part, term))
        {
            return false;
        }
        let place = match (rest, tail) {
            ([], None) => Ref::Term(&NIL),
            ([], Some(tail)) => Ref::Term(tail),
            (rest, tail) => Ref::Terms(rest, tail),
        };
        self.place(last, place)
    }
}

/// Returns whether the order bytes of the key have the prefix of every key that matches: it rejects most keys
/// undecoded.
fn has_key_prefix(clause: &Clause, object: &ObjectView<'_>) -> bool {
    let mut prefixes = clause.prefixes.iter();
    prefixes.all(|(element, prefix)| {
        *element as usize + 1 != object.keypos || object.key_order.starts_with(prefix)
    })
}

/// Returns whether a key matches a pattern with parts, by its bytes; `None` if the key must be decoded, to decide or
/// to bind a variable.
fn matches_key_bytes(program: &Program, pattern: Pattern, object: &ObjectView<'_>) -> Option<bool> {
    // The trailer lists the integral numbers that are floats: if it is empty, equal bytes are equal terms.
    if !object.key_tail.is_empty() {
        return None;
    }
    let mut bytes = KeyBytes {
        program,
        left: object.key_order,
        has_variable: false,
    };
    match bytes.go(pattern) {
        Ok(()) if bytes.has_variable => None,
        Ok(()) => Some(true),
        Err(Stop::NoMatch) => Some(false),
        Err(Stop::Undecided) => None,
    }
}

/// The reason why the bytes of a key were not followed to the end of a pattern.
enum Stop {
    /// The key does not match.
    NoMatch,
    /// The bytes cannot decide.
    Undecided,
}

/// The bytes of a key that are still to be compared with a pattern.
struct KeyBytes<'a> {
    program: &'a Program,
    left: &'a [u8],
    /// Whether the pattern has a variable, which the comparison has skipped.
    has_variable: bool,
}

impl KeyBytes<'_> {
    fn go(&mut self, pattern: Pattern) -> Result<(), Stop> {
        match pattern {
            Pattern::Any => {}
            Pattern::Bind | Pattern::Same(_) => self.has_variable = true,
            Pattern::Constant(id) => return self.constant(self.program.constant(id)),
            Pattern::Tuple { elements, .. } => {
                let arity = elements.len as usize;
                if arity > key::MOST_ELEMENTS {
                    return Err(Stop::Undecided);
                }
                self.left = key::begin_tuple(self.left, arity).ok_or(Stop::NoMatch)?;
                return self.all(elements.of(&self.program.patterns));
            }
            Pattern::Cons(parts) => {
                let Some((&tail, heads)) = parts.of(&self.program.patterns).split_last() else {
                    return Err(Stop::Undecided);
                };
                for &head in heads {
                    self.left = key::begin_cell(self.left).ok_or(Stop::NoMatch)?;
                    self.go(head)?;
                }
                return self.go(tail);
            }
            Pattern::Map(_) => return Err(Stop::Undecided),
        }
        self.left = key::behind(self.left).ok_or(Stop::Undecided)?;
        Ok(())
    }

    fn all(&mut self, parts: &[Pattern]) -> Result<(), Stop> {
        parts.iter().try_for_each(|&part| self.go(part))
    }

    fn constant(&mut self, constant: &Constant) -> Result<(), Stop> {
        // Its trailer lists a float, and the key has none.
        if constant.key.len() != constant.order {
            return Err(Stop::NoMatch);
        }
        self.left = key::strip(self.left, constant.key_order()).ok_or(Stop::NoMatch)?;
        Ok(())
    }
}

/// Returns the bytes behind the first value.
#[inline(always)]
fn behind(mut values: &[u8]) -> Option<&[u8]> {
    value::skip(&mut values).ok().map(|()| values)
}

/// `[]`.
static NIL: Term = Term::List(Terms::new());

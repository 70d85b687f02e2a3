//! Matches heads: over stored objects without decoding them, and over terms.
//!
//! Variables are bound in the order in which they stand in the pattern, so a binding is a push, and the number of a
//! slot is its position in the vector. A pattern that fails leaves bindings behind; the caller clears them before the
//! next clause.
//!
//! Patterns may be of any depth: what is left of those around a place is a list of [`Rest`], not a recursion.

use std::mem;
use std::slice::from_ref;

use fyris_term::value::{self, View};
use fyris_term::{Term, key};
use smallvec::{SmallVec, smallvec};

use crate::program::{Clause, Constant, Id, Pattern, Program, Span, Test};
use crate::run::context::{EvalContext, is_key};
use crate::run::object::ObjectView;
use crate::run::rest::{Rest, Step};
use crate::run::value::{Ref, Subject};
use crate::syntax::structure::NIL;

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

    /// Matches the elements of a term, which is a tuple: the cheap tests first, then those that the clause uses.
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
            _ => {
                let bound = self.bindings.len();
                self.key_bytes(pattern, object).unwrap_or_else(|| {
                    self.bindings.truncate(bound);
                    self.term(pattern, self.context.key_term())
                })
            }
        }
    }

    /// Returns whether a key matches a pattern with parts, by its bytes; `None` if the key must be decoded to decide.
    fn key_bytes(&mut self, pattern: Pattern, object: &'a ObjectView<'a>) -> Option<bool> {
        // The trailer lists the integral numbers that are floats: if it is empty, equal bytes are equal terms.
        if !object.key_tail.is_empty() {
            return None;
        }
        let mut bytes = KeyBytes {
            matcher: self,
            left: object.key_order,
            passed: 0,
        };
        match bytes.go(pattern) {
            Ok(()) => Some(true),
            Err(Stop::NoMatch) => Some(false),
            Err(Stop::Undecided) => None,
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
            Pattern::Constant(id) if self.program.constant(id).plain => {
                self.program.constant(id).strip(values)
            }
            _ => self.element_with_parts(pattern, values),
        }
    }

    #[inline(never)]
    fn element_with_parts(&mut self, pattern: Pattern, values: &'a [u8]) -> Option<&'a [u8]> {
        let mut left = values;
        match self.value(pattern, &mut left)? {
            Some(rest) => self.rest(rest, left),
            None => Some(left),
        }
    }

    #[inline(never)]
    fn is_bound_to(&self, slot: Id, place: Ref<'a>) -> bool {
        let bound = self.context.load(self.bindings[slot as usize]);
        self.context.same(&bound, &self.context.load(place))
    }

    /// Matches a pattern on a term.
    fn term(&mut self, pattern: Pattern, term: &'a Term) -> bool {
        match self.term_or_rest(pattern, term) {
            Some(Some(rest)) => self.rest(rest, &[]).is_some(),
            matched => matched.is_some(),
        }
    }

    /// Matches what is left of a pattern with the front of `values`, and returns the bytes behind what it matches;
    /// `None` if it does not match.
    fn rest(&mut self, outermost: Rest<'a>, mut values: &'a [u8]) -> Option<&'a [u8]> {
        let mut around: SmallVec<[Rest<'a>; 2]> = SmallVec::new();
        let mut rest = outermost;
        loop {
            match self.step(&mut rest, &mut values)? {
                Step::Into(inner) => around.push(mem::replace(&mut rest, inner)),
                Step::Tail(tail) => rest = tail,
                Step::End => match around.pop() {
                    Some(outer) => rest = outer,
                    None => return Some(values),
                },
            }
        }
    }

    /// Matches what is left up to the next pattern with parts.
    #[inline(always)]
    fn step(&mut self, rest: &mut Rest<'a>, values: &mut &'a [u8]) -> Option<Step<'a>> {
        match rest {
            Rest::Values(patterns) => {
                while let Some((&pattern, more)) = patterns.split_first() {
                    *patterns = more;
                    if let Some(inner) = self.value(pattern, values)? {
                        return Some(Step::Into(inner));
                    }
                }
            }
            Rest::Cells {
                parts,
                left,
                improper,
            } => {
                while let [pattern, more @ ..] = *parts
                    && !more.is_empty()
                {
                    (*parts, *left) = (more, left.checked_sub(1)?);
                    if let Some(inner) = self.value(*pattern, values)? {
                        return Some(Step::Into(inner));
                    }
                }
                return self.tail(parts, *left, *improper, values);
            }
            Rest::Pairs {
                wanted,
                pairs,
                inside,
            } => {
                if mem::take(inside) {
                    pairs.go_on(values);
                }
                while let Some((&[key, pattern], more)) = wanted.split_first() {
                    // The keys of both sides ascend.
                    let (here, value) = pairs.next_pair().ok()??;
                    if !self.is(key, Ref::Stored(here)) {
                        pairs.pass().ok()?;
                        continue;
                    }
                    (*wanted, *values) = (more, value);
                    if let Some(inner) = self.value(pattern, values)? {
                        *inside = true;
                        return Some(Step::Into(inner));
                    }
                    pairs.go_on(values);
                }
                *values = pairs.behind().ok()?;
            }
            Rest::Terms(patterns, terms) => {
                while let (Some((&pattern, more)), Some((term, others))) =
                    (patterns.split_first(), terms.split_first())
                {
                    (*patterns, *terms) = (more, others);
                    if let Some(inner) = self.term_or_rest(pattern, term)? {
                        return Some(Step::Into(inner));
                    }
                }
            }
            Rest::TermCells { parts, terms, end } => {
                while let [pattern, more @ ..] = *parts
                    && !more.is_empty()
                {
                    let (term, others) = terms.split_first()?;
                    (*parts, *terms) = (more, others);
                    if let Some(inner) = self.term_or_rest(*pattern, term)? {
                        return Some(Step::Into(inner));
                    }
                }
                let place = match (*terms, *end) {
                    ([], Some(tail)) => {
                        return Some(Step::Tail(Rest::Terms(parts, from_ref(tail))));
                    }
                    ([], None) => Ref::Term(&NIL),
                    (terms, end) => Ref::Terms(terms, end),
                };
                return self.list_tail(parts, place);
            }
            Rest::TermPairs(wanted, map) => {
                while let Some((&[key, pattern], more)) = wanted.split_first() {
                    *wanted = more;
                    let Pattern::Constant(id) = key else {
                        return None;
                    };
                    let found = map.get(&self.program.constant(id).term)?;
                    if let Some(inner) = self.term_or_rest(pattern, found)? {
                        return Some(Step::Into(inner));
                    }
                }
            }
        }
        Some(Step::End)
    }

    /// Matches the tail of a list of which `left` elements stand at the front of `values`.
    fn tail(
        &mut self,
        tail: &'a [Pattern],
        left: u64,
        improper: bool,
        values: &mut &'a [u8],
    ) -> Option<Step<'a>> {
        let place = match (left, improper) {
            (0, true) => return Some(Step::Tail(Rest::Values(tail))),
            (0, false) => Ref::Term(&NIL),
            (count, improper) => Ref::Tail {
                count,
                improper,
                values,
            },
        };
        if left > 0 {
            for _ in 0..left + u64::from(improper) {
                value::skip(values).ok()?;
            }
        }
        self.list_tail(tail, place)
    }

    /// Matches a tail on a list. A constant as a tail is `[]` or no list, and no other pattern with parts is one: a
    /// list pattern whose tail is a list pattern is compiled to one pattern.
    fn list_tail(&mut self, tail: &'a [Pattern], place: Ref<'a>) -> Option<Step<'a>> {
        let matches = match (*tail.first()?, place) {
            (Pattern::Any, _) => true,
            (Pattern::Bind, _) => self.bind(place),
            (Pattern::Same(slot), _) => self.is_bound_to(slot, place),
            (Pattern::Constant(id), Ref::Term(term)) => self.program.constant(id).term == *term,
            _ => false,
        };
        matches.then_some(Step::End)
    }

    /// Matches the value at the front of `values`, and moves `values` behind it, or behind its head if it and the
    /// pattern have parts: then these are to be matched. `None` if it does not match.
    #[inline(always)]
    fn value(&mut self, pattern: Pattern, values: &mut &'a [u8]) -> Option<Option<Rest<'a>>> {
        if pattern.has_parts() {
            return self.opened(pattern, values);
        }
        *values = self.leaf(pattern, values)?;
        Some(None)
    }

    /// Matches a pattern without parts, and returns the bytes behind the value; `None` if it does not match.
    #[inline(always)]
    fn leaf(&mut self, pattern: Pattern, values: &'a [u8]) -> Option<&'a [u8]> {
        let here = Ref::Stored(values);
        let matches = match pattern {
            Pattern::Any => true,
            Pattern::Bind => self.bind(here),
            Pattern::Constant(id) => {
                let constant = self.program.constant(id);
                if constant.plain {
                    return constant.strip(values);
                }
                self.context.is_constant(here, constant)
            }
            Pattern::Same(slot) => self.is_bound_to(slot, here),
            _ => false,
        };
        if matches { behind(values) } else { None }
    }

    /// Opens the value at the front of `values` for a pattern with parts, and moves `values` behind its head: the parts
    /// are to be matched. `None` if it does not match.
    fn opened(&mut self, pattern: Pattern, values: &mut &'a [u8]) -> Option<Option<Rest<'a>>> {
        let patterns = &self.program.patterns;
        let rest = match (pattern, value::view(values).ok()?) {
            (Pattern::Tuple { elements, .. }, View::Tuple(arity, inner)) => {
                if arity != u64::from(elements.len) {
                    return None;
                }
                *values = inner;
                return self.elements(elements.of(patterns), values);
            }
            (Pattern::Cons(parts), View::String(bytes)) => {
                *values = behind(values)?;
                self.string(parts.of(patterns), bytes)?;
                return Some(None);
            }
            (Pattern::Cons(parts), View::List(left, inner)) => {
                *values = inner;
                Rest::Cells {
                    parts: parts.of(patterns),
                    left,
                    improper: false,
                }
            }
            (Pattern::Cons(parts), View::Improper(left, inner)) => {
                *values = inner;
                Rest::Cells {
                    parts: parts.of(patterns),
                    left,
                    improper: true,
                }
            }
            (Pattern::Map(parts), View::Map(pairs)) => Rest::Pairs {
                wanted: parts.of(patterns).as_chunks::<2>().0,
                pairs,
                inside: false,
            },
            _ => return None,
        };
        Some(Some(rest))
    }

    /// Matches the elements of a tuple up to the first with parts: most have none, and then nothing is left.
    #[inline]
    fn elements(
        &mut self,
        mut patterns: &'a [Pattern],
        values: &mut &'a [u8],
    ) -> Option<Option<Rest<'a>>> {
        while let Some((&pattern, more)) = patterns.split_first() {
            if pattern.has_parts() {
                return Some(Some(Rest::Values(patterns)));
            }
            *values = self.leaf(pattern, values)?;
            patterns = more;
        }
        Some(None)
    }

    /// Matches a list of bytes, whose elements have no parts.
    fn string(&mut self, parts: &'a [Pattern], bytes: &'a [u8]) -> Option<Step<'a>> {
        let (tail, heads) = parts.split_last()?;
        let (first, rest) = bytes.split_at_checked(heads.len())?;
        for (&head, &byte) in heads.iter().zip(first) {
            let place = Ref::Int(i64::from(byte));
            let matches = match head {
                Pattern::Any => true,
                Pattern::Bind => self.bind(place),
                Pattern::Same(slot) => self.is_bound_to(slot, place),
                constant => self.is(constant, place),
            };
            if !matches {
                return None;
            }
        }
        let place = match rest {
            [] => Ref::Term(&NIL),
            rest => Ref::String(rest),
        };
        self.list_tail(from_ref(tail), place)
    }

    /// Returns whether the value at a place is `=:=` to a constant pattern.
    fn is(&self, constant: Pattern, place: Ref<'a>) -> bool {
        match constant {
            Pattern::Constant(id) => self.context.is_constant(place, self.program.constant(id)),
            _ => false,
        }
    }

    /// Matches a pattern on a term; if both have parts, these are to be matched. `None` if it does not match.
    #[inline(always)]
    fn term_or_rest(&mut self, pattern: Pattern, term: &'a Term) -> Option<Option<Rest<'a>>> {
        if pattern.has_parts() {
            return self.opened_term(pattern, term);
        }
        self.leaf_term(pattern, term).then_some(None)
    }

    /// Matches a pattern without parts on a term.
    #[inline(always)]
    fn leaf_term(&mut self, pattern: Pattern, term: &'a Term) -> bool {
        match pattern {
            Pattern::Any => true,
            Pattern::Bind => self.bind(Ref::Term(term)),
            Pattern::Same(slot) => self.is_bound_to(slot, Ref::Term(term)),
            Pattern::Constant(id) => self.program.constant(id).term == *term,
            _ => false,
        }
    }

    /// Opens a term for a pattern with parts, which are to be matched. `None` if it does not match.
    fn opened_term(&mut self, pattern: Pattern, term: &'a Term) -> Option<Option<Rest<'a>>> {
        let patterns = &self.program.patterns;
        let rest = match (pattern, term) {
            (Pattern::Tuple { elements, .. }, Term::Tuple(terms)) => {
                return (elements.len as usize == terms.len())
                    .then(|| self.terms(elements.of(patterns), terms))?;
            }
            (Pattern::Cons(parts), Term::List(terms)) => Rest::TermCells {
                parts: parts.of(patterns),
                terms,
                end: None,
            },
            (Pattern::Cons(parts), Term::Improper(terms, tail)) => Rest::TermCells {
                parts: parts.of(patterns),
                terms,
                end: Some(tail),
            },
            (Pattern::Map(parts), Term::Map(map)) => {
                Rest::TermPairs(parts.of(patterns).as_chunks::<2>().0, map)
            }
            _ => return None,
        };
        Some(Some(rest))
    }

    /// Matches the elements of a tuple of terms up to the first with parts: most have none, and then nothing is left.
    #[inline]
    fn terms(
        &mut self,
        mut patterns: &'a [Pattern],
        mut terms: &'a [Term],
    ) -> Option<Option<Rest<'a>>> {
        while let (Some((&pattern, more)), Some((term, others))) =
            (patterns.split_first(), terms.split_first())
        {
            if pattern.has_parts() {
                return Some(Some(Rest::Terms(patterns, terms)));
            }
            if !self.leaf_term(pattern, term) {
                return None;
            }
            (patterns, terms) = (more, others);
        }
        Some(None)
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

/// The reason why the bytes of a key were not followed to the end of a pattern.
enum Stop {
    /// The key does not match.
    NoMatch,
    /// The bytes cannot decide.
    Undecided,
}

/// The bytes of a key that are still to be compared with a pattern.
struct KeyBytes<'k, 'm, 'a> {
    matcher: &'k mut Matcher<'m, 'a>,
    left: &'a [u8],
    /// The number of terms at the front that are passed over before the next one that is looked at, if any is.
    passed: usize,
}

/// The parts of a pattern that are still to be compared.
enum KeyParts<'a> {
    Elements(&'a [Pattern]),
    Cells(&'a [Pattern]),
    /// Those of a map of which `pairs` are left, whose values are the bytes that come next: a bit of `places`, from the
    /// lowest on, tells which have the keys that are wanted.
    Pairs {
        wanted: &'a [[Pattern; 2]],
        places: u64,
        pairs: usize,
    },
}

impl<'a> KeyBytes<'_, '_, 'a> {
    fn go(&mut self, pattern: Pattern) -> Result<(), Stop> {
        let patterns = &self.matcher.program.patterns;
        let mut around: SmallVec<[_; 4]> = smallvec![KeyParts::Elements(from_ref(&pattern))];
        while let Some(parts) = around.last_mut() {
            let Some(part) = self.next(parts)? else {
                around.pop();
                continue;
            };
            match part {
                Pattern::Any => self.passed += 1,
                Pattern::Bind => {
                    let part = self.take()?;
                    self.matcher.bind(part);
                }
                Pattern::Same(slot) => {
                    let part = self.take()?;
                    holds(self.matcher.is_bound_to(slot, part))?;
                }
                Pattern::Constant(id) => self.constant(self.matcher.program.constant(id))?,
                Pattern::Tuple { elements, .. } => {
                    self.begin_tuple(elements.len as usize)?;
                    around.push(KeyParts::Elements(elements.of(patterns)));
                }
                Pattern::Cons(parts) => around.push(KeyParts::Cells(parts.of(patterns))),
                Pattern::Map(parts) => {
                    around.push(self.begin_map(parts.of(patterns).as_chunks::<2>().0)?)
                }
            }
        }
        Ok(())
    }

    /// Returns the pattern of the term that is next.
    fn next(&mut self, parts: &mut KeyParts<'_>) -> Result<Option<Pattern>, Stop> {
        match parts {
            KeyParts::Elements(parts) => Ok(parts.split_off_first().copied()),
            KeyParts::Cells(parts) => {
                if parts.len() > 1 {
                    self.left = key::begin_cell(self.front()?).ok_or(Stop::NoMatch)?;
                }
                Ok(parts.split_off_first().copied())
            }
            KeyParts::Pairs {
                wanted,
                places,
                pairs,
            } => {
                let Some([_, pattern]) = wanted.split_off_first() else {
                    self.passed += *pairs;
                    return Ok(None);
                };
                let before = places.trailing_zeros() as usize;
                self.passed += before;
                *pairs -= before + 1;
                *places = *places >> before >> 1;
                Ok(Some(*pattern))
            }
        }
    }

    /// Returns the bytes from the next term on.
    fn front(&mut self) -> Result<&'a [u8], Stop> {
        for _ in 0..mem::take(&mut self.passed) {
            self.left = key::behind(self.left).ok_or(Stop::Undecided)?;
        }
        Ok(self.left)
    }

    /// Takes the next term.
    fn take(&mut self) -> Result<Ref<'a>, Stop> {
        let front = self.front()?;
        self.left = key::behind(front).ok_or(Stop::Undecided)?;
        Ok(Ref::KeyPart(&front[..front.len() - self.left.len()]))
    }

    fn begin_tuple(&mut self, arity: usize) -> Result<(), Stop> {
        if arity > key::MOST_ELEMENTS {
            return Err(Stop::Undecided);
        }
        self.left = key::begin_tuple(self.front()?, arity).ok_or(Stop::NoMatch)?;
        Ok(())
    }

    fn begin_map(&mut self, wanted: &'a [[Pattern; 2]]) -> Result<KeyParts<'a>, Stop> {
        let (pairs, keys) = key::begin_map(self.front()?).ok_or(Stop::NoMatch)?;
        holds(wanted.len() <= pairs)?;
        self.left = keys;
        let places = match wanted {
            [] => {
                self.passed = pairs;
                0
            }
            wanted => self.places(wanted, pairs)?,
        };
        Ok(KeyParts::Pairs {
            wanted,
            places,
            pairs,
        })
    }

    /// Passes over the keys of a map once, and returns a bit for each pair (of 64 at most), set if its key is wanted.
    fn places(&mut self, mut wanted: &'a [[Pattern; 2]], pairs: usize) -> Result<u64, Stop> {
        if pairs > u64::BITS as usize {
            return Err(Stop::Undecided);
        }
        let mut places = 0;
        let mut key = self.next_key(&mut wanted)?;
        // The keys of both sides ascend.
        for place in 0..pairs {
            let behind = key.and_then(|key| key::strip(self.left, key));
            if behind.is_some() {
                places |= 1 << place;
                key = self.next_key(&mut wanted)?;
            }
            let behind = behind.or_else(|| key::behind(self.left));
            self.left = behind.ok_or(Stop::Undecided)?;
        }
        holds(key.is_none()).map(|()| places)
    }

    fn next_key(&self, wanted: &mut &'a [[Pattern; 2]]) -> Result<Option<&'a [u8]>, Stop> {
        let next = wanted.split_off_first();
        next.map(|[key, _]| self.map_key(*key)).transpose()
    }

    /// Returns the bytes of a key of a map pattern, if it is of a kind that is written alike within a map and
    /// elsewhere: floats are not.
    fn map_key(&self, key: Pattern) -> Result<&'a [u8], Stop> {
        let Pattern::Constant(id) = key else {
            return Err(Stop::Undecided);
        };
        let constant = self.matcher.program.constant(id);
        match constant.term {
            Term::Int(_) | Term::Atom(_) | Term::Binary(_) => Ok(constant.key_order()),
            _ => Err(Stop::Undecided),
        }
    }

    fn constant(&mut self, constant: &Constant) -> Result<(), Stop> {
        // Its trailer lists a float, and the key has none.
        holds(constant.key.len() == constant.order)?;
        self.left = key::strip(self.front()?, constant.key_order()).ok_or(Stop::NoMatch)?;
        Ok(())
    }
}

fn holds(matches: bool) -> Result<(), Stop> {
    if matches { Ok(()) } else { Err(Stop::NoMatch) }
}

/// Returns the bytes behind the first value.
#[inline(always)]
fn behind(mut values: &[u8]) -> Option<&[u8]> {
    value::skip(&mut values).ok().map(|()| values)
}

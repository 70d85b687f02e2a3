//! Compiles heads to patterns.

use std::convert::Infallible;

use fyris_term::Term;
use fyris_term::walk::{Grow, Next, Part, Parts, grow};
use smallvec::SmallVec;

use crate::compile::compiler::Compiler;
use crate::compile::error::{ProblemKind, brief};
use crate::program::{Id, Pattern, Span};
use crate::syntax::atoms::{is_anything, variable};
use crate::syntax::structure::NIL;

impl Compiler {
    /// Compiles a head. A tuple of constants stays a tuple: it is compared with objects element by element.
    pub(super) fn head(&mut self, term: &Term) -> Pattern {
        self.places.clear();
        let Some(elements) = term.as_tuple() else {
            let made = self.pattern(term);
            return self.made(made);
        };
        let mut parts = MadePatterns::new();
        for (element, term) in (0..).zip(elements) {
            let made = self.pattern(term);
            if let MadePattern::Pattern(Pattern::Bind) = made {
                self.places.push((self.variables.len() as Id - 1, element));
            }
            parts.push(made);
        }
        let matters = |made: &MadePattern<'_>| !matches!(made, MadePattern::Pattern(Pattern::Any));
        let used = parts.iter().rposition(matters).map_or(0, |last| last + 1) as u32;
        let elements = self.pattern_span(parts.into_iter());
        Pattern::Tuple { elements, used }
    }

    fn pattern<'t>(&mut self, term: &'t Term) -> MadePattern<'t> {
        match self.begin_pattern(term) {
            Part::Leaf(made) => made,
            Part::Open(open) => {
                let mut heads = Heads {
                    compiler: self,
                    made: MadePatterns::new(),
                };
                let Ok(made) = grow(&mut heads, open);
                made
            }
        }
    }

    fn begin_pattern<'t>(&mut self, term: &'t Term) -> Part<MadePattern<'t>, OpenPattern<'t>> {
        let parts = match term {
            Term::Atom(_) => return Part::Leaf(self.atom_pattern(term)),
            Term::Tuple(elements) => Parts::Terms(elements),
            Term::List(elements) if !elements.is_empty() => Parts::Cells(elements, &NIL),
            Term::Improper(elements, tail) => Parts::Cells(elements, tail),
            Term::Map(map) => Parts::Pairs(map.pairs()),
            other => return Part::Leaf(MadePattern::Literal(other)),
        };
        Part::Open(OpenPattern { term, parts, at: 0 })
    }

    fn atom_pattern<'t>(&mut self, term: &'t Term) -> MadePattern<'t> {
        if is_anything(term) {
            return MadePattern::Pattern(Pattern::Any);
        }
        let Some(number) = variable(term) else {
            return MadePattern::Literal(term);
        };
        match self.variables.iter().position(|&known| known == number) {
            Some(slot) => MadePattern::Pattern(Pattern::Same(slot as Id)),
            None => {
                self.variables.push(number);
                MadePattern::Pattern(Pattern::Bind)
            }
        }
    }

    fn made(&mut self, made: MadePattern<'_>) -> Pattern {
        match made {
            MadePattern::Literal(term) => Pattern::Constant(self.constant(term.clone())),
            MadePattern::Pattern(pattern) => pattern,
        }
    }

    fn pattern_span<'t>(&mut self, parts: impl Iterator<Item = MadePattern<'t>>) -> Span {
        let at = self.program.patterns.len();
        for made in parts {
            let pattern = self.made(made);
            self.program.patterns.push(pattern);
        }
        Span::between(at, self.program.patterns.len())
    }
}

type MadePatterns<'t> = SmallVec<[MadePattern<'t>; 8]>;

/// What a part of a head was compiled to.
#[derive(Clone, Copy)]
enum MadePattern<'t> {
    /// A term that matches itself alone. It becomes a constant, or a part of a larger one.
    Literal(&'t Term),
    Pattern(Pattern),
}

/// A tuple, a list or a map in a head that is being compiled.
struct OpenPattern<'t> {
    term: &'t Term,
    parts: Parts<'t>,
    at: usize,
}

/// Compiles heads of any depth from the leaves up.
struct Heads<'c, 't> {
    compiler: &'c mut Compiler,
    /// The parts made so far of all that is open.
    made: MadePatterns<'t>,
}

impl<'t> Grow for Heads<'_, 't> {
    type Out = MadePattern<'t>;
    type Frame = OpenPattern<'t>;
    type Error = Infallible;

    fn part(&mut self, open: &mut OpenPattern<'t>) -> Next<Self> {
        let Some(part) = open.parts.get(open.at) else {
            return Ok(None);
        };
        let is_key = matches!(open.parts, Parts::Pairs(_)) && open.at.is_multiple_of(2);
        open.at += 1;
        if !is_key {
            return Ok(Some(self.compiler.begin_pattern(part)));
        }
        if variable(part).is_some() || is_anything(part) {
            self.compiler.problem(ProblemKind::VariableKey(brief(part)));
        }
        Ok(Some(Part::Leaf(MadePattern::Literal(part))))
    }

    fn put(&mut self, _open: &mut OpenPattern<'t>, part: MadePattern<'t>) {
        self.made.push(part);
    }

    /// Makes a pattern, or a literal if all parts are. A map never is one: it matches maps with more keys.
    fn finish(&mut self, open: OpenPattern<'t>) -> Result<MadePattern<'t>, Infallible> {
        let from = self.made.len() - open.at;
        let is_map = matches!(open.parts, Parts::Pairs(_));
        let mut parts = self.made[from..].iter();
        if !is_map && parts.all(|part| matches!(part, MadePattern::Literal(_))) {
            self.made.truncate(from);
            return Ok(MadePattern::Literal(open.term));
        }
        let parts = self.compiler.pattern_span(self.made.drain(from..));
        Ok(MadePattern::Pattern(match open.term {
            Term::Tuple(_) => Pattern::Tuple {
                used: parts.len,
                elements: parts,
            },
            Term::Map(_) => Pattern::Map(parts),
            _ => Pattern::Cons(parts),
        }))
    }
}

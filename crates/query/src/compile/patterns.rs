//! Compiles heads to patterns.

use fyris_term::Term;
use smallvec::SmallVec;

use crate::compile::compiler::Compiler;
use crate::compile::error::{ProblemKind, brief};
use crate::program::{Id, Pattern};
use crate::syntax::atoms::{is_anything, variable};

type Patterns = SmallVec<[Pattern; 8]>;

impl Compiler {
    /// Compiles a head. A tuple of constants stays a tuple: it is compared with objects element by element.
    pub(super) fn head(&mut self, term: &Term) -> Pattern {
        let Some(elements) = term.as_tuple() else {
            return self.pattern(term);
        };
        let parts: Patterns = elements
            .iter()
            .map(|element| self.pattern(element))
            .collect();
        let matters = |pattern: &Pattern| !matches!(pattern, Pattern::Any);
        let used = parts.iter().rposition(matters).map_or(0, |last| last + 1) as u32;
        let elements = self.pattern_span(&parts);
        Pattern::Tuple { elements, used }
    }

    fn pattern(&mut self, term: &Term) -> Pattern {
        match term {
            Term::Atom(_) => self.atom_pattern(term),
            Term::Tuple(elements) => self.tuple_pattern(term, elements),
            Term::List(elements) if !elements.is_empty() => {
                self.list_pattern(term, elements, &Term::list(Vec::new()))
            }
            Term::Improper(elements, tail) => self.list_pattern(term, elements, tail),
            Term::Map(map) => self.map_pattern(map.pairs()),
            other => self.constant_pattern(other),
        }
    }

    fn atom_pattern(&mut self, term: &Term) -> Pattern {
        if is_anything(term) {
            return Pattern::Any;
        }
        let Some(number) = variable(term) else {
            return self.constant_pattern(term);
        };
        match self.variables.iter().position(|&known| known == number) {
            Some(slot) => Pattern::Same(slot as Id),
            None => {
                self.variables.push(number);
                Pattern::Bind
            }
        }
    }

    fn constant_pattern(&mut self, term: &Term) -> Pattern {
        Pattern::Constant(self.constant(term.clone()))
    }

    /// Compiles the parts of a pattern. If all are constants, removes them and returns `None`: the whole is a
    /// constant.
    fn pattern_parts<'t>(&mut self, parts: impl Iterator<Item = &'t Term>) -> Option<Patterns> {
        let before = self.constants.len();
        let parts: Patterns = parts.map(|part| self.pattern(part)).collect();
        if parts
            .iter()
            .all(|part| matches!(part, Pattern::Constant(_)))
        {
            self.constants.truncate(before);
            return None;
        }
        Some(parts)
    }

    fn tuple_pattern(&mut self, term: &Term, elements: &[Term]) -> Pattern {
        match self.pattern_parts(elements.iter()) {
            Some(parts) => Pattern::Tuple {
                used: parts.len() as u32,
                elements: self.pattern_span(&parts),
            },
            None => self.constant_pattern(term),
        }
    }

    fn list_pattern(&mut self, term: &Term, elements: &[Term], tail: &Term) -> Pattern {
        match self.pattern_parts(elements.iter().chain([tail])) {
            Some(parts) => Pattern::Cons(self.pattern_span(&parts)),
            None => self.constant_pattern(term),
        }
    }

    /// Compiles a map, which is never a constant: it matches maps with more keys.
    fn map_pattern(&mut self, pairs: &[(Term, Term)]) -> Pattern {
        let mut parts = Patterns::new();
        for (key, value) in pairs {
            if variable(key).is_some() || is_anything(key) {
                self.problem(ProblemKind::VariableKey(brief(key)));
            }
            parts.push(self.constant_pattern(key));
            parts.push(self.pattern(value));
        }
        Pattern::Map(self.pattern_span(&parts))
    }
}

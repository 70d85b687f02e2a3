//! What the columns of an export hold, and so the types by which they would come back as they are.

use fyris_term::walk::Parts;
use fyris_term::{Fun, Term};

use super::readings::{Reading, Readings};
use crate::shell::screen::format::Format;

/// The kinds of terms that a column holds.
#[derive(Clone, Copy, Debug, Default)]
struct Column {
    ints: bool,
    floats: bool,
    texts: bool,
    atoms: bool,
    /// `undefined`, an empty field or `null`.
    missing: bool,
    /// Anything else.
    terms: bool,
    /// Closures, which no text gives back.
    closures: bool,
}

impl Column {
    fn see(&mut self, element: &Term) {
        match element {
            Term::Int(_) | Term::Big(_) => self.ints = true,
            Term::Float(_) => self.floats = true,
            Term::Binary(bytes) if std::str::from_utf8(bytes).is_ok() => self.texts = true,
            Term::Atom(name) if name.as_str() == "undefined" => self.missing = true,
            Term::Atom(name) if !name.as_str().is_empty() => self.atoms = true,
            other => {
                self.terms = true;
                self.closures = self.closures || has_closure(other);
            }
        }
    }

    /// Returns the type that holds all values: `term`, unless they are of one kind.
    fn fitting(self, format: Format) -> Reading {
        // In CSV a text that is missing is an empty text.
        let missing_text = self.missing && format == Format::Csv;
        match (self.ints, self.floats, self.texts, self.atoms, self.terms) {
            (true, false, false, false, false) => Reading::Int,
            (false, true, false, false, false) => Reading::Float,
            (false, false, true, false, false) if !missing_text => Reading::Text,
            (false, false, false, true, false) => Reading::Atom,
            _ => Reading::Term,
        }
    }
}

/// The kinds of terms in each column.
#[derive(Debug, Default)]
pub(crate) struct Kinds(Vec<Column>);

impl Kinds {
    /// Takes note of a row.
    pub(super) fn see(&mut self, elements: &[Term]) {
        if self.0.len() < elements.len() {
            self.0.resize(elements.len(), Column::default());
        }
        for (column, element) in self.0.iter_mut().zip(elements) {
            column.see(element);
        }
    }

    /// Returns whether there are closures in a column.
    pub(crate) fn has_closures(&self, column: usize) -> bool {
        self.0.get(column).is_some_and(|column| column.closures)
    }

    /// Returns the readings by which the columns that `changed` would come back as they are, but for closures.
    pub(crate) fn keeping(
        &self,
        mut readings: Readings,
        changed: impl Iterator<Item = usize>,
        format: Format,
    ) -> Readings {
        for at in changed.filter(|&at| !self.has_closures(at)) {
            let column = self.0.get(at).copied().unwrap_or_default();
            let fitting = column.fitting(format);
            // What was tried did not do.
            let known = readings.of(at) == fitting;
            readings.set(at, if known { Reading::Term } else { fitting });
        }
        readings
    }
}

/// Returns whether a term is a closure, or has one in it.
fn has_closure(term: &Term) -> bool {
    let mut left = vec![term];
    while let Some(term) = left.pop() {
        if matches!(term, Term::Fun(fun) if matches!(**fun, Fun::Local(_))) {
            return true;
        }
        if let Some(parts) = Parts::of(term) {
            left.extend((0..).map_while(|at| parts.get(at)));
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_get_the_type_that_keeps_them() {
        let rows = "[{1, <<\"1\">>, ok, 1.5, {a}, undefined, <<\"x\">>}, \
                    {undefined, <<>>, undefined, -0.0, 1, undefined, undefined}]";
        let mut kinds = Kinds::default();
        for row in Term::parse(rows)
            .expect("a term")
            .as_list()
            .expect("a list")
        {
            kinds.see(row.as_tuple().expect("a tuple"));
        }
        let names = ["a", "b", "c", "d", "e", "f", "g"].map(str::to_owned);
        let said = |format, changed| {
            let keeping = kinds.keeping(Readings::default(), changed, format);
            keeping.said(&names).expect("plain names")
        };
        let csv = "a:int,b:text,c:atom,d:float,e:term,f:term,g:term";
        assert_eq!(said(Format::Csv, 0..7), csv);
        assert_eq!(said(Format::Json, 4..7), "e:term,f:term,g:text");
    }
}

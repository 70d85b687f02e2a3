//! The atoms with a meaning of their own in a match specification.

use std::sync::LazyLock;

use fyris_term::{Atom, Term};

/// The atoms that compiling and running need.
pub(crate) struct Known {
    pub(crate) r#true: Atom,
    pub(crate) r#false: Atom,
    /// The value of a call in a body that fails.
    pub(crate) exit: Atom,
    /// `'_'`, which matches anything.
    pub(crate) anything: Atom,
    /// `'$_'`, the whole object.
    pub(crate) object: Atom,
    /// `'$$'`, the bindings.
    pub(crate) bindings: Atom,
    pub(crate) r#const: Atom,
    pub(crate) element: Atom,
    pub(crate) no_node: Atom,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| {
    let atom = Atom::word;
    Known {
        r#true: atom("true"),
        r#false: atom("false"),
        exit: atom("EXIT"),
        anything: atom("_"),
        object: atom("$_"),
        bindings: atom("$$"),
        r#const: atom("const"),
        element: atom("element"),
        no_node: atom("nonode@nohost"),
    }
});

/// Returns the atoms.
#[inline]
pub(crate) fn known() -> &'static Known {
    &KNOWN
}

impl Known {
    /// Returns `true` or `false`.
    #[inline]
    pub(crate) fn boolean(&self, value: bool) -> Atom {
        if value { self.r#true } else { self.r#false }
    }

    /// Returns the boolean that an atom is; `None` if it is none.
    #[inline]
    pub(crate) fn as_boolean(&self, atom: Atom) -> Option<bool> {
        if atom == self.r#true {
            Some(true)
        } else {
            (atom == self.r#false).then_some(false)
        }
    }
}

/// Returns the number of a variable, `'$0'` to `'$2147483647'` without leading zeros; `None` for other terms.
pub(crate) fn variable(term: &Term) -> Option<u32> {
    let digits = term.as_atom()?.as_str().strip_prefix('$')?;
    let canonical = digits == "0" || digits.starts_with(|first: char| ('1'..='9').contains(&first));
    if !canonical || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits
        .parse()
        .ok()
        .filter(|&number| number <= i32::MAX as u32)
}

/// Returns whether the term is `'_'`.
pub(crate) fn is_anything(term: &Term) -> bool {
    term.as_atom() == Some(known().anything)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_a_dollar_and_a_number() {
        let number = |name: &str| variable(&Term::atom(name));
        assert_eq!(number("$0"), Some(0));
        assert_eq!(number("$10"), Some(10));
        assert_eq!(number("$2147483647"), Some(2_147_483_647));
        for name in [
            "$",
            "$$",
            "$_",
            "$00",
            "$01",
            "$1x",
            "$+1",
            "$ 1",
            "$2147483648",
            "1",
            "_",
        ] {
            assert_eq!(number(name), None, "{name}");
        }
    }
}

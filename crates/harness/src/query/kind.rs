//! The objects of the suite `query`.

use fyris_term::Term;

/// The objects of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    /// `{integer, integer}`.
    Int,
    /// `{binary of 20 bytes, integer, atom}`.
    Bin,
}

impl ObjectKind {
    /// Both.
    pub(super) const ALL: [ObjectKind; 2] = [ObjectKind::Int, ObjectKind::Bin];

    /// Returns the kind of keys, in the vocabulary.
    pub(super) fn keys(self) -> &'static str {
        match self {
            ObjectKind::Int => "term_int",
            ObjectKind::Bin => "term_bin20",
        }
    }

    /// Returns the objects' form, for the figures.
    pub(super) fn objects(self) -> &'static str {
        match self {
            ObjectKind::Int => "{K, V}",
            ObjectKind::Bin => "{K, V, atom}",
        }
    }

    /// Returns its name in the script.
    pub(super) fn word(self) -> &'static str {
        match self {
            ObjectKind::Int => "int",
            ObjectKind::Bin => "bin",
        }
    }

    /// Returns the key of a number.
    pub(super) fn key(self, k: usize) -> Term {
        match self {
            ObjectKind::Int => Term::Int(k as i64),
            ObjectKind::Bin => {
                let spread = (k as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let parts = [
                    &spread.to_be_bytes()[..],
                    &(k as u64).to_be_bytes(),
                    &[0; 4],
                ];
                Term::binary(parts.concat())
            }
        }
    }

    /// Returns the object of a number below `n`; the second elements are a permutation of the numbers.
    pub(super) fn object(self, k: usize, n: usize) -> Term {
        let mut elements = vec![self.key(k), Term::Int((k * 7 % n) as i64)];
        if self == ObjectKind::Bin {
            elements.push(Term::atom(["red", "green", "blue"][k % 3]));
        }
        Term::tuple(elements)
    }

    /// Returns a head with these for the key and the second element.
    pub(super) fn head(self, key: &str, second: &str) -> String {
        match self {
            ObjectKind::Int => format!("{{{key},{second}}}"),
            ObjectKind::Bin => format!("{{{key},{second},'_'}}"),
        }
    }
}

//! The first item of a dump: a tuple of pairs that describes the table.
//!
//! OTP writes what `ets:info/1` answers, then `{major_version, 1}`, `{minor_version, 0}` and
//! `{extended_info, List}`. Order does not matter to a reader. Six of the pairs are mandatory: each of
//! `name`, `type`, `protection`, `named_table`, `keypos` and `size` has to be there, and none of them
//! twice.
//!
//! A reader passes over pairs that it does not know. So what OTP has no place for stands here, and no reader minds, old
//! ones neither: `{index, Name}`, the index of Fyris, and `{columns, Term}`, what the writer says of the elements.

use fyris_term::{Atom, Term};

use super::{Damage, DumpError};
use crate::{Protection, TableType};

const MANDATORY: [&str; 6] = [
    "name",
    "type",
    "protection",
    "named_table",
    "keypos",
    "size",
];

/// The highest major version that can be read.
const MAX_MAJOR: i64 = 1;

/// The description of a table as it stands in a dump: nothing is checked but that the mandatory pairs
/// are there.
#[derive(Clone)]
pub struct Header {
    pairs: Vec<Term>,
    offset: u64,
}

/// A dump's description of its table (`ets:tabfile_info`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpInfo {
    /// Name of the table.
    pub name: Atom,
    /// Its type.
    pub table_type: TableType,
    /// Its access rights.
    pub protection: Protection,
    /// Is it registered under its name?
    pub named_table: bool,
    /// Position of the key, from 1.
    pub keypos: usize,
    /// Number of objects when the dump began.
    pub size: u64,
    /// Does the end of the dump carry the number of objects?
    pub object_count: bool,
    /// Does the end of the dump carry an MD5?
    pub md5sum: bool,
    /// Version of the format: major, minor.
    pub version: (i64, i64),
}

/// Returns what a log is whose first term describes no table.
pub(super) fn other_log(first: &Term) -> Option<&'static str> {
    let parts = first.as_tuple().unwrap_or(&[]);
    if let [tag, Term::Atom(kind), _, _, _, _] = parts
        && is_atom(tag, "log_header")
    {
        return Some(match kind.as_str() {
            "backup_log" => "a backup of Mnesia",
            "dcd_log" | "dcl_log" => "a file of a table of Mnesia",
            _ => "a log of Mnesia",
        });
    }
    let describes = |name: &&str| parts.iter().any(|part| named(part, name).is_some());
    let is_dump = MANDATORY.iter().any(describes);
    (!is_dump).then_some("a log of OTP's disk_log that holds no table")
}

impl Header {
    /// Checks that `term`, found at `offset`, is a tuple with the mandatory pairs.
    ///
    /// # Errors
    ///
    /// [`Damage::Header`].
    pub(super) fn new(term: Term, offset: u64) -> Result<Header, Damage> {
        let bad = |why: String| Damage::Header { offset, why };
        let Term::Tuple(pairs) = term else {
            return Err(bad("it is not a tuple".into()));
        };
        let header = Header {
            pairs: pairs.into_vec(),
            offset,
        };
        for name in MANDATORY {
            match header
                .pairs
                .iter()
                .filter(|p| named(p, name).is_some())
                .count()
            {
                1 => {}
                0 => return Err(bad(format!("it has no {name}"))),
                n => return Err(bad(format!("it has {name} {n} times"))),
            }
        }
        Ok(header)
    }

    /// Returns the value of the first pair `{name, Value}`.
    pub fn get(&self, name: &str) -> Option<&Term> {
        self.pairs.iter().find_map(|pair| named(pair, name))
    }

    /// Returns the offset of the description in the file, in bytes.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns whether `item` is among the extended information.
    pub(super) fn promises(&self, item: &str) -> bool {
        match self.get("extended_info") {
            Some(Term::List(items)) => items.iter().any(|i| is_atom(i, item)),
            _ => false,
        }
    }

    /// Refuses what a later version wrote.
    pub(super) fn check_version(&self) -> Result<(), DumpError> {
        let (major, minor) = self.version();
        match major {
            Term::Int(n) if n <= MAX_MAJOR => Ok(()),
            _ => Err(DumpError::UnsupportedVersion { major, minor }),
        }
    }

    /// Returns the major and minor version, 0 where the description has none.
    pub(super) fn version(&self) -> (Term, Term) {
        let part = |name| self.get(name).cloned().unwrap_or(Term::Int(0));
        (part("major_version"), part("minor_version"))
    }

    /// Returns the answer of `ets:tabfile_info`: a list of pairs, values as they stand in the dump.
    pub fn to_term(&self) -> Term {
        let (major, minor) = self.version();
        let mut items: Vec<Term> = MANDATORY
            .iter()
            .filter_map(|name| Some(pair(name, self.get(name)?.clone())))
            .collect();
        let none = Term::list([]);
        items.push(pair(
            "extended_info",
            self.get("extended_info").cloned().unwrap_or(none),
        ));
        items.push(pair("version", Term::tuple(vec![major, minor])));
        Term::list(items)
    }

    /// Returns the description, checked.
    ///
    /// # Errors
    ///
    /// [`Damage::Header`] for a value that no table can have.
    pub fn info(&self) -> Result<DumpInfo, Damage> {
        let size = self.value("size", |t| u64::try_from(int(t)?).ok())?;
        Ok(DumpInfo {
            size,
            ..self.info_but_size()?
        })
    }

    /// Returns the description, checked, but with 0 for the size, which takes no part in making the table.
    pub(super) fn info_but_size(&self) -> Result<DumpInfo, Damage> {
        Ok(DumpInfo {
            name: self.value("name", |t| match t {
                Term::Atom(name) => Some(*name),
                _ => None,
            })?,
            table_type: self.value("type", table_type)?,
            protection: self.value("protection", protection)?,
            named_table: self.value("named_table", boolean)?,
            keypos: self.value("keypos", |t| {
                usize::try_from(int(t)?).ok().filter(|n| *n > 0)
            })?,
            size: 0,
            object_count: self.promises("object_count"),
            md5sum: self.promises("md5sum"),
            version: {
                let (major, minor) = self.version();
                (int(&major).unwrap_or(0), int(&minor).unwrap_or(0))
            },
        })
    }

    /// Returns the option of this name; false where the dump does not have it, as old ones do not.
    pub(super) fn is_on(&self, name: &str) -> Result<bool, Damage> {
        match self.get(name) {
            None => Ok(false),
            Some(_) => self.value(name, boolean),
        }
    }

    fn value<T>(&self, name: &str, read: impl Fn(&Term) -> Option<T>) -> Result<T, Damage> {
        self.get(name).and_then(read).ok_or_else(|| Damage::Header {
            offset: self.offset,
            why: format!("its {name} is not one that a table can have"),
        })
    }
}

/// Returns the description that Fyris writes: `info` is what `ets:info/1` would list.
pub(super) fn describe(mut info: Vec<Term>, extended_info: Term) -> Term {
    info.push(pair("major_version", Term::Int(1)));
    info.push(pair("minor_version", Term::Int(0)));
    info.push(pair("extended_info", extended_info));
    Term::tuple(info)
}

/// Returns `{name, Value}`.
pub(super) fn pair(name: &str, value: Term) -> Term {
    Term::tuple(vec![Term::atom(name), value])
}

/// Returns the value, if `term` is `{name, Value}`.
pub(super) fn named<'t>(term: &'t Term, name: &str) -> Option<&'t Term> {
    match term {
        Term::Tuple(pair) => match &pair[..] {
            [tag, value] if is_atom(tag, name) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

fn is_atom(term: &Term, name: &str) -> bool {
    matches!(term, Term::Atom(atom) if atom.as_str() == name)
}

fn int(term: &Term) -> Option<i64> {
    match term {
        Term::Int(n) => Some(*n),
        _ => None,
    }
}

fn boolean(term: &Term) -> Option<bool> {
    match term {
        t if is_atom(t, "true") => Some(true),
        t if is_atom(t, "false") => Some(false),
        _ => None,
    }
}

fn table_type(term: &Term) -> Option<TableType> {
    use TableType::*;
    [Set, OrderedSet, Bag, DuplicateBag]
        .into_iter()
        .find(|t| is_atom(term, t.as_str()))
}

fn protection(term: &Term) -> Option<Protection> {
    use Protection::*;
    [Public, Protected, Private]
        .into_iter()
        .find(|p| is_atom(term, p.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimal() -> Vec<Term> {
        vec![
            pair("name", Term::atom("t")),
            pair("type", Term::atom("bag")),
            pair("protection", Term::atom("private")),
            pair("named_table", Term::atom("false")),
            pair("keypos", Term::Int(2)),
            pair("size", Term::Int(7)),
        ]
    }

    #[test]
    fn the_mandatory_pairs() {
        let header = Header::new(Term::tuple(minimal()), 16).unwrap_or_else(|e| panic!("{e}"));
        let info = header.info().unwrap();
        assert_eq!(
            (info.table_type, info.keypos, info.size),
            (TableType::Bag, 2, 7)
        );
        assert_eq!(info.version, (0, 0));
        for missing in 0..6 {
            let mut pairs = minimal();
            pairs.remove(missing);
            assert!(matches!(
                Header::new(Term::tuple(pairs), 16),
                Err(Damage::Header { .. })
            ));
            let mut pairs = minimal();
            pairs.push(pairs[missing].clone());
            assert!(matches!(
                Header::new(Term::tuple(pairs), 16),
                Err(Damage::Header { .. })
            ));
        }
        assert!(Header::new(Term::list(minimal()), 16).is_err());
    }

    #[test]
    fn values_are_checked_when_asked_for() {
        let wrong = [
            Term::Int(0),
            Term::Int(-1),
            Term::atom("x"),
            Term::list(vec![]),
        ];
        for value in wrong {
            let mut pairs = minimal();
            pairs[4] = pair("keypos", value);
            let header = Header::new(Term::tuple(pairs), 16).unwrap_or_else(|e| panic!("{e}"));
            assert!(matches!(
                header.info(),
                Err(Damage::Header { offset: 16, .. })
            ));
        }
    }

    #[test]
    fn later_versions_are_refused() {
        for (major, fine) in [
            (Term::Int(1), true),
            (Term::Int(2), false),
            (Term::atom("x"), false),
        ] {
            let mut pairs = minimal();
            pairs.push(pair("major_version", major));
            let header = Header::new(Term::tuple(pairs), 16).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(header.check_version().is_ok(), fine);
        }
    }
}

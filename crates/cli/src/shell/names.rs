//! Names that a line may use: of tables, and of their elements, which are the columns of the files that they were
//! loaded from.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};

use fyris_term::Term;

use super::screen::format::printable;

/// The names of the elements of a table's objects.
#[derive(Clone, Debug, Default)]
struct ColumnNames {
    all: Vec<String>,
    /// Those whose texts were read as something else, and that may hold atoms therefore.
    read_anew: Vec<String>,
}

/// The columns of each table that has any, by the table's name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Columns {
    by_table: HashMap<String, ColumnNames>,
    /// The table in use.
    current: Option<String>,
    /// Those of each snapshot, by its name: of all its tables, as they were then.
    past: BTreeMap<String, Columns>,
}

impl Columns {
    /// Notes the columns of a table, in the order of its elements, and those whose texts were read as something else.
    pub(crate) fn set(&mut self, table: &str, all: Vec<String>, read_anew: Vec<String>) {
        let names = ColumnNames { all, read_anew };
        self.by_table.insert(table.to_owned(), names);
    }

    /// Returns the columns of a table as a dump keeps them: `[{Name, What}]`, where `What` is `[atoms]` for a column
    /// that may hold atoms, else `[]`. Nothing for a table without names.
    pub(crate) fn for_dump(&self, table: &str) -> Option<Term> {
        let names = self.by_table.get(table)?;
        let pair = |name: &String| {
            let atoms = names.read_anew.contains(name).then(|| Term::atom("atoms"));
            let name = Term::binary(name.as_bytes());
            Term::tuple(vec![name, Term::List(atoms.into_iter().collect())])
        };
        Some(Term::List(names.all.iter().map(pair).collect()))
    }

    /// Notes the columns that a dump has kept; none if they are not as [`Columns::for_dump`] gives them.
    pub(crate) fn set_from_dump(&mut self, table: &str, columns: &Term) {
        let name = |pair: &Term| match pair.as_tuple()? {
            [Term::Binary(name), Term::List(what)] => {
                let atoms = what.contains(&Term::atom("atoms"));
                Some((String::from_utf8(name.to_vec()).ok()?, atoms))
            }
            _ => None,
        };
        let pairs = columns.as_list().unwrap_or(&[]).iter().map(name);
        let pairs = pairs.collect::<Option<Vec<_>>>().unwrap_or_default();
        if pairs.is_empty() {
            return;
        }
        let atoms = pairs.iter().filter(|(_, atoms)| *atoms);
        let atoms = atoms.map(|(name, _)| name.clone()).collect();
        let names = pairs.into_iter().map(|(name, _)| name).collect();
        self.set(table, names, atoms);
    }

    /// Moves the columns of a table that has another name now.
    pub(crate) fn rename(&mut self, from: &str, to: &str) {
        if let Some(names) = self.by_table.remove(from) {
            self.by_table.insert(to.to_owned(), names);
        }
    }

    /// Forgets the columns of a table that is another one now.
    pub(crate) fn forget(&mut self, table: &str) {
        self.by_table.remove(table);
    }

    /// Says which table is in use, and forgets tables that are not there.
    pub(crate) fn refresh(&mut self, current: Option<String>, tables: &[String]) {
        self.by_table.retain(|table, _| tables.contains(table));
        self.current = current;
    }

    /// Notes a snapshot of tables.
    pub(crate) fn keep<'t>(&mut self, snapshot: &str, tables: impl Iterator<Item = &'t str>) {
        let columns = |name: &str| self.by_table.get(name).cloned().unwrap_or_default();
        let kept = Columns {
            by_table: tables
                .map(|name| (name.to_owned(), columns(name)))
                .collect(),
            ..Columns::default()
        };
        self.past.insert(snapshot.to_owned(), kept);
    }

    /// Forgets a snapshot.
    pub(crate) fn release(&mut self, snapshot: &str) {
        self.past.remove(snapshot);
    }

    /// Returns the columns in a snapshot, no columns if there is no such snapshot. The table in use is the only one in
    /// it; of several there is none, since the name of the one that is in use now may have been another's then.
    pub(crate) fn at(&self, snapshot: &str) -> Columns {
        let mut then = self.past.get(snapshot).cloned().unwrap_or_default();
        let mut tables = then.by_table.keys();
        then.current = match (tables.next(), tables.next()) {
            (Some(only), None) => Some(only.clone()),
            _ => None,
        };
        then
    }

    /// Returns the table in use.
    pub(crate) fn current(&self) -> Option<&str> {
        self.current.as_deref()
    }

    /// Returns the names of the snapshots.
    pub(crate) fn snapshots(&self) -> impl Iterator<Item = &String> {
        self.past.keys()
    }

    /// Returns the columns of the table that a query names, or of the one in use; none where it has no names.
    pub(crate) fn of(&self, table: Option<&Term>) -> &[String] {
        self.names(table).map_or(&[], |names| &names.all)
    }

    /// Returns those of them that may hold atoms.
    pub(crate) fn with_atoms(&self, table: Option<&Term>) -> &[String] {
        self.names(table).map_or(&[], |names| &names.read_anew)
    }

    fn names(&self, table: Option<&Term>) -> Option<&ColumnNames> {
        let name = match table {
            Some(Term::Atom(name)) => Some(name.as_str()),
            Some(_) => None,
            None => self.current.as_deref(),
        };
        name.and_then(|name| self.by_table.get(name))
    }
}

/// Names that there are at the moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// Tables.
    pub(crate) tables: Vec<String>,
    /// Columns of tables.
    pub(crate) columns: Columns,
    /// Items of `info`.
    pub(crate) items: Vec<&'static str>,
}

impl Known {
    /// Returns the names that there are in a snapshot.
    pub(crate) fn at(&self, snapshot: &str) -> Known {
        let columns = self.columns.at(snapshot);
        Known {
            tables: columns.by_table.keys().cloned().collect(),
            columns,
            items: self.items.clone(),
        }
    }
}

/// Names that the session knows and the editor asks for.
pub(crate) type Shared = Arc<Mutex<Known>>;

/// Returns a column as a query says it: as it is if it reads as a name, else in backquotes, a backquote inside doubled.
pub(crate) fn said(column: &str) -> String {
    let begins = column.starts_with(|c: char| c.is_alphabetic() || c == '_');
    match begins && column.chars().all(is_in_name) && !RESERVED.contains(&column) {
        true => column.to_owned(),
        false => format!("`{}`", printable(column).replace('`', "``")),
    }
}

/// Returns the place of the column of a name, from 0. `None` if there is none, or more than one.
pub(crate) fn place(columns: &[String], name: &str) -> Option<usize> {
    let mut places = (0..columns.len()).filter(|&at| columns[at] == name);
    let place = places.next()?;
    places.next().is_none().then_some(place)
}

/// Returns what is wrong with a name that has no place: no column has it, or several have.
pub(crate) fn no_place(columns: &[String], name: &str) -> &'static str {
    match columns.iter().any(|column| column == name) {
        true => "the name of several columns",
        false => "no column",
    }
}

/// Returns what is wrong with a name that has no place, with the nearest one and all of them.
pub(crate) fn unknown(columns: &[String], name: &str) -> String {
    let near = nearest(name, columns.iter().map(String::as_str));
    let near = near.map(|near| format!(" (did you mean {}?)", said(near)));
    format!(
        "{} is {}{}; the columns are {}",
        said(name),
        no_place(columns, name),
        near.unwrap_or_default(),
        listed(columns)
    )
}

/// Returns the columns as a query says them, with commas between.
pub(crate) fn listed(columns: &[String]) -> String {
    let said: Vec<String> = columns.iter().map(|column| said(column)).collect();
    said.join(", ")
}

/// Returns whether a character may stand in a name without quotes.
pub(crate) fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '@'
}

/// Returns whether a word is an atom that columns have.
pub(crate) fn is_value(word: &str) -> bool {
    ["true", "false", "undefined"].contains(&word)
}

/// Operators that stand where a value begins.
const RESERVED: [&str; 2] = ["not", "bnot"];

/// Returns the name that a word seems to mean: the shortest that begins with it, or else the one that is the fewest
/// slips of a finger away, two at most and in a third of its letters at most, and of these rather one with the same
/// first letter. One letter means none.
pub(crate) fn nearest<'n>(word: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let meant = word.to_lowercase();
    let length = meant.chars().count();
    let others = names.filter(|&name| length > 1 && name != word);
    let distances = others.filter_map(|name| {
        let lower = name.to_lowercase();
        if lower.starts_with(&meant) {
            return Some(((0, false, lower.len()), name));
        }
        let slips = strsim::osa_distance(&meant, &lower);
        let elsewhere = lower.chars().next() != meant.chars().next();
        (slips <= (length / 3).min(2)).then_some(((slips, elsewhere, 0), name))
    });
    distances.min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_name_that_was_meant() {
        let commands = ["at", "delete", "delete_all", "get", "help", "lookup"];
        let columns = ["id", "name", "Age", "day"];
        for (word, command, column) in [
            ("lokup", Some("lookup"), None),
            ("loookpu", Some("lookup"), None),
            ("del", Some("delete"), None),
            ("deltee_all", Some("delete_all"), None),
            ("na", None, Some("name")),
            ("nmae", None, Some("name")),
            ("age", None, Some("Age")),
            ("set", Some("get"), None),
            ("buy", None, None),
            ("a", None, None),
            ("1", None, None),
            ("?", None, None),
            ("id", None, None),
        ] {
            assert_eq!(nearest(word, commands.into_iter()), command, "{word}");
            assert_eq!(nearest(word, columns.into_iter()), column, "{word}");
        }
    }
}

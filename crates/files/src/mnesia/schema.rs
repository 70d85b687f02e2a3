//! The definitions of tables.

use std::collections::BTreeMap;
use std::path::Path;

use fyris_term::{Atom, Term};

use super::log::{self, Commit, LogHeader, Outcome, Outcomes, is, list};
use super::{Form, Mnesia, MnesiaTable, MnesiaType, Storage, is_file_name};
use crate::FileError;
use crate::dets::Dets;
use crate::disk_log::DiskLog;

/// Definitions by the names of tables.
type Definitions = BTreeMap<&'static str, (Atom, Term)>;

/// Opens a directory.
pub(super) fn directory(dir: &Path) -> Result<Mnesia, FileError> {
    let file = dir.join("schema.DAT");
    let dets = Dets::open(&file)?;
    let (mut definitions, mut wrong) = (Definitions::new(), Vec::new());
    for row in dets.rows() {
        match row {
            Ok(row) => put(&mut definitions, &row),
            Err(error) if error.is_damage() => wrong.push(error),
            Err(error) => return Err(error),
        }
    }
    let node = node(dir);
    let outcomes = Outcomes::of(dir);
    for name in ["PREVIOUS.LOG", "LATEST.LOG"] {
        let Ok(log) = DiskLog::open(dir.join(name)) else {
            continue;
        };
        for term in log.terms().flatten() {
            if let Some(commit) = Commit::of(&term)
                && !commit.schema.is_empty()
                && outcomes.outcome(commit.decision, node) == Outcome::Committed
            {
                commit
                    .schema
                    .iter()
                    .for_each(|op| change(&mut definitions, op));
            }
        }
    }
    Ok(made(dir, Form::Directory, node, definitions, wrong))
}

/// Opens a backup, whose definitions come first.
pub(super) fn backup(path: &Path, form: Form) -> Result<Mnesia, FileError> {
    let (mut definitions, mut wrong) = (Definitions::new(), Vec::new());
    for term in DiskLog::open(path)?.terms() {
        match term {
            Ok(term) if is_definition(&term) => put(&mut definitions, &term),
            Ok(term) => match LogHeader::of(&term) {
                Some(header) if !header.known => {
                    let why = "it is a backup of a version that is not known";
                    return Err(FileError::foreign(path, why));
                }
                Some(_) => {}
                None => break,
            },
            Err(error) => wrong.push(error),
        }
    }
    // The header of a backup names the node that wrote it, which need not have a copy of any table.
    let node = match (form, path.parent()) {
        (Form::Fallback, Some(dir)) => node(dir),
        _ => None,
    };
    Ok(made(path, form, node, definitions, wrong))
}

/// Returns whether a term of a backup defines a table, or says that there is none.
pub(super) fn is_definition(term: &Term) -> bool {
    matches!(term.as_tuple(), Some([tag, _] | [tag, _, _]) if is(tag, "schema"))
}

/// Takes `{schema, Table, Properties}`, or `{schema, Table}`, which deletes one.
fn put(definitions: &mut Definitions, row: &Term) {
    match row.as_tuple() {
        Some([_, Term::Atom(name), properties]) => {
            definitions.insert(name.as_str(), (*name, properties.clone()));
        }
        Some([_, Term::Atom(name)]) => _ = definitions.remove(name.as_str()),
        _ => {}
    }
}

/// Returns the definition in an operation on the schema, wherever it stands in it.
pub(super) fn definition(op: &Term) -> Option<(Atom, &Term)> {
    let parts = op.as_tuple()?;
    parts.iter().skip(2).find_map(|part| {
        property(part, "cookie")?;
        match property(part, "name")? {
            Term::Atom(name) => Some((*name, part)),
            _ => None,
        }
    })
}

/// Returns what an operation on the schema is called.
pub(super) fn operation(op: &Term) -> Option<&'static str> {
    match op.as_tuple()? {
        [tag, Term::Atom(name), ..] if is(tag, "op") => Some(name.as_str()),
        _ => None,
    }
}

fn change(definitions: &mut Definitions, op: &Term) {
    match (operation(op), definition(op)) {
        (Some("delete_table"), Some((name, _))) => _ = definitions.remove(name.as_str()),
        (Some("dump_table" | "clear_table"), _) => {}
        (Some(_), Some((name, properties))) => {
            definitions.insert(name.as_str(), (name, properties.clone()));
        }
        _ => {}
    }
}

/// Returns the node that a directory is of: any log's header says so.
fn node(dir: &Path) -> Option<Atom> {
    let named = ["LATEST.LOG", "PREVIOUS.LOG", "DECISION_TAB.LOG"].map(|name| dir.join(name));
    let copies = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let copies = copies.map(|entry| entry.path()).filter(|path| {
        path.extension()
            .is_some_and(|ending| ending == "DCD" || ending == "DCL")
    });
    named
        .into_iter()
        .chain(copies)
        .find_map(|path| log::header(&path).ok()??.node)
}

fn made(
    path: &Path,
    form: Form,
    node: Option<Atom>,
    definitions: Definitions,
    mut wrong: Vec<FileError>,
) -> Mnesia {
    let mut tables = Vec::new();
    let in_schema = |node: &Atom| {
        definitions
            .values()
            .any(|(_, properties)| names(properties, *node))
    };
    let named = node;
    let node = node.filter(in_schema);
    if let (Some(named), None) = (named, node) {
        let why = format!("a log names the node {named}, which the schema does not have");
        wrong.push(FileError::foreign(path, why));
    }
    for (name, properties) in definitions.into_values() {
        if name.as_str() == "schema" {
            continue;
        }
        if form == Form::Directory && !is_file_name(name.as_str()) {
            let why = format!("the table {name} is left out: no file has its name");
            wrong.push(FileError::foreign(path, why));
            continue;
        }
        match table(name, &properties, node) {
            Some(table) => tables.push(table),
            None => {
                let why = format!("the definition of {name} is none");
                wrong.push(FileError::foreign(path, why));
            }
        }
    }
    Mnesia {
        path: path.to_path_buf(),
        form,
        node,
        tables,
        wrong,
    }
}

/// Returns whether a definition has copies on a node.
fn names(properties: &Term, node: Atom) -> bool {
    let node = Term::Atom(node);
    list(properties).iter().any(|pair| match pair.as_tuple() {
        Some([_, Term::List(nodes)]) => nodes.contains(&node),
        _ => false,
    })
}

/// Reads the definition of a table.
fn table(name: Atom, properties: &Term, node: Option<Atom>) -> Option<MnesiaTable> {
    let nodes = |kind: &str| list(property(properties, kind).unwrap_or(&Term::Int(0)));
    let own = node.map(Term::Atom);
    let here = |nodes: &[Term]| match &own {
        Some(node) => nodes.contains(node),
        None => !nodes.is_empty(),
    };
    let kinds = [
        ("ram_copies", Storage::RamCopies),
        ("disc_copies", Storage::DiscCopies),
        ("disc_only_copies", Storage::DiscOnlyCopies),
    ];
    let mut storage = Storage::Elsewhere;
    let mut elsewhere = Vec::new();
    let mut found = |nodes: &[Term], kind| {
        if here(nodes) {
            storage = kind;
        }
        let others = nodes.iter().filter(|other| Some(*other) != own.as_ref());
        elsewhere.extend(others.filter_map(atom));
    };
    for (kind, storage) in kinds {
        found(nodes(kind), storage);
    }
    for (alias, nodes) in external(properties) {
        let kind = match alias.as_str() {
            "fyris_copies" => Storage::FyrisCopies,
            _ => Storage::External(alias),
        };
        found(nodes, kind);
    }
    Some(MnesiaTable {
        name,
        table_type: table_type(property(properties, "type")?)?,
        storage,
        record_name: property(properties, "record_name").and_then(atom)?,
        attributes: list(property(properties, "attributes")?)
            .iter()
            .map(atom)
            .collect::<Option<_>>()?,
        indexes: nodes("index").iter().filter_map(index).collect(),
        elsewhere: if node.is_some() {
            elsewhere
        } else {
            Vec::new()
        },
    })
}

/// Returns the type of a table that an atom names.
pub(super) fn table_type(term: &Term) -> Option<MnesiaType> {
    match atom(term)?.as_str() {
        "set" => Some(MnesiaType::Set),
        "ordered_set" => Some(MnesiaType::OrderedSet),
        "bag" => Some(MnesiaType::Bag),
        _ => None,
    }
}

/// Returns the kinds of other backends in a definition, each with its nodes. They stand under a key that is their name,
/// which is none of the keys that Mnesia has.
fn external(properties: &Term) -> impl Iterator<Item = (Atom, &[Term])> {
    const OWN: [&str; 6] = [
        "ram_copies",
        "disc_copies",
        "disc_only_copies",
        "index",
        "attributes",
        "snmp",
    ];
    let others = [
        "user_properties",
        "frag_properties",
        "storage_properties",
        "external_copies",
        "majority",
        "load_order",
    ];
    list(properties)
        .iter()
        .filter_map(move |pair| match pair.as_tuple() {
            Some([Term::Atom(key), Term::List(nodes)])
                if !nodes.is_empty()
                    && !OWN.contains(&key.as_str())
                    && !others.contains(&key.as_str())
                    && nodes.iter().all(|node| atom(node).is_some()) =>
            {
                Some((*key, &nodes[..]))
            }
            _ => None,
        })
}

/// Returns the position of an index: a number, or with the kind of the index.
fn index(term: &Term) -> Option<usize> {
    let position = match term.as_tuple() {
        Some([position, _]) => position,
        _ => term,
    };
    usize::try_from(position.as_int()?).ok()
}

pub(super) fn atom(term: &Term) -> Option<Atom> {
    match term {
        Term::Atom(atom) => Some(*atom),
        _ => None,
    }
}

/// Returns the value of a pair `{name, Value}` in a list.
pub(super) fn property<'t>(properties: &'t Term, name: &str) -> Option<&'t Term> {
    list(properties)
        .iter()
        .find_map(|pair| match pair.as_tuple() {
            Some([key, value]) if is(key, name) => Some(value),
            _ => None,
        })
}

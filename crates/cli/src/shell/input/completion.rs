//! What Tab offers: names of commands, and for their arguments what the usage of the command says.
//!
//! `TABLE`, `TYPE`, `ITEM` and the like in a usage are names of a kind, and its words in lower case are meant as they
//! are: so a command that says how it is written is completed.

use super::command;
use crate::shell::commands::verb::{Handler, Verb};
use crate::shell::commands::verbs::{self, VERBS};
use crate::shell::data::readings::Reading;
use crate::shell::names::{Known, is_in_name, said};
use crate::shell::query::{self, Aggregation};

/// Types of tables.
const TYPES: [&str; 4] = ["set", "ordered_set", "bag", "duplicate_bag"];

/// Options of new tables that are atoms.
const OPTIONS: [&str; 5] = [
    "named_table",
    "public",
    "protected",
    "private",
    "compressed",
];

/// What may stand at the end of a line.
#[derive(Debug)]
pub(crate) struct Found {
    /// The byte where it begins.
    pub(crate) start: usize,
    pub(crate) names: Vec<String>,
    /// May it be the name of a file?
    pub(crate) files: bool,
}

/// Finds what may stand at the end of `line`.
pub(crate) fn complete(line: &str, known: &Known) -> Found {
    let ends = |c: char| c.is_whitespace() || matches!(c, '(' | '{' | '[' | ',');
    let start = match line.matches('`').count() % 2 {
        // The name of a column may have spaces in it.
        1 => line.rfind('`').unwrap_or(0),
        _ => line.rfind(ends).map_or(0, |i| i + 1),
    };
    if line[..start].trim().is_empty() {
        let (module, _) = command::split_module(&line[start..]);
        let dotted = VERBS.iter().flat_map(|verb| verb.also);
        let dotted = dotted.filter(|name| name.starts_with('.') && line[start..].starts_with('.'));
        let names = verbs().chain(dotted.map(|&name| name.to_owned()));
        return found(line, start + module.len(), names, false);
    }
    let (name, arguments) = command::split_verb(line.trim_start());
    let Ok(verb) = verbs::find(name) else {
        return found(line, start, names_in_sql(line, known), false);
    };
    if let (Handler::At, Some((snapshot, command))) = (&verb.handler, arguments.split_once(' ')) {
        let found = complete(command, &known.at(snapshot));
        return Found {
            start: found.start + line.len() - command.len(),
            ..found
        };
    }
    let names = arguments_of(verb, arguments, known);
    found(line, start, names, verb.usage.contains("FILE"))
}

fn found(line: &str, start: usize, names: impl IntoIterator<Item = String>, files: bool) -> Found {
    let word = &line[start..];
    let mut names: Vec<String> = names.into_iter().filter(|n| n.starts_with(word)).collect();
    names.sort_unstable();
    names.dedup();
    Found {
        start,
        names,
        files,
    }
}

/// Returns what a statement may name: tables, and the columns of those that it names and of the one in use.
fn names_in_sql(line: &str, known: &Known) -> Vec<String> {
    let words = line.split(|c: char| !is_in_name(c));
    let named = words.filter(|word| known.tables.iter().any(|table| table == word));
    let tables = named.map(|name| Some(fyris_term::Term::atom(name)));
    let columns = tables
        .chain([None])
        .flat_map(|table| known.columns.of(table.as_ref()));
    let columns = columns.map(|column| said(column));
    known.tables.iter().cloned().chain(columns).collect()
}

fn verbs() -> impl Iterator<Item = String> {
    VERBS.iter().map(|verb| verb.name.to_owned())
}

/// Returns all that may be an argument of a command, wherever it stands.
fn arguments_of(verb: &'static Verb, arguments: &str, known: &Known) -> Vec<String> {
    let takes = |what| verb.takes(what);
    let mut names: Vec<String> = Vec::new();
    let mut add = |some: &[&str]| names.extend(some.iter().map(|&name| name.to_owned()));
    if takes("TYPE") {
        add(&TYPES);
    }
    if takes("KIND") {
        add(&Reading::ALL.map(|(_, name)| name));
    }
    if takes("OPTION") {
        add(&OPTIONS);
    }
    if takes("ITEM") {
        add(&known.items);
    }
    let is_query = matches!(verb.handler, Handler::Query(..));
    if is_query {
        add(&query::words().collect::<Vec<_>>());
        add(&Aggregation::NAMES);
    }
    add(&words_of(verb));
    if is_query {
        let table = known.tables.iter().find(|table| {
            let rest = arguments.strip_prefix(table.as_str());
            rest.is_some_and(|rest| rest.starts_with([' ', ',']))
        });
        let table = table.map(|table| fyris_term::Term::atom(table));
        let columns = known.columns.of(table.as_ref()).iter();
        names.extend(columns.map(|column| said(column)));
    }
    if takes("TABLE") {
        names.extend(known.tables.iter().cloned());
    }
    if takes("SNAPSHOT") {
        names.extend(known.columns.snapshots().cloned());
    } else if takes("COMMAND") {
        names.extend(verbs());
    }
    names
}

/// Returns the words of a usage that are meant as they are.
fn words_of(verb: &'static Verb) -> Vec<&'static str> {
    let words = verb.usage.split(|c: char| !(c.is_alphabetic() || c == '_'));
    let lower = |word: &&str| word.starts_with(char::is_lowercase);
    words.skip(1).filter(lower).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(line: &str) -> Vec<String> {
        let mut known = Known {
            tables: vec!["people".into(), "pets".into()],
            items: vec!["size", "memory"],
            ..Known::default()
        };
        known.columns.set(
            "people",
            ["name", "age", "home town"].map(String::from).into(),
            vec![],
        );
        known.columns.keep("before", ["people"].into_iter());
        complete(line, &known).names
    }

    #[test]
    fn what_may_stand_there_is_offered() {
        for (line, wanted) in [
            ("loa", &["load"][..]),
            (".ta", &[".tables"]),
            ("SELECT na", &[]),
            ("SELECT name FROM peo", &["people"]),
            ("SELECT name FROM people WHERE a", &["age"]),
            ("UPDATE people SET na", &["name"]),
            ("SELECT name FROM people ORDER BY na", &["name"]),
            ("ets:lookup_m", &["lookup_many"]),
            ("new t ord", &["ordered_set"]),
            ("new t set pub", &["public"]),
            ("info people si", &["size"]),
            ("load x.csv key id ty", &["type"]),
            ("export people x.csv as int,te", &["term", "terms", "text"]),
            ("load x.csv key id type du", &["duplicate_bag"]),
            ("range peo", &["people"]),
            ("range people ab", &["above"]),
            ("select people where a", &["age", "asc", "avg"]),
            ("select people return {na", &["name"]),
            ("select people where `home t", &["`home town`"]),
            ("select people so", &["sort"]),
            ("select pets where ag", &[]),
            ("mode js", &["json"]),
            ("timing o", &["off", "on"]),
            ("help sav", &["save"]),
            ("snapshot x pe", &["people", "pets"]),
            ("release b", &["before"]),
            ("at b", &["before"]),
            ("at before looku", &["lookup", "lookup_by", "lookup_many"]),
            ("at before lookup pe", &["people"]),
            ("at before select where ag", &["age"]),
        ] {
            assert_eq!(names(line), wanted, "{line}");
        }
        assert!(complete("open x", &Known::default()).files);
        assert!(!complete("count x", &Known::default()).files);
    }
}

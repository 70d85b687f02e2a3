//! Mnesia's logs: their headers, and what stands in the transaction log.

use std::collections::HashMap;
use std::path::Path;

use fyris_term::{Atom, Term};

use crate::FileError;
use crate::disk_log::DiskLog;

/// The kinds of logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Transactions,
    DiscCopies,
    DiscCopiesLog,
    Backup,
    Other,
}

/// The first term of a log of Mnesia.
#[derive(Clone, Debug)]
pub(super) struct LogHeader {
    pub(super) kind: Kind,
    /// Are the operations of a commit in the opposite order, as before version 4.3?
    pub(super) reversed: bool,
    /// Is it a version that is known?
    pub(super) known: bool,
    pub(super) node: Option<Atom>,
}

impl LogHeader {
    /// Returns the header, if a term is one.
    pub(super) fn of(term: &Term) -> Option<LogHeader> {
        let [tag, kind, version, _, node, _] = term.as_tuple()? else {
            return None;
        };
        let kind = match (is(tag, "log_header"), kind) {
            (true, Term::Atom(kind)) => match kind.as_str() {
                "trans_log" => Kind::Transactions,
                "dcd_log" => Kind::DiscCopies,
                "dcl_log" => Kind::DiscCopiesLog,
                "backup_log" => Kind::Backup,
                _ => Kind::Other,
            },
            _ => return None,
        };
        let version = text(version);
        let (known, reversed) = match (kind, version.as_str()) {
            (Kind::Transactions, "4.3") => (true, false),
            (Kind::Transactions, "4.0" | "4.1" | "4.2") => (true, true),
            (Kind::Transactions, _) => (false, false),
            (Kind::DiscCopies | Kind::DiscCopiesLog, version) => (version == "1.0", false),
            (Kind::Backup, version) => (version == "1.2", false),
            (Kind::Other, _) => (true, false),
        };
        Some(LogHeader {
            kind,
            reversed,
            known,
            node: match node {
                Term::Atom(node) => Some(*node),
                _ => None,
            },
        })
    }
}

/// Returns a list of characters as text.
fn text(term: &Term) -> String {
    let Term::List(cells) = term else {
        return String::new();
    };
    let char = |cell: &Term| char::from_u32(u32::try_from(cell.as_int()?).ok()?);
    cells.iter().filter_map(char).collect()
}

/// Returns whether a term is the atom of this name.
pub(super) fn is(term: &Term, name: &str) -> bool {
    matches!(term, Term::Atom(atom) if atom.as_str() == name)
}

/// Returns the header of a log; `None` if the file is no log of Mnesia.
pub(super) fn header(path: &Path) -> Result<Option<LogHeader>, FileError> {
    match DiskLog::open(path) {
        Ok(log) => {
            let first = log.terms().next().and_then(Result::ok);
            Ok(first.as_ref().and_then(LogHeader::of))
        }
        Err(FileError::Foreign { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the kind of a log; `None` if the file is no log of Mnesia.
pub(super) fn kind(path: &Path) -> Result<Option<Kind>, FileError> {
    Ok(header(path)?.map(|header| header.kind))
}

/// The outcomes of transactions that are known: did they commit?
#[derive(Debug, Default)]
pub(super) struct Outcomes(HashMap<Term, bool>);

/// What becomes of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Committed,
    Aborted,
    /// Nothing is known, and other nodes may know more.
    Unclear,
}

impl Outcomes {
    /// Notes the outcomes that a directory has.
    pub(super) fn of(dir: &Path) -> Outcomes {
        let mut outcomes = Outcomes::default();
        for name in ["DECISION_TAB.LOG", "PREVIOUS.LOG", "LATEST.LOG"] {
            // What is wrong with the logs is told when they are replayed.
            if let Ok(log) = DiskLog::open(dir.join(name)) {
                log.terms().flatten().for_each(|term| outcomes.note(&term));
            }
        }
        outcomes
    }

    fn note(&mut self, term: &Term) {
        match term.as_tuple() {
            Some([tag, Term::List(items)]) if is(tag, "decision_list") => {
                items.iter().for_each(|item| self.note_decision(item));
            }
            _ => self.note_decision(term),
        }
    }

    fn note_decision(&mut self, term: &Term) {
        if let Some([tag, tid, outcome, _, _]) = term.as_tuple()
            && is(tag, "decision")
            && (is(outcome, "committed") || is(outcome, "aborted"))
        {
            self.0.insert(tid.clone(), is(outcome, "committed"));
        }
    }

    /// Returns what becomes of a commit with this decision in it, on a node.
    pub(super) fn outcome(&self, decision: &Term, node: Option<Atom>) -> Outcome {
        if is(decision, "presume_commit") {
            return Outcome::Committed;
        }
        let Some([tag, tid, own, disc, ram]) = decision.as_tuple() else {
            return Outcome::Aborted;
        };
        let known = self.0.get(tid).copied().or(match own {
            own if is(own, "committed") => Some(true),
            own if is(own, "aborted") => Some(false),
            _ => None,
        });
        match known {
            _ if !is(tag, "decision") => Outcome::Aborted,
            Some(true) => Outcome::Committed,
            Some(false) => Outcome::Aborted,
            None if others(disc, node) || others(ram, node) => Outcome::Unclear,
            None => Outcome::Aborted,
        }
    }
}

/// Returns whether there are nodes in a list beside this one.
fn others(nodes: &Term, node: Option<Atom>) -> bool {
    let own = node.map(Term::Atom);
    matches!(nodes, Term::List(nodes) if nodes.iter().any(|other| Some(other) != own.as_ref()))
}

/// A commit of the transaction log.
pub(super) struct Commit<'t> {
    pub(super) decision: &'t Term,
    pub(super) disc: &'t [Term],
    pub(super) disc_only: &'t [Term],
    /// Those of other backends, each with the backend.
    pub(super) external: &'t [Term],
    pub(super) schema: &'t [Term],
}

impl<'t> Commit<'t> {
    /// Returns the commit, if a term is one.
    pub(super) fn of(term: &'t Term) -> Option<Commit<'t>> {
        let [tag, _, decision, _, disc, disc_only, external, schema] = term.as_tuple()? else {
            return None;
        };
        is(tag, "commit").then(|| Commit {
            decision,
            disc: list(disc),
            disc_only: list(disc_only),
            external: list(external)
                .iter()
                .find_map(|pair| match pair.as_tuple() {
                    Some([tag, ops]) if is(tag, "ext_copies") => Some(list(ops)),
                    _ => None,
                })
                .unwrap_or(&[]),
            schema: list(schema),
        })
    }
}

/// Returns the elements of a list; none of what is no list.
pub(super) fn list(term: &Term) -> &[Term] {
    match term {
        Term::List(items) => items,
        _ => &[],
    }
}

//! What is in the tables, in the order in which Mnesia puts it there.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use fyris_term::{Atom, Term};

use super::log::{Commit, Kind, LogHeader, Outcome, Outcomes, is};
use super::schema::{definition, is_definition, operation};
use super::{Change, Form, Mnesia, MnesiaTable, Step, Storage, Visit, copies};
use crate::FileError;
use crate::dets::Dets;
use crate::disk_log::DiskLog;

/// The keys of a table that a log has written, or that it has been emptied, so that every key counts as one.
enum Written {
    Keys(HashSet<Term>),
    All,
}

/// A directory that is replayed.
struct Replay<'m, 'v> {
    mnesia: &'m Mnesia,
    visit: Visit<'v>,
    outcomes: Outcomes,
    /// Of each table of disc_only_copies and fyris_copies, in the present log.
    written: HashMap<usize, Written>,
}

/// Replays a directory.
pub(super) fn directory(mnesia: &Mnesia, visit: Visit<'_>) -> ControlFlow<()> {
    let mut replay = Replay {
        mnesia,
        visit,
        outcomes: Outcomes::of(&mnesia.path),
        written: HashMap::new(),
    };
    for table in 0..mnesia.tables.len() {
        replay.files(table)?;
    }
    for name in ["PREVIOUS.LOG", "LATEST.LOG"] {
        let path = mnesia.path.join(name);
        if path.exists() {
            replay.written.clear();
            replay.transactions(&path)?;
        }
    }
    ControlFlow::Continue(())
}

/// Replays a backup.
pub(super) fn backup(mnesia: &Mnesia, visit: Visit<'_>) -> ControlFlow<()> {
    let log = match DiskLog::open(&mnesia.path) {
        Ok(log) => log,
        Err(error) => return visit(Step::Wrong(error)),
    };
    let of_node = mnesia.form == Form::Fallback;
    let is_elsewhere = |table: &MnesiaTable| of_node && table.storage == Storage::Elsewhere;
    for table in mnesia.tables.iter().filter(|table| is_elsewhere(table)) {
        let name = table.name;
        let why = format!("the objects of {name} are left out: this node has no copy of the table");
        visit(Step::Wrong(FileError::foreign(&mnesia.path, why)))?;
    }
    let mut terms = log.terms();
    while let Some(term) = terms.next() {
        let term = match term {
            Ok(term) => term,
            Err(error) => {
                visit(Step::Wrong(error))?;
                continue;
            }
        };
        if is_definition(&term) || LogHeader::of(&term).is_some() {
            continue;
        }
        let step = match of_backup(mnesia, term) {
            Ok((table, _)) if is_elsewhere(&mnesia.tables[table]) => continue,
            Ok((table, change)) => Step::Change(table, change),
            Err(term) => wrong(
                terms.place(),
                &term,
                "is no object of a table of the backup",
            ),
        };
        visit(step)?;
    }
    ControlFlow::Continue(())
}

/// Returns what an item of a backup does: an object with the table's name in the place of its record's, or
/// `{Table, Key}`, which deletes.
fn of_backup(mnesia: &Mnesia, term: Term) -> Result<(usize, Change), Term> {
    let found = term
        .as_tuple()
        .and_then(|parts| mnesia.find(parts.first()?));
    match (found, term) {
        (Some(table), Term::Tuple(mut parts)) if parts.len() == 2 => {
            let key = parts.pop().ok_or(Term::Int(0))?;
            Ok((table, Change::Delete(key)))
        }
        (Some(table), Term::Tuple(mut parts)) if parts.len() > 2 => {
            parts[0] = Term::Atom(mnesia.tables[table].record_name);
            Ok((table, Change::Write(Term::Tuple(parts))))
        }
        (_, term) => Err(term),
    }
}

fn wrong((path, offset): (&Path, u64), term: &Term, why: &str) -> Step {
    let why = format!("{} {why}, and is left out", term.brief(60));
    Step::Wrong(FileError::damage(path, offset, why))
}

impl Replay<'_, '_> {
    fn file(&self, table: usize, ending: &str) -> PathBuf {
        let name = self.mnesia.tables[table].name;
        self.mnesia.path.join(format!("{}.{ending}", name.as_str()))
    }

    /// Gives what the files of a table hold.
    fn files(&mut self, table: usize) -> ControlFlow<()> {
        let [dcd, dcl, dat] = ["DCD", "DCL", "DAT"].map(|ending| self.file(table, ending));
        match self.mnesia.tables[table].storage {
            Storage::Elsewhere => ControlFlow::Continue(()),
            Storage::External(kind) => {
                let name = self.mnesia.tables[table].name;
                let why =
                    format!("the table {name} is kept by {kind}, whose files are not read here");
                (self.visit)(Step::Wrong(FileError::foreign(&self.mnesia.path, why)))
            }
            Storage::FyrisCopies => {
                let name = self.mnesia.tables[table].name;
                copies::read(&self.mnesia.path, name.as_str(), &mut |read| {
                    (self.visit)(match read {
                        Ok(change) => Step::Change(table, change),
                        Err(error) => Step::Wrong(error),
                    })
                })
            }
            Storage::DiscOnlyCopies => self.dets(table, &dat),
            _ if dcd.exists() => {
                self.log(table, &dcd, Kind::DiscCopies)?;
                match dcl.exists() {
                    true => self.log(table, &dcl, Kind::DiscCopiesLog),
                    false => ControlFlow::Continue(()),
                }
            }
            _ if dat.exists() => self.dets(table, &dat),
            Storage::RamCopies => ControlFlow::Continue(()),
            _ => {
                let why = "it is not there, and no DAT either: Mnesia does not load the table";
                (self.visit)(Step::Wrong(FileError::foreign(&dcd, why)))
            }
        }
    }

    /// Gives the objects of a dets file.
    fn dets(&mut self, table: usize, path: &Path) -> ControlFlow<()> {
        let dets = match Dets::open(path) {
            Ok(dets) => dets,
            Err(error) => return (self.visit)(Step::Wrong(error)),
        };
        for row in dets.rows() {
            (self.visit)(match row {
                Ok(row) => Step::Change(table, Change::Write(row)),
                Err(error) => Step::Wrong(error),
            })?;
        }
        ControlFlow::Continue(())
    }

    /// Gives what the DCD or the DCL of a table holds.
    fn log(&mut self, table: usize, path: &Path, kind: Kind) -> ControlFlow<()> {
        let log = match DiskLog::open(path) {
            Ok(log) => log,
            Err(error) => return (self.visit)(Step::Wrong(error)),
        };
        let mut terms = log.terms();
        while let Some(term) = terms.next() {
            let step = match term {
                Err(error) => Step::Wrong(error),
                Ok(term) if LogHeader::of(&term).is_some() => continue,
                Ok(term) if kind == Kind::DiscCopies && is_object(&term) => {
                    Step::Change(table, Change::Write(term))
                }
                Ok(term) => match self.change(&term, true) {
                    Some((of, change)) if of == table && kind == Kind::DiscCopiesLog => {
                        Step::Change(table, change)
                    }
                    _ => wrong(terms.place(), &term, "is nothing of this table"),
                },
            };
            (self.visit)(step)?;
        }
        ControlFlow::Continue(())
    }

    /// Gives the changes of a transaction log.
    fn transactions(&mut self, path: &Path) -> ControlFlow<()> {
        let log = match DiskLog::open(path) {
            Ok(log) => log,
            Err(error) => return (self.visit)(Step::Wrong(error)),
        };
        let mut terms = log.terms();
        let mut reversed = false;
        while let Some(term) = terms.next() {
            let term = match term {
                Ok(term) => term,
                Err(error) => {
                    (self.visit)(Step::Wrong(error))?;
                    continue;
                }
            };
            if let Some(header) = LogHeader::of(&term) {
                reversed = header.reversed;
                if header.kind != Kind::Transactions || !header.known {
                    (self.visit)(wrong(
                        terms.place(),
                        &term,
                        "is no header of this log that is known",
                    ))?;
                }
                continue;
            }
            let Some(commit) = Commit::of(&term) else {
                if !is_note(&term) {
                    (self.visit)(wrong(terms.place(), &term, "is nothing that a log holds"))?;
                }
                continue;
            };
            match self.outcomes.outcome(commit.decision, self.mnesia.node) {
                Outcome::Committed => self.commit(&commit, reversed, terms.place())?,
                Outcome::Aborted => {}
                Outcome::Unclear => {
                    let why = "of this transaction other nodes know whether it was committed; it is left out";
                    let (path, offset) = terms.place();
                    (self.visit)(Step::Wrong(FileError::damage(path, offset, why)))?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn commit(
        &mut self,
        commit: &Commit<'_>,
        reversed: bool,
        place: (&Path, u64),
    ) -> ControlFlow<()> {
        for op in in_order(commit.schema, reversed) {
            self.schema(op, place)?;
        }
        for op in in_order(commit.disc, reversed) {
            self.operation(op, false, place)?;
        }
        for of_backend in commit.external {
            match of_backend.as_tuple() {
                Some([_, op]) => self.operation(op, true, place)?,
                _ => (self.visit)(wrong(place, of_backend, "is no change of a table"))?,
            }
        }
        for op in in_order(commit.disc_only, reversed) {
            self.operation(op, true, place)?;
        }
        ControlFlow::Continue(())
    }

    /// Gives one operation of a commit.
    fn operation(&mut self, op: &Term, only: bool, place: (&Path, u64)) -> ControlFlow<()> {
        if operation(op).is_some() {
            return self.schema(op, place);
        }
        let Some((table, change)) = self.change(op, !only) else {
            return self.no_change(op, place);
        };
        let counts = match self.mnesia.tables[table].storage {
            Storage::DiscOnlyCopies | Storage::FyrisCopies if only => {
                self.counts_again(table, op, &change)
            }
            Storage::DiscCopies => !only,
            Storage::RamCopies => !only && self.file(table, "DCD").exists(),
            _ => false,
        };
        match counts {
            true => (self.visit)(Step::Change(table, change)),
            false => ControlFlow::Continue(()),
        }
    }

    /// Tells an operation that is none; one of a table that has been deleted since is none here.
    fn no_change(&mut self, op: &Term, place: (&Path, u64)) -> ControlFlow<()> {
        match self.table_of(op) {
            None if key_of(op).is_some() => ControlFlow::Continue(()),
            _ => (self.visit)(wrong(place, op, "is no change of a table")),
        }
    }

    /// Notes what is written to a table whose files have it already. Returns whether the change is made again: a
    /// counter is not, unless the log has set it before.
    fn counts_again(&mut self, table: usize, op: &Term, change: &Change) -> bool {
        let written = self
            .written
            .entry(table)
            .or_insert_with(|| Written::Keys(HashSet::new()));
        match (change, written) {
            (Change::Count { .. }, Written::All) => true,
            (Change::Count { key, .. }, Written::Keys(keys)) => keys.contains(key),
            (Change::Clear, written) => {
                *written = Written::All;
                true
            }
            (_, Written::All) => true,
            (_, Written::Keys(keys)) => {
                keys.extend(key_of(op).cloned());
                true
            }
        }
    }

    /// Gives what a change of the schema does to the objects of a table.
    fn schema(&mut self, op: &Term, place: (&Path, u64)) -> ControlFlow<()> {
        if let Some([_, kind, _, item]) = op.as_tuple()
            && is(kind, "rec")
        {
            return self.records(item, place);
        }
        let Some(table) = definition(op).and_then(|(name, _)| self.mnesia.find(&Term::Atom(name)))
        else {
            return ControlFlow::Continue(());
        };
        let dumped = self.file(table, "DMP");
        match operation(op) {
            Some("delete_table" | "restore_recreate") => {
                (self.visit)(Step::Change(table, Change::Clear))
            }
            Some("clear_table") => self.of_schema(table, op, Change::Clear),
            // Its files are deleted, of whatever kind they were.
            Some("change_table_copy_type") if self.makes_ram(op) => {
                (self.visit)(Step::Change(table, Change::Clear))
            }
            Some("dump_table")
                if op
                    .as_tuple()
                    .is_some_and(|op| op.get(2) == Some(&Term::Int(0))) =>
            {
                (self.visit)(Step::Change(table, Change::Clear))
            }
            // What was to take the place of the table's file.
            Some("dump_table" | "change_table_copy_type") if dumped.exists() => {
                (self.visit)(Step::Change(table, Change::Clear))?;
                match self.mnesia.tables[table].storage {
                    Storage::DiscOnlyCopies => self.dets(table, &dumped),
                    _ => self.log(table, &dumped, Kind::DiscCopies),
                }
            }
            _ => ControlFlow::Continue(()),
        }
    }

    /// Returns whether `{op, change_table_copy_type, Node, From, To, Definition}` makes the table of this node one of
    /// ram_copies.
    fn makes_ram(&self, op: &Term) -> bool {
        match op.as_tuple() {
            Some([_, _, Term::Atom(node), _, to, _]) => {
                is(to, "ram_copies") && self.mnesia.node.is_none_or(|own| own == *node)
            }
            _ => false,
        }
    }

    /// Gives a change of objects that is part of a change of the schema: at its start Mnesia makes it in files alone,
    /// so not in those of ram_copies.
    fn of_schema(&mut self, table: usize, op: &Term, change: Change) -> ControlFlow<()> {
        let counts = match self.mnesia.tables[table].storage {
            Storage::DiscOnlyCopies | Storage::FyrisCopies => self.counts_again(table, op, &change),
            storage => storage == Storage::DiscCopies,
        };
        match counts {
            true => (self.visit)(Step::Change(table, change)),
            false => ControlFlow::Continue(()),
        }
    }

    /// Gives the changes of one key that a change of the schema has made: `{{Table, Key}, Values, Op}`.
    fn records(&mut self, item: &Term, place: (&Path, u64)) -> ControlFlow<()> {
        let Some([id, values, op]) = item.as_tuple() else {
            return (self.visit)(wrong(place, item, "is no change of a table"));
        };
        let several = std::slice::from_ref(values);
        for value in if let Term::List(values) = values {
            &values[..]
        } else {
            several
        } {
            let single = Term::tuple([id.clone(), value.clone(), op.clone()]);
            match self.change(&single, true) {
                Some((table, change)) => self.of_schema(table, &single, change)?,
                None => self.no_change(&single, place)?,
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the table of an operation, if it is one here.
    fn table_of(&self, op: &Term) -> Option<usize> {
        let [id, ..] = op.as_tuple()? else {
            return None;
        };
        self.mnesia.find(id.as_tuple()?.first()?)
    }

    /// Returns what an operation does; counters do not go below zero if `floor` is set.
    fn change(&self, op: &Term, floor: bool) -> Option<(usize, Change)> {
        let [_, value, kind] = op.as_tuple()? else {
            return None;
        };
        let key = key_of(op)?;
        let Term::Atom(kind) = kind else { return None };
        let change = match kind.as_str() {
            "write" if is_object(value) => Change::Write(value.clone()),
            "delete" => Change::Delete(key.clone()),
            "delete_object" if is_object(value) => Change::DeleteObject(value.clone()),
            "clear_table" => Change::Clear,
            "update_counter" => {
                let (record, by) = counter(value)?;
                Change::Count {
                    record,
                    key: key.clone(),
                    by,
                    floor,
                }
            }
            _ => return None,
        };
        Some((self.table_of(op)?, change))
    }
}

fn in_order(ops: &[Term], reversed: bool) -> impl Iterator<Item = &Term> {
    let at = move |i: usize| if reversed { ops.len() - 1 - i } else { i };
    (0..ops.len()).map(move |i| &ops[at(i)])
}

/// Returns the key of an operation `{{Table, Key}, Value, Op}`.
fn key_of(op: &Term) -> Option<&Term> {
    match op.as_tuple()?.first()?.as_tuple() {
        Some([_, key]) => Some(key),
        _ => None,
    }
}

/// Returns the name of the record and the increment of a counter.
fn counter(value: &Term) -> Option<(Atom, i64)> {
    match value.as_tuple() {
        Some([Term::Atom(record), by]) => Some((*record, by.as_int()?)),
        _ => None,
    }
}

/// Returns whether a term can be an object: a record with a key.
fn is_object(term: &Term) -> bool {
    term.as_tuple().is_some_and(|parts| parts.len() > 2)
}

/// Returns whether a term is one of those in a log that are no changes: decisions, nodes that came and went.
fn is_note(term: &Term) -> bool {
    const NOTES: [&str; 7] = [
        "decision",
        "decision_list",
        "trans_tid",
        "mnesia_up",
        "mnesia_down",
        "master_nodes",
        "log_header",
    ];
    let tag = term.as_tuple().and_then(<[Term]>::first);
    tag.is_some_and(|tag| NOTES.iter().any(|name| is(tag, name)))
}

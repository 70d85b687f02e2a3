//! What a query does, step by step: it selects, counts, deletes or replaces.

use std::sync::LazyLock;

use fyris_query::{Machine, MatchSpec};
use fyris_sync::reclaim::LocalGuard;
use fyris_term::Term;

use super::change;
use super::scan::{BATCH, Pace, Scan};
use crate::error::Result;
use crate::record::Object;
use crate::table::{FEW, Table};
use crate::table_data::AnyTableData;
use crate::view::{ReadMany, View};
use crate::writer::Writer;

/// The treatment of objects that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Select,
    Count,
    Delete,
    Replace,
}

/// All of a query but the table.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) spec: MatchSpec,
    /// The machine of the caller; the default one if the caller has given none.
    pub(super) machine: Option<Machine>,
    pub(super) scan: Scan,
    pub(super) verb: Verb,
    /// Whether a change keeps the values of what it has changed.
    pub(super) returning: bool,
    pub(super) threads: usize,
    pub(super) limit: usize,
    pub(super) results: Vec<Term>,
    pub(super) count: usize,
}

impl Work {
    /// Returns how many objects are few enough to be read at once where a part of them may do.
    pub(super) fn few(&self) -> usize {
        // Of those beyond a limit the results wait for the next chunk.
        FEW.min(self.limit.saturating_mul(2).max(32))
    }

    /// Refuses what visits ranges of keys when the table's index cannot.
    pub(super) fn check_iteration(&self, table: &Table) -> Result<()> {
        match self.scan.has_span() {
            true => table.check_iteration("a query that names no key"),
            false => Ok(()),
        }
    }

    /// Returns the same work over a part of the table.
    pub(super) fn piece(&self, scan: Scan) -> Work {
        Work {
            spec: self.spec.clone(),
            machine: self.machine.clone(),
            scan,
            verb: self.verb,
            returning: self.returning,
            threads: 1,
            limit: self.limit,
            results: Vec::new(),
            count: 0,
        }
    }

    /// Takes over what pieces have found, in their order, up to the first that is not finished.
    pub(super) fn put_together(&mut self, pieces: Vec<(Scan, Work)>) {
        let found = pieces.iter().map(|(_, piece)| piece.results.len()).sum();
        self.results.reserve_exact(found);
        let (mut visited, mut left) = (0, Vec::new());
        for (whole, piece) in pieces {
            if left.is_empty() {
                self.results.extend(piece.results);
                self.count += piece.count;
                visited += piece.scan.visited();
                left.extend((!piece.scan.is_done()).then_some(piece.scan));
            } else if !cfg!(fyris_mutant = "query_forgets_pieces") {
                left.push(whole);
            }
        }
        self.scan = self.scan.followed_by(left, visited);
    }

    /// Reads on. Returns `false` if nothing was read, as it is not few.
    pub(super) fn read_step(
        &mut self,
        reader: &mut impl ReadMany,
        pace: Pace,
        pin: &LocalGuard,
    ) -> bool {
        match self.verb {
            Verb::Count => self.count_true(reader, pace, pin),
            _ => self.select(reader, pace, pin),
        }
    }

    pub(super) fn select(
        &mut self,
        reader: &mut impl ReadMany,
        pace: Pace,
        pin: &LocalGuard,
    ) -> bool {
        let machine = machine_or_default(&self.machine);
        let Work {
            spec,
            results,
            limit,
            ..
        } = self;
        let missing = limit.saturating_sub(results.len());
        let (already, seen) = (results.len(), self.scan.visited());
        // A scan that cannot stop at any object reads no more than it may need.
        let least = if self.scan.is_ordered() { 16 } else { 1 };
        let batch = missing.max(least).min(BATCH);
        let done = self.scan.step(reader, (pace, batch), pin, |object| {
            if !rejects(spec, &object) {
                spec.run_into(&object.view(), machine, results);
            }
            results.len() >= *limit
        });
        let found = self.results.len() - already;
        self.count += found;
        self.make_room(found, self.scan.visited() - seen, &reader.view());
        done
    }

    /// Shows `f` what matches; `None` for the object itself, where the specification always asks for that.
    pub(super) fn show(
        &mut self,
        reader: &mut impl ReadMany,
        pace: Pace,
        pin: &LocalGuard,
        mut f: impl FnMut(Object<'_>, Option<Term>),
    ) -> bool {
        let (spec, machine) = (&self.spec, machine_or_default(&self.machine));
        let (whole, count) = (spec.returns_object(), &mut self.count);
        self.scan.step(reader, (pace, BATCH), pin, |object| {
            if rejects(spec, &object) {
                return false;
            }
            let view = object.view();
            let value = match whole {
                true => spec.matches(&view, machine).then_some(None),
                false => spec.run(&view, machine).map(Some),
            };
            if let Some(value) = value {
                *count += 1;
                f(object, value);
            }
            false
        })
    }

    /// Makes room for the results of a scan of everything, by those of the slice before: a vector of many that doubles
    /// is copied about as often as it is written.
    pub(super) fn make_room(&mut self, found: usize, visited: u64, view: &impl View) {
        let room = self.results.capacity() - self.results.len();
        if found <= room || !self.scan.is_whole() {
            return;
        }
        let left = view.about().saturating_sub(self.scan.visited() as usize);
        let share = found as f64 / visited.max(1) as f64;
        let wanted = (left as f64 * share) as usize;
        let missing = self.limit.saturating_sub(self.results.len());
        self.results.reserve(wanted.min(missing));
    }

    pub(super) fn count_true(
        &mut self,
        reader: &mut impl ReadMany,
        pace: Pace,
        pin: &LocalGuard,
    ) -> bool {
        let (spec, machine) = (&self.spec, machine_or_default(&self.machine));
        let mut count = 0;
        let done = self.scan.step(reader, (pace, BATCH), pin, |object| {
            count +=
                usize::from(!rejects(spec, &object) && spec.matches_true(&object.view(), machine));
            false
        });
        self.count += count;
        done
    }

    /// Deletes every object, in one step.
    pub(super) fn delete_all(&mut self, table: &Table) -> Result<()> {
        self.count += table.delete_and_count_all()?;
        self.scan = self.scan.followed_by(Vec::new(), 0);
        Ok(())
    }

    /// Deletes or replaces among the next objects of the scan; if it is to return anything, shows `f` what it has
    /// changed with its value, as [`Work::show`] does.
    pub(super) fn change(
        &mut self,
        table: &Table,
        data: &AnyTableData,
        objects: usize,
        writer: &Writer<'_>,
        mut f: impl FnMut(Object<'_>, Option<Term>),
    ) -> Result<()> {
        let (spec, machine) = (&self.spec, machine_or_default(&self.machine));
        let (returning, whole, count) = (self.returning, spec.returns_object(), &mut self.count);
        let changed = |object: Object<'_>| {
            *count += 1;
            if returning {
                let value = (!whole).then(|| spec.run(&object.view(), machine));
                f(object, value.flatten());
            }
        };
        let scan = &mut self.scan;
        if self.verb == Verb::Replace {
            // The value of what was replaced is what has replaced it.
            let new = |object: Object<'_>| match rejects(spec, &object) {
                true => None,
                false => spec.run(&object.view(), machine),
            };
            return change::replace(table, scan, data, objects, writer, new, changed);
        }
        let doomed = |object: Object<'_>| match (rejects(spec, &object), returning) {
            (true, _) => false,
            (_, true) => spec.matches(&object.view(), machine),
            (_, false) => spec.matches_true(&object.view(), machine),
        };
        change::delete(table, scan, data, objects, writer, doomed, changed)
    }
}

/// Returns whether an inline object is turned away by the integers that it is made of, before it is materialized.
#[inline(always)]
pub(crate) fn rejects(spec: &MatchSpec, object: &Object<'_>) -> bool {
    object.is_inline() && spec.rejects(object.arity(), |n| object.word_int(n))
}

/// Returns the machine of the caller, or the default one if there is none.
pub(crate) fn machine_or_default(machine: &Option<Machine>) -> &Machine {
    static NOBODY: LazyLock<Machine> = LazyLock::new(Machine::default);
    machine.as_ref().unwrap_or(&NOBODY)
}

//! The shell's side of the store: the process it is, its tables, the table in use, its arguments.

mod import;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use fyris::dump::{self, LoadOptions, SaveOptions};
use fyris::{Info, Options, Owner, Table, WatchFilter};
use fyris_term::{Atom, Term};

use super::error::ShellError;
use super::interrupt;
use super::moment::Moment;
use super::names::{Columns, Known, Shared};
use super::screen::display::{self, Display};
use super::screen::format::printable;
use super::screen::progress::Progress;
use super::transaction::Begun;
use super::unsaved::Unsaved;
use super::watch::Watch;

/// The number of objects shown on a screen where no person can ask for more.
pub(crate) const MANY: usize = 100;

/// One run of the shell.
pub(crate) struct Session {
    me: Owner,
    current: Option<Table>,
    known: Shared,
    columns: Columns,
    snapshots: BTreeMap<String, Rc<Moment>>,
    /// The snapshot whose tables a command means, while `at` runs it.
    moment: Option<Rc<Moment>>,
    /// The transaction in which commands read and write some tables.
    begun: Option<Begun>,
    /// Tables whose changes are told after each command.
    watches: Vec<Watch>,
    display: Display,
    /// What has changed since it was saved.
    unsaved: Unsaved,
    /// Is the time of each command to be said?
    pub(crate) timing: bool,
    /// Scripts that are running, each read by the one before.
    pub(crate) scripts: usize,
    over: bool,
}

impl Session {
    /// Returns a session with a store of its own and no table.
    pub(crate) fn new() -> Session {
        Session {
            me: crate::new_store().owner(),
            current: None,
            known: Shared::default(),
            columns: Columns::default(),
            snapshots: BTreeMap::new(),
            moment: None,
            begun: None,
            watches: Vec::new(),
            display: Display::new(),
            unsaved: Unsaved::default(),
            timing: false,
            scripts: 0,
            over: false,
        }
    }

    /// Returns the output of results.
    pub(crate) fn display(&self) -> &Display {
        &self.display
    }

    /// Returns the output of results, to change its form or its place.
    pub(crate) fn display_mut(&mut self) -> &mut Display {
        &mut self.display
    }

    /// Returns the names that can be completed; shared with the editor.
    pub(crate) fn known(&self) -> Shared {
        Arc::clone(&self.known)
    }

    /// Has `quit` been said?
    pub(crate) fn over(&self) -> bool {
        self.over
    }

    /// Ends the session, as `quit` does, or lets it go on.
    pub(crate) fn set_over(&mut self, over: bool) {
        self.over = over;
    }

    /// Returns the prompt, which names the table in use, and has a star in a transaction.
    pub(crate) fn prompt(&self) -> String {
        let star = if self.begun.is_some() { "*" } else { "" };
        match &self.current {
            Some(table) => format!("fyris:{}{star}> ", printable(&name_of(table))),
            None => format!("fyris{star}> "),
        }
    }

    /// Prints the first lines of an interactive session.
    pub(crate) fn greet(&self) -> Result<(), ShellError> {
        self.display.line(format!(
            "Fyris {}. `help` lists the commands, Ctrl-D leaves.",
            env!("CARGO_PKG_VERSION")
        ))
    }

    /// Prints a line of a script as if it had been typed.
    pub(crate) fn echo(&self, line: &str) -> Result<(), ShellError> {
        match line.trim_start().strip_prefix('%') {
            Some(comment) => self.display.note(format!("\n%{comment}")),
            None if line.trim().is_empty() => Ok(()),
            None => self.display.note(format!("{}{line}", self.prompt())),
        }
    }

    /// Runs a command, and says afterwards what it has changed in tables that are watched, also if it failed, and which
    /// tables there are now.
    pub(super) fn run(
        &mut self,
        run: impl FnOnce(&mut Session) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        let result = run(self);
        let told = self.refresh().and_then(|()| self.tell_changes());
        result.and(told)
    }

    /// Takes note of the tables that there are now.
    fn refresh(&mut self) -> Result<(), ShellError> {
        let tables = self.all();
        self.unsaved.refresh(&tables)?;
        let tables: Vec<String> = tables.iter().map(name_of).collect();
        let current = self.current.as_ref().map(name_of);
        self.columns.refresh(current, &tables);
        let items = self.current.as_ref().and_then(Table::info_items);
        let items = items.into_iter().flatten().map(|(item, _)| item);
        if let Ok(mut known) = self.known.lock() {
            *known = Known {
                tables,
                columns: self.columns.clone(),
                items: items.chain(["index_info", "secondary"]).collect(),
            };
        }
        Ok(())
    }

    /// Returns the tables whose changes are not saved, as messages name them; with `of_files`, of those that were
    /// opened, loaded or saved before. Nothing if there are none.
    pub(crate) fn unsaved(&self, of_files: bool) -> Option<String> {
        if self.begun.is_some() {
            let lost =
                "the transaction that was begun is not committed: nothing of it has happened";
            return Some(lost.to_owned());
        }
        let names = self.unsaved.names(of_files);
        match &names[..] {
            [] => None,
            [one] => Some(format!("table {one} has")),
            _ => Some(format!("tables {} have", names.join(", "))),
        }
        .map(|tables| format!("{tables} changes that are not saved"))
    }

    /// Takes note that a table is in a file, as it is; a snapshot, or what a transaction sees, is another one.
    pub(crate) fn saved(&mut self, table: &Table) -> Result<(), ShellError> {
        match self.moment.is_none() && self.begun.is_none() {
            true => self.unsaved.saved(table),
            false => Ok(()),
        }
    }

    /// Returns whether a transaction has begun that has not ended.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Returns the columns of tables.
    pub(crate) fn columns(&self) -> &Columns {
        &self.columns
    }

    /// Returns the columns of tables, to change them.
    pub(crate) fn columns_mut(&mut self) -> &mut Columns {
        &mut self.columns
    }

    // Tables.

    fn all(&self) -> Vec<Table> {
        let references = self.me.store().all();
        references
            .into_iter()
            .filter_map(|reference| self.me.table(reference).ok())
            .collect()
    }

    /// Returns every table with what is known of it, by name.
    pub(crate) fn tables(&self) -> Vec<(String, Info)> {
        let with_info = |table: Table| Some((name_of(&table), table.info()?));
        let mut tables: Vec<_> = self.all().into_iter().filter_map(with_info).collect();
        tables.sort_by(|a, b| a.0.cmp(&b.0));
        tables
    }

    /// Returns every table as commands read it, by name.
    pub(crate) fn all_tables(&self) -> Result<Vec<Table>, ShellError> {
        let names = self.tables().into_iter().map(|(name, _)| name);
        names.map(|name| self.named(&Term::atom(&name))).collect()
    }

    /// Returns whether this is the name of the table in use.
    pub(crate) fn is_current(&self, name: &str) -> bool {
        self.current
            .as_ref()
            .is_some_and(|table| name_of(table) == name)
    }

    /// Makes a table and takes it in use.
    pub(crate) fn create(&mut self, name: Atom, options: &Options) -> Result<Table, ShellError> {
        let table = self.make(name, options)?;
        self.take(&table);
        Ok(table)
    }

    /// Makes a table.
    pub(crate) fn make(&mut self, name: Atom, options: &Options) -> Result<Table, ShellError> {
        let table = self.me.store().create(self.me.id(), name, options)?;
        self.columns.forget(name.as_str());
        Ok(table)
    }

    /// Takes a table in use that was made.
    pub(crate) fn take(&mut self, table: &Table) {
        self.current = Some(table.clone());
    }

    /// Takes a table in use.
    pub(crate) fn set_current(&mut self, name: &Term) -> Result<(), ShellError> {
        if self.moment.is_some() {
            self.named(name)?;
            let problem = "a table of a snapshot is not taken in use: `at` reads it";
            return Err(ShellError::other(problem));
        }
        self.current = Some(self.live(name)?);
        Ok(())
    }

    /// Takes no table in use if the one that was is gone.
    pub(crate) fn forget_missing(&mut self) {
        let gone = self
            .current
            .as_ref()
            .is_some_and(|table| table.info().is_none());
        if gone {
            self.current = None;
        }
    }

    /// Returns the table of that name, in the snapshot while `at` reads one, in the transaction if it is one of its
    /// tables.
    pub(crate) fn named(&self, name: &Term) -> Result<Table, ShellError> {
        match &self.moment {
            Some(moment) => moment.table(wanted(name)?),
            None => self.within(self.live(name)?),
        }
    }

    /// Returns a table as the transaction has it, if it is one of its tables.
    fn within(&self, live: Table) -> Result<Table, ShellError> {
        match &self.begun {
            Some(begun) => begun.table(live),
            None => Ok(live),
        }
    }

    fn live(&self, name: &Term) -> Result<Table, ShellError> {
        let wanted = wanted(name)?;
        if let Ok(table) = self.me.named(wanted) {
            return Ok(table);
        }
        // Unnamed tables answer to their names here as long as there is only one of that name.
        let mut same = self
            .all()
            .into_iter()
            .filter(|table| name_of(table) == wanted);
        match (same.next(), same.next()) {
            (Some(table), None) => Ok(table),
            (None, _) => Err(ShellError::other(format!(
                "no table {wanted}: `tables` lists them"
            ))),
            _ => Err(ShellError::other(format!(
                "several unnamed tables are called {wanted}: `open FILE as NAME` tells them apart"
            ))),
        }
    }

    /// Returns the table named, or the one in use.
    pub(crate) fn table(&self, name: Option<&Term>) -> Result<Table, ShellError> {
        match (name, &self.current) {
            (Some(name), _) => self.named(name),
            (None, Some(table)) if self.moment.is_some() => Ok(table.clone()),
            (None, Some(table)) => self.within(table.clone()),
            (None, None) => Err(ShellError::other(
                "no table in use: name one, or `use TABLE`",
            )),
        }
    }

    // Snapshots.

    /// Returns the snapshots, by name.
    pub(crate) fn snapshots(&self) -> &BTreeMap<String, Rc<Moment>> {
        &self.snapshots
    }

    /// Takes a snapshot of tables at one moment, under a name that is free.
    pub(crate) fn take_snapshot(&mut self, name: &str, tables: &[Term]) -> Result<(), ShellError> {
        let tables = tables.iter().map(|table| self.named(table));
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        if self.snapshots.contains_key(name) {
            return Err(ShellError::other(format!(
                "there is a snapshot {name} already: `release {name}` ends it"
            )));
        }
        let taken = self
            .me
            .store()
            .snapshots(&tables.iter().collect::<Vec<_>>())?;
        let tables = tables.iter().map(name_of).zip(taken).collect();
        let moment = Moment::new(name.to_owned(), tables);
        self.columns.keep(name, moment.tables());
        self.snapshots.insert(name.to_owned(), Rc::new(moment));
        Ok(())
    }

    /// Ends a snapshot.
    pub(crate) fn release_snapshot(&mut self, name: &str) -> Result<(), ShellError> {
        self.snapshot(name)?;
        self.snapshots.remove(name);
        self.columns.release(name);
        Ok(())
    }

    fn snapshot(&self, name: &str) -> Result<&Rc<Moment>, ShellError> {
        let none = || format!("no snapshot {name}: `snapshots` lists them");
        let found = self.snapshots.get(name);
        found.ok_or_else(|| ShellError::other(none()))
    }

    /// Runs a command whose tables are those of a snapshot, the one in use as well.
    pub(super) fn at(
        &mut self,
        name: &str,
        run: impl FnOnce(&mut Session) -> Result<(), ShellError>,
    ) -> Result<(), ShellError> {
        let moment = self.snapshot(name)?.clone();
        let columns = self.columns.at(name);
        let current = columns.current().map(|table| moment.table(table));
        let current = std::mem::replace(&mut self.current, current.transpose()?);
        let columns = std::mem::replace(&mut self.columns, columns);
        self.moment = Some(moment);
        let done = run(self);
        (self.current, self.columns, self.moment) = (current, columns, None);
        done
    }

    // Transactions.

    /// Begins a transaction over tables.
    pub(crate) fn begin(&mut self, tables: &[Term]) -> Result<(), ShellError> {
        if self.begun.is_some() {
            let problem = "a transaction has begun already: `commit` or `abort` ends it";
            return Err(ShellError::other(problem));
        }
        let tables = tables.iter().map(|table| self.named(table));
        let tables = tables.collect::<Result<Vec<_>, _>>()?;
        self.begun = Some(Begun::new(self.me.store(), &tables)?);
        Ok(())
    }

    /// Returns the transaction, in which nothing is read and written any more.
    pub(crate) fn end_transaction(&mut self) -> Result<Begun, ShellError> {
        let none = "no transaction: `begin TABLE` begins one";
        self.begun.take().ok_or_else(|| ShellError::other(none))
    }

    /// Makes a change of a table that happens as a whole or not at all, in the transaction if it is one of its tables.
    pub(crate) fn atomically<R>(
        &self,
        table: &Table,
        change: impl Fn(&Table) -> Result<R, ShellError>,
    ) -> Result<R, ShellError> {
        match &self.begun {
            _ if self.moment.is_some() => change(table),
            Some(begun) if begun.has(table) => begun.within(|| change(table)),
            _ => self.me.store().transaction(|tx| change(&tx.table(table)?)),
        }
    }

    /// Returns whether the transaction has this table.
    pub(crate) fn is_in_transaction(&self, table: &Table) -> bool {
        self.begun.as_ref().is_some_and(|begun| begun.has(table))
    }

    // Changes.

    /// Watches a table from now on, for `limit` changes.
    pub(crate) fn watch(
        &mut self,
        table: Table,
        filter: &WatchFilter,
        limit: Option<usize>,
    ) -> Result<(), ShellError> {
        self.watches.push(Watch::new(table, filter, limit)?);
        Ok(())
    }

    /// Watches a table no more.
    pub(crate) fn unwatch(&mut self, table: &Table) -> Result<(), ShellError> {
        let count = self.watches.len();
        self.watches.retain(|watch| watch.table() != table.id());
        if self.watches.len() == count {
            let name = name_of(table);
            let problem = format!("{name} is not watched: `watch {name}` does so");
            return Err(ShellError::other(problem));
        }
        Ok(())
    }

    /// Shows what was changed in tables that are watched.
    fn tell_changes(&mut self) -> Result<(), ShellError> {
        let news: Vec<Term> = self.watches.iter_mut().flat_map(Watch::news).collect();
        self.watches.retain(|watch| !watch.is_over());
        if news.is_empty() {
            return Ok(());
        }
        // A command that was stopped has changed something too.
        interrupt::clear();
        let (count, mut news) = (news.len(), news.into_iter());
        let (shown, more) = self.display.pages(self.most(), || Ok(news.next()))?;
        if more {
            let note = format!("... {shown} shown of {count} changes");
            self.display.note(note)?;
        }
        Ok(())
    }

    // Arguments.

    /// Returns the error of a wrong use of a command.
    pub(crate) fn usage(problem: impl Into<String>, usage: &'static str) -> ShellError {
        ShellError::Usage {
            problem: problem.into(),
            usage,
        }
    }

    /// Returns the name that an argument is.
    pub(crate) fn name(term: Term, usage: &'static str) -> Result<Atom, ShellError> {
        match term {
            Term::Atom(name) => Ok(name),
            other => Err(Session::usage(
                format!("a name is an atom, not {other}"),
                usage,
            )),
        }
    }

    /// Returns the arguments if they are exactly `N`.
    pub(crate) fn exactly<const N: usize>(
        &self,
        args: Vec<Term>,
        usage: &'static str,
    ) -> Result<[Term; N], ShellError> {
        let problem = match args.len() {
            found if found > N => "too many arguments",
            0 => "an argument is missing",
            _ => "arguments are missing",
        };
        args.try_into().map_err(|_| Session::usage(problem, usage))
    }

    /// `[TABLE]`
    pub(crate) fn table_alone(
        &self,
        mut args: Vec<Term>,
        usage: &'static str,
    ) -> Result<Table, ShellError> {
        let name = args.pop();
        let [] = self.exactly(args, usage)?;
        self.table(name.as_ref())
    }

    /// Reads `[TABLE] TERM`: with one argument it is the term.
    pub(crate) fn table_and_one(
        &self,
        mut args: Vec<Term>,
        usage: &'static str,
    ) -> Result<(Table, Term), ShellError> {
        let one = self.last(&mut args, usage)?;
        Ok((self.table_alone(args, usage)?, one))
    }

    /// Takes the last argument.
    pub(crate) fn last(
        &self,
        args: &mut Vec<Term>,
        usage: &'static str,
    ) -> Result<Term, ShellError> {
        args.pop()
            .ok_or_else(|| Session::usage("an argument is missing", usage))
    }

    /// Takes the last argument, which is a list.
    pub(crate) fn last_list(
        &self,
        args: &mut Vec<Term>,
        usage: &'static str,
    ) -> Result<Vec<Term>, ShellError> {
        match self.last(args, usage)? {
            Term::List(list) => Ok(list.into_vec()),
            other => {
                let text = format!("expected a list, found {}", other.brief(60));
                Err(Session::usage(text, usage))
            }
        }
    }

    /// Reads `[TABLE] NAME`, with the name of a secondary index.
    pub(crate) fn table_and_secondary(
        &self,
        args: Vec<Term>,
        usage: &'static str,
    ) -> Result<(Table, Atom), ShellError> {
        let (table, name) = self.table_and_one(args, usage)?;
        match name {
            Term::Atom(name) => Ok((table, name)),
            other => Err(Session::usage(
                format!("expected the name of a secondary index, found {other}"),
                usage,
            )),
        }
    }

    /// Reads `[TABLE] [N]`.
    pub(crate) fn table_and_count(
        &self,
        mut args: Vec<Term>,
        otherwise: usize,
        usage: &'static str,
    ) -> Result<(Table, usize), ShellError> {
        let count = match args.last() {
            Some(Term::Int(count)) => {
                let count = usize::try_from(*count)
                    .map_err(|_| Session::usage("a number below zero", usage))?;
                args.pop();
                count
            }
            _ => otherwise,
        };
        Ok((self.table_alone(args, usage)?, count))
    }

    /// Reads `[TABLE] OBJECT ...`: objects are tuples, or lists of them, and tables are not.
    pub(crate) fn table_and_objects(
        &self,
        mut args: Vec<Term>,
        usage: &'static str,
    ) -> Result<(Table, Vec<Term>), ShellError> {
        let named = matches!(args.first(), Some(Term::Atom(_)));
        let name = named.then(|| args.remove(0));
        if args.is_empty() {
            return Err(Session::usage("an object is missing", usage));
        }
        let objects = args.into_iter().flat_map(|arg| match arg {
            Term::List(objects) => objects.into_vec(),
            object => vec![object],
        });
        Ok((self.table(name.as_ref())?, objects.collect()))
    }

    // Results.

    /// Returns the number of objects that a listing without a limit shows: all of them, but where they run over a
    /// screen that no person can stop.
    pub(crate) fn most(&self) -> usize {
        if self.display.runs_over() {
            MANY
        } else {
            usize::MAX
        }
    }

    /// Shows the objects of a lookup, all of them whole.
    pub(crate) fn show_objects(&self, objects: Vec<Term>) -> Result<(), ShellError> {
        if objects.is_empty() {
            return self.display.note("[]");
        }
        self.display.whole(&objects)
    }

    /// Shows a key, or that there is none.
    pub(crate) fn show_key(&self, key: Option<Term>) -> Result<(), ShellError> {
        self.display
            .term(&key.unwrap_or_else(|| Term::atom("$end_of_table")))
    }

    /// Shows objects page by page, and how many are left.
    pub(crate) fn show_traversal(
        &self,
        table: &Table,
        mut objects: impl Iterator<Item = fyris::Result<Term>>,
        limit: usize,
    ) -> Result<(), ShellError> {
        let next = || Ok(objects.next().transpose()?);
        let (shown, more) = self.page(limit, self.names_shown(table), next)?;
        match (shown, more) {
            (0, false) => self.display.note("no objects"),
            (_, true) => self
                .display
                .note(format!("... {shown} shown of {} in the table", table.len())),
            (_, false) => Ok(()),
        }
    }

    /// Returns the names under which the objects of a table are shown as rows, if they are.
    pub(crate) fn names_shown(&self, table: &Table) -> &[String] {
        match self.display.shows_rows() {
            true => self.columns.of(Some(&Term::Atom(table.name()))),
            false => &[],
        }
    }

    /// Shows objects page by page, as rows if there are names for their elements.
    fn page(
        &self,
        limit: usize,
        names: &[String],
        mut next: impl FnMut() -> Result<Option<Term>, ShellError>,
    ) -> Result<(usize, bool), ShellError> {
        if names.is_empty() {
            return self.display.pages(limit, next);
        }
        let elements = |object| match object {
            Term::Tuple(elements) => elements.into_vec(),
            other => vec![other],
        };
        let next = || Ok(next()?.map(elements));
        self.display.rows(names, limit, next)
    }

    /// Results page by page as they are found: up to a limit, or all of them but where they run over a screen that no
    /// person can stop; as rows if there are names for their elements. Returns how many were shown.
    pub(crate) fn show_found(
        &self,
        limit: Option<usize>,
        names: &[String],
        next: impl FnMut() -> Result<Option<Term>, ShellError>,
    ) -> Result<usize, ShellError> {
        let most = match limit {
            Some(_) => usize::MAX,
            None => self.most(),
        };
        let (shown, more) = self.page(most, names, next)?;
        if more && shown < most {
            self.display.note(format!("... {shown} shown"))?;
        } else if more {
            self.display
                .note(format!("... {shown} shown; `limit N` shows more"))?;
        } else if shown == 0 {
            self.display.note("no objects")?;
        }
        Ok(shown)
    }

    // Dumps.

    /// Loads a dump and takes it in use.
    fn open_dump(&mut self, path: &Path, name: Option<Atom>) -> Result<(), ShellError> {
        let total = std::fs::metadata(path).map_or(0, |meta| meta.len());
        let progress = Progress::bytes("opening", total);
        let options = LoadOptions {
            name,
            ..LoadOptions::verified()
        };
        let (store, me) = (self.me.store(), self.me.id());
        let loaded = store.file2tab_watched(me, path, &options, &mut |at| watch(&progress, at));
        drop(progress);
        let loaded = loaded.map_err(|e| ShellError::from_dump(path, e))?;
        let table = loaded.table;
        self.tell_table(&table)?;
        self.columns.forget(&name_of(&table));
        if let Some(columns) = loaded.columns {
            self.columns.set_from_dump(&name_of(&table), &columns);
        }
        self.current = Some(table);
        self.refresh()
    }

    /// Says that a table is there now.
    fn tell_table(&self, table: &Table) -> Result<(), ShellError> {
        self.display.note(format!(
            "{}: {}, {} ({} in memory)",
            name_of(table),
            display::objects(table.len() as u64),
            table.table_type().as_str(),
            display::bytes(table.memory() as u64),
        ))
    }

    /// Saves a table with its object count and checksum, and the names of its columns.
    pub(crate) fn save(&self, table: &Table, path: &Path) -> Result<(), ShellError> {
        let options = SaveOptions {
            object_count: true,
            md5sum: true,
            sync: true,
            columns: self.columns.for_dump(&name_of(table)),
        };
        let progress = Progress::objects("saving", table.len() as u64);
        let saved = table.tab2file_watched(path, &options, &mut |at| {
            progress.at(at.objects, at.objects);
            go_on()
        });
        drop(progress);
        let count = saved.map_err(|e| ShellError::from_dump(path, e))?;
        self.display.note(format!(
            "{} written to {}",
            display::objects(count),
            path.display()
        ))
    }
}

/// Returns the name of the table that is meant.
fn wanted(name: &Term) -> Result<&'static str, ShellError> {
    match name {
        Term::Atom(name) => Ok(name.as_str()),
        other => Err(ShellError::other(format!(
            "{other} is no table: a table is named by an atom"
        ))),
    }
}

fn watch(progress: &Progress, at: &dump::Progress) -> ControlFlow<()> {
    progress.at(at.bytes, at.objects);
    go_on()
}

/// Returns whether Ctrl-C has not been pressed.
fn go_on() -> ControlFlow<()> {
    if interrupt::raised() {
        ControlFlow::Break(())
    } else {
        ControlFlow::Continue(())
    }
}

/// Returns the name of a table, registered or not.
pub(crate) fn name_of(table: &Table) -> String {
    table.name().as_str().to_owned()
}

/// Returns the options of a new table, read from a list as `ets:new/2` has it.
pub(crate) fn options(list: Vec<Term>) -> Result<Options, ShellError> {
    // The shell knows no other process that could inherit a table.
    Ok(Options::parse(&Term::list(list), |_| None)?)
}

//! Opening what Erlang systems have left: dets files, logs of `disk_log`, and what Mnesia keeps.

use std::path::Path;

use fyris::Options;
use fyris::dump::{DumpError, tabfile_info};
use fyris::import::{Format, ImportError, Imported, format};
use fyris_files::disk_log::DiskLog;
use fyris_term::Atom;

use super::{Session, go_on, name_of};
use crate::shell::error::ShellError;
use crate::shell::screen::progress::Progress;

impl Session {
    /// Opens a dump, or makes tables of what an Erlang system has left, and takes one in use.
    pub(crate) fn open(&mut self, path: &Path, name: Option<Atom>) -> Result<(), ShellError> {
        if path.as_os_str() == "-" && !path.exists() {
            return Err(ShellError::other(
                "standard input is no table: `fyris shell -e 'load - key COLUMN format csv|json' -e COMMAND` reads rows \
                 from it",
            ));
        }
        match is_left(path) {
            true => self.import(path, name),
            false => self.open_dump(path, name),
        }
    }

    fn import(&mut self, path: &Path, name: Option<Atom>) -> Result<(), ShellError> {
        let progress = Progress::objects("opening", 0);
        let options = Options::set().named().public();
        let imported = self.me.import_watched(path, &options, &mut |read| {
            progress.at(read, read);
            go_on()
        });
        drop(progress);
        let imported = imported.map_err(|error| match error {
            ImportError::Cancelled => ShellError::Interrupted,
            other => ShellError::other(other.to_string()),
        })?;
        self.rename_only(&imported, name)?;
        self.tell(path, &imported)?;
        for made in &imported.tables {
            self.columns.forget(&name_of(&made.table));
            if !made.columns.is_empty() {
                let columns = made.columns.clone();
                self.columns
                    .set(&name_of(&made.table), columns.clone(), columns);
            }
        }
        let in_use = imported.tables.iter().find(|made| !made.table.is_empty());
        if let Some(made) = in_use.or(imported.tables.first()) {
            self.current = Some(made.table.clone());
        }
        self.refresh()
    }

    /// Gives the one table that was made another name.
    fn rename_only(&self, imported: &Imported, name: Option<Atom>) -> Result<(), ShellError> {
        let problem = match (name, &imported.tables[..]) {
            (None, _) => return Ok(()),
            (Some(name), [only]) => match only.table.rename(name) {
                Ok(_) => return Ok(()),
                Err(error) => error.to_string(),
            },
            (Some(_), several) => format!("`as` names one table, and here are {}", several.len()),
        };
        for made in &imported.tables {
            made.table.delete()?;
        }
        Err(ShellError::other(problem))
    }

    /// Says what was read, which tables there are now, and what was wrong.
    fn tell(&self, path: &Path, imported: &Imported) -> Result<(), ShellError> {
        self.display
            .note(format!("{}: {}", path.display(), imported.what))?;
        for made in &imported.tables {
            self.tell_table(&made.table)?;
        }
        for message in &imported.messages {
            self.display.warn(message);
        }
        match imported.wrong - imported.messages.len() as u64 {
            0 => {}
            more => self
                .display
                .warn(&format!("{more} more things are wrong in the files")),
        }
        Ok(())
    }
}

/// Returns whether a file or directory is of another kind than a dump.
fn is_left(path: &Path) -> bool {
    match format(path) {
        Ok(Some(Format::Dets | Format::Mnesia)) => true,
        // A dump is a log, too, and what is damaged may have been one.
        Ok(Some(Format::DiskLog)) => {
            DiskLog::open(path).is_ok_and(|log| log.is_wrap())
                || matches!(tabfile_info(path), Err(DumpError::OtherLog { .. }))
        }
        _ => false,
    }
}

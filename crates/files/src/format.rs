//! What a file or a directory is.

use std::path::Path;

use fyris_term::Term;

use crate::FileError;
use crate::disk_log::DiskLog;
use crate::mnesia::is_backup;
use crate::source::Source;

/// The formats that are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// A table of `dets`: [`Dets`](crate::dets::Dets).
    Dets,
    /// A log of `disk_log` that is none of the others: [`DiskLog`].
    DiskLog,
    /// A table that `ets:tab2file` or Fyris has dumped.
    Dump,
    /// A directory of Mnesia, a backup or a text dump: [`Mnesia`](crate::mnesia::Mnesia).
    Mnesia,
}

/// Returns what a file or directory is, by its beginning; `None` if it is none of them.
///
/// # Errors
///
/// [`FileError::Read`].
pub fn format(path: impl AsRef<Path>) -> Result<Option<Format>, FileError> {
    let path = path.as_ref();
    if path.is_dir() {
        let has = |name| path.join(name).exists();
        return Ok((has("schema.DAT") || has("FALLBACK.BUP")).then_some(Format::Mnesia));
    }
    match DiskLog::open(path) {
        Ok(log) if log.is_wrap() => return Ok(Some(Format::DiskLog)),
        Err(error @ FileError::Read { .. }) if !path.exists() => return Err(error),
        Err(_) if !path.exists() => return Ok(None),
        _ => {}
    }
    let source = match Source::open(path) {
        Err(FileError::Foreign { .. }) => return Ok(None),
        opened => opened?,
    };
    let mut start = Vec::new();
    source.read(0, source.length().min(8), &mut start)?;
    Ok(match &start[..] {
        [_, _, _, _, 0x00, 0xab, 0xcd, 0xef] => Some(Format::Dets),
        [1, 2, 3, 4, ..] => Some(of_log(path)),
        b"{tables," => Some(Format::Mnesia),
        _ => None,
    })
}

/// Returns what a log is, by its first term.
fn of_log(path: &Path) -> Format {
    let first = DiskLog::open(path)
        .ok()
        .and_then(|log| log.terms().next()?.ok());
    match first {
        Some(term) if is_backup(&term) => Format::Mnesia,
        Some(term) if describes_table(&term) => Format::Dump,
        _ => Format::DiskLog,
    }
}

/// Returns whether a term is the description of a table at the beginning of a dump.
fn describes_table(term: &Term) -> bool {
    let named_table = |pair: &Term| match pair.as_tuple() {
        Some([Term::Atom(name), _]) => name.as_str() == "named_table",
        _ => false,
    };
    term.as_tuple()
        .is_some_and(|pairs| pairs.iter().any(named_table))
}

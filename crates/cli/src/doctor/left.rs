//! What an Erlang system has left: what a file or directory holds, what is wrong with it, and whether Mnesia would load
//! it.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::Path;

use fyris_files::dets::Dets;
use fyris_files::disk_log::DiskLog;
use fyris_files::mnesia::{Form, Mnesia, MnesiaTable, Step, Storage};
use fyris_files::{FileError, Format};

use super::report::row;

/// Messages that are printed.
const MESSAGES: usize = 20;

/// What is wrong in the files.
#[derive(Default)]
struct Complaints {
    count: u64,
    first: Vec<String>,
}

impl Complaints {
    fn add(&mut self, message: impl ToString) {
        self.count += 1;
        if self.first.len() < MESSAGES {
            self.first.push(message.to_string());
        }
    }
}

/// Returns the report on a file or directory of this format, and whether it is sound; `None` if there is none on it.
pub(super) fn examine(path: &Path, format: Format) -> Result<Option<(String, bool)>, FileError> {
    let mut wrong = Complaints::default();
    let mut out = match format {
        Format::Dets => dets(path, &mut wrong)?,
        Format::DiskLog => log(path, &mut wrong)?,
        Format::Mnesia => mnesia(path, &mut wrong)?,
        _ => return Ok(None),
    };
    for message in &wrong.first {
        row(&mut out, "wrong", message);
    }
    if wrong.count > MESSAGES as u64 {
        row(
            &mut out,
            "",
            format_args!("{} more", wrong.count - MESSAGES as u64),
        );
    }
    let sound = wrong.count == 0;
    row(&mut out, "check", if sound { "sound" } else { "NOT SOUND" });
    Ok(Some((out, sound)))
}

fn dets(path: &Path, wrong: &mut Complaints) -> Result<String, FileError> {
    let dets = Dets::open(path)?;
    let info = dets.info();
    let mut out = String::new();
    row(&mut out, "dets", path.display());
    let (table_type, keypos) = (info.table_type, info.keypos);
    row(
        &mut out,
        "table",
        format_args!("{table_type:?}, key position {keypos}"),
    );
    match info.closed {
        true => row(&mut out, "closed", "yes"),
        false => row(
            &mut out,
            "closed",
            "no: dets repairs it when it is opened; what that keeps is counted here",
        ),
    }
    let mut objects = 0_u64;
    for object in dets.rows() {
        match object {
            Ok(_) => objects += 1,
            Err(error) => wrong.add(error),
        }
    }
    row(&mut out, "objects", objects);
    Ok(out)
}

fn log(path: &Path, wrong: &mut Complaints) -> Result<String, FileError> {
    let log = DiskLog::open(path)?;
    let mut out = String::new();
    row(&mut out, "log", path.display());
    for file in log.files() {
        row(&mut out, "file", file.display());
    }
    let mut terms = log.terms();
    let mut count = 0_u64;
    for term in terms.by_ref() {
        match term {
            Ok(_) => count += 1,
            Err(error) => wrong.add(error),
        }
    }
    row(
        &mut out,
        "closed",
        if terms.is_unfinished() { "no" } else { "yes" },
    );
    row(&mut out, "terms", count);
    Ok(out)
}

fn mnesia(path: &Path, wrong: &mut Complaints) -> Result<String, FileError> {
    let mnesia = Mnesia::open(path)?;
    let mut out = String::new();
    let what = match mnesia.form() {
        Form::Fallback => {
            "a directory with a fallback: the next start makes everything of FALLBACK.BUP"
        }
        Form::Backup => "a backup",
        Form::Text => "a text dump",
        _ => "a directory",
    };
    row(
        &mut out,
        "mnesia",
        format_args!("{}: {what}", path.display()),
    );
    if let Some(node) = mnesia.node() {
        row(&mut out, "node", node);
    }
    mnesia.wrong().iter().for_each(|message| wrong.add(message));
    let mut changes = vec![0_u64; mnesia.tables().len()];
    mnesia.replay(|step| {
        match step {
            Step::Change(at, _) => changes[at] += 1,
            Step::Wrong(error) => wrong.add(error),
        }
        ControlFlow::Continue(())
    });
    for (table, changes) in mnesia.tables().iter().zip(changes) {
        row(&mut out, "table", told(table, changes));
    }
    let waits = mnesia
        .tables()
        .iter()
        .any(|table| !table.elsewhere.is_empty());
    let loads = match (wrong.count, waits) {
        (0, false) => "yes",
        (0, true) => {
            "yes, but it may wait for the nodes named above before it loads its own copies"
        }
        _ => "not as it was left: see what is wrong",
    };
    row(&mut out, "loads", loads);
    Ok(out)
}

fn told(table: &MnesiaTable, changes: u64) -> String {
    let storage = match table.storage {
        Storage::RamCopies => "ram_copies".to_owned(),
        Storage::DiscCopies => "disc_copies".to_owned(),
        Storage::DiscOnlyCopies => "disc_only_copies".to_owned(),
        Storage::FyrisCopies => "fyris_copies".to_owned(),
        Storage::External(kind) => format!("{kind}, which is not read here"),
        _ => "on other nodes only".to_owned(),
    };
    let (name, table_type) = (table.name, table.table_type);
    let mut told = format!("{name}: {table_type:?}, {storage}, {changes} objects and changes");
    if !table.elsewhere.is_empty() {
        let nodes: Vec<_> = table.elsewhere.iter().map(ToString::to_string).collect();
        // Writing to a string does not fail.
        let _ = write!(told, ", also on {}", nodes.join(", "));
    }
    told
}

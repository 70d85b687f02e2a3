//! Dumps: what is saved is loaded, by Fyris and by OTP; what is damaged is refused as OTP does.

mod damage;
mod erlang;
mod interop;
mod round_trip;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use fyris::dump::SaveOptions;
use fyris::{Options, Table, TableType};
use fyris_term::Term;

pub(crate) const TYPES: [TableType; 4] = [
    TableType::Set,
    TableType::OrderedSet,
    TableType::Bag,
    TableType::DuplicateBag,
];

/// Returns every choice of extended information, some with a word on the columns.
pub(crate) fn save_options() -> impl Iterator<Item = SaveOptions> {
    (0..4).map(|bits| SaveOptions {
        object_count: bits & 1 != 0,
        md5sum: bits & 2 != 0,
        sync: bits == 3,
        columns: (bits & 2 != 0).then(|| Term::list([Term::binary(*b"id")])),
    })
}

/// A folder that goes away with the value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only the number counts.
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("fyris-dump-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Folder(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the objects of a table in an order that does not depend on how they came in; those of one key in
/// theirs.
pub(crate) fn content(table: &Table) -> Vec<Term> {
    let mut objects = table.tab2list().expect("a readable table");
    let at = table.keypos() - 1;
    objects.sort_by(|a, b| match (a, b) {
        (Term::Tuple(a), Term::Tuple(b)) => a[at].cmp_exact(&b[at]),
        _ => unreachable!("objects are tuples"),
    });
    objects
}

pub(crate) fn options(kind: TableType, keypos: usize) -> Options {
    Options::new(kind).keypos(keypos)
}

/// Returns objects like `{k, I}` of every shape the short way of loading knows, and some it does not.
pub(crate) fn assorted(count: i64) -> Vec<Term> {
    (0..count)
        .map(|i| {
            let value = match i % 7 {
                0 => Term::Int(i * 1_000_003),
                1 => Term::atom("value"),
                2 => Term::binary(vec![i as u8; (i % 400) as usize]),
                3 => Term::list(vec![Term::Int(i), Term::Int(2)]),
                4 => Term::tuple(vec![Term::Int(-i)]),
                5 => Term::Float(fyris_term::Float::new(i as f64 / 3.0).expect("finite")),
                _ => Term::integer(i128::from(i) << 70),
            };
            Term::tuple(vec![Term::Int(i), value, Term::Int(i % 3)])
        })
        .collect()
}

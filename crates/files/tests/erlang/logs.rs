//! Logs of `disk_log` beside what it reads of them itself.

use std::path::Path;

use fyris_files::FileError;
use fyris_files::disk_log::{DiskLog, LogWriter};
use fyris_term::{Term, etf, term};

use crate::common::{escript, list, term};

fn read(path: &Path) -> Result<(Vec<Term>, Vec<String>), FileError> {
    let (mut terms, mut wrong) = (Vec::new(), Vec::new());
    for term in DiskLog::open(path)?.terms() {
        match term {
            Ok(term) => terms.push(term),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    Ok((terms, wrong))
}

#[test]
fn logs_of_this_erlang() {
    let folder = tempfile::tempdir().unwrap();
    if !escript("logs.escript", &[folder.path().to_str().unwrap()]) {
        return;
    }
    let mut seen = 0;
    for entry in std::fs::read_dir(folder.path()).unwrap() {
        let file = entry.unwrap().path();
        if file.extension().is_none_or(|ending| ending != "terms") {
            continue;
        }
        let name = file.with_extension("");
        let (terms, wrong) = read(&name).unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
        assert_eq!(
            Term::list(terms),
            Term::list(list(term(&file))),
            "{}",
            name.display()
        );
        let wraps = name.with_extension("idx").exists();
        assert_eq!(DiskLog::open(&name).unwrap().is_wrap(), wraps);
        if wraps {
            assert_eq!(
                read(&name.with_extension("idx")).unwrap().0.len(),
                list(term(&file)).len()
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 11);
}

/// A log of rows, the third of which holds a whole log.
fn log() -> Vec<u8> {
    let write = |items: &[Term]| {
        let mut writer = LogWriter::new(std::io::Cursor::new(Vec::new()));
        for item in items {
            writer
                .item(|buf| buf.extend(etf::encode(item)), |_| {})
                .unwrap();
        }
        writer.finish().unwrap().into_inner()
    };
    let nested = write(&[term!({:inner, 1})]);
    let rows = [
        term!({1, "one"}),
        term!({2, [1, 2]}),
        Term::binary(nested),
        term!({4, :four}),
        term!({ 5 }),
    ];
    write(&rows)
}

#[test]
fn each_byte_changed() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let bytes = log();
    std::fs::write(&file, &bytes).unwrap();
    let whole = read(&file).unwrap().0;
    assert_eq!(whole.len(), 5);
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            std::fs::write(&file, &changed).unwrap();
            let Ok((terms, wrong)) = read(&file) else {
                continue;
            };
            let equal = whole.iter().filter(|term| terms.contains(term)).count();
            assert!(equal >= 4, "byte {at}: {terms:?}");
            assert!(
                terms.len() == 5 || !wrong.is_empty(),
                "byte {at}: {terms:?} without a word"
            );
        }
        std::fs::write(&file, &bytes[..at]).unwrap();
        let _ = read(&file);
    }
}

#[test]
fn what_is_missing_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("log");
    assert!(DiskLog::open(&name).is_err());
    std::fs::write(folder.path().join("log.1"), log()).unwrap();
    for (index, said) in [
        (&[0, 0, 0][..], "too short"),
        (&[0, 0, 0, 0, 0, 9, 0, 0, 0, 1], "known here"),
        (
            &[0, 0, 0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0],
            "is not there",
        ),
    ] {
        std::fs::write(folder.path().join("log.idx"), index).unwrap();
        let error = DiskLog::open(&name).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

//! Where files cannot be read, or say too much: pipes, files that are missing, and items within items.

use std::path::Path;

use fyris_files::dets::Dets;
use fyris_files::disk_log::{DiskLog, LogWriter};
use fyris_files::mnesia::Mnesia;
use fyris_files::{FileError, Format, format};
use fyris_term::{Term, etf, term};

use crate::common::GOLDEN;

/// What waits for a writer is refused at once.
#[cfg(unix)]
#[test]
fn pipes_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    for path in [&pipe, &link] {
        assert_eq!(format(path).unwrap(), None);
        assert!(Dets::open(path).is_err());
        assert!(DiskLog::open(path).is_err());
        assert!(Mnesia::open(path).is_err());
    }
}

/// Two readers of one open file do not move each other.
#[test]
fn readers_are_apart() {
    let dets = Dets::open(Path::new(GOLDEN).join("set.dets")).unwrap();
    let rows = || dets.rows().map(Result::unwrap).collect::<Vec<_>>();
    let expected = rows();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| (0..100).for_each(|_| assert_eq!(rows(), expected)));
        }
    });
}

/// An object whose key belongs elsewhere is told, and given.
#[test]
fn objects_in_other_slots() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("set.dets");
    let golden = std::fs::read(Path::new(GOLDEN).join("set.dets")).unwrap();
    let read = || {
        let (mut rows, mut wrong) = (0, Vec::new());
        for row in Dets::open(&file).ok()?.rows() {
            match row {
                Ok(_) => rows += 1,
                Err(error) => wrong.push(error.to_string()),
            }
        }
        Some((rows, wrong))
    };
    std::fs::write(&file, &golden).unwrap();
    let whole = read().unwrap().0;
    let mut seen = 0;
    for at in (0..golden.len()).filter(|&at| golden[at] != 0) {
        let mut changed = golden.clone();
        changed[at] ^= 1;
        std::fs::write(&file, &changed).unwrap();
        if let Some((rows, wrong)) = read()
            && wrong.len() == 1
            && wrong[0].contains("another slot")
        {
            assert_eq!(rows, whole, "byte {at}: {wrong:?}");
            seen += 1;
        }
    }
    assert!(seen > 0);
}

/// Of a file that is not closed and full of what may be collections, the end is told.
#[test]
fn many_damaged_marks() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("open.dets");
    let mut bytes = std::fs::read(Path::new(GOLDEN).join("open_set.dets")).unwrap();
    bytes.resize(1336, 0);
    for left in (1..400_u32).rev() {
        bytes.extend((left * 16).to_be_bytes());
        bytes.extend(0x1234_5677_u32.to_be_bytes());
        bytes.extend([0xff; 8]);
    }
    std::fs::write(&file, bytes).unwrap();
    let dets = Dets::open(&file).unwrap();
    let last = dets.rows().last().unwrap().unwrap_err();
    assert!(last.to_string().contains("too much"), "{last}");
}

#[test]
fn a_file_of_a_wrap_log_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("log");
    let mut writer = LogWriter::new(std::fs::File::create(name.with_extension("1")).unwrap());
    let item = etf::encode(&Term::Int(1));
    writer.item(|buf| buf.extend(&item), |_| {}).unwrap();
    writer.finish().unwrap();
    for (count, missing) in [(0, 0), (7, 1)] {
        let mut index = vec![0, 0, 0, 0, 0, 2, 0, 0, 0, 1];
        index.extend(1_u64.to_be_bytes());
        index.extend(u64::to_be_bytes(count));
        std::fs::write(name.with_extension("idx"), index).unwrap();
        let log = DiskLog::open(&name).unwrap();
        let (terms, wrong): (Vec<_>, Vec<_>) = log.terms().partition(Result::is_ok);
        assert_eq!((terms.len(), wrong.len()), (1, missing));
        let is_read = |read: &Result<_, _>| matches!(read, Err(FileError::Read { .. }));
        assert!(wrong.iter().all(is_read), "{wrong:?}");
    }
    let index = name.with_extension("idx");
    std::fs::copy(name.with_extension("1"), &index).unwrap();
    assert!(!DiskLog::open(&index).unwrap().is_wrap());
}

/// The ending of an index makes none of what is something else.
#[test]
fn names_of_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let (words, table) = (folder.path().join("words.idx"), folder.path().join("t.siz"));
    std::fs::copy(Path::new(GOLDEN).join("set.dets"), &words).unwrap();
    let mut writer = LogWriter::new(std::fs::File::create(&table).unwrap());
    let description = etf::encode(&term!({{:name, :t}, {:named_table, :true}}));
    writer.item(|buf| buf.extend(&description), |_| {}).unwrap();
    writer.finish().unwrap();
    assert_eq!(format(&words).unwrap(), Some(Format::Dets));
    assert_eq!(format(&table).unwrap(), Some(Format::Dump));
    let missing = format(folder.path().join("none.idx"));
    assert!(matches!(missing, Err(FileError::Read { .. })));
}

/// Each item holds all that follow, and none decodes: they are looked through as often as the file is long.
#[test]
fn items_within_items() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("log");
    let mut bytes = vec![1, 2, 3, 4, 99, 88, 77, 11];
    for left in (0..200_u32).rev() {
        bytes.extend((left * 8).to_be_bytes());
        bytes.extend([98, 87, 76, 65]);
    }
    std::fs::write(&file, bytes).unwrap();
    let terms: Vec<_> = DiskLog::open(&file).unwrap().terms().collect();
    assert!(terms.len() < 100, "{}", terms.len());
    let last = terms.last().unwrap().as_ref().unwrap_err().to_string();
    assert!(last.contains("as a whole"), "{last}");
}

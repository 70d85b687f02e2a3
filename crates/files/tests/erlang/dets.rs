//! dets files beside what dets itself reads of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use fyris_files::dets::{Dets, DetsType};
use fyris_files::phash2;
use fyris_term::Term;

use crate::common::{GOLDEN, escript, list, sorted, term};

/// Returns the rows of a file as a table has them that takes them in order, and how many things were wrong.
fn rows(path: &Path) -> Result<(Vec<Term>, Vec<String>), String> {
    let dets = Dets::open(path).map_err(|error| error.to_string())?;
    let info = dets.info();
    let (mut set, mut bag, mut wrong) = (BTreeMap::new(), Vec::new(), Vec::new());
    for row in dets.rows() {
        match row {
            Ok(row) if info.table_type == DetsType::Set => {
                let key = row.as_tuple().unwrap()[info.keypos - 1].clone();
                set.insert(fyris_term::etf::encode(&key), row);
            }
            Ok(row) if info.table_type == DetsType::Bag && bag.contains(&row) => {}
            Ok(row) => bag.push(row),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    bag.extend(set.into_values());
    Ok((sorted(bag), wrong))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.extension().is_some_and(|e| e == "dets"))
        .collect();
    files.sort();
    assert!(files.len() >= 9);
    files
}

fn as_dets_has_them(folder: &Path) {
    for file in files(folder) {
        let expected = sorted(list(term(&file.with_extension("rows"))));
        let (found, wrong) = rows(&file).unwrap();
        let left_out = match file.with_extension("doubled").exists() {
            true => ["its key has been here before", "could be read"],
            false => ["dets' repair passes over it"; 2],
        };
        let is_known = |wrong: &String| left_out.iter().any(|what| wrong.contains(what));
        assert!(wrong.iter().all(is_known), "{}: {wrong:?}", file.display());
        assert_eq!(
            wrong.is_empty(),
            !file.ends_with("open_big.dets") && !file.with_extension("doubled").exists(),
            "{wrong:?}"
        );
        assert_eq!(found.len(), expected.len(), "{}", file.display());
        assert!(found == expected, "{}", file.display());
        let info = Dets::open(&file).unwrap().info().clone();
        let name = file.file_stem().unwrap().to_str().unwrap();
        assert_eq!(info.closed, !name.starts_with("open_"), "{name}");
        assert_eq!(info.keypos, if name == "keypos2" { 2 } else { 1 });
    }
}

#[test]
fn committed_files() {
    as_dets_has_them(Path::new(GOLDEN));
}

#[test]
fn files_of_this_erlang() {
    let folder = tempfile::tempdir().unwrap();
    if escript("dets.escript", &["all", folder.path().to_str().unwrap()]) {
        as_dets_has_them(folder.path());
    }
}

#[test]
fn hashes_are_those_of_this_erlang() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hashes");
    if !escript("dets.escript", &["hashes", file.to_str().unwrap()]) {
        return;
    }
    for pair in list(term(&file)) {
        let pair = pair.as_tuple().unwrap();
        assert_eq!(
            phash2(&pair[0]).map(i64::from),
            pair[1].as_int(),
            "{}",
            pair[0]
        );
    }
}

/// What must be true of a file with a changed byte: no row is lost, doubled or moved without a word. One row may have
/// another value, the one that holds the byte.
fn is_told(file: &Path, at: usize, whole: &[Term]) {
    let Ok((found, wrong)) = rows(file) else {
        return;
    };
    if found == whole || !wrong.is_empty() {
        return;
    }
    let mut new = found.clone();
    let mut missing = whole.to_vec();
    missing.retain(|row| match new.iter().position(|new| new == row) {
        Some(at) => {
            new.remove(at);
            false
        }
        None => true,
    });
    assert!(
        missing.len() == 1 && new.len() == 1 && found.len() == whole.len(),
        "{}, byte {at}: {missing:?} became {new:?}, without a word",
        file.display()
    );
}

/// A file that was cut off used to be taken for one that nobody had closed.
#[test]
fn a_lost_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["set", "bag", "open_set", "open_duplicate_bag"] {
        let golden = Path::new(GOLDEN).join(name).with_extension("dets");
        let bytes = std::fs::read(golden).unwrap();
        let file = folder.path().join(name);
        for percent in [10, 30, 70, 90] {
            let end = bytes.len() * percent / 100;
            std::fs::write(&file, &bytes[..end]).unwrap();
            let wrong = rows(&file).unwrap().1;
            let told = format!("byte {end}: the file ends here");
            assert!(wrong[0].contains(&told), "{name}, {percent} %: {wrong:?}");
        }
    }
}

#[test]
fn each_byte_changed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["set", "bag", "duplicate_bag", "open_set"] {
        let golden = Path::new(GOLDEN).join(name).with_extension("dets");
        let whole = rows(&golden).unwrap().0;
        let bytes = std::fs::read(golden).unwrap();
        let file = folder.path().join(name);
        // Segments and parts are zeros for the most part: a fortieth of these bytes stands for all.
        for at in (0..bytes.len()).filter(|&at| bytes[at] != 0 || at % 40 == 0) {
            for change in [0x01, 0xff] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                std::fs::write(&file, &changed).unwrap();
                match name {
                    // A file that is not closed does not say what it should hold.
                    "open_set" => _ = rows(&file),
                    _ => is_told(&file, at, &whole),
                }
            }
        }
        for length in (0..bytes.len()).step_by(29) {
            std::fs::write(&file, &bytes[..length]).unwrap();
            let _ = rows(&file);
        }
    }
}

//! Dumps that real OTP wrote, whole and damaged, against what it says of them. Needs no Erlang: see
//! `tests/data/make.escript`.

use std::path::{Path, PathBuf};

use fyris::Store;
use fyris::dump::{DumpError, LoadOptions, unwatched};
use fyris_term::{Term, text};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")
}

fn read(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Loads bytes under the name that damaged files have in `damaged.txt`; the objects, if that goes
/// well, and whether every byte was sound.
fn load(bytes: &[u8], verify: bool) -> Result<(Vec<Term>, bool), DumpError> {
    let owner = Store::new().owner();
    let options = LoadOptions {
        verify,
        ..LoadOptions::default()
    };
    let length = Some(bytes.len() as u64);
    let loaded = owner.store().load_dump(
        owner.id(),
        bytes,
        length,
        Path::new("FILE"),
        &options,
        &mut unwatched,
    )?;
    Ok((
        loaded.table.tab2list().expect("a table just loaded"),
        loaded.damage.is_empty(),
    ))
}

#[test]
fn every_whole_dump_holds_the_objects_listed_beside_it() {
    let mut dumps = 0;
    for entry in std::fs::read_dir(folder()).expect("the folder") {
        let name = entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a plain name");
        let Some(stem) = name.strip_suffix(".ets") else {
            continue;
        };
        dumps += 1;
        for verify in [true, false] {
            let (objects, sound) =
                load(&read(&name), verify).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(sound, "{name}");
            let mut found: Vec<String> = objects.iter().map(text::print_w).collect();
            let mut listed = listed(stem);
            if !stem.starts_with("ordered_set-5") {
                found.sort();
                listed.sort();
            }
            assert_eq!(found, listed, "{name}");
        }
    }
    assert_eq!(dumps, 42);
}

/// Returns the lines of the list that belongs to a dump.
fn listed(stem: &str) -> Vec<String> {
    let name = match stem.rsplit_once('-').expect("TYPE-COUNT-INFO") {
        (table, _) if table.ends_with("-0") => return Vec::new(),
        (table, _) if table.ends_with("-3000") => "3000.txt".to_owned(),
        _ if stem.starts_with("odd-") => format!("{stem}.txt"),
        (table, _) => format!("{table}.txt"),
    };
    let text = String::from_utf8(read(&name)).expect("a list in UTF-8");
    text.lines().map(str::to_owned).collect()
}

/// The error terms are OTP's, and where it loads a damaged file, so does Fyris, with no fewer objects.
/// Three liberties: with `verify`, Fyris refuses some damage that OTP overlooks; without, it loads some
/// files that OTP refuses, where the bit lies in a field of the log's head that says nothing of the
/// objects; and where OTP crashes over the file ("raises"), Fyris may answer as it sees fit.
#[test]
fn damaged_dumps_are_judged_as_by_otp() {
    let text = String::from_utf8(read("damaged.txt")).expect("lines in UTF-8");
    let (mut stricter, mut lenient) = (0, 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.splitn(5, ' ').collect();
        let [file, damage, at, verify, otp] = fields[..] else {
            panic!("fields of {line}")
        };
        let bytes = damaged(read(file), damage, at.parse().expect("a number"));
        let verify = verify == "true";
        let ours = load(&bytes, verify).map(|(objects, _)| objects.len());
        match (otp.strip_prefix("ok:"), ours) {
            _ if otp == "raises" => {}
            (Some(count), Ok(ours)) => {
                let count: usize = count.parse().expect("a number");
                assert!(
                    ours == count || (!verify && ours > count),
                    "{line}: {ours} objects"
                );
            }
            (Some(_), Err(_)) if verify => stricter += 1,
            (Some(_), Err(error)) => panic!("{line}: {error}"),
            (None, Ok(_)) if !verify => lenient += 1,
            (None, Ok(ours)) => panic!("{line}: {ours} objects"),
            (None, Err(error)) => assert_eq!(reason(&error), otp, "{line}: {error}"),
        }
    }
    assert!(stricter < 20, "refused {stricter} files that OTP verifies");
    assert!(
        lenient < 20,
        "took {lenient} files that OTP refuses without verifying"
    );
}

/// Returns the error term; `damaged.txt` writes the name of the file as an atom.
fn reason(error: &DumpError) -> String {
    text::print_w(&error.reason()).replace("[70,73,76,69]", "'FILE'")
}

fn damaged(mut bytes: Vec<u8>, damage: &str, at: usize) -> Vec<u8> {
    match damage {
        "cut" => bytes.truncate(at),
        "flip" => bytes[at / 8] ^= 1 << (at % 8),
        "add" => bytes.resize(bytes.len() + at, 0),
        _ => panic!("{damage}"),
    }
    bytes
}

/// The dump that ships with Fyris.
#[test]
fn the_shipped_dump_loads_and_verifies() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data/otp25-exports.ets");
    let owner = Store::new().owner();
    let loaded = owner
        .file2tab(path, &LoadOptions::verified())
        .expect("a sound dump");
    assert_eq!(loaded.objects, 40_898);
    let key = Term::parse("{lists,keyfind,3}").expect("a term");
    let found = loaded.table.lookup(&key).expect("the caller's own table");
    assert!(
        text::print_w(&found[0])
            .starts_with("{{lists,keyfind,3},stdlib,#{exported => true,line => 83,")
    );
}

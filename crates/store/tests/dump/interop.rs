//! OTP reads what Fyris writes, Fyris reads what OTP writes, and both say the same of damaged files.

use std::fs;
use std::path::Path;

use fyris::dump::{DumpError, Header, LoadOptions, Loaded, SaveOptions, tabfile_info};
use fyris::{Store, Table};
use fyris_term::{Term, arbitrary, etf};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::{Folder, TYPES, assorted, erlang, options, save_options};

fn store_list(path: &Path, table: &Table, header: &Header) {
    let list = Term::list(table.tab2list().unwrap());
    fs::write(path.with_extension("list"), etf::encode(&list)).unwrap();
    fs::write(path.with_extension("info"), etf::encode(&header.to_term())).unwrap();
}

/// Returns all objects, sorted: in what order OTP dumps those of one key is not told.
fn sorted(table: &Table) -> Vec<Term> {
    let mut objects = table.tab2list().unwrap();
    objects.sort_by(Term::cmp_exact);
    objects
}

fn term(path: &Path) -> Term {
    etf::decode(&fs::read(path).unwrap()).unwrap()
}

/// Generates terms that OTP 25 reads as they are: it has no `-0.0` beside `0.0`, and its limits for the
/// numbers in identifiers are its own.
fn nasty_objects(runner: &mut TestRunner) -> Vec<Term> {
    let minus_zero = |term: &Term| {
        etf::encode(term)
            .windows(9)
            .any(|w| w == b"F\x80\0\0\0\0\0\0\0")
    };
    let element = arbitrary::plain_term().prop_filter("-0.0", move |term| !minus_zero(term));
    (0..150)
        .map(|n| {
            let mut next = || element.new_tree(runner).unwrap().current();
            Term::Tuple((0..2 + n % 3).map(|_| next()).collect())
        })
        .collect()
}

#[test]
fn otp_reads_what_fyris_writes() {
    if !erlang::is_here() {
        return;
    }
    let folder = Folder::new();
    let owner = Store::new().owner();
    let mut runner = TestRunner::deterministic();
    for kind in TYPES {
        for (number, save) in save_options().enumerate() {
            let contents = [Vec::new(), assorted(300), nasty_objects(&mut runner)];
            for (which, objects) in contents.into_iter().enumerate() {
                let name = format!("{}_{number}_{which}", kind.as_str());
                let table = owner.new_table(&name, &options(kind, 2).named()).unwrap();
                for object in &objects {
                    table.insert(object).unwrap();
                }
                let path = folder.file(&format!("{name}.ets"));
                table.tab2file(&path, &save).unwrap();
                store_list(&path, &table, &tabfile_info(&path).unwrap());
            }
        }
    }
    erlang::oracle("check", folder.path());
}

#[test]
fn fyris_reads_what_otp_writes() {
    let folder = Folder::new();
    if !erlang::is_here() || !erlang::oracle("write", folder.path()) {
        return;
    }
    let mut seen = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "ets") {
            continue;
        }
        let header = tabfile_info(&path).unwrap();
        assert_eq!(
            header.to_term(),
            term(&path.with_extension("info")),
            "{}",
            path.display()
        );
        let Term::List(objects) = term(&path.with_extension("list")) else {
            unreachable!()
        };
        for verify in [true, false] {
            let owner = Store::new().owner();
            let load = LoadOptions {
                verify,
                ..LoadOptions::default()
            };
            let loaded = owner
                .file2tab(&path, &load)
                .unwrap_or_else(|e| panic!("{path:?}: {e}"));
            assert!(loaded.damage.is_empty(), "{path:?}: {:?}", loaded.damage);
            let like = owner
                .new_table("like", &options(loaded.table.table_type(), 2))
                .unwrap();
            objects
                .iter()
                .for_each(|object| like.insert(object).unwrap());
            assert!(sorted(&loaded.table) == sorted(&like), "{}", path.display());
        }
        seen += 1;
    }
    assert_eq!(seen, 4 * 4 * 3 * 2);
}

/// The answers of OTP and Fyris to one file, and whether Fyris may differ there.
struct Case {
    otp: Term,
    ours: Result<Loaded, DumpError>,
    verify: bool,
}

impl Case {
    /// Returns whether the answers are the same, or differ by one of the differences that the documentation of
    /// `fyris::dump` lists.
    fn agrees(&self) -> bool {
        let Term::Tuple(otp) = &self.otp else {
            // It hangs.
            return match &self.ours {
                Ok(loaded) => !loaded.damage.is_empty(),
                Err(error) => error.reason() == Term::atom("badfile"),
            };
        };
        let raised = otp[0] == Term::atom("raised");
        match (&self.ours, &otp[1]) {
            (Err(ours), theirs) if !raised => {
                let version = matches!(ours, DumpError::UnsupportedVersion { .. });
                let same = ours.reason() == *theirs || (version && self.verify);
                // Stricter: bytes behind the end, a cut right behind an object's head.
                let badfile = ours.reason() == Term::atom("badfile") && self.verify;
                let count = *theirs == Term::atom("invalid_object_count");
                same || (badfile && (otp[0] == Term::atom("ok") || count))
            }
            (Err(ours), _) => {
                let reasons = ["badfile", "cannot_create_table"].map(Term::atom);
                ours.raises() || reasons.contains(&ours.reason())
            }
            (Ok(loaded), Term::Int(count)) if otp[0] == Term::atom("ok") => {
                let more = loaded.table.len() as i64 >= *count && !self.verify;
                loaded.table.len() as i64 == *count || more
            }
            // A dump for which OTP raises an error, or which it takes to end early, is reported as damaged.
            (Ok(loaded), _) => !self.verify && raised && !loaded.damage.is_empty(),
        }
    }
}

#[test]
fn damaged_files_get_the_same_answers() {
    if !erlang::is_here() {
        return;
    }
    let folder = Folder::new();
    for save in [
        SaveOptions::default(),
        SaveOptions {
            object_count: true,
            ..SaveOptions::default()
        },
        SaveOptions {
            object_count: true,
            md5sum: true,
            ..SaveOptions::default()
        },
    ] {
        damage_everywhere(&folder, save);
    }
    erlang::oracle("answer", folder.path());
    let Term::List(answers) = term(&folder.file("answers.etf")) else {
        unreachable!()
    };
    let (mut differ, mut exact) = (Vec::new(), 0);
    for answer in &answers {
        let Term::Tuple(answer) = answer else {
            unreachable!()
        };
        let name = text(&answer[0]);
        for (verify, otp) in [(true, &answer[1]), (false, &answer[2])] {
            let owner = Store::new().owner();
            let load = LoadOptions {
                verify,
                ..LoadOptions::default()
            };
            let ours = owner.file2tab(folder.file(&name), &load);
            let case = Case {
                otp: otp.clone(),
                ours,
                verify,
            };
            exact += usize::from(case.ours.as_ref().is_err_and(|e| e.to_term() == *otp));
            if !case.agrees() {
                let bytes = fs::read(folder.file(&name)).unwrap();
                let end = bytes.len().saturating_sub(120);
                let end = bytes[end..].escape_ascii();
                differ.push(format!(
                    "{name} {verify}: {otp:?}, {:?}; ends with {end}",
                    case.ours
                ));
            }
        }
    }
    assert!(
        differ.is_empty(),
        "{} differ:\n{}",
        differ.len(),
        differ[..differ.len().min(20)].join("\n")
    );
    assert!(
        answers.len() > 1000 && exact > 1000,
        "{exact} of {}",
        answers.len()
    );
}

/// Files cut, with bits flipped, and with garbage behind the end.
fn damage_everywhere(folder: &Folder, save: SaveOptions) {
    let owner = Store::new().owner();
    let table = owner.new_table("t", &options(TYPES[0], 1)).unwrap();
    assorted(12)
        .iter()
        .for_each(|object| table.insert(object).unwrap());
    let path = folder.file("whole");
    table.tab2file(&path, &save).unwrap();
    let whole = fs::read(&path).unwrap();
    let tag = format!("{}{}", u8::from(save.object_count), u8::from(save.md5sum));
    let put = |name: String, bytes: &[u8]| fs::write(folder.file(&name), bytes).unwrap();
    for cut in 0..whole.len() {
        put(format!("{tag}_cut_{cut}.ets"), &whole[..cut]);
    }
    for at in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        put(format!("{tag}_flip_{at}.ets"), &flipped);
    }
    for extra in [1, 7, 8, 9, 100, 1000] {
        let garbage = [&whole[..], &vec![0xa5; extra]].concat();
        put(format!("{tag}_more_{extra}.ets"), &garbage);
    }
}

/// Returns a list of characters as text.
fn text(term: &Term) -> String {
    let Term::List(characters) = term else {
        panic!("{term:?} is no text")
    };
    let letter = |c: &Term| match c {
        Term::Int(c) => u8::try_from(*c).map(char::from).unwrap_or('?'),
        _ => '?',
    };
    characters.iter().map(letter).collect()
}

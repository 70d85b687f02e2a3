//! `fyris doctor` as people and scripts use it, on real segments and on what is none.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};

use fyris_segment::{Options, Segment};

/// The variable that makes this program a process with a segment, instead of a test.
const HOLDER: &str = "FYRIS_TEST_HOLDER";

fn doctor(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fyris"))
        .arg("doctor")
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

fn passes(args: &[&str]) -> String {
    let output = doctor(args);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).expect("output is UTF-8")
}

fn fails(args: &[&str]) -> String {
    let output = doctor(args);
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).expect("errors are UTF-8")
}

/// Returns a file-backed segment in a folder of its own, with three commits of one page each.
fn segment() -> (tempfile::TempDir, String, Segment) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("segment");
    let mut segment = Segment::checkout(&path, 16 * 4096, &Options::new()).expect("a new segment");
    for page in 0..3 {
        segment.as_mut_slice()[page * 4096] = 1;
        segment.commit().expect("a commit");
    }
    (folder, path.display().to_string(), segment)
}

#[test]
fn it_lists_who_is_attached_and_what_is_retained() {
    let (_folder, path, segment) = segment();
    let text = passes(&[&path]);
    for part in [
        "65536 bytes, may grow to 65536, unit of 8 bytes",
        "3, after 3 page changes",
        "3 current",
        "1 attached",
        &format!("pid {}, runs, up to date, 3 commits", std::process::id()),
        "sound",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    drop(segment);
    assert!(passes(&[&path]).contains("0 attached"));
}

#[test]
fn json_has_the_same() {
    let (_folder, path, _segment) = segment();
    let text = passes(&[&path, "--json"]);
    let value: serde_json::Value = serde_json::from_str(&text).expect("a JSON object");
    assert_eq!(value["version"], 3);
    assert_eq!(value["processes"][0]["commits"], 3);
    assert_eq!(value["processes"][0]["pid"], std::process::id());
    assert_eq!(value["sound"], true);
    assert!(value["repaired"].is_null());
}

/// Not a test by itself: the process that the next test kills.
#[test]
fn holder() {
    let Ok(path) = std::env::var(HOLDER) else {
        return;
    };
    let mut segment = Segment::checkout(&path, 0, &Options::new()).expect("the segment");
    segment.as_mut_slice()[5 * 4096] = 9;
    segment.commit().expect("a commit");
    println!("attached");
    std::io::stdout().flush().expect("a pipe");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

fn hold(path: &str) -> Child {
    let mut child = Command::new(std::env::current_exe().expect("this test"))
        .args(["holder", "--exact", "--nocapture"])
        .env(HOLDER, path)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test starts itself");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let found = lines
        .map_while(Result::ok)
        .any(|line| line.contains("attached"));
    assert!(found, "the child attaches");
    child
}

#[test]
fn it_forgets_the_dead_when_asked_to() {
    let (_folder, path, mut segment) = segment();
    let mut child = hold(&path);
    let pid = child.id();
    let row = |state: &str| format!("pid {pid}, {state}, up to date, 1 commits");
    assert!(passes(&[&path]).contains(&row("runs")));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    assert!(passes(&[&path]).contains(&row("dead")));
    let text = passes(&[&path, "--repair"]);
    assert!(text.contains("dead processes forgotten: 1"), "{text}");
    assert!(text.contains("1 attached"), "{text}");
    // The living one goes on, with what the dead one had committed.
    segment.update().expect("an update");
    assert_eq!(segment.as_slice()[5 * 4096], 9);
}

#[test]
fn what_is_no_segment_is_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("garbage");
    let name = path.display().to_string();
    assert!(fails(&[&name]).contains(&name), "not there");
    for garbage in [&b""[..], b"garbage", &[0xa5; 1 << 16]] {
        std::fs::write(&path, garbage).expect("a file");
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(&path, mode).expect("our own file");
        let message = fails(&[&name, "--repair"]);
        assert!(message.contains("is not a segment"), "{message}");
    }
    assert!(fails(&["no/../such"]).contains("no/../such"));
    assert!(fails(&[".bad"]).contains("is no name for a segment"));
}

#[test]
fn a_truncated_segment_is_told_from_garbage() {
    let (_folder, path, segment) = segment();
    drop(segment);
    let file = std::fs::OpenOptions::new().write(true).open(&path);
    let file = file.expect("our own file");
    let len = file.metadata().expect("our own file").len();
    file.set_len(len / 2).expect("a shorter file");
    let message = fails(&[&path]);
    assert!(message.contains("truncated"), "{message}");
}

#[test]
fn segments_in_memory_are_listed() {
    let name = format!("test-doctor-{}-0", std::process::id());
    let segment = Segment::checkout(&name, 8192, &Options::new()).expect("a new segment");
    let text = passes(&["--list"]);
    let row = text.lines().find(|line| line.starts_with(&name));
    let row: Vec<_> = row.expect("a row").split_whitespace().collect();
    assert_eq!(row[1..4], ["8192", "0", "1"], "{text}");
    let text = passes(&["--list", "--json"]);
    let mut objects = text.lines().map(|line| {
        let object: serde_json::Value = serde_json::from_str(line).expect("a JSON object");
        object
    });
    let mine = objects.find(|object| object["name"] == *name);
    assert_eq!(mine.expect("an object")["processes"], 1);
    // A file that is none: listed with the reason.
    let garbage = segment.path().with_extension("garbage");
    std::fs::write(&garbage, "garbage").expect("our own file");
    let text = passes(&["--list"]);
    std::fs::remove_file(garbage).expect("our own file");
    assert!(text.contains("is not a segment"), "{text}");
    Segment::unlink(&name).expect("our own segment");
    assert_eq!(doctor(&["--list", &name]).status.code(), Some(2));
    assert_eq!(doctor(&[]).status.code(), Some(2));
}

#[test]
fn it_says_what_an_erlang_system_has_left() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../files/tests/erlang/golden");
    let mnesia = passes(&[&format!("{golden}/counters")]);
    for part in [
        "mnesia    ",
        "node      nonode@nohost",
        "only_hits: Set, disc_only_copies",
        "loads     yes",
        "check     sound",
    ] {
        assert!(mnesia.contains(part), "{part} is not in:\n{mnesia}");
    }
    let open = passes(&[&format!("{golden}/open_bag.dets")]);
    assert!(
        open.contains("closed    no") && open.contains("Bag, key position 1"),
        "{open}"
    );
    let directory = format!("{golden}/counters");
    for option in ["--json", "--repair"] {
        let said = fails(&[option, &directory]);
        assert!(
            said.contains(&format!("{option} is for segments")),
            "{said}"
        );
    }
    let dump = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/otp25-exports.ets");
    let said = fails(&[dump]);
    assert!(said.contains(&format!("`fyris info {dump}`")), "{said}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("damaged.dets");
    let mut bytes = std::fs::read(format!("{golden}/set.dets")).expect("a file");
    let mark = [0x12, 0x34, 0x56, 0x78];
    let at = bytes
        .windows(4)
        .position(|bytes| bytes == mark)
        .expect("a collection");
    bytes[at] ^= 1;
    for (length, place) in [
        (bytes.len(), "byte "),
        (5372, "byte 5372: the file ends here"),
    ] {
        std::fs::write(&file, &bytes[..length]).expect("a file");
        let output = doctor(&[file.to_str().expect("UTF-8")]);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(said.contains("NOT SOUND") && said.contains(place), "{said}");
    }
}

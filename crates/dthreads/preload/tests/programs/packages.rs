//! Compressors of Debian's packages, unmodified, where they are installed.

use std::io::Write;
use std::process::{Command, Stdio};

use super::*;

/// Returns text that compresses about as text does.
fn input() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut state = 7u64;
    while bytes.len() < 1_500_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let _ = write!(bytes, "{} of {}, ", state >> 50, (state >> 40) % 37);
    }
    bytes
}

/// Runs a program on a file of `content` under noise, and returns the output, which is the same in each run and, if
/// `same`, that of a plain run. `None` if it is not here.
fn output_of(line: &[&str], content: &[u8], same: bool) -> Option<Vec<u8>> {
    if bench().is_none() || Command::new(line[0]).arg("--version").output().is_err() {
        eprintln!("{} is not here: skipped", line[0]);
        return None;
    }
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(content).expect("to write");
    let mut arguments: Vec<OsString> = line[1..].iter().map(OsString::from).collect();
    arguments.push(file.path().into());
    let once = |n| {
        let (options, noise) = (Options::default(), Noise::of(n));
        run_once(
            line[0].as_ref(),
            &arguments,
            &options,
            None,
            noise,
            PATIENCE,
        )
        .unwrap_or_else(|error| panic!("{line:?}: {error}"))
    };
    let first = once(0);
    assert!(first.status.success(), "{line:?}: {}", first.status);
    assert_eq!(first.report.clashes(), 0, "{line:?}");
    for n in 1..runs() {
        assert_eq!(first.differs(&once(n)), None, "{line:?}");
    }
    if same {
        let plain = Command::new(line[0]).args(&arguments).output();
        assert!(plain.expect("to run").stdout == first.output, "{line:?}");
    }
    Some(first.output)
}

/// Runs a compressor as [`output_of`]; the ordinary tool gives the content back.
fn agrees(line: &[&str], ordinary: &[&str], same: bool) {
    let content = input();
    let Some(packed) = output_of(line, &content, same) else {
        return;
    };
    let mut back = Command::new(ordinary[0])
        .args(&ordinary[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("to start");
    let mut to = back.stdin.take().expect("its input");
    let writer = std::thread::spawn(move || to.write_all(&packed));
    let out = back.wait_with_output().expect("its output").stdout;
    writer.join().expect("to end").expect("to write");
    assert!(
        out == content,
        "{line:?}: {} decompresses otherwise",
        ordinary[0]
    );
}

/// It sorts by threads from 131,072 lines on.
#[test]
fn sort_by_two_threads() {
    let lines = String::from_utf8(input())
        .expect("text")
        .replace(", ", "\n");
    let lines = lines.repeat(2).into_bytes();
    output_of(&["sort", "--parallel=2"], &lines, true);
}

#[test]
fn compressors_that_wait_for_signals() {
    agrees(&["pbzip2", "-p2", "-c"], &["bzip2", "-dc"], true);
    agrees(&["lbzip2", "-n2", "-c"], &["bzip2", "-dc"], true);
}

/// With blocks so small that both threads have some.
#[test]
fn other_compressors() {
    agrees(&["pigz", "-p2", "-c", "-n"], &["gzip", "-dc"], true);
    agrees(
        &["plzip", "-n2", "-B", "400000", "-c"],
        &["plzip", "-dc"],
        true,
    );
    agrees(
        &["xz", "-T2", "-1", "--block-size=400000", "-c"],
        &["xz", "-dc"],
        true,
    );
    agrees(
        &["zstd", "-T2", "-B512KiB", "-q", "-c"],
        &["zstd", "-dc"],
        true,
    );
}

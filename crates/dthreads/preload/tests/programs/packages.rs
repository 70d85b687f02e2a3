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

/// Runs a compressor on the file under noise; its output is the same in each run, and the ordinary tool gives the
/// file back.
fn agrees(line: &[&str], ordinary: &[&str], same: bool) {
    if bench().is_none() || Command::new(line[0]).arg("--version").output().is_err() {
        eprintln!("{} is not here: skipped", line[0]);
        return;
    }
    let content = input();
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(&content).expect("to write");
    let path = file.path().to_str().expect("a path");
    let mut arguments: Vec<OsString> = line[1..].iter().map(OsString::from).collect();
    arguments.push(path.into());
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
    for n in 1..runs().min(20) {
        assert_eq!(first.differs(&once(n)), None, "{line:?}");
    }
    if same {
        let plain = Command::new(line[0])
            .args(&arguments)
            .output()
            .expect("to run");
        assert!(plain.stdout == first.output, "{line:?}");
    }
    let mut back = Command::new(ordinary[0])
        .args(&ordinary[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("to start");
    let mut to = back.stdin.take().expect("its input");
    let writer = std::thread::spawn(move || to.write_all(&first.output));
    let out = back.wait_with_output().expect("its output").stdout;
    writer.join().expect("to end").expect("to write");
    assert!(
        out == content,
        "{line:?}: {} decompresses otherwise",
        ordinary[0]
    );
}

#[test]
fn compressors_that_wait_for_signals() {
    agrees(&["pbzip2", "-p2", "-c"], &["bzip2", "-dc"], true);
    agrees(&["lbzip2", "-n2", "-c"], &["bzip2", "-dc"], true);
}

#[test]
fn other_compressors() {
    agrees(&["pigz", "-p2", "-c", "-n"], &["gzip", "-dc"], true);
    agrees(&["plzip", "-n2", "-c"], &["plzip", "-dc"], true);
    agrees(&["xz", "-T2", "-1", "-c"], &["xz", "-dc"], false);
    agrees(&["zstd", "-T2", "-q", "-c"], &["zstd", "-dc"], true);
}

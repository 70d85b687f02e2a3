//! The commands `fyris dthreads run`, `check` and `trace`, as a user calls them.

use std::process::Output;

use super::*;

/// Calls `fyris dthreads` with arguments, some of which are names of the compiled programs; `None` if they cannot run
/// here.
fn fyris(arguments: &[&str]) -> Option<Output> {
    let folder = bench()?;
    let mut command = Command::new(built());
    command.arg("dthreads");
    for argument in arguments {
        match argument.strip_prefix('@') {
            Some(name) => command.arg(folder.join(name)),
            None => command.arg(argument),
        };
    }
    Some(command.stdin(Stdio::null()).output().expect("to start"))
}

/// Returns the program's path: the one that the workspace's tests have built, else one that is built now.
fn built() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let here = std::env::current_exe().expect("this test's path");
        let beside = here.with_file_name("../fyris");
        if beside.is_file() {
            return beside;
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--locked", "--package", "fyris-cli"]);
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        cargo.args(["--message-format", "json"]);
        let output = cargo.output().expect("cargo");
        assert!(output.status.success(), "{output:?}");
        let messages = text(&output.stdout);
        let path = messages
            .split("\"executable\":\"")
            .nth(1)
            .and_then(|rest| rest.split('"').next());
        PathBuf::from(path.expect("the program's path"))
    })
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn run_passes_output_and_status_on() {
    let Some(output) = fyris(&["run", "@racy_counter", "4", "60"]) else {
        return;
    };
    assert!(output.status.success() && output.stderr.is_empty());
    let again = fyris(&["run", "@racy_counter", "4", "60"]).expect("runs here");
    assert_eq!(output.stdout, again.stdout);
    let output = fyris(&["run", "sh", "-c", "exit 7"]).expect("runs here");
    assert_eq!(output.status.code(), Some(7));
    let output = fyris(&["run", "no-such-program"]).expect("runs here");
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("no such program"));
}

#[test]
fn run_shows_times_and_conflicts() {
    let Some(output) = fyris(&["run", "--stats", "@kmeans", "4", "5"]) else {
        return;
    };
    let shown = text(&output.stderr);
    for column in ["token wait ms", "commit ms", "pages committed", "faults"] {
        assert!(shown.contains(column), "{shown}");
    }
    let output = fyris(&["run", "--conflicts", "@racy_counter", "4", "60"]).expect("runs here");
    assert!(text(&output.stderr).contains("counter"));
}

#[test]
fn check_says_whether_runs_agree() {
    let Some(output) = fyris(&["check", "--runs", "3", "@racy_counter", "4", "60"]) else {
        return;
    };
    let shown = text(&output.stdout);
    assert!(output.status.success(), "{shown}");
    assert!(shown.starts_with("3 runs agree: exit status: 0"), "{shown}");
    let output = fyris(&["check", "--runs", "3", "@unlike"]).expect("runs here");
    let shown = text(&output.stdout);
    assert!(!output.status.success(), "{shown}");
    assert!(shown.starts_with("run 2 differs from the first in its output"));
    assert!(
        shown.contains("the runs part at synchronization point"),
        "{shown}"
    );
}

#[test]
fn trace_shows_points_and_draws_them() {
    let Some(folder) = bench() else {
        return;
    };
    let picture = folder.join("trace.svg");
    let to = picture.to_str().expect("a path of text");
    let output = fyris(&[
        "trace",
        "--svg",
        to,
        "--points",
        "20",
        "@reverse_index",
        "2",
        "50",
    ]);
    let output = output.expect("runs here");
    assert!(output.status.success());
    let shown = text(&output.stderr);
    assert!(
        shown.contains("pages  call, object, where, region"),
        "{shown}"
    );
    assert!(shown.contains("pthread_create work  ") && shown.contains(" more (--points)"));
    let drawn = std::fs::read_to_string(&picture).expect("a picture");
    assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"));
    assert!(drawn.contains("thread 2") && drawn.contains(" pages</title>"));
}

/// Threads are created again and again; their processes are not.
#[test]
fn processes_come_from_a_pool() {
    let Some(folder) = bench() else {
        return;
    };
    let report = run(folder, "kmeans", &["4", "50"], 0)
        .expect("a run")
        .report;
    let (_, created, forked) = report.threads();
    assert!(
        created > 100 && forked < 20,
        "{created} threads, {forked} processes"
    );
}

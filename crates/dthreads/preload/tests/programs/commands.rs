//! The commands `fyris dthreads run`, `check` and `trace`, as a user calls them.

use std::io::Write;
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

/// However the command ends, its program does, and no file is left.
#[test]
fn what_ends_a_command_ends_its_program() {
    for (command, signal) in [
        (&["run", "--stats"][..], libc::SIGTERM),
        (&["check"], libc::SIGKILL),
        (&["trace"], libc::SIGTERM),
    ] {
        let Some(folder) = bench() else {
            return;
        };
        let temporary = tempfile::tempdir().expect("a folder");
        let mut fyris = Command::new(built());
        fyris.arg("dthreads").args(command);
        fyris
            .arg(folder.join("racy_counter"))
            .args(["2", "100000000"]);
        fyris.env("TMPDIR", temporary.path()).stdout(Stdio::null());
        let mut fyris = Running::start(&mut fyris);
        let (mut main, mut all) = (Vec::new(), Vec::new());
        wait_until("two threads", || {
            main = children(fyris.0.id());
            all = main
                .first()
                .map_or(Vec::new(), |&main| children(main as u32));
            all.len() == 2
        });
        // SAFETY: a process that this test has started.
        unsafe { libc::kill(fyris.0.id() as i32, signal) };
        assert_eq!(fyris.end().signal(), Some(signal));
        wait_until("the program's end", || {
            let mut processes = main.iter().chain(&all);
            !processes.any(|&pid| is_running(pid))
        });
        let left = std::fs::read_dir(temporary.path()).expect("the folder");
        assert_eq!(left.count(), 0, "{command:?}");
    }
}

#[test]
fn run_passes_output_and_status_on() {
    let Some(output) = fyris(&["run", "@racy_counter", "4", "60"]) else {
        return;
    };
    assert!(output.status.success());
    let said = "(counter), by thread 2 before its call in work";
    assert!(text(&output.stderr).contains(said), "{output:?}");
    let again = fyris(&["run", "@racy_counter", "4", "60"]).expect("runs here");
    assert_eq!(output.stdout, again.stdout);
    let output = fyris(&["run", "sh", "-c", "exit 7"]).expect("runs here");
    assert_eq!(output.status.code(), Some(7));
    let output = fyris(&["run", "no-such-program"]).expect("runs here");
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("no such program"));
}

/// Without a record the program takes the place of `fyris`; with one, `fyris` tells how it ended.
#[test]
fn run_ends_as_the_program_does() {
    let Some(output) = fyris(&["run", "@crash", "abort"]) else {
        return;
    };
    assert_eq!(output.status.signal(), Some(libc::SIGABRT));
    for (arguments, code, said) in [
        (
            &["--stats", "@crash", "abort"][..],
            134,
            "ended by signal 6",
        ),
        (&["--stats", "@crash", "exit"], 42, "2 threads, 2 at once"),
        (&["@crash", "stuck"], 120, "deadlock"),
        (
            &["--heap", "8", "@crash", "heap"],
            libc::ENOMEM,
            "the heap is full",
        ),
        (
            &["--threads", "5", "@crash", "crowd"],
            libc::EAGAIN,
            "(see --threads)",
        ),
        (&["--real-time", "@crash", "timed"], 120, "the real clock"),
        (&["--heap", "0", "@crash"], 1, "a heap of 0 bytes"),
        (&["--threads", "129", "@crash"], 1, "129 threads: 1 to 128"),
        (&["--turn", "0", "@crash"], 2, "--turn"),
        (&["/"], 1, "directory"),
    ] {
        let output = fyris(&[&["run"], arguments].concat()).expect("runs here");
        let shown = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {shown}");
        assert!(shown.contains(said), "{arguments:?}: {shown}");
    }
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
    let shown = text(&output.stderr);
    assert!(shown.contains(" (counter): thread "), "{shown}");
    // It is compiled with debugging information.
    assert!(shown.contains(" (racy_counter.c:"), "{shown}");
    assert!(shown.contains(" conflicts in all, "), "{shown}");
    let output = fyris(&["run", "--conflicts", "@barriers", "2", "5"]).expect("runs here");
    assert_eq!(text(&output.stderr), "no conflicts\n");
    let output = fyris(&["run", "@barriers", "2", "5"]).expect("runs here");
    assert_eq!(text(&output.stderr), "");
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
fn check_tells_input_from_another_schedule_and_gives_up() {
    let Some(output) = fyris(&["check", "--runs", "2", "sh", "-c", "echo $$"]) else {
        return;
    };
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{shown}");
    assert!(shown.contains("the synchronization points are the same"));
    let output = fyris(&["check", "--patience", "1", "@crash", "for ever"]).expect("runs here");
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("did not end within 1s"));
}

/// `check --input` gives each run the file; without it there is none.
#[test]
fn check_gives_each_run_its_input() {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(b"some words\n").expect("to write");
    let path = file.path().to_str().expect("a path of text");
    for (input, bytes) in [(&["--input", path][..], "11 bytes"), (&[], "0 bytes")] {
        let arguments = [&["check", "--runs", "2"], input, &["cat"]].concat();
        let Some(output) = fyris(&arguments) else {
            return;
        };
        let shown = text(&output.stdout);
        assert!(output.status.success() && shown.contains(bytes), "{shown}");
    }
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

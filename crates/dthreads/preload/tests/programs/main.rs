//! Programs of `../programs`, run many times under noise: one output, one exit status, one schedule.
//!
//! Needs compilers of C and C++, and userfaultfd; says so and passes where there is none. More runs: `FYRIS_RUNS=200`.

mod commands;
mod faults;
mod packages;
mod traces;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fyris_dthreads_tools::check::{Noise, Run, run_once};
use fyris_dthreads_tools::launch::{LIBRARY, LIBRARY_VARIABLE, Options, command};
use fyris_dthreads_tools::report::first_difference;
use fyris_segment::{PAGE, Segment, Tracking};

const PATIENCE: Duration = Duration::from_secs(60);

/// Where the library and the compiled programs are; `None` if they cannot run here.
fn bench() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(prepare).as_deref()
}

fn prepare() -> Option<PathBuf> {
    let here = std::env::current_exe().expect("this test's path");
    let folder = here.parent().expect("a folder").to_owned();
    // SAFETY: before any other thread looks at the environment: all tests come through here first.
    unsafe { std::env::set_var(LIBRARY_VARIABLE, folder.join(LIBRARY)) };
    if !folder.join(LIBRARY).is_file() {
        panic!("{LIBRARY} is not in {folder:?}");
    }
    let missing = |compiler: &&str| Command::new(compiler).arg("--version").output().is_err();
    if ["cc", "c++"].iter().any(missing) {
        eprintln!("no compiler of C and C++ here: skipped");
        return None;
    }
    let segment = |tracking| {
        let options = fyris_segment::Options::new().tracking(tracking);
        Segment::nameless(PAGE, &options)
    };
    // Only the lack of userfaultfd is a reason: without it a segment is made.
    drop(segment(Tracking::Declared).expect("a segment"));
    if let Err(error) = segment(Tracking::Userfault) {
        eprintln!("no userfaultfd with WP_ASYNC here, or it is forbidden ({error}): skipped");
        return None;
    }
    let to = folder.join("dthreads-programs");
    std::fs::create_dir_all(&to).expect("a folder");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../programs");
    for entry in std::fs::read_dir(from).expect("the programs").flatten() {
        let path = entry.path();
        let extension = path.extension().unwrap_or_default();
        if extension == "rs" {
            let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
            let mut rustc = Command::new(rustc);
            rustc.args(["--edition=2024", "-O", "-o"]);
            rustc
                .arg(to.join(path.file_stem().expect("a name")))
                .arg(&path);
            assert!(rustc.status().expect("rustc").success(), "{path:?}");
        }
        if extension == "c" || extension == "cpp" {
            let mut cc = Command::new(if extension == "c" { "cc" } else { "c++" });
            // Not position-independent: globals are at one address even where the loader's choice cannot be fixed.
            cc.args(["-O1", "-Wall", "-no-pie", "-pthread", "-o"]);
            cc.arg(to.join(path.file_stem().expect("a name")))
                .arg(&path);
            cc.args(match path.file_stem().and_then(OsStr::to_str) {
                Some("racy_counter") => &["-g"][..],
                Some("openmp") => &["-fopenmp"],
                Some("plugin") => &["-shared", "-fPIC"],
                Some("futures") => &["-std=c++20"],
                _ => &[],
            });
            assert!(cc.status().expect("cc").success(), "{path:?}");
        }
    }
    let trial = run(&to, "barriers", &["1", "1"], 0).expect("a run");
    assert!(trial.status.success(), "{}", trial.status);
    Some(to)
}

/// A process that does not outlive its test.
struct Running(Child);

impl Running {
    /// Starts a program that leaves no dump of its memory.
    fn start(command: &mut Command) -> Running {
        // SAFETY: a system call on the new process.
        unsafe {
            command.pre_exec(|| {
                let none = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                Ok(())
            })
        };
        Running(command.stdin(Stdio::null()).spawn().expect("to start"))
    }

    /// Waits for its end.
    fn end(&mut self) -> ExitStatus {
        let mut status = None;
        wait_until("its end", || {
            status = self.0.try_wait().expect("its status");
            status.is_some()
        });
        status.expect("ended")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if it has ended. The death of main's process is that of the others.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a command to its end; returns how it ended, and what it wrote to the two streams.
fn finish(command: &mut Command) -> (ExitStatus, String, String) {
    // Files, not pipes: nothing waits for a process that has kept one open.
    let [out, error] = [(); 2].map(|()| tempfile::tempfile().expect("a file"));
    command.stdout(out.try_clone().expect("a file"));
    command.stderr(error.try_clone().expect("a file"));
    let status = Running::start(command).end();
    let text = |mut file: File| {
        let mut bytes = Vec::new();
        file.rewind().expect("to rewind");
        file.read_to_end(&mut bytes).expect("to read");
        String::from_utf8_lossy(&bytes).into_owned()
    };
    (status, text(out), text(error))
}

/// Returns what a program prints under plain POSIX threads.
fn plain(folder: &Path, name: &str, arguments: &[&str]) -> String {
    finish(Command::new(folder.join(name)).args(arguments)).1
}

fn run(folder: &Path, name: &str, arguments: &[&str], n: u64) -> Result<Run, String> {
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let program = folder.join(name);
    let options = Options::default();
    let noise = Noise::of(n);
    run_once(
        program.as_os_str(),
        &arguments,
        &options,
        None,
        noise,
        PATIENCE,
    )
    .map_err(|error| error.to_string())
}

fn runs() -> u64 {
    let asked = std::env::var("FYRIS_RUNS")
        .ok()
        .and_then(|text| text.parse().ok());
    asked.unwrap_or(4)
}

/// Runs a program again and again; returns the first run, `None` if it cannot run here.
fn agreed(name: &str, arguments: &[&str]) -> Option<Run> {
    let folder = bench()?;
    let first = run(folder, name, arguments, 0).expect(name);
    assert!(first.status.success(), "{name}: {}", first.status);
    for n in 1..runs() {
        let next = run(folder, name, arguments, n).expect(name);
        if let Some(what) = first.differs(&next) {
            let parts = first_difference(&first.report, &next.report);
            panic!("{name}: run {n} differs in its {what}: {parts:?}");
        }
    }
    Some(first)
}

/// Runs a program again and again; returns what it printed.
fn agree(name: &str, arguments: &[&str]) -> String {
    let output = agreed(name, arguments).map_or(Vec::new(), |first| first.output);
    String::from_utf8(output).expect("text")
}

/// Returns whether a program has two outputs under plain POSIX threads: runs it until it has, or for long enough.
fn differs_under_plain(folder: &Path, name: &str, arguments: &[&str]) -> bool {
    let first = plain(folder, name, arguments);
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if plain(folder, name, arguments) != first {
            return true;
        }
    }
    false
}

/// Runs a program that does not need threads' noise: it prints what a plain run does, and has no races.
fn agree_with_plain(name: &str, arguments: &[&str]) {
    if let (Some(folder), Some(first)) = (bench(), agreed(name, arguments)) {
        let ours = String::from_utf8(first.output).expect("text");
        assert_eq!(ours, plain(folder, name, arguments), "{name}");
        assert_eq!(first.report.clashes(), 0, "{name}");
    }
}

#[test]
fn races_are_decided_the_same_way() {
    agree("racy_counter", &["4", "60"]);
    agree("double_check", &["4", "60"]);
    agree("racy_queue", &["4", "300"]);
    agree("random_draws", &["4", "300"]);
    agree("annealing", &["4", "10"]);
}

/// The test of Kendo: long, for ci/test-long.sh.
#[test]
#[ignore = "a thousand runs"]
fn draws_of_a_racy_generator_agree_a_thousand_times() {
    let Some(folder) = bench() else {
        return;
    };
    let first = run(folder, "random_draws", &["4", "100"], 0).expect("a run");
    for n in 1..1000 {
        let next = run(folder, "random_draws", &["4", "100"], n).expect("a run");
        assert_eq!(first.differs(&next), None, "run {n}");
    }
}

#[test]
fn races_show_under_plain_threads() {
    let Some(folder) = bench() else {
        return;
    };
    if std::thread::available_parallelism().map_or(1, |count| count.get()) < 2 {
        eprintln!("one processor here: skipped");
        return;
    }
    for (name, rounds) in [
        ("racy_counter", "3000"),
        ("racy_queue", "30000"),
        ("random_draws", "30000"),
        ("double_check", "3000"),
    ] {
        assert!(differs_under_plain(folder, name, &["4", rounds]), "{name}");
    }
}

/// A function of `std::call_once` that throws leaves no thread with the token.
#[test]
fn a_once_that_throws_is_called_again() {
    if let Some(folder) = bench() {
        let first = run(folder, "once_throws", &[], 0).expect("a run");
        assert!(first.output.ends_with(b"2 calls\n"));
        agree("once_throws", &[]);
    }
}

/// Atomic operations are turns.
#[test]
#[cfg(target_arch = "x86_64")]
fn atomic_operations_are_turns() {
    for threads in ["2", "4"] {
        agree_with_plain("atomics", &[threads, "40"]);
    }
}

/// Handlers of signals interrupt atomic operations, and have some. When signals come is input.
#[test]
#[cfg(target_arch = "x86_64")]
fn handlers_may_have_atomic_operations() {
    if let Some(folder) = bench() {
        for n in 0..runs() {
            let run = run(folder, "alarms", &["3", "400"], n).expect("a run");
            assert!(run.status.success(), "{}", run.status);
            let output = String::from_utf8(run.output).expect("text");
            assert_eq!(output, "1200 1 1\n2400 1 1\n3600 1 1\nall good\n");
        }
    }
}

/// What languages make of atomic operations and futexes.
#[test]
#[cfg(target_arch = "x86_64")]
fn threads_wait_for_futexes() {
    agree_with_plain("futures", &[]);
    agree_with_plain("locks", &[]);
    for threads in ["1", "2", "4"] {
        agree_with_plain("openmp", &[threads]);
    }
}

/// A static variable of a C++ function is made by one thread, and again if that throws.
#[test]
fn statics_of_functions_are_made_once() {
    agree_with_plain("statics", &[]);
}

#[test]
fn rights_of_pages_are_those_of_all_threads() {
    for threads in ["2", "4"] {
        agree_with_plain("rights", &[threads, "5"]);
    }
}

/// Rights that are changed between threads, and handlers of signals.
#[test]
fn rights_and_handlers_are_those_of_all_threads() {
    agree_with_plain("identity", &["4", "3"]);
}

/// Eight MiB of each stack can be used, by its thread and by others.
#[test]
fn stacks_are_as_large_as_under_plain_threads() {
    for threads in ["2", "4", "8"] {
        agree_with_plain("stacks", &[threads, "3"]);
    }
}

/// Blocks and mappings that come and go are larger together than the heap.
#[test]
fn memory_that_was_freed_is_of_use_for_any_size() {
    agree_with_plain("growth", &["4", "1"]);
    agree_with_plain("growth", &["2", "1", "300"]);
}

/// Reservations, `MAP_FIXED` within them, shared anonymous memory.
#[test]
fn memory_is_shared_however_it_is_mapped() {
    agree_with_plain("mappings", &["4", "100"]);
}

/// A library that is loaded before threads are created: its variables are shared, but for thread-local ones.
#[test]
fn variables_of_libraries_are_shared() {
    if let Some(folder) = bench() {
        let library = folder.join("plugin");
        let library = library.to_str().expect("a path");
        for threads in ["2", "4"] {
            agree_with_plain("plugins", &[threads, "20", library]);
        }
    }
}

/// The library's descriptors are out of the program's reach.
#[test]
fn programs_may_close_what_they_have_not_opened() {
    agree_with_plain("descriptors", &["4", "10"]);
}

/// Before a turn is taken, whether another thread has ended depends on time.
#[test]
fn calls_for_threads_that_may_have_ended_agree() {
    agree("kill_ended", &[]);
}

/// Addresses are in the lines; what eight threads print comes out once and whole.
#[test]
fn lines_and_addresses_agree() {
    let text = agree("prints", &["8", "20"]);
    let mut starts: Vec<String> = text
        .lines()
        .map(|line| {
            line.split_whitespace()
                .take(4)
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect();
    starts.sort();
    let mut want: Vec<String> = (0..8)
        .flat_map(|thread| (0..20).map(move |n| format!("thread {thread} round {n}")))
        .collect();
    want.sort();
    if bench().is_some() {
        assert_eq!(starts, want);
    }
}

/// Standard output appears once however many threads are created after a line; what several threads write to a stream,
/// or read from it, is whole.
#[test]
fn streams_lock_themselves() {
    for threads in ["2", "4", "8"] {
        agree_with_plain("streams", &[threads, "40"]);
    }
    if let Some(folder) = bench() {
        let run = run(folder, "streams", &["4", "40", "pipe"], 1).expect("a run");
        assert!(run.status.success() && run.output.ends_with(b"all good\n"));
    }
}

/// The environment, locales, time zones, and what a thread begins with.
#[test]
fn what_libc_keeps_is_shared_or_private_as_a_whole() {
    for threads in ["2", "4", "8"] {
        agree_with_plain("places", &[threads, "20"]);
        agree_with_plain("places", &[threads, "2", "quick"]);
    }
}

#[test]
fn calls_with_a_time_agree() {
    for threads in ["2", "4", "8"] {
        agree("timed", &[threads]);
    }
}

#[test]
fn calls_that_are_asked_for_seldom_do_what_posix_says() {
    for threads in ["2", "4", "8"] {
        let printed = agree("seldom", &[threads]);
        assert!(bench().is_none() || printed == "all good\n", "{printed}");
    }
}

#[test]
fn threads_of_c11_agree() {
    agree("c11", &[]);
}

#[test]
fn correct_programs_print_what_they_should() {
    agree_with_plain("word_count", &["4", "1"]);
    agree_with_plain("histogram", &["4", "1"]);
    agree_with_plain("histogram", &["4", "1", "adjacent"]);
    agree_with_plain("barriers", &["4", "50"]);
    agree_with_plain("streamcluster", &["4", "30"]);
}

#[test]
fn threads_are_created_again_and_again() {
    agree_with_plain("kmeans", &["4", "10"]);
}

#[test]
fn queues_and_locks_have_one_order() {
    agree("pipeline", &["3", "60"]);
    agree("reverse_index", &["4", "60"]);
    agree_with_plain("uneven", &["2", "20"]);
}

#[test]
fn threads_in_system_calls_hold_up_no_other() {
    if bench().is_some() {
        // The moment at which a pipe's reader is back is not decided: the schedule may differ, what is printed may not.
        let mut first = None;
        for n in 0..runs() {
            let folder = bench().expect("runs here");
            let run = run(folder, "outside", &["4", "40", "all"], n).expect("a run");
            assert!(run.status.success(), "{}", run.status);
            let output = String::from_utf8(run.output).expect("text");
            assert!(output.ends_with("all good\n"), "{output}");
            assert_eq!(first.get_or_insert(output.clone()), &output);
        }
    }
}

/// PARKED: a thread that comes back while the last one leaves the ring is not forgotten.
#[test]
fn a_parked_token_is_found() {
    if bench().is_some() {
        for n in 0..runs() {
            let folder = bench().expect("runs here");
            let run = run(folder, "pingpong", &["2", "300"], n).expect("a run");
            assert!(run.status.success(), "{}", run.status);
            assert_eq!(run.output, b"88\n87\n");
        }
    }
}

#[test]
fn calls_do_what_posix_says() {
    if bench().is_some() {
        assert_eq!(agree("calls", &[]), "all good\n");
    }
}

/// The processes of threads are no children of the program. When a child ends is not decided.
#[test]
fn children_are_those_that_were_started() {
    if let Some(folder) = bench() {
        for n in 0..runs() {
            let run = run(folder, "children", &[], n).expect("a run");
            assert!(run.status.success(), "{}", run.status);
            assert_eq!(run.output, b"all good\n");
        }
    }
}

/// Runs `crash` once; returns how it ended, and what it wrote to the two streams.
fn crash(how: &str) -> Option<(ExitStatus, String, String)> {
    let program = bench()?.join("crash");
    let mut command =
        command(program.as_os_str(), &[how.into()], &Options::default()).expect("to start");
    Some(finish(&mut command))
}

#[test]
fn a_thread_ends_the_program_as_under_plain_threads() {
    let signals = [("segv", libc::SIGSEGV), ("abort", libc::SIGABRT)];
    for (how, signal) in signals {
        let Some((status, ..)) = crash(how) else {
            return;
        };
        assert_eq!(status.signal(), Some(signal), "{how}: {status}");
    }
    let codes = [
        ("exit", 42, "from a thread\n"),
        ("_exit", 43, ""),
        ("main", 7, ""),
        ("late", 0, "late\n"),
    ];
    for (how, code, printed) in codes {
        let (status, out, _) = crash(how).expect("runs here");
        assert_eq!(
            (status.code(), &*out),
            (Some(code), printed),
            "{how}: {status}"
        );
    }
}

#[test]
fn what_cannot_be_is_refused_by_name() {
    for (how, name) in [("stuck", "deadlock"), ("cancel", "pthread_cancel")] {
        let Some((status, _, said)) = crash(how) else {
            return;
        };
        assert_eq!(status.code(), Some(120), "{how}: {said}");
        assert!(said.contains(name), "{how}: {said}");
    }
}

/// Returns the processes whose parent is `parent`.
fn children(parent: u32) -> Vec<i32> {
    let list = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let list = list.unwrap_or_default();
    list.split_whitespace()
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Returns whether a process has not ended.
fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn wait_until(what: &str, mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A process of the program is killed: all of them end, main's by the same signal.
#[test]
fn killing_one_process_ends_all() {
    let Some(folder) = bench() else {
        return;
    };
    let strict = std::env::var_os("FYRIS_STRICT").is_some();
    for victim in 0..4 {
        let program = folder.join("racy_counter");
        let arguments = ["4".into(), "100000000".into()];
        let mut command =
            command(program.as_os_str(), &arguments, &Options::default()).expect("to start");
        let mut main = Running::start(command.stdout(Stdio::null()));
        let mut all = Vec::new();
        wait_until("four threads", || {
            all = children(main.0.id());
            all.len() == 4
        });
        std::thread::sleep(Duration::from_millis(10 * victim));
        // Nothing of the program has a name that could be left behind.
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", main.0.id()));
        let left = |line: &&str| line.contains("/dev/shm/") && !line.ends_with("(deleted)");
        assert_eq!(maps.unwrap_or_default().lines().find(left), None);
        let pid = all
            .get(victim as usize)
            .copied()
            .filter(|_| victim < 3)
            .unwrap_or(main.0.id() as i32);
        // SAFETY: a process that this test has started.
        unsafe { libc::kill(pid, libc::SIGKILL) };
        let start = Instant::now();
        assert_eq!(main.end().signal(), Some(libc::SIGKILL));
        wait_until("the others' end", || {
            !all.iter().any(|&pid| is_running(pid))
        });
        // A second, on a machine that has processors for it.
        let most = Duration::from_secs(if strict { 1 } else { 30 });
        assert!(start.elapsed() < most, "{:?}", start.elapsed());
    }
}

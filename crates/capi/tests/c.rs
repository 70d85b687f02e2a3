//! C programs against the header and the library: every example, and a program that does everything wrong.
//!
//! Needs `cc`, which building Fyris needs too.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The system libraries that a static library of Rust needs.
const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lrt"];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder where cargo has put the library: beside this test.
fn built() -> PathBuf {
    let exe = std::env::current_exe().expect("this test's path");
    exe.parent().expect("a folder").to_owned()
}

fn run(command: &mut Command) -> Output {
    let output = command.output().expect("to run the command");
    let (out, err) = (&output.stdout, &output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(err)
    );
    output
}

fn strict(source: &Path, program: &Path) -> Command {
    let mut cc = Command::new("cc");
    cc.args([
        "-std=c11",
        "-D_GNU_SOURCE",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
    ]);
    cc.arg("-o").arg(program).arg(source);
    cc
}

/// Compiles a program with the static library, runs it in a folder of its own, and returns what it said.
fn said_by(source: &str) -> String {
    said_by_with(source, &[])
}

/// Compiles a program with the static library, runs it with arguments in a folder of its own, and returns what it said.
fn said_by_with(source: &str, arguments: &[&Path]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("program");
    run(strict(&here().join(source), &program)
        .arg("-I")
        .arg(here().join("include"))
        .arg(built().join("libfyris_capi.a"))
        .args(SYSTEM));
    let output = run(Command::new(&program)
        .args(arguments)
        .current_dir(folder.path()));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    String::from_utf8(output.stdout).expect("text")
}

fn has_cplusplus() -> bool {
    let found = Command::new("c++").arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no c++ here");
    }
    found
}

#[test]
fn the_example_of_tables_runs() {
    let said = said_by("examples/tables.c");
    assert_eq!(
        said,
        "{<<\"bridge\">>,1.5,#{made => of_stone}}\n{<<\"river\">>,4000}\n\
         saved 2 objects; the river was counted 4000 times\n\
         refused: an object must be a tuple, not <<\"river\">>\n"
    );
}

#[test]
fn the_example_of_segments_runs() {
    let said = said_by("examples/segment.c");
    assert!(
        said.starts_with("before the update: 0\nafter it: 200, 100, 100\ncounted: 200\n"),
        "{said}"
    );
}

#[test]
fn the_example_of_maps_runs() {
    assert_eq!(
        said_by("examples/map.c"),
        "changes: 2\nhost: ::1\nport: 8081\n"
    );
}

#[test]
fn the_example_of_transactions_runs() {
    assert_eq!(
        said_by("examples/transaction.c"),
        "ada has 200, bob has 800, after 800 payments\n"
    );
}

/// How many transfers are refused is up to the order of the threads.
#[test]
fn the_example_of_threads_that_work_together_runs() {
    let said = said_by("examples/together.c");
    let (bank, others) = said.split_once('\n').expect("lines");
    assert!(
        bank.ends_with(" of 800 transfers, the sum is 500"),
        "{bank}"
    );
    assert_eq!(
        others,
        "reservations: 6 people have a seat each, 18 second ones were refused\n\
         job queue: 100 jobs done once each, 10 of them at the second attempt\n\
         counts: 3 categories, as in a scan\n"
    );
}

#[test]
fn segments_answer() {
    assert_eq!(said_by("tests/c/segment.c"), "segment: all good\n");
}

#[test]
fn maps_answer() {
    assert_eq!(said_by("tests/c/map.c"), "map: all good\n");
}

#[test]
fn the_example_in_the_readme_runs() {
    let readme = include_str!("../README.md");
    let example = readme.split("```c\n").nth(1).expect("an example in C");
    let example = example.split("```").next().expect("its end");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("readme.c");
    std::fs::write(&source, example).expect("to write");
    assert_eq!(said_by(source.to_str().expect("a path")), "4 bridges\n");
}

/// The second example is the inside of a `main`.
#[test]
fn the_example_of_segments_in_the_readme_runs() {
    let readme = include_str!("../README.md");
    let example = readme.split("```c\n").nth(2).expect("a second example");
    let example = example.split("```").next().expect("its end");
    let name = format!("test-readme-{}-0", std::process::id());
    let program = format!(
        "#include <fyris.h>\n#include <stdio.h>\nint main(void) {{\nfyris_error err;\n{}\n\
         return fyris_segment_unlink(\"{name}\", &err);\n}}\n",
        example.replace("weather", &name)
    );
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("readme.c");
    std::fs::write(&source, program).expect("to write");
    assert_eq!(said_by(source.to_str().expect("a path")), "");
}

#[test]
fn misuse_is_answered() {
    assert_eq!(said_by("tests/c/misuse.c"), "misuse: all good\n");
}

#[test]
fn a_thread_may_use_tables_until_it_is_gone() {
    assert_eq!(said_by("tests/c/late.c"), "late: all good\n");
}

#[test]
fn snapshots_stay_as_they_are() {
    assert_eq!(said_by("tests/c/snapshot.c"), "snapshot: all good\n");
}

#[test]
fn ranges_are_read_and_taken() {
    assert_eq!(said_by("tests/c/range.c"), "range: all good\n");
}

#[test]
fn parts_and_what_was_changed_are_answered() {
    assert_eq!(said_by("tests/c/places.c"), "places: all good\n");
}

#[test]
fn secondary_indexes_find_objects() {
    assert_eq!(said_by("tests/c/secondary.c"), "secondary: all good\n");
}

#[test]
fn transactions_are_committed_or_leave_nothing() {
    assert_eq!(said_by("tests/c/transaction.c"), "transaction: all good\n");
}

#[test]
fn batches_are_done_or_leave_nothing() {
    assert_eq!(said_by("tests/c/batch.c"), "batch: all good\n");
}

#[test]
fn subscriptions_tell_what_changes() {
    assert_eq!(said_by("tests/c/watch.c"), "watch: all good\n");
}

#[test]
fn the_example_of_watching_runs() {
    assert_eq!(
        said_by("examples/watch.c"),
        "3 orders are new, 2 are paid, after 8 changes\n"
    );
}

#[test]
fn forked_children_are_told() {
    assert_eq!(said_by("tests/c/fork.c"), "fork: all good\n");
}

#[test]
fn want_of_memory_is_told() {
    assert_eq!(said_by("tests/c/memory.c"), "memory: all good\n");
}

#[test]
fn atoms_have_a_limit_with_a_code_of_its_own() {
    assert_eq!(said_by("tests/c/atoms.c"), "atoms: all good\n");
}

/// The shared library, by `dlopen`, and the static one inside a shared library of the program's.
#[test]
fn any_thread_may_load_the_library() {
    let said = |library: &Path| said_by_with("tests/c/loaded.c", &[library]);
    let shared = built().join("libfyris_capi.so");
    assert_eq!(said(&shared), "loaded: all good\n");
    let folder = tempfile::tempdir().expect("a folder");
    let ours = folder.path().join("ours.so");
    run(Command::new("cc")
        .args(["-shared", "-Wl,-z,nodelete", "-Wl,--whole-archive"])
        .arg(built().join("libfyris_capi.a"))
        .arg("-Wl,--no-whole-archive")
        .args(SYSTEM)
        .arg("-o")
        .arg(&ours));
    assert_eq!(said(&ours), "loaded: all good\n");
}

#[test]
fn the_header_is_c_plus_plus_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("header.cc");
    let headers = "#include <fyris.h>\n#include <fyris_index.h>\n";
    std::fs::write(&source, headers).expect("to write");
    if !has_cplusplus() {
        return;
    }
    for standard in ["-std=c++11", "-std=c++17"] {
        run(Command::new("c++")
            .args([standard, "-Wall", "-Wextra", "-Werror", "-fsyntax-only"])
            .arg("-I")
            .arg(here().join("include"))
            .arg(&source));
    }
}

/// The command that the header, the examples and the README give, with all warnings.
#[test]
fn the_examples_of_indexes_hold_tables() {
    if !has_cplusplus() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let libraries = ["map", "unordered_map"].map(|name| {
        let library = folder.path().join(format!("{name}.so"));
        run(Command::new("c++")
            .args(["-std=c++17", "-O2", "-shared", "-fPIC"])
            .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
            .arg(here().join("include"))
            .arg("-o")
            .arg(&library)
            .arg(here().join(format!("examples/index/{name}.cc"))));
        library
    });
    let [map, unordered_map] = &libraries;
    assert_eq!(
        said_by_with("tests/c/library.c", &[map, unordered_map]),
        "library: all good\n"
    );
}

/// It is beside the libraries, not in them.
fn check_debug_information(lib: &Path) {
    let shared = format!("libfyris.so.{}", env!("CARGO_PKG_VERSION"));
    let sections = |file: PathBuf| {
        let output = run(Command::new("readelf").args(["-S", "-W"]).arg(file));
        String::from_utf8(output.stdout).expect("names of sections")
    };
    for library in [&*shared, "libfyris.a"] {
        let sections = sections(lib.join(library));
        assert!(!sections.contains(".debug_") && !sections.contains(".llvmbc"));
    }
    assert!(sections(lib.join(&shared)).contains(".gnu_debuglink"));
    let debug = lib.join(".debug").join(format!("{shared}.debug"));
    assert!(sections(debug).contains(".debug_line"));
}

/// What programs can see of a library is its API: `fyris_*`.
fn check_symbols(library: &Path, which: &str) {
    let output = run(Command::new("nm")
        .args([which, "--defined-only"])
        .arg(library));
    let symbols = String::from_utf8(output.stdout).expect("names of symbols");
    let names: Vec<_> = symbols
        .lines()
        .filter_map(|line| line.split(' ').nth(2))
        .collect();
    assert!(names.contains(&"fyris_store_new"));
    let others: Vec<_> = names
        .iter()
        .filter(|name| !name.starts_with("fyris_"))
        .collect();
    assert!(others.is_empty(), "{others:?}");
}

/// Each function of the header has a manual page that says what the header says.
fn check_pages(prefix: &Path) {
    let header = std::fs::read_to_string(prefix.join("include/fyris.h")).expect("the header");
    let mut pages = std::fs::read_dir(prefix.join("share/man/man3"))
        .expect("pages")
        .count();
    for line in header.lines().filter(|line| !line.starts_with([' ', '#'])) {
        let name = line
            .split('(')
            .next()
            .and_then(|line| line.rsplit([' ', '*']).next());
        let name = name.filter(|name| name.starts_with("fyris_") && line.contains('('));
        if let Some(name) = name {
            let page = prefix.join(format!("share/man/man3/{name}.3"));
            let page = std::fs::read_to_string(page).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert!(
                page.contains("Threads: ") && page.contains(".SH NAME\n"),
                "{page}"
            );
            pages -= 1;
        }
    }
    assert_eq!(pages, 0, "pages of what is not there");
}

/// A packager installs below `DESTDIR`; the files moved to where they belong are found by CMake, by both libraries.
#[test]
fn an_installed_library_is_found_by_cmake() {
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("prefix");
    let staged = folder.path().join("staged");
    run(Command::new(here().join("install.sh"))
        .arg(&prefix)
        .arg(built())
        .env("DESTDIR", &staged));
    assert!(!prefix.exists());
    std::fs::rename(
        staged.join(prefix.strip_prefix("/").expect("a path from /")),
        &prefix,
    )
    .expect("to move");
    check_symbols(&prefix.join("lib/libfyris.so.0"), "-D");
    check_pages(&prefix);
    check_symbols(&prefix.join("lib/libfyris.a"), "-g");
    if Command::new("cmake").arg("--version").output().is_err() {
        eprintln!("skipped: no cmake here");
        return;
    }
    let project = "cmake_minimum_required(VERSION 3.13)\nproject(towns C)\nfind_package(fyris 0.1 REQUIRED)\n\
                   foreach(kind fyris static)\n\
                   add_executable(with_${kind} tables.c)\n\
                   target_link_libraries(with_${kind} fyris::${kind} pthread)\n\
                   endforeach()\n";
    std::fs::write(folder.path().join("CMakeLists.txt"), project).expect("to write");
    std::fs::copy(
        here().join("examples/tables.c"),
        folder.path().join("tables.c"),
    )
    .expect("to copy");
    let in_folder = |command: &mut Command| drop(run(command.current_dir(folder.path())));
    let mut configure = Command::new("cmake");
    configure.args(["-S", ".", "-B", "build"]);
    in_folder(configure.arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())));
    in_folder(Command::new("cmake").args(["--build", "build"]));
    in_folder(&mut Command::new("build/with_fyris"));
    in_folder(&mut Command::new("build/with_static"));
    // Another minor version is another library.
    let wrong = project.replace("fyris 0.1", "fyris 0.2");
    std::fs::write(folder.path().join("CMakeLists.txt"), wrong).expect("to write");
    let refused = configure
        .current_dir(folder.path())
        .output()
        .expect("to run cmake");
    assert!(!refused.status.success());
}

#[test]
fn an_installed_library_is_found_by_pkg_config() {
    if Command::new("pkg-config")
        .arg("--version")
        .output()
        .is_err()
    {
        eprintln!("skipped: no pkg-config here");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let prefix = folder.path().join("prefix");
    run(Command::new(here().join("install.sh"))
        .arg(&prefix)
        .arg(built()));
    let pkg_config = |what: &[&str]| {
        let output = run(Command::new("pkg-config")
            .args(what)
            .arg("fyris")
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")));
        let flags = String::from_utf8(output.stdout).expect("flags");
        flags
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(pkg_config(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    check_debug_information(&prefix.join("lib"));
    assert!(prefix.join("include/fyris_index.h").exists());
    let program = folder.path().join("program");
    run(strict(&here().join("examples/tables.c"), &program)
        .args(pkg_config(&["--cflags", "--libs"]))
        .arg("-lpthread"));
    run(Command::new(&program)
        .current_dir(folder.path())
        .env("LD_LIBRARY_PATH", prefix.join("lib")));
}

//! The suites of segments, arrays and locks, run by the program itself: every case, every field, figures, and errors by
//! name.

mod program;

use std::process::Command;

use fyris_harness::segment;
use program::{bench, printed};
use serde_json::Value;

/// Returns the lines of a run that succeeds.
fn lines(line: &str) -> Vec<Value> {
    let parse = |line: &str| serde_json::from_str(line).expect("a JSON object a line");
    printed(line).lines().map(parse).collect()
}

/// Asserts that a line has the fields of the vocabulary.
fn check_fields(line: &Value) {
    for field in ["suite", "case", "subject", "keys"] {
        assert!(line[field].is_string(), "{field} in {line}");
    }
    for field in ["threads", "n", "runs"] {
        assert!(line[field].is_u64(), "{field} in {line}");
    }
    for field in ["ns_per_op", "min", "max"] {
        assert!(line[field].is_f64(), "{field} in {line}");
    }
}

#[test]
fn a_quick_run_of_segment_measures_every_case() {
    let lines = lines("segment --quick --runs 1 --json");
    let other_cpu = std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    let wanted = segment::CASES
        .iter()
        .filter(|c| other_cpu || !c.setting.cross);
    let names: Vec<&str> = wanted.map(|case| case.name).collect();
    let found: Vec<&str> = lines.iter().filter_map(|l| l["case"].as_str()).collect();
    assert_eq!(found, names);
    for line in &lines {
        check_fields(line);
        assert_eq!(line["suite"], "segment");
        assert!(
            line["in_m"].is_number() && line["in_c"].is_number(),
            "{line}"
        );
    }
    assert_eq!(lines[0]["in_m"], 1.0);
    assert_eq!(lines[1]["in_c"], 1.0);
}

#[test]
fn arrays_are_shared_and_no_write_is_lost() {
    let lines = lines("array_mix --quick --runs 1 --case 74:25:1/5K,25:74:1/50K --json");
    let of = |subject: &str| lines.iter().filter(|l| l["subject"] == subject).count();
    assert_eq!(
        (of("harness"), of("fyris"), of("fyris_declared")),
        (2, 2, 2)
    );
    for line in &lines {
        check_fields(line);
        assert!(line["ops_per_s"].as_f64() > Some(0.0), "{line}");
        let alone = line["subject"] == "harness";
        assert_eq!(line["threads"], if alone { 1 } else { 2 });
    }
}

#[test]
fn locks_are_timed_and_their_waits() {
    let lines = lines("rwlock --quick --runs 1 --threads 1,3 --case r90/0,writer/short --json");
    for lock in [
        "fair",
        "groups",
        "pointers",
        "std::RwLock",
        "parking_lot",
        "ShardedLock",
        "pthread readers first",
        "pthread writers first",
    ] {
        let of_lock = lines.iter().filter(|l| l["subject"] == lock);
        assert_eq!(of_lock.count(), 4, "{lock}");
    }
    for line in &lines {
        check_fields(line);
        assert!(line["ops_per_s"].as_f64() > Some(0.0), "{line}");
        if line["case"] == "writer/short" {
            assert!(line["write_p99_ns"].is_number(), "{line}");
            assert_eq!(line["read_max_ns"].is_number(), line["threads"] == 3);
        }
    }
}

#[test]
fn the_phases_of_ets_bench_run_over_every_index_and_the_options_that_it_has_use_for() {
    let lines = lines("ets_bench --quick --runs 1 --range 3,14 --ops 2000 --threads 1,3 --json");
    for index in fyris_harness::judy::store().index_names() {
        let of = |n: u64, options: &str| {
            let is = |l: &&Value| l["index"] == index && l["n"] == n && l["options"] == options;
            lines.iter().filter(is).count()
        };
        // Insertion and deletion of four objects are not timed.
        assert_eq!((of(8, "no"), of(1 << 14, "no")), (2 * 5, 2 * 7), "{index}");
        let groups = if ["hash", "ordered"].contains(&index) {
            0
        } else {
            10
        };
        let lock_free = ["michael_hash", "split_ordered", "skip_list", "relaxed_avl"];
        assert_eq!(
            of(8, "r"),
            if lock_free.contains(&index) {
                0
            } else {
                groups
            },
            "{index}"
        );
        assert_eq!(
            of(8, "w"),
            if index == "linear_hash" { 10 } else { 0 },
            "{index}"
        );
    }
    for line in &lines {
        check_fields(line);
        assert_eq!(
            (&line["suite"], &line["object"]),
            (&"ets_bench".into(), &"{K}".into())
        );
        assert!(line["ops_per_s"].as_f64() > Some(0.0), "{line}");
    }
}

#[test]
fn ets_bench_knows_counts_of_locks_and_groups_and_larger_objects() {
    let lines = lines(
        "ets_bench --quick --runs 1 --range 5 --ops 500 --threads 1 --case mix50 --options locks=16,groups=4 \
         --object pair,large --json",
    );
    let found: Vec<(&str, &str)> = lines
        .iter()
        .filter(|line| line["index"] == "linear_hash")
        .filter_map(|line| Some((line["object"].as_str()?, line["options"].as_str()?)))
        .collect();
    let (pair, large) = ("{K, V}", "{K, 32 integers}");
    let both = ["locks=16", "groups=4"];
    let expected = [pair, large].map(|object| both.map(|options| (object, options)));
    assert_eq!(found, expected.concat());
    assert!(
        lines
            .iter()
            .any(|line| line["index"] == "avl" && line["options"] == "groups=4")
    );
}

#[test]
fn ets_bench_measures_the_index_of_a_shared_library() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let library = folder.path().join("unordered_map.so");
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../capi");
    let compiled = Command::new("c++")
        .args(["-std=c++17", "-O2", "-shared", "-fPIC", "-I"])
        .arg(format!("{root}/include"))
        .arg("-o")
        .arg(&library)
        .arg(format!("{root}/examples/index/unordered_map.cc"))
        .status();
    if !compiled.is_ok_and(|status| status.success()) {
        eprintln!("left out: no C++ compiler");
        return;
    }
    let lines = lines(&format!(
        "ets_bench --quick --runs 1 --range 5 --ops 500 --threads 2 --case mix50 --subject library --json --library {}",
        library.display()
    ));
    let found: Vec<_> = lines
        .iter()
        .map(|line| (&line["index"], &line["options"]))
        .collect();
    assert_eq!(found, [(&"library".into(), &"no".into())]);
}

#[test]
fn the_programs_of_the_judy_study_run_over_tables_of_either_type() {
    let lines = lines("judy --quick --runs 1 --entries 900 --subject hash,ordered --json");
    for (index, object) in [("hash", "set"), ("ordered", "ordered_set")] {
        for n in [700, 900] {
            let is = |line: &&Value| {
                line["index"] == index && line["object"] == object && line["n"] == n
            };
            let timed: Vec<&Value> = lines
                .iter()
                .filter(is)
                .filter(|line| line["case"] != "bytes")
                .collect();
            assert_eq!(timed.len(), 7, "{index}, {n} keys");
            timed.into_iter().for_each(check_fields);
        }
        let bytes = lines
            .iter()
            .find(|line| line["case"] == "bytes" && line["index"] == index);
        let bytes = bytes.expect("memory is measured")["bytes_per_entry"].as_f64();
        assert!(
            bytes.is_some_and(|bytes| bytes > 7.0 && bytes < 500.0),
            "{bytes:?}"
        );
    }
}

#[test]
fn snapshots_are_timed_on_both_kinds_of_table() {
    let lines = lines("snapshot --quick --runs 1 --json");
    for index in ["set", "ordered_set"] {
        assert!(lines.iter().any(|line| line["index"] == index), "{index}");
    }
    lines.iter().for_each(check_fields);
}

#[test]
fn figures_say_what_they_are() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().display();
    let commands = [
        format!("segment --quick --runs 1 --case fault_hot,update_page_sparse --plot {dir}"),
        format!("array_mix --quick --runs 1 --case 74:25:1/5K --plot {dir}"),
        format!("rwlock --quick --runs 1 --case r99/0 --plot {dir}"),
        format!(
            "ets_bench --quick --runs 1 --ops 999 --range 3,4 --case mix80 --subject ordered,avl --plot {dir}"
        ),
        format!("judy --quick --runs 1 --entries 700 --subject hash,ordered --plot {dir}"),
    ];
    for command in &commands {
        assert!(bench(command).status.success(), "{command}");
    }
    for (file, words) in [
        (
            "segment-table3",
            ["Table 3 of the 2013 paper", "CONVERSION (2013)"],
        ),
        (
            "array_mix-74-25-1-2",
            ["Figure 2 of the 2013 paper", "fyris_declared"],
        ),
        (
            "array_mix-74-25-1-2-query",
            ["Figure 4 of the 2013 paper", "elements of 8 bytes"],
        ),
        ("rwlock-r99-0", ["99 % reads", "pointers"]),
        ("ets_bench-mix80-2", ["Figure 6 of the 2014 paper", "avl r"]),
        ("ets_bench-mix80", ["2 threads", "ordered no"]),
        (
            "judy-figure-06-insert_sequential",
            ["Figure 6 of the 2003 paper", "fyris ordered ordered_set"],
        ),
        (
            "judy-figure-12-delete",
            ["Figure 12 of the 2003 paper", "% of hash"],
        ),
    ] {
        let text = std::fs::read_to_string(folder.path().join(format!("{file}.svg")));
        let text = text.expect("a figure");
        assert!(text.starts_with("<svg"), "{file}");
        words
            .iter()
            .for_each(|word| assert!(text.contains(word), "{word} in {file}"));
    }
}

#[test]
fn what_a_suite_does_not_know_is_named() {
    for (line, word) in [
        ("segment --case hit", "no case `hit` in `segment`"),
        ("segment --subject one_lock", "no subject `one_lock`"),
        ("segment --clock cpu", "wall clock"),
        ("array_mix --case 74:25:1/3M", "no case `74:25:1/3M`"),
        ("array_mix --subject nobody", "no subject `nobody`"),
        ("array_mix --child nonsense", "makes no sense"),
        ("judy --case hit", "no case `hit` in `judy`"),
        ("judy --subject nobody", "each index by its name"),
        ("judy --child nonsense", "no table `nonsense`"),
        ("ets_bench --case hit", "no case `hit` in `ets_bench`"),
        ("ets_bench --subject nobody", "no subject `nobody`"),
        (
            "ets_bench --options x",
            "no options `x`; there are: no, r, w, r+w, auto",
        ),
        (
            "ets_bench --object x",
            "no object `x`; there are: key, pair, large",
        ),
        (
            "ets_bench --options w --subject hash",
            "has use for these options",
        ),
        (
            "ets_bench --range 3 --threads 9",
            "9 threads with keys below 2^3",
        ),
        ("ets_bench --library /nowhere/map.so", "/nowhere/map.so"),
        ("rwlock --object key", "--object is for `ets_bench`"),
        ("rwlock --case r33", "no case `r33` in `rwlock`"),
        ("rwlock --subject nobody", "no subject `nobody`"),
        ("rwlock --child nonsense", "no processes"),
    ] {
        let output = bench(line);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(errors.contains(word), "{line}: {errors}");
    }
}

//! The page of the papers' experiments, from lines of tiny runs in the place of those of the plan.

mod program;

use std::path::Path;

use program::{bench, printed};

/// A tiny run of the same kind for each step of the plan.
const TINY: [(&str, &str); 11] = [
    (
        "judy-small",
        "judy --subject hash,avl,judysl,judyesl,judyeh,ets --entries 900 --runs 2",
    ),
    (
        "judy-bytes",
        "judy --subject hash,judysl --entries 900 --case bytes",
    ),
    (
        "rwlock",
        "rwlock --quick --runs 2 --threads 1,2 --case r100/0,r99/0,r90/0,r50/0,writer/0",
    ),
    (
        "ets-1",
        "ets_bench --range 14 --ops 900 --runs 2 --threads 1",
    ),
    (
        "ets-2",
        "ets_bench --range 14 --ops 900 --runs 2 --threads 2",
    ),
    (
        "ets-groups",
        "ets_bench --range 4 --ops 900 --runs 2 --threads 2 --subject linear_hash,avl \
         --options groups=1,groups=2,groups=4,groups=64",
    ),
    (
        "ets-locks",
        "ets_bench --range 4 --ops 900 --runs 2 --threads 2 --options locks=1,locks=64,locks=1024",
    ),
    (
        "ets-ranges",
        "ets_bench --range 3,5 --ops 900 --runs 2 --case mix80",
    ),
    ("segment", "segment --quick --runs 1"),
    (
        "array-sizes",
        "array_mix --quick --runs 1 --case 74:25:1/5K,74:25:1/50K,74:25:1/2M",
    ),
    (
        "array-workers",
        "array_mix --quick --runs 1 --threads 1,3 --case 74:25:1/2M",
    ),
];

/// Returns the command line of each step, by its name.
fn plan(out: &Path) -> Vec<(String, String)> {
    let text = printed(&format!("papers --quick --plan --out {}", out.display()));
    let lines: Vec<&str> = text.lines().collect();
    let steps = lines.chunks_exact(2).map(|pair| {
        let name = pair[0].split_whitespace().find(|word| word.ends_with(':'));
        let name = name.expect("a name").trim_end_matches(':');
        (name.to_owned(), pair[1].trim().to_owned())
    });
    steps.collect()
}

#[test]
fn the_page_shows_each_figure_and_what_was_measured_is_not_measured_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path();
    std::fs::create_dir(out.join("raw")).expect("a folder");
    let plan = plan(out);
    assert_eq!(plan.len(), TINY.len(), "{plan:?}");
    for (name, command) in &plan {
        let tiny = TINY.iter().find(|(step, _)| step == name);
        let lines = printed(&format!("{} --json", tiny.expect("a known step").1));
        let about = serde_json::json!({"command": command, "date": "2026-01-01 00:00", "cpus": 2, "others": 0.1});
        let about = serde_json::json!({ "about": about });
        let file = out.join(format!("raw/{name}.jsonl"));
        std::fs::write(file, format!("{about}\n{lines}")).expect("a file");
    }
    // Nothing is left to measure.
    let text = printed(&format!("papers --quick --out {}", out.display()));
    assert!(text.contains("0 s to go"), "{text}");
    let read = |file: &str| std::fs::read_to_string(out.join(file)).expect("a file");
    let (html, markdown) = (read("index.html"), read("index.md"));
    for page in [&html, &markdown] {
        for words in [
            "2003",
            "2010",
            "2013",
            "2014",
            "Made by a quick run",
            "No counterpart",
        ] {
            assert!(page.contains(words), "{words}");
        }
        for words in [
            "NaN",
            "inf ",
            "not measured yet",
            "Not measured yet",
            "busy",
        ] {
            assert!(!page.contains(words), "{words} in {page}");
        }
    }
    let drawings: Vec<&str> = html
        .split("<img src=\"")
        .skip(1)
        .filter_map(|text| text.split('"').next())
        .collect();
    assert!(drawings.len() > 35, "{drawings:?}");
    for drawing in drawings {
        let text = read(drawing);
        assert!(
            text.starts_with("<svg") && text.contains("<text"),
            "{drawing}"
        );
        assert!(markdown.contains(&format!("]({drawing})")), "{drawing}");
    }
    // A step whose options have changed is measured again.
    let file = out.join("raw/segment.jsonl");
    let other = read("raw/segment.jsonl").replacen("--runs 3", "--runs 2", 1);
    std::fs::write(file, other).expect("a file");
    let text = printed(&format!("papers --quick --plan --out {}", out.display()));
    assert!(
        text.contains("10 s  segment:") && text.contains("done  rwlock:"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_done_is_refused_beforehand() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let out = folder.path().join("new");
    for (options, words) in [
        ("--page", "no lines in"),
        (
            "--compare /nowhere/fyris-compare",
            "no file /nowhere/fyris-compare",
        ),
        ("--library /nowhere/map.so", "no file /nowhere/map.so"),
        ("--full", "cannot be used with"),
    ] {
        let output = bench(&format!("papers --quick --out {} {options}", out.display()));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success(), "{options}");
        assert!(errors.contains(words), "{options}: {errors}");
    }
    assert!(!out.exists());
}

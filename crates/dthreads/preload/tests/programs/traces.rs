//! Records of runs: where calls came from, which regions they were in, and which bytes two threads wrote at once.

use fyris_dthreads_tools::record::Operation;

use super::*;

fn run_with(options: &Options, name: &str, arguments: &[&str], n: u64) -> Option<Run> {
    let program = bench()?.join(name);
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let (program, noise) = (program.as_os_str(), Noise::of(n));
    let run = run_once(program, &arguments, options, None, noise, PATIENCE);
    Some(run.unwrap_or_else(|error| panic!("{name}: {error}")))
}

#[test]
fn calls_are_named_by_where_they_are_made() {
    let Some(run) = run_with(&Options::default(), "reverse_index", &["2", "5"], 0) else {
        return;
    };
    let modules = run.report.modules();
    let mut locks = 0;
    for point in run.report.points() {
        let caller = modules.call(point.site);
        match point.operation {
            Operation::Lock | Operation::Unlock => {
                assert!(caller.starts_with("work+"), "{point:?}: {caller}");
                locks += 1;
            }
            Operation::Create | Operation::Join => {
                let known = caller.starts_with("main+") || caller.starts_with("run");
                assert!(known, "{point:?}: {caller}");
            }
            Operation::End | Operation::Exit | Operation::Heap => assert_eq!(point.site, 0),
            _ => (),
        }
    }
    assert_eq!(locks, 20);
}

#[test]
fn points_tell_the_pages_that_they_committed() {
    let Some(run) = run_with(&Options::default(), "histogram", &["4", "1"], 1) else {
        return;
    };
    let mut pages = [0; 5];
    for point in run.report.points() {
        pages[point.thread] += point.pages;
    }
    let published: [u64; 5] = std::array::from_fn(|slot| run.report.row(slot)[6]);
    assert_eq!(pages, published);
    assert!(pages[1..].iter().all(|&pages| pages > 0), "{pages:?}");
}

#[test]
fn regions_have_names_and_are_atomic() {
    let Some(run) = run_with(&Options::default(), "regions", &["4", "30"], 3) else {
        return;
    };
    let output = String::from_utf8(run.output).expect("text");
    assert!(output.ends_with(", 0 wrong\n"), "{output}");
    let points: Vec<_> = run.report.points().collect();
    let named = |name: &str| {
        let here = points
            .iter()
            .filter(|p| run.report.region(p.region) == name);
        here.count()
    };
    // An atomic region has four points; the last words two, with the lock.
    assert_eq!((named("moving"), named("last words")), (4 * 30 * 4, 4 * 2));
    agree("regions", &["4", "20"]);
}

/// Returns the conflicts of a run: variable, first and second place.
fn conflicts(name: &str, arguments: &[&str], n: u64) -> Option<Vec<(String, String, String)>> {
    let options = Options {
        conflicts: true,
        ..Options::default()
    };
    let run = run_with(&options, name, arguments, n)?;
    assert!(run.status.success(), "{name}: {}", run.status);
    let modules = run.report.modules();
    let (_, rows) = run.report.conflicts();
    let named = rows.iter().map(|row| {
        assert_ne!(row.threads[0], row.threads[1]);
        let [first, second] = row.sites.map(|site| modules.call(site));
        (modules.name(row.address), first, second)
    });
    Some(named.collect())
}

#[test]
fn races_are_listed_with_variable_threads_and_places() {
    let Some(found) = conflicts("racy_counter", &["4", "60"], 0) else {
        return;
    };
    assert!(!found.is_empty());
    for (variable, first, second) in &found {
        assert!(variable.starts_with("counter"), "{found:?}");
        let ends = |place: &String| place.starts_with("work+") || place == "the library itself";
        assert!(ends(first) && ends(second), "{found:?}");
    }
    assert_eq!(conflicts("racy_counter", &["4", "60"], 5), Some(found));
    for (name, variables) in [
        ("random_draws", &["state"][..]),
        ("racy_queue", &["head", "tail", "items", "sum"][..]),
        ("annealing", &["place"][..]),
    ] {
        let found = conflicts(name, &["4", "100"], 1).expect("runs here");
        assert!(!found.is_empty(), "{name}");
        for (variable, ..) in &found {
            let known = variables.iter().any(|known| variable.starts_with(known));
            assert!(known, "{name}: {variable}");
        }
    }
}

#[test]
fn threads_that_compute_for_long_are_skipped() {
    let handed_out_at_once = |options: &Options| -> Option<usize> {
        let run = run_with(options, "uneven", &["2", "60"], 0)?;
        assert!(run.status.success(), "{}", run.status);
        let points: Vec<_> = run.report.points().collect();
        let turns = points.chunk_by(|one, next| one.thread == next.thread);
        let by_main = turns.filter(|turn| turn[0].thread == 0);
        let blocks = by_main.map(|turn| {
            let signals = turn.iter().filter(|p| p.operation == Operation::Signal);
            signals.count()
        });
        Some(blocks.max().unwrap_or(0))
    };
    let Some(most) = handed_out_at_once(&Options::default()) else {
        return;
    };
    assert!(most > 8, "{most} blocks while others compute");
    let fence = Options {
        fence: true,
        ..Options::default()
    };
    let most = handed_out_at_once(&fence).expect("runs here");
    assert!(most < 4, "{most} blocks with a fence");
}

#[test]
fn programs_without_races_have_no_conflicts() {
    for (name, rounds) in [
        ("pipeline", "60"),
        ("reverse_index", "60"),
        ("kmeans", "5"),
        ("barriers", "20"),
        ("calls", "1"),
        ("streamcluster", "20"),
        ("uneven", "20"),
    ] {
        let found = conflicts(name, &["4", rounds], 2);
        assert!(found.unwrap_or_default().is_empty(), "{name}");
    }
}

#[test]
fn longer_turns_are_the_same_in_every_run() {
    let options = Options {
        turn: 16,
        ..Options::default()
    };
    for (name, rounds) in [
        ("pipeline", "100"),
        ("reverse_index", "100"),
        ("kmeans", "5"),
        ("barriers", "20"),
        ("racy_counter", "100"),
        ("annealing", "20"),
    ] {
        let Some(first) = run_with(&options, name, &["4", rounds], 0) else {
            return;
        };
        for n in 1..runs().max(3) {
            let other = run_with(&options, name, &["4", rounds], n).expect("runs here");
            assert!(other.status.success(), "{name}: {}", other.status);
            assert_eq!(other.output, first.output, "{name}");
            assert_eq!(other.report.hash(), first.report.hash(), "{name}");
        }
        let turns = |run: &Run| (0..8).map(|slot| run.report.row(slot)[5]).sum::<u64>();
        let usual = run_with(&Options::default(), name, &["4", rounds], 0).expect("runs here");
        let (turns, usual) = (turns(&first), turns(&usual));
        // Threads that only lock and unlock fill each turn.
        let most = if name == "reverse_index" {
            usual / 4
        } else {
            usual
        };
        assert!(turns <= most, "{name}: {turns} turns instead of {usual}");
    }
}

#[test]
fn a_fence_changes_times_only() {
    let options = Options {
        fence: true,
        ..Options::default()
    };
    for (name, rounds) in [
        ("pipeline", "40"),
        ("reverse_index", "40"),
        ("kmeans", "5"),
        ("barriers", "20"),
        ("outside", "10"),
    ] {
        let Some(plain) = run_with(&Options::default(), name, &["4", rounds], 0) else {
            return;
        };
        for n in 0..runs().min(20) {
            let fenced = run_with(&options, name, &["4", rounds], n).expect("runs here");
            assert!(fenced.status.success(), "{name}: {}", fenced.status);
            assert_eq!(fenced.output, plain.output, "{name}");
            let same = fenced.report.hash() == plain.report.hash();
            assert!(same || name == "outside", "{name}");
        }
    }
}

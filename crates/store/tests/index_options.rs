//! The options that choose the locks and counters of an index, and what an index reports.
#![allow(missing_docs)]

mod common;

use std::ops::Deref;

use common::{int, tuple};
use fyris::index::{Figure, Figures};
use fyris::{BucketLocks, Error, InfoValue, Options, Owner, Table, Term, WriteConcurrency};

fn parse(text: &str) -> fyris::Result<Options> {
    Options::parse(&Term::parse(text).expect("a term"), |_| None)
}

/// A table and its owner, with whom it would go.
struct Owned(Table, #[allow(dead_code, reason = "held")] Owner);

impl Deref for Owned {
    type Target = Table;

    fn deref(&self) -> &Table {
        &self.0
    }
}

fn table(options: &str) -> Owned {
    let owner = common::store().owner();
    let table = owner.new_table("t", &parse(options).expect("options"));
    Owned(table.expect("a table"), owner)
}

fn word(figures: &Figures, name: &str) -> Option<&'static str> {
    match figures.get(name)? {
        Figure::Word(word) => Some(word),
        other => panic!("{name}: {other:?}"),
    }
}

fn count(figures: &Figures, name: &str) -> Option<u64> {
    match figures.get(name)? {
        Figure::Count(count) => Some(count),
        other => panic!("{name}: {other:?}"),
    }
}

/// Table 1 of the 2013 paper.
#[test]
fn options_choose_the_locks_that_ets_has() {
    let (normal, freq_r) = (Some("normal"), Some("freq_r"));
    for (index, options, lock, bucket_lock, locks) in [
        ("linear_hash", "", normal, None, 0),
        ("linear_hash", "{read_concurrency,true}", freq_r, None, 0),
        (
            "linear_hash",
            "{write_concurrency,true}",
            freq_r,
            normal,
            64,
        ),
        (
            "linear_hash",
            "{write_concurrency,true},{read_concurrency,true}",
            freq_r,
            freq_r,
            64,
        ),
        (
            "linear_hash",
            "{write_concurrency,auto}",
            freq_r,
            normal,
            64,
        ),
        (
            "linear_hash",
            "{write_concurrency,{debug_hash_fixed_number_of_locks,5}}",
            freq_r,
            normal,
            8,
        ),
        ("linear_hash", "{bucket_locks,1}", freq_r, normal, 1),
        (
            "linear_hash",
            "{bucket_locks,32768},{write_concurrency,true}",
            freq_r,
            normal,
            1024,
        ),
        (
            "linear_hash",
            "{bucket_locks,auto},{read_concurrency,true}",
            freq_r,
            freq_r,
            64,
        ),
        ("avl", "ordered_set", normal, None, 0),
        (
            "avl",
            "ordered_set,{write_concurrency,true}",
            normal,
            None,
            0,
        ),
        ("ca_avl", "ordered_set", Some("exclusive"), None, 0),
        (
            "ca_avl",
            "ordered_set,{read_concurrency,true},{write_concurrency,true}",
            freq_r,
            None,
            0,
        ),
        (
            "treap",
            "ordered_set,{read_concurrency,true}",
            freq_r,
            None,
            0,
        ),
        (
            "judyesl",
            "ordered_set,{read_concurrency,true}",
            freq_r,
            None,
            0,
        ),
        (
            "btree",
            "{read_concurrency,true},{write_concurrency,auto}",
            freq_r,
            None,
            0,
        ),
    ] {
        let separator = if options.is_empty() { "" } else { "," };
        let options = format!("[public,{{index,{index}}}{separator}{options}]");
        let table = table(&options);
        (0..100).for_each(|i| table.insert(&tuple([int(i)])).expect("inserts"));
        let figures = table.figures().expect("it lives");
        assert_eq!(word(&figures, "lock"), lock, "{options}");
        assert_eq!(word(&figures, "bucket_lock"), bucket_lock, "{options}");
        let found = count(&figures, "bucket_locks").unwrap_or(0);
        // With tiny constants an adapting table begins with fewer, and fewer of many are made at once.
        if cfg!(fyris_small) && locks > 0 && (options.contains("auto") || locks > 64) {
            assert!(
                (1..=locks).contains(&found),
                "{found} of {locks}: {options}"
            );
        } else {
            assert_eq!(found, locks, "{options}");
        }
        assert_eq!(count(&figures, "conflicts"), Some(0), "{options}");
    }
}

#[test]
fn reader_groups_are_as_many_as_asked_for() {
    for (asked, made) in [(1, 1), (5, 8), (64, 64)] {
        for index in ["linear_hash", "avl", "ca_treap"] {
            let options = format!(
                "[public,{{index,{index}}},{{read_concurrency,true}},{{reader_groups,{asked}}}]"
            );
            let figures = table(&options).figures().expect("it lives");
            assert_eq!(count(&figures, "reader_groups"), Some(made), "{options}");
        }
    }
}

/// Counters in places of threads take memory from the beginning, or never.
#[test]
fn counters_are_as_asked_for() {
    let memory = |counters: &str, objects: i64| {
        let table = table(&format!("[public,{{index,linear_hash}}{counters}]"));
        (0..objects).for_each(|i| table.insert(&tuple([int(i)])).expect("inserts"));
        table.memory()
    };
    let (adapts, spread, word) = (
        "",
        ",{decentralized_counters,true}",
        ",{decentralized_counters,false}",
    );
    assert!(memory(spread, 1) > memory(adapts, 1));
    assert_eq!(memory(word, 1), memory(adapts, 1));
    assert!(memory(word, 400) < memory(adapts, 400));
}

#[test]
fn wrong_values_are_refused_and_right_ones_named() {
    for (option, says) in [
        (
            "{bucket_locks,3}",
            "a power of two from 1 to 32768, or auto",
        ),
        (
            "{bucket_locks,0}",
            "a power of two from 1 to 32768, or auto",
        ),
        (
            "{bucket_locks,65536}",
            "a power of two from 1 to 32768, or auto",
        ),
        (
            "{bucket_locks,true}",
            "a power of two from 1 to 32768, or auto",
        ),
        ("{reader_groups,0}", "a number from 1 to 64"),
        ("{reader_groups,65}", "a number from 1 to 64"),
        ("{write_concurrency,yes}", "true, false or auto"),
        ("{read_concurrency,auto}", "true or false"),
        ("{keypos,0}", "a position from 1"),
        ("{nothing,1}", "{bucket_locks,_}"),
        ("nothing", "named_table"),
    ] {
        let error = parse(&format!("[{option}]")).expect_err("refused");
        let text = error.to_string();
        assert!(matches!(error, Error::BadOption(_)), "{text}");
        assert!(text.contains(option) && text.contains(says), "{text}");
    }
    let owner = common::store().owner();
    for wrong in [
        Options::set().bucket_locks(BucketLocks::Fixed(3)),
        Options::set().bucket_locks(BucketLocks::Fixed(1 << 16)),
        Options::set().reader_groups(0),
        Options::set().reader_groups(65),
    ] {
        let error = owner.new_table("t", &wrong).expect_err("refused");
        assert!(matches!(error, Error::BadOption(_)), "{error}");
    }
}

#[test]
fn numbers_of_locks_that_are_not_there_are_refused() {
    let owner = common::store().owner();
    let made = |options: &str| owner.new_table("t", &parse(options).expect("options"));
    for (index, option) in [
        ("hash", "bucket_locks"),
        ("hash", "reader_groups"),
        ("split_ordered", "bucket_locks"),
        ("skip_list", "reader_groups"),
        ("avl", "bucket_locks"),
        ("ca_treap", "bucket_locks"),
    ] {
        let error = made(&format!("[{{index,{index}}},{{{option},4}}]")).expect_err("refused");
        let says = format!("{{{option},_}}: the index {index} has no {option}");
        assert!(
            matches!(&error, Error::BadOption(text) if *text == says),
            "{error}"
        );
    }
    assert!(made("[{reader_groups,4}]").is_err(), "that of the type");
    for index in ["avl", "btree", "judyeh", "ca_avl", "linear_hash"] {
        made(&format!("[{{index,{index}}},{{reader_groups,4}}]")).expect("has them");
    }
    made("[{index,linear_hash},{bucket_locks,4}]").expect("has them");
}

/// The same from Rust as from a term.
#[test]
fn options_of_rust_are_those_of_terms() {
    let options = Options::set()
        .bucket_locks(BucketLocks::Fixed(8))
        .reader_groups(2)
        .decentralized_counters(true)
        .write_concurrency(WriteConcurrency::Auto);
    let text = "[{bucket_locks,8},{reader_groups,2},{decentralized_counters,true},{write_concurrency,auto}]";
    assert_eq!(parse(text), Ok(options));
    let debug = "{write_concurrency,{debug_hash_fixed_number_of_locks,256}}";
    let off = format!("[{debug},{{write_concurrency,false}}]");
    assert_eq!(
        parse(&off),
        parse("[{write_concurrency,false}]"),
        "later wins"
    );
    let auto = Options::set().bucket_locks(BucketLocks::Auto);
    assert_eq!(parse("[{bucket_locks,4},{bucket_locks,auto}]"), Ok(auto));
}

#[test]
fn a_table_on_a_chosen_index_tells_of_it() {
    let names = |table: &Table| -> Vec<_> {
        let items = table.info_items().expect("it lives");
        items.into_iter().map(|(name, _)| name).collect()
    };
    let default = table("[]");
    assert!(!names(&default).contains(&"index_info"));
    for (index, figure) in [
        ("linear_hash", "bucket_locks"),
        ("split_ordered", "max_length"),
        ("michael_hash", "expected_deviation"),
        ("avl", "depth"),
        ("relaxed_avl", "depth"),
        ("skip_list", "levels"),
        ("btree", "lock"),
        ("judyeh", "lock"),
        ("ca_avl", "contention_splits"),
        ("ca_treap", "routing_layers"),
    ] {
        let table = table(&format!("[{{index,{index}}}]"));
        (0..500).for_each(|i| table.insert(&tuple([int(i)])).expect("inserts"));
        assert!(names(&table).ends_with(&["index", "index_info"]), "{index}");
        let Ok(Some(InfoValue::Term(Term::List(pairs)))) = table.info_item("index_info") else {
            panic!("{index} reports nothing")
        };
        let Some((_, InfoValue::Term(Term::List(brief)))) = table
            .info_items()
            .and_then(|items| items.into_iter().last())
        else {
            panic!("{index} reports nothing")
        };
        assert!(
            brief.iter().all(|pair| pairs.contains(pair)),
            "{index}: {brief:?}"
        );
        let has = |name: &str| {
            pairs
                .iter()
                .any(|pair| matches!(pair, Term::Tuple(pair) if pair[0] == Term::atom(name)))
        };
        assert!(has(figure), "{index}: {pairs:?}");
    }
    let empty = |options: &str| table(options).figures().expect("it lives");
    assert!(empty("[]").get("max_length").is_some());
    for figure in ["base_nodes", "routing_layers"] {
        assert_eq!(count(&empty("[ordered_set]"), figure), Some(0), "{figure}");
    }
}

#[test]
fn lengths_of_buckets_are_those_of_the_objects() {
    for index in ["hash", "linear_hash", "split_ordered", "michael_hash"] {
        let table = table(&format!("[{{index,{index}}}]"));
        (0..3000).for_each(|i| table.insert(&tuple([int(i)])).expect("inserts"));
        let figures = table.figures().expect("it lives");
        let buckets = count(&figures, "buckets").expect("buckets");
        let Some(Figure::Real(mean)) = figures.get("mean_length") else {
            panic!("{index} has no mean")
        };
        assert!(
            (mean * buckets as f64 - 3000.0).abs() < 0.001,
            "{index}: {mean}"
        );
        assert!(count(&figures, "max_length") >= Some(mean as u64));
    }
}

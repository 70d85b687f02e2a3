//! Terms of a million levels, on the stack of a small thread: every path of the crate takes them.

mod common;

use std::hash::{BuildHasher, RandomState};

use common::deep::{LEVELS, on_a_small_stack, on_a_stack, towers};
use fyris_term::key::{self, KeyBuf};
use fyris_term::text::{PrintOptions, print_p};
use fyris_term::{Term, etf, value};

#[test]
fn are_made_copied_and_dropped() {
    on_a_small_stack(|| {
        for tower in towers(LEVELS) {
            let copy = tower.clone();
            drop(tower);
            drop(copy);
        }
    });
}

#[test]
fn are_compared_and_hashed() {
    on_a_small_stack(|| {
        let hasher = RandomState::new();
        for (tower, other) in towers(LEVELS).zip(towers(LEVELS + 100)) {
            let copy = tower.clone();
            assert!(tower == copy && tower != other);
            assert!(tower.cmp_order(&copy).is_eq() && tower.eq_order(&copy));
            assert!(tower.cmp_exact(&other).is_ne() && tower.cmp_order(&other).is_ne());
            assert_eq!(tower.cmp_exact(&other), other.cmp_exact(&tower).reverse());
            assert_eq!(hasher.hash_one(&tower), hasher.hash_one(&copy));
        }
    });
}

#[test]
fn are_written_as_text_and_read() {
    on_a_small_stack(|| {
        for tower in towers(LEVELS) {
            let text = tower.to_string();
            assert!(tower.brief(60).len() <= 60);
            // Closures are written, and not read.
            assert!(text.contains("#Fun") || Term::parse(&text) == Ok(tower));
        }
    });
}

#[test]
fn are_laid_out() {
    on_a_stack(512 << 10, || {
        for tower in towers(LEVELS).take(3) {
            let text = print_p(&tower, &PrintOptions::default());
            assert!(Term::parse(&text) == Ok(tower));
        }
    });
}

#[test]
fn are_written_in_the_external_format_and_read() {
    on_a_small_stack(|| {
        for tower in towers(LEVELS) {
            let bytes = etf::encode(&tower);
            assert!(etf::decode(&bytes) == Ok(tower));
        }
    });
}

#[test]
fn are_keys() {
    on_a_small_stack(|| {
        for (tower, other) in towers(LEVELS).zip(towers(LEVELS + 100)) {
            let (key, higher) = (KeyBuf::encode(&tower), KeyBuf::encode(&other));
            assert_eq!(key.order().cmp(higher.order()), tower.cmp_order(&other));
            let tail = &key.stored()[key.order_len()..];
            assert!(key::decode(key.order(), tail).as_ref() == Ok(&tower));
        }
    });
}

#[test]
fn are_values() {
    on_a_small_stack(|| {
        for tower in towers(LEVELS) {
            let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
            value::encode(&tower, &mut bytes, &mut blobs);
            assert!(value::equal(&bytes, &blobs, &bytes.clone(), &blobs));
            let mut behind = &bytes[..];
            assert!(value::skip(&mut behind).is_ok() && behind.is_empty());
            assert!(value::decode(&mut &bytes[..], &blobs) == Ok(tower));
        }
    });
}

//! The order of terms, against what OTP's own sort made of them.

mod common;

use std::cmp::Ordering;

use common::Next;

#[test]
fn the_sorted_corpus_is_in_order() {
    let corpus = common::sorted_corpus();
    assert!(corpus.len() >= 6000, "{} terms", corpus.len());
    for two in corpus.windows(2) {
        let ((a, next), (b, _)) = (&two[0], &two[1]);
        let order = if *next == Next::Less {
            Ordering::Less
        } else {
            Ordering::Equal
        };
        assert_eq!(a.cmp_order(b), order, "{next:?}: {a} and {b}");
        assert_eq!(b.cmp_order(a), order.reverse(), "{next:?}: {b} and {a}");
        assert_eq!(a == b, *next == Next::Exact, "{next:?}: {a} =:= {b}");
        assert_eq!(
            a.cmp_exact(b) == Ordering::Equal,
            *next == Next::Exact,
            "{next:?}: {a}, {b}"
        );
    }
}

/// Not only neighbours: the rank of a term (how many runs of equal ones lie below it) orders any two.
#[test]
fn any_two_terms_of_the_corpus_compare_as_their_ranks() {
    let corpus = common::sorted_corpus();
    let mut rank = 0;
    let ranked: Vec<_> = corpus
        .iter()
        .map(|(term, next)| {
            let own = rank;
            rank += usize::from(*next == Next::Less);
            (own, term)
        })
        .collect();
    for step in [2, 3, 7, 50, 301, 1999, 4001] {
        for (a, b) in ranked.iter().zip(ranked.iter().skip(step)) {
            assert_eq!(a.1.cmp_order(b.1), a.0.cmp(&b.0), "{} and {}", a.1, b.1);
        }
    }
}

#[test]
fn the_keys_of_maps_are_in_exact_order() {
    for keys in common::exact_orders() {
        for two in keys.windows(2) {
            assert_eq!(
                two[0].cmp_exact(&two[1]),
                Ordering::Less,
                "{} and {}",
                two[0],
                two[1]
            );
            assert_eq!(
                two[1].cmp_exact(&two[0]),
                Ordering::Greater,
                "{} and {}",
                two[1],
                two[0]
            );
        }
    }
}

//! The parts of a key, told apart without decoding them.

use super::{escape, tag};

/// Returns the bytes behind the first term of some order bytes, if that is of a simple kind: a number of up to eight
/// bytes, an atom, a bitstring, a pid, a reference, or a tuple, list or map of these; else `None`. O(length of the
/// term).
pub fn behind(order: &[u8]) -> Option<&[u8]> {
    let (mut left, mut terms) = (order, 1usize);
    while terms > 0 {
        let (&tag, content) = left.split_first()?;
        terms -= 1;
        left = match tag {
            tag::NEG_TINY | tag::POS_TINY => content.get(8..)?,
            tag::ZERO => content,
            tag::TUPLE_0..tag::TUPLE_LONG => {
                terms += usize::from(tag - tag::TUPLE_0);
                content
            }
            tag::CONS => {
                terms += 2;
                content
            }
            tag::MAP => {
                let (size, parts) = begin_map(left)?;
                terms = size.checked_mul(2)?.checked_add(terms)?;
                parts
            }
            tag::EXACT_FLOAT => content.get(8..)?,
            tag::NIL => content,
            tag::ATOM => behind_name(content)?,
            tag::BITS => behind_name(content)?.get(1..)?,
            // Two words, and a name behind a tag of its own.
            tag::PID => behind_node(content.get(9..)?)?,
            tag::REFERENCE => behind_words(behind_node(content)?)?,
            _ if (tag::POS_0 + 1..=tag::POS_0 + 8).contains(&tag) => {
                behind_fraction(content.get(usize::from(tag - tag::POS_0)..)?)?
            }
            _ if (tag::NEG_0 - 8..=tag::NEG_0).contains(&tag) => {
                behind_fraction(content.get(usize::from(tag::NEG_0 - tag)..)?)?
            }
            _ => return None,
        };
    }
    Some(left)
}

fn behind_name(bytes: &[u8]) -> Option<&[u8]> {
    let (_, taken) = escape::read(bytes)?;
    bytes.get(taken..)
}

/// Returns the bytes behind a node: a name with a zero of its own, and a creation.
fn behind_node(bytes: &[u8]) -> Option<&[u8]> {
    behind_name(bytes)?.get(5..)
}

/// Returns the bytes behind the words of a reference: a count, and as many words.
fn behind_words(bytes: &[u8]) -> Option<&[u8]> {
    let (&count, words) = bytes.split_first()?;
    let is_short = count < 0xF0;
    is_short.then(|| words.get(4 * usize::from(count)..))?
}

fn behind_fraction(bytes: &[u8]) -> Option<&[u8]> {
    let Some(fraction) = bytes.strip_prefix(&[tag::FRACTION]) else {
        return Some(bytes);
    };
    let last = fraction.iter().position(|byte| byte & 1 == 0)?;
    fraction.get(last + 1..)
}

/// Returns the bytes behind `term`, the order bytes of a whole term, if `order` begins with those of a term that is
/// `==` to it.
#[inline]
pub fn strip<'a>(order: &'a [u8], term: &[u8]) -> Option<&'a [u8]> {
    let behind = order.strip_prefix(term)?;
    // Keys that begin alike may go on: a number with a fraction, a name behind a zero byte.
    const _: () = assert!(tag::FRACTION == tag::ESCAPED);
    let goes_on = behind.first() == Some(&tag::FRACTION);
    (!goes_on || cfg!(fyris_mutant = "key_part_goes_on")).then_some(behind)
}

/// The most elements of a tuple that [`begin_tuple`] knows.
pub const MOST_ELEMENTS: usize = tag::TUPLE_SHORT;

/// Returns the bytes behind the beginning of a tuple of `arity` elements, at most [`MOST_ELEMENTS`].
#[inline]
pub fn begin_tuple(order: &[u8], arity: usize) -> Option<&[u8]> {
    let (&tag, elements) = order.split_first()?;
    (arity <= tag::TUPLE_SHORT && usize::from(tag) == usize::from(tag::TUPLE_0) + arity)
        .then_some(elements)
}

/// Returns the bytes behind the beginning of a list cell: its element, and its tail.
#[inline]
pub fn begin_cell(order: &[u8]) -> Option<&[u8]> {
    order.strip_prefix(&[tag::CONS])
}

/// Returns the number of pairs of a map, and the bytes behind its beginning: its keys, ascending in exact order, and
/// then their values.
#[inline]
pub fn begin_map(order: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, behind) = order.strip_prefix(&[tag::MAP])?.split_first()?;
    let (size, parts) = behind.split_at_checked(usize::from(first.saturating_sub(0xF0)))?;
    let size = match size {
        [] => usize::from(first),
        size => size.iter().try_fold(0usize, |n, &byte| {
            Some(n.checked_mul(256)? | usize::from(byte))
        })?,
    };
    Some((size, parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::KeyBuf;
    use crate::{Term, arbitrary};
    use proptest::prelude::*;

    const TERMS: &[&str] = &[
        "0",
        "1",
        "-1",
        "255",
        "256",
        "-257",
        "9223372036854775807",
        "-9223372036854775808",
        "2.5",
        "-2.5",
        "0.5",
        "-0.5",
        "1.0",
        "1.0e15",
        "3.141592653589793",
        "a",
        "'a\\0b'",
        "'\\0'",
        "''",
        "<<>>",
        "<<0>>",
        "<<0,255,0>>",
        "<<\"a long one, of many bytes\">>",
        "<<5:3>>",
        "{}",
        "[]",
        "{a}",
        "{a,1,{b,[c|d]}}",
        "[1,2,3]",
        "\"string\"",
        "[[[]],{[]}]",
        "[a|2.5]",
        "{2.5,2,-2.5}",
        "#{}",
        "#{a => 1,{b,-0.0} => #{2.5 => 1.5},2.5 => [x]}",
    ];

    fn order(text: &str) -> Vec<u8> {
        KeyBuf::encode(&Term::parse(text).expect(text))
            .order()
            .to_vec()
    }

    #[test]
    fn what_is_behind_a_term_is_found() {
        for (a, b) in TERMS.iter().flat_map(|a| TERMS.iter().map(move |b| (a, b))) {
            let (first, second) = (order(a), order(b));
            let both = [&first[..], &second[..]].concat();
            assert_eq!(behind(&both), Some(&second[..]), "{a} {b}");
            for cut in 0..first.len() {
                let left = behind(&first[..cut]);
                assert!(left.is_none_or(|left| left.len() < cut), "{a} up to {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_found_behind_any_term_is_there(a in arbitrary::term(), b in arbitrary::term()) {
            let (a, b) = (KeyBuf::encode(&a), KeyBuf::encode(&b));
            let both = [a.order(), b.order()].concat();
            prop_assert!(behind(&both).is_none_or(|left| left == b.order()));
            prop_assert_eq!(strip(&both, a.order()), Some(b.order()));
        }
    }

    #[test]
    fn a_term_is_stripped_only_off_itself() {
        for (a, b) in TERMS.iter().flat_map(|a| TERMS.iter().map(move |b| (a, b))) {
            let (first, second) = (order(a), order(b));
            for next in ["", "a", "2.5", "[]"] {
                let behind = if next.is_empty() {
                    Vec::new()
                } else {
                    order(next)
                };
                let both = [&first[..], &behind[..]].concat();
                let stripped = strip(&both, &second);
                assert_eq!(
                    stripped,
                    (first == second).then_some(&behind[..]),
                    "{b} off {a} and {next}"
                );
            }
        }
    }
}

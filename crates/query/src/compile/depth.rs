//! How deep a term is, found without recursion.

use fyris_term::{Fun, MAX_DEPTH, Term};

/// Whether the term has more levels than [`MAX_DEPTH`]: tuples, lists, maps and closures around a term, as
/// [`MAX_DEPTH`] counts them. O(size), without recursion.
pub(crate) fn is_too_deep(term: &Term) -> bool {
    if is_leaf(term) {
        return false;
    }
    let mut waiting = vec![(term, 1)];
    while let Some((term, depth)) = waiting.pop() {
        if depth > MAX_DEPTH {
            return true;
        }
        let inner = |part| (part, depth + 1);
        let wait = |part: &&Term| !is_leaf(part);
        match term {
            Term::Tuple(parts) | Term::List(parts) => {
                waiting.extend(parts.iter().filter(wait).map(inner));
            }
            Term::Improper(parts, tail) => {
                waiting.extend(parts.iter().chain([&**tail]).filter(wait).map(inner));
            }
            Term::Map(map) => {
                let parts = map.pairs().iter().flat_map(|(key, value)| [key, value]);
                waiting.extend(parts.filter(wait).map(inner));
            }
            Term::Fun(fun) => {
                if let Fun::Local(fun) = &**fun {
                    waiting.extend(fun.free.iter().filter(wait).map(inner));
                }
            }
            _ => {}
        }
    }
    false
}

fn is_leaf(term: &Term) -> bool {
    !matches!(
        term,
        Term::Tuple(_) | Term::List(_) | Term::Improper(..) | Term::Map(_) | Term::Fun(_)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> Term {
        (0..levels).fold(Term::Int(1), |inner, level| match level % 3 {
            0 => Term::Tuple(vec![inner]),
            1 => Term::List(vec![inner]),
            _ => Term::improper(vec![Term::Int(0)], Term::Tuple(vec![inner])),
        })
    }

    #[test]
    fn levels_are_counted() {
        // Of three steps, one makes two levels.
        let levels = MAX_DEPTH / 4 * 3;
        assert!(!is_too_deep(&nested(levels)));
        assert!(is_too_deep(&nested(levels + 1)));
        assert!(!is_too_deep(&Term::Int(1)));
    }
}

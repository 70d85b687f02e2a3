//! Limits the depth of specifications.

use fyris_term::{Fun, MAX_DEPTH, Term};

use crate::compile::error::{Place, SpecError};

/// Refuses a clause with a part that is nested too deep.
pub(super) fn shallow(clause: &Term, n: usize) -> Result<(), SpecError> {
    let too_deep = |place| Err(SpecError::SystemLimit(place));
    let Term::Tuple(parts) = clause else {
        return if is_too_deep(clause) {
            too_deep(Place::Clause(n))
        } else {
            Ok(())
        };
    };
    let [head, guards, body] = &parts[..] else {
        return if is_too_deep(clause) {
            too_deep(Place::Clause(n))
        } else {
            Ok(())
        };
    };
    if is_too_deep(head) {
        return too_deep(Place::Head(n));
    }
    let lists = [
        (
            guards,
            Place::Guards(n),
            Place::Guard as fn(usize, usize) -> Place,
        ),
        (body, Place::Body(n), Place::Expression),
    ];
    for (list, whole, part) in lists {
        let Term::List(expressions) = list else {
            if is_too_deep(list) {
                return too_deep(whole);
            }
            continue;
        };
        if let Some(deep) = expressions.iter().position(is_too_deep) {
            return too_deep(part(n, deep + 1));
        }
    }
    Ok(())
}

/// Returns whether the term has more levels than [`MAX_DEPTH`]: tuples, lists, maps and closures around a term, as
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
            0 => Term::tuple(vec![inner]),
            1 => Term::list(vec![inner]),
            _ => Term::improper(vec![Term::Int(0)], Term::tuple(vec![inner])),
        })
    }

    #[test]
    fn levels_are_counted() {
        // One step in three makes two levels.
        let levels = MAX_DEPTH / 4 * 3;
        assert!(!is_too_deep(&nested(levels)));
        assert!(is_too_deep(&nested(levels + 1)));
        assert!(!is_too_deep(&Term::Int(1)));
    }
}

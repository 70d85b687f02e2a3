//! A specification over a list of terms.
//!
//! The parts of a term lie anywhere in memory, and looking at them is mostly waiting for memory. So they are prefetched
//! some terms ahead, in two steps: the elements of a tuple, and, when those are near, the memory that they point to.

use fyris_index::prefetch;
use fyris_query::MatchSpec;
use fyris_term::Term;

use super::work::machine_or_default;

/// Terms between asking for elements, asking for what is behind them, and looking at them: memory is that slow.
const AHEAD: usize = 16;

/// Elements of a tuple that are asked for: most objects have no more, and most patterns look no further.
const ELEMENTS: usize = 4;

/// Terms after which room is made for the values of all the others, by the share that had one.
const SAMPLE: usize = 1024;

/// `match_spec_run/2`: returns the values of the terms that match, in their order.
///
/// ```
/// use fyris::{MatchSpec, match_spec_run, term};
///
/// let spec = MatchSpec::new(&term!([{{:"$1", 3}, [], [:"$1"]}]))?;
/// let list = [term!({1, 3}), term!({2, 4}), term!(:atom)]; // any terms
/// assert_eq!(match_spec_run(&list, &spec), [term!(1)]);
/// # Ok::<(), fyris::SpecError>(())
/// ```
pub fn match_spec_run(list: &[Term], spec: &MatchSpec) -> Vec<Term> {
    let machine = machine_or_default(&None);
    let mut values = Vec::new();
    for (i, term) in list.iter().enumerate() {
        if let Some(far) = list.get(i + 2 * AHEAD) {
            prefetch_elements(far);
        }
        if let Some(next) = list.get(i + AHEAD) {
            prefetch_contents(next);
        }
        if i == SAMPLE {
            let share = values.len() as f64 / SAMPLE as f64;
            values.reserve((share * 1.1 * (list.len() - i) as f64) as usize);
        }
        spec.run_term_into(term, machine, &mut values);
    }
    values
}

/// Returns the first elements of a term.
fn elements(term: &Term) -> &[Term] {
    match term {
        Term::Tuple(elements) => &elements[..elements.len().min(ELEMENTS)],
        _ => &[],
    }
}

fn prefetch_elements(term: &Term) {
    let elements = elements(term).as_ptr_range();
    prefetch::read(elements.start);
    // They may begin on one line and end on the next.
    prefetch::read(elements.end.cast::<u8>().wrapping_sub(1));
}

fn prefetch_contents(term: &Term) {
    for element in elements(term) {
        match element {
            // The line of its reference count, which a copy of it changes.
            Term::Binary(content) => {
                prefetch::read(content.as_ptr().cast::<usize>().wrapping_sub(2))
            }
            Term::Tuple(parts) | Term::List(parts) => prefetch::read(parts.as_ptr()),
            _ => {}
        }
    }
}

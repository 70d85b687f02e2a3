//! Terms in error messages.
//!
//! An error may name a term of any size, and may be made while a slot is protected. So no more of the term is written
//! than the message shows: O(1), however large it is.

use std::fmt::{self, Write};

use fyris_term::Term;

/// Bytes of a term that a message shows.
const MOST: usize = 60;
/// Integers of more bits are not written out: their digits take time quadratic in their number.
const MOST_BITS: u64 = 256;

/// Text that takes no more than it has room for.
struct Brief(String);

impl Write for Brief {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.push_str(&text[..text.floor_char_boundary(2 * MOST)]);
        // An error ends the writing.
        if self.0.len() > MOST {
            Err(fmt::Error)
        } else {
            Ok(())
        }
    }
}

/// A term for an error message: its beginning only.
pub(crate) fn brief(term: &Term) -> String {
    if let Term::Big(value) = term
        && value.bits() > MOST_BITS
    {
        return format!("an integer of {} bits", value.bits());
    }
    let mut text = Brief(String::new());
    // It ends early if there is no room for all of it.
    let _ = write!(text, "{term}");
    let mut text = text.0;
    if text.len() > MOST {
        text.truncate(text.floor_char_boundary(MOST - 3));
        text.push_str("...");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The whole term was written, then cut: a list of ten million elements took a second and 100 MB for a message of
    /// 60 bytes, with the slot of its key protected meanwhile.
    #[test]
    fn no_more_is_written_than_is_shown() {
        let long = Term::List(vec![Term::atom("element"); 10_000_000]);
        let start = std::time::Instant::now();
        for _ in 0..100 {
            let text = brief(&long);
            assert!(text.starts_with("[element,") && text.ends_with("...") && text.len() == MOST);
        }
        assert!(start.elapsed().as_secs() < 1);
    }

    #[test]
    fn the_rest_is_cut_between_characters() {
        assert_eq!(brief(&Term::Int(5)), "5");
        let name = Term::atom(&"é".repeat(100));
        assert!(brief(&name).len() <= MOST);
        let big = Term::integer(num_bigint::BigInt::from(1) << 4_000_000_u32);
        assert_eq!(brief(&big), "an integer of 4000001 bits");
    }
}

//! The beginning of a term, for messages.
//!
//! A message may name a term of any size, and may be made while something is locked. So no more of the term is written
//! than the message shows, and an integer of very many digits, which take time quadratic in their number, is not
//! written out wherever in the term it is: the time is bounded by what is shown.

use std::fmt::{self, Write};

use super::write::{Style, write_term};
use crate::Term;

/// Integers of more bits are not written out.
pub(super) const MOST_BITS: u64 = 256;

/// Text that takes no more than it has room for.
struct Cut {
    text: String,
    /// Bytes that are shown.
    most: usize,
}

impl Write for Cut {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // One byte more than fits says that there is more.
        let room = self.most + 1 - self.text.len();
        if text.len() < room {
            self.text.push_str(text);
            return Ok(());
        }
        self.text.push_str(&text[..text.ceil_char_boundary(room)]);
        // An error ends the writing.
        Err(fmt::Error)
    }
}

impl Term {
    /// Returns the beginning of the term's text, for a message: at most `most` bytes, with `...` at the end if that is
    /// not all of it; `an integer of N bits` stands for one of more than 256. O(`most`), whatever the term.
    ///
    /// ```
    /// # use fyris_term::Term;
    /// let list = Term::list(vec![Term::atom("element"); 1_000_000]);
    /// assert_eq!(list.brief(20), "[element,element,...");
    /// ```
    pub fn brief(&self, most: usize) -> String {
        let mut cut = Cut {
            text: String::new(),
            most,
        };
        let style = Style {
            unicode: true,
            most_bits: Some(MOST_BITS),
            text_up_to: most,
            message: true,
        };
        let whole = write_term(&mut cut, self, style).is_ok();
        let mut text = cut.text;
        if !whole {
            text.truncate(text.floor_char_boundary(most.saturating_sub(3)));
            text.push_str("...");
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use num_bigint::BigInt;

    use super::super::OWN_NODE;
    use super::*;

    fn big(bits: u64) -> Term {
        Term::integer(BigInt::from(1) << (bits - 1))
    }

    /// Written out, each of these takes minutes.
    #[test]
    fn no_integer_is_written_out_at_length_wherever_it_is() {
        let big = big(64_000_000);
        let name = "an integer of 64000000 bits";
        assert_eq!(big.brief(60), name);
        let pair = Term::tuple(vec![Term::Int(1), big.clone()]);
        assert_eq!(pair.brief(60), format!("{{1,{name}}}"));
        let list = Term::list(vec![big.clone(); 10]);
        assert_eq!(list.brief(60), format!("[{name},{name},..."));
        let map: crate::Map = [(big.clone(), big.clone())].into_iter().collect();
        let nested = Term::Improper(vec![Term::Map(map)].into(), Box::new(big));
        assert_eq!(nested.brief(200), format!("[#{{{name} => {name}}}|{name}]"));
    }

    #[test]
    fn the_own_node_is_hidden_in_messages_alone() {
        let pid = Term::Pid(Box::new(crate::Pid {
            node: crate::Atom::new(OWN_NODE).expect("a short name"),
            id: 7,
            serial: 0,
            creation: 3,
        }));
        assert_eq!(pid.brief(60), "<0.7.0>");
        assert_eq!(Term::parse(&pid.to_string()), Ok(pid));
    }

    #[test]
    fn strings_are_written_as_strings() {
        let option = Term::tuple(vec![Term::atom("index"), Term::string("avl")]);
        assert_eq!(option.brief(60), "{index,\"avl\"}");
        let long = Term::string(&"a".repeat(1_000_000));
        assert_eq!(long.brief(12), "[97,97,97...");
        assert_eq!(
            Term::list(vec![Term::Int(49), Term::Int(50)]).brief(60),
            "[49,50]"
        );
    }

    #[test]
    fn small_integers_are_written_out() {
        assert_eq!(
            big(256).brief(100),
            (BigInt::from(1) << 255_u32).to_string()
        );
        assert_eq!(big(257).brief(100), "an integer of 257 bits");
    }

    #[test]
    fn what_fits_is_whole_and_the_rest_is_cut_between_characters() {
        let list = |n| Term::list(vec![Term::Int(1); n]);
        assert_eq!(list(4).brief(9), "[1,1,1,1]");
        assert_eq!(list(5).brief(9), "[1,1,1...");
        let name = Term::atom(&"é".repeat(100));
        for most in 3..20 {
            let text = name.brief(most);
            assert!(text.len() <= most && text.ends_with("..."), "{text}");
        }
    }
}

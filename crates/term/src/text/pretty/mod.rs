//! `io:format("~p")`: strings shown as strings, long terms broken into lines.
//!
//! # The layout of terms in Erlang
//!
//! The term is first measured: every part knows how wide it is on one line ([`node`]). A part that fits stands on one
//! line. One that does not is broken at its commas ([`layout`]):
//!
//! - Plain text (numbers, atoms, strings) fills lines; anything with brackets starts a line of its own once its
//!   container is broken.
//! - A tuple whose first element is an atom is indented behind that tag; unless that would push some inner part beyond
//!   the middle of the line: then tags of more than 4 (or, failing that, 1) characters stand on a line of their own.
//! - A map's value that does not fit behind its key goes below it.
//! - `<<1,2,3>>` breaks behind any comma.
//!
//! The golden files in `golden/text` compare with OTP 25 at several widths, columns and depths.
//!
//! Differences from OTP: pairs of a map are always in key order (OTP shows maps of more than 32 keys in hash order);
//! parts nested deeper than 200 levels are written on one line, as [`print_w`] does; the width of a string is its
//! number of code points (OTP counts grapheme clusters); identifiers of other nodes print their node's name.

mod layout;
mod node;

use layout::{At, Layout};

use super::print_w;
use crate::Term;

/// Options of [`print_p`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrintOptions {
    /// Characters on a line (80).
    pub line_width: usize,
    /// The column the text starts in, from 1.
    pub column: usize,
    /// Show characters beyond Latin-1, and UTF-8 in binaries (yes; `~tp`). Otherwise they are escaped (`~p`).
    pub unicode: bool,
    /// The depth to show (all): each level and each element beside it uses one up; the parts beyond are printed as
    /// `...`.
    pub depth: Option<usize>,
}

impl Default for PrintOptions {
    fn default() -> PrintOptions {
        PrintOptions {
            line_width: 80,
            column: 1,
            unicode: true,
            depth: None,
        }
    }
}

/// Returns the layout of `io:format("~tp")` (or `~p`, see [`PrintOptions::unicode`]). O(size of the text).
///
/// ```
/// use fyris_term::{Term, text};
///
/// let term = Term::parse("{user, \"Ada\", [<<\"mathematics\">>, 1815]}").unwrap();
/// let narrow = text::PrintOptions { line_width: 24, ..Default::default() };
/// assert_eq!(text::print_p(&term, &narrow), "{user,\"Ada\",\n      [<<\"mathematics\">>,\n       1815]}");
/// ```
pub fn print_p(term: &Term, options: &PrintOptions) -> String {
    if options.depth == Some(0) {
        return "...".into();
    }
    if matches!(term, Term::Int(_) | Term::Big(_) | Term::Float(_)) {
        return print_w(term);
    }
    let node = node::measure(term, 0, options.depth, options);
    let (line, col) = (options.line_width as i64, options.column.max(1) as i64);
    let mut layout = Layout {
        line,
        most: node.width,
        tag_indent: -1,
        out: None,
    };
    let start = At {
        col,
        indent: col - 1,
        closing: 0,
        written: 0,
    };
    if line == 0 || node.width < line - col {
        let mut text = String::with_capacity(node.width.max(0) as usize);
        // Writing to a string cannot fail.
        let _ = node::write_flat(&mut text, &node);
        return text;
    }
    layout.tag_indent = tag_indent(&node, start, &mut layout);
    layout.out = Some(String::new());
    // Only trials can fail.
    let _ = layout.node(&node, start);
    layout.out.unwrap_or_default()
}

/// Returns the widest indentation behind tags that does not push anything too far right: unlimited, 4, or 1.
fn tag_indent(node: &node::Node, start: At, layout: &mut Layout) -> i64 {
    for candidate in [-1, 4] {
        layout.tag_indent = candidate;
        if layout.node(node, start).is_ok() {
            return candidate;
        }
    }
    1
}

//! Erlang's syntax: whatever parses prints as text that parses to the same term.

#![no_main]

use fyris_term::{Term, text};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &str| if let Ok(term) = Term::parse(input) {
    let printed = text::print_w(&term);
    match Term::parse(&printed) {
        Ok(again) => assert_eq!(again, term, "{printed}"),
        // Pids, references and funs print as people know them, which is no syntax.
        Err(_) => assert!(printed.contains(['<', '#']), "{printed}"),
    }
});

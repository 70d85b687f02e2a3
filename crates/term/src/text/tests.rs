use proptest::prelude::*;

use super::*;
use crate::arbitrary::{term, term_without_closures};

fn w(text: &str) -> String {
    print_w(&Term::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")))
}

fn error(text: &str) -> String {
    Term::parse(text).expect_err(text).to_string()
}

#[test]
fn every_syntax_is_read() {
    let cases = [
        ("1_000_000", "1000000"),
        ("16#Ff", "255"),
        ("36#zz", "1295"),
        ("-16#8000000000000000", "-9223372036854775808"),
        ("- 7", "-7"),
        ("$a", "97"),
        (
            "[$\\n,$\\s,$ ,$\\x{65E5},$\\101,$\\^A,$\\\\]",
            "[10,32,32,26085,65,1,92]",
        ),
        ("1.5e3", "1.5e3"),
        ("12.5E+2", "1250.0"),
        ("1_0.2_5", "10.25"),
        ("-0.0", "-0.0"),
        ("'it\\'s \\x41\\e'", "'it\\'s A\\e'"),
        ("''", "''"),
        ("'abc'", "abc"),
        ("\"ab\" % comment\n \"c\"", "[97,98,99]"),
        ("\"\"", "[]"),
        ("[1,2|[3]]", "[1,2,3]"),
        ("[1|{}]", "[1|{}]"),
        ("#{b => 1, a=>#{}, b => 2}", "#{a => #{},b => 2}"),
        ("fun lists : map / 2", "fun lists:map/2"),
        ("fun 'a b':'C'/0.", "fun 'a b':'C'/0"),
        ("<<\"abc\">>", "<<97,98,99>>"),
        ("<<1,2:4>>", "<<1,2:4>>"),
        ("<< \"å\"/utf8, $z , -1 >>", "<<195,165,122,255>>"),
        (
            "<<258:16/little,1.5:32/float,1:3,0:5,\"a\":16>>",
            "<<2,1,63,192,0,0,32,0,97>>",
        ),
        ("<<\"𝄞\"/utf16-little>>", "<<52,216,30,221>>"),
        ("<<16#1FF:12/little>>", "<<255,1:4>>"),
        ("<<\"ab\" \"c\":16>>", "<<0,97,0,98,0,99>>"),
        ("<<36893488147419103232/float>>", "<<68,0,0,0,0,0,0,0>>"),
        ("<<1:2/unit:8-big-unsigned-big>>", "<<0,1>>"),
        ("<0.1.2>", "<0.1.2>"),
        ("<'a@b.c'/3.1.2>", "<'a@b.c'/3.1.2>"),
        (
            "#Port<0.18446744073709551615>",
            "#Port<0.18446744073709551615>",
        ),
        ("#Ref<0.1.2.3>", "#Ref<0.1.2.3>"),
        ("maybe", "maybe"),
        ("{ ok , % yes\n [ ] }", "{ok,[]}"),
    ];
    for (text, printed) in cases {
        assert_eq!(w(text), printed, "{text}");
    }
}

#[test]
fn errors_say_where_and_what() {
    let cases = [
        (
            "{a,\n b c}",
            "line 2, column 4: expected `,` or `}`, found `c`",
        ),
        ("[1,,2]", "line 1, column 4: expected a term, found `,`"),
        ("{1,}", "line 1, column 4: expected a term, found `}`"),
        (
            "#{a = b}",
            "line 1, column 5: expected `=>` behind the key, found `=`",
        ),
        (
            "Foo",
            "line 1, column 1: a variable, which has no value here (an atom starts with a small letter or is quoted)",
        ),
        (
            "end",
            "line 1, column 1: a reserved word: as an atom it needs quotes, like 'end'",
        ),
        (
            "1 2",
            "line 1, column 3: expected the end of the text, found `2`",
        ),
        (
            "12ab",
            "line 1, column 1: a number that goes on with letters: `12ab`",
        ),
        (
            "37#0",
            "line 1, column 1: a base that is not from 2 to 36: `37`",
        ),
        (
            "1.0e999",
            "line 1, column 1: a float beyond what 64 bits hold: `1.0e999`",
        ),
        (
            "<5827.1.2>",
            "line 1, column 2: an identifier of another node: Erlang prints a number there that means something inside that node only; write the node's name, as in <'n@host'.1.2>",
        ),
        (
            "#Fun<m.1.2>",
            "line 1, column 1: a closure, which cannot be read from text (funs like `fun lists:map/2` can)",
        ),
        (
            "\"\\x{D800}\"",
            "line 1, column 2: wrong escape sequence: no Unicode character has this number (surrogates cannot be written in a text)",
        ),
        (
            "é日",
            "line 1, column 2: expected the end of the text, found `日`",
        ),
        ("fun a:b/256", "line 1, column 9: an arity above 255"),
        (
            "<<1.5>>",
            "line 1, column 3: a float in a segment without `/float`",
        ),
        (
            "",
            "line 1, column 1: expected a term, found the end of the text",
        ),
        (
            "#Ref<0>",
            "line 1, column 7: a reference has one to five numbers behind its node",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(error(text), message, "{text}");
    }
}

#[test]
fn any_depth_is_read() {
    let nest = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(Term::parse(&nest(1_000_000)).is_ok());
    assert!(
        Term::parse(&"{".repeat(1_000_000))
            .unwrap_err()
            .is_incomplete()
    );
}

#[test]
fn a_prefix_ends_with_the_term() {
    assert_eq!(parse_prefix(" {a} . rest").unwrap().1, 4);
    assert_eq!(parse_prefix("\"a\"  x").unwrap().1, 3);
    assert_eq!(parse_prefix("12.").unwrap(), (Term::Int(12), 2));
}

proptest! {
    #[test]
    fn printed_terms_read_back(term in term_without_closures()) {
        prop_assert_eq!(&Term::parse(&print_w(&term)).unwrap(), &term);
    }

    #[test]
    fn the_beginning_of_a_term_is_incomplete_or_a_term(term in term_without_closures(), cut in any::<prop::sample::Index>()) {
        let text = print_w(&term);
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        if let Err(error) = Term::parse(&text[..cut]) {
            prop_assert!(error.is_incomplete(), "{}: {}", &text[..cut], error);
        }
    }

    #[test]
    fn damaged_text_is_no_panic(term in term(), at in any::<prop::sample::Index>(), with in any::<char>()) {
        let mut chars: Vec<char> = print_w(&term).chars().collect();
        let at = at.index(chars.len());
        chars[at] = with;
        let text: String = chars.into_iter().collect();
        if let Err(error) = Term::parse(&text) {
            prop_assert!(error.offset <= text.len());
        }
    }

    #[test]
    fn any_text_is_no_panic(text in "[\\[\\]{}<>#$'\"\\\\,.|a-fA-F0-9xe_ /:=-]{0,40}") {
        let _ = Term::parse(&text);
    }
}

/// Segments that Erlang refuses were read as something: a unit without a size, two types of one kind.
#[test]
fn segments_contradict_themselves() {
    for text in [
        "<<1/integer-unit:8>>",
        "<<1:8/little-big>>",
        "<<1.5:64/integer-float>>",
        "<<1:2/unit:8-unit:4>>",
        "<<1/signed-unsigned>>",
    ] {
        let error = Term::parse(text).expect_err(text);
        assert!(matches!(error.kind, ParseErrorKind::Refused(_)), "{error}");
    }
}

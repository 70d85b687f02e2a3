//! The output of real OTP 25 beside ours. `golden/text.escript` makes the data.

use std::io::Read;

use fyris_term::Term;
use fyris_term::text::{PrintOptions, print_p, print_w};

struct Case {
    options: PrintOptions,
    written: String,
    laid_out: String,
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/text.gz");
    let mut text = String::new();
    let file = std::fs::File::open(path).expect("the golden file ships");
    flate2::read::GzDecoder::new(file)
        .read_to_string(&mut text)
        .expect("a text in UTF-8");
    let blocks = format!("\n{text}");
    blocks.split("\n% ").skip(1).map(case).collect()
}

fn case(block: &str) -> Case {
    let mut parts = block.splitn(3, '\n');
    let header: Vec<&str> = parts.next().expect("a header").split(' ').collect();
    let number = |i: usize| header[i].parse::<usize>().expect("a number");
    let options = PrintOptions {
        line_width: number(0),
        column: number(1),
        unicode: header[2] == "unicode",
        depth: Some(number(3)).filter(|&depth| depth > 0),
    };
    let written = parts.next().expect("the term").to_string();
    let laid_out = parts
        .next()
        .expect("the layout")
        .trim_end_matches('\n')
        .to_string();
    Case {
        options,
        written,
        laid_out,
    }
}

#[test]
fn terms_print_on_one_line_as_in_otp() {
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        let term = Term::parse(&case.written).unwrap_or_else(|e| panic!("{}: {e}", case.written));
        let printed = print_w(&term);
        if printed != case.written {
            wrong.push(format!("{}\n{printed}", case.written));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong[0]
    );
    assert!(cases.len() >= 2000);
}

#[test]
fn terms_are_laid_out_as_in_otp() {
    let mut wrong = Vec::new();
    let cases = cases();
    for case in &cases {
        let term = Term::parse(&case.written).unwrap_or_else(|e| panic!("{}: {e}", case.written));
        let laid_out = print_p(&term, &case.options);
        if laid_out != case.laid_out {
            wrong.push(format!(
                "{:?}\n--- OTP\n{}\n--- Fyris\n{laid_out}",
                case.options, case.laid_out
            ));
        }
    }
    wrong.sort_by_key(String::len);
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong[..wrong.len().min(5)].join("\n\n")
    );
}

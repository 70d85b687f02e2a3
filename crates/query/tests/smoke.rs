//! A first look: compile, run, test.
use fyris_query::{Machine, test_ms};
use fyris_term::Term;

#[test]
fn a_spec_runs() {
    let t = |s: &str| Term::parse(s).unwrap();
    let run = |o: &str, ms: &str| test_ms(&t(o), &t(ms), &Machine::default());
    assert_eq!(
        run("{1,2}", "[{{'$1','$2'},[{'>','$2',1}],[{{'$2','$1'}}]}]"),
        Ok(Some(t("{2,1}")))
    );
    assert_eq!(
        run("{1,2}", "[{{'$1','$2'},[{'>','$2',2}],['$$']}]"),
        Ok(None)
    );
}

//! The behaviour that the documentation of match specifications promises for tables, clause by clause.
//!
//! Every expectation was tried on OTP 25.2.3, but for the functions that came later.

use fyris_query::{Machine, MatchSpec, Place, ProblemKind, SpecError, Wanted, test_ms};
use fyris_term::Term;

fn term(text: &str) -> Term {
    Term::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Returns the value that the specification gives the subject; `no_match` if no clause matches.
fn run(spec: &str, subject: &str) -> String {
    match test_ms(&term(subject), &term(spec), &Machine::default()) {
        Ok(Some(value)) => value.to_string(),
        Ok(None) => "no_match".into(),
        Err(error) => panic!("{spec}: {error}"),
    }
}

/// Checks each case: specification, subject, result.
fn check(cases: &[(&str, &str, &str)]) {
    for (spec, subject, expected) in cases {
        assert_eq!(run(spec, subject), *expected, "{spec} of {subject}");
    }
}

/// Checks each case: an expression and its value in the body of `{{'$1','$2'}, [], [Expression]}` over `{1, a}`.
fn values(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        let spec = format!("[{{{{'$1','$2'}},[],[{expression}]}}]");
        assert_eq!(run(&spec, "{1,a}"), *expected, "{expression}");
    }
}

#[test]
fn heads_match_exactly() {
    check(&[
        ("[{{1},[],[true]}]", "{1}", "true"),
        ("[{{1},[],[true]}]", "{1.0}", "no_match"),
        ("[{{'$1','$1'},[],['$1']}]", "{1,1}", "1"),
        ("[{{'$1','$1'},[],['$1']}]", "{1,1.0}", "no_match"),
        ("[{{'_','_'},[],[true]}]", "{1}", "no_match"),
        ("[{{{'$1','$1'}},[],['$1']}]", "{{a,a}}", "a"),
        ("[{foo,[],['$_']}]", "foo", "foo"),
        ("[{'$1',[],['$1']}]", "{true,2}", "{true,2}"),
        ("[{'_',[],['$_']}]", "atom", "atom"),
    ]);
}

#[test]
fn variables_are_a_dollar_and_a_number() {
    check(&[
        ("[{{'$0'},[],['$0']}]", "{1}", "1"),
        ("[{{'$00'},[],[true]}]", "{1}", "no_match"),
        ("[{{'$1x'},[],[true]}]", "{1}", "no_match"),
        ("[{{'$100000000'},[],['$100000000']}]", "{1}", "1"),
        ("[{{'$'},[],[true]}]", "{'$'}", "true"),
        ("[{{'$_'},[],[true]}]", "{1}", "no_match"),
        ("[{{'$_'},[],[true]}]", "{'$_'}", "true"),
        ("[{{'$$'},[],[true]}]", "{1}", "no_match"),
    ]);
}

#[test]
fn lists_and_tails_match() {
    check(&[
        ("[{[foo,'$1'|'_'],[],['$1']}]", "[foo,2,3]", "2"),
        ("[{{[a|'$1']},[],['$1']}]", "{[a,b]}", "[b]"),
        ("[{{[a|'$1']},[],['$1']}]", "{[a]}", "[]"),
        ("[{{[a|'$1']},[],['$1']}]", "{[a|b]}", "b"),
        ("[{{[a,'$1']},[],['$1']}]", "{[a,b,c]}", "no_match"),
        ("[{{['$1'|'$1']},[],['$1']}]", "{[[]]}", "[]"),
        ("[{{[97|'$1']},[],['$1']}]", "{\"abc\"}", "[98,99]"),
    ]);
}

#[test]
fn maps_match_by_the_keys_that_are_named() {
    check(&[
        ("[{{#{}},[],[true]}]", "{#{a => 1}}", "true"),
        ("[{{#{a => '$1'}},[],['$1']}]", "{#{a => 1,b => 2}}", "1"),
        (
            "[{{#{a => '$1',b => '$1'}},[],['$1']}]",
            "{#{a => 1,b => 1.0}}",
            "no_match",
        ),
        ("[{{#{c => '_'}},[],[true]}]", "{#{a => 1}}", "no_match"),
        ("[{{#{1 => '$1'}},[],['$1']}]", "{#{1.0 => 1}}", "no_match"),
        ("[{{#{{'$1'} => '$2'}},[],['$2']}]", "{#{{'$1'} => 7}}", "7"),
        ("[{{#{a => {b,'$1'}}},[],['$1']}]", "{#{a => {b,3}}}", "3"),
    ]);
}

#[test]
fn the_first_clause_that_matches_counts() {
    check(&[
        (
            "[{{'$1'},[{'>','$1',5}],[big]},{{'_'},[],[small]}]",
            "{7}",
            "big",
        ),
        (
            "[{{'$1'},[{'>','$1',5}],[big]},{{'_'},[],[small]}]",
            "{3}",
            "small",
        ),
        ("[{{'$1'},[{'>','$1',5}],[big]}]", "{3}", "no_match"),
    ]);
}

#[test]
fn guards_hold_when_they_are_true_and_nothing_else() {
    for (guard, holds) in [
        ("true", true),
        ("false", false),
        ("1", false),
        ("'$1'", false),
        ("'_'", false),
        ("{const,true}", true),
        ("{hd,'$1'}", false),
        ("{'not',{hd,'$1'}}", false),
        ("{'orelse',true,{hd,1}}", true),
        ("{'or',true,{hd,1}}", false),
        ("{'andalso',false,{hd,1}}", false),
        ("{'andalso',true,5}", false),
        ("{'=:=','$2',{const,a}}", true),
    ] {
        let spec = format!("[{{{{'$1','$2'}},[{guard}],[yes]}}]");
        let expected = if holds { "yes" } else { "no_match" };
        assert_eq!(run(&spec, "{1,a}"), expected, "{guard}");
    }
}

#[test]
fn a_body_is_worth_its_last_expression() {
    check(&[
        ("[{{'$1'},[],[a,b,'$1']}]", "{1}", "1"),
        ("[{{'$1'},[],[{hd,'$1'},5]}]", "{1}", "5"),
        ("[{{'$3','$1'},[],['$$']}]", "{x,y}", "[y,x]"),
        ("[{{'_','_'},[],['$$']}]", "{x,y}", "[]"),
        ("[{'$1',[],['$$']}]", "{x,y}", "[{x,y}]"),
    ]);
}

#[test]
fn what_fails_in_a_body_is_worth_exit_and_the_rest_goes_on() {
    values(&[
        ("{hd,1}", "'EXIT'"),
        ("{is_atom,{hd,1}}", "true"),
        ("{'+',1,{hd,1}}", "'EXIT'"),
        ("{{1,{hd,1}}}", "{1,'EXIT'}"),
        ("[{hd,1}]", "['EXIT']"),
        ("#{a => {hd,1}}", "#{a => 'EXIT'}"),
        ("{'orelse',{'=:=',{hd,1},'EXIT'},true}", "true"),
    ]);
}

#[test]
fn structures_are_built() {
    values(&[
        ("{{}}", "{}"),
        ("{{'$2',{{'$1'}},b}}", "{a,{1},b}"),
        ("['$1','$2'|'$1']", "[1,a|1]"),
        ("[x|['$1']]", "[x,1]"),
        ("#{'$2' => {'+','$1',1}}", "#{a => 2}"),
        ("#{1 => a,'$1' => b}", "#{1 => b}"),
        ("{const,{'$1',{2}}}", "{'$1',{2}}"),
        ("{{'$$','$_'}}", "{[1,a],{1,a}}"),
        ("'_'", "'_'"),
        ("{self}", "<0.0.0>"),
        ("{node}", "nonode@nohost"),
    ]);
}

#[test]
fn booleans_are_strict_or_lazy() {
    values(&[
        ("{'and',true,true,true}", "true"),
        ("{'and',false,5}", "'EXIT'"),
        ("{'or',false,false,true}", "true"),
        ("{'or',false}", "false"),
        ("{'and',5}", "'EXIT'"),
        ("{'andalso',true,5}", "5"),
        ("{'andalso',5}", "5"),
        ("{'andalso',false,{hd,1}}", "false"),
        ("{'andalso',true,5,true}", "'EXIT'"),
        ("{'orelse',false,5}", "5"),
        ("{'orelse',5,true}", "'EXIT'"),
        ("{'xor',true,false}", "true"),
        ("{'xor',a,true}", "'EXIT'"),
        ("{'not','$1'}", "'EXIT'"),
    ]);
}

#[test]
fn terms_compare_as_terms_do() {
    values(&[
        ("{'<','$1','$2'}", "true"),
        ("{'=<','$1',1.0}", "true"),
        ("{'==','$1',1.0}", "true"),
        ("{'=:=','$1',1.0}", "false"),
        ("{'=/=','$1',1.0}", "true"),
        ("{'/=','$1',1.0}", "false"),
        ("{'>=',[1],{{1}}}", "true"),
        ("{'>',<<\"b\">>,<<\"a\">>}", "true"),
    ]);
}

/// As OTP 29 answers.
#[test]
fn native_records_are_literals() {
    check(&[
        ("[{{#m:n{x = 1}},[],[true]}]", "{#m:n{x = 1}}", "true"),
        ("[{{#m:n{x = 1}},[],[true]}]", "{#m:n{x = 1.0}}", "no_match"),
        ("[{{#m:n{x = '_'}},[],[true]}]", "{#m:n{x = 1}}", "no_match"),
        ("[{{#m:n{x = '$1'}},[],[true]}]", "{#m:n{x = '$1'}}", "true"),
        (
            "[{{'$1'},[{'==','$1',#m:n{x = 1.0}}],[#m:n{x = '$1'}]}]",
            "{#m:n{x = 1}}",
            "#m:n{x = '$1'}",
        ),
        (
            "[{{'$1'},[{is_record,'$1',m,n}],['$1']}]",
            "{#m:n{x = 1}}",
            "#m:n{x = 1}",
        ),
        (
            "[{{'$1'},[{is_record,'$1',m,o}],['$1']}]",
            "{#m:n{x = 1}}",
            "no_match",
        ),
        (
            "[{{'$1'},[{is_record,'$1',n,m}],['$1']}]",
            "{#m:n{x = 1}}",
            "no_match",
        ),
        (
            "[{{'$1'},[{is_record,'$1',n,1}],['$1']}]",
            "{#m:n{x = 1}}",
            "no_match",
        ),
        (
            "[{{'$1'},[],[{{{is_tuple,'$1'},{is_map,'$1'},{is_function,'$1'}}}]}]",
            "{#m:n{}}",
            "{false,false,false}",
        ),
        ("[{{'$1'},[],[{tuple_size,'$1'}]}]", "{#m:n{}}", "'EXIT'"),
    ]);
    for refused in [
        "[{{#m:n{x = '$1'}},[],['$1']}]",
        "[{{'$1'},[{is_record,'$1'}],['$1']}]",
        "[{{'$1'},[{is_record,'$1',n}],['$1']}]",
    ] {
        let spec = Term::parse(refused).expect("a term");
        assert!(MatchSpec::new(&spec).is_err(), "{refused}");
    }
}

#[test]
fn types_are_told() {
    values(&[
        ("{is_integer,'$1'}", "true"),
        ("{is_integer,1.0}", "false"),
        ("{is_float,1.0}", "true"),
        ("{is_number,'$1'}", "true"),
        ("{is_atom,'$2'}", "true"),
        ("{is_list,[]}", "true"),
        ("{is_list,[a|b]}", "true"),
        ("{is_tuple,'$_'}", "true"),
        ("{is_map,#{}}", "true"),
        ("{is_binary,<<>>}", "true"),
        ("{is_binary,<<1:1>>}", "false"),
        ("{is_bitstring,<<1:1>>}", "true"),
        ("{is_boolean,'$2'}", "false"),
        ("{is_boolean,true}", "true"),
        ("{is_function,fun lists:map/2}", "true"),
        ("{is_function,fun lists:map/2,2}", "true"),
        ("{is_function,fun lists:map/2,1}", "false"),
        ("{is_function,'$1',1180591620717411303424}", "false"),
        ("{is_function,'$1',-1}", "'EXIT'"),
        ("{is_pid,{self}}", "true"),
        ("{is_port,'$1'}", "false"),
        ("{is_reference,'$1'}", "false"),
        ("{is_integer,'$1',1,3}", "true"),
        ("{is_integer,'$1',2,3}", "false"),
        ("{is_integer,'$1',1.0,3}", "'EXIT'"),
    ]);
}

#[test]
fn records_are_told_by_name_and_size() {
    values(&[
        ("{is_record,{{foo,'$1'}},foo,2}", "true"),
        ("{is_record,{{foo,'$1'}},foo,{'+',1,1}}", "true"),
        ("{is_record,{{foo,'$1'}},foo,3}", "false"),
        ("{is_record,{{foo,'$1'}},bar,2}", "false"),
        ("{is_record,{{foo}},foo,-1}", "false"),
        ("{is_record,'$1',foo,2}", "false"),
        ("{is_record,'$1','$1',2}", "'EXIT'"),
        ("{is_record,'$1',foo,'$2'}", "false"),
        ("{is_record,'$1',foo,1.0}", "'EXIT'"),
        (
            "{is_record,{{foo,'$1'}},foo,1180591620717411303424}",
            "'EXIT'",
        ),
        ("{is_record,{{foo,'$1'}},foo,foo}", "false"),
        ("{is_record,{{}},foo,0}", "false"),
    ]);
}

#[test]
fn functions_take_terms_apart() {
    values(&[
        ("{element,2,'$_'}", "a"),
        ("{element,3,'$_'}", "'EXIT'"),
        ("{element,0,'$_'}", "'EXIT'"),
        ("{element,'$1','$_'}", "1"),
        ("{hd,['$1']}", "1"),
        ("{tl,['$1',b]}", "[b]"),
        ("{tl,[a|b]}", "b"),
        ("{length,[a,b]}", "2"),
        ("{length,[a|b]}", "'EXIT'"),
        ("{size,'$_'}", "2"),
        ("{size,<<0,1:5>>}", "1"),
        ("{size,'$1'}", "'EXIT'"),
        ("{tuple_size,'$_'}", "2"),
        ("{byte_size,<<1:5>>}", "1"),
        ("{bit_size,<<0,1:5>>}", "13"),
        ("{map_size,#{a => 1}}", "1"),
        ("{map_get,a,#{a => '$1'}}", "1"),
        ("{map_get,b,#{a => '$1'}}", "'EXIT'"),
        ("{map_put,b,2,#{a => '$1'}}", "#{a => 1,b => 2}"),
        ("{map_put,a,2,#{a => '$1'}}", "#{a => 2}"),
        ("{map_put,a,2,'$1'}", "'EXIT'"),
        ("{map_remove,a,#{a => '$1'}}", "#{}"),
        ("{map_remove,b,{map_put,b,2,#{a => '$1'}}}", "#{a => 1}"),
        ("{map_remove,b,'$1'}", "'EXIT'"),
        ("{is_map_key,b,#{a => '$1'}}", "false"),
        ("{is_map_key,b,'$1'}", "'EXIT'"),
        ("{binary_part,<<1,2,3>>,1,1}", "<<2>>"),
        ("{binary_part,<<1,2,3>>,3,-2}", "<<2,3>>"),
        ("{binary_part,<<1,2,3>>,{{0,2}}}", "<<1,2>>"),
        ("{binary_part,<<1,2,3>>,2,2}", "'EXIT'"),
        ("{binary_part,<<1,2:5>>,0,1}", "'EXIT'"),
        ("{binary_part,<<1,2:5>>,{{0,1}}}", "'EXIT'"),
        ("{node,{self}}", "nonode@nohost"),
        ("{node,'$1'}", "'EXIT'"),
        ("{max,'$1','$2'}", "a"),
        ("{min,'$1','$2'}", "1"),
        ("{max,1,1.0}", "1"),
    ]);
}

#[test]
fn numbers_of_any_size() {
    values(&[
        ("{'+','$1',{'*',3,4}}", "13"),
        ("{'-','$1'}", "-1"),
        ("{'+','$2'}", "'EXIT'"),
        ("{'+',9223372036854775807,1}", "9223372036854775808"),
        ("{'-',{'+',9223372036854775807,1},1}", "9223372036854775807"),
        ("{'/',4,2}", "2.0"),
        ("{'/',4,0}", "'EXIT'"),
        ("{'div',-7,2}", "-3"),
        ("{'rem',-7,3}", "-1"),
        ("{'div',1,0}", "'EXIT'"),
        ("{'div',4.0,2}", "'EXIT'"),
        ("{'+',1.0e308,1.0e308}", "'EXIT'"),
        ("{'band',6,3}", "2"),
        ("{'bor',6,3}", "7"),
        ("{'bxor',6,3}", "5"),
        ("{'bnot',5}", "-6"),
        ("{'bsl',1,70}", "1180591620717411303424"),
        ("{'bsr',-1,70}", "-1"),
        ("{'bsl',1,-1}", "0"),
        ("{'bsl',1,100000000000}", "'EXIT'"),
        ("{'bsl',0,1000000000000000000000000}", "0"),
        ("{'bsr',1,1000000000000000000000000}", "0"),
        ("{abs,-1.5}", "1.5"),
        ("{abs,-9223372036854775808}", "9223372036854775808"),
        ("{round,2.5}", "3"),
        ("{round,-2.5}", "-3"),
        ("{trunc,-2.5}", "-2"),
        ("{floor,-2.5}", "-3"),
        ("{ceil,-2.5}", "-2"),
        ("{float,1}", "1.0"),
        ("{float,'$2'}", "'EXIT'"),
    ]);
}

fn problems(spec: &str) -> Vec<(Place, String)> {
    match MatchSpec::compile(&term(spec)) {
        Err(SpecError::Bad(problems)) => problems
            .into_iter()
            .map(|problem| (problem.place, problem.kind.to_string()))
            .collect(),
        other => panic!("{spec}: {other:?}"),
    }
}

#[test]
fn everything_that_is_wrong_is_named() {
    let found = problems("[{{'$1'},[{'+',1,'$2'},{foo,1},bar],['$3']}]");
    let places = [
        Place::Guard(1, 1),
        Place::Guard(1, 2),
        Place::Expression(1, 1),
    ];
    assert_eq!(
        found.iter().map(|(place, _)| *place).collect::<Vec<_>>(),
        places
    );
    for (text, name) in found.iter().zip(["'$2'", "foo/1", "'$3'"]) {
        assert!(text.1.contains(name), "{text:?}");
    }
}

#[test]
fn wrong_specifications_are_refused() {
    for (spec, place, word) in [
        ("foo", Place::Spec, "list"),
        ("[a|b]", Place::Spec, "list"),
        ("[]", Place::Spec, "no clause"),
        ("[{{'$1'},[]}]", Place::Clause(1), "{Head, Guards, Body}"),
        ("[{{'_'},[],[1]},foo]", Place::Clause(2), "foo"),
        ("[{{'$1'},a,['$1']}]", Place::Guards(1), "list"),
        ("[{{'$1'},[true|b],[a]}]", Place::Guards(1), "list"),
        ("[{{'$1'},[],a}]", Place::Body(1), "list"),
        ("[{{'$1'},[],[]}]", Place::Body(1), "empty"),
        ("[{{#{'$1' => 1}},[],[true]}]", Place::Head(1), "key"),
        ("[{{#{'_' => 1}},[],[true]}]", Place::Head(1), "key"),
        ("[{{'$1'},[],[{}]}]", Place::Expression(1, 1), "braces"),
        ("[{{'$1'},[],[{5}]}]", Place::Expression(1, 1), "braces"),
        (
            "[{{'$1'},[],[{{a,b},c}]}]",
            Place::Expression(1, 1),
            "braces",
        ),
        (
            "[{{'$1'},[],[{const}]}]",
            Place::Expression(1, 1),
            "one argument",
        ),
        (
            "[{{'$1'},[],[{'andalso'}]}]",
            Place::Expression(1, 1),
            "or more",
        ),
        (
            "[{{'$1'},[],[{'xor',true}]}]",
            Place::Expression(1, 1),
            "two arguments",
        ),
        (
            "[{{'$1'},[],[{is_atom,1,2}]}]",
            Place::Expression(1, 1),
            "one argument",
        ),
        (
            "[{{'$1'},[],[{spawn,1}]}]",
            Place::Expression(1, 1),
            "spawn/1",
        ),
        (
            "[{{'$1'},[],[{message,1}]}]",
            Place::Expression(1, 1),
            "tracing",
        ),
        ("[{{'$1'},[{'not','$2'}],[a]}]", Place::Guard(1, 1), "'$2'"),
        (
            "[{{'$1'},[],[#{a => [{{'$2'}}]}]}]",
            Place::Expression(1, 1),
            "'$2'",
        ),
    ] {
        let found = problems(spec);
        assert_eq!(found.len(), 1, "{spec}: {found:?}");
        assert_eq!(found[0].0, place, "{spec}");
        assert!(found[0].1.contains(word), "{spec}: {found:?}");
    }
}

#[test]
fn a_specification_without_clauses_matches_nothing() {
    let spec = MatchSpec::new(&term("[]")).expect("as ets:select has it");
    assert!(spec.is_empty() && spec.run_term(&term("{1}"), &Machine::default()).is_none());
}

#[test]
fn patterns_are_specifications_of_one_clause() {
    let machine = Machine::default();
    let object = term("{a,1,2}");
    let run = |pattern: &str, wanted| {
        let spec = MatchSpec::pattern(&term(pattern), wanted).expect("a pattern");
        spec.run_term(&object, &machine)
            .map(|value| value.to_string())
    };
    assert_eq!(
        run("{'_','$2','$1'}", Wanted::Bindings).as_deref(),
        Some("[2,1]")
    );
    assert_eq!(run("'_'", Wanted::Bindings).as_deref(), Some("[]"));
    assert_eq!(
        run("{a,'_','_'}", Wanted::Objects).as_deref(),
        Some("{a,1,2}")
    );
    assert_eq!(run("{b,'_','_'}", Wanted::Objects), None);
    assert_eq!(run("'$1'", Wanted::True).as_deref(), Some("true"));
    let bad = MatchSpec::pattern(&term("{#{'$1' => 1}}"), Wanted::True);
    let kind = match bad {
        Err(SpecError::Bad(problems)) => problems[0].kind.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(kind, ProblemKind::VariableKey("'$1'".into()));
}

/// Wide is not deep: many clauses, many guards, long lists.
#[test]
fn wide_specifications_are_fine() {
    let one = "{{'$1','_'},[{'=:=','$1',7},{'orelse',true}],['$_']}";
    let spec = term(&format!("[{}]", vec![one; 5_000].join(",")));
    let spec = MatchSpec::new(&spec).expect("a specification");
    let machine = Machine::default();
    assert_eq!(spec.run_term(&term("{8,1}"), &machine), None);
    assert_eq!(spec.run_term(&term("{7,1}"), &machine), Some(term("{7,1}")));
}

//! The plans of typical specifications, as people see them.

use fyris_query::{MatchSpec, PlanKind, TableOrder};
use fyris_term::Term;
use fyris_term::key::KeyBuf;

fn compiled(spec: &str) -> MatchSpec {
    MatchSpec::new(&Term::parse(spec).expect("a term")).expect("a specification")
}

fn plan(spec: &str, order: TableOrder) -> String {
    let plan = compiled(spec).plan(1, order);
    let bounds: Vec<String> = plan.bounds().iter().map(Term::to_string).collect();
    format!("{} {}", plan.kind().name(), bounds.join(" "))
}

fn ordered(cases: &[(&str, &str)]) {
    for (spec, expected) in cases {
        assert_eq!(
            plan(spec, TableOrder::Ordered).trim_end(),
            *expected,
            "{spec}"
        );
    }
}

fn hash(cases: &[(&str, &str)]) {
    for (spec, expected) in cases {
        assert_eq!(plan(spec, TableOrder::Hash).trim_end(), *expected, "{spec}");
    }
}

#[test]
fn keys_without_variables_are_points() {
    ordered(&[
        ("[{{7,'_'},[],['$_']}]", "point {key,7}"),
        ("[{{{a,b},'$1'},[],['$_']}]", "point {key,{a,b}}"),
        (
            "[{{1,'_'},[],[a]},{{5,'_'},[],[b]},{{1,'_'},[],[c]}]",
            "points {key,1} {key,5}",
        ),
        ("[{{1,'_'},[],[a]},{{1.0,'_'},[],[b]}]", "point {key,1}"),
        // What stands in a native record is no variable.
        (
            "[{{{'$1',#m:n{x = '$1'}},'_'},[{'=:=','$1',5}],[a]}]",
            "point {key,{5,#m:n{x = '$1'}}}",
        ),
    ]);
    hash(&[
        ("[{{7,'_'},[],['$_']}]", "point {key,7}"),
        (
            "[{{1,'_'},[],[a]},{{1.0,'_'},[],[b]}]",
            "points {key,1} {key,1.0}",
        ),
        ("[{{1,'_'},[],[a]},{{'$1',b},[],[b]}]", "full_scan"),
    ]);
}

#[test]
fn known_beginnings_are_prefixes() {
    ordered(&[
        ("[{{{a,b,'_'},'_'},[],['$_']}]", "prefix {prefix,{a,b,'_'}}"),
        (
            "[{{{a,'$1',b},'_'},[],['$_']}]",
            "prefix {prefix,{a,'_','_'}}",
        ),
        ("[{{{'_','_'},'_'},[],['$_']}]", "prefix {prefix,{'_','_'}}"),
        ("[{{[a,b|'_'],'_'},[],['$_']}]", "prefix {prefix,[a,b|'_']}"),
        (
            "[{{{{a,'_'},c},'_'},[],['$_']}]",
            "prefix {prefix,{{a,'_'},'_'}}",
        ),
        ("[{{{a,#{}},'_'},[],['$_']}]", "prefix {prefix,{a,'_'}}"),
        (
            "[{{{'$1','_'},'_'},[{'=:=','$1',a}],['$_']}]",
            "prefix {prefix,{a,'_'}}",
        ),
        ("[{{#{},'_'},[],['$_']}]", "full_scan"),
    ]);
    hash(&[("[{{{a,b,'_'},'_'},[],['$_']}]", "full_scan")]);
}

#[test]
fn guards_on_the_key_are_ranges() {
    ordered(&[
        (
            "[{{'$1','_'},[{'>','$1',10}],['$_']}]",
            "range {range,{'>',10},unbounded}",
        ),
        (
            "[{{'$1','_'},[{'>=','$1',10},{'<',{element,1,'$_'},20}],['$_']}]",
            "range {range,{'>=',10},{'<',20}}",
        ),
        (
            "[{{'$1','_'},[{'>',10,'$1'}],['$_']}]",
            "range {range,unbounded,{'<',10}}",
        ),
        ("[{{'$1','_'},[{'==','$1',10}],['$_']}]", "point {key,10}"),
        (
            "[{'$1',[{'=<',{element,1,'$1'},b}],['$_']}]",
            "range {range,unbounded,{'=<',b}}",
        ),
        (
            "[{{'$1','_'},[{'orelse',{'<','$1',1},{'>','$1',9}}],['$_']}]",
            "range {range,unbounded,{'<',1}} {range,{'>',9},unbounded}",
        ),
        (
            "[{{'$1','_'},[{'not',{'<','$1',5}}],['$_']}]",
            "range {range,{'>=',5},unbounded}",
        ),
        (
            "[{{'$1','_'},[{'>','$1',5},{'<','$1',3}],['$_']}]",
            "points",
        ),
        ("[{{'$1','_'},[{'/=','$1',5}],['$_']}]", "full_scan"),
        ("[{{'$1','$2'},[{'>','$2',5}],['$_']}]", "full_scan"),
        (
            "[{{'$1','$2'},[{'orelse',{'>','$1',5},{'>','$2',5}}],['$_']}]",
            "full_scan",
        ),
        ("[{{'$1','_'},[false],['$_']}]", "points"),
        (
            "[{{'$1','_'},[{'>=','$1',<<\"a\">>},{'<','$1',<<\"b\">>}],['$_']}]",
            "range {range,{'>=',<<\"a\">>},{'<',<<\"b\">>}}",
        ),
    ]);
    hash(&[
        ("[{{'$1','_'},[{'=:=','$1',10}],['$_']}]", "point {key,10}"),
        ("[{{'$1','_'},[{'==','$1',10}],['$_']}]", "full_scan"),
        ("[{{'$1','_'},[{'==','$1',a}],['$_']}]", "point {key,a}"),
        (
            "[{{'$1','_'},[{'orelse',{'=:=','$1',a},{'=:=','$1',b}}],['$_']}]",
            "points {key,a} {key,b}",
        ),
        (
            "[{{{'$1',b},'_'},[{'=:=','$1',a}],['$_']}]",
            "point {key,{a,b}}",
        ),
        ("[{{'$1','_'},[{'>','$1',10}],['$_']}]", "full_scan"),
    ]);
}

#[test]
fn guards_on_the_next_part_are_ranges_in_a_prefix() {
    ordered(&[
        (
            "[{{{a,'$1'},'_'},[{'>','$1',5}],['$_']}]",
            "range {range,{'>',{a,5}},{'=<',{a,'_'}}}",
        ),
        (
            "[{{{a,'$1','_'},'_'},[{'>=','$1',5},{'<','$1',9}],['$_']}]",
            "range {range,{'>=',{a,5,'_'}},{'<',{a,9,'_'}}}",
        ),
        (
            "[{{[a,'$1'|'_'],'_'},[{'=<','$1',5}],['$_']}]",
            "range {range,{'>=',[a,'_'|'_']},{'=<',[a,5|'_']}}",
        ),
    ]);
}

#[test]
fn heads_that_match_no_object_give_no_keys() {
    ordered(&[
        ("[{foo,[],['$_']}]", "points"),
        ("[{{},[],['$_']}]", "points"),
        ("[]", "points"),
    ]);
    hash(&[("[{[a],[],['$_']}]", "points"), ("[]", "points")]);
}

#[test]
fn ranges_are_bytes_of_keys() {
    let text = "[{{{a,'$1'},'_'},[{'>','$1',5}],['$_']},{{7,'_'},[],['$_']}]";
    let spec = MatchSpec::new(&Term::parse(text).expect("a term")).expect("a specification");
    let plan = spec.plan(1, TableOrder::Ordered);
    let is_in = |key: &str| {
        let key = KeyBuf::encode(&Term::parse(key).expect("a term"));
        plan.ranges()
            .iter()
            .filter(|range| range.contains(key.order()))
            .count()
    };
    for (key, times) in [
        ("7", 1),
        ("7.0", 1),
        ("8", 0),
        ("{a,5}", 0),
        ("{a,5.0}", 0),
        ("{a,5.5}", 1),
        ("{a,6}", 1),
        ("{a,[]}", 1),
        ("{a,6,1}", 0),
        ("{b,6}", 0),
        ("{a}", 0),
    ] {
        assert_eq!(is_in(key), times, "{key}");
    }
    assert!(plan.ranges()[0].as_point().is_some() && plan.ranges()[1].as_point().is_none());
    assert_eq!(plan.kind(), PlanKind::Range);
    assert_eq!(
        plan.describe().to_string(),
        "#{access => range,bounds => [{key,7},{range,{'>',{a,5}},{'=<',{a,'_'}}}]}"
    );
}

/// Many points are sorted, not compared with each other one by one.
#[test]
fn a_key_in_the_head_needs_no_plan() {
    let key = |head: &str, keypos: usize, order: TableOrder| {
        let spec = compiled(&format!("[{{{head},[{{'>','$9',1}}],[true]}}]"));
        spec.point(keypos, order).map(<[u8]>::to_vec)
    };
    for term in ["1", "1.0", "{a,[b],<<0,1>>}", "[]"] {
        let encoded = KeyBuf::encode(&Term::parse(term).expect("a term"));
        let head = format!("{{'$9',{term}}}");
        let exact = key(&head, 2, TableOrder::Hash);
        assert_eq!(exact.as_deref(), Some(encoded.bytes()), "{term}");
        let order = key(&head, 2, TableOrder::Ordered);
        assert_eq!(order.as_deref(), Some(encoded.order()), "{term}");
    }
    for (head, keypos) in [
        ("{'$9',1}", 1),
        ("{'$9',1}", 3),
        ("{'$9',1}", 0),
        ("{'$9',#{}}", 2),
        ("{'$9',{1,'_'}}", 2),
        ("'$9'", 1),
    ] {
        assert_eq!(key(head, keypos, TableOrder::Hash), None, "{head}");
    }
    let two = compiled("[{{1},[],[true]},{{2},[],[true]}]");
    assert_eq!(two.point(1, TableOrder::Hash), None);
}

#[test]
fn many_alternatives_are_cheap() {
    let points: Vec<String> = (0..20_000).map(|n| format!("{{'=:=','$1',{n}}}")).collect();
    let text = format!(
        "[{{{{'$1','_'}},[{{'orelse',{}}}],['$_']}}]",
        points.join(",")
    );
    let spec = MatchSpec::new(&Term::parse(&text).expect("a term")).expect("a specification");
    assert_eq!(spec.plan(1, TableOrder::Ordered).ranges().len(), 20_000);
    assert_eq!(spec.plan(1, TableOrder::Hash).points().len(), 20_000);
}

//! Queries in the shell: the program itself, its results and what it says of plans.

use std::process::{Command, Output, Stdio};

const USERS: [&str; 2] = [
    "new users ordered_set",
    "insert {1, ann, 31}, {2, bo, 17}, {3, cy, 64}, {4, <<\"di\">>, 5}, {9, {e, f}, 40}",
];

fn output(commands: &[&str]) -> Output {
    let args = USERS.iter().chain(commands).flat_map(|c| ["-e", c]);
    Command::new(env!("CARGO_BIN_EXE_fyris"))
        .arg("shell")
        .args(args)
        .stdin(Stdio::null())
        .output()
        .expect("the program runs")
}

/// Runs commands over the table and returns results and plans.
fn both(commands: &[&str]) -> (String, String) {
    let output = output(commands);
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert!(output.status.success(), "{commands:?}: {err}");
    let made = "users\ntrue (5 inserted)\n";
    (out.strip_prefix(made).expect("the table").to_owned(), err)
}

fn run(commands: &[&str]) -> String {
    both(commands).0
}

fn fails(command: &str) -> String {
    let output = output(&[command]);
    assert_eq!(output.status.code(), Some(1), "{command}");
    String::from_utf8(output.stderr).expect("UTF-8")
}

#[test]
fn words_and_specifications_select_the_same() {
    for command in [
        "select users [{{'$1','$2','$3'},[{'>','$3',20},{is_atom,'$2'}],[{{'$1','$2'}}]}]",
        "ets:select(users, [{{'$1','$2','$3'},[{'>','$3',20},{is_atom,'$2'}],[{{'$1','$2'}}]}]).",
        "select users where $3 > 20 andalso is_atom($2) return {$1, $2}",
        "select where $3 > 20, is_atom($2) return {$1, $2}",
        "select users {$1, $2, $3} where $3 > 20, is_atom($2) return {$1, $2} threads 2",
    ] {
        assert_eq!(run(&[command]), "{1,ann}\n{3,cy}\n", "{command}");
    }
    assert_eq!(run(&["select users {_, {e, $1}, _} return $1"]), "f\n");
    assert_eq!(run(&["select_reverse where $1 < 4 return $1"]), "3\n2\n1\n");
    let (out, said) = both(&["select where $1 > 100"]);
    assert_eq!(out, "");
    assert!(said.starts_with("no objects\n"), "{said}");
}

#[test]
fn the_plan_and_what_was_visited_follow_the_results() {
    for (command, said) in [
        (
            "select where $1 >= 2, $1 < 4",
            "range >= 2, < 4: visited 2 of 5, returned 2\n",
        ),
        (
            "select {3, $1, _} return $1",
            "point 3: visited 1 of 5, returned 1\n",
        ),
        (
            "select where $1 == 1 orelse $1 == 9",
            "points 1; 9: visited 2 of 5, returned 2\n",
        ),
        (
            "select where $3 == 17",
            "full scan: visited 5 of 5, returned 1\n",
        ),
        (
            "select_count where $3 > 20",
            "full scan: visited 5 of 5, counted 3\n",
        ),
        (
            "select_count where $3 > 20 threads 2",
            "full scan: visited 5 of 5, counted 3\n",
        ),
        (
            "match {3, '$1', '_'}",
            "point 3: visited 1 of 5, returned 1\n",
        ),
        (
            "match_delete {'_', bo, '_'}",
            "full scan: visited 5 of 5, deleted 1\n",
        ),
    ] {
        assert_eq!(both(&[command]).1, said, "{command}");
    }
}

#[test]
fn what_words_mean_can_be_seen() {
    let (out, _) = both(&["select where $1 == 3 return $2 spec"]);
    assert_eq!(
        out,
        "[{'_',[{'==',{element,1,'$_'},3}],[{element,2,'$_'}]}]\ncy\n"
    );
    let out = run(&["explain users {$1, $2, _} where $1 > 3 return $2"]);
    assert_eq!(
        out,
        "[{{'$1','$2','_'},[{'>','$1',3}],['$2']}]\n\
         range > 3: about 2 of 5 objects would be visited\n"
    );
    assert!(fails("select where $1 >").contains("column 18: expected a value"));
    assert!(fails("select [{{'$1'},[{foo,'$2'}],['$1']}]").contains("clause 1, guard 1"));
    assert!(fails("select nowhere where $1 > 1").contains("no table nowhere"));
    assert!(fails("select_delete where $3 > 1 limit 1").contains("found `limit"));
    assert!(fails("ets:select_count(users, [{'_',[],[true]}], 1).").contains("usage"));
    assert!(fails("select_delete users").contains("what to delete"));
    assert!(fails("select_replace {$1, $2, $3} return {$3, $2, $1}").contains("key"));
}

#[test]
fn queries_change_tables() {
    let out = run(&[
        "select_replace users {$1, $2, $3} where is_atom($2) return {$1, $2, $3 + 100}",
        "select_delete where $3 < 100",
        "select",
        "match users {'_', '$1', '$2'} limit 2",
        "match_object {'_', cy, '_'}",
        "cas {1, ann, 131} {1, ann, old}",
        "cas {1, ann, 131} {1, ann, old}",
        "select_count [{'_',[],[true]}]",
    ]);
    assert_eq!(
        out,
        "3\n2\n{1,ann,131}\n{2,bo,117}\n{3,cy,164}\n[ann,131]\n[bo,117]\n{3,cy,164}\ntrue\nfalse\n3\n"
    );
}

/// Returns commands over a table with two secondary indexes.
fn among_people<'c>(commands: &[&'c str]) -> Vec<&'c str> {
    let people = [
        "new people {secondary, by_city, {element, 3}} {secondary, by_year, {path, [2, born]}}",
        "insert {ada, #{born => 1815}, london}, {emmy, #{born => 1882}, erlangen}, {alan, #{}, london}",
    ];
    [&people[..], commands].concat()
}

#[test]
fn secondary_indexes_are_looked_up_and_explained() {
    let (out, said) = both(&among_people(&[
        "lookup_by people by_city london",
        "lookup_by by_year 1882",
        "lookup_by by_city paris",
        "explain where $3 == london return $1",
        "select where $3 == london return $1 limit 1",
        "info people secondary",
        "add_secondary by_name {element, 1}",
        "lookup_by by_name ada",
        "remove_secondary people by_name",
    ]));
    assert!(
        out.ends_with(
            "{ada,#{born => 1815},london}\n{alan,#{},london}\n{emmy,#{born => 1882},erlangen}\n\
             [{'_',[{'==',{element,3,'$_'},london}],[{element,1,'$_'}]}]\n\
             point london in by_city: about 2 of 3 objects would be visited\nada\n\
             [{by_city,{element,3}},{by_year,{path,[2,born]}}]\n\
             true\n{ada,#{born => 1815},london}\ntrue\n"
        ),
        "{out}"
    );
    assert!(said.contains("point london in by_city: visited "), "{said}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("people.ets");
    let (_, said) = both(&among_people(&[&format!("save {}", file.display())]));
    let told = "secondary indexes are not in the file: by_city, by_year\n";
    assert!(said.contains(told), "{said}");
    for (command, wanted) in [
        ("lookup_by by_name ada", "no secondary index by_name"),
        (
            "lookup_by 3 ada",
            "expected the name of a secondary index, found 3",
        ),
        ("lookup_by ada", "an argument is missing"),
        ("add_secondary by_city {element, 1}", "by_city"),
        ("add_secondary x {element, 0}", "{element,Position}"),
        ("remove_secondary by_name", "no secondary index by_name"),
        (
            "new t {secondary, x, {element, 0}}",
            "secondary is a name, and {element, Position}",
        ),
    ] {
        let failed = output(&among_people(&[command])).stderr;
        let failed = String::from_utf8(failed).expect("UTF-8");
        assert!(failed.contains(wanted), "{command}: {failed}");
    }
}

#[test]
fn ranges_are_verbs() {
    let out = run(&[
        "range users from 2 below 4 keys",
        "range above 4",
        "range reverse limit 1",
        "seek 5",
        "seek users 5 reverse",
        "seek 10",
        "lookup_many [3, 100, 1]",
        "take_range to 1",
        "delete_range users above 3",
        "drain users",
        "count",
    ]);
    assert_eq!(
        out,
        "2\n3\n{9,{e,f},40}\n{9,{e,f},40}\n{9,{e,f},40}\n{4,<<\"di\">>,5}\n'$end_of_table'\n\
         {3,cy,64}\n{1,ann,31}\n{1,ann,31}\n2\n{2,bo,17}\n{3,cy,64}\n0\n"
    );
    let out = run(&[
        "new scores ordered_set {index, judyesl}",
        "insert {70, a}, {20, b}, {50, c}",
        "nth 1",
        "nth scores 3",
        "rank 60",
        "count_between scores from 50",
        "count_between above 20 below 70",
    ]);
    assert!(out.ends_with("50\n'$end_of_table'\n2\n2\n1\n"), "{out}");
    assert!(fails("nth users 1").contains("lacks counts of keys"));
    assert!(fails("nth users -1").contains("no number from 0 on"));
    let out = run(&[
        "new paths ordered_set",
        "insert {{a, b, 1}, x}, {{a, c, 1}, y}, {<<\"abc\">>, z}, {[a, b], l}",
        "prefix {a, b, '_'}",
        "prefix paths {a, '_', '_'} keys",
        "prefix [a | '_']",
        "prefix <<\"ab\">>",
    ]);
    assert!(
        out.ends_with("{{a,b,1},x}\n{a,b,1}\n{a,c,1}\n{[a,b],l}\n{<<\"abc\">>,z}\n"),
        "{out}"
    );
    assert!(fails("prefix {a, '_', b}").contains("a prefix is {a, b, '_'}"));
    assert!(fails("delete_range users").contains("a bound is needed"));
    assert!(fails("range users form 1").contains("`form` makes no sense"));
    assert!(fails("delete_range users from 1 above 2").contains("two lower bounds"));
    assert!(fails("range users to 1 below 2").contains("two upper bounds"));
}

#[test]
fn a_specification_is_tried_on_one_object() {
    let spec = "[{{'$1','$2'},[{'>','$2',1}],[{{'$2','$1'}}]}]";
    assert_eq!(run(&[&format!("test_ms {{a, 2}} {spec}")]), "{2,a}\n");
    let out = run(&[&format!("ets:test_ms({{a, 1}}, {spec}).")]);
    assert_eq!(out, "no clause matches\n");
    let said = fails("test_ms {a, 1} [{{'$1'},[{'>','$2'}],[]}]");
    assert!(said.contains("clause 1, guard 1"), "{said}");
    assert!(said.contains("the body is empty"), "{said}");
}

/// A program at the other end of a pipe used to get the first 100 results.
#[test]
fn programs_get_all_results() {
    let objects: Vec<String> = (0..300).map(|i| format!("{{{i}, x}}")).collect();
    let insert = format!("insert t [{}]", objects.join(", "));
    let new = ["new t ordered_set", &insert];
    for query in ["select t where $2 == x return $1", "range t keys"] {
        let (out, _) = both(&[new[0], new[1], query]);
        assert!(out.ends_with("\n298\n299\n"), "{out}");
    }
    let (out, said) = both(&[new[0], new[1], "select t where $2 == x return $1 limit 250"]);
    assert!(out.ends_with("\n249\n"), "{out}");
    assert!(said.ends_with("of 300, returned 250\n"), "{said}");
}

#[test]
fn results_are_sorted() {
    for (query, wanted) in [
        ("select sort by $3 return $1", "4\n2\n1\n9\n3\n"),
        ("select return $1 sort by $3 desc limit 2", "3\n9\n"),
        (
            "select {$1, $2, $3} where $3 > 20 sort by is_atom($2), $3 desc return $1",
            "9\n3\n1\n",
        ),
        ("select_reverse sort by 1 return $1 limit 2", "9\n4\n"),
        ("select return $1 sort by - $1 threads 2 limit 1", "9\n"),
    ] {
        assert_eq!(run(&[query]), wanted, "{query}");
    }
    let (out, said) = both(&["explain sort by $3"]);
    assert!(
        out.starts_with("[{'_',[],[{{'$_',{element,3,'$_'}}}]}]\n"),
        "{out}"
    );
    assert_eq!(said, "");
}

#[test]
fn objects_are_grouped() {
    let more = "insert {5, ann, 9}, {6, bo, undefined}";
    for (query, wanted) in [
        ("select group by is_atom($2)", "{false,2}\n{true,5}\n"),
        (
            "select where is_atom($2) group by $2 return {$2, count(), sum($3), avg($3)} sort by count() desc, $2",
            "{ann,2,40,20.0}\n{bo,2,17,17.0}\n{cy,1,64,64.0}\n",
        ),
        (
            "select {_, $1, $2} where is_atom($1) group by $1 return #{$1 => [min($2) | max($2)]} limit 1",
            "#{ann => [9|31]}\n",
        ),
        (
            "select return {count(), count($3), sum($3) / count($3)}",
            "{7,6,27.666666666666668}\n",
        ),
        (
            "select where $1 > 100 return {count(), sum($3), max($3)}",
            "{0,0,undefined}\n",
        ),
        ("select where $1 > 100 group by $1", ""),
        ("select return max(count(), sum($1))", "30\n"),
    ] {
        let out = run(&[more, query]);
        assert_eq!(
            out.strip_prefix("true (2 inserted)\n"),
            Some(wanted),
            "{query}"
        );
    }
}

#[test]
fn wrong_groups_are_told() {
    for (query, said) in [
        (
            "select group by $2 return $3",
            "`$3` may differ within a group: put it into `group by`",
        ),
        (
            "select {$1, $2, _} group by $2 return {$2, $1}",
            "`$1` may differ within a group",
        ),
        (
            "select return sum(count())",
            "`sum` of an aggregate: they do not nest",
        ),
        (
            "select where sum($1) > 1",
            "`sum` is of a group: it stands in `return` and `sort by`",
        ),
        ("select return sum($2)", "sum: ann is no number"),
        (
            "select sort by count()",
            "an aggregate in `sort by` needs `group by`",
        ),
        ("select group $2", "expected `by`, found `$2`"),
        ("select_count group by $2", "found `group`"),
        ("select users [{'_',[],['$_']}] sort by $1", "found `sort`"),
        ("select return foo(count())", "foo"),
    ] {
        let error = fails(query);
        assert!(error.contains(said), "{query}: {error}");
    }
}

#[test]
fn the_time_is_told_on_request() {
    let (out, said) = both(&["timing", "timing on", "count", "timing off", "count"]);
    assert_eq!(out, "off\n5\n5\n");
    assert_eq!(said.matches("time: ").count(), 2, "{said}");
    assert!(fails("timing perhaps").contains("timing is on or off"));
}

#[test]
fn words_of_sql_find_what_erlang_finds() {
    for (command, found) in [
        (
            "select where $3 = 17 or $1 != 9 and $3 <= 5 return $1",
            "2\n4\n",
        ),
        ("select where $1 in (1, 9) return $1", "1\n9\n"),
        (
            "select where $1 not in [1, 9], $3 between 6 and 64 return $1",
            "2\n3\n",
        ),
        ("select where $2 like \"D%\" return $1", "4\n"),
        ("select where $2 like '%I' return $1", "4\n"),
        ("select where $2 like <<\"dI\">> return $1", "4\n"),
        ("select_count where $2 like \"d%d\"", "0\n"),
    ] {
        assert_eq!(run(&[command]), found, "{command}");
    }
    let (_, said) = both(&["select where $1 in (1, 9) return $1"]);
    assert!(said.starts_with("points 1; 9: visited 2"), "{said}");
    let (_, said) = both(&["select where $1 between 2 and 3 return $1"]);
    assert!(said.starts_with("range >= 2, =< 3: visited 2"), "{said}");
}

//! Tests of queries in words: their specifications, and the messages for wrong ones.

use fyris_term::Term;

use super::request::{Does, Request};
use crate::shell::error::ShellError;
use crate::shell::names::Columns;

fn parse(text: &str, at: usize, does: Does) -> Result<Request, ShellError> {
    super::parse(text, at, does, &Columns::default())
}

fn request(text: &str, does: Does) -> Request {
    parse(text, 0, does).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn spec(text: &str) -> String {
    request(text, Does::Show).spec.to_string()
}

/// Returns the guard that `where` makes of an expression.
fn guard(text: &str) -> String {
    let spec = spec(&format!("t {{$1, $2, $3}} where {text}"));
    let guard = spec.strip_prefix("[{{'$1','$2','$3'},[");
    let guard = guard.and_then(|guard| guard.strip_suffix("],['$_']}]"));
    guard.unwrap_or_else(|| panic!("{spec}")).to_owned()
}

fn problem(text: &str) -> String {
    match parse(text, 0, Does::Show) {
        Ok(request) => panic!("{text}: {request:?}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn words_become_a_specification() {
    for (text, meant) in [
        ("", "[{'_',[],['$_']}]"),
        (
            "t where $1 > 10 and is_atom($2) return {$1, $2} limit 20",
            "[{'_',[{'and',{'>',{element,1,'$_'},10},{is_atom,{element,2,'$_'}}}],\
             [{{{element,1,'$_'},{element,2,'$_'}}}]}]",
        ),
        (
            "t {$1, #{age => $2}, _} where $2 >= 18, $1 /= bo return $1",
            "[{{'$1',#{age => '$2'},'_'},[{'>=','$2',18},{'/=','$1',bo}],['$1']}]",
        ),
        ("t return $_", "[{'_',[],['$_']}]"),
        ("{a, $0} return $$", "[{{a,'$0'},[],['$$']}]"),
        (
            "t {$1} return #{k => [$1, b | $1]}",
            "[{{'$1'},[],[#{k => ['$1',b|'$1']}]}]",
        ),
        ("t [{{'$1'},[],['$1']}]", "[{{'$1'},[],['$1']}]"),
        ("t {$1} return node()", "[{{'$1'},[],[{node}]}]"),
    ] {
        assert_eq!(spec(text), meant, "{text}");
    }
}

#[test]
fn operators_bind_as_in_erlang() {
    for (text, meant) in [
        ("$1 + 2 * 3 == 7", "{'==',{'+','$1',{'*',2,3}},7}"),
        ("$1 - 2 - 3 < $2", "{'<',{'-',{'-','$1',2},3},'$2'}"),
        ("$1 rem 2 =:= 0", "{'=:=',{'rem','$1',2},0}"),
        ("$1 / 2 /= 3", "{'/=',{'/','$1',2},3}"),
        ("$1/=3", "{'/=','$1',3}"),
        ("-$1 < -3", "{'<',{'-','$1'},-3}"),
        ("$1-1 > - 2.5", "{'>',{'-','$1',1},-2.5}"),
        (
            "not $1 == a orelse $2 andalso $3",
            "{'orelse',{'==',{'not','$1'},a},{'andalso','$2','$3'}}",
        ),
        ("($1 or $2) and $3", "{'and',{'or','$1','$2'},'$3'}"),
        ("$1 or $2 and $3", "{'or','$1',{'and','$2','$3'}}"),
        (
            "$1 > 1 and $2 xor $3",
            "{'xor',{'and',{'>','$1',1},'$2'},'$3'}",
        ),
        ("bnot $1 band 7 == 1", "{'==',{'band',{'bnot','$1'},7},1}"),
        ("$1 bsl 2 + 1 =< 9", "{'=<',{'+',{'bsl','$1',2},1},9}"),
        (
            "map_get(k, $1) == <<\"a\">>",
            "{'==',{map_get,k,'$1'},<<\"a\">>}",
        ),
        (
            "$1 == {a, \"b\", [c | $2]}",
            "{'==','$1',{{a,[98],[c|'$2']}}}",
        ),
        ("$1 == '$1'", "{'==','$1',{const,'$1'}}"),
        ("$1 == $a", "{'==','$1',97}"),
        ("$1 == limit", "{'==','$1',limit}"),
        ("$1 == 16#ff % a comment", "{'==','$1',255}"),
    ] {
        assert_eq!(guard(text), meant, "{text}");
    }
}

#[test]
fn signs_and_words_of_sql_are_known() {
    for (text, meant) in [
        ("$1 = 3", "{'==','$1',3}"),
        (
            "$1 != 3, $1 <= 2 or $1 <> 1",
            "{'/=','$1',3},{'or',{'=<','$1',2},{'/=','$1',1}}",
        ),
        ("$1=<<\"a\">>", "{'==','$1',<<\"a\">>}"),
        ("$1=<<<\"a\">>", "{'=<','$1',<<\"a\">>}"),
        ("$1 in (3)", "{'==','$1',3}"),
        (
            "$1 not in [3, {a}] and $2",
            "{'and',{'not',{'orelse',{'==','$1',3},{'==','$1',{{a}}}}},'$2'}",
        ),
        ("$1 in ()", "false"),
        (
            "$1 between 1 and 2 + 7 and $2",
            "{'and',{'andalso',{'>=','$1',1},{'=<','$1',{'+',2,7}}},'$2'}",
        ),
        (
            "$1 like \"2-x\"",
            "{'andalso',{'andalso',{is_binary,'$1'},{'=:=',{byte_size,'$1'},3}},\
             {'=:=',{binary_part,'$1',0,2},<<\"2-\">>},\
             {'orelse',{'=:=',{binary_part,'$1',2,1},<<\"x\">>},{'=:=',{binary_part,'$1',2,1},<<\"X\">>}}}",
        ),
        (
            "$1 not like \"%\"",
            "{'not',{'andalso',{is_binary,'$1'},{'>=',{byte_size,'$1'},0}}}",
        ),
    ] {
        assert_eq!(guard(text), meant, "{text}");
    }
    let end = guard("$1 like <<\"1%2\">>");
    let part = "{binary_part,'$1',{'+',{'-',{byte_size,'$1'},1},0},1}";
    assert!(end.contains(part), "{end}");
}

#[test]
fn records_and_binaries_stand_for_themselves() {
    for (text, meant) in [
        (
            "t {#m:n{x = '$1', y = \"$1\", z = $a}, $1}",
            "[{{#m:n{x = '$1',y = \"$1\",z = 97},'$1'},[],['$_']}]",
        ),
        (
            "t {<<\"\\\"$1\", $\\$, $\", 1>>}",
            "[{{<<34,36,49,36,34,1>>},[],['$_']}]",
        ),
    ] {
        let meant = Term::parse(meant).expect(meant);
        assert_eq!(Term::parse(&spec(text)).as_ref(), Ok(&meant), "{text}");
    }
}

#[test]
fn options_come_in_any_order() {
    let text = "users threads 2 where $1 == 1 limit 7 spec.";
    let request = request(text, Does::Show);
    assert_eq!(request.table, Some(Term::atom("users")));
    assert_eq!((request.limit, request.threads), (Some(7), 2));
    assert!(request.show_spec);
    let quoted = parse("'where' where $1", 0, Does::Count).expect("a query");
    assert_eq!(quoted.table, Some(Term::atom("where")));
    assert_eq!(quoted.spec.to_string(), "[{'_',[{element,1,'$_'}],[true]}]");
}

#[test]
fn wrong_queries_are_told_where_and_what() {
    for (text, said) in [
        (
            "t where",
            "column 8: expected a value: a term, `$1`, `$_`, a call or `(`, found the end",
        ),
        (
            "t where $1 >",
            "column 13: expected a value: a term, `$1`, `$_`, a call or `(`, found the end",
        ),
        (
            "t were $1",
            "column 3: expected `where`, `return`, `group by`, `sort by`, `limit N`, `threads N`, `spec`, found `were`",
        ),
        (
            "t where $1 $2",
            "column 12: expected `return`, `group by`, `sort by`, an operator, `limit N`, `threads N`, `spec`, found `$2`",
        ),
        (
            "t where ($1 > 1]",
            "column 16: expected an operator or `)`, found `]`",
        ),
        (
            "t where $1 && $2",
            "column 12: expected `andalso`, found `&& $2`",
        ),
        (
            "t where $1 in 3",
            "column 15: expected values in `(...)` or `[...]`, found `3`",
        ),
        (
            "t where $1 between 1",
            "column 21: expected an operator or `and`, found the end",
        ),
        (
            "t where $1 like 3",
            "column 17: expected a text: \"Bo%\", found `3`",
        ),
        (
            "t where $1 like \"a%b%\"",
            "column 23: `like` here takes a text with one `%` at most, and no `_`: `SELECT ... WHERE ... LIKE` takes any",
        ),
        (
            "t where not $1 in (3)",
            "column 18: `not` stands before `in`: `age not in ...`",
        ),
        (
            "t where 1 in ($1, 2)",
            "column 21: `1 == 2` compares two constants: $N is element N",
        ),
        (
            "t where $1 < 2 < 3",
            "column 17: comparisons do not chain: write `A < B andalso B < C`",
        ),
        (
            "t where X > 3",
            "column 9: expected a value: a term, `$1`, `$_`, a call or `(`, found `X > 3`",
        ),
        ("t where $0 > 3", "column 9: elements count from `$1`"),
        (
            "t where $$ == 3",
            "column 9: `$$` means nothing without a pattern",
        ),
        (
            "t where $99999999999 > 3",
            "column 9: expected a number below 100000001 behind `$`, found `$99999999999 > 3`",
        ),
        (
            "t limit 0",
            "column 9: expected a number above zero, found `0`",
        ),
        (
            "t limit 3 limit 4",
            "column 11: expected `where`, `return`, `group by`, `sort by`, `threads N`, `spec`, found `limit`",
        ),
        (
            "t {$1, $_}",
            "column 8: expected a term, `_` or `$1`, found `$_}`",
        ),
        (
            "t {_, #m:n{x = [$1]}}",
            "column 17: a native record or a binary stands for itself, with no `$1`, `$_` or `$$` inside",
        ),
        (
            "t where $1 == <<$a, $1>>",
            "column 21: a native record or a binary stands for itself, with no `$1`, `$_` or `$$` inside",
        ),
        (
            "t {$1 + 1}",
            "column 7: expected `,`, an operator or `}`, found `+ 1}`",
        ),
    ] {
        assert_eq!(problem(text), said, "{text}");
    }
    let said = parse("t where $1", 0, Does::Replace).expect_err("no return");
    assert!(
        said.to_string()
            .contains("`return` and what takes the place")
    );
    assert!(parse("t return $1", 0, Does::Count).is_err());
}

/// An option that a command would not heed is refused: a deletion must not go further than it was told to.
#[test]
fn what_a_command_cannot_do_is_refused() {
    for (does, options) in [
        (Does::Show, ["limit 3", "threads 2", "spec"].as_slice()),
        (Does::Count, &["threads 2", "spec"]),
        (Does::Delete, &["spec"]),
    ] {
        for option in ["limit 3", "threads 2", "spec"] {
            for query in ["t where $1", "t [{'_',[],[true]}]"] {
                let read = parse(&format!("{query} {option}"), 0, does);
                assert_eq!(read.is_ok(), options.contains(&option), "{does:?} {option}");
            }
        }
    }
    assert!(parse("t {$1} return {$1} limit 3", 0, Does::Replace).is_err());
    let said = parse("t", 0, Does::Delete).expect_err("nothing said");
    assert!(said.to_string().contains("what to delete"), "{said}");
    for all in ["t {_}", "t [{'_',[],[true]}]"] {
        assert!(parse(all, 0, Does::Delete).is_ok(), "{all}");
    }
}

#[test]
fn an_open_bracket_waits_for_more() {
    for text in [
        "t where ($1 >",
        "t where f($1,",
        "t {$1,",
        "t return #{a =>",
        "t [{{'$1'},",
        "t where \"ab",
    ] {
        let incomplete = match parse(text, 0, Does::Show) {
            Err(ShellError::Syntax(error)) => error.incomplete,
            other => panic!("{text}: {other:?}"),
        };
        assert!(incomplete, "{text}");
    }
}

#[test]
fn depth_is_bounded() {
    for (open, close) in [
        ("(", ")"),
        ("{", "}"),
        ("[", "]"),
        ("f(", ")"),
        ("- ", ""),
        ("not ", ""),
    ] {
        let text = format!("t where {}1{}", open.repeat(100_000), close.repeat(100_000));
        assert!(
            problem(&text).ends_with("nested deeper than 200 levels"),
            "{open}"
        );
    }
    let chain = format!("t where 1{}", " + 1".repeat(100_000));
    assert!(problem(&chain).ends_with("nested deeper than 200 levels"));
    let pattern = format!("t {}1", "{".repeat(100_000));
    assert!(problem(&pattern).ends_with("nested deeper than 200 levels"));
    let fine = format!("t where {}1{}", "(".repeat(150), ")".repeat(150));
    assert_eq!(spec(&fine), "[{'_',[1],['$_']}]");
}

/// Pieces of queries in any order: an answer or an error, never anything else, and what is accepted can be read back.
#[test]
fn any_text_is_a_query_or_an_error() {
    const PIECES: [&str; 40] = [
        "where", "return", "limit", "threads", "spec", "t", "'t'", "{", "}", "[", "]", "(", ")",
        "#{", "=>", ",", "|", "$1", "$2", "$_", "$$", "_", "X", "1", "-", "2.5", "+", "*", "/",
        "/=", "=<", "==", "=", "andalso", "not", "is_atom(", "<<1>>", "\"ab", "% c\n", "é",
    ];
    let (mut state, mut accepted) = (20_261_121_u64, 0);
    let mut below = |n: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as usize % n
    };
    for _ in 0..50_000 {
        let count = 1 + below(10);
        let text: Vec<&str> = (0..count).map(|_| PIECES[below(PIECES.len())]).collect();
        let text = format!("t where {}", text.join([" ", ""][below(2)]));
        if let Ok(request) = parse(&text, 0, Does::Show) {
            accepted += 1;
            let again = Term::parse(&request.spec.to_string()).expect("what was printed");
            assert_eq!(again, request.spec, "{text}");
        }
    }
    assert!(accepted > 500, "{accepted} accepted");
}

#[test]
fn columns_are_elements() {
    let mut columns = Columns::default();
    let names = ["name", "age", "Kind"].map(str::to_owned);
    columns.set("t", names.to_vec(), vec!["Kind".to_owned()]);
    let spec = |text: &str| {
        let request = super::parse(text, 0, Does::Show, &columns);
        let request = request.unwrap_or_else(|error| panic!("{text}: {error}"));
        (request.spec.to_string(), request.doubts)
    };
    for (text, meant) in [
        (
            "t where age > 80 return {name, Kind}",
            "[{'_',[{'>',{element,2,'$_'},80}],[{{{element,1,'$_'},{element,3,'$_'}}}]}]",
        ),
        (
            "t where Kind == 'age' or Kind == undefined or name == false",
            "[{'_',[{'or',{'or',{'==',{element,3,'$_'},age},{'==',{element,3,'$_'},undefined}},\
             {'==',{element,1,'$_'},false}}],['$_']}]",
        ),
        // The key of a map may be any word.
        (
            "t return #{years => age, age => 1}",
            "[{'_',[],[#{years => {element,2,'$_'},{element,2,'$_'} => 1}]}]",
        ),
        // Behind a pattern there are its variables.
        ("t {$1, age, _}", "[{{'$1',age,'_'},[],['$_']}]"),
        (
            "t {$1, _, _} where $1 == age",
            "[{{'$1','_','_'},[{'==','$1',age}],['$_']}]",
        ),
        // Another table has none.
        (
            "u where $2 == age",
            "[{'_',[{'==',{element,2,'$_'},age}],['$_']}]",
        ),
    ] {
        assert_eq!(spec(text), (meant.to_owned(), vec![]), "{text}");
    }
    let (_, doubts) = spec("u where $1 =< age");
    assert_eq!(
        doubts,
        ["`age` is an atom here, and no column: `$N` is element N"]
    );
    let (_, doubts) = spec("t where name == \"Ann\" and age =/= 7");
    assert_eq!(
        doubts,
        ["`\"Ann\"` is a list of characters: texts in columns are binaries, `<<\"Ann\">>`"]
    );
    for text in ["t where name == 'Bo'", "t where not ('Bo' =/= name)"] {
        let (_, doubts) = spec(text);
        let doubt = "`'Bo'` is an atom: texts in columns are binaries, `<<\"Bo\">>`";
        assert_eq!(doubts, [doubt], "{text}");
    }
    columns.refresh(Some("t".to_owned()), &["t".to_owned()]);
    let request = super::parse("where age > 1", 0, Does::Count, &columns).expect("a query");
    assert!(request.doubts.is_empty() && request.spec.to_string().contains("{element,2,"));
}

#[test]
fn any_column_can_be_said() {
    let mut columns = Columns::default();
    let names = ["first name", "zip-code", "a`b", "not", "net.amount"].map(str::to_owned);
    columns.set("t", names.to_vec(), vec![]);
    let parsed = |text: &str| {
        let request = super::parse(text, 0, Does::Show, &columns);
        request.map(|request| request.spec.to_string())
    };
    let refused = |text: &str| parsed(text).expect_err(text).to_string();
    for (text, place) in [
        ("t return `first name`", 1),
        ("t return `zip-code`", 2),
        ("t return `a``b`", 3),
        ("t return `not`", 4),
        ("t return `net.amount`", 5),
    ] {
        let wanted = format!("[{{'_',[],[{{element,{place},'$_'}}]}}]");
        assert_eq!(parsed(text).expect(text), wanted, "{text}");
    }
    let known = "the columns are `first name`, `zip-code`, `a``b`, `not`, `net.amount`";
    for (text, problem) in [
        ("t where `first nam` == 1", "`first nam` is no column"),
        ("t where `first nam` == 1", known),
        ("t where `first name == 1", "a ` is not closed"),
        (
            "t {$1} where `first name` == 1",
            "behind a pattern columns have no names",
        ),
        (
            "t where \"first name\" == <<\"Bo\">>",
            "; the column is written `first name`",
        ),
        (
            "t return {`first name`, count()}",
            "`first name` may differ within a group",
        ),
        ("u where `a` == 1", "`a` is no column"),
    ] {
        let said = refused(text);
        assert!(said.contains(problem), "{text}: {said}");
    }
}

/// A word that is no column, a comparison of constants and, where something would change, what is doubted.
#[test]
fn slips_are_refused() {
    let mut columns = Columns::default();
    let names = ["name", "age", "city"].map(str::to_owned);
    columns.set("t", names.to_vec(), vec![]);
    let refused = |text: &str, does| match super::parse(text, 0, does, &columns) {
        Err(error) => error.to_string(),
        Ok(request) => panic!("{text}: {}", request.spec),
    };
    let known = "the columns are name, age, city, and an atom is written";
    for (text, word, near) in [
        ("t where agee > 50", "agee", " (did you mean `age`?)"),
        (
            "t where age > 50 and cty == 1",
            "cty",
            " (did you mean `city`?)",
        ),
        ("t where name == somebody", "somebody", ""),
        ("t return nme", "nme", " (did you mean `name`?)"),
        ("t return {total, count()}", "total", ""),
        ("t sort by agge desc", "agge", " (did you mean `age`?)"),
        ("t return {count()} group by cities", "cities", ""),
    ] {
        let said = refused(text, Does::Show);
        let expected = format!("`{word}` is no column{near}; {known} '{word}'");
        assert!(said.contains(&expected), "{text}: {said}");
    }
    for text in [
        "t where 1 == 2",
        "t where 'age' > 50",
        "t where age > 1 and <<\"a\">> =/= <<\"b\">>",
        "t where {'a', [1]} == {'b', [2]}",
        "u where age == 50",
    ] {
        let said = refused(text, Does::Count);
        assert!(said.contains("compares two constants"), "{text}: {said}");
    }
    for (text, does) in [
        ("t where city == 'Oslo'", Does::Delete),
        ("t where city =/= \"Oslo\"", Does::Delete),
        (
            "t where age > {'a', name} and city == 'Oslo' return {name, age, city}",
            Does::Replace,
        ),
        ("u where $2 > old", Does::Delete),
    ] {
        let said = refused(text, does);
        assert!(said.contains("so nothing is changed"), "{text}: {said}");
    }
    // A pattern means what it says.
    assert!(super::parse("t {'Oslo', agee, _}", 0, Does::Delete, &columns).is_ok());
}

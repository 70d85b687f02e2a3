//! A plan narrows what is visited and never what is found: random specifications over random tables, against a
//! run over the list of all objects, in every form that an operation has.

use fyris::{
    Machine, MatchSpec, Options, Owner, PlanKind, Store, Table, TableType, match_spec_run,
};
use fyris_query::arbitrary::{Case, case};
use fyris_term::Term;
use proptest::prelude::*;

const KINDS: [TableType; 4] = [
    TableType::Set,
    TableType::OrderedSet,
    TableType::Bag,
    TableType::DuplicateBag,
];

fn filled(owner: &Owner, kind: TableType, case: &Case) -> Table {
    let options = Options::new(kind).keypos(case.keypos);
    let table = owner.new_table("t", &options).unwrap();
    for object in &case.objects {
        // Some are too short.
        let _ = table.insert(object);
    }
    table
}

fn in_order(table: &Table, mut results: Vec<Term>) -> Vec<Term> {
    if table.table_type() != TableType::OrderedSet {
        results.sort_by(Term::cmp_exact);
    }
    results
}

fn reversed(mut results: Vec<Term>) -> Vec<Term> {
    results.reverse();
    results
}

fn by_chunks(table: &Table, spec: &MatchSpec, limit: usize, back: bool) -> Vec<Term> {
    let mut chunk = match back {
        true => table.select_reverse_limit(spec, limit).unwrap(),
        false => table.select_limit(spec, limit).unwrap(),
    };
    let mut all = Vec::new();
    loop {
        all.append(&mut chunk.results);
        match chunk.next {
            Some(next) => chunk = next.next().unwrap(),
            None => return all,
        }
    }
}

fn check_reading(table: &Table, spec: &MatchSpec, limit: usize) {
    let all = table.tab2list().unwrap();
    let want = in_order(table, match_spec_run(&all, spec));
    let same = |found: Vec<Term>, how: &str| {
        let found = in_order(table, found);
        assert_eq!(
            found,
            want,
            "{how} of {spec:?} by {:?}",
            table.explain(spec)
        );
    };
    same(table.select(spec).unwrap(), "select");
    same(by_chunks(table, spec, limit, false), "chunks");
    let back = table.select_reverse(spec).unwrap();
    same(reversed(back), "select_reverse");
    same(
        reversed(by_chunks(table, spec, limit, true)),
        "reverse chunks",
    );
    let mut query = table.query(spec).threads(2);
    query.run().unwrap();
    same(query.take(), "threads");
    let trues = want.iter().filter(|t| **t == Term::atom("true")).count();
    assert_eq!(table.select_count(spec), Ok(trues));
}

fn check_deleting(table: &Table, spec: &MatchSpec) {
    let machine = Machine::default();
    let stays = |o: &Term| spec.run_term(o, &machine) != Some(Term::atom("true"));
    let all = table.tab2list().unwrap();
    let left: Vec<_> = all.iter().filter(|o| stays(o)).cloned().collect();
    assert_eq!(table.select_delete(spec), Ok(all.len() - left.len()));
    assert_eq!(
        in_order(table, table.tab2list().unwrap()),
        in_order(table, left)
    );
}

fn check_replacing(table: &Table, spec: &MatchSpec) {
    if table.table_type() == TableType::Bag || spec.preserves_key(table.keypos()).is_err() {
        return;
    }
    let machine = Machine::default();
    let new = |o: &Term| spec.run_term(o, &machine).unwrap_or_else(|| o.clone());
    let want: Vec<_> = table.tab2list().unwrap().iter().map(new).collect();
    // A body that fails is worth 'EXIT', which is no object.
    if table.select_replace(spec).is_ok() {
        assert_eq!(
            in_order(table, table.tab2list().unwrap()),
            in_order(table, want)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn no_plan_changes_an_answer(case in case(), limit in 1usize..5) {
        let Ok(spec) = MatchSpec::new(&case.spec) else { return Ok(()) };
        let owner = Store::new().owner();
        for kind in KINDS {
            let table = filled(&owner, kind, &case);
            check_reading(&table, &spec, limit);
            check_replacing(&table, &spec);
            check_deleting(&table, &spec);
        }
    }
}

fn table_of_users(owner: &Owner) -> Table {
    let table = owner.new_table("t", &Options::ordered_set()).unwrap();
    for user in 0..50 {
        for n in 0..40 {
            let key = Term::tuple(vec![Term::Int(user), Term::Int(n)]);
            table.insert(&Term::tuple(vec![key, Term::Int(n)])).unwrap();
        }
    }
    table
}

/// Queries visit the objects of their plan, and not the table.
#[test]
fn plans_visit_what_they_must() {
    let owner = Store::new().owner();
    let table = table_of_users(&owner);
    for (text, kind, visits) in [
        ("[{{{7,8},'_'},[],['$_']}]", PlanKind::Point, 1..=1),
        (
            "[{{{7,8},'_'},[],['$_']},{{{9,8},'_'},[],['$_']}]",
            PlanKind::Points,
            2..=2,
        ),
        ("[{{{7,'_'},'_'},[],['$_']}]", PlanKind::Prefix, 40..=40),
        (
            "[{{{7,'$1'},'_'},[{'<','$1',10}],['$_']}]",
            PlanKind::Range,
            10..=10,
        ),
        (
            "[{{'$1','_'},[{is_tuple,'$1'}],['$_']}]",
            PlanKind::FullScan,
            2000..=2000,
        ),
    ] {
        let spec = MatchSpec::new(&Term::parse(text).unwrap()).unwrap();
        let mut query = table.query(&spec);
        query.run().unwrap();
        let explained = table.explain(&spec).unwrap();
        assert_eq!(explained.kind, kind, "{text}");
        assert!(
            visits.contains(&query.visited()),
            "{text}: {}",
            query.visited()
        );
        assert!(
            visits.contains(&(explained.estimated as u64)),
            "{text}: {explained:?}"
        );
        assert_eq!(explained.size, 2000);
    }
    // Too many to be counted: guessed.
    let spec = "[{{{'$1','_'},'_'},[{'<','$1',25}],['$_']}]";
    let spec = MatchSpec::new(&Term::parse(spec).unwrap()).unwrap();
    let guess = table.explain(&spec).unwrap().estimated;
    assert!((500..=2000).contains(&guess), "{guess} of 1000");
}

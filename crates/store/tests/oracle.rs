//! The real `ets` as the oracle: the same random commands there and here, every reply compared.
//!
//! Needs `escript` (any OTP from 25 on); without it the test says so and passes. All tables' commands go to
//! one Erlang process as one term, and the replies come back as one.

mod common;

use std::process::{Command as Process, Stdio};

use common::{Command, Dialect, KINDS, command, int, settled, tuple};
use fyris::Store;
use fyris_term::{Term, etf};
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestRunner};

const TABLES: usize = 64;
const COMMANDS: usize = 400;

const SCRIPT: &str = r#"
main([In, Out]) ->
    {ok, Bytes} = file:read_file(In),
    Replies = [table(T) || T <- binary_to_term(Bytes)],
    ok = file:write_file(Out, term_to_binary(Replies)).

table({Type, KeyPos, Commands}) ->
    T = ets:new(t, [Type, {keypos, KeyPos}]),
    Replies = [command(T, Op, Args) || {Op, Args} <- Commands],
    ets:delete(T),
    Replies.

command(T, size, []) -> {ok, ets:info(T, size)};
command(T, Op, Args) ->
    try {ok, apply(ets, Op, [T | Args])} catch error:Why -> {error, Why} end.
"#;

fn random(runner: &mut TestRunner, d: Dialect) -> Vec<Command> {
    let strategy = command(d);
    (0..COMMANDS)
        .map(|_| strategy.new_tree(runner).expect("a command").current())
        .collect()
}

fn request(d: Dialect, commands: &[Command]) -> Term {
    let one = |c: &Command| tuple([Term::atom(c.op), Term::list(c.args.clone())]);
    let list = Term::List(commands.iter().map(one).collect());
    tuple([Term::atom(d.kind.as_str()), int(d.keypos as i64), list])
}

fn ask(request: &Term) -> Option<Term> {
    let there = Process::new("escript")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    if there.is_err() {
        eprintln!("skipped: no escript here");
        return None;
    }
    let dir = std::env::temp_dir().join(format!("fyris-oracle-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a temporary directory");
    let path = |name: &str| dir.join(name);
    std::fs::write(
        path("oracle.escript"),
        format!("#!/usr/bin/env escript\n{SCRIPT}"),
    )
    .unwrap();
    std::fs::write(path("in"), etf::encode(request)).unwrap();
    let status = Process::new("escript")
        .args([path("oracle.escript"), path("in"), path("out")])
        .status()
        .expect("escript runs");
    assert!(status.success());
    let reply = std::fs::read(path("out")).unwrap();
    let _ = std::fs::remove_dir_all(&dir);
    Some(etf::decode(&reply).expect("what term_to_binary wrote"))
}

fn list(term: &Term) -> &[Term] {
    match term {
        Term::List(list) => list,
        other => panic!("a list, not {other:?}"),
    }
}

#[test]
fn answers_as_ets() {
    let config = Config {
        rng_seed: RngSeed::Fixed(20261121),
        ..Config::default()
    };
    let mut runner = TestRunner::new(config);
    let dialect = |i: usize| Dialect {
        kind: KINDS[i % 4],
        keypos: 1 + i / 4 % 3,
        otp25: true,
    };
    let tables: Vec<(Dialect, Vec<Command>)> = (0..TABLES)
        .map(|i| (dialect(i), random(&mut runner, dialect(i))))
        .collect();
    let request = Term::List(tables.iter().map(|(d, c)| request(*d, c)).collect());
    let Some(replies) = ask(&request) else { return };
    let owner = Store::new().owner();
    let mut compared = 0;
    for ((d, commands), replies) in tables.iter().zip(list(&replies)) {
        let table = common::new_table(&owner, *d);
        for (i, (command, want)) in commands.iter().zip(list(replies)).enumerate() {
            let got = settled(*d, command, common::run(&table, command));
            let want = settled(*d, command, want.clone());
            assert_eq!(
                got,
                want,
                "{d:?}, command {i}: {command:?}\nbefore: {:?}",
                &commands[i.saturating_sub(3)..i]
            );
            compared += 1;
        }
    }
    assert!(compared >= 20_000, "{compared} commands compared");
}

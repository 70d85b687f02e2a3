//! Terms of many levels.

use fyris_term::{Atom, Definition, Fun, LocalFun, Map, NativeRecord, Pid, Term};

/// More than any stack takes.
pub(crate) const LEVELS: usize = 1_000_000;

/// Runs on a stack of 64 kB, as small as threads have them.
pub(crate) fn on_a_small_stack(run: impl FnOnce() + Send + 'static) {
    on_a_stack(64 << 10, run);
}

pub(crate) fn on_a_stack(bytes: usize, run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(bytes);
    thread
        .spawn(run)
        .expect("a thread")
        .join()
        .expect("no panic");
}

/// Returns terms of `levels` levels: tuples, lists in heads, maps in maps; and of some thousand levels of each other
/// kind of container, and of all in turn.
pub(crate) fn towers(levels: usize) -> impl Iterator<Item = Term> {
    let kinds: [fn(usize, Term) -> Term; 9] = [
        |_, inner| Term::tuple([inner]),
        |_, inner| Term::list([inner, Term::Int(3)]),
        |_, inner| Term::Map(Map::new([(Term::atom("a"), inner)])),
        |level, inner| match level % 6 {
            0 => Term::tuple([inner]),
            1 => Term::list([inner]),
            2 => Term::Map(Map::new([(inner, Term::list([]))])),
            3 => Term::improper([inner], Term::Float(fyris_term::Float::ZERO)),
            4 => record(inner),
            _ => closure(inner),
        },
        |_, inner| Term::tuple([Term::Int(1), inner, Term::Int(2)]),
        |_, inner| Term::improper([Term::Int(4)], Term::tuple([inner])),
        |_, inner| Term::Map(Map::new([(inner, Term::Int(5))])),
        |_, inner| closure(inner),
        |_, inner| record(inner),
    ];
    kinds.into_iter().enumerate().map(move |(at, kind)| {
        let levels = if at < 3 { levels } else { levels / 50 };
        (0..levels).fold(Term::Int(0), |inner, level| kind(level, inner))
    })
}

fn record(inner: Term) -> Term {
    let [module, name, field] = ["m", "n", "f"].map(Atom::word);
    let definition = Definition::new(module, name, true, &[field]).expect("no field twice");
    Term::from(NativeRecord::new(definition, [inner]).expect("one value"))
}

fn closure(inner: Term) -> Term {
    let module = Atom::new("m").expect("an atom");
    Term::Fun(Box::new(Fun::Local(LocalFun {
        module,
        arity: 0,
        uniq: [0; 16],
        index: 0,
        old_index: 0,
        old_uniq: 0,
        creator: Pid {
            node: module,
            id: 0,
            serial: 0,
            creation: 0,
        },
        free: [inner].into(),
    })))
}

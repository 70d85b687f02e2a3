//! Random programs over two tables of every type, interleaved in one thread, and run by threads.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fyris::{Error, Table, TableType};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::serial::{
    Done, How, Model, Op, Program, World, interleave, is_serial, kinds_of, run, store, within,
};

pub(crate) const TYPES: [TableType; 4] = [
    TableType::Set,
    TableType::OrderedSet,
    TableType::Bag,
    TableType::DuplicateBag,
];

/// The keys of programs: few, so that they meet.
pub(crate) const KEYS: i64 = 5;

pub(crate) fn seed() -> u64 {
    std::env::var("SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(1)
}

pub(crate) fn millis() -> u64 {
    std::env::var("MILLIS")
        .ok()
        .and_then(|millis| millis.parse().ok())
        .unwrap_or(1500)
}

fn op(rng: &mut StdRng, kind: TableType, plain: bool) -> Op {
    let (t, k, v) = (
        rng.random_range(0..2),
        rng.random_range(0..KEYS),
        rng.random_range(0..9),
    );
    let list = |rng: &mut StdRng| -> Vec<(i64, i64)> {
        let many = rng.random_range(1..4);
        (0..many)
            .map(|_| (rng.random_range(0..KEYS), rng.random_range(0..9)))
            .collect()
    };
    let ordered = kind == TableType::OrderedSet;
    loop {
        return match rng.random_range(0..23) {
            0..3 => Op::Get(t, k),
            3..6 => Op::Put(t, k, v),
            6 => Op::New(t, k, v),
            7 => Op::Del(t, k),
            8 => Op::Take(t, k),
            9 if !kind.is_bag() => Op::Add(t, k, v),
            10 => Op::Puts(t, list(rng)),
            11 => Op::News(t, list(rng)),
            12 if !plain => Op::All(t),
            13 if !plain => Op::Len(t),
            14 if !plain => Op::Above(t, v),
            15 if !plain => Op::DelAbove(t, v),
            16 if ordered => {
                let options = (rng.random_range(1..4), rng.random());
                Op::Range(t, k, k + rng.random_range(-1..3), options.0, options.1)
            }
            17 if ordered && !plain => Op::DelRange(t, k, k + 1),
            18 if ordered => Op::Next(t, rng.random_bool(0.6).then_some(k)),
            19 if ordered => Op::Prev(t, rng.random_bool(0.6).then_some(k)),
            16 if plain => Op::Clear(t),
            20 | 21 if !plain => Op::By(t, v),
            22 if !plain => Op::DelBy(t, v),
            _ => continue,
        };
    }
}

pub(crate) fn program(rng: &mut StdRng, kind: TableType) -> Program {
    let how = match rng.random_range(0..8) {
        0 | 1 => How::Plain,
        2 => How::Snapshots,
        3 => How::Abort,
        _ => How::Commit,
    };
    let steps = if how == How::Plain {
        1
    } else {
        rng.random_range(1..5)
    };
    let mut ops: Vec<Op> = (0..steps)
        .map(|_| op(rng, kind, how == How::Plain))
        .collect();
    if how == How::Snapshots {
        for op in &mut ops {
            let t = rng.random_range(0..2);
            *op = match rng.random_range(0..5) {
                0 => Op::Len(t),
                1 => Op::Get(t, rng.random_range(0..KEYS)),
                4 => Op::By(t, rng.random_range(0..9)),
                2 if kind == TableType::OrderedSet => Op::Range(t, 1, 3, 2, rng.random()),
                _ => Op::All(t),
            };
        }
    }
    Program { how, ops }
}

/// In the one of sixteen rounds that has many keys: those of programs are this far apart.
const FAR: i64 = 1000;

fn far(op: &Op) -> Op {
    let f = |k: &i64| k * FAR;
    let list = |list: &[(i64, i64)]| list.iter().map(|&(k, v)| (k * FAR, v)).collect();
    match op {
        Op::Get(t, k) => Op::Get(*t, f(k)),
        Op::Put(t, k, v) => Op::Put(*t, f(k), *v),
        Op::New(t, k, v) => Op::New(*t, f(k), *v),
        Op::Del(t, k) => Op::Del(*t, f(k)),
        Op::Take(t, k) => Op::Take(*t, f(k)),
        Op::Add(t, k, v) => Op::Add(*t, f(k), *v),
        Op::Puts(t, l) => Op::Puts(*t, list(l)),
        Op::News(t, l) => Op::News(*t, list(l)),
        Op::Range(t, a, b, limit, back) => Op::Range(*t, f(a), f(b), *limit * 200, *back),
        Op::DelRange(t, a, b) => Op::DelRange(*t, f(a), f(b)),
        Op::Next(t, k) => Op::Next(*t, k.as_ref().map(f)),
        Op::Prev(t, k) => Op::Prev(*t, k.as_ref().map(f)),
        other => other.clone(),
    }
}

fn fill(rng: &mut StdRng, begin: &mut Model) {
    *begin = std::mem::take(begin)
        .into_iter()
        .map(|((t, k), v)| ((t, k * FAR), v))
        .collect();
    let t = rng.random_range(0..2);
    for k in 0..KEYS {
        for n in 1..=rng.random_range(1..400) {
            begin.insert((t, k * FAR + n), vec![7]);
        }
    }
}

pub(crate) fn model(rng: &mut StdRng) -> Model {
    let mut model = Model::new();
    for _ in 0..rng.random_range(0..8) {
        let at = (rng.random_range(0..2), rng.random_range(0..KEYS));
        model.insert(at, vec![rng.random_range(0..9)]);
    }
    model
}

#[test]
fn interleaved_programs_are_serial() {
    let (store, kinds) = (store(), kinds_of(&TYPES));
    let mut rng = StdRng::seed_from_u64(seed());
    let (until, mut rounds, mut conflicts, mut all) =
        (Instant::now() + Duration::from_millis(millis()), 0, 0, 0);
    while Instant::now() < until {
        let kind = &kinds[rng.random_range(0..kinds.len())];
        let mut begin = model(&mut rng);
        let is_far = rng.random_range(0..16) == 0;
        if is_far {
            fill(&mut rng, &mut begin);
        }
        let world = World::new(&store, kind, &begin);
        let many = rng.random_range(2..5);
        let mut programs: Vec<_> = (0..many).map(|_| program(&mut rng, world.kind())).collect();
        if is_far {
            programs
                .iter_mut()
                .flat_map(|program| &mut program.ops)
                .for_each(|op| *op = far(op));
        }
        let mut order: Vec<usize> = Vec::new();
        for (at, program) in programs.iter().enumerate() {
            order.extend(std::iter::repeat_n(at, program.ops.len() + 1));
        }
        for at in (1..order.len()).rev() {
            order.swap(at, rng.random_range(0..=at));
        }
        let opened = rng.random();
        let outcome = interleave(&world, &programs, &order, opened);
        let end = world.content();
        assert!(
            is_serial(&begin, world.kind(), &outcome.done, &end),
            "round {rounds}, {kind:?}, {opened}\n{begin:?}\n{programs:?}\n{order:?}\n{outcome:?}\nend {end:?}"
        );
        rounds += 1;
        conflicts += outcome.conflicts;
        all += outcome.done.len();
    }
    println!("{rounds} rounds, {all} done, {conflicts} conflicts");
}

/// Runs a program, and returns what it has done, `None` if it met a conflict, or was given up.
pub(crate) fn work(
    world: &World,
    program: &Program,
    clock: &AtomicU64,
) -> Result<Option<Done>, String> {
    let live: Vec<&Table> = world.tables.iter().collect();
    let from = clock.fetch_add(1, Ordering::SeqCst);
    let done = |results| {
        let to = clock.fetch_add(1, Ordering::SeqCst);
        Some(Done {
            ops: program.ops.clone(),
            results,
            from,
            to,
        })
    };
    let each = |f: &dyn Fn(&Op) -> fyris::Result<Vec<i64>>| -> fyris::Result<Vec<Vec<i64>>> {
        program.ops.iter().map(f).collect()
    };
    let result = match program.how {
        How::Plain => each(&|op| run(&live, op)).map(done),
        How::Snapshots => world.store.snapshots(&live).and_then(|taken| {
            let tables: Vec<&Table> = taken.iter().map(|taken| &**taken).collect();
            each(&|op| run(&tables, op)).map(done)
        }),
        How::Abort => {
            let transaction = world.store.begin();
            each(&|op| within(&transaction, &live, op)).map(|_| None)
        }
        How::Commit => {
            let transaction = world.store.begin();
            let results = each(&|op| within(&transaction, &live, op));
            results.and_then(|results| transaction.commit().map(|()| done(results)))
        }
    };
    match result {
        Ok(done) => Ok(done),
        Err(Error::Conflict { .. }) => Ok(None),
        Err(error) => Err(format!("{error:?}")),
    }
}

#[test]
fn programs_of_threads_are_serial() {
    const THREADS: usize = 4;
    let (store, kinds) = (store(), kinds_of(&TYPES));
    let mut rng = StdRng::seed_from_u64(seed());
    let until = Instant::now() + Duration::from_millis(millis());
    let (mut rounds, mut all, mut wrong) = (0, 0, String::new());
    // What the threads work on in a round, and what has come of it.
    struct Round {
        world: World,
        programs: Vec<Vec<Program>>,
    }
    let round: Mutex<Option<std::sync::Arc<Round>>> = Mutex::new(None);
    let (number, ready, stop) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let clock = AtomicU64::new(0);
    let outcome: Mutex<Vec<Result<Option<Done>, String>>> = Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for me in 0..THREADS {
            let (round, number, ready, stop, clock, outcome) =
                (&round, &number, &ready, &stop, &clock, &outcome);
            s.spawn(move || {
                let mut last = 0;
                while !stop.load(Ordering::SeqCst) {
                    let now = number.load(Ordering::SeqCst);
                    if now == last {
                        std::thread::yield_now();
                        continue;
                    }
                    last = now;
                    let mine = round.lock().map(|round| round.clone()).ok().flatten();
                    let Some(mine) = mine else { continue };
                    for program in &mine.programs[me] {
                        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                            work(&mine.world, program, clock)
                        }));
                        let result = result.unwrap_or_else(|_| Err("panicked".to_owned()));
                        outcome.lock().map(|mut all| all.push(result)).ok();
                    }
                    drop(mine);
                    ready.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
        while Instant::now() < until && wrong.is_empty() {
            let kind = &kinds[rng.random_range(0..kinds.len())];
            let begin = model(&mut rng);
            let world = World::new(&store, kind, &begin);
            let kind_of = world.kind();
            let mut busy = rng.random_range(2..=THREADS);
            if rng.random_bool(0.5) {
                busy = 2;
            }
            let programs = (0..THREADS).map(|at| {
                let many = if at < busy { rng.random_range(1..3) } else { 0 };
                (0..many).map(|_| program(&mut rng, kind_of)).collect()
            });
            let programs = programs.collect();
            let this = std::sync::Arc::new(Round { world, programs });
            *round.lock().expect("no panic") = Some(this.clone());
            ready.store(0, Ordering::SeqCst);
            number.fetch_add(1, Ordering::SeqCst);
            while ready.load(Ordering::SeqCst) < THREADS as u64 {
                std::thread::yield_now();
            }
            let results = std::mem::take(&mut *outcome.lock().expect("no panic"));
            let end =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| this.world.content()));
            let Ok(end) = end else {
                let programs = &this.programs;
                wrong =
                    format!("len is wrong at the end: {kind:?} {begin:?} {programs:?} {results:?}");
                break;
            };
            let mut done = Vec::new();
            for result in &results {
                match result {
                    Ok(this) => done.extend(this.clone()),
                    Err(error) => {
                        let programs = &this.programs;
                        wrong = format!("{error}: {kind:?} {begin:?} {programs:?}");
                    }
                }
            }
            if wrong.is_empty() && !is_serial(&begin, kind_of, &done, &end) {
                let mut done = done.clone();
                done.sort_by_key(|done| done.from);
                let lines: Vec<_> = done.iter().map(|done| format!("{done:?}\n")).collect();
                let (lines, programs) = (lines.concat(), &this.programs);
                wrong = format!(
                    "round {rounds}: {kind:?}\n{begin:?}\n{lines}end {end:?}\n{programs:?}"
                );
            }
            rounds += 1;
            all += done.len();
        }
        stop.store(true, Ordering::SeqCst);
    });
    assert!(wrong.is_empty(), "{wrong}");
    println!("{rounds} rounds, {all} done");
}

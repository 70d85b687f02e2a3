//! Subscriptions follow tables that threads write to in all ways: each change goes on from what the ones before have
//! left, and at the end they have what the tables have.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use fyris::{
    BatchOp, Options, SubscribeOptions, Subscription, Table, TableRef, Term, WatchFilter,
    WatchKind, term,
};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};

use crate::random::{KEYS, TYPES, millis, model, program, seed, work};
use crate::serial::{Model, World, kinds_of, pair, store};

/// A copy of both tables of a world, kept by a subscription.
struct Copy {
    name: &'static str,
    changes: Subscription,
    tables: [TableRef; 2],
    model: Model,
    /// Which objects it has: of this key, or of at least this value.
    key: Option<i64>,
    least: Option<i64>,
    seq: u64,
    is_current: bool,
}

impl Copy {
    fn new(name: &'static str, world: &World, filter: WatchFilter) -> Copy {
        let mut options = SubscribeOptions::new().queue(usize::MAX).from_snapshot();
        if name.starts_with("newest") {
            options = options.conflate();
        }
        let tables: Vec<&Table> = world.tables.iter().collect();
        let changes = world
            .store
            .subscribe(&tables, &filter, &options)
            .expect("live tables");
        Copy {
            name,
            changes,
            tables: [0, 1].map(|at| world.tables[at].reference()),
            model: Model::new(),
            key: None,
            least: None,
            seq: 0,
            is_current: false,
        }
    }

    fn at(&self, table: TableRef) -> usize {
        self.tables
            .iter()
            .position(|&known| known == table)
            .expect("one of two")
    }

    /// Returns whether an object is one of those that it is told of by itself.
    fn has(&self, (key, value): (i64, i64)) -> bool {
        self.key.is_none_or(|of| of == key) && self.least.is_none_or(|least| value >= least)
    }

    fn add(&mut self, table: usize, object: &Term) {
        let (key, value) = pair(object);
        if self.has((key, value)) {
            self.model.entry((table, key)).or_default().push(value);
        }
    }

    /// Takes an object out, which must be there.
    fn take(&mut self, table: usize, object: &Term) -> Result<(), String> {
        let (key, value) = pair(object);
        if !self.has((key, value)) {
            return Ok(());
        }
        let values = self.model.entry((table, key)).or_default();
        let at = values.iter().position(|&there| there == value);
        let at =
            at.ok_or_else(|| format!("{}: {object:?} was not there but {values:?}", self.name))?;
        values.remove(at);
        if values.is_empty() {
            self.model.remove(&(table, key));
        }
        Ok(())
    }

    /// Takes over what there is to be told.
    fn follow(&mut self) -> Result<u64, String> {
        let mut events = 0;
        while let Some(event) = self.changes.try_next() {
            events += 1;
            self.seq += 1;
            if event.seq != self.seq {
                return Err(format!(
                    "{}: event {} after {}",
                    self.name,
                    event.seq,
                    self.seq - 1
                ));
            }
            match event.kind {
                WatchKind::Objects { table, objects } if !self.is_current => {
                    let table = self.at(table);
                    objects.iter().for_each(|object| self.add(table, object));
                }
                WatchKind::Current if !self.is_current => self.is_current = true,
                WatchKind::Changes(changes) if self.is_current => {
                    for change in &changes {
                        let table = self.at(change.table);
                        if let Some(old) = &change.old {
                            self.take(table, old)?;
                        }
                        if let Some(new) = &change.new {
                            self.add(table, new);
                        }
                        if change.old.is_none() && change.new.is_none() {
                            return Err(format!("{}: nothing has changed", self.name));
                        }
                    }
                }
                WatchKind::Cleared { table, objects } if self.is_current => {
                    let table = self.at(table);
                    let mine = self.model.iter().filter(|((t, _), _)| *t == table);
                    let mine: usize = mine.map(|(_, values)| values.len()).sum();
                    if self.key.is_none() && self.least.is_none() && mine != objects {
                        return Err(format!("{}: {objects} went, not {mine}", self.name));
                    }
                    self.model.retain(|(t, _), _| *t != table);
                }
                other => return Err(format!("{}: {other:?}", self.name)),
            }
        }
        Ok(events)
    }

    /// Compares with what the tables hold.
    fn check(&self, content: &Model) -> Result<(), String> {
        let mut content = content.clone();
        for (&(_, key), values) in &mut content {
            values.retain(|&value| self.has((key, value)));
        }
        content.retain(|_, values| !values.is_empty());
        let mut mine = self.model.clone();
        mine.values_mut().for_each(|values| values.sort_unstable());
        match mine == content {
            true => Ok(()),
            false => Err(format!(
                "{}: {mine:?}\nbut the tables hold {content:?}",
                self.name
            )),
        }
    }
}

fn copies(world: &World, round: u64) -> Vec<Copy> {
    let key = round as i64 % KEYS;
    let least = term!([{{:"_", :"$1"}, [{:">=", :"$1", 4}], [true]}]);
    let least = fyris::MatchSpec::new(&least).expect("right");
    let mut copies = vec![
        Copy::new("all", world, WatchFilter::all()),
        Copy {
            key: Some(key),
            ..Copy::new("of a key", world, WatchFilter::key(term!((key))))
        },
        Copy {
            least: Some(4),
            ..Copy::new("of a pattern", world, WatchFilter::matching(least))
        },
    ];
    if world.kind() == fyris::TableType::OrderedSet {
        let range = WatchFilter::range(term!((key))..=term!((key)));
        copies.push(Copy {
            key: Some(key),
            ..Copy::new("of a range", world, range)
        });
    }
    if !world.kind().is_bag() {
        copies.push(Copy::new("newest", world, WatchFilter::all()));
        copies.push(Copy {
            key: Some(key),
            ..Copy::new("newest of a key", world, WatchFilter::key(term!((key))))
        });
    }
    copies
}

/// One round: threads write, and copies are begun before that and in the midst of it.
fn round(kind: &Options, round: u64, time: Duration) -> Result<u64, String> {
    let mut rng = StdRng::seed_from_u64(seed() + round);
    let world = World::new(&store(), kind, &model(&mut rng));
    let mut first = copies(&world, round);
    let (stop, clock, failed) = (
        AtomicBool::new(false),
        AtomicU64::new(0),
        AtomicBool::new(false),
    );
    let mut followed = Ok(0);
    let mut late = Vec::new();
    std::thread::scope(|s| {
        for me in 0..3 {
            let (world, stop, clock, failed) = (&world, &stop, &clock, &failed);
            let mut rng = StdRng::seed_from_u64(seed() + round * 3 + me);
            s.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let program = program(&mut rng, world.kind());
                    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        work(world, &program, clock)
                    }));
                    if !matches!(done, Ok(Ok(_))) {
                        failed.store(true, Ordering::Relaxed);
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            });
        }
        let until = Instant::now() + time;
        while Instant::now() < until && followed.is_ok() && !stop.load(Ordering::Relaxed) {
            if late.len() < 18 {
                late.extend(copies(&world, round + 1));
            }
            for copy in first.iter_mut().chain(&mut late) {
                match (copy.follow(), &mut followed) {
                    (Ok(more), Ok(all)) => *all += more,
                    (Err(wrong), _) => followed = Err(wrong),
                    _ => {}
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let mut all = followed?;
    if failed.load(Ordering::Relaxed) {
        return Err("a writer failed".to_owned());
    }
    let content = world.content();
    for copy in first.iter_mut().chain(&mut late) {
        all += copy.follow()?;
        copy.check(&content)?;
    }
    Ok(all)
}

#[test]
fn what_is_followed_is_what_is_there() {
    let kinds = kinds_of(&TYPES);
    let time = Duration::from_millis(millis() * 3 / kinds.len() as u64);
    let mut all = 0;
    for (at, kind) in kinds.iter().enumerate() {
        match round(kind, at as u64, time) {
            Ok(events) => all += events,
            Err(wrong) => panic!("{kind:?}: {wrong}"),
        }
    }
    println!("{all} events");
}

/// In one event changes come in the order of writing: where the last write of each key was, over all tables.
#[test]
fn an_event_is_in_the_order_of_writing() {
    let mut rng = StdRng::seed_from_u64(7);
    for round in 0..400_i64 {
        let (store, kind) = (fyris::Store::new(), TYPES[round as usize % 4]);
        let owner = store.owner();
        let tables = ["one", "two"].map(|name| owner.new_table(name, &Options::new(kind)).unwrap());
        let watched = [&tables[0], &tables[1]];
        let mut changes = store
            .subscribe(&watched, &WatchFilter::all(), &SubscribeOptions::new())
            .expect("live tables");
        let mut written: Vec<(usize, i64)> = Vec::new();
        match round % 3 {
            0 => {
                let transaction = store.begin();
                let within = watched.map(|table| transaction.table(table).unwrap());
                write_in_some_order(&mut rng, &within, &mut written, kind.is_bag());
                let before = written.clone();
                transaction.begin_nested();
                write_in_some_order(&mut rng, &within, &mut written, kind.is_bag());
                let keep = rng.random();
                transaction.end_nested(keep);
                if !keep {
                    written = before;
                }
                transaction.commit().expect("alone");
            }
            1 => {
                let objects: Vec<Vec<Term>> =
                    shuffled(&mut rng).map(|n| vec![term!({n, n})]).collect();
                let of = |n: usize| (n * 7) % 2;
                let ops: Vec<BatchOp<'_>> = (objects.iter().enumerate())
                    .map(|(n, objects)| BatchOp::Insert(watched[of(n)], objects))
                    .collect();
                store.write_batch(&ops).expect("alone");
                written
                    .extend((objects.iter().enumerate()).map(|(n, new)| (of(n), pair(&new[0]).0)));
            }
            _ => {
                let list: Vec<Term> = shuffled(&mut rng).map(|n| term!({n, n})).collect();
                tables[1].insert_list(&list).expect("alone");
                written.extend(list.iter().map(|object| (1, pair(object).0)));
            }
        }
        let event = changes.try_next().expect("it has changed something");
        let WatchKind::Changes(all) = event.kind else {
            panic!("{event:?}");
        };
        let told: Vec<(usize, i64)> = (all.iter())
            .map(|change| {
                let at = usize::from(change.table == tables[1].reference());
                (
                    at,
                    pair(change.new.as_ref().expect("nothing was deleted")).0,
                )
            })
            .collect();
        assert_eq!(told, written, "round {round}, {kind:?}");
        assert!(changes.try_next().is_none());
    }
}

fn shuffled(rng: &mut StdRng) -> impl Iterator<Item = i64> + use<> {
    let mut keys: Vec<i64> = (0..rng.random_range(2..40)).collect();
    keys.shuffle(rng);
    keys.into_iter()
}

/// Writes to some keys of either table, in the bags to each once; `written` has the order of the last writes.
fn write_in_some_order(
    rng: &mut StdRng,
    tables: &[Table; 2],
    written: &mut Vec<(usize, i64)>,
    once: bool,
) {
    for key in shuffled(rng) {
        let at = rng.random_range(0..2);
        let is_written = written.contains(&(at, key));
        if is_written && once {
            continue;
        }
        tables[at]
            .insert(&term!({key, (rng.random::<u32>() as i64)}))
            .unwrap();
        written.retain(|known| *known != (at, key));
        written.push((at, key));
    }
}

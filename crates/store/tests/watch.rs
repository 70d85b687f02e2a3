//! Subscriptions: what is told of which call, and how they begin, overflow, wait and end. That they follow tables under
//! concurrent writes of all kinds is in `transactions/watched.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};

use fyris::{
    CounterOp, Error, InfoValue, MatchSpec, Options, Owner, Store, SubscribeOptions, Subscription,
    Table, Term, WatchFilter, WatchKind, term,
};

fn all_types() -> [Options; 4] {
    [
        Options::set(),
        Options::ordered_set(),
        Options::bag(),
        Options::duplicate_bag(),
    ]
}

fn new(options: &Options) -> (Store, Owner, Table) {
    let store = Store::new();
    let owner = store.owner();
    let table = owner.new_table("t", options).expect("a table");
    (store, owner, table)
}

fn all(table: &Table) -> Subscription {
    table
        .subscribe(&WatchFilter::all(), &SubscribeOptions::new())
        .expect("a live table")
}

fn kinds(changes: &mut Subscription) -> Vec<WatchKind> {
    std::iter::from_fn(|| changes.try_next())
        .map(|event| event.kind)
        .collect()
}

/// A change of one object, as pairs of old and new.
type Told = (Option<Term>, Option<Term>);

/// Returns what was told, one list for each event, sorted within it.
fn told(changes: &mut Subscription) -> Vec<Vec<Told>> {
    let of = |kind| match kind {
        WatchKind::Changes(changes) => {
            let pairs = changes.into_iter().map(|change| (change.old, change.new));
            let mut pairs: Vec<Told> = pairs.collect();
            pairs.sort_by_key(|pair| format!("{pair:?}"));
            pairs
        }
        other => panic!("{other:?}"),
    };
    kinds(changes).into_iter().map(of).collect()
}

fn came(object: Term) -> Told {
    (None, Some(object))
}

fn went(object: Term) -> Told {
    (Some(object), None)
}

fn became(old: Term, new: Term) -> Told {
    (Some(old), Some(new))
}

fn spec(spec: Term) -> MatchSpec {
    MatchSpec::new(&spec).expect("a specification")
}

fn subscriptions(table: &Table) -> i64 {
    match table.info_item("subscriptions") {
        Ok(Some(InfoValue::Term(Term::Int(n)))) => n,
        other => panic!("{other:?}"),
    }
}

/// What all calls tell that work on every type of table.
#[test]
fn each_call_is_told() {
    for options in all_types() {
        for versioned in [false, true] {
            let (_store, _owner, table) = new(&options);
            let snapshot = versioned.then(|| table.snapshot().expect("live"));
            let (mut changes, unique) = (all(&table), !table.table_type().is_bag());
            let text = "a value that is not inline";
            table.insert(&term!({1, 10})).unwrap();
            assert_eq!(told(&mut changes), [[came(term!({1, 10}))]]);
            table.insert(&term!({1, text})).unwrap();
            let second = match unique {
                true => became(term!({1, 10}), term!({1, text})),
                false => came(term!({1, text})),
            };
            assert_eq!(told(&mut changes), [[second]], "{options:?}");
            assert!(!table.insert_new(&term!({1, 5})).unwrap());
            assert!(table.insert_new(&term!({2, 5})).unwrap());
            assert_eq!(told(&mut changes), [[came(term!({2, 5}))]]);
            table
                .insert_list(&[term!({3, 1}), term!({4, 1}), term!({5, 1})])
                .unwrap();
            assert_eq!(
                told(&mut changes),
                [[3, 4, 5].map(|key| came(term!({key, 1})))]
            );
            assert!(
                table
                    .insert_new_list(&[term!({6, 1}), term!({7, 1})])
                    .unwrap()
            );
            assert!(
                !table
                    .insert_new_list(&[term!({7, 1}), term!({8, 1})])
                    .unwrap()
            );
            assert_eq!(
                told(&mut changes),
                [[6, 7].map(|key| came(term!({key, 1})))]
            );
            table.delete_key(&2).unwrap();
            assert_eq!(told(&mut changes), [[went(term!({2, 5}))]]);
            table.delete_object(&term!({3, 2})).unwrap();
            table.delete_object(&term!({3, 1})).unwrap();
            assert_eq!(told(&mut changes), [[went(term!({3, 1}))]]);
            table.take(&term!(4)).unwrap();
            assert_eq!(told(&mut changes), [[went(term!({4, 1}))]]);
            table.take(&term!(4)).unwrap();
            table.delete_key(&4).unwrap();
            assert_eq!(told(&mut changes), Vec::<Vec<Told>>::new());
            // One after another: each is a step by itself.
            let ones = spec(term!([{{:"_", 1}, [], [true]}]));
            assert_eq!(table.select_delete(&ones).unwrap(), 3);
            let mut gone = told(&mut changes).concat();
            gone.sort_by_key(|told| format!("{told:?}"));
            assert_eq!(gone, [5, 6, 7].map(|key| went(term!({key, 1}))));
            let left = table.len();
            table.delete_all_objects().unwrap();
            let cleared = |objects| WatchKind::Cleared {
                table: table.reference(),
                objects,
            };
            assert_eq!(kinds(&mut changes), [cleared(left)]);
            drop(snapshot);
            table.insert(&term!({1, 10})).unwrap();
            table.match_delete(&term!(:"_")).unwrap();
            let kinds = kinds(&mut changes);
            assert_eq!((kinds.len(), &kinds[1]), (2, &cleared(1)));
            table.delete().unwrap();
            let deleted = WatchKind::Deleted {
                table: table.reference(),
            };
            assert_eq!(changes.next().map(|event| event.kind), Some(deleted));
            assert!(changes.has_ended() && changes.next().is_none());
        }
    }
}

/// What is told by calls that need one object a key.
#[test]
fn updates_are_told() {
    for options in [Options::set(), Options::ordered_set()] {
        let (_store, _owner, table) = new(&options);
        let mut changes = all(&table);
        table.insert(&term!({:n, 1})).unwrap();
        table
            .update_counter(&term!(:n), &[CounterOp::add(2)])
            .unwrap();
        table
            .update_counter(&term!(:n), &[CounterOp::add(0)])
            .unwrap();
        table.update_element(&term!(:n), &[(2, term!(9))]).unwrap();
        let double = term!([{{:"$1", :"$2"}, [], [{{:"$1", {:"*", :"$2", 2}}}]}]);
        table.select_replace(&spec(double)).unwrap();
        // The same object, with the same bytes and otherwise.
        table.insert(&term!({:n, 18})).unwrap();
        table
            .update_counter_or(&term!(:m), &[CounterOp::add(1)], &term!({:m, 0}))
            .unwrap();
        let wanted = [
            [came(term!({:n, 1}))],
            [became(term!({:n, 1}), term!({:n, 3}))],
            [became(term!({:n, 3}), term!({:n, 9}))],
            [became(term!({:n, 9}), term!({:n, 18}))],
            [came(term!({:m, 1}))],
        ];
        assert_eq!(told(&mut changes), wanted);
    }
}

/// In the bags, a change of a few of many objects of a key tells these.
#[test]
fn changes_of_bags_are_told() {
    let (_store, _owner, table) = new(&Options::duplicate_bag());
    let mut changes = all(&table);
    let many: Vec<Term> = (0..100).map(|n| term!({1, n})).collect();
    table.insert_list(&many).unwrap();
    table.insert_list(&[term!({1, 5}), term!({2, 5})]).unwrap();
    assert_eq!(
        told(&mut changes).iter().map(Vec::len).collect::<Vec<_>>(),
        [100, 2]
    );
    table.delete_object(&term!({1, 5})).unwrap();
    assert_eq!(
        told(&mut changes),
        [[went(term!({1, 5})), went(term!({1, 5}))]]
    );
    let fifty = term!([{{:"$1", 50}, [], [{{:"$1", {:const, [:new]}}}]}]);
    table.select_replace(&spec(fifty)).unwrap();
    let replaced = [came(term!({1, [:new]})), went(term!({1, 50}))];
    assert_eq!(told(&mut changes), [replaced]);
    table.delete_key(&1).unwrap();
    assert_eq!(told(&mut changes)[0].len(), 99);
    let (_store, _owner, table) = new(&Options::bag());
    let mut changes = all(&table);
    table.insert(&term!({1, 1})).unwrap();
    table.insert(&term!({1, 1})).unwrap();
    table.insert_list(&[term!({1, 1}), term!({1, 2})]).unwrap();
    table
        .insert_list(&[term!({1, 1}), term!({2, 2}), term!({1, 3})])
        .unwrap();
    let wanted = [
        vec![came(term!({1, 1}))],
        vec![came(term!({1, 2}))],
        vec![came(term!({1, 3})), came(term!({2, 2}))],
    ];
    assert_eq!(told(&mut changes), wanted);
}

/// A transaction is one event, of what it has changed in the end; one that is given up is none.
#[test]
fn a_transaction_is_told_whole() {
    for options in all_types() {
        let (store, owner, one) = new(&options);
        let two = owner.new_table("two", &options).unwrap();
        for key in 0..3 {
            one.insert(&term!({key, :old})).unwrap();
        }
        let tables = [&one, &two];
        let both = |filter| {
            store
                .subscribe(&tables, &filter, &SubscribeOptions::new())
                .unwrap()
        };
        let (mut changes, mut of_two) = (both(WatchFilter::all()), all(&two));
        let mut of_key = both(WatchFilter::key(term!(1)));
        store
            .transaction(|tx| {
                let (one, two) = (tx.table(&one)?, tx.table(&two)?);
                two.insert(&term!({1, :first}))?;
                two.delete_key(&1)?;
                two.insert(&term!({1, :moved}))?;
                one.delete_key(&1)?;
                one.insert(&term!({2, :old}))?;
                one.insert(&term!({9, :gone}))?;
                one.delete_key(&9)
            })
            .unwrap();
        let mut wanted = vec![came(term!({1, :moved})), went(term!({1, :old}))];
        if options == Options::duplicate_bag() {
            wanted.insert(1, came(term!({2, :old})));
        }
        assert_eq!(told(&mut changes), [wanted.clone()]);
        assert_eq!(told(&mut of_two), [[came(term!({1, :moved}))]]);
        assert_eq!(
            told(&mut of_key),
            [[came(term!({1, :moved})), went(term!({1, :old}))]]
        );
        let given_up: Result<(), Error> = store.transaction(|tx| {
            tx.table(&one)?.delete_key(&0)?;
            Err(Error::NoSuchKey)
        });
        assert!(given_up.is_err() && changes.try_next().is_none());
    }
}

#[test]
fn filters_let_through_what_they_say() {
    for options in all_types() {
        let (_store, _owner, table) = new(&options);
        let of = |filter| table.subscribe(&filter, &SubscribeOptions::new());
        let mut key = of(WatchFilter::key(term!(2))).unwrap();
        let above = term!([{{:"_", :"$1"}, [{:">", :"$1", 5}], [true]}]);
        let mut matching = of(WatchFilter::matching(spec(above))).unwrap();
        let mut never = of(WatchFilter::matching(spec(term!([{:"_", [], [:"$_"]}])))).unwrap();
        let range = of(WatchFilter::range(term!(2)..term!(4)));
        table
            .insert_list(&[term!({1, 1}), term!({2, 9}), term!({3, 1})])
            .unwrap();
        table.insert(&term!({1, 8})).unwrap();
        table.delete_key(&1).unwrap();
        table.delete_key(&2).unwrap();
        assert_eq!(
            told(&mut key),
            [[came(term!({2, 9}))], [went(term!({2, 9}))]]
        );
        let matched: Vec<usize> = told(&mut matching).iter().map(Vec::len).collect();
        assert_eq!(matched, [1, 1, 1, 1]);
        assert!(never.try_next().is_none());
        match options == Options::ordered_set() {
            true => assert_eq!(told(&mut range.unwrap()).concat().len(), 3),
            false => assert!(matches!(range, Err(Error::WrongType { .. }))),
        }
    }
}

#[test]
fn what_cannot_be_watched_is_refused() {
    let (store, owner, table) = new(&Options::set());
    let options = SubscribeOptions::new();
    let of = |tables: &[&Table]| store.subscribe(tables, &WatchFilter::all(), &options);
    assert!(matches!(of(&[]), Err(Error::BadArgument(_))));
    assert!(matches!(of(&[&table, &table]), Err(Error::BadArgument(_))));
    let other = new(&Options::set()).2;
    assert!(matches!(of(&[&other]), Err(Error::BadArgument(_))));
    assert!(matches!(
        of(&[&table.snapshot().unwrap()]),
        Err(Error::ReadOnly)
    ));
    let tx = store.begin();
    let within = tx.table(&table).unwrap();
    assert!(matches!(of(&[&within]), Err(Error::InTransaction(_))));
    let private = owner.new_table("p", &Options::set().private()).unwrap();
    let stranger = private.for_caller(fyris::ProcessId(99));
    assert!(matches!(
        of(&[&table, &stranger]),
        Err(Error::NoAccess { .. })
    ));
    // None of it is left.
    assert_eq!(subscriptions(&table), 0);
    private.delete().unwrap();
    assert!(matches!(
        of(&[&table, &private]),
        Err(Error::NoSuchTable(_))
    ));
}

#[test]
fn a_snapshot_comes_first() {
    for options in all_types() {
        let (_store, _owner, table) = new(&options);
        table
            .insert_many((0..1000).map(|n| term!({n, n % 10})))
            .unwrap();
        let from = SubscribeOptions::new().from_snapshot();
        let threes = || WatchFilter::pattern(&term!({:"_", 3})).unwrap();
        let filters = [
            (WatchFilter::all(), 1000),
            (WatchFilter::key(term!(7)), 1),
            (WatchFilter::key(term!(-7)), 0),
            (threes(), 100),
        ];
        for (filter, wanted) in filters {
            let mut changes = table.subscribe(&filter, &from).unwrap();
            table.delete_key(&7).unwrap();
            table.insert(&term!({7, 7})).unwrap();
            let (mut objects, mut rest) = (0, kinds(&mut changes).into_iter());
            for kind in rest.by_ref() {
                match kind {
                    WatchKind::Objects { objects: some, .. } => objects += some.len(),
                    WatchKind::Current => break,
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(objects, wanted, "{filter:?}");
            let all_or_seven = matches!(wanted, 1000 | 1);
            assert_eq!(rest.count(), if all_or_seven { 2 } else { 0 });
        }
    }
}

/// A queue that is full says how much it has lost, in the place where it did.
#[test]
fn an_overflow_is_told_in_its_place() {
    let (_store, _owner, table) = new(&Options::set());
    let few = SubscribeOptions::new().queue(3);
    let mut changes = table.subscribe(&WatchFilter::all(), &few).unwrap();
    let insert =
        |keys: std::ops::Range<i64>| table.insert_many(keys.map(|n| term!({ n }))).unwrap();
    insert(0..5);
    assert_eq!(changes.try_next().unwrap().seq, 1);
    // What is about to be read takes no room.
    insert(5..9);
    let rest: Vec<_> = std::iter::from_fn(|| changes.try_next()).collect();
    let seqs: Vec<u64> = rest.iter().map(|event| event.seq).collect();
    assert_eq!(seqs, [2, 3, 4, 6, 7, 8, 9]);
    assert_eq!(rest[2].kind, WatchKind::Overflow { lost: 2 });
    assert_eq!(rest[6].kind, WatchKind::Overflow { lost: 1 });
    // What is larger than the queue is whole, where it is alone.
    let many: Vec<Term> = (0..100).map(|n| term!({n, n})).collect();
    table.insert_list(&many).unwrap();
    insert(100..101);
    let rest: Vec<_> = std::iter::from_fn(|| changes.try_next()).collect();
    assert_eq!((rest[0].seq, rest[0].changes().len()), (10, 100));
    assert_eq!(rest[1].kind, WatchKind::Overflow { lost: 1 });
}

/// Who has room for nothing is told how much there was, and of the end; a queue that is full keeps no place from that.
#[test]
fn a_queue_without_room_counts() {
    let (_store, _owner, table) = new(&Options::set());
    let subscribe = |queue| {
        let options = SubscribeOptions::new().queue(queue);
        table.subscribe(&WatchFilter::all(), &options).unwrap()
    };
    let [mut none, mut one] = [subscribe(0), subscribe(1)];
    table.insert_many((0..2).map(|n| term!({ n }))).unwrap();
    let many: Vec<Term> = (2..100).map(|n| term!({ n })).collect();
    table.insert_list(&many).unwrap();
    assert_eq!(kinds(&mut none), [WatchKind::Overflow { lost: 100 }]);
    table.insert(&term!({ 1, 1 })).unwrap();
    table.delete().unwrap();
    let deleted = WatchKind::Deleted {
        table: table.reference(),
    };
    let lost = |lost| WatchKind::Overflow { lost };
    assert_eq!(kinds(&mut none), [lost(1), deleted.clone()]);
    assert_eq!(kinds(&mut one)[1..], [lost(100), deleted]);
    assert!(none.has_ended() && one.has_ended());
}

/// Who waits is woken: by a write, by the end of a table, of the store.
#[test]
fn who_waits_is_woken() {
    for end in 0..3 {
        let (store, owner, table) = new(&Options::set().public());
        let mut changes = all(&table);
        let waits = thread::spawn(move || changes.next().map(|event| event.kind));
        thread::sleep(Duration::from_millis(20));
        match end {
            0 => table.insert(&term!({ 1 })).unwrap(),
            1 => table.delete().unwrap(),
            _ => drop((owner, store)),
        }
        let late = Instant::now() + Duration::from_secs(20);
        while !waits.is_finished() {
            assert!(Instant::now() < late, "never woken: {end}");
            thread::sleep(Duration::from_millis(1));
        }
        assert!(waits.join().unwrap().is_some());
    }
    let (_store, _owner, table) = new(&Options::set());
    let begin = Instant::now();
    assert!(all(&table).next_within(Duration::from_millis(20)).is_none());
    assert!(begin.elapsed() >= Duration::from_millis(20));
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A waker is woken once for each time that there was nothing.
#[test]
fn wakers_are_woken_when_they_wait() {
    let (_store, _owner, table) = new(&Options::set());
    let (mut changes, count) = (all(&table), Arc::new(Count(AtomicUsize::new(0))));
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    let woken = || count.0.load(Ordering::SeqCst);
    table.insert(&term!({ 1 })).unwrap();
    assert!(changes.poll_event(&mut context).is_ready());
    assert_eq!(
        (changes.poll_event(&mut context), woken()),
        (Poll::Pending, 0)
    );
    table.insert(&term!({ 2 })).unwrap();
    table.insert(&term!({ 3 })).unwrap();
    assert_eq!(woken(), 1);
    assert!(changes.poll_event(&mut context).is_ready());
    assert!(changes.poll_event(&mut context).is_ready());
    assert!(changes.poll_event(&mut context).is_pending());
    table.delete().unwrap();
    assert_eq!(woken(), 2);
}

/// Ten thousand subscriptions, each of one key, and what is left when they go.
#[test]
fn many_watch_one_key_each() {
    const MANY: i64 = 10_000;
    let (_store, _owner, table) = new(&Options::set());
    let mut watching: Vec<Subscription> = (0..MANY)
        .map(|key| {
            let filter = WatchFilter::key(term!((key)));
            table.subscribe(&filter, &SubscribeOptions::new()).unwrap()
        })
        .collect();
    table
        .insert_many((0..MANY * 2).map(|key| term!({key, 1})))
        .unwrap();
    for (key, changes) in watching.iter_mut().enumerate() {
        let key = key as i64;
        assert_eq!(told(changes), [[came(term!({key, 1}))]]);
    }
    let (later, _) = watching.split_at_mut(10);
    table.delete_key(&3).unwrap();
    assert_eq!(told(&mut later[3]).len(), 1);
    assert_eq!(subscriptions(&table), MANY);
    drop(watching);
    assert_eq!(subscriptions(&table), 0);
    table.insert(&term!({1, 2})).unwrap();
}

/// Subscribers that go, beside writers: nothing waits, and nothing of them is left.
#[test]
fn subscribers_come_and_go_beside_writers() {
    let (_store, _owner, table) = new(&Options::set().public());
    let (stop, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|s| {
        for me in 0..2 {
            let (stop, table, written) = (&stop, &table, &written);
            s.spawn(move || {
                let mut n = 0;
                while !stop.load(Ordering::Relaxed) {
                    n += 1;
                    let _ = table.insert(&term!({(me * 100 + n % 50), n}));
                    written.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let until = Instant::now() + Duration::from_millis(700);
        let mut round = 0;
        while Instant::now() < until {
            round += 1;
            let filter = match round % 3 {
                0 => WatchFilter::all(),
                1 => WatchFilter::key(term!(round % 50)),
                _ => WatchFilter::pattern(&term!({7, :"_"})).expect("a pattern"),
            };
            let few = SubscribeOptions::new().queue(10);
            let Ok(mut changes) = table.subscribe(&filter, &few) else {
                break;
            };
            let _ = changes.next_within(Duration::from_millis(1));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(subscriptions(&table), 0);
    assert!(written.load(Ordering::Relaxed) > 100);
}

/// A subscriber that writes what it watches comes to an end with what it began.
#[test]
fn who_watches_may_write() {
    let (_store, _owner, table) = new(&Options::set().public());
    let (mut changes, writer) = (all(&table), table.clone());
    let doubles = thread::spawn(move || {
        let mut seen = 0;
        while let Some(event) = changes.next_within(Duration::from_secs(20)) {
            let Some(Term::Tuple(object)) = &event.changes()[0].new else {
                break;
            };
            seen += 1;
            let &[Term::Int(key), Term::Int(value)] = &object[..] else {
                panic!("{object:?}");
            };
            if value >= 1000 {
                break;
            }
            writer
                .insert(&term!({key, value * 2}))
                .expect("a live table");
        }
        seen
    });
    table.insert(&term!({1, 1})).unwrap();
    assert_eq!(doubles.join().unwrap(), 11);
    assert_eq!(table.lookup(&term!(1)).unwrap(), [term!({1, 1024})]);
}

/// A view that is kept by watching: how many objects have each value.
#[test]
fn counts_are_kept_by_watching() {
    let (store, _owner, orders) = new(&Options::set().public());
    orders
        .insert_many((0..100).map(|n| term!({n, :new})))
        .unwrap();
    let from = SubscribeOptions::new().from_snapshot();
    let changes = store
        .subscribe(&[&orders], &WatchFilter::all(), &from)
        .unwrap();
    let counter = thread::spawn(move || {
        let mut counts: BTreeMap<String, i64> = BTreeMap::new();
        let mut add = |object: &Term, n| match object {
            Term::Tuple(order) => *counts.entry(order[1].to_string()).or_default() += n,
            other => panic!("{other:?}"),
        };
        for event in changes {
            if let WatchKind::Objects { objects, .. } = &event.kind {
                objects.iter().for_each(|object| add(object, 1));
            }
            for change in event.changes() {
                change.old.iter().for_each(|object| add(object, -1));
                change.new.iter().for_each(|object| add(object, 1));
            }
        }
        counts
    });
    thread::scope(|s| {
        for half in 0..2 {
            let (store, orders) = (&store, &orders);
            s.spawn(move || {
                for n in (half * 50)..(half * 50 + 30) {
                    let paid = store.transaction(|tx| tx.table(orders)?.insert(&term!({n, :paid})));
                    paid.expect("a commit");
                }
            });
        }
    });
    orders.delete().unwrap();
    let counts = counter.join().unwrap();
    assert_eq!(
        counts,
        BTreeMap::from([("new".to_owned(), 40), ("paid".to_owned(), 60)])
    );
}

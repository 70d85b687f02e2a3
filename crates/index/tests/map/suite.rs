// Tests of what every storage promises; `Map<V>` is a map of byte strings. Included by `main.rs` once for each.

fn run(map: &Map<u64>, model: &mut HashMap<Vec<u8>, u64>, command: Command) {
    let map = map.pin();
    match command {
        Command::Insert(k, v) => assert_eq!(map.insert(k.clone(), v).copied(), model.insert(k, v)),
        Command::Remove(k) => assert_eq!(map.remove(&k).copied(), model.remove(&k)),
        Command::Get(k) => {
            assert_eq!(map.get(&k), model.get(&k));
            assert_eq!(map.contains_key(&k), model.contains_key(&k));
        }
        Command::Compute(k) => {
            let old = model.get(&k).copied();
            let done = map.compute(k.clone(), computed);
            assert_eq!(done.old.copied(), old);
            assert_eq!(done.new.copied(), compute_in_model(model, k));
        }
        Command::GetOrInsert(k, v) => {
            assert_eq!(
                map.get_or_insert_with(k.clone(), || v),
                model.entry(k).or_insert(v)
            );
        }
        Command::Update(k) => {
            let expected = model.get_mut(&k).map(|v| {
                *v ^= 1;
                *v
            });
            assert_eq!(map.update(&k, |v| v ^ 1).copied(), expected);
        }
        Command::Retain(bit) => {
            map.retain(|key, v| v & 1 == bit & 1 || key.len() > 3);
            model.retain(|key, v| *v & 1 == bit & 1 || key.len() > 3);
        }
    }
    assert_eq!(map.len(), model.len());
}

proptest! {
    #[test]
    fn answers_as_the_model_does(commands in prop::collection::vec(command(), 1..400)) {
        let (map, mut model) = (Map::new(), HashMap::new());
        for command in commands {
            run(&map, &mut model, command);
        }
        let pin = pin();
        let all: HashMap<Vec<u8>, u64> = map.iter(&pin).map(|(k, v)| (k.to_vec(), *v)).collect();
        prop_assert_eq!(all, model);
    }
}

#[test]
fn a_reference_outlives_the_removal_of_its_key_and_everything_is_dropped_once() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let map = Map::new();
    let counted = |n| Counted(n, dropped.clone());
    let guard = pin_owned();
    map.insert(b"key".to_vec(), counted(1), &guard);
    let held = map.get(&b"key"[..], &guard).unwrap();
    std::thread::scope(|s| {
        s.spawn(|| {
            assert_eq!(map.remove(&b"key"[..], &pin()).unwrap().0, 1);
            map.insert(b"key".to_vec(), counted(2), &pin());
            map.insert(b"key".to_vec(), counted(3), &pin());
            map.compute(b"key".to_vec(), &pin(), |_| Action::Put(counted(4)));
            map.get_or_insert_with(b"key".to_vec(), &pin(), || counted(5));
            flush();
        });
    });
    assert_eq!(held.0, 1);
    assert_eq!(dropped.load(Ordering::SeqCst), 0, "freed under a pin");
    drop(guard);
    let begun = Instant::now();
    while dropped.load(Ordering::SeqCst) < 3 && begun.elapsed() < Duration::from_secs(60) {
        // The blocks that the thread left are freed by another thread, which takes its place.
        std::thread::scope(|s| _ = s.spawn(flush));
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
    drop(map);
    assert_eq!(dropped.load(Ordering::SeqCst), 4);
}

#[test]
fn compute_and_update_are_atomic_and_may_use_the_map() {
    let map = Map::new();
    map.pin().insert(bytes("hot"), 0u64);
    std::thread::scope(|s| {
        for t in 0..4 {
            let map = &map;
            s.spawn(move || {
                for i in 0..1000u64 {
                    let pinned = map.pin();
                    pinned.compute(bytes("sum"), |n| {
                        pinned.insert(vec![t, i as u8], i);
                        Action::Put(n.map_or(1, |n| n + 1))
                    });
                    pinned.update(&bytes("hot"), |n| n + 1);
                    pinned.update_or_insert(bytes("made"), |n| n + 1, 1);
                }
            });
        }
    });
    let map = map.pin();
    for key in ["sum", "hot", "made"] {
        assert_eq!(map.get(&bytes(key)), Some(&4000), "{key}");
    }
    assert_eq!(map.map().exact_len(), 3 + 4 * 256);
    let done = map.compute(bytes("sum"), |_| Action::Remove);
    assert_eq!((done.old, done.new), (Some(&4000), None));
    assert_eq!(map.compute(bytes("sum"), |_| Action::Keep).new, None);
    assert_eq!(map.compute(bytes("sum"), |_| Action::Remove).old, None);
    assert_eq!(map.update(&bytes("sum"), |n| n + 1), None);
}

#[test]
fn one_value_is_made_for_all() {
    let map: Map<usize> = Map::new();
    let values: Vec<usize> = std::thread::scope(|s| {
        let map = &map;
        let make = |i| move || *map.pin().get_or_insert_with(bytes("key"), || i);
        let threads: Vec<_> = (0..4).map(|i| s.spawn(make(i))).collect();
        threads.into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert!(values.iter().all(|value| *value == values[0]));
    assert_eq!(map.pin().get_or_insert(bytes("key"), 9), &values[0]);
}

#[test]
fn it_shrinks_when_emptied() {
    let map: Map<u64> = Map::new();
    for round in 0..3 {
        for i in 0..50_000u64 {
            map.insert(i.to_le_bytes().to_vec(), i, &pin());
        }
        for i in 0..50_000u64 {
            assert_eq!(
                map.remove(&i.to_le_bytes()[..], &pin()),
                Some(&i),
                "round {round}"
            );
        }
    }
    assert!(map.is_empty());
}

#[test]
fn what_stays_is_met_once_while_the_table_grows_and_shrinks() {
    let map = Map::new();
    (0..500u64).for_each(|i| _ = map.insert(format!("stays {i}").into_bytes(), i, &pin()));
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        s.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                (0..2000u64).for_each(|i| _ = map.insert(i.to_le_bytes().to_vec(), i, &pin()));
                (0..2000u64).for_each(|i| _ = map.remove(&i.to_le_bytes()[..], &pin()));
            }
        });
        for _ in 0..60 {
            let mut seen = [0u8; 500];
            let pin = pin();
            map.iter(&pin)
                .filter(|(key, _)| key.starts_with(b"stays"))
                .for_each(|(_, i)| seen[*i as usize] += 1);
            assert!(seen.iter().all(|times| *times == 1));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

#[test]
fn histories_are_linearizable() {
    for round in 0..20u64 {
        let (map, start) = (Map::new(), Instant::now());
        let steps: Vec<_> = std::thread::scope(|s| {
            let workers: Vec<_> = (0..3u64)
                .map(|t| {
                    let map = &map;
                    s.spawn(move || (0..60).map(|i| step(map, start, t, i, round)).collect())
                })
                .collect();
            workers
                .into_iter()
                .flat_map(|w| -> Vec<_> { w.join().unwrap() })
                .collect()
        });
        assert!(is_linearizable(&steps), "not linearizable: {steps:?}");
    }
}

/// Runs one operation on the one key, with the times before and after it.
fn step(
    map: &Map<u64>,
    start: Instant,
    thread: u64,
    i: u64,
    round: u64,
) -> (u64, Step, u128, u128) {
    let (key, fresh, pin) = (b"the key".to_vec(), thread << 32 | i, pin());
    let called = start.elapsed().as_nanos();
    let step = match (thread * 7 + i * 5 + round) % 5 {
        0 => Step {
            seen: map.insert(key, fresh, &pin).copied(),
            left: Some(fresh),
        },
        1 => Step {
            seen: map.remove(&key, &pin).copied(),
            left: None,
        },
        2 => {
            let done = map.compute(key, &pin, |old| {
                old.map_or(Action::Put(fresh), |_| Action::Remove)
            });
            let (seen, left) = (done.old.copied(), done.new.copied());
            Step { seen, left }
        }
        _ => {
            let seen = map.get(&key, &pin).copied();
            Step { seen, left: seen }
        }
    };
    if i.is_multiple_of(3) {
        std::thread::yield_now();
    }
    (thread, step, called, start.elapsed().as_nanos())
}

#[test]
fn owned_pins_make_iterators_send() {
    let map: Map<u64> = (0..10_000u64)
        .map(|i| (i.to_be_bytes().to_vec(), i * i))
        .collect();
    assert_eq!(map.len(), 10_000);
    let pin = pin_owned();
    let mut iter = map.iter(&pin);
    let first = iter.next().unwrap();
    let rest: u64 =
        std::thread::scope(|s| s.spawn(move || iter.map(|(_, v)| v).sum()).join().unwrap());
    assert_eq!(rest + first.1, (0..10_000).map(|i| i * i).sum::<u64>());
    assert!(map.keys(&pin).all(|key| key.len() == 8));
    assert_eq!(map.values(&pin).max(), Some(&(9_999 * 9_999)));
}

#[test]
fn the_standard_traits_are_there() {
    let mut map: Map<u32> = Map::with_capacity(100);
    map.extend((0..100).map(|i| (format!("k{i}").into_bytes(), i)));
    let copy = map.clone();
    map.retain(&pin(), |_, v| *v == 7);
    assert_eq!((map.exact_len(), copy.exact_len()), (1, 100));
    assert_eq!(format!("{map:?}"), "{[107, 55]: 7}");
    assert_eq!(format!("{:?}", map.pin()), "{[107, 55]: 7}");
    for (key, value) in &map.pin() {
        assert_eq!((key.to_vec(), *value), (bytes("k7"), 7));
    }
    let pinned = map.pin();
    let (key, value) = pinned.get_key_value(&b"k7"[..]).unwrap();
    assert_eq!((key.to_vec(), value), (bytes("k7"), &7));
    let (key, value) = pinned.remove_entry(&b"k7"[..]).unwrap();
    assert_eq!((key.to_vec(), value), (bytes("k7"), &7));
    assert_eq!(pinned.get_or_insert(vec![], 1), &1);
    assert_eq!(pinned.get(&[][..]), Some(&1));
    pinned.clear();
    assert!(pinned.is_empty() && !pinned.contains_key(&b"k7"[..]));
    assert!(Map::<u32>::default().is_empty());
}

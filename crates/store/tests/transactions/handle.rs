//! A transaction's handle of a table beside a private copy of it: the same commands get the same replies.

use std::ops::Bound;
use std::time::{Duration, Instant};

use fyris::{
    CounterOp, Cursor, MatchSpec, Object, Options, Prefix, RangeOptions, Table, TableType, pin,
    term,
};
use fyris_term::{Float, Term};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::serial::{kinds_of, store};

fn float(value: f64) -> Term {
    Term::Float(Float::new(value).expect("finite"))
}

fn key(rng: &mut StdRng, wide: i64) -> Term {
    let n = rng.random_range(0..wide);
    match rng.random_range(0..12) {
        0 => float(n as f64),
        1 => Term::binary(&vec![7u8; 20 + n as usize % 3 * 3][..]),
        2 => term!({ :a, (n % 5) }),
        3 => term!({ :a, { (n % 3), (float((n % 3) as f64)) } }),
        4 => Term::atom(["a", "b", "$end_of_table"][n as usize % 3]),
        5 => Term::list(vec![Term::Int(n % 3), float(2.0)]),
        _ => Term::Int(n),
    }
}

fn value(rng: &mut StdRng) -> Term {
    match rng.random_range(0..5) {
        0 => Term::binary(&[3u8; 20][..]),
        1 => term!({ :x, { 1, (rng.random_range(0..4_i64)) } }),
        _ => Term::Int(rng.random_range(0..6)),
    }
}

fn object(rng: &mut StdRng, wide: i64) -> Term {
    let key = key(rng, wide);
    match rng.random_range(0..4) {
        0 => Term::tuple(vec![key]),
        1 => Term::tuple(vec![key, Term::Int(rng.random_range(0..6)), value(rng)]),
        _ => Term::tuple(vec![key, Term::Int(rng.random_range(0..6))]),
    }
}

fn spec(of: Term) -> MatchSpec {
    MatchSpec::new(&of).expect("right")
}

fn specs(rng: &mut StdRng, wide: i64) -> (MatchSpec, MatchSpec) {
    let (k, v) = (key(rng, wide), rng.random_range(0..6_i64));
    let (head, guard) = match rng.random_range(0..6) {
        0 => (term!("$1"), term!([])),
        1 => (term!({:"$1", :"$2"}), term!([{:">=", :"$2", (v)}])),
        2 => (
            term!({:"$1", :"$2"}),
            term!([{:">=", :"$1", (v)}, {:"<", :"$1", (v + 3)}]),
        ),
        3 => (Term::tuple(vec![k, Term::atom("$2")]), term!([])),
        4 => (term!({ { :a, :"$1" }, :"$2" }), term!([])),
        _ => (term!({:"$1", :"$2", :"$3"}), term!([])),
    };
    let head = match head {
        Term::Tuple(_) => head,
        _ => Term::atom("$1"),
    };
    let whole = Term::list(vec![Term::tuple(vec![
        head.clone(),
        guard.clone(),
        term!([:"$_"]),
    ])]);
    let truth = Term::list(vec![Term::tuple(vec![head, guard, term!([:true])])]);
    (spec(whole), spec(truth))
}

/// Returns bounds of a range that is not empty by them.
fn bounds(rng: &mut StdRng, wide: i64) -> (Bound<Term>, Bound<Term>) {
    let (a, b) = (key(rng, wide), key(rng, wide));
    // Now and then the wrong way round.
    let (from, to) = match a.cmp_order(&b).is_le() || rng.random_ratio(1, 8) {
        true => (a, b),
        false => (b, a),
    };
    let mut bound = |key| match rng.random_range(0..5) {
        0 => Bound::Unbounded,
        1 => Bound::Excluded(key),
        _ => Bound::Included(key),
    };
    (bound(from), bound(to))
}

struct Pair<'t> {
    within: &'t Table,
    copy: &'t Table,
    wide: i64,
}

impl Pair<'_> {
    /// Does the same to both, and returns their replies.
    fn same<R>(&self, f: impl Fn(&Table) -> R) -> (R, R) {
        (f(self.within), f(self.copy))
    }

    fn is_ordered(&self) -> bool {
        self.copy.table_type() == TableType::OrderedSet
    }

    fn settled(&self, mut terms: Vec<Term>) -> Vec<Term> {
        if !self.is_ordered() {
            terms.sort_by(Term::cmp_exact);
        }
        terms
    }

    fn check(&self, what: &str, f: impl Fn(&Table) -> fyris::Result<Vec<Term>>) {
        let (a, b) = self.same(f);
        let form = |reply: fyris::Result<Vec<Term>>| match reply {
            Ok(terms) => format!("{:?}", self.settled(terms)),
            Err(error) => format!("{:?}", error.ets_class()),
        };
        let (a, b) = (form(a), form(b));
        if a != b {
            let cut = |text: &str| text.chars().take(1500).collect::<String>();
            panic!("{what}\nwithin: {}\ncopy:   {}", cut(&a), cut(&b));
        }
    }

    fn step(&self, rng: &mut StdRng) -> String {
        let one = |term: Option<Term>| term.into_iter().collect::<Vec<_>>();
        let truth = |b: bool| vec![Term::atom(if b { "true" } else { "false" })];
        let count = |n: usize| vec![Term::Int(n as i64)];
        let (k, o) = (key(rng, self.wide), object(rng, self.wide));
        let list: Vec<Term> = (0..rng.random_range(0..6))
            .map(|_| object(rng, self.wide))
            .collect();
        let keys: Vec<Term> = (0..5).map(|_| key(rng, self.wide)).collect();
        let range = bounds(rng, self.wide);
        let (all, truths) = specs(rng, self.wide);
        let limit = rng.random_range(1..7) * if rng.random_bool(0.2) { 100 } else { 1 };
        let (n, back) = (
            rng.random_range(0..self.wide + 5) as usize,
            rng.random::<bool>(),
        );
        let options = match (rng.random_range(0..3), back) {
            (0, true) => RangeOptions::new().reverse(),
            (0, false) => RangeOptions::new(),
            (_, true) => RangeOptions::new().limit(limit).reverse(),
            (_, false) => RangeOptions::new().limit(limit),
        };
        let which = rng.random_range(0..46);
        let of_many = format!("list {list:?}, range {range:?}, spec {all:?}");
        let what = format!("{which}: {k:?}, {o:?}, {of_many}, limit {limit}, n {n}, back {back}");
        let w = what.as_str();
        let by = [CounterOp::add(rng.random_range(-3..4))];
        let edits = [(2, value(rng))];
        let ordered = self.is_ordered();
        match which {
            0..4 => self.check(w, |t| t.insert(&o).map(|()| vec![])),
            4 => self.check(w, |t| t.insert_list(&list).map(|()| vec![])),
            5 => self.check(w, |t| t.insert_new(&o).map(truth)),
            6 => self.check(w, |t| t.insert_new_list(&list).map(truth)),
            7 => self.check(w, |t| t.insert_many(list.clone()).map(count)),
            8 => self.check(w, |t| t.lookup(&k)),
            9 => self.check(w, |t| t.take(&k)),
            10 | 11 => self.check(w, |t| t.delete_key(&k).map(|()| vec![])),
            12 => self.check(w, |t| t.delete_object(&o).map(|()| vec![])),
            13 => self.check(w, |t| t.update_counter(&k, &by)),
            14 => self.check(w, |t| t.update_counter_or(&k, &by, &term!({0, 5}))),
            15 => self.check(w, |t| t.update_element(&k, &edits).map(truth)),
            16 => self.check(w, |t| {
                t.update_element_or(&k, &edits, &term!({0, 5})).map(truth)
            }),
            17 => self.check(w, |t| t.tab2list()),
            18 => self.check(w, |t| Ok(count(t.len()))),
            19 if ordered => self.check(w, |t| t.first().map(one)),
            20 if ordered => self.check(w, |t| t.last().map(one)),
            21 if ordered => self.check(w, |t| t.next(&k).map(one)),
            22 if ordered => self.check(w, |t| t.prev(&k).map(one)),
            19..23 => self.walk(w, back),
            23 if ordered => self.check(w, |t| t.slot(n).map(|slot| slot.unwrap_or_default())),
            24 => self.check(w, |t| t.range(range.clone(), options)),
            25 => {
                let prefix = Prefix::Tuple {
                    elements: vec![Term::atom("a")],
                    arity: 2,
                };
                self.check(w, |t| t.prefix(&prefix, options));
            }
            26 => self.check(w, |t| {
                if back { t.seek(&k) } else { t.seek_back(&k) }.map(one)
            }),
            27 => self.check(w, |t| t.nth(n).map(one)),
            28 => self.check(w, |t| t.rank(&k).map(count)),
            29 => self.check(w, |t| t.count_between(&range).map(count)),
            30 => self.check(w, |t| t.take_range(range.clone(), options)),
            31 if n < 3 => self.check(w, |t| t.drain()),
            31 => self.check(w, |t| t.delete_range(range.clone()).map(count)),
            32 => self.check(w, |t| t.select(&all)),
            33 => self.check(w, |t| t.select_reverse(&all)),
            34 => self.chunks(w, &all, limit, back),
            35 => self.check(w, |t| t.select_count(&truths).map(count)),
            36 if n < 10 => self.check(w, |t| t.select_delete(&truths).map(count)),
            37 => self.replace(w, rng),
            38 => self.check(w, |t| {
                let mut query = t.query(&all).threads(3);
                query.run()?;
                Ok(query.take())
            }),
            39 => self.check(w, |t| {
                let upsert = |old: Option<Term>| match old {
                    Some(_) if n % 3 == 0 => None,
                    _ => Some(Term::tuple(vec![k.clone(), Term::Int(n as i64)])),
                };
                t.upsert(&k, upsert).map(one)
            }),
            40 => self.check(w, |t| t.lookup_many(&keys).map(|found| found.concat())),
            41 => self.check(w, |t| {
                let (pin, mut out) = (pin(), Vec::new());
                t.get_many(&keys, &pin, &mut out)?;
                let terms = out.iter().flatten().map(Object::to_term).collect();
                Ok(if t.table_type().is_bag() {
                    vec![]
                } else {
                    terms
                })
            }),
            42 => self.cursors(w, back, limit),
            43 => self.fold(w, back),
            44 => self.check(w, |t| {
                let iter = if back { t.iter_back() } else { t.iter() };
                iter.collect()
            }),
            45 => self.check(w, |t| {
                t.compare_and_swap(
                    &o,
                    &Term::tuple(vec![
                        match &o {
                            Term::Tuple(elements) => elements[0].clone(),
                            _ => k.clone(),
                        },
                        Term::Int(77),
                    ]),
                )
                .map(truth)
            }),
            _ => {}
        }
        what
    }

    fn walk(&self, what: &str, back: bool) {
        self.check(what, |t| {
            let (mut all, mut at) = (Vec::new(), if back { t.last()? } else { t.first()? });
            while let Some(key) = at {
                // `$end_of_table` is a key as any other here.
                at = if back { t.prev(&key)? } else { t.next(&key)? };
                all.push(key);
            }
            Ok(all)
        });
    }

    fn chunks(&self, what: &str, all: &MatchSpec, limit: usize, back: bool) {
        self.check(what, |t| {
            let mut chunk = match back {
                true => t.select_reverse_limit(all, limit)?,
                false => t.select_limit(all, limit)?,
            };
            let mut found = Vec::new();
            loop {
                found.extend(chunk.results);
                let Some(next) = chunk.next else {
                    return Ok(found);
                };
                chunk = next.next()?;
            }
        });
    }

    fn cursors(&self, what: &str, back: bool, limit: usize) {
        self.check(what, |t| {
            let mut cursor = if back { Cursor::back() } else { Cursor::new() };
            let mut all = Vec::new();
            loop {
                let (pin, mut out) = (pin(), Vec::new());
                let more = cursor.next_at_least(limit, t, &pin, &mut out)?;
                all.extend(out.iter().map(Object::to_term));
                if !more {
                    return Ok(all);
                }
            }
        });
    }

    fn replace(&self, what: &str, rng: &mut StdRng) {
        if self.copy.table_type() == TableType::Bag {
            return;
        }
        let v = rng.random_range(0..6_i64);
        let plus = spec(term!([{
            {:"$1", :"$2"}, [{:is_integer, :"$2"}, {:">", :"$2", (v)}], [{{:"$1", {:"-", :"$2", 1}}}]
        }]));
        self.check(what, |t| {
            t.select_replace(&plus).map(|n| vec![Term::Int(n as i64)])
        });
    }

    /// The function writes to keys of the fold, and to others.
    fn fold(&self, what: &str, back: bool) {
        if !self.is_ordered() {
            // What it changes is behind it or before it as the hashes fall.
            return self.check(what, |t| {
                let keep = |object: Term, mut all: Vec<Term>| {
                    if let Term::Tuple(elements) = &object {
                        t.delete_key(&elements[0]).expect("a live table");
                        t.insert(&object).expect("a live table");
                    }
                    all.push(object);
                    all
                };
                let all = if back {
                    t.foldr(vec![], keep)?
                } else {
                    t.foldl(vec![], keep)?
                };
                Ok(if t.table_type().is_bag() { vec![] } else { all })
            });
        }
        let deletes = |t: &Table| {
            let mut n = 0;
            let each = |object: Term, mut all: Vec<Term>| {
                n += 1;
                if let (Term::Tuple(elements), true) = (&object, n % 3 == 0) {
                    t.delete_key(&elements[0]).expect("a live table");
                    t.insert(&term!({ (n * 10_000), 1 })).expect("a live table");
                }
                all.push(object);
                all
            };
            if back {
                t.foldr(vec![], each)
            } else {
                t.foldl(vec![], each)
            }
        };
        // A fold of the live table shows one moment; one of a transaction what it has written as well.
        let (a, b) = self.same(deletes);
        let (a, b) = (a.expect("a live table"), b.expect("a live table"));
        let without = |all: Vec<Term>| -> Vec<Term> {
            let new = |object: &Term| matches!(object, Term::Tuple(e) if matches!(e[0], Term::Int(k) if k >= 10_000));
            all.into_iter().filter(|object| !new(object)).collect()
        };
        assert_eq!(without(a), without(b), "{what}");
        let new = |t: &Table| t.delete_range(Term::Int(10_000)..Term::Int(1_000_000_000));
        self.same(new).0.expect("a live table");
        let everything = self.same(|t| t.tab2list());
        // What the folds have seen of the new keys decides what they have changed: the copy is made the same again.
        if everything.0 != everything.1 {
            self.copy.drain().expect("a live table");
            self.copy
                .insert_list(&everything.0.expect("live"))
                .expect("room");
        }
    }
}

#[test]
fn a_handle_is_like_a_private_table() {
    let number = |name: &str, default: u64| -> u64 {
        std::env::var(name)
            .ok()
            .and_then(|n| n.parse().ok())
            .unwrap_or(default)
    };
    let (mut seed, until) = (
        number("SEED", 1),
        Instant::now() + Duration::from_millis(number("MILLIS", 2000)),
    );
    let kinds = kinds_of(&[
        TableType::Set,
        TableType::OrderedSet,
        TableType::Bag,
        TableType::DuplicateBag,
    ]);
    let store = store();
    let owner = store.owner();
    let mut rounds = 0;
    while Instant::now() < until {
        let mut rng = StdRng::seed_from_u64(seed);
        let kind: &Options = &kinds[rng.random_range(0..kinds.len())];
        let wide = [8, 40, 40, 600][rng.random_range(0..4)];
        let (live, copy) = (
            owner.new_table("t", kind).expect("new"),
            owner.new_table("t", kind).expect("new"),
        );
        for _ in 0..rng.random_range(0..wide * 2) {
            let object = object(&mut rng, wide);
            live.insert(&object).expect("room");
            copy.insert(&object).expect("room");
        }
        let before = live.tab2list().expect("live");
        let transaction = store.begin();
        let within = transaction.table(&live).expect("nothing was read");
        let pair = Pair {
            within: &within,
            copy: &copy,
            wide,
        };
        let mut log = Vec::new();
        let steps = rng.random_range(1..if wide > 100 { 300 } else { 60 });
        for _ in 0..steps {
            let result =
                std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pair.step(&mut rng)));
            match result {
                Ok(what) => log.push(what),
                Err(_) => {
                    let last: Vec<_> = log
                        .iter()
                        .rev()
                        .take(if wide > 100 { 3 } else { 100 })
                        .rev()
                        .cloned()
                        .collect();
                    panic!(
                        "seed {seed}, {kind:?}, wide {wide}, step {}:\n{}",
                        log.len(),
                        last.join("\n")
                    );
                }
            }
        }
        assert_eq!(
            pair.settled(live.tab2list().expect("live")),
            pair.settled(before.clone()),
            "nothing is seen outside"
        );
        let commits = rng.random_bool(0.7);
        if commits {
            transaction.commit().expect("nobody else");
        } else {
            drop(transaction);
        }
        let end = pair.settled(live.tab2list().expect("live"));
        let want = if commits {
            copy.tab2list().expect("live")
        } else {
            before
        };
        let want_len = want.len();
        assert_eq!(end, pair.settled(want), "seed {seed} {kind:?} {log:?}");
        assert_eq!(live.len(), want_len, "seed {seed} {kind:?}");
        live.drain().expect("live");
        store.collect();
        assert_eq!(
            (live.len(), live.memory_by_kind().objects),
            (0, 0),
            "seed {seed} {kind:?}"
        );
        for table in [live, copy] {
            table.delete().expect("mine");
        }
        seed += 1;
        rounds += 1;
    }
    println!("{rounds} rounds");
}

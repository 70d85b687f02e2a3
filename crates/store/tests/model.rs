//! Random commands on the store and on a model of a few lines, for all table types.

mod common;

use common::{Command, Dialect, KINDS, command, int, key_of, settled, tuple};
use fyris::TableType;
use fyris_term::Term;
use num_bigint::BigInt;
use proptest::prelude::*;

/// A table as a list of objects, in insertion order; everything by linear search.
struct Model {
    d: Dialect,
    objects: Vec<Term>,
}

/// `badarg`.
struct Bad;
type Reply = Result<Term, Bad>;
type Step = fn(&Model, &mut [Term], &Term) -> Reply;

impl Model {
    fn same_key(&self, a: &Term, b: &Term) -> bool {
        if self.d.kind == TableType::OrderedSet {
            a.cmp_order(b).is_eq()
        } else {
            a == b
        }
    }

    fn key(&self, object: &Term) -> Result<Term, Bad> {
        key_of(object, self.d.keypos).ok_or(Bad)
    }

    fn with(&self, key: &Term) -> Vec<usize> {
        let same = |o: &Term| self.same_key(&key_of(o, self.d.keypos).unwrap(), key);
        (0..self.objects.len())
            .filter(|&i| same(&self.objects[i]))
            .collect()
    }

    fn lookup(&self, key: &Term) -> Vec<Term> {
        self.with(key)
            .into_iter()
            .map(|i| self.objects[i].clone())
            .collect()
    }

    fn put(&mut self, object: Term) {
        let key = key_of(&object, self.d.keypos).unwrap();
        match self.d.kind {
            TableType::Bag if self.objects.contains(&object) => {}
            TableType::Bag | TableType::DuplicateBag => self.objects.push(object),
            _ => {
                self.remove(&key);
                self.objects.push(object);
            }
        }
    }

    fn remove(&mut self, key: &Term) -> Vec<Term> {
        let taken = self.lookup(key);
        let gone = self.with(key);
        for i in gone.into_iter().rev() {
            self.objects.remove(i);
        }
        taken
    }

    /// Returns the whole table in term order of keys.
    fn sorted(&self) -> Vec<Term> {
        let mut list = self.objects.clone();
        let key = |o: &Term| key_of(o, self.d.keypos).unwrap();
        list.sort_by(|a, b| key(a).cmp_order(&key(b)));
        list
    }

    fn run(&mut self, Command { op, args }: &Command) -> Reply {
        let truth = |b: bool| Ok(Term::atom(if b { "true" } else { "false" }));
        match (*op, &args[..]) {
            ("insert", [arg]) => self.insert(arg, false),
            ("insert_new", [arg]) => self.insert(arg, true),
            ("lookup", [k]) => Ok(Term::list(self.lookup(k))),
            ("member", [k]) => truth(!self.with(k).is_empty()),
            ("take", [k]) => Ok(Term::list(self.remove(k))),
            ("delete", [k]) => {
                self.remove(k);
                truth(true)
            }
            ("delete_object", [object]) => {
                self.key(object)?;
                self.objects.retain(|o| o != object);
                truth(true)
            }
            ("delete_all_objects", []) => {
                self.objects.clear();
                truth(true)
            }
            ("lookup_element", [k, p]) => self.element(k, p, None),
            ("lookup_element", [k, p, d]) => self.element(k, p, Some(d)),
            ("update_element", [k, e]) => self.update(k, e, None, Model::edit),
            ("update_element", [k, e, d]) => self.update(k, e, Some(d), Model::edit),
            ("update_counter", [k, c]) => self.update(k, c, None, Model::count),
            ("update_counter", [k, c, d]) => self.update(k, c, Some(d), Model::count),
            ("tab2list", []) => Ok(Term::list(self.sorted())),
            ("foldr", []) => {
                let list = self.sorted();
                let ordered = self.d.kind == TableType::OrderedSet;
                Ok(Term::List(if ordered {
                    list.into_iter().rev().collect()
                } else {
                    list.into()
                }))
            }
            ("size", []) => Ok(int(self.objects.len() as i64)),
            ("first", []) => self.end_or(self.sorted().first()),
            ("last", []) => self.end_or(self.sorted().last()),
            ("next" | "prev", [Term::Atom(a)]) if a.as_str() == "$end_of_table" => Err(Bad),
            ("next", [k]) => self.end_or(
                self.sorted()
                    .iter()
                    .find(|o| self.key(o).is_ok_and(|o| o.cmp_order(k).is_gt())),
            ),
            ("prev", [k]) => self.end_or(
                self.sorted()
                    .iter()
                    .rfind(|o| self.key(o).is_ok_and(|o| o.cmp_order(k).is_lt())),
            ),
            ("slot", [Term::Int(i)]) => match self.sorted().get(*i as usize) {
                Some(object) => Ok(Term::list(vec![object.clone()])),
                None if *i as usize == self.objects.len() => self.end_or(None),
                None => Err(Bad),
            },
            other => panic!("{other:?}"),
        }
    }

    fn end_or(&self, object: Option<&Term>) -> Reply {
        match object {
            Some(object) => self.key(object),
            None => Ok(Term::atom("$end_of_table")),
        }
    }

    fn insert(&mut self, arg: &Term, only_new: bool) -> Reply {
        let one = vec![arg.clone()];
        let list = if let Term::List(list) = arg {
            list
        } else {
            &one
        };
        for object in list {
            self.key(object)?;
        }
        let known = |o: &Term| !self.with(&key_of(o, self.d.keypos).unwrap()).is_empty();
        if only_new && list.iter().any(known) {
            return Ok(Term::atom("false"));
        }
        for object in list {
            self.put(object.clone());
        }
        Ok(Term::atom("true"))
    }

    fn element(&self, key: &Term, position: &Term, default: Option<&Term>) -> Reply {
        let Term::Int(p @ 1..) = position else {
            return Err(Bad);
        };
        let found = self.lookup(key);
        if found.is_empty() {
            return default.cloned().ok_or(Bad);
        }
        let elements: Result<Vec<Term>, Bad> = found
            .iter()
            .map(|o| key_of(o, *p as usize).ok_or(Bad))
            .collect();
        let mut elements = elements?;
        Ok(if self.d.kind.is_bag() {
            Term::list(elements)
        } else {
            elements.remove(0)
        })
    }

    fn update(&mut self, key: &Term, arg: &Term, default: Option<&Term>, f: Step) -> Reply {
        if self.d.kind.is_bag() {
            return Err(Bad);
        }
        if let Some(default) = default {
            self.key(default)?;
        }
        let old = self.lookup(key).pop();
        let missing = old.is_none();
        let Some(Term::Tuple(mut object)) = old.or_else(|| {
            let Term::Tuple(mut object) = default?.clone() else {
                return None;
            };
            object[self.d.keypos - 1] = key.clone();
            Some(Term::Tuple(object))
        }) else {
            // Edits of what is not there are not even looked at.
            let editing = std::ptr::fn_addr_eq(f, Model::edit as Step);
            return if editing {
                Ok(Term::atom("false"))
            } else {
                Err(Bad)
            };
        };
        let reply = f(self, &mut object, arg)?;
        let changed = missing || arg != &Term::list(vec![]);
        if changed {
            // The stored key stays.
            self.put(Term::Tuple(object));
        }
        Ok(reply)
    }

    fn check(&self, position: &Term, object: &[Term]) -> Result<usize, Bad> {
        match position {
            Term::Int(p @ 1..) if *p as usize <= object.len() && *p as usize != self.d.keypos => {
                Ok(*p as usize - 1)
            }
            _ => Err(Bad),
        }
    }

    fn edit(&self, object: &mut [Term], arg: &Term) -> Reply {
        let one = vec![arg.clone()];
        let list = if let Term::List(list) = arg {
            list
        } else {
            &one
        };
        for edit in list {
            let Term::Tuple(pair) = edit else {
                return Err(Bad);
            };
            let [position, value] = &pair[..] else {
                return Err(Bad);
            };
            let at = self.check(position, object)?;
            object[at] = value.clone();
        }
        Ok(Term::atom("true"))
    }

    fn count(&self, object: &mut [Term], arg: &Term) -> Reply {
        if let Term::Int(_) | Term::Big(_) = arg {
            let op = tuple([int(self.d.keypos as i64 + 1), arg.clone()]);
            return self.count_one(object, &op);
        }
        let Term::List(list) = arg else {
            return self.count_one(object, arg);
        };
        let mut results = Vec::new();
        for op in list {
            results.push(self.count_one(object, op)?);
        }
        Ok(Term::list(results))
    }

    fn count_one(&self, object: &mut [Term], op: &Term) -> Reply {
        let Term::Tuple(parts) = op else {
            return Err(Bad);
        };
        let (at, limit) = match &parts[..] {
            [position, _] => (self.check(position, object)?, None),
            [position, _, t, v] => (
                self.check(position, object)?,
                Some((number(t)?, number(v)?)),
            ),
            _ => return Err(Bad),
        };
        let increment = number(&parts[1])?;
        let mut sum = number(&object[at])? + &increment;
        if let Some((threshold, value)) = limit {
            let down = increment < BigInt::ZERO;
            if (down && sum < threshold) || (!down && sum > threshold) {
                sum = value;
            }
        }
        object[at] = Term::integer(sum);
        Ok(object[at].clone())
    }
}

fn number(term: &Term) -> Result<BigInt, Bad> {
    match term {
        Term::Int(n) => Ok(BigInt::from(*n)),
        Term::Big(n) => Ok((**n).clone()),
        _ => Err(Bad),
    }
}

fn check(d: Dialect, index: &str, commands: &[Command]) {
    let owner = common::store().owner();
    let options = common::options(d.kind, d.keypos).index(index);
    let table = owner.new_table("t", &options).expect("a table");
    let mut model = Model { d, objects: vec![] };
    for (i, command) in commands.iter().enumerate() {
        let got = settled(d, command, common::run(&table, command));
        let want = match model.run(command) {
            Ok(term) => tuple([Term::atom("ok"), term]),
            Err(Bad) => tuple([Term::atom("error"), Term::atom("badarg")]),
        };
        let want = settled(d, command, want);
        assert_eq!(got, want, "command {i}: {command:?} on {d:?} {index}");
        assert_eq!(table.len(), model.objects.len(), "size after {command:?}");
    }
    // As in ETS, `next` does not go on from this one.
    table.delete_key(&Term::atom("$end_of_table")).unwrap();
    model.remove(&Term::atom("$end_of_table"));
    let mut visited = Vec::new();
    let mut at = table.first().unwrap();
    while let Some(key) = at {
        visited.push(key.clone());
        at = table.next(&key).unwrap();
    }
    let mut keys: Vec<Term> = model
        .sorted()
        .iter()
        .map(|o| key_of(o, d.keypos).unwrap())
        .collect();
    keys.dedup_by(|a, b| model.same_key(a, b));
    if d.kind == TableType::OrderedSet {
        assert_eq!(visited, keys);
    } else {
        visited.sort_by(Term::cmp_exact);
        keys.sort_by(Term::cmp_exact);
        keys.dedup();
        assert_eq!(visited, keys);
    }
}

fn dialect() -> impl Strategy<Value = Dialect> {
    (proptest::sample::select(&KINDS[..]), 1usize..4).prop_map(|(kind, keypos)| Dialect {
        kind,
        keypos,
        otp25: false,
    })
}

fn case() -> impl Strategy<Value = (Dialect, Vec<Command>)> {
    dialect().prop_flat_map(|d| (Just(d), proptest::collection::vec(command(d), 1..120)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_default_indexes_answer_as_the_model((d, commands) in case()) {
        let index = if d.kind == TableType::OrderedSet { "ordered" } else { "hash" };
        check(d, index, &commands);
    }

    #[test]
    fn exact_keys_in_the_tree_answer_as_the_model((d, commands) in case()) {
        check(d, "ordered", &commands);
    }

    #[test]
    fn the_classic_hash_tables_answer_as_the_model((d, commands) in case()) {
        if d.kind != TableType::OrderedSet {
            check(d, "linear_hash", &commands);
            check(d, "split_ordered", &commands);
            check(d, "michael_hash", &commands);
        }
    }

    #[test]
    fn relaxed_avl_trees_answer_as_the_model((d, commands) in case()) {
        check(d, "relaxed_avl", &commands);
    }

    #[test]
    fn skip_lists_answer_as_the_model((d, commands) in case()) {
        check(d, "skip_list", &commands);
    }
}

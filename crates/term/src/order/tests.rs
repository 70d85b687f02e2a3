use super::*;

fn float(value: f64) -> Term {
    Term::Float(Float::new(value).unwrap())
}

fn list(elements: &[i64]) -> Term {
    Term::List(elements.iter().copied().map(Term::Int).collect())
}

fn assert_ascending(terms: &[Term], cmp: impl Fn(&Term, &Term) -> Ordering) {
    for (i, a) in terms.iter().enumerate() {
        for (j, b) in terms.iter().enumerate() {
            assert_eq!(cmp(a, b), i.cmp(&j), "terms {i} and {j}");
        }
    }
}

#[test]
fn numbers_compare_by_value_and_exactly() {
    let two_63 = BigInt::from(1u64 << 63);
    let ascending = [
        Term::integer(-two_63.clone() - 1),
        Term::Int(i64::MIN),
        float(-1.5),
        Term::Int(-1),
        float(-0.5),
        Term::Int(0),
        float(5e-324),
        Term::Int(1 << 53),
        Term::Int((1 << 53) + 1),
        float(9007199254740994.0),
        Term::Int(i64::MAX),
        Term::integer(two_63.clone()),
        Term::integer(two_63.clone() + 1),
        float(1e300),
        Term::integer(BigInt::from(10).pow(301)),
    ];
    assert_ascending(&ascending, Term::cmp_order);
    assert!(float(I64_BEYOND).eq_order(&Term::integer(two_63)));
    assert!(float(-I64_BEYOND).eq_order(&Term::Int(i64::MIN)));
    assert!(
        float(9007199254740992.0)
            .cmp_order(&Term::Int((1 << 53) + 1))
            .is_lt()
    );
}

#[test]
fn exact_order_puts_integers_before_floats() {
    let ascending = [
        Term::Int(-1),
        Term::Int(7),
        Term::integer(BigInt::from(10).pow(30)),
        float(-3.0),
        float(-0.0),
        float(0.0),
        float(1.0),
    ];
    assert_ascending(&ascending, Term::cmp_exact);
    assert!(float(-0.0).eq_order(&float(0.0)) && float(-0.0).eq_order(&Term::Int(0)));
}

#[test]
fn types_sort_as_erlang_says() {
    let node = Atom::new("n").unwrap();
    let ascending = [
        Term::Int(9),
        Term::atom("a"),
        Term::Reference(Box::new(Reference {
            node,
            creation: 1,
            ids: vec![1],
        })),
        Term::Fun(Box::new(Fun::External {
            module: node,
            function: node,
            arity: 1,
        })),
        Term::Port(Box::new(Port {
            node,
            id: 1,
            creation: 1,
        })),
        Term::Pid(Box::new(Pid {
            node,
            id: 1,
            serial: 1,
            creation: 1,
        })),
        Term::tuple(vec![]),
        Term::tuple(vec![Term::Int(9)]),
        Term::tuple(vec![Term::Int(1), Term::Int(1)]),
        Term::Map(Map::default()),
        Term::Map(Map::new([(Term::Int(1), Term::Int(1))])),
        Term::list(vec![]),
        Term::improper(vec![Term::Int(1)], Term::atom("t")),
        list(&[1]),
        list(&[1, 0]),
        list(&[2]),
        Term::improper(vec![Term::Int(2)], Term::binary(*b"t")),
        Term::binary(*b""),
        Term::bits(&[0], 1).unwrap(),
        Term::binary([0]),
        Term::bits(&[0x80], 1).unwrap(),
        Term::bits(&[0x80], 7).unwrap(),
        Term::binary([0x80]),
        Term::binary([0x80, 0]),
    ];
    assert_ascending(&ascending, Term::cmp_order);
    assert_ascending(&ascending, Term::cmp_exact);
}

#[test]
fn map_keys_go_before_values_and_compare_exactly() {
    let map = |pairs: &[(Term, Term)]| Term::Map(Map::new(pairs));
    let one = Term::Int(1);
    let two = Term::Int(2);
    let by_keys = map(&[(one.clone(), two.clone()), (two.clone(), one.clone())]);
    let float_key = map(&[(one.clone(), one.clone()), (float(2.0), one.clone())]);
    assert!(
        by_keys.cmp_order(&float_key).is_lt(),
        "2 is exactly less than 2.0"
    );
    let v = map(&[(one.clone(), one.clone())]);
    let w = map(&[(one.clone(), float(1.0))]);
    assert!(v.eq_order(&w) && v.cmp_exact(&w).is_lt());
    // A map as key: its values compare exactly too.
    assert!(
        map(&[(v, one.clone())])
            .cmp_order(&map(&[(w, one)]))
            .is_lt()
    );
}

#[test]
fn identifiers_sort_as_in_otp_25() {
    let (a, b) = (Atom::new("a").unwrap(), Atom::new("b").unwrap());
    let pid = |node, id, serial, creation| {
        Term::Pid(Box::new(Pid {
            node,
            id,
            serial,
            creation,
        }))
    };
    let pids = [
        pid(a, 1, 1, 1),
        pid(a, 1, 1, 2),
        pid(b, 1, 1, 1),
        pid(a, 2, 1, 1),
        pid(a, 1, 2, 1),
    ];
    assert_ascending(&pids, Term::cmp_order);
    let port = |node, id, creation| Term::Port(Box::new(Port { node, id, creation }));
    assert_ascending(
        &[
            port(a, 1, 1),
            port(a, 1 << 32, 1),
            port(a, 1, 2),
            port(b, 1, 1),
        ],
        Term::cmp_order,
    );
    let reference = |node, creation, ids: &[u32]| {
        Term::Reference(Box::new(Reference {
            node,
            creation,
            ids: ids.to_vec(),
        }))
    };
    let references = [
        reference(a, 1, &[9]),
        reference(a, 1, &[2, 1, 1]),
        reference(a, 1, &[1, 2, 1]),
        reference(a, 1, &[1, 1, 1, 1]),
        reference(a, 2, &[1]),
        reference(b, 1, &[1]),
    ];
    assert_ascending(&references, Term::cmp_order);
    assert!(reference(a, 1, &[1, 1]) == reference(a, 1, &[1, 1, 0]));
}

#[test]
fn closures_sort_before_external_funs() {
    let (m, n) = (Atom::new("m").unwrap(), Atom::new("n").unwrap());
    let creator = Pid {
        node: m,
        id: 1,
        serial: 0,
        creation: 0,
    };
    let closure = |module, index, old_uniq, free: &[i64], creator: &Pid| {
        let free = free.iter().copied().map(Term::Int).collect();
        let (uniq, creator) = ([0; 16], creator.clone());
        Term::Fun(Box::new(Fun::Local(LocalFun {
            module,
            arity: 0,
            uniq,
            index,
            old_index: 0,
            old_uniq,
            creator,
            free,
        })))
    };
    let export = |module, function, arity| {
        Term::Fun(Box::new(Fun::External {
            module,
            function,
            arity,
        }))
    };
    let ascending = [
        closure(m, 1, 1, &[], &creator),
        closure(m, 1, 1, &[2], &creator),
        closure(m, 1, 1, &[1, 1], &creator),
        closure(m, 1, 2, &[], &creator),
        closure(m, 2, 1, &[], &creator),
        closure(n, 1, 1, &[], &creator),
        export(m, m, 1),
        export(m, m, 2),
        export(m, n, 0),
        export(n, m, 0),
    ];
    assert_ascending(&ascending, Term::cmp_order);
    assert_ascending(&ascending, Term::cmp_exact);
    let elsewhere = Pid {
        id: 2,
        ..creator.clone()
    };
    assert!(closure(m, 1, 1, &[], &creator) == closure(m, 1, 1, &[], &elsewhere));
}

mod properties {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::{related_pair, term};

    proptest! {
        #[test]
        fn exact_order_goes_with_equality_and_hashing((a, b) in related_pair()) {
            let exact = a.cmp_exact(&b);
            prop_assert_eq!(exact.is_eq(), a == b);
            prop_assert_eq!(exact, b.cmp_exact(&a).reverse());
            if exact.is_eq() {
                let hash = |t: &Term| {
                    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
                    BuildHasherDefault::<DefaultHasher>::default().hash_one(t)
                };
                prop_assert_eq!(hash(&a), hash(&b));
            }
            if a.cmp_order(&b).is_ne() {
                prop_assert!(exact.is_ne());
            }
            prop_assert_eq!(a.cmp_order(&b), b.cmp_order(&a).reverse());
        }

        #[test]
        fn both_orders_are_transitive(terms in prop::collection::vec(term(), 3..12), (a, b) in related_pair()) {
            let mut terms = terms;
            terms.extend([a, b]);
            for cmp in [Term::cmp_order, Term::cmp_exact] {
                terms.sort_by(cmp);
                for (i, a) in terms.iter().enumerate() {
                    for b in &terms[i..] {
                        prop_assert!(cmp(a, b).is_le());
                    }
                }
            }
        }
    }
}

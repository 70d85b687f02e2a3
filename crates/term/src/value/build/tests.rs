//! A builder whose terms are the terms in a list of its own.

use std::collections::HashMap;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::arbitrary;
use crate::key::{self, KeyBuf};
use crate::{Float, Fun, Map, Pid, value};

/// The terms, and the keys of the last map of each size that was made whole.
#[derive(Default)]
struct Heap(Vec<Term>, HashMap<usize, Rc<[Key]>>);

/// A key, and the same as a value.
type Key = (Term, Vec<u8>);

impl Heap {
    fn keep(&mut self, term: Term) -> usize {
        self.0.push(term);
        self.0.len() - 1
    }

    fn all(&self, places: &[usize]) -> Vec<Term> {
        places.iter().map(|&place| self.0[place].clone()).collect()
    }
}

impl Build for Heap {
    type Out = usize;
    type KeySet = Rc<[Key]>;

    fn int(&mut self, value: i64) -> usize {
        self.keep(Term::Int(value))
    }
    fn float(&mut self, value: f64) -> usize {
        self.keep(Term::Float(Float::new(value).expect("finite")))
    }
    fn atom(&mut self, atom: Atom) -> usize {
        self.keep(Term::Atom(atom))
    }
    fn binary(&mut self, bytes: &[u8]) -> usize {
        self.keep(Term::binary(bytes))
    }
    fn blob(&mut self, blob: &Blob) -> usize {
        self.keep(Term::Binary(blob.clone()))
    }
    fn string(&mut self, bytes: &[u8]) -> usize {
        let list = bytes.iter().map(|&byte| Term::Int(i64::from(byte)));
        let list = list.collect();
        self.keep(Term::List(list))
    }
    fn list(&mut self, elements: &[usize], tail: Option<usize>) -> usize {
        let elements = self.all(elements);
        let list = match tail {
            None => Term::list(elements),
            Some(tail) => Term::Improper(elements.into(), Box::new(self.0[tail].clone())),
        };
        self.keep(list)
    }
    fn tuple(&mut self, elements: &[usize]) -> usize {
        let elements = self.all(elements);
        self.keep(Term::tuple(elements))
    }
    fn likely_keys(&mut self, size: usize, pairs: &[u8]) -> Option<Rc<[Key]>> {
        let keys = self.1.get(&size)?;
        pairs.starts_with(&keys[0].1).then(|| keys.clone())
    }
    fn key_at(keys: &Rc<[Key]>, place: usize) -> &[u8] {
        &keys[place].1
    }
    fn map_of(&mut self, keys: &Rc<[Key]>, values: &[usize]) -> usize {
        let pairs = keys.iter().zip(self.all(values));
        let pairs = pairs
            .map(|((key, _), value)| (key.clone(), value))
            .collect();
        self.keep(Term::Map(Map { pairs }))
    }
    fn map(&mut self, pairs: &[usize]) -> usize {
        let pairs: Vec<(Term, Term)> = pairs
            .chunks(2)
            .map(|pair| (self.0[pair[0]].clone(), self.0[pair[1]].clone()))
            .collect();
        let keys = pairs.iter().map(|(key, _)| {
            let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
            value::encode(key, &mut bytes, &mut blobs);
            value::is_plain(&bytes, &blobs).then(|| (key.clone(), bytes))
        });
        let keys: Option<Rc<[Key]>> = keys.collect();
        keys.filter(|keys| !keys.is_empty())
            .into_iter()
            .for_each(|keys| drop(self.1.insert(pairs.len(), keys)));
        self.keep(Term::Map(Map::from_sorted(pairs).expect("in order")))
    }
    /// Begins small tuples, which get their elements one by one; others are made whole, and so with
    /// maps.
    fn begin_tuple(&mut self, arity: usize) -> Option<usize> {
        (arity <= 2).then(|| self.keep(Term::tuple(vec![Term::Int(0); arity])))
    }
    fn put(&mut self, tuple: usize, at: usize, element: usize) {
        let element = self.0[element].clone();
        match &mut self.0[tuple] {
            Term::Tuple(elements) => elements[at] = element,
            other => panic!("{other:?}"),
        }
    }
    fn begin_list(&mut self, length: usize) -> Option<usize> {
        let elements = || vec![Term::Int(0); length];
        (1..=3)
            .contains(&length)
            .then(|| self.keep(Term::list(elements())))
    }
    fn put_cell(&mut self, list: usize, at: usize, element: usize) {
        let element = self.0[element].clone();
        match &mut self.0[list] {
            Term::List(elements) => elements[at] = element,
            other => panic!("{other:?}"),
        }
    }
    fn end_list(&mut self, list: usize, length: usize, tail: Option<usize>) -> usize {
        match self.0[list].clone() {
            Term::List(elements) => {
                assert_eq!(elements.len(), length);
                let elements: Vec<usize> = elements.into_iter().map(|e| self.keep(e)).collect();
                self.list(&elements, tail)
            }
            other => panic!("{other:?}"),
        }
    }
    fn begin_map(&mut self, size: usize) -> Option<usize> {
        (size <= 2).then(|| self.keep(Term::list([])))
    }
    fn put_pair(&mut self, map: usize, at: usize, key: usize, value: usize) {
        let pair = self.all(&[key, value]);
        match &mut self.0[map] {
            Term::List(pairs) if pairs.len() == 2 * at => pairs.extend(pair),
            other => panic!("{at} in {other:?}"),
        }
    }
    fn end_map(&mut self, map: usize) -> usize {
        match self.0[map].clone() {
            Term::List(pairs) => {
                let pairs: Vec<usize> = pairs.into_iter().map(|term| self.keep(term)).collect();
                self.map(&pairs)
            }
            other => panic!("{other:?}"),
        }
    }
    /// Begins maps with large shapes, whose values get their places one by one.
    fn begin_shape(&mut self, shape: &'static Shape) -> Option<usize> {
        let pair = |key: &Atom| (Term::Atom(*key), Term::Int(0));
        let pairs = || shape.keys().iter().map(pair).collect();
        (shape.keys().len() > 2).then(|| self.keep(Term::Map(Map { pairs: pairs() })))
    }
    fn put_value(&mut self, map: usize, at: usize, value: usize) {
        let value = self.0[value].clone();
        match &mut self.0[map] {
            Term::Map(map) => map.pairs[at].1 = value,
            other => panic!("{other:?}"),
        }
    }
    fn big(&mut self, bytes: &[u8]) -> Option<usize> {
        let big = num_bigint::BigInt::from_signed_bytes_le(bytes);
        Some(self.keep(Term::integer(big)))
    }
    fn external_fun(&mut self, module: u32, function: u32, arity: u8) -> Option<usize> {
        let fun = Fun::External {
            module: Atom::from_id(module)?,
            function: Atom::from_id(function)?,
            arity,
        };
        Some(self.keep(Term::Fun(Box::new(fun))))
    }
    /// Begins closures of few captured values; others come whole.
    fn begin_fun(&mut self, code: &FunCode, creator: [u32; 4], captured: usize) -> Option<usize> {
        let [node, id, serial, creation] = creator;
        let node = Atom::from_id(node)?;
        let creator = Pid {
            node,
            id,
            serial,
            creation,
        };
        let free = vec![Term::Int(0); captured];
        let fun = code.fun(creator, free).ok().filter(|_| captured <= 2)?;
        Some(self.keep(Term::Fun(Box::new(Fun::Local(fun)))))
    }
    fn put_captured(&mut self, fun: usize, at: usize, value: usize) {
        let value = self.0[value].clone();
        match &mut self.0[fun] {
            Term::Fun(fun) => match &mut **fun {
                Fun::Local(fun) => fun.free[at] = value,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }
    fn other(&mut self, term: &Term) -> usize {
        self.keep(term.clone())
    }
}

proptest! {
    #[test]
    fn what_is_built_is_what_is_decoded(term in arbitrary::term()) {
        let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
        value::encode(&term, &mut bytes, &mut blobs);
        let (mut heap, mut stack) = (Heap::default(), vec![7]);
        let mut left = &bytes[..];
        let built = build(&mut left, &blobs, &mut heap, &mut stack).expect("encoded above");
        prop_assert!(left.is_empty() && stack == [7]);
        prop_assert_eq!(&heap.0[built], &term);
        let mut heap = Heap::default();
        let built = build_term(&term, &mut heap);
        prop_assert_eq!(&heap.0[built], &term);
    }

    #[test]
    fn a_key_is_built_as_it_is_decoded(term in arbitrary::term()) {
        let buf = KeyBuf::encode(&term);
        let tail = &buf.stored()[buf.order().len()..];
        let (mut heap, mut stack) = (Heap::default(), vec![7]);
        let built = key::build(buf.order(), tail, &mut heap, &mut stack).expect("encoded above");
        prop_assert_eq!(&heap.0[built], &term);
        prop_assert_eq!(stack, [7]);
    }

    /// The error is at the element that ends early; the six before it are whole.
    #[test]
    fn bytes_that_end_early_are_refused(term in arbitrary::term()) {
        let (mut bytes, mut blobs) = (vec![tag::TUPLE_0 + 7, 1, 2, 3, 4, 5, 6], Vec::new());
        value::encode(&term, &mut bytes, &mut blobs);
        for end in 7..bytes.len() {
            let built = build(&mut &bytes[..end], &blobs, &mut Heap::default(), &mut Vec::new());
            let error = built.expect_err("it ends early");
            prop_assert_eq!(error.kind, ValueErrorKind::Truncated);
            prop_assert!((7..=end).contains(&error.offset), "{}", error);
        }
    }

    #[test]
    fn hostile_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        let mut left = &bytes[..];
        let built = build(&mut left, &[], &mut Heap::default(), &mut Vec::new());
        // A map out of order is for the builder to notice; this one would not be built by `decode`.
        if built.is_err() {
            prop_assert_eq!(left, &bytes[..]);
        }
    }
}

/// The keys of the second map are those of the first; those of the third are others but for the first; the last holds
/// one like itself.
#[test]
fn maps_have_the_keys_of_those_before_or_others() {
    let map = |keys: [&str; 3], last: Term| {
        let values = [Term::Int(1), Term::binary(*b"two"), last];
        let keys = keys.map(|key| Term::binary(key.as_bytes()));
        Term::Map(keys.into_iter().zip(values).collect())
    };
    let keys = ["a", "b", "c"];
    let term = Term::list(vec![
        map(keys, Term::Int(3)),
        map(keys, Term::Int(-3)),
        map(["a", "c", "d"], Term::Int(4)),
        map(keys, Term::Int(5)),
        map(keys, map(keys, Term::Int(6))),
    ]);
    let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
    value::encode(&term, &mut bytes, &mut blobs);
    let mut heap = Heap::default();
    let built = build(&mut &bytes[..], &blobs, &mut heap, &mut Vec::new()).expect("encoded above");
    assert_eq!(heap.0[built], term);
}

/// Maps in maps, each with keys like those of the map before but for the last, take no longer than their bytes.
#[test]
fn keys_that_turn_out_others_take_no_longer() {
    let map = |keys: [&[u8]; 3], inner: Term| {
        let keys = keys.map(Term::binary);
        let values = [Term::Int(1), inner, Term::Int(3)];
        Term::Map(keys.into_iter().zip(values).collect())
    };
    let nested = (0..40).fold(Term::Int(2), |inner, _| map([b"a", b"b", b"d"], inner));
    let term = Term::list(vec![map([b"a", b"b", b"c"], Term::Int(2)), nested]);
    let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
    value::encode(&term, &mut bytes, &mut blobs);
    let mut heap = Heap::default();
    let built = build(&mut &bytes[..], &blobs, &mut heap, &mut Vec::new()).expect("encoded above");
    assert_eq!(heap.0[built], term);
    assert!(heap.0.len() < 2 * bytes.len());
}

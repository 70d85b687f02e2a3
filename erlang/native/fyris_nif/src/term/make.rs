//! Terms of the machine from what is stored.

use std::cell::Cell;
use std::rc::Rc;

use fyris::{Object, StoredValue};
use fyris_term::value::{Build, FunCode, Shape, build_term};
use fyris_term::{Atom, Blob, Term as Owned};
use num_bigint::Sign;
use smallvec::SmallVec;

use super::external;
use crate::kind::fun::{self, FunKey};
use crate::kind::map::keys;
use crate::kind::map::sets::{self, Tree};
use crate::kind::{atom, binary, node, pid, port, reference};
use crate::load;
use crate::machine::{Env, FEW_KEYS, Room, Term};

/// Makes terms in an environment.
pub(crate) struct Maker {
    env: Env,
    room: Room,
    /// Whether a term was made whose place among others the machine sees differently on some nodes.
    odd: bool,
    /// Whether a key of a map may be such a term or contain one: then the machine is asked to put the keys in order.
    odd_keys: bool,
}

impl Maker {
    /// Makes `[Head | Tail]`.
    #[inline]
    pub(crate) fn cell(&mut self, head: Term, tail: Term) -> Term {
        self.room.cell(head, tail)
    }
}

thread_local! {
    static STACK: Cell<Vec<Term>> = const { Cell::new(Vec::new()) };
    /// Words that the reply before this one took.
    static LAST: Cell<usize> = const { Cell::new(0) };
}

/// The most words that a number of bytes of values become: an empty binary is one byte of them.
const WORDS_A_BYTE: usize = 3;

/// Words that a reply with this object needs at most, besides those of the object's place in a list or tuple.
#[inline]
pub(crate) fn most_words(object: &Object<'_>) -> usize {
    WORDS_A_BYTE * object.stored_len() + object.arity()
}

/// Words that a reply with this element needs at most, besides its place in a list.
#[inline]
pub(crate) fn most_words_of(element: StoredValue<'_>) -> usize {
    WORDS_A_BYTE * element.most_bytes()
}

/// The most bytes of a blob that is copied: up to here a resource that holds it takes longer to make.
const COPIED: usize = 2048;

/// A stack larger than this is given back after use.
const KEEP: usize = 1 << 12;

/// Runs `f` with a maker and scratch memory for it, which the thread keeps for the next time.
///
/// Replies are mostly as long as those before them, so that is how much room is asked for; but no more than `most`
/// words.
#[inline]
pub(crate) fn with_maker<R>(
    env: Env,
    most: usize,
    f: impl FnOnce(&mut Maker, &mut Vec<Term>) -> R,
) -> R {
    let mut stack = STACK.take();
    let mut maker = Maker {
        env,
        room: Room::new(env, LAST.get().min(most)),
        odd: false,
        odd_keys: false,
    };
    let result = f(&mut maker, &mut stack);
    LAST.set(maker.room.taken());
    stack.clear();
    if stack.capacity() <= KEEP {
        STACK.set(stack);
    }
    result
}

/// Returns a list of objects, with this key if it is known, in front of `tail`: the last one first. It needs no more than
/// `most` words.
#[inline]
pub(crate) fn make_list<'o, 'g: 'o>(
    env: Env,
    most: usize,
    objects: impl Iterator<Item = &'o Object<'g>>,
    key: Option<Term>,
    tail: Term,
) -> Term {
    with_maker(env, most, |maker, stack| {
        objects.fold(tail, |tail, object| {
            let object = object.build(key, maker, stack);
            maker.cell(object, tail)
        })
    })
}

/// Returns the machine's term for one of ours.
pub(crate) fn make(env: Env, term: &Owned) -> Term {
    let room = Room::new(env, 0);
    let mut maker = Maker {
        env,
        room,
        odd: false,
        odd_keys: false,
    };
    build_term(term, &mut maker)
}

impl Build for Maker {
    type Out = Term;
    type KeySet = Rc<Tree>;

    #[inline(always)]
    fn int(&mut self, value: i64) -> Term {
        self.env.make_int(value)
    }

    #[inline]
    fn float(&mut self, value: f64) -> Term {
        self.room.float(value)
    }

    #[inline]
    fn atom(&mut self, atom: Atom) -> Term {
        atom::to_machine(self.env, atom)
    }

    #[inline(always)]
    fn atom_of(&mut self, id: u32) -> Option<Term> {
        atom::numbered(self.env, id)
    }

    #[inline(always)]
    fn binary(&mut self, bytes: &[u8]) -> Term {
        self.room.binary(bytes)
    }

    /// Makes the binary that a blob is. Of bytes that are not the machine's: a copy of up to [`COPIED`] of them, else a
    /// binary that holds a count of them.
    #[inline]
    fn blob(&mut self, blob: &Blob) -> Term {
        if blob.is_foreign() {
            return binary::make(self.env, blob);
        }
        if blob.len() <= COPIED {
            return self.env.make_binary(blob);
        }
        // SAFETY: the bytes are immutable and live as long as the resource.
        unsafe { load::new_resource(blob.to_arc()).binary(self.env, blob) }
    }

    fn string(&mut self, bytes: &[u8]) -> Term {
        let nil = atom::nil(self.env);
        bytes.iter().rev().fold(nil, |tail, &byte| {
            let byte = self.env.make_int(i64::from(byte));
            self.room.cell(byte, tail)
        })
    }

    fn list(&mut self, elements: &[Term], tail: Option<Term>) -> Term {
        let tail = tail.unwrap_or_else(|| atom::nil(self.env));
        let elements = elements.iter().rev();
        elements.fold(tail, |tail, &e| self.room.cell(e, tail))
    }

    #[inline(always)]
    fn begin_list(&mut self, length: usize) -> Option<Term> {
        self.room.begin_list(length)
    }

    #[inline(always)]
    fn put_cell(&mut self, list: Term, at: usize, element: Term) {
        self.room.put_cell(list, at, element);
    }

    #[inline]
    fn end_list(&mut self, list: Term, length: usize, tail: Option<Term>) -> Term {
        let tail = tail.unwrap_or_else(|| atom::nil(self.env));
        self.room.end_list(list, length, tail);
        list
    }

    #[inline]
    fn tuple(&mut self, elements: &[Term]) -> Term {
        self.room.tuple(elements)
    }

    #[inline(always)]
    fn begin_tuple(&mut self, arity: usize) -> Option<Term> {
        self.room.begin_tuple(arity)
    }

    #[inline(always)]
    fn put(&mut self, tuple: Term, at: usize, element: Term) {
        self.room.put(tuple, at, element);
    }

    #[inline]
    fn begin_map(&mut self, size: usize) -> Option<Term> {
        self.room.begin_map(size)
    }

    #[inline(always)]
    fn put_pair(&mut self, map: Term, at: usize, key: Term, value: Term) {
        self.odd_keys |= self.odd && !key.is_small_or_atom();
        self.room.put_pair(map, at, key, value);
    }

    #[inline]
    fn end_map(&mut self, map: Term) -> Term {
        if self.odd_keys {
            return self.room.remake_map(map);
        }
        self.room.order_keys(map);
        map
    }

    #[inline]
    fn begin_shape(&mut self, shape: &'static Shape) -> Option<Term> {
        self.room.begin_shape(keys::words_of(self.env, shape))
    }

    #[inline(always)]
    fn put_value(&mut self, map: Term, at: usize, value: Term) {
        self.room.put_value(map, at, value);
    }

    #[inline]
    fn end_shape(&mut self, map: Term) -> Term {
        self.room.order_keys(map);
        map
    }

    fn map(&mut self, pairs: &[Term]) -> Term {
        let (pairs, _) = pairs.as_chunks::<2>();
        let (mut keys, mut values) = (SmallVec::<[Term; 32]>::new(), SmallVec::<[Term; 32]>::new());
        keys.extend(pairs.iter().map(|pair| pair[0]));
        values.extend(pairs.iter().map(|pair| pair[1]));
        let is_tree = keys.len() > FEW_KEYS;
        let written = is_tree.then(|| self.room.tree(&keys, &values)).flatten();
        let map = written.or_else(|| self.env.make_map(&keys, &values));
        let map = map.expect("all keys of a map are different");
        if is_tree {
            sets::missed(self.env, map);
        }
        map
    }

    #[inline]
    fn likely_keys(&mut self, size: usize, pairs: &[u8]) -> Option<Rc<Tree>> {
        sets::likely(size, pairs)
    }

    #[inline(always)]
    fn key_at(tree: &Rc<Tree>, place: usize) -> &[u8] {
        tree.key(place)
    }

    fn map_of(&mut self, tree: &Rc<Tree>, values: &[Term]) -> Term {
        sets::met();
        self.room
            .image(&tree.image, tree.value_places().zip(values))
    }

    #[inline(always)]
    fn pid(&mut self, node: u32, id: u32, serial: u32, creation: u32) -> Option<Term> {
        self.odd = true;
        pid::from_local_pid(node, id, serial, creation)
            .or_else(|| node::make_pid(self.env, (node, creation), [id, serial]))
    }

    #[inline]
    fn port(&mut self, node: u32, creation: u32, id: u64) -> Option<Term> {
        self.odd = true;
        port::make(node, creation, id)
    }

    #[inline]
    fn reference(&mut self, node: (u32, u32), ids: &[[u8; 4]], blobs: &[Blob]) -> Option<Term> {
        self.odd = true;
        let mut numbers = [0; 5];
        let numbers = numbers.get_mut(..ids.len())?;
        for (number, bytes) in numbers.iter_mut().zip(ids) {
            *number = u32::from_le_bytes(*bytes);
        }
        reference::make(self.env, &mut self.room, node, numbers, blobs)
    }

    fn external_fun(&mut self, module: u32, function: u32, arity: u8) -> Option<Term> {
        self.odd = true;
        let key = FunKey::External(Atom::from_id(module)?, Atom::from_id(function)?, arity);
        fun::begin(self.env, key, None)
    }

    fn begin_fun(
        &mut self,
        code: &FunCode,
        [node, id, serial, creation]: [u32; 4],
        captured: usize,
    ) -> Option<Term> {
        self.odd = true;
        let creator = pid::from_local_pid(node, id, serial, creation);
        fun::begin(self.env, FunKey::Local(*code, captured), creator)
    }

    #[inline]
    fn put_captured(&mut self, fun: Term, at: usize, value: Term) {
        fun::put(fun, at, value);
    }

    fn big(&mut self, bytes: &[u8]) -> Option<Term> {
        self.room.large_from_bytes(bytes)
    }

    fn other(&mut self, term: &Owned) -> Term {
        if let Owned::Big(value) = term {
            let digits: SmallVec<[u64; 8]> = value.iter_u64_digits().collect();
            let negative = value.sign() == Sign::Minus;
            if let Some(term) = self.room.large(negative, &digits) {
                return term;
            }
        }
        self.odd = true;
        let local = match term {
            Owned::Reference(of) => {
                let node = (of.node.id(), of.creation);
                reference::make(self.env, &mut self.room, node, &of.ids, &[])
            }
            _ => None,
        };
        local.unwrap_or_else(|| external::make(self.env, term))
    }
}

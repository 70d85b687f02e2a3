//! Terms of the machine as value bytes, by way of a stage.
//!
//! # Why
//!
//! A writer that appends to a vector stores the vector's length with every integer and atom and loads it again with the
//! next one, and waits for it each time. Most values are some hundred bytes of such small things. So they are written
//! to a stage: some bytes on the stack, and the place in them, which stays in a register.
//!
//! Terms are read where they are ([`see`]). What is large is written behind what is on the stage; what has
//! another layout, or stands deep down, is read as a [`Term`](fyris_term::Term) first.
//!
//! # Invariant
//!
//! **STAGE**: a place up to which is written is at most [`LIMIT`] when a term begins, and a term that is written on the
//! stage goes on for no more than [`SLACK`] bytes, before its parts begin; so all stores are within the stage, those
//! that reach behind a token too. The bytes before a place are initialized.

use std::mem::MaybeUninit;

use fyris_term::value::{MAX_INLINE_BINARY, Token, ValueWriter};
use fyris_term::{Float, Pid, Port};

use super::keep::Gathering;
use super::{DEEP, Result, read};
use crate::kind::fun::{self, FunKey, SeenFun};
use crate::kind::integer::Large;
use crate::kind::map::keys::{self, Keys};
use crate::kind::map::tree::{self, Pair};
use crate::kind::map::{order, sets};
use crate::kind::node::{self, Foreign, NodeIds, here};
use crate::kind::reference::{self, Ids};
use crate::kind::{Cells, Pairs, Seen, atom, binary, pid, port, see};
use crate::machine::{Env, SHORT, Term, write_short};

/// Bytes of the stage.
const ROOM: usize = 512;
/// The most bytes that are written, or overwritten, for a term without its parts: two of a head and a short binary.
const SLACK: usize = (2 + SHORT).next_multiple_of(8);
/// The last place where a term may begin.
const LIMIT: usize = ROOM - SLACK;
/// The place behind a term that could not be written: beyond all places, so that it needs no test where the next term
/// begins.
const FAILED: usize = usize::MAX;

/// Writes a whole term; the caller gathers what it refers to.
pub(crate) fn write_value(env: Env, term: Term, out: &mut ValueWriter<'_>) -> Result<()> {
    write_all(
        env,
        std::iter::once(&term),
        out,
        &mut Gathering::of_caller(),
    )
}

/// Writes the terms, one behind another.
pub(super) fn write_all<'t>(
    env: Env,
    terms: impl Iterator<Item = &'t Term>,
    out: &mut ValueWriter<'_>,
    gathering: &mut Gathering,
) -> Result<()> {
    let mut stage = Stage {
        env,
        out,
        gathering,
        bytes: [MaybeUninit::uninit(); ROOM],
        error: None,
    };
    let mut at = 0;
    for &term in terms {
        at = stage.term(term, at, 0);
    }
    stage.flush(at);
    stage.error.map_or(Ok(()), Err)
}

struct Stage<'w, 'v> {
    env: Env,
    out: &'w mut ValueWriter<'v>,
    gathering: &'w mut Gathering,
    bytes: [MaybeUninit<u8>; ROOM],
    /// Why a term could not be written.
    error: Option<fyris::Error>,
}

impl Stage<'_, '_> {
    /// Returns a place on the stage as a pointer.
    #[inline(always)]
    fn to(&mut self, at: usize) -> *mut u8 {
        debug_assert!(at <= ROOM - 8);
        self.bytes.as_mut_ptr().wrapping_add(at).cast()
    }

    /// Writes a token, and returns the place behind it.
    #[inline(always)]
    fn put(&mut self, at: usize, token: Token) -> usize {
        // SAFETY: STAGE: eight bytes from the place on are on the stage.
        unsafe {
            self.to(at)
                .cast::<u64>()
                .write_unaligned(token.word().to_le())
        };
        at + token.len()
    }

    /// Writes a word, and returns the place behind it.
    #[inline(always)]
    fn put_word(&mut self, at: usize, word: u64) -> usize {
        // SAFETY: as in `put`.
        unsafe { self.to(at).cast::<u64>().write_unaligned(word.to_le()) };
        at + 8
    }

    /// Hands on what is written so far, and returns the first place.
    #[inline(never)]
    fn flush(&mut self, at: usize) -> usize {
        if at == FAILED {
            return FAILED;
        }
        // SAFETY: STAGE: the bytes before a place are initialized.
        let written = unsafe { std::slice::from_raw_parts(self.bytes.as_ptr().cast(), at) };
        self.out.append(written);
        0
    }

    #[cold]
    fn fail(&mut self, error: fyris::Error) -> usize {
        self.error = Some(error);
        FAILED
    }

    /// Returns a place where a term may begin, with nothing behind it.
    #[inline(always)]
    fn room(&mut self, at: usize) -> usize {
        if at <= LIMIT { at } else { self.flush(at) }
    }

    /// Writes a term, `depth` levels down, and returns the place behind it.
    #[inline(always)]
    fn term(&mut self, term: Term, at: usize, depth: usize) -> usize {
        let at = self.room(at);
        if at == FAILED {
            return FAILED;
        }
        if let Some(value) = term.small() {
            return match Token::int(value) {
                Some(token) => self.put(at, token),
                None => self.int(value, at),
            };
        }
        if term.atom_index().is_some() {
            return match atom::from_machine(self.env, term) {
                Some(atom) => self.put(at, Token::atom(atom)),
                None => self.fail(atom::no_more()),
            };
        }
        self.parts(term, at, depth)
    }

    /// Writes a term of several words, `depth` levels down, and returns the place behind it. Its stack space is needed
    /// at every level of a deep term.
    #[inline(never)]
    fn parts(&mut self, term: Term, at: usize, depth: usize) -> usize {
        match see(term) {
            Seen::Tuple(_) | Seen::List(_) | Seen::Map(_) | Seen::Tree if depth >= DEEP => {
                self.gathering.begin();
                self.by_term(term, at)
            }
            Seen::Tuple(elements) => {
                let mut at = self.put(at, Token::tuple(elements.len()));
                for &element in elements {
                    at = self.term(element, at, depth + 1);
                }
                at
            }
            Seen::List(cells) => self.list(cells, at, depth),
            Seen::Map(map) => match keys::known(self.env, map.keys, map.by_number) {
                Some(keys) => self.map(&map, &keys, at, depth),
                None if order::are_sorted(self.env, map.keys) => self.sorted_map(&map, at, depth),
                None => self.any_map(self.env.pairs(term), at, depth),
            },
            Seen::Tree => self.tree(term, at, depth),
            Seen::Binary(bytes) => self.binary(bytes, at),
            Seen::Float(value) => {
                let at = self.put(at, Token::float());
                let value = Float::new(value).unwrap_or(Float::ZERO);
                self.put_word(at, value.get().to_bits())
            }
            Seen::Large(large) => self.large(&large, at),
            Seen::Other => self.other(term, at, depth),
        }
    }

    /// Writes a binary in the heap, which is short.
    #[inline(always)]
    fn binary(&mut self, bytes: &[u8], at: usize) -> usize {
        let Some(head) = Token::binary(bytes.len()).filter(|_| bytes.len() <= SHORT) else {
            self.flush(at);
            self.out.binary(bytes);
            return 0;
        };
        let at = self.put(at, head);
        if !bytes.is_empty() {
            // SAFETY: STAGE: as many words as hold the bytes are on the stage.
            unsafe { write_short(self.to(at).cast(), bytes) };
        }
        at + bytes.len()
    }

    /// Writes an integer that is no token.
    #[inline(never)]
    fn int(&mut self, value: i64, at: usize) -> usize {
        self.flush(at);
        self.out.int(value);
        0
    }

    #[inline(never)]
    fn large(&mut self, large: &Large<'_>, at: usize) -> usize {
        if let Some(value) = large.as_int() {
            return self.int(value, at);
        }
        self.flush(at);
        self.out.big(large.negative, large.digits);
        0
    }

    #[inline(never)]
    fn map(&mut self, map: &Pairs<'_>, keys: &Keys, at: usize, depth: usize) -> usize {
        let places = (0..map.keys.len()).map(|place| match map.by_number {
            true => keys.places[place].into(),
            false => place,
        });
        if let Some(shape) = keys.shape {
            let mut at = self.put(at, Token::shape(shape));
            for place in places {
                at = self.term(map.values[place], at, depth + 1);
            }
            return at;
        }
        let mut at = self.put(at, Token::map(map.keys.len()));
        for place in places {
            at = self.term(map.keys[place], at, depth + 1);
            at = self.term(map.values[place], at, depth + 1);
        }
        at
    }

    /// Writes a map whose keys are in exact order as they stand.
    #[inline(never)]
    fn sorted_map(&mut self, map: &Pairs<'_>, at: usize, depth: usize) -> usize {
        let mut at = self.put(at, Token::map(map.keys.len()));
        for (&key, &value) in map.keys.iter().zip(map.values) {
            at = self.term(key, at, depth + 1);
            at = self.term(value, at, depth + 1);
        }
        at
    }

    /// Writes a map of many keys: in the order that the thread knows, if it has met these keys.
    #[inline(never)]
    fn tree(&mut self, map: Term, at: usize, depth: usize) -> usize {
        let Some(leaves) = tree::leaves(map) else {
            return self.any_map(self.env.pairs(map), at, depth);
        };
        let Some(tree) = sets::of_leaves(self.env, &leaves) else {
            sets::missed(self.env, map);
            return self.any_map(leaves, at, depth);
        };
        let mut at = self.put(at, Token::map(leaves.len()));
        for (key, leaf) in tree.keys() {
            at = self.encoded(key, at);
            at = self.term(leaves[leaf].1, at, depth + 1);
        }
        at
    }

    /// Writes a small integer, an atom or a short binary that is a value already.
    #[inline(always)]
    fn encoded(&mut self, value: &[u8], at: usize) -> usize {
        let at = self.room(at);
        if at == FAILED {
            return FAILED;
        }
        // SAFETY: STAGE: a term may begin here, and this one takes no more than a head and a short binary.
        unsafe { write_short(self.to(at).cast(), &value[..value.len().min(SLACK)]) };
        at + value.len()
    }

    /// Writes a map whose pairs are to be sorted.
    #[inline(never)]
    fn any_map(&mut self, pairs: Vec<Pair>, at: usize, depth: usize) -> usize {
        let pairs = match order::ordered(self.env, pairs, depth + 1) {
            Ok(pairs) => pairs,
            Err(error) => return self.fail(error),
        };
        let shape = keys::shape_of(self.env, pairs.iter().map(|pair| pair.0));
        let head = shape.map_or_else(|| Token::map(pairs.len()), Token::shape);
        let mut at = self.put(at, head);
        for (key, value) in pairs {
            if shape.is_none() {
                at = self.term(key, at, depth + 1);
            }
            at = self.term(value, at, depth + 1);
        }
        at
    }

    /// Writes a list, as a string if all of it are bytes, since every term has one form only.
    #[inline(never)]
    fn list(&mut self, list: Cells, at: usize, depth: usize) -> usize {
        let (mut length, mut is_string) = (0, true);
        let mut all = list;
        for element in all.by_ref() {
            is_string &= matches!(element.small(), Some(0..=255));
            length += 1;
        }
        let end = all.end();
        let is_proper = end == atom::nil(self.env);
        let head = match is_proper {
            true if is_string => return self.string(list, length, at),
            true => Token::list(length),
            false => Token::improper(length),
        };
        let mut at = self.put(at, head);
        for element in list {
            at = self.term(element, at, depth + 1);
            if at == FAILED {
                return FAILED;
            }
        }
        match is_proper {
            true => at,
            false => self.term(end, at, depth + 1),
        }
    }

    #[inline(always)]
    fn string(&mut self, list: Cells, length: usize, at: usize) -> usize {
        let mut at = self.put(at, Token::string(length));
        for byte in list {
            at = self.room(at);
            // SAFETY: STAGE: a term may begin here, and this takes a byte.
            unsafe { self.to(at).write(byte.small().unwrap_or(0) as u8) };
            at += 1;
        }
        at
    }

    #[inline(always)]
    fn pid(&mut self, pid: &Pid, at: usize) -> usize {
        let word = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let at = self.put(at, Token::pid());
        let at = self.put_word(at, word(pid.node.id(), pid.id));
        self.put_word(at, word(pid.serial, pid.creation))
    }

    #[inline(never)]
    fn port(&mut self, port: &Port, at: usize) -> usize {
        let at = self.put(at, Token::port());
        let node = u64::from(port.node.id());
        let at = self.put_word(at, node | u64::from(port.creation) << u32::BITS);
        self.put_word(at, port.id)
    }

    #[inline(never)]
    fn fun(&mut self, fun: &SeenFun<'_>, at: usize, depth: usize) -> usize {
        self.flush(at);
        match fun.code.key {
            FunKey::Local(code, captured) => match fun.creator(self.env) {
                Ok(creator) => self.out.begin_fun(&code, &creator, captured),
                Err(error) => return self.fail(error),
            },
            FunKey::External(module, function, arity) => {
                self.out.external_fun(module, function, arity);
            }
        }
        let mut at = 0;
        for &value in fun.captured {
            at = self.term(value, at, depth + 1);
        }
        at
    }

    /// Writes a reference of this node.
    #[inline(never)]
    fn reference(&mut self, ids: Ids, at: usize) -> usize {
        self.numbered((here().id(), 0), ids, at)
    }

    /// Writes a reference of a node.
    #[inline]
    fn numbered(&mut self, (node, creation): NodeIds, ids: Ids, at: usize) -> usize {
        let word = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
        let ([a, b, c, d, e], count) = ids.parts();
        let at = self.put(at, Token::reference());
        let at = self.put_word(at, word(node, creation));
        let at = self.put(at, Token::count(count as u8));
        let (from, at) = (at, self.put_word(at, word(a, b)));
        let at = self.put_word(at, word(c, d));
        self.put_word(at, word(e, 0));
        from + size_of::<u32>() * count
    }

    /// Writes a binary that is not in the heap: a large one is held.
    #[inline(never)]
    fn far_binary(&mut self, term: Term, bytes: &[u8], at: usize) -> usize {
        if bytes.len() <= MAX_INLINE_BINARY {
            return self.binary(bytes, at);
        }
        self.flush(at);
        self.out.blob(binary::blob(term, bytes));
        0
    }

    /// Writes a term by way of a [`Term`](fyris_term::Term).
    #[inline(never)]
    fn by_term(&mut self, term: Term, at: usize) -> usize {
        self.flush(at);
        match read(self.env, term) {
            Ok(owned) => self.out.any(&owned),
            Err(error) => return self.fail(error),
        }
        0
    }

    /// Writes `[]`, a process, a reference, a port, a fun, a binary that is not in the heap, or what is written by way of a
    /// [`Term`](fyris_term::Term).
    #[inline(never)]
    fn other(&mut self, term: Term, at: usize, depth: usize) -> usize {
        if term == atom::nil(self.env) {
            return self.put(at, Token::nil());
        }
        if let Some(id) = term.local_pid() {
            return self.pid(&pid::local_pid(id), at);
        }
        if let Some(ids) = reference::plain_ids(term) {
            return self.reference(ids, at);
        }
        if let Some(port) = port::see(self.env, term) {
            return self.port(&port, at);
        }
        match node::see(term) {
            Some(Foreign::Pid(pid)) => return self.pid(&pid, at),
            Some(Foreign::Reference(node, ids)) => return self.numbered(node, Ids::three(ids), at),
            None => {}
        }
        self.gathering.begin();
        if let Some(ids) = reference::local_ids(term) {
            return self.reference(ids, at);
        }
        if let Some(fun) = fun::see(self.env, term).filter(|_| depth < DEEP) {
            return self.fun(&fun, at, depth);
        }
        match self.env.binary(term) {
            Some(bytes) => self.far_binary(term, bytes, at),
            None => self.by_term(term, at),
        }
    }
}

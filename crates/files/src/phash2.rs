//! `erlang:phash2/1`, by which dets places objects.
//!
//! One hash goes through a term from its first leaf to its last, and each thing on the way is mixed into it, with a
//! constant of its kind. The pairs of a map are hashed apart, each from zero, and put together by exclusive or, so that
//! their order does not matter.

use fyris_term::{Float, Fun, Term};

/// The values are below this.
const RANGE: u32 = 1 << 27;
/// The golden ratio; the constant of a kind is a multiple.
const RATIO: u32 = 0x9e37_79b9;
/// What `[]` gives where nothing has been hashed before it.
const EMPTY_LIST: u32 = 3_468_870_702;

/// Constants of the kinds.
mod kind {
    const fn multiple(n: u32) -> u32 {
        super::RATIO.wrapping_mul(n)
    }
    pub(super) const SMALL: u32 = multiple(1);
    pub(super) const EMPTY: u32 = multiple(2);
    pub(super) const ATOM: u32 = multiple(3);
    pub(super) const BYTES: u32 = multiple(4);
    pub(super) const PID: u32 = multiple(5);
    pub(super) const PORT: u32 = multiple(6);
    pub(super) const REFERENCE: u32 = multiple(7);
    pub(super) const TUPLE: u32 = multiple(9);
    pub(super) const NEGATIVE: u32 = multiple(10);
    pub(super) const POSITIVE: u32 = multiple(11);
    pub(super) const FLOAT: u32 = multiple(12);
    pub(super) const BINARY: u32 = multiple(13);
    pub(super) const FUNCTION: u32 = multiple(14);
    pub(super) const BITS: u32 = multiple(15);
    pub(super) const MAP: u32 = multiple(16);
    pub(super) const PAIRS: u32 = multiple(19);
}

/// Returns `erlang:phash2(Term)`, from 0 to 2^27 - 1: the same on every node since OTP 24. `None` for a term with a
/// native record or a closure in it, whose hashes are not known here. Linear in the term's size; any depth.
///
/// ```
/// use fyris_files::phash2;
/// use fyris_term::term;
/// assert_eq!(phash2(&term!({1, "two", [3]})), Some(132_086_255));
/// ```
pub fn phash2(term: &Term) -> Option<u32> {
    let mut hash = Hash::default();
    let mut next = Some(Todo::Term(term));
    while let Some(todo) = next {
        hash.step(todo)?;
        next = hash.todo.pop();
    }
    Some(hash.value % RANGE)
}

/// What is still to be hashed.
enum Todo<'t> {
    Term(&'t Term),
    /// The elements of a tuple.
    Elements(&'t [Term]),
    /// What is left of a list, with the tail of an improper one.
    Cells(&'t [Term], Option<&'t Term>),
    /// The end of a pair of a map.
    Pair,
    /// The end of a map, with what was before it.
    Map {
        hash: u32,
        pairs: u32,
    },
}

#[derive(Default)]
struct Hash<'t> {
    value: u32,
    /// The pairs of the map that is being hashed.
    pairs: u32,
    todo: Vec<Todo<'t>>,
}

impl<'t> Hash<'t> {
    fn step(&mut self, todo: Todo<'t>) -> Option<()> {
        match todo {
            Todo::Term(term) => return self.term(term),
            Todo::Elements([]) => {}
            Todo::Elements([first, rest @ ..]) => {
                self.todo.push(Todo::Elements(rest));
                self.todo.push(Todo::Term(first));
            }
            Todo::Cells(cells, tail) => self.cells(cells, tail),
            Todo::Pair => {
                self.pairs ^= self.value;
                self.value = 0;
            }
            Todo::Map { hash, pairs } => {
                self.value = hash;
                self.one(self.pairs, kind::PAIRS);
                self.pairs = pairs;
            }
        }
        Some(())
    }

    fn term(&mut self, term: &'t Term) -> Option<()> {
        match term {
            Term::Int(n) => self.int(*n),
            Term::Big(n) => {
                let kind = match n.sign() {
                    num_bigint::Sign::Minus => kind::NEGATIVE,
                    _ => kind::POSITIVE,
                };
                n.iter_u64_digits().for_each(|digit| self.wide(digit, kind));
            }
            Term::Float(float) => self.float(*float),
            Term::Atom(atom) if self.value == 0 => self.value = atom_hash(atom.as_str()),
            Term::Atom(atom) => self.one(atom_hash(atom.as_str()), kind::ATOM),
            Term::Reference(reference) => self.one(*reference.ids.first()?, kind::REFERENCE),
            Term::Port(port) => self.wide(port.id, kind::PORT),
            Term::Pid(pid) => self.one(pid.id, kind::PID),
            Term::Fun(fun) => match &**fun {
                Fun::External {
                    module,
                    function,
                    arity,
                } => {
                    self.two((*arity).into(), atom_hash(module.as_str()), kind::SMALL);
                    self.one(atom_hash(function.as_str()), kind::FUNCTION);
                }
                Fun::Local(_) => return None,
            },
            Term::Record(_) => return None,
            Term::Tuple(elements) => {
                self.one(elements.len() as u32, kind::TUPLE);
                self.todo.push(Todo::Elements(elements));
            }
            Term::Map(map) => {
                self.one(map.len() as u32, kind::MAP);
                self.map(map.pairs());
            }
            Term::List(elements) => self.cells(elements, None),
            Term::Improper(elements, tail) => self.cells(elements, Some(tail)),
            Term::Binary(bytes) => self.bytes(bytes, 0),
            Term::Bits(bits) => self.bytes(bits.bytes(), bits.last_bits()),
        }
        Some(())
    }

    fn int(&mut self, n: i64) {
        const SMALL: i64 = 1 << 27;
        match n {
            n if (-SMALL..0).contains(&n) => {
                self.one(n.unsigned_abs() as u32, kind::SMALL);
                self.one(n as u32, kind::SMALL);
            }
            0..SMALL => self.one(n as u32, kind::SMALL),
            ..0 => self.wide(n.unsigned_abs(), kind::NEGATIVE),
            _ => self.wide(n as u64, kind::POSITIVE),
        }
    }

    fn float(&mut self, float: Float) {
        // `-0.0` hashes as `0.0`.
        let bits = (float.get() + 0.0).to_bits();
        self.two((bits >> 32) as u32, bits as u32, kind::FLOAT);
    }

    fn map(&mut self, pairs: &'t [(Term, Term)]) {
        if pairs.is_empty() {
            return;
        }
        let (hash, before) = (self.value, self.pairs);
        self.todo.push(Todo::Map {
            hash,
            pairs: before,
        });
        (self.value, self.pairs) = (0, 0);
        for (key, value) in pairs {
            self.todo.push(Todo::Pair);
            self.todo.push(Todo::Term(value));
            self.todo.push(Todo::Term(key));
        }
    }

    /// Hashes a list as far as its first elements are bytes, four of them at a time, and notes the rest.
    fn cells(&mut self, cells: &'t [Term], tail: Option<&'t Term>) {
        let byte = |term: &Term| match term {
            Term::Int(n) => u8::try_from(*n).ok(),
            _ => None,
        };
        let bytes = cells.iter().take_while(|cell| byte(cell).is_some()).count();
        let (text, rest) = cells.split_at(bytes);
        for four in text.chunks(4) {
            let word = |word, cell| (word << 8) + u32::from(byte(cell).unwrap_or(0));
            self.one(four.iter().fold(0, word), kind::BYTES);
        }
        match (rest, tail) {
            ([first, rest @ ..], tail) => {
                self.todo.push(Todo::Cells(rest, tail));
                self.todo.push(Todo::Term(first));
            }
            ([], Some(tail)) => self.todo.push(Todo::Term(tail)),
            ([], None) if self.value == 0 => self.value = EMPTY_LIST,
            ([], None) => self.one(2, kind::EMPTY),
        }
    }

    /// Hashes a bitstring, of whose last byte `bits` count, or all of them if `bits` is 0.
    fn bytes(&mut self, bytes: &[u8], bits: u8) {
        let (bytes, last) = match (bits, bytes.split_last()) {
            (1.., Some((&last, whole))) => (whole, last >> (8 - bits)),
            _ => (bytes, 0),
        };
        self.value = self.value.wrapping_add(kind::BINARY);
        if bytes.is_empty() && bits == 0 {
            return;
        }
        let (mut a, mut b, mut c) = (RATIO, RATIO, self.value);
        let word = |at: &[u8]| {
            at.iter()
                .rev()
                .fold(0, |word, &x| (word << 8) | u32::from(x))
        };
        let blocks = bytes.chunks_exact(12);
        let rest = blocks.remainder();
        for block in blocks {
            a = a.wrapping_add(word(&block[..4]));
            b = b.wrapping_add(word(&block[4..8]));
            c = c.wrapping_add(word(&block[8..]));
            mix(&mut a, &mut b, &mut c);
        }
        let part = |from: usize, to| &rest[from.min(rest.len())..rest.len().min(to)];
        a = a.wrapping_add(word(part(0, 4)));
        b = b.wrapping_add(word(part(4, 8)));
        // The lowest byte of the last word is that of the length.
        c = c.wrapping_add(word(part(8, 11)) << 8);
        c = c.wrapping_add(bytes.len() as u32);
        mix(&mut a, &mut b, &mut c);
        self.value = c;
        if bits > 0 {
            self.two(bits.into(), last.into(), kind::BITS);
        }
    }

    fn wide(&mut self, number: u64, kind: u32) {
        self.two(number as u32, (number >> 32) as u32, kind);
    }

    fn one(&mut self, word: u32, kind: u32) {
        self.two(word, 0, kind);
    }

    fn two(&mut self, first: u32, second: u32, kind: u32) {
        let (mut a, mut b) = (kind.wrapping_add(first), kind.wrapping_add(second));
        mix(&mut a, &mut b, &mut self.value);
    }
}

/// Mixes three words: Bob Jenkins's function of 1996.
fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    for [first, second, third] in [[13, 8, 13], [12, 16, 5], [3, 10, 15]] {
        *a = a.wrapping_sub(*b).wrapping_sub(*c) ^ (*c >> first);
        *b = b.wrapping_sub(*c).wrapping_sub(*a) ^ (*a << second);
        *c = c.wrapping_sub(*a).wrapping_sub(*b) ^ (*b >> third);
    }
}

/// Hashes the name of an atom, by its characters where these are of Latin-1, and else by its bytes of UTF-8.
fn atom_hash(name: &str) -> u32 {
    let mut buffer = [0; 4];
    name.chars().fold(0, |hash, c| match u8::try_from(c) {
        Ok(latin1) => add_byte(hash, latin1),
        Err(_) => c.encode_utf8(&mut buffer).bytes().fold(hash, add_byte),
    })
}

fn add_byte(hash: u32, byte: u8) -> u32 {
    let hash = (hash << 4).wrapping_add(byte.into());
    let high = hash & 0xf000_0000;
    hash ^ (high >> 24) ^ high
}

//! Writing a key piece by piece, from any representation of terms.

use std::convert::Infallible;

use num_bigint::BigInt;

use crate::walk::{Open, Parts, Visit, walk};
use crate::{Atom, Definition, Float, Fun, LocalFun, Pid, Port, Reference, Term};

use super::buf::KeyBuf;
use super::map::MapFrame;
use super::marks::Marks;
use super::number::{self, Number};
use super::rest::{self, KeyRest};
use super::{escape, tag};

/// The end of a name that bytes of any value follow: one more zero, so that no key is the beginning of another.
const INNER: Option<u8> = Some(0);

/// Writes one term into a [`KeyBuf`], without a [`Term`] in between.
///
/// Each call writes one whole term, except those named `begin_...` and [`KeyWriter::cons`], after which the parts must
/// be written in order. [`KeyWriter::finish`] ends the key. Calls that do not make up exactly one term make bytes that
/// [`decode`](super::decode) refuses; nothing worse.
///
/// ```
/// use fyris_term::{Term, key::{KeyBuf, KeyWriter}};
/// let mut buf = KeyBuf::new();
/// let mut writer = KeyWriter::new(&mut buf);
/// writer.begin_tuple(2);
/// writer.binary(b"user");
/// writer.int(7);
/// writer.finish();
/// assert_eq!(buf, KeyBuf::encode(&Term::tuple(vec![Term::binary(*b"user"), Term::Int(7)])));
/// ```
pub struct KeyWriter<'a> {
    pub(super) out: &'a mut KeyBuf,
    pub(super) marks: Marks,
    pub(super) rest: KeyRest,
    /// The number of map keys around the place to write at: beyond zero, numbers take their exact form.
    pub(super) exact: usize,
    pub(super) maps: Vec<MapFrame>,
}

impl<'a> KeyWriter<'a> {
    /// Starts a key in `out`, whose content is forgotten.
    #[inline]
    pub fn new(out: &'a mut KeyBuf) -> KeyWriter<'a> {
        out.clear();
        KeyWriter {
            out,
            marks: Marks::default(),
            rest: KeyRest::default(),
            exact: 0,
            maps: Vec::new(),
        }
    }

    /// Ends the key.
    #[inline]
    pub fn finish(self) {
        self.out.end(self.marks.trailer());
        if let Some(rest) = self.rest.bytes() {
            self.out.push(rest::MARK);
            self.out.extend(rest);
        }
    }

    /// Writes an integer.
    #[inline]
    pub fn int(&mut self, value: i64) {
        self.out.put_number(Number::from_int(value));
        self.count_integer();
    }

    /// Writes an integer of any size.
    #[inline(never)]
    pub fn big(&mut self, value: &BigInt) {
        number::put_big(self.out, value);
        self.count_integer();
    }

    /// Writes a float.
    #[inline(never)]
    pub fn float(&mut self, value: Float) {
        if self.exact > 0 {
            return number::put_exact_float(self.out, value);
        }
        if let Some(mark) = number::put_float(self.out, value) {
            self.marks.push(mark);
        }
    }

    /// Writes an atom.
    #[inline]
    pub fn atom(&mut self, atom: Atom) {
        self.atom_name(atom.as_str());
    }

    /// Writes the atom with this name, interned or not. A name of more than 255 characters makes a key that nothing
    /// equals.
    #[inline]
    pub fn atom_name(&mut self, name: &str) {
        escape::put(self.out, tag::ATOM, name.as_bytes(), None);
    }

    /// Writes a binary.
    #[inline]
    pub fn binary(&mut self, bytes: &[u8]) {
        escape::put(self.out, tag::BITS, bytes, Some(tag::WHOLE_BYTE));
    }

    /// Writes a bitstring with `last_bits` (1 to 7) bits in the high end of its last byte, the others zero.
    #[inline(never)]
    pub fn bits(&mut self, bytes: &[u8], last_bits: u8) {
        escape::put(self.out, tag::BITS, bytes, Some(last_bits));
    }

    /// Begins a tuple: its elements follow.
    #[inline]
    pub fn begin_tuple(&mut self, arity: usize) {
        if arity <= tag::TUPLE_SHORT {
            self.out.push(tag::TUPLE_0 + arity as u8);
        } else {
            self.out.push(tag::TUPLE_LONG);
            number::put_length(self.out, arity as u64, false);
        }
    }

    /// Begins a list cell: its element and its tail follow.
    #[inline]
    pub fn cons(&mut self) {
        self.out.push(tag::CONS);
    }

    /// Writes the empty list, which ends a proper one.
    #[inline]
    pub fn nil(&mut self) {
        self.out.push(tag::NIL);
    }

    /// Writes a process identifier.
    #[inline(never)]
    pub fn pid(&mut self, pid: &Pid) {
        self.out.push(tag::PID);
        self.pid_body(pid);
    }

    /// Writes a port.
    #[inline(never)]
    pub fn port(&mut self, port: &Port) {
        escape::put(self.out, tag::PORT, port.node.as_str().as_bytes(), INNER);
        self.out.extend(&port.creation.to_be_bytes());
        self.out.extend(&port.id.to_be_bytes());
    }

    /// Writes a reference.
    #[inline(never)]
    pub fn reference(&mut self, reference: &Reference) {
        escape::put(
            self.out,
            tag::REFERENCE,
            reference.node.as_str().as_bytes(),
            INNER,
        );
        self.out.extend(&reference.creation.to_be_bytes());
        let words = reference.significant();
        number::put_length(self.out, words.len() as u64, false);
        for word in words.iter().rev() {
            self.out.extend(&word.to_be_bytes());
        }
        self.rest.reference(reference.ids.len() - words.len());
    }

    /// Writes `fun Module:Function/Arity`.
    #[inline(never)]
    pub fn external_fun(&mut self, module: Atom, function: Atom, arity: u8) {
        escape::put(
            self.out,
            tag::FUN_EXTERNAL,
            module.as_str().as_bytes(),
            INNER,
        );
        self.name(function);
        self.out.push(arity);
    }

    /// Begins a closure: `captured` terms follow, its captured values from the left. The values in `fun` itself are not
    /// read.
    pub fn begin_local_fun(&mut self, fun: &LocalFun, captured: usize) {
        escape::put(
            self.out,
            tag::FUN_LOCAL,
            fun.module.as_str().as_bytes(),
            INNER,
        );
        self.out.extend(&fun.index.to_be_bytes());
        self.out.extend(&ordered(fun.old_uniq));
        number::put_length(self.out, captured as u64, false);
        self.rest.closure(fun);
    }

    /// Begins a native record: its values follow, in the order of the fields.
    #[inline(never)]
    pub fn begin_record(&mut self, definition: &Definition) {
        let module = definition.module().as_str().as_bytes();
        escape::put(self.out, tag::RECORD, module, INNER);
        self.name(definition.name());
        let exported = definition.is_exported() || cfg!(fyris_mutant = "key_record_hidden_alike");
        self.out.push(exported.into());
        number::put_length(self.out, definition.fields().len() as u64, false);
        definition
            .fields()
            .iter()
            .for_each(|field| self.name(*field));
    }

    /// Writes a whole term as it is.
    pub fn term(&mut self, term: &Term) {
        let Ok(()) = walk(self, term);
    }

    /// Writes a term without parts, of a kind that few keys are of.
    fn leaf(&mut self, term: &Term) {
        match term {
            Term::Big(value) => self.big(value),
            Term::Float(value) => self.float(*value),
            Term::Bits(bits) => self.bits(bits.bytes(), bits.last_bits()),
            Term::Reference(reference) => self.reference(reference),
            Term::Port(port) => self.port(port),
            Term::Pid(pid) => self.pid(pid),
            // `open` writes the others.
            _ => {}
        }
    }

    /// Writes a fun, up to the values that it has captured.
    #[inline(never)]
    fn fun<'t>(&mut self, fun: &'t Fun) -> Option<Parts<'t>> {
        match fun {
            Fun::External {
                module,
                function,
                arity,
            } => {
                self.external_fun(*module, *function, *arity);
                None
            }
            Fun::Local(fun) => {
                self.begin_local_fun(fun, fun.free.len());
                Some(Parts::Terms(&fun.free))
            }
        }
    }

    pub(super) fn map_head(&mut self, size: usize) {
        self.out.push(tag::MAP);
        number::put_length(self.out, size as u64, false);
    }

    #[inline(always)]
    fn count_integer(&mut self) {
        if self.exact == 0 {
            self.marks.push_integer();
        }
    }

    fn name(&mut self, atom: Atom) {
        // A name inside a pid, a fun or a native record needs no tag of its own; the one written is as good as any.
        escape::put(self.out, tag::ATOM, atom.as_str().as_bytes(), INNER);
    }

    fn pid_body(&mut self, pid: &Pid) {
        self.out.extend(&pid.serial.to_be_bytes());
        self.out.extend(&pid.id.to_be_bytes());
        self.name(pid.node);
        self.out.extend(&pid.creation.to_be_bytes());
    }
}

/// Returns bytes that grow with the number.
fn ordered(value: i64) -> [u8; 8] {
    (value as u64 ^ 1 << 63).to_be_bytes()
}

/// What the parts of a container are.
pub(crate) enum PartsMark {
    /// Terms one after another.
    Plain,
    /// The elements of a proper list.
    List,
}

impl<'t> Visit<'t> for KeyWriter<'_> {
    type Mark = PartsMark;
    type Stop = Infallible;

    /// Writes the most frequent kinds of keys without a call.
    // Always: what it returns would go through memory.
    #[inline(always)]
    fn open(&mut self, term: &'t Term) -> Result<Option<Open<'t, PartsMark>>, Infallible> {
        let mut mark = PartsMark::Plain;
        let parts = match term {
            Term::Int(value) => {
                self.int(*value);
                None
            }
            Term::Atom(atom) => {
                self.atom(*atom);
                None
            }
            Term::Binary(bytes) => {
                self.binary(bytes);
                None
            }
            Term::Tuple(elements) => {
                self.begin_tuple(elements.len());
                Some(Parts::Terms(elements))
            }
            Term::List(elements) => {
                mark = PartsMark::List;
                Some(Parts::Terms(elements))
            }
            Term::Improper(elements, tail) => Some(Parts::Cells(elements, tail)),
            Term::Map(map) => {
                self.map_head(map.len());
                // Its pairs are in exact key order already.
                Some(Parts::KeysFirst(map.pairs()))
            }
            Term::Fun(fun) => self.fun(fun),
            Term::Record(record) => {
                self.begin_record(record.definition());
                Some(Parts::Terms(record.values()))
            }
            leaf => {
                self.leaf(leaf);
                None
            }
        };
        Ok(parts.map(|parts| Open { parts, mark }))
    }

    #[inline]
    fn before(&mut self, open: &Open<'t, PartsMark>, at: usize) -> Result<(), Infallible> {
        match (&open.parts, &open.mark) {
            (_, PartsMark::List) => self.cons(),
            (Parts::Cells(elements, _), _) if at < elements.len() => self.cons(),
            // Keys are written in exact form.
            (Parts::KeysFirst(_), _) if at == 0 => self.exact += 1,
            (Parts::KeysFirst(pairs), _) if at == pairs.len() => self.exact -= 1,
            _ => {}
        }
        Ok(())
    }

    #[inline]
    fn close(&mut self, open: Open<'t, PartsMark>) -> Result<(), Infallible> {
        if let PartsMark::List = open.mark {
            self.nil();
        }
        Ok(())
    }
}

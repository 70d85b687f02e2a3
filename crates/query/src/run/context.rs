//! Reads, decodes and compares the values that references lead to.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::cmp::Ordering;

use fyris_term::key::{self, KeyKind};
use fyris_term::value::{self, View};
use fyris_term::{Blob, Float, Term};

use crate::program::Constant;
use crate::run::object::{ObjectView, decoded, decoded_key};
use crate::run::value::{Ref, Subject, Value, kind_of, kind_of_view, scalar};

/// One run of a specification.
pub(crate) struct Run<'a> {
    subject: Subject<'a>,
    /// The key of a stored object, if it was decoded already.
    key: OnceCell<Term>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(subject: Subject<'a>) -> Run<'a> {
        Run {
            subject,
            key: OnceCell::new(),
        }
    }
}

/// The context in which references are read: one run.
///
/// It is a reference so that it is passed in a register. A run passed by value would be stored word by word and
/// loaded back in pairs of words, which defeats store forwarding and costs a dozen cycles.
#[derive(Clone, Copy)]
pub(crate) struct EvalContext<'a>(&'a Run<'a>);

impl<'a> EvalContext<'a> {
    #[inline]
    pub(crate) fn new(run: &'a Run<'a>) -> EvalContext<'a> {
        EvalContext(run)
    }

    /// Returns the object that the specification is run over.
    #[inline(always)]
    pub(crate) fn subject(self) -> Subject<'a> {
        self.0.subject
    }

    /// Returns the stored object; `None` if the subject is a term.
    #[inline]
    fn stored(self) -> Option<&'a ObjectView<'a>> {
        match self.subject() {
            Subject::Stored(object) => Some(object),
            Subject::Term(_) => None,
        }
    }

    /// Returns the large binaries of the object.
    #[inline]
    pub(crate) fn blobs(self) -> &'a [Blob] {
        self.stored().map_or(&[], |object| object.blobs)
    }

    /// Returns the key of the stored object, which is decoded at most once a run.
    pub(crate) fn key_term(self) -> &'a Term {
        self.0.key.get_or_init(|| {
            self.stored()
                .map_or(Term::tuple(Vec::new()), ObjectView::key)
        })
    }

    /// Returns the whole object as a term.
    pub(crate) fn object_term(self) -> Cow<'a, Term> {
        match self.subject() {
            Subject::Stored(object) => Cow::Owned(object.to_term()),
            Subject::Term(term) => Cow::Borrowed(term),
        }
    }

    /// Returns the value at a place: numbers and atoms are decoded, other values stay references.
    #[inline]
    pub(crate) fn load(self, place: Ref<'a>) -> Value<'a> {
        match place {
            Ref::Stored(bytes) => match value::view(bytes) {
                Ok(View::Int(int)) => Value::Int(int),
                Ok(View::Atom(atom)) => Value::Atom(atom),
                Ok(View::Float(float)) => Float::new(float).map_or(Value::Ref(place), Value::Float),
                _ => Value::Ref(place),
            },
            Ref::Term(term) => scalar(term).unwrap_or(Value::Ref(place)),
            Ref::Constant(constant) => scalar(&constant.term).unwrap_or(Value::Ref(place)),
            Ref::Int(int) => Value::Int(int),
            Ref::KeyPart(order) => match key::kind(order, &[]) {
                Some(KeyKind::Integer) => {
                    key::as_int(order, &[]).map_or(Value::Ref(place), Value::Int)
                }
                Some(KeyKind::Atom | KeyKind::Float) => {
                    scalar(&decoded_key(order, &[])).unwrap_or(Value::Ref(place))
                }
                _ => Value::Ref(place),
            },
            Ref::Key => match self.stored() {
                Some(object) => key::as_int(object.key_order, object.key_tail)
                    .map_or(Value::Ref(place), Value::Int),
                None => Value::Ref(place),
            },
            Ref::Object => match self.subject() {
                Subject::Term(term) => scalar(term).unwrap_or(Value::Ref(Ref::Term(term))),
                Subject::Stored(_) => Value::Ref(place),
            },
            _ => Value::Ref(place),
        }
    }

    /// Returns the term at a place.
    pub(crate) fn term(self, place: Ref<'a>) -> Cow<'a, Term> {
        match place {
            Ref::Object => self.object_term(),
            Ref::Key => Cow::Borrowed(self.key_term()),
            Ref::KeyPart(order) => Cow::Owned(decoded_key(order, &[])),
            Ref::Stored(mut bytes) => Cow::Owned(decoded(&mut bytes, self.blobs())),
            Ref::Term(term) => Cow::Borrowed(term),
            Ref::Constant(constant) => Cow::Borrowed(&constant.term),
            Ref::Int(int) => Cow::Owned(Term::Int(int)),
            Ref::String(bytes) => Cow::Owned(string(bytes)),
            Ref::Tail {
                count,
                improper,
                values,
            } => Cow::Owned(self.tail(count, improper, values)),
            Ref::Terms(terms, tail) => Cow::Owned(match tail {
                Some(tail) => Term::improper(terms.to_vec(), tail.clone()),
                None => Term::list(terms.to_vec()),
            }),
        }
    }

    fn tail(self, count: u64, improper: bool, mut values: &[u8]) -> Term {
        let mut elements = Vec::new();
        for _ in 0..count {
            if values.is_empty() {
                break;
            }
            elements.push(decoded(&mut values, self.blobs()));
        }
        if improper {
            Term::improper(elements, decoded(&mut values, self.blobs()))
        } else {
            Term::list(elements)
        }
    }

    /// Returns the value as a term, borrowed if a term exists.
    pub(crate) fn borrowed<'v>(self, value: &'v Value<'a>) -> Cow<'v, Term>
    where
        'a: 'v,
    {
        match value {
            Value::Int(int) => Cow::Owned(Term::Int(*int)),
            Value::Float(float) => Cow::Owned(Term::Float(*float)),
            Value::Atom(atom) => Cow::Owned(Term::Atom(*atom)),
            Value::Ref(place) => self.term(*place),
            Value::Owned(term) => Cow::Borrowed(term),
        }
    }

    /// Turns the value into an owned term.
    pub(crate) fn owned(self, value: Value<'a>) -> Term {
        match value {
            Value::Owned(term) => term,
            Value::Ref(place) => self.owned_at(place),
            Value::Int(int) => Term::Int(int),
            Value::Float(float) => Term::Float(float),
            Value::Atom(atom) => Term::Atom(atom),
        }
    }

    /// Appends the owned term at a place. Binaries are written to the vector directly, for the reason given at
    /// [`EvalContext`].
    #[inline(never)]
    pub(crate) fn push_other(self, place: Ref<'a>, out: &mut Vec<Term>) {
        match self.shared_binary(place) {
            Some(content) => out.push(Term::Binary(content)),
            None => out.push(self.owned_at(place)),
        }
    }

    /// Returns the content of a small or shared binary. `None` does not mean that the value is no binary.
    #[inline]
    fn shared_binary(self, place: Ref<'a>) -> Option<Blob> {
        match (place, self.subject()) {
            (Ref::Stored(bytes), _) => match value::view(bytes).ok()? {
                View::Binary(content) => Some(content.into()),
                _ => None,
            },
            (Ref::Key, Subject::Stored(object)) => key::as_binary(object.key_order),
            (Ref::KeyPart(order), _) => key::as_binary(order),
            (Ref::Term(Term::Binary(content)), _) => Some(Blob::clone(content)),
            _ => None,
        }
    }

    /// Returns the owned term at a place.
    pub(crate) fn owned_at(self, place: Ref<'a>) -> Term {
        match (place, self.subject(), self.0.key.get()) {
            (Ref::Term(term), ..) => term.clone(),
            (Ref::Stored(mut bytes), ..) => decoded(&mut bytes, self.blobs()),
            // Not decoded yet, and perhaps not read again: it is not cached.
            (Ref::Key, Subject::Stored(object), None) => object.key(),
            _ => self.term(place).into_owned(),
        }
    }

    /// Returns the small integer at a place. `None` does not mean that there is none: it may need decoding.
    #[inline(always)]
    pub(crate) fn small_int(self, place: Ref<'a>) -> Option<i64> {
        match (place, self.subject()) {
            (Ref::Stored(bytes), _) => value::as_int(bytes),
            (Ref::Key, Subject::Stored(object)) => key::as_int(object.key_order, object.key_tail),
            (Ref::KeyPart(order), _) => key::as_int(order, &[]),
            (Ref::Term(term), _) => term.as_int(),
            _ => None,
        }
    }

    /// Returns the kind of the value.
    pub(crate) fn kind(self, value: &Value<'a>) -> KeyKind {
        match value {
            Value::Int(_) => KeyKind::Integer,
            Value::Float(_) => KeyKind::Float,
            Value::Atom(_) => KeyKind::Atom,
            Value::Owned(term) => kind_of(term),
            Value::Ref(place) => self.kind_at(*place),
        }
    }

    /// Returns the kind of the value at a place.
    #[inline]
    pub(crate) fn kind_at(self, place: Ref<'a>) -> KeyKind {
        match place {
            Ref::Object => match self.subject() {
                Subject::Stored(_) => KeyKind::Tuple,
                Subject::Term(term) => kind_of(term),
            },
            Ref::Key => self
                .stored()
                .and_then(|object| key::kind(object.key_order, object.key_tail))
                .unwrap_or(KeyKind::Tuple),
            Ref::KeyPart(order) => key::kind(order, &[]).unwrap_or(KeyKind::Tuple),
            Ref::Stored(bytes) => {
                value::view(bytes).map_or(KeyKind::Tuple, |view| kind_of_view(&view))
            }
            Ref::Term(term) => kind_of(term),
            Ref::Constant(constant) => kind_of(&constant.term),
            Ref::Int(_) => KeyKind::Integer,
            Ref::String(_) | Ref::Tail { .. } | Ref::Terms(..) => KeyKind::Cons,
        }
    }

    /// Returns the content of a binary if it can be borrowed. `None` does not mean that the value is no binary.
    pub(crate) fn binary<'v>(self, value: &'v Value<'a>) -> Option<&'v [u8]>
    where
        'a: 'v,
    {
        match value {
            Value::Ref(Ref::Stored(bytes)) => value::view(bytes).ok()?.as_binary(self.blobs()),
            Value::Ref(Ref::Term(term)) => term.as_binary(),
            Value::Ref(Ref::Constant(constant)) => constant.term.as_binary(),
            Value::Ref(Ref::Key) => key::as_plain_binary(self.stored()?.key_order),
            Value::Ref(Ref::KeyPart(order)) => key::as_plain_binary(order),
            Value::Owned(term) => term.as_binary(),
            _ => None,
        }
    }

    /// Compares two values in Erlang's order of terms.
    pub(crate) fn compare(self, a: &Value<'a>, b: &Value<'a>) -> Ordering {
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => return a.cmp(b),
            (Value::Atom(a), Value::Atom(b)) if a == b => return Ordering::Equal,
            (Value::Ref(Ref::Key), _) => {
                if let Some(order) = self.compare_key(b) {
                    return order;
                }
            }
            (_, Value::Ref(Ref::Key)) => {
                if let Some(order) = self.compare_key(a) {
                    return order.reverse();
                }
            }
            _ => {}
        }
        if let (Some(a), Some(b)) = (self.binary(a), self.binary(b)) {
            return a.cmp(b);
        }
        self.borrowed(a).cmp_order(&self.borrowed(b))
    }

    /// Compares the key with a constant, by their bytes; `None` if `other` is no constant.
    fn compare_key(self, other: &Value<'a>) -> Option<Ordering> {
        let object = self.stored()?;
        match other {
            Value::Ref(Ref::Constant(constant)) => Some(object.key_order.cmp(constant.key_order())),
            _ => None,
        }
    }

    /// Returns whether two values are `=:=`.
    pub(crate) fn same(self, a: &Value<'a>, b: &Value<'a>) -> bool {
        match (a, b) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Atom(a), Value::Atom(b)) => a == b,
            (Value::Ref(Ref::KeyPart(a)), Value::Ref(Ref::KeyPart(b))) => a == b,
            (Value::Ref(place), Value::Ref(Ref::Constant(constant)))
            | (Value::Ref(Ref::Constant(constant)), Value::Ref(place)) => {
                self.is_constant(*place, constant)
            }
            _ => match (self.binary(a), self.binary(b)) {
                (Some(a), Some(b)) => a == b,
                _ => *self.borrowed(a) == *self.borrowed(b),
            },
        }
    }

    /// Returns whether the value at a place is `=:=` to a constant.
    #[inline]
    pub(crate) fn is_constant(self, place: Ref<'a>, constant: &Constant) -> bool {
        match (place, self.subject()) {
            (Ref::Stored(bytes), _) if constant.plain => constant.strip(bytes).is_some(),
            (Ref::Key, Subject::Stored(object)) => is_key(object, constant),
            (Ref::KeyPart(order), _) => *order == constant.key[..],
            _ => *self.term(place) == constant.term,
        }
    }
}

/// Returns whether the key of a stored object is `=:=` to a constant.
#[inline]
pub(crate) fn is_key(object: &ObjectView<'_>, constant: &Constant) -> bool {
    let (order, trailer) = constant.key.split_at(constant.order);
    let only_order = cfg!(fyris_mutant = "query_key_by_order");
    object.key_order == order && (only_order || key::is_same(object.key_tail, trailer))
}

/// Returns the list of the bytes.
fn string(bytes: &[u8]) -> Term {
    Term::List(bytes.iter().map(|&byte| Term::from(byte)).collect())
}

//! Proptest strategies for terms, biased to the nasty.
//!
//! Uniform random terms almost never meet the edges where codecs and orders break: two numbers that differ in the last
//! bit, a float beside a bignum, a key that is a prefix of another, `1` beside `1.0` deep in a map. So the leaves come
//! from small pools of edges, and pairs of terms from [`related_pair`] differ in one place only.
//!
//! Enabled by the feature `arbitrary`.

use num_bigint::BigInt;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{
    Atom, Definition, Float, Fun, LocalFun, Map, NativeRecord, Pid, Port, Reference, Term,
};

/// Generates any term: a few levels deep, a few dozen nodes.
pub fn term() -> impl Strategy<Value = Term> + Clone {
    nested(leaf().boxed(), &[false, true], 5, 48)
}

/// Generates terms without closures and records that are not exported: those that Erlang's text syntax can express.
pub fn term_without_closures() -> impl Strategy<Value = Term> + Clone {
    let leaf = prop_oneof![12 => plain_leaf(), 1 => external_fun()];
    nested(leaf.boxed(), &[true], 5, 48)
}

/// Generates terms of numbers, atoms, bitstrings, tuples, lists and maps only: no identifiers, funs and records.
pub fn plain_term() -> impl Strategy<Value = Term> + Clone {
    nested(data_leaf().boxed(), &[], 4, 32)
}

/// Generates a pair of terms that are equal, or alike but for one place: numbers of another type, a longer list, one
/// bit.
pub fn related_pair() -> impl Strategy<Value = (Term, Term)> + Clone {
    prop_oneof![
        3 => (term(), any::<u64>()).prop_map(|(a, seed)| {
            let b = nudge(&a, &mut seed.clone());
            (a, b)
        }),
        2 => (number(), number()),
        2 => (term(), term()),
        1 => term().prop_map(|a| (a.clone(), a)),
    ]
}

/// Generates terms of these leaves; with native records of each of these kinds, exported or not.
fn nested(
    leaf: BoxedStrategy<Term>,
    records: &'static [bool],
    depth: u32,
    size: u32,
) -> BoxedStrategy<Term> {
    leaf.prop_recursive(depth, size, 4, move |inner| {
        let pair = (inner.clone(), inner.clone());
        // A map as structs are, which is stored by its shape.
        let field = (atom().prop_map(Term::Atom), inner.clone());
        prop_oneof![
            3 => vec(inner.clone(), 0..5).prop_map(Term::tuple),
            3 => vec(inner.clone(), 0..5).prop_map(Term::list),
            1 => (vec(inner.clone(), 1..4), inner.clone()).prop_map(|(e, t)| Term::improper(e, t)),
            2 => vec(pair, 0..5).prop_map(|pairs| Term::Map(Map::new(pairs))),
            2 => vec(field, 0..6).prop_map(|pairs| Term::Map(Map::new(pairs))),
            records.len() as u32 => record(records, inner.clone()),
            1 => (0i64..4, inner).prop_map(|(n, t)| Term::Map(Map::new([
                (Term::Int(n), t.clone()), (float(n as f64), t)
            ]))),
        ]
    })
    .boxed()
}

/// Generates native records of few names, exported or not.
fn record(
    exported: &'static [bool],
    value: impl Strategy<Value = Term>,
) -> impl Strategy<Value = Term> {
    let field = (select(&["a", "b", "ab", "c"][..]), value);
    let exported = (0..exported.len()).prop_map(|at| exported[at]);
    (atom(), atom(), exported, vec(field, 0..4)).prop_map(|(module, name, exported, mut pairs)| {
        pairs.sort_by_key(|(field, _)| std::cmp::Reverse(*field));
        pairs.dedup_by_key(|(field, _)| *field);
        let (fields, values): (Vec<Atom>, Vec<Term>) = pairs
            .into_iter()
            .map(|(field, value)| (Atom::word(field), value))
            .unzip();
        let record = Definition::new(module, name, exported, &fields)
            .and_then(|definition| NativeRecord::new(definition, values));
        record.map_or_else(|| Term::list([]), Term::from)
    })
}

/// Generates any leaf, closures too.
pub fn leaf() -> impl Strategy<Value = Term> + Clone {
    prop_oneof![20 => plain_leaf(), 1 => external_fun(), 1 => closure()]
}

fn plain_leaf() -> impl Strategy<Value = Term> + Clone {
    prop_oneof![
        9 => data_leaf(),
        1 => pid().prop_map(|pid| Term::Pid(Box::new(pid))),
        1 => port(),
        1 => reference(),
    ]
}

fn data_leaf() -> impl Strategy<Value = Term> + Clone {
    prop_oneof![
        5 => number(),
        2 => atom().prop_map(Term::Atom),
        2 => bitstring(),
        1 => Just(Term::list(vec![])),
        1 => string(),
    ]
}

/// Generates integers of all sizes and floats, near powers of two and the edges of their types.
pub fn number() -> impl Strategy<Value = Term> + Clone {
    prop_oneof![3 => integer(), 2 => any_float()]
}

fn integer() -> impl Strategy<Value = Term> + Clone {
    let power = (
        select(vec![
            7u32, 8, 15, 16, 27, 28, 31, 32, 52, 53, 54, 59, 60, 62, 63, 64, 65, 127, 128, 1023,
            1024, 2047, 2048, 2100,
        ]),
        -2i64..=2,
        any::<bool>(),
    );
    prop_oneof![
        3 => (-3i64..=3).prop_map(Term::Int),
        2 => (-300i64..=300).prop_map(Term::Int),
        1 => any::<i64>().prop_map(Term::Int),
        1 => select(vec![i64::MIN, i64::MIN + 1, i64::MAX, i64::MAX - 1]).prop_map(Term::Int),
        4 => power.prop_map(|(bits, off, minus)| {
            let n = (BigInt::from(1) << bits) + off;
            Term::integer(if minus { -n } else { n })
        }),
        1 => vec(any::<u8>(), 1..40).prop_map(|b| Term::integer(BigInt::from_signed_bytes_be(&b))),
    ]
}

/// Returns the float term of a value; infinities and NaN become zero.
fn float(value: f64) -> Term {
    Term::Float(Float::new(value).unwrap_or(Float::ZERO))
}

fn any_float() -> impl Strategy<Value = Term> + Clone {
    let edges = vec![
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        f64::MAX,
        f64::MIN,
        f64::EPSILON,
        0.1,
        0.5,
        -0.5,
        1.5,
        1e15,
        1e16,
        1e22,
        1e23,
        1e300,
        1e-300,
        9007199254740991.0,
        9007199254740992.0,
        9007199254740994.0,
        9223372036854774784.0,
        9223372036854775808.0,
        -9223372036854775808.0,
        18446744073709551616.0,
    ];
    prop_oneof![
        3 => (-6i32..=6).prop_map(|n| float(f64::from(n) / 2.0)),
        3 => select(edges).prop_map(float),
        2 => (-1080i32..=1023, -2i64..=2).prop_map(|(e, off)| {
            let bits = 2f64.powi(e).to_bits() as i64;
            float(f64::from_bits(bits.saturating_add(off).max(0) as u64))
        }),
        1 => any::<u64>().prop_map(|bits| float(f64::from_bits(bits))),
    ]
}

/// Makes an atom out of a small pool: prefixes of each other, empty, quoted, Latin-1, beyond, of 255 characters.
pub fn atom() -> impl Strategy<Value = Atom> + Clone {
    let mut names: Vec<String> = [
        "a",
        "ab",
        "abc",
        "b",
        "",
        "true",
        "false",
        "undefined",
        "ok",
        "nil",
        "A",
        "_",
        "a b",
        "a@b",
        "it's",
        "back\\slash",
        "\n",
        "\u{1}",
        "\u{7f}",
        "\u{80}",
        "\u{a0}",
        "é",
        "Été",
        "ÿ",
        "Ā",
        "日本",
        "\u{ffff}",
        "\u{10ffff}",
        "𝄞",
        "end",
        "a\0b",
        "a\0",
    ]
    .into_iter()
    .map(String::from)
    .collect();
    names.push("x".repeat(255));
    names.push("日".repeat(255));
    // None is longer than 255 characters and there are few: interning cannot fail.
    select(
        names
            .iter()
            .filter_map(|name| Atom::new(name).ok())
            .collect::<Vec<_>>(),
    )
}

fn bitstring() -> impl Strategy<Value = Term> + Clone {
    let byte = prop_oneof![select(vec![0u8, 1, 0x7F, 0x80, 0xFE, 0xFF]), any::<u8>()];
    prop_oneof![
        2 => (vec(byte, 0..12), 0usize..8).prop_map(|(bytes, short)| {
            let bits = (bytes.len() * 8).saturating_sub(short);
            Term::bits(&bytes, bits).unwrap_or_else(|| Term::binary(bytes))
        }),
        1 => "[a-c]{0,4}".prop_map(|text| Term::binary(text.into_bytes())),
        1 => "[ -~é日]{0,24}".prop_map(|text| Term::binary(text.into_bytes())),
        1 => (0usize..200).prop_map(|n| Term::binary(vec![0; n])),
    ]
}

/// Generates a list of characters: printable, nearly so, or beyond Latin-1.
fn string() -> impl Strategy<Value = Term> + Clone {
    let chars = prop_oneof![4 => 0x20i64..0x7F, 1 => 0i64..0x110000];
    vec(chars, 0..12).prop_map(|chars| Term::List(chars.into_iter().map(Term::Int).collect()))
}

fn node() -> impl Strategy<Value = (Atom, u32)> + Clone {
    let names = [
        "nonode@nohost",
        "a@b",
        "a",
        "b@host-1.example",
        "é@ü",
        "日@本",
    ];
    let names: Vec<Atom> = names
        .iter()
        .filter_map(|name| Atom::new(name).ok())
        .collect();
    (select(names), select(vec![0u32, 1, 2, 3, u32::MAX]))
}

fn word() -> impl Strategy<Value = u32> + Clone {
    prop_oneof![
        0u32..4,
        select(vec![0x7FFF, 0x0FFF_FFFF, u32::MAX]),
        any::<u32>()
    ]
}

/// Makes a process identifier of a few nodes.
pub fn pid() -> impl Strategy<Value = Pid> + Clone {
    (node(), word(), word()).prop_map(|((node, creation), id, serial)| Pid {
        node,
        id,
        serial,
        creation,
    })
}

fn port() -> impl Strategy<Value = Term> + Clone {
    (node(), word(), prop_oneof![Just(0u32), word()]).prop_map(|((node, creation), low, high)| {
        let id = u64::from(high) << 32 | u64::from(low);
        Term::Port(Box::new(Port { node, id, creation }))
    })
}

/// Generates references of 1, 2, 3 and 5 words. References that are `=:=` have equally many words, since the last word
/// is never zero in the ones that have not three words, and never missing.
fn reference() -> impl Strategy<Value = Term> + Clone {
    let ids = prop_oneof![
        3 => vec(word(), 2).prop_map(|mut ids| { ids.push(1 + ids[0] % 3); ids }),
        1 => word().prop_map(|a| vec![a | 1]),
        1 => (word(), word()).prop_map(|(a, b)| vec![a, b | 1]),
        1 => (vec(word(), 4), word()).prop_map(|(mut ids, last)| { ids.push(last | 1); ids }),
    ];
    (node(), ids).prop_map(|((node, creation), ids)| {
        Term::Reference(Box::new(Reference {
            node,
            creation,
            ids,
        }))
    })
}

fn external_fun() -> impl Strategy<Value = Term> + Clone {
    (atom(), atom(), select(vec![0u8, 1, 2, 255])).prop_map(|(module, function, arity)| {
        Term::Fun(Box::new(Fun::External {
            module,
            function,
            arity,
        }))
    })
}

/// Generates closures whose parts outside their identity (arity, MD5, creator) follow from those in it, as in a running
/// node: two that are `=:=` are equal in all parts.
fn closure() -> impl Strategy<Value = Term> + Clone {
    let free = vec(prop_oneof![number(), atom().prop_map(Term::Atom)], 0..3);
    (atom(), 0u32..3, 0i64..3, free).prop_map(|(module, index, old_uniq, free)| {
        let creator = Pid {
            node: module,
            id: index,
            serial: 0,
            creation: 1,
        };
        Term::Fun(Box::new(Fun::Local(LocalFun {
            module,
            arity: index as u8,
            uniq: [index as u8; 16],
            index,
            old_index: i64::from(index),
            old_uniq,
            creator,
            free: free.into(),
        })))
    })
}

/// Returns `term` with one small change at a place that `seed` decides, or with none.
fn nudge(term: &Term, seed: &mut u64) -> Term {
    let choice = *seed % 4;
    *seed /= 4;
    match term {
        Term::Int(n) => match choice {
            0 => Term::integer(BigInt::from(*n) + 1),
            1 => Term::integer(BigInt::from(*n) - 1),
            _ => float(*n as f64),
        },
        Term::Float(f) => match choice {
            0 => float(f64::from_bits(f.get().to_bits() ^ 1)),
            1 => float(-f.get()),
            _ if f.get().fract() == 0.0 && f.get().abs() < 1e15 => Term::Int(f.get() as i64),
            _ => term.clone(),
        },
        Term::Big(n) => Term::integer(&**n + choice as i64 - 1),
        Term::Tuple(e) => Term::tuple(nudge_elements(e, choice, seed)),
        Term::List(e) if choice == 3 && !e.is_empty() => Term::improper(e.clone(), Term::Int(0)),
        Term::List(e) => Term::list(nudge_elements(e, choice, seed)),
        Term::Improper(e, t) => Term::improper(e.clone(), nudge(t, seed)),
        Term::Map(map) => nudge_map(map, choice, seed),
        Term::Binary(bytes) => {
            let bits = (bytes.len() * 8).saturating_sub(choice as usize);
            Term::bits(bytes, bits).unwrap_or_else(|| term.clone())
        }
        Term::Record(record) => nudge_record(record, choice, seed),
        other => other.clone(),
    }
}

fn nudge_elements(elements: &[Term], choice: u64, seed: &mut u64) -> Vec<Term> {
    let mut elements = elements.to_vec();
    match choice {
        0 => drop(elements.pop()),
        1 => elements.push(Term::Int(0)),
        _ if elements.is_empty() => {}
        _ => {
            let at = (*seed % elements.len() as u64) as usize;
            elements[at] = nudge(&elements[at], seed);
        }
    }
    elements
}

fn nudge_record(record: &NativeRecord, choice: u64, seed: &mut u64) -> Term {
    let (definition, values) = record.clone().into_parts();
    let (module, name) = (definition.module(), definition.name());
    let exported = definition.is_exported();
    let changed = match choice {
        0 => Definition::new(name, module, exported, definition.fields()),
        1 => Definition::new(module, name, !exported, definition.fields()),
        _ => Some(definition),
    };
    let values = if choice < 2 || values.is_empty() {
        values.into_vec()
    } else {
        nudge_elements(&values, 2, seed)
    };
    let changed = changed.and_then(|definition| NativeRecord::new(definition, values));
    changed.unwrap_or_else(|| record.clone()).into()
}

fn nudge_map(map: &Map, choice: u64, seed: &mut u64) -> Term {
    let mut pairs = map.pairs().to_vec();
    if !pairs.is_empty() {
        let at = (*seed % pairs.len() as u64) as usize;
        let (key, value) = &mut pairs[at];
        let changed = if choice < 2 { key } else { value };
        *changed = nudge(changed, seed);
    }
    Term::Map(Map::new(pairs))
}

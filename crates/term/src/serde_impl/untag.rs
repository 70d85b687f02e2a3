//! From `{"$tuple": [...]}` back to the tuple.

use num_bigint::BigInt;

use crate::term::{Fun, LocalFun, Pid, Port, Reference};
use crate::{Atom, Definition, Map, NativeRecord, Term};

/// Returns the map of `pairs`, or the term they are the tagged form of. The error says which tag has a wrong value.
pub(super) fn untag(mut pairs: Vec<(Term, Term)>) -> Result<Term, String> {
    if let [(key, _)] = &pairs[..]
        && let Ok(tag) = <&str>::try_from(key)
        && is_tag(tag)
        && let Some((key, payload)) = pairs.pop()
    {
        return restore(&key, payload).ok_or_else(|| format!("a wrong value for {key:?}"));
    }
    Ok(Term::Map(Map::new(pairs)))
}

fn is_tag(text: &str) -> bool {
    const TAGS: [&str; 13] = [
        "$atom",
        "$int",
        "$bytes",
        "$bits",
        "$tuple",
        "$map",
        "$improper",
        "$pid",
        "$port",
        "$reference",
        "$fun",
        "$closure",
        "$record",
    ];
    TAGS.contains(&text)
}

fn restore(tag: &Term, payload: Term) -> Option<Term> {
    match <&str>::try_from(tag).ok()? {
        "$atom" => atom(payload).map(Term::Atom),
        "$int" => {
            let digits: String = payload.try_into().ok()?;
            // As many as the text syntax accepts: converting takes quadratic time.
            (digits.len() <= 100_000)
                .then(|| digits.parse::<BigInt>().ok())?
                .map(Term::integer)
        }
        "$bytes" => bytes(payload).map(Term::binary),
        "$bits" => {
            let [all, last] = fixed(payload)?;
            let (all, last) = (bytes(all)?, usize::try_from(last).ok()?);
            Term::bits(
                &all,
                all.len()
                    .checked_sub(1)?
                    .checked_mul(8)?
                    .checked_add(last)?,
            )
        }
        "$tuple" => items(payload).map(Term::tuple),
        "$map" => {
            let pairs = items(payload)?
                .into_iter()
                .map(|pair| fixed(pair).map(|[k, v]| (k, v)));
            Some(Term::Map(pairs.collect::<Option<Map>>()?))
        }
        "$improper" => {
            let [elements, tail] = fixed(payload)?;
            Some(Term::improper(items(elements)?, tail))
        }
        "$pid" => pid(payload),
        "$port" => {
            let [node, id, creation] = fixed(payload)?;
            let (node, id, creation) = (atom(node)?, id.try_into().ok()?, number(creation)?);
            Some(Term::Port(Box::new(Port { node, id, creation })))
        }
        "$reference" => reference(payload),
        "$fun" => {
            let [module, function, arity] = fixed(payload)?;
            let (module, function) = (atom(module)?, atom(function)?);
            Some(Term::Fun(Box::new(Fun::External {
                module,
                function,
                arity: arity.try_into().ok()?,
            })))
        }
        "$closure" => closure(payload),
        "$record" => record(payload),
        _ => None,
    }
}

/// Returns the elements of an array, which serializers may have made a tuple.
fn items(term: Term) -> Option<Vec<Term>> {
    match term {
        Term::List(items) | Term::Tuple(items) => Some(items.into_vec()),
        _ => None,
    }
}

fn fixed<const N: usize>(term: Term) -> Option<[Term; N]> {
    items(term)?.try_into().ok()
}

fn atom(term: Term) -> Option<Atom> {
    Atom::new((&term).try_into().ok()?).ok()
}

fn number(term: Term) -> Option<u32> {
    term.try_into().ok()
}

fn bytes(term: Term) -> Option<Vec<u8>> {
    match term {
        Term::Binary(bytes) => Some(bytes.to_vec()),
        list => items(list)?
            .into_iter()
            .map(|byte| byte.try_into().ok())
            .collect(),
    }
}

fn pid(payload: Term) -> Option<Term> {
    let [node, id, serial, creation] = fixed(payload)?;
    let (node, id) = (atom(node)?, number(id)?);
    Some(Term::Pid(Box::new(Pid {
        node,
        id,
        serial: number(serial)?,
        creation: number(creation)?,
    })))
}

fn reference(payload: Term) -> Option<Term> {
    let [node, creation, ids] = fixed(payload)?;
    let ids = items(ids)?
        .into_iter()
        .map(number)
        .collect::<Option<Vec<u32>>>()?;
    if !(1..=5).contains(&ids.len()) {
        return None;
    }
    Some(Term::Reference(Box::new(Reference {
        node: atom(node)?,
        creation: number(creation)?,
        ids,
    })))
}

fn record(payload: Term) -> Option<Term> {
    let [module, name, exported, fields, values] = fixed(payload)?;
    let fields: Option<Vec<Atom>> = items(fields)?.into_iter().map(atom).collect();
    let (module, name) = (atom(module)?, atom(name)?);
    let definition = Definition::new(module, name, exported.try_into().ok()?, &fields?)?;
    NativeRecord::new(definition, items(values)?).map(Term::from)
}

fn closure(payload: Term) -> Option<Term> {
    let [
        module,
        arity,
        uniq,
        index,
        old_index,
        old_uniq,
        creator,
        free,
    ] = fixed(payload)?;
    let Term::Pid(creator) = creator else {
        return None;
    };
    Some(Term::Fun(Box::new(Fun::Local(LocalFun {
        module: atom(module)?,
        arity: arity.try_into().ok()?,
        uniq: bytes(uniq)?.try_into().ok()?,
        index: number(index)?,
        old_index: old_index.try_into().ok()?,
        old_uniq: old_uniq.try_into().ok()?,
        creator: *creator,
        free: items(free)?.into(),
    }))))
}

//! Keys, objects, and the ways to read all of them.

use std::sync::LazyLock;

use fyris::{MatchSpec, Result, Table, Term};

use super::PLACES;
use super::common::{int, tuple};

/// Ways in which values are stored: the remainder of a value says which.
pub(crate) const FORMS: i64 = 3;

/// The value where what was read is right at no moment.
const WRONG: i64 = -1;

/// Ways to [`read`].
pub(crate) const WAYS: u32 = 8;

static ALL: LazyLock<MatchSpec> = LazyLock::new(|| {
    let spec = Term::parse("[{'_',[],['$_']}]").expect("a term");
    MatchSpec::new(&spec).expect("a specification")
});

/// Some keys are inline and some are not.
pub(crate) fn key(place: usize) -> Term {
    let number = place as i64;
    match place % 3 {
        0 => int(number),
        1 => int(number << 50),
        _ => tuple([Term::atom("key"), int(number)]),
    }
}

/// So are some values.
pub(crate) fn object(place: usize, value: i64) -> Term {
    let stored = match value % FORMS {
        0 => int(value),
        1 => tuple([int(value), Term::from("a value of some length")]),
        _ => tuple([int(value), int(value)]),
    };
    tuple([key(place), stored])
}

/// Returns the value in an object.
fn value_in(object: &Term) -> Option<i64> {
    match object.as_tuple()? {
        [_, Term::Tuple(parts)] => parts.first()?.as_int(),
        [_, value] => value.as_int(),
        _ => None,
    }
}

/// Returns the value of a key that has these objects.
pub(crate) fn value_of(place: usize, objects: &[Term]) -> i64 {
    match objects {
        [] => 0,
        [only] => value_in(only)
            .filter(|&value| *only == object(place, value))
            .unwrap_or(WRONG),
        _ => WRONG,
    }
}

/// Returns the values of all keys if these are the objects.
pub(crate) fn values_of(objects: &[Term]) -> [i64; PLACES] {
    let mut unknown = objects.to_vec();
    let values = std::array::from_fn(|place| {
        let of_key = |object: &mut Term| {
            object
                .as_tuple()
                .is_some_and(|parts| parts[0] == key(place))
        };
        let here: Vec<Term> = unknown.extract_if(.., of_key).collect();
        value_of(place, &here)
    });
    if unknown.is_empty() {
        values
    } else {
        [WRONG; PLACES]
    }
}

/// Returns the objects of a snapshot, read in one of several ways.
pub(crate) fn read(snapshot: &Table, way: u32) -> Result<Vec<Term>> {
    let keys: Vec<Term> = (0..PLACES).map(key).collect();
    match way {
        0 => walk(snapshot, snapshot.first()?, Table::next),
        1 => walk(snapshot, snapshot.last()?, Table::prev),
        2 => snapshot.tab2list(),
        3 => snapshot.select(&ALL),
        4 => snapshot.iter_back().collect(),
        5 => Ok(snapshot.lookup_many(&keys)?.concat()),
        _ => {
            let found = keys.iter().map(|key| snapshot.lookup(key));
            let mut objects = found.collect::<Result<Vec<_>>>()?.concat();
            let is_counted = snapshot.len() == objects.len();
            objects.extend((!is_counted).then(|| int(WRONG)));
            Ok(objects)
        }
    }
}

/// Returns the objects under the keys from one on.
fn walk(
    snapshot: &Table,
    first: Option<Term>,
    next: fn(&Table, &Term) -> Result<Option<Term>>,
) -> Result<Vec<Term>> {
    let (mut at, mut objects) = (first, Vec::new());
    while let Some(key) = at
        && objects.len() <= PLACES
    {
        let found = snapshot.lookup(&key)?;
        at = next(snapshot, &key)?;
        // A key without an object is as wrong as an object that nobody has put in.
        objects.extend(if found.is_empty() { vec![key] } else { found });
    }
    Ok(objects)
}

//! Iterating over a stretch of keys, from both ends.

use std::ops::{Bound, RangeBounds};

use super::MapResult;
use super::header::Header;
use super::tree::{Entry, Side, Walk};

/// An iterator over entries in ascending order of keys; `rev()` descends.
///
/// Yields keys and values where they lie, without copying. An error ends it. It costs one or two descents to make,
/// then a few nanoseconds an entry.
///
/// ```
/// # use fyris_segment::{MapError, Options, Segment, VersionedMap};
/// # let segment = Segment::nameless(1 << 20, &Options::new())?;
/// # let mut map = VersionedMap::open(segment)?;
/// # let mut theirs = VersionedMap::open(map.segment().origin().checkout()?)?;
/// map.write(|batch| batch.insert(b"a", b"1").and(batch.insert(b"b", b"2")))?;
/// for entry in map.range("a"..="b")?.rev() {
///     let (key, value) = entry?; // the bytes may be damaged
///     assert!(key < b"c" && value.len() == 1);
/// }
/// # Ok::<(), MapError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Range<'a>(State<'a>);

#[derive(Debug, Clone)]
#[allow(clippy::large_enum_variant)] // short-lived, on the stack
enum State<'a> {
    /// Nothing (more) to yield.
    Done,
    /// The next entry from the front, and the next from the back.
    Between(Walk<'a>, Walk<'a>),
}

impl<'a> Range<'a> {
    pub(super) fn new(
        bytes: &'a [u8],
        low: Bound<&[u8]>,
        high: Bound<&[u8]>,
    ) -> MapResult<Range<'a>> {
        let header = Header::read(bytes)?;
        let front = first_in(bytes, &header, low)?;
        let back = last_in(bytes, &header, high)?;
        let (Some(front), Some(back)) = (front, back) else {
            return Ok(Range(State::Done));
        };
        Ok(Range(match (front.entry()?, back.entry()?) {
            (Some(first), Some(last)) if first.0 <= last.0 => State::Between(front, back),
            _ => State::Done,
        }))
    }

    fn step(&mut self, side: Side) -> MapResult<Option<Entry<'a>>> {
        let State::Between(front, back) = &mut self.0 else {
            return Ok(None);
        };
        let last_one = front.place() == back.place();
        let (entry, more) = match side {
            Side::First => (front.entry()?, last_one || front.forward()?),
            Side::Last => (back.entry()?, last_one || back.backward()?),
        };
        if last_one || !more {
            self.0 = State::Done;
        }
        Ok(entry)
    }

    fn yielded(&mut self, side: Side) -> Option<MapResult<Entry<'a>>> {
        let entry = self.step(side);
        if entry.is_err() {
            self.0 = State::Done;
        }
        entry.transpose()
    }
}

impl<'a> Iterator for Range<'a> {
    type Item = MapResult<Entry<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.yielded(Side::First)
    }
}

impl DoubleEndedIterator for Range<'_> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.yielded(Side::Last)
    }
}

impl std::iter::FusedIterator for Range<'_> {}

/// Returns the first entry within a lower bound: in a damaged map too, or whoever goes on from key to key would go in
/// circles.
pub(super) fn first_in<'a>(
    bytes: &'a [u8],
    header: &Header,
    low: Bound<&[u8]>,
) -> MapResult<Option<Walk<'a>>> {
    let (mut walk, there) = match low {
        Bound::Unbounded => (Walk::to_end(bytes, header, Side::First)?, false),
        Bound::Included(key) => (Walk::seek(bytes, header, key)?.0, false),
        Bound::Excluded(key) => Walk::seek(bytes, header, key)?,
    };
    let some = if there {
        walk.forward()?
    } else {
        walk.settle()?
    };
    within(walk, some, (low, Bound::Unbounded))
}

/// Returns the last entry within an upper bound, as [`first_in`].
pub(super) fn last_in<'a>(
    bytes: &'a [u8],
    header: &Header,
    high: Bound<&[u8]>,
) -> MapResult<Option<Walk<'a>>> {
    let (mut walk, there) = match high {
        Bound::Unbounded => {
            let walk = Walk::to_end(bytes, header, Side::Last)?;
            let there = walk.entry()?.is_some();
            (walk, there)
        }
        Bound::Included(key) => Walk::seek(bytes, header, key)?,
        Bound::Excluded(key) => (Walk::seek(bytes, header, key)?.0, false),
    };
    let some = there || walk.backward()?;
    within(walk, some, (Bound::Unbounded, high))
}

/// Returns the walk if it stands on an entry, which is to be within the bounds.
fn within<'a>(
    walk: Walk<'a>,
    some: bool,
    bounds: (Bound<&[u8]>, Bound<&[u8]>),
) -> MapResult<Option<Walk<'a>>> {
    if !some {
        return Ok(None);
    }
    let unlimited = matches!(bounds, (Bound::Unbounded, Bound::Unbounded));
    let unchecked = unlimited || cfg!(fyris_mutant = "map_walks_unchecked");
    match unchecked
        || walk
            .key()?
            .is_none_or(|key| RangeBounds::<[u8]>::contains(&bounds, key))
    {
        true => Ok(Some(walk)),
        false => Err(walk.disorder()),
    }
}

/// Returns the first key behind all keys with a prefix.
pub(super) fn prefix_end(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|&byte| byte != 0xff)?;
    let mut end = prefix[..=last].to_vec();
    end[last] += 1;
    Some(end)
}

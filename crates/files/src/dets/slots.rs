//! A closed file: every slot, and the collection that it names.

use fyris_term::Term;

use super::collection::{ACTIVE, Collection, HEAD};
use super::header::{BASE, Header, PARTS, word};
use crate::FileError;
use crate::source::Source;

/// Slots of a segment.
const SEGMENT: u32 = 256;
/// Segments of a part.
const PART: u32 = 512;
/// Bytes of a segment, and of a part.
const BLOCK: u64 = 2048;

/// Returns the end of what the header, and the parts, segments and slots behind it, point to. No more bytes are read
/// than the file has.
pub(super) fn named_end(source: &Source) -> Result<u64, FileError> {
    let mut bytes = Vec::new();
    source.read(0, 4, &mut bytes)?;
    // Where the free blocks are noted when the file is closed; it is cut there when it is opened.
    let mut end = u64::from(word(&bytes, 0));
    let mut left = source.length();
    let mut tables = vec![(PARTS, BASE - PARTS, 0)];
    while let Some((at, size, depth)) = tables.pop() {
        end = end.max(at + size);
        if at + size > source.length() || size > left {
            continue;
        }
        left -= size;
        source.read(at, size, &mut bytes)?;
        if depth == 2 {
            let ends = bytes.chunks_exact(8);
            let ends = ends.map(|slot| u64::from(word(slot, 0)) + u64::from(word(slot, 4)));
            end = ends.fold(end, u64::max);
        } else {
            let positions = bytes.chunks_exact(4).map(|position| word(position, 0));
            let positions = positions.filter(|&position| position != 0);
            tables.extend(positions.map(|at| (at.into(), BLOCK, depth + 1)));
        }
    }
    Ok(end)
}

/// Walks the slots.
#[derive(Debug)]
pub(super) struct Slots<'d> {
    source: &'d Source,
    header: &'d Header,
    /// The next slot.
    slot: u32,
    part: Vec<u8>,
    segment: Vec<u8>,
    /// The position of the present collection.
    position: u64,
    collection: Collection,
    /// Bytes of segments and of collections that may still be read (APART_ON_DISK).
    left: [u64; 2],
    objects: u64,
    ended: bool,
}

impl<'d> Slots<'d> {
    pub(super) fn new(source: &'d Source, header: &'d Header) -> Slots<'d> {
        Slots {
            source,
            header,
            slot: 0,
            part: Vec::new(),
            segment: Vec::new(),
            position: 0,
            collection: Collection::none(),
            left: [source.length(); 2],
            objects: 0,
            ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Term, FileError>> {
        while !self.ended {
            match self.collection.next(self.header, self.slot.checked_sub(1)) {
                Some(Ok(object)) => {
                    self.objects += 1;
                    return Some(Ok(object));
                }
                Some(Err((at, why))) => {
                    return Some(Err(self.source.damage(self.position + at as u64, why)));
                }
                None if self.slot < self.header.slots => {
                    if let Err(error) = self.next_slot() {
                        self.ended |= !error.is_damage();
                        return Some(Err(error));
                    }
                }
                None => return self.end(),
            }
        }
        None
    }

    /// Compares what was read with what the header says.
    fn end(&mut self) -> Option<Result<Term, FileError>> {
        self.ended = true;
        let (said, read) = (self.header.info.objects, self.objects);
        (said != read).then(|| {
            let why =
                format!("the header says that there are {said} objects, and {read} could be read");
            Err(self.source.damage(32, why))
        })
    }

    /// Reads the collection of the next slot, if it has one.
    fn next_slot(&mut self) -> Result<(), FileError> {
        let slot = self.slot;
        if slot.is_multiple_of(SEGMENT) {
            self.next_segment()?;
        }
        self.slot += 1;
        let entry = 8 * (slot % SEGMENT) as usize;
        let (size, position) = (word(&self.segment, entry), word(&self.segment, entry + 4));
        if (size, position) == (0, 0) {
            return Ok(());
        }
        self.position = position.into();
        let read = self.read_collection(size.into());
        if read.is_ok() {
            self.collection.rewind();
        } else {
            self.collection = Collection::none();
        }
        read
    }

    fn read_collection(&mut self, size: u64) -> Result<(), FileError> {
        let (at, slot) = (self.position, self.slot - 1);
        let wrong = |what: &str| {
            let why = format!("{what}, so the objects of slot {slot} are left out");
            self.source.damage(at, why)
        };
        if size < HEAD as u64 || at + size > self.source.length() {
            return Err(wrong("no collection can be here"));
        }
        if size > self.left[1] {
            self.ended = true;
            return Err(wrong(
                "the slots name more bytes than the file has: the rest is not read",
            ));
        }
        self.source
            .read(at, HEAD as u64, &mut self.collection.bytes)?;
        let head = &self.collection.bytes;
        if u64::from(word(head, 0)) != size || word(head, 4) != ACTIVE {
            return Err(wrong("no collection of the slot's size is here"));
        }
        self.left[1] -= size;
        self.source.read(at, size, &mut self.collection.bytes)
    }

    /// Reads the segment of the next slot. If it cannot be read, its slots are passed over.
    fn next_segment(&mut self) -> Result<(), FileError> {
        let first = self.slot;
        let read = self.read_segment(first / SEGMENT);
        if read.is_err() {
            self.slot = first.saturating_add(SEGMENT).min(self.header.slots);
        }
        read
    }

    fn read_segment(&mut self, number: u32) -> Result<(), FileError> {
        let (part, within) = (number / PART, number % PART);
        let slots = number * SEGMENT..=number * SEGMENT + (SEGMENT - 1);
        let wrong = |at: u64| {
            let (first, last) = (slots.start(), slots.end());
            let why = format!(
                "no position of a block is here, so the objects of slots {first} to {last} are left out"
            );
            self.source.damage(at, why)
        };
        let block = |position: u32, at: u64| {
            let position = u64::from(position);
            let fits = position >= super::header::BASE && position + BLOCK <= self.source.length();
            if fits { Ok(position) } else { Err(wrong(at)) }
        };
        let at = PARTS + 4 * u64::from(part);
        let mut bytes = Vec::new();
        self.source.read(at, 4, &mut bytes)?;
        let part = block(word(&bytes, 0), at)?;
        if within == 0 || self.part.is_empty() {
            self.source.read(part, BLOCK, &mut self.part)?;
        }
        let entry = 4 * within as usize;
        let segment = block(word(&self.part, entry), part + entry as u64)?;
        if self.left[0] < BLOCK {
            self.ended = true;
            return Err(wrong(part + entry as u64));
        }
        self.left[0] -= BLOCK;
        self.source.read(segment, BLOCK, &mut self.segment)
    }
}

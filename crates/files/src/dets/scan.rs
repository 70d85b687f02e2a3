//! A file that was not closed: every block that holds a collection, as dets' repair finds them.
//!
//! The repair has a buffer of 8 KiB. For a collection that goes beyond it more is read, but for one that is larger than
//! all those that the header counts: it is passed over, and its objects are lost. The header's counts are those of the
//! last save, so this befalls large objects that are new.

use fyris_term::Term;

use super::collection::{ACTIVE, Collection, HEAD};
use super::header::{BASE, Header, word};
use super::slots;
use crate::FileError;
use crate::source::Source;

/// Blocks begin at multiples of this, from [`BASE`] on.
const STEP: u64 = 16;
/// Bytes that are read at a time to look for marks.
const WINDOW: u64 = 64 << 10;
/// Bytes that the repair reads at a time.
const BUFFER: u64 = 8192;
/// What does not hold a collection though it has the mark may be read as many times as the file is long, in all.
const RETRIES: u64 = 16;

/// Walks the blocks.
#[derive(Debug)]
pub(super) struct Scan<'d> {
    source: &'d Source,
    header: &'d Header,
    /// Where the next block may begin.
    at: u64,
    window: Vec<u8>,
    /// The position of the window.
    base: u64,
    /// The position of the present collection.
    position: u64,
    collection: Collection,
    /// The end of what the repair would have in its buffer.
    reach: u64,
    /// Bytes that may still be read in vain.
    left: u64,
    begun: bool,
    ended: bool,
}

impl<'d> Scan<'d> {
    pub(super) fn new(source: &'d Source, header: &'d Header) -> Scan<'d> {
        Scan {
            source,
            header,
            at: BASE,
            window: Vec::new(),
            base: BASE,
            position: 0,
            collection: Collection::none(),
            reach: BASE + BUFFER,
            left: source.length().saturating_mul(RETRIES),
            begun: false,
            ended: false,
        }
    }

    pub(super) fn next(&mut self) -> Option<Result<Term, FileError>> {
        if !std::mem::replace(&mut self.begun, true)
            && let Err(error) = self.check_end()
        {
            self.ended = !error.is_damage();
            return Some(Err(error));
        }
        while !self.ended {
            match self.collection.next(self.header, None) {
                Some(Ok(object)) => return Some(Ok(object)),
                // The collection was whole when it was found.
                Some(Err((at, why))) => {
                    return Some(Err(self.source.damage(self.position + at as u64, why)));
                }
                None => match self.next_block() {
                    Ok(true) => {}
                    Ok(false) => self.ended = true,
                    Err(error) => {
                        self.ended |= !error.is_damage();
                        return Some(Err(error));
                    }
                },
            }
        }
        None
    }

    /// Checks that the file goes on to what it names, so that its end was not cut off.
    fn check_end(&self) -> Result<(), FileError> {
        let (end, named) = (self.source.length(), slots::named_end(self.source)?);
        if named <= end {
            return Ok(());
        }
        let why = format!(
            "the file ends here, and what its header points to goes on to byte {named}: what was there is lost"
        );
        Err(self.source.damage(end, why))
    }

    /// Moves to the next collection; false at the end of the file.
    fn next_block(&mut self) -> Result<bool, FileError> {
        while self.at + HEAD as u64 <= self.source.length() {
            let (size, mark) = self.head()?;
            let position = self.at;
            self.reach(position + HEAD as u64, 0);
            self.move_to(position + STEP);
            if mark == ACTIVE {
                self.read_collection(position, size.into())?;
                self.move_to(position + u64::from(size).next_power_of_two().max(STEP));
                return Ok(true);
            }
            if near(mark) && self.is_whole(position, size.into())? {
                self.collection = Collection::none();
                let why =
                    "what seems to be a collection has a damaged mark, so its objects are left out";
                return Err(self.source.damage(position + 4, why));
            }
        }
        Ok(false)
    }

    /// Returns the size and the mark at the present place.
    fn head(&mut self) -> Result<(u32, u32), FileError> {
        let within = self.at.checked_sub(self.base);
        let here = within.filter(|&at| at + HEAD as u64 <= self.window.len() as u64);
        let at = match here {
            Some(at) => at as usize,
            None => {
                let count = WINDOW.min(self.source.length() - self.at);
                self.source.read(self.at, count, &mut self.window)?;
                self.base = self.at;
                0
            }
        };
        Ok((word(&self.window, at), word(&self.window, at + 4)))
    }

    fn move_to(&mut self, at: u64) {
        self.at = at;
        if at > self.reach {
            self.reach = at + BUFFER;
        }
    }

    /// Returns whether the repair's buffer reaches, or is made to reach, up to `end`, for a collection of this size.
    fn reach(&mut self, end: u64, size: u64) -> bool {
        if end > self.reach && size > self.header.repaired.max(BUFFER) {
            return false;
        }
        while end > self.reach {
            self.reach += size.max(BUFFER);
        }
        true
    }

    /// Reads a collection that is whole. As in dets' repair, one in which anything is wrong is left out as a whole.
    fn read_collection(&mut self, position: u64, size: u64) -> Result<(), FileError> {
        let mut wrong = (0, "no collection fits here, so it is left out".to_owned());
        if size > HEAD as u64 && size <= self.source.length() - position {
            self.source
                .read(position, size, &mut self.collection.bytes)?;
            self.collection.rewind();
            let mut objects = 0;
            let first = std::iter::from_fn(|| self.collection.next(self.header, None))
                .inspect(|_| objects += 1)
                .find_map(Result::err);
            wrong = match first {
                None if self.reach(position + size, size) => {
                    self.position = position;
                    self.collection.rewind();
                    return Ok(());
                }
                None => {
                    let why =
                        format!("dets' repair passes over it ({objects} objects, {size} bytes)");
                    (0, why)
                }
                Some(wrong) => wrong,
            };
            self.spend(position, size)?;
        }
        self.collection = Collection::none();
        let (at, why) = wrong;
        let why = format!("the collection at {position} is left out: {why}");
        Err(self.source.damage(position + at as u64, why))
    }

    /// Returns whether a whole collection is here.
    fn is_whole(&mut self, position: u64, size: u64) -> Result<bool, FileError> {
        if size <= HEAD as u64 || size > self.source.length() - position {
            return Ok(false);
        }
        self.spend(position, size)?;
        let mut probe = Collection::none();
        self.source.read(position, size, &mut probe.bytes)?;
        probe.rewind();
        Ok(std::iter::from_fn(|| probe.next(self.header, None)).all(|object| object.is_ok()))
    }

    /// Notes that bytes have been read in vain.
    fn spend(&mut self, position: u64, size: u64) -> Result<(), FileError> {
        match self.left.checked_sub(size) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => {
                self.ended = true;
                let why = "too much of the file is not what it says it is: the rest is not read";
                Err(self.source.damage(position, why))
            }
        }
    }
}

/// Returns whether a mark is that of a collection but for one byte.
fn near(mark: u32) -> bool {
    let different = mark ^ ACTIVE;
    let bytes = different.to_be_bytes();
    bytes.iter().filter(|&&byte| byte != 0).count() == 1
}

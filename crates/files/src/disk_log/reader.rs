//! Reading a log: one item at a time, through one buffer.

use std::io::{ErrorKind, Read};
use std::ops::Range;

use super::{
    BIG_ITEM, CLOSED, FILE_HEAD, FILE_MAGIC, ITEM_HEAD, ITEM_MAGIC, LogError, OLD_ITEM_MAGIC,
    OPENED, SIZE_SUM, Status, size_sum,
};

/// Bytes of the buffer while items are small.
const BUFFER: usize = 256 * 1024;

/// One item of a log.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    /// The offset of its payload in the file, in bytes.
    pub offset: u64,
    /// The payload.
    pub bytes: &'a [u8],
}

/// The head of an item.
struct ItemHead {
    size: u32,
    head: usize,
}

/// Reads the items of a log in order, in memory bounded by the largest item accepted.
///
/// After an error whose [`LogError::is_damage`] holds, [`LogReader::resync`] moves to where the next
/// item may begin; without it the same error comes again.
pub struct LogReader<R> {
    input: R,
    buf: Vec<u8>,
    start: usize,
    end: usize,
    /// Offset in the file of `buf[0]`.
    base: u64,
    /// Length of the file, where known.
    length: Option<u64>,
    ended: bool,
    /// The range of the payload of the item last read in `buf`.
    item: Range<usize>,
    status: Status,
    max_item: u32,
}

impl<R: Read> LogReader<R> {
    /// Reads and checks the head of the file. `length` is that of the whole input in bytes, when known;
    /// `max_item` bounds what one item may take, in bytes.
    ///
    /// # Errors
    ///
    /// [`LogError::NotALog`], [`LogError::Io`].
    pub fn new(input: R, length: Option<u64>, max_item: u32) -> Result<LogReader<R>, LogError> {
        let mut reader = LogReader {
            input,
            buf: vec![0; BUFFER],
            start: 0,
            end: 0,
            base: 0,
            length,
            ended: false,
            item: 0..0,
            status: Status::Closed,
            max_item,
        };
        reader.fill(FILE_HEAD)?;
        let head = &reader.buf[..reader.end.min(FILE_HEAD)];
        reader.status = match head.split_at_checked(4) {
            Some((magic, status)) if magic == FILE_MAGIC && status == CLOSED => Status::Closed,
            Some((magic, status)) if magic == FILE_MAGIC && status == OPENED => Status::Opened,
            _ => {
                return Err(LogError::NotALog {
                    found: head.to_vec(),
                });
            }
        };
        reader.start = FILE_HEAD;
        Ok(reader)
    }

    /// Returns whether the writer finished the file.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Returns the number of bytes of the file consumed so far.
    #[inline]
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Returns the length of the file in bytes, where known.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// Reads the next item, which [`LogReader::item`] then shows; false at the end of the file.
    ///
    /// # Errors
    ///
    /// Damage (see [`LogError::is_damage`]) leaves the reader where the damaged item begins.
    #[inline]
    pub fn advance(&mut self) -> Result<bool, LogError> {
        let Some(ItemHead { size, head }) = self.item_head()? else {
            return Ok(false);
        };
        let total = head + size as usize;
        if self.end - self.start < total {
            self.want_whole(total)?;
        }
        self.item = self.start + head..self.start + total;
        self.start += total;
        Ok(true)
    }

    /// Returns the item that [`LogReader::advance`] read last (empty unless its last call
    /// returned true).
    #[inline]
    pub fn item(&self) -> Item<'_> {
        let offset = self.base + self.item.start as u64;
        Item {
            offset,
            bytes: &self.buf[self.item.clone()],
        }
    }

    /// Takes back the item that [`LogReader::advance`] read last, so that [`LogReader::resync`] looks for the next one
    /// from its payload on: its size may be wrong, if the payload is.
    pub fn reject(&mut self) {
        self.start = self.item.start.min(self.start);
        self.item = 0..0;
    }

    /// Moves at least one byte on, to the next place with an item's mark, or to the end of the file.
    /// Returns how many bytes were passed over. Whether the item there is whole, the next
    /// [`LogReader::advance`] says.
    ///
    /// # Errors
    ///
    /// [`LogError::Io`].
    pub fn resync(&mut self) -> Result<u64, LogError> {
        let from = self.offset();
        self.item = 0..0;
        self.start = (self.start + 1).min(self.end);
        loop {
            let window = &self.buf[self.start..self.end];
            if let Some(at) = window.windows(ITEM_HEAD).position(|w| is_mark(&w[4..])) {
                self.start += at;
                break;
            }
            if self.ended {
                self.start = self.end;
                break;
            }
            // The last bytes of the window may be the first of a mark.
            self.start = self.start.max(self.end.saturating_sub(ITEM_HEAD - 1));
            self.fill(BUFFER)?;
        }
        Ok(self.offset() - from)
    }

    /// Reads and checks the head of the item at `start`.
    #[inline]
    fn item_head(&mut self) -> Result<Option<ItemHead>, LogError> {
        if self.end - self.start < ITEM_HEAD {
            match self.fill(ITEM_HEAD)? {
                0 => return Ok(None),
                have if have < ITEM_HEAD => return Err(self.truncated(ITEM_HEAD)),
                _ => {}
            }
        }
        let at = self.start;
        let size = u32::from_be_bytes(self.bytes4(at));
        let magic = self.bytes4(at + 4);
        if !is_mark(&magic) {
            return Err(LogError::BadMagic {
                offset: self.offset(),
                found: magic,
            });
        }
        if size > self.max_item {
            return Err(self.too_large(size));
        }
        let mut head = ITEM_HEAD;
        if magic == ITEM_MAGIC && size as usize >= BIG_ITEM {
            head += SIZE_SUM;
            self.check_size(size)?;
        }
        Ok(Some(ItemHead { size, head }))
    }

    /// Checks the MD5 behind the head of a big item.
    #[cold]
    fn check_size(&mut self, size: u32) -> Result<(), LogError> {
        if self.fill(ITEM_HEAD + SIZE_SUM)? < ITEM_HEAD + SIZE_SUM {
            return Err(self.truncated(ITEM_HEAD + SIZE_SUM + size as usize));
        }
        let at = self.start + ITEM_HEAD;
        if self.buf[at..at + SIZE_SUM] != size_sum(size) {
            return Err(LogError::BadSizeSum {
                offset: self.offset(),
                size,
            });
        }
        Ok(())
    }

    /// Brings the whole item of `total` bytes into the window.
    #[cold]
    fn want_whole(&mut self, total: usize) -> Result<(), LogError> {
        let beyond = |length: u64| self.offset() + total as u64 > length;
        if self.length.is_some_and(beyond) || self.fill(total)? < total {
            return Err(self.truncated(total));
        }
        Ok(())
    }

    /// Reads on until `need` bytes are in the window or the input ends; returns how many there are.
    /// Keeps invariant WINDOW; the buffer never doubles before it is full of bytes truly read.
    fn fill(&mut self, need: usize) -> Result<usize, LogError> {
        if self.ended || self.end - self.start >= need {
            // Nothing more to come, or to wish for: no byte is moved, however often this is asked.
            return Ok(self.end - self.start);
        }
        if self.start + need > self.buf.len() {
            self.compact(need);
        }
        while self.end - self.start < need && !self.ended {
            if self.end == self.buf.len() {
                let grown = (self.buf.len() * 2).min(self.start + need);
                self.buf.resize(grown, 0);
            }
            match self.input.read(&mut self.buf[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(n) => self.end += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(LogError::Io {
                        offset: self.base + self.end as u64,
                        source,
                    });
                }
            }
        }
        Ok(self.end - self.start)
    }

    /// Moves the window to the front of the buffer, and gives back what a big item made it grow.
    fn compact(&mut self, need: usize) {
        self.item = 0..0;
        self.buf.copy_within(self.start..self.end, 0);
        self.base += self.start as u64;
        self.end -= self.start;
        self.start = 0;
        if self.buf.len() > BUFFER && need <= BUFFER && self.end <= BUFFER {
            self.buf.truncate(BUFFER);
            self.buf.shrink_to_fit();
        }
    }

    #[inline]
    fn bytes4(&self, at: usize) -> [u8; 4] {
        [
            self.buf[at],
            self.buf[at + 1],
            self.buf[at + 2],
            self.buf[at + 3],
        ]
    }

    #[cold]
    fn truncated(&self, total: usize) -> LogError {
        let seen = (self.end - self.start) as u64;
        let have = self
            .length
            .map_or(seen, |l| l.saturating_sub(self.offset()));
        let missing = (total as u64).saturating_sub(have);
        LogError::Truncated {
            offset: self.offset(),
            have,
            missing,
        }
    }

    #[cold]
    fn too_large(&self, size: u32) -> LogError {
        let (size, limit) = (u64::from(size), u64::from(self.max_item));
        LogError::TooLarge {
            offset: self.offset(),
            size,
            limit,
        }
    }
}

#[inline]
fn is_mark(magic: &[u8]) -> bool {
    magic == ITEM_MAGIC || magic == OLD_ITEM_MAGIC
}

#[cfg(test)]
#[path = "reader_tests.rs"]
mod tests;

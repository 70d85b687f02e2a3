//! Writing a log: items of any size a log can hold, through one buffer.

use std::io::{Seek, SeekFrom, Write};

use super::{
    BIG_ITEM, CLOSED, FILE_HEAD, FILE_MAGIC, ITEM_HEAD, ITEM_MAGIC, LogError, OPENED, SIZE_SUM,
    size_sum,
};

/// The buffer is written out when it holds this many bytes.
const BUFFER: usize = 256 * 1024;

/// Writes a log. The file says that it is open until [`LogWriter::finish`].
pub struct LogWriter<W> {
    out: W,
    buf: Vec<u8>,
    written: u64,
}

impl<W: Write + Seek> LogWriter<W> {
    /// Begins a log at the present position of `out`, which must be its start.
    pub fn new(out: W) -> LogWriter<W> {
        let mut buf = Vec::with_capacity(BUFFER + BUFFER / 4);
        buf.extend_from_slice(&FILE_MAGIC);
        buf.extend_from_slice(&OPENED);
        LogWriter {
            out,
            buf,
            written: 0,
        }
    }

    /// Appends an item whose payload `encode` writes at the end of the buffer it is given. Returns what
    /// `encode` does, after `seen` has looked at the payload (to sum it up, say).
    ///
    /// # Errors
    ///
    /// [`LogError::TooLarge`] for 4 GiB and more, [`LogError::Io`]. The log is of no use after either.
    pub fn item<T>(
        &mut self,
        encode: impl FnOnce(&mut Vec<u8>) -> T,
        seen: impl FnOnce(&[u8]),
    ) -> Result<T, LogError> {
        let head = self.buf.len();
        self.buf.extend_from_slice(&[0; ITEM_HEAD]);
        let result = encode(&mut self.buf);
        let payload = head + ITEM_HEAD;
        let length = self.buf.len() - payload;
        let Ok(size) = u32::try_from(length) else {
            let (offset, limit) = (self.written + head as u64, u64::from(u32::MAX));
            return Err(LogError::TooLarge {
                offset,
                size: length as u64,
                limit,
            });
        };
        seen(&self.buf[payload..]);
        self.buf[head..head + 4].copy_from_slice(&size.to_be_bytes());
        self.buf[head + 4..payload].copy_from_slice(&ITEM_MAGIC);
        if length >= BIG_ITEM {
            self.insert_size_sum(payload, size);
        }
        if self.buf.len() >= BUFFER {
            self.flush()?;
        }
        Ok(result)
    }

    /// Returns the number of bytes of the log so far, those in the buffer included.
    pub fn offset(&self) -> u64 {
        self.written + self.buf.len() as u64
    }

    /// Writes out what is buffered, says in the file that it is closed, and hands back the output.
    ///
    /// # Errors
    ///
    /// [`LogError::Io`].
    pub fn finish(mut self) -> Result<W, LogError> {
        if self.written == 0 {
            self.buf[4..FILE_HEAD].copy_from_slice(&CLOSED);
            self.flush()?;
        } else {
            self.flush()?;
            let offset = self.written;
            self.mark_closed()
                .map_err(|source| LogError::Io { offset, source })?;
        }
        Ok(self.out)
    }

    fn mark_closed(&mut self) -> std::io::Result<()> {
        self.out.seek(SeekFrom::Start(4))?;
        self.out.write_all(&CLOSED)?;
        self.out.flush()
    }

    fn insert_size_sum(&mut self, payload: usize, size: u32) {
        let end = self.buf.len();
        self.buf.extend_from_slice(&[0; SIZE_SUM]);
        self.buf.copy_within(payload..end, payload + SIZE_SUM);
        self.buf[payload..payload + SIZE_SUM].copy_from_slice(&size_sum(size));
    }

    fn flush(&mut self) -> Result<(), LogError> {
        let offset = self.written;
        self.out
            .write_all(&self.buf)
            .map_err(|source| LogError::Io { offset, source })?;
        self.written += self.buf.len() as u64;
        self.buf.clear();
        if self.buf.capacity() > 4 * BUFFER {
            self.buf.shrink_to(BUFFER + BUFFER / 4);
        }
        Ok(())
    }
}

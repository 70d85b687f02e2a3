//! Fyris's own subjects: an array in a segment; and the array that is not shared.
//!
//! A write needs no lock: it is committed on the condition that no other process has changed the element since it was
//! read. If another process has, the write is taken back and done again on the present value.

use fyris_segment::{Error, Options, Segment};

use super::array::{Array, SharedArray, greatest, sum};
use super::contender::ArrayContender;
use crate::error::BenchError;

/// Bytes of an element.
const WIDTH: usize = 8;

/// Returns the subjects of Fyris, and the empty loop.
pub fn own() -> Vec<ArrayContender> {
    vec![
        ArrayContender::alone("harness", |elements, _| {
            vec![OwnArray(vec![0; elements * WIDTH])]
        }),
        ArrayContender::processes::<Versioned<false>>("fyris"),
        ArrayContender::processes::<Versioned<true>>("fyris_declared"),
    ]
}

/// An array in a segment; its writes are declared, or found.
struct Versioned<const DECLARED: bool>(Segment);

impl<const DECLARED: bool> Versioned<DECLARED> {
    fn checkout(name: &str, elements: usize, options: Options) -> Result<Self, BenchError> {
        let options = options.after_unlink(true);
        let options = if DECLARED {
            options.declared()
        } else {
            options
        };
        let segment = Segment::checkout(name, elements * WIDTH, &options)?;
        Ok(Self(segment))
    }

    /// Commits on the condition that no other process has changed the units that are written.
    #[inline]
    fn commit(&mut self) -> Result<u64, Error> {
        if cfg!(fyris_mutant = "array_unvalidated") {
            return self.0.commit_merge();
        }
        self.0.commit_merge_validated()
    }
}

impl<const DECLARED: bool> Array for Versioned<DECLARED> {
    #[inline]
    fn lookup(&mut self, at: usize) -> Result<u64, BenchError> {
        self.0.update()?;
        Ok(element(self.0.as_slice(), at))
    }

    #[inline]
    fn write(&mut self, at: usize) -> Result<(), BenchError> {
        let range = at * WIDTH..(at + 1) * WIDTH;
        loop {
            if DECLARED {
                self.0.touch(range.clone())?;
            }
            add_one(self.0.as_mut_slice(), at);
            match self.commit() {
                Ok(_) => return Ok(()),
                // Another process has written the same element since, or more elements than are remembered.
                Err(Error::Conflict { .. } | Error::BaseLost { .. }) => self.0.discard()?,
                Err(error) => return Err(error.into()),
            }
            self.0.update()?;
        }
    }

    fn query(&mut self) -> Result<Option<u64>, BenchError> {
        self.0.update()?;
        Ok(Some(greatest(self.0.as_slice())))
    }

    fn total(&mut self) -> Result<u64, BenchError> {
        self.0.update()?;
        Ok(sum(self.0.as_slice()))
    }
}

impl<const DECLARED: bool> SharedArray for Versioned<DECLARED> {
    fn make(name: &str, elements: usize) -> Result<Self, BenchError> {
        // A log is as long as the largest size has pages: a worker that the machine puts aside for long is not cut
        // off.
        let options = Options::new().max_size(LARGEST);
        Self::checkout(name, elements, options.exclusive(true))
    }

    fn join(name: &str, elements: usize) -> Result<Self, BenchError> {
        Self::checkout(name, elements, Options::new().create(false))
    }

    fn unlink(name: &str) -> Result<(), BenchError> {
        Ok(Segment::unlink(name)?)
    }
}

/// The empty loop: an array of one's own.
struct OwnArray(Vec<u8>);

/// Room to grow that is never used, in bytes.
const LARGEST: usize = 32 << 20;

impl Array for OwnArray {
    #[inline]
    fn lookup(&mut self, at: usize) -> Result<u64, BenchError> {
        Ok(element(&self.0, at))
    }
    #[inline]
    fn write(&mut self, at: usize) -> Result<(), BenchError> {
        add_one(&mut self.0, at);
        Ok(())
    }
    fn query(&mut self) -> Result<Option<u64>, BenchError> {
        Ok(Some(greatest(&self.0)))
    }
    fn total(&mut self) -> Result<u64, BenchError> {
        Ok(sum(&self.0))
    }
}

#[inline]
fn element(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes.as_chunks().0[at])
}

#[inline]
fn add_one(bytes: &mut [u8], at: usize) {
    let word = &mut bytes.as_chunks_mut().0[at];
    *word = (u64::from_ne_bytes(*word) + 1).to_ne_bytes();
}

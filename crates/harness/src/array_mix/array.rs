//! The subject: an array of integers that several processes or threads work on.

use crate::error::BenchError;

/// One worker's access to the array. Each method is one operation, its locks, updates and commits included.
pub trait Array {
    /// Returns the element at `at`.
    ///
    /// # Errors
    ///
    /// Those of the subject.
    fn lookup(&mut self, at: usize) -> Result<u64, BenchError>;

    /// Adds one to the element at `at`, whatever others do meanwhile.
    ///
    /// # Errors
    ///
    /// Those of the subject.
    fn write(&mut self, at: usize) -> Result<(), BenchError>;

    /// Returns the greatest element of one state of the array; `None` if the subject gave up, as one that never saw
    /// the array at rest may when its time is over.
    ///
    /// # Errors
    ///
    /// Those of the subject.
    fn query(&mut self) -> Result<Option<u64>, BenchError>;

    /// Returns the sum of all elements, when all workers have finished.
    ///
    /// # Errors
    ///
    /// Those of the subject.
    fn total(&mut self) -> Result<u64, BenchError>;
}

/// An array that processes share by a name.
pub trait SharedArray: Array + Sized {
    /// Makes an array of `elements` zeros under a new name.
    ///
    /// # Errors
    ///
    /// Those of the subject.
    fn make(name: &str, elements: usize) -> Result<Self, BenchError>;

    /// Returns the array that another process made.
    ///
    /// # Errors
    ///
    /// Those of the subject.
    fn join(name: &str, elements: usize) -> Result<Self, BenchError>;

    /// Takes the name away, when all have joined.
    ///
    /// # Errors
    ///
    /// Those of the subject.
    fn unlink(name: &str) -> Result<(), BenchError>;
}

/// Returns the greatest of the 8-byte integers in `bytes`: the same loop for every subject whose array is plain memory,
/// compiled as any program's is: for the baseline processor, some nanosecond an element.
#[inline]
pub fn greatest(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks().0.iter();
    words
        .map(|word| u64::from_ne_bytes(*word))
        .fold(0, u64::max)
}

/// Returns their sum.
pub fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.as_chunks().0.iter();
    words.map(|word| u64::from_ne_bytes(*word)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_is_found_wherever_it_is() {
        for at in 0..67 {
            let mut words = [5u64; 67];
            words[at] = u64::MAX - 3;
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
            assert_eq!(greatest(&bytes), u64::MAX - 3);
        }
        assert_eq!((greatest(&[]), sum(&[])), (0, 0));
    }
}

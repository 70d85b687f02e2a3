//! Descriptors out of the way of a program's own.

use std::os::fd::{OwnedFd, RawFd};

use fyris_sync::atomic::{AtomicU32, Ordering};

/// The lowest number that a descriptor of this crate may have.
static LEAST: AtomicU32 = AtomicU32::new(0);

/// Gives descriptors that this process opens for segments from now on numbers from `least` on, where there are any below
/// its limit. For a library in a program that expects, or chooses, certain low numbers.
///
/// ```
/// use fyris_segment::{Options, Segment, keep_descriptors_from};
///
/// keep_descriptors_from(100);
/// let segment = Segment::nameless(4096, &Options::new())?;
/// let number: i32 = segment.path().file_name().unwrap().to_str().unwrap().parse().unwrap();
/// assert!(number >= 100);
/// # Ok::<(), fyris_segment::Error>(())
/// ```
pub fn keep_descriptors_from(least: RawFd) {
    // Relaxed: a number by itself.
    LEAST.store(least.max(0) as u32, Ordering::Relaxed);
}

/// Gives a descriptor that was just opened a number from the least on, if there is one.
pub(crate) fn aside<F: From<OwnedFd> + Into<OwnedFd>>(file: F) -> F {
    // Relaxed: as above.
    let least = LEAST.load(Ordering::Relaxed);
    if least == 0 {
        return file;
    }
    let file = file.into();
    match rustix::io::fcntl_dupfd_cloexec(&file, least as RawFd) {
        Ok(moved) => moved.into(),
        Err(_) => file.into(),
    }
}

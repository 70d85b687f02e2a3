//! Working copies at addresses of the program's choice, in several pieces.

mod names;

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use fyris_segment::{Error, Options, PAGE, Segment, Tracking};
use names::Name;

/// Returns an address far from those that the kernel chooses for mappings, another each time.
fn free() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0x2200_0000_0000);
    // Relaxed: only has to differ.
    NEXT.fetch_add(1 << 30, Ordering::Relaxed)
}

/// Placed ranges are tracked by userfaultfd, or not at all.
fn tracked() -> Options {
    Options::new().tracking(Tracking::Userfault)
}

fn write(address: usize, value: u64) {
    // SAFETY: the caller has placed a segment there.
    unsafe { ptr::with_exposed_provenance_mut::<u64>(address).write_volatile(value) }
}

fn read(address: usize) -> u64 {
    // SAFETY: as above.
    unsafe { ptr::with_exposed_provenance::<u64>(address).read_volatile() }
}

fn word(segment: &Segment, at: usize) -> u64 {
    u64::from_le_bytes(segment.as_slice()[at..at + 8].try_into().unwrap())
}

#[test]
fn pieces_are_where_they_were_placed() {
    let name = Name::new("place");
    // The later pages first, and page 4 nowhere.
    let (high, low) = (free(), free());
    let options = tracked()
        .place(5 * PAGE..8 * PAGE, high)
        .place(0..4 * PAGE, low);
    let mut placed = Segment::checkout(&name.0, 6 * PAGE, &options.max_size(8 * PAGE)).unwrap();
    let mut other = Segment::checkout(&name.0, 0, &Options::new()).unwrap();
    for round in 1..=10u64 {
        // Hot pages too, and some that are not.
        write(low, round);
        write(low + 3 * PAGE + 8, round);
        write(high, round);
        placed.as_mut_slice()[4 * PAGE] = round as u8;
        if round == 5 {
            write(low + PAGE, 55);
        }
        assert!(placed.diff().unwrap().len() >= 4, "{round}");
        placed.commit().unwrap();
        other.update().unwrap();
        for at in [0, 3 * PAGE + 8, 4 * PAGE, 5 * PAGE] {
            assert_eq!(word(&other, at), round, "{at}");
        }
        other.as_mut_slice()[2 * PAGE] = round as u8;
        other.as_mut_slice()[5 * PAGE + 8] = round as u8;
        other.commit().unwrap();
        placed.update().unwrap();
        assert_eq!((read(low + 2 * PAGE), read(high + 8)), (round, round));
        assert!(placed.diff().unwrap().is_empty());
    }
    assert_eq!(word(&other, PAGE), 55);
    // The pages that the segment grows by are tracked at their place.
    placed.grow(8 * PAGE).unwrap();
    write(high + 2 * PAGE, 9);
    write(low, 99);
    placed.discard().unwrap();
    assert_eq!((read(high + 2 * PAGE), read(low)), (0, 10));
    write(high + 2 * PAGE, 9);
    placed.commit().unwrap();
    other.update().unwrap();
    assert_eq!(word(&other, 7 * PAGE), 9);
    drop(placed);
    // Nothing is there any more: it can be placed again.
    let again = tracked().place(0..4 * PAGE, low);
    let placed = Segment::checkout(&name.0, 0, &again).unwrap();
    assert_eq!((read(low), word(&placed, 0)), (10, 10));
}

#[test]
fn declared_and_read_only_copies_are_placed_too() {
    let name = Name::new("place-declared");
    let (at, reading) = (free(), free());
    let options = Options::new().declared().place(0..2 * PAGE, at);
    let mut writer = Segment::checkout(&name.0, 2 * PAGE, &options).unwrap();
    let options = Options::new()
        .read_only(true)
        .place(PAGE..2 * PAGE, reading);
    let mut reader = Segment::checkout(&name.0, 0, &options).unwrap();
    write(at + PAGE, 3);
    writer.touch(PAGE..PAGE + 8).unwrap();
    writer.commit().unwrap();
    reader.update().unwrap();
    assert_eq!(read(reading), 3);
}

#[test]
fn what_is_mapped_already_is_not_overwritten_unasked() {
    let name = Name::new("place-taken");
    let at = free();
    let options = tracked().place(0..2 * PAGE, at);
    let _first = Segment::checkout(&name.0, 4 * PAGE, &options).unwrap();
    let taken = Segment::checkout(&name.0, 0, &tracked().place(0..PAGE, at + PAGE));
    assert!(matches!(taken, Err(Error::AddressInUse(there)) if there == at + PAGE));
    // `replace` puts the copy in place of a mapping, here one of the test's own.
    let len = 2 * PAGE;
    // SAFETY: a new mapping that no other code uses.
    let there = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        libc::mmap(
            ptr::null_mut(),
            len,
            libc::PROT_READ | libc::PROT_WRITE,
            flags,
            -1,
            0,
        )
    };
    assert_ne!(there, libc::MAP_FAILED);
    let there = there.expose_provenance();
    write(there, 5);
    // SAFETY: as said.
    let options = unsafe { tracked().replace(0..2 * PAGE, there) };
    let mut segment = Segment::checkout(&name.0, 0, &options).unwrap();
    assert_eq!(read(there), 0);
    write(there, 6);
    segment.commit().unwrap();
    assert_eq!(word(&segment, 0), 6);
}

#[test]
fn nonsense_is_refused_and_leaves_no_name() {
    let name = Name::new("place-wrong");
    let at = free();
    for (range, address) in [
        (0..PAGE, at + 1),
        (1..PAGE, at),
        (0..PAGE + 1, at),
        (PAGE..PAGE, at),
        (0..2 * PAGE, usize::MAX - PAGE + 1),
    ] {
        let options = Options::new().place(range, address);
        let refused = Segment::checkout(&name.0, 4 * PAGE, &options);
        assert!(matches!(refused, Err(Error::BadArgument(_))), "{refused:?}");
    }
    let outside = Options::new().place(0..5 * PAGE, at);
    let refused = Segment::checkout(&name.0, 4 * PAGE, &outside);
    assert!(matches!(refused, Err(Error::OutOfRange { .. })));
    let overlapping = Options::new()
        .place(0..2 * PAGE, at)
        .place(PAGE..3 * PAGE, at + 4 * PAGE);
    let refused = Segment::checkout(&name.0, 4 * PAGE, &overlapping);
    assert!(matches!(refused, Err(Error::BadArgument(_))));
    assert!(matches!(Segment::unlink(&name.0), Err(Error::NotFound(_))));
    let by_signals = Options::new().tracking(Tracking::Signal).place(0..PAGE, at);
    let refused = Segment::checkout(&name.0, 4 * PAGE, &by_signals);
    assert!(matches!(refused, Err(Error::Unsupported(_))));
}

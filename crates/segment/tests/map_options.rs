//! Options of a segment that a map can have, and those that it cannot; what a checkout that fails leaves behind.

mod names;

use fyris_segment::{Error, MapError, Options, PAGE, Segment, Tracking, VersionedMap};
use names::Name;

const SIZE: usize = 1 << 20;

fn checkout(name: &Name, options: &Options) -> Result<VersionedMap, MapError> {
    VersionedMap::checkout(&name.0, SIZE, options)
}

fn is_argument<T>(result: Result<T, MapError>) -> bool {
    matches!(result, Err(MapError::Segment(Error::BadArgument(_))))
}

#[test]
fn no_byte_of_a_map_is_private() {
    let name = Name::new("private");
    let options = || Options::new();
    for range in [0..8, 0..PAGE, PAGE..2 * PAGE, 8 * PAGE..SIZE] {
        let private = options().private(range);
        assert!(is_argument(checkout(&name, &private)));
        assert!(matches!(Segment::unlink(&name.0), Err(Error::NotFound(_))));
    }
    let mut writer = checkout(&name, &options()).expect("checkout");
    writer
        .write(|batch| batch.insert(b"key", b"value"))
        .expect("write");
    let private = options().private(PAGE..SIZE);
    assert!(is_argument(checkout(&name, &private)));
    let segment = Segment::checkout(&name.0, 0, &private).expect("a segment can have it");
    assert!(is_argument(VersionedMap::open(segment)));
    writer.check().expect("whole");
}

#[test]
fn a_unit_above_eight_is_refused_before_anything_is_made() {
    let name = Name::new("unit");
    for unit in [16, 32, 64] {
        let wide = checkout(&name, &Options::new().unit(unit));
        assert!(matches!(wide, Err(MapError::Unit(n)) if n == unit as usize));
        assert!(matches!(Segment::unlink(&name.0), Err(Error::NotFound(_))));
    }
    for unit in [1, 2, 4, 8] {
        let name = Name::new("unit");
        let mut map = checkout(&name, &Options::new().unit(unit)).expect("checkout");
        map.write(|batch| batch.insert(b"key", b"value"))
            .expect("write");
        map.check().expect("check");
    }
}

#[test]
fn a_map_at_a_place_is_whole() {
    let name = Name::new("placed");
    let at = 0x2300_0000_0000;
    // SAFETY: a place of this test's own, at which nothing is mapped.
    let options = unsafe {
        Options::new()
            .place(0..2 * PAGE, at)
            .replace(4 * PAGE..8 * PAGE, at + 4 * PAGE)
    };
    let mut placed = checkout(&name, &options).expect("checkout");
    let mut plain = checkout(&name, &Options::new()).expect("checkout");
    for n in 0..2000_u32 {
        let map = if n % 2 == 0 { &mut placed } else { &mut plain };
        map.write(|batch| batch.insert(&n.to_be_bytes(), &[n as u8; 40]))
            .expect("write");
    }
    placed.update().expect("update");
    assert_eq!(placed.check().expect("check").entries, 2000);
    // SAFETY: two pages are mapped there while the map lives.
    let shown = unsafe {
        std::slice::from_raw_parts(std::ptr::with_exposed_provenance::<u8>(at), 2 * PAGE)
    };
    assert_eq!(shown, &placed.segment().as_slice()[..2 * PAGE]);
}

#[test]
fn a_map_begins_with_what_was_committed() {
    let name = Name::new("settled");
    drop(checkout(&name, &Options::new()).expect("checkout"));
    let mut segment = Segment::checkout(&name.0, 0, &Options::new()).expect("checkout");
    segment.as_mut_slice()[2 * PAGE] ^= 1;
    let opened = VersionedMap::open(segment);
    assert!(matches!(opened, Err(MapError::Segment(Error::Uncommitted))));
    let mut segment = Segment::checkout(&name.0, 0, &Options::new()).expect("checkout");
    segment.as_mut_slice()[2 * PAGE] ^= 1;
    segment.discard().expect("discard");
    VersionedMap::open(segment)
        .expect("open")
        .check()
        .expect("check");
}

/// A checkout that fails leaves nothing behind: the right call then makes the segment.
#[test]
fn a_checkout_that_fails_leaves_nothing() {
    let (name, taken) = (Name::new("nothing"), vec![0_u8; 4 * PAGE]);
    let at = taken.as_ptr().addr().next_multiple_of(PAGE);
    let gone = |what| {
        let left = Segment::unlink(&name.0);
        assert!(matches!(left, Err(Error::NotFound(_))), "{what}");
    };
    let small = VersionedMap::checkout(&name.0, 1, &Options::new());
    assert!(matches!(small, Err(MapError::TooSmall { .. })));
    gone("a small map");
    for reads in [
        Options::new().read_only(true),
        Options::new().in_place(true),
    ] {
        let reader = checkout(&name, &reads);
        assert!(matches!(reader, Err(MapError::Segment(Error::NotFound(_)))));
    }
    gone("a map to read");
    let place = Options::new().place(0..PAGE, at);
    let placed = checkout(&name, &place);
    assert!(matches!(
        placed,
        Err(MapError::Segment(Error::AddressInUse(_)))
    ));
    gone("a map at an address in use");
    let place = place.tracking(Tracking::Userfault);
    let placed = Segment::checkout(&name.0, SIZE, &place);
    assert!(matches!(placed, Err(Error::AddressInUse(_))));
    gone("a segment at an address in use");
    let signal = Options::new().tracking(Tracking::Signal);
    let tracked = Segment::checkout(&name.0, SIZE, &signal.place(0..PAGE, 0x2310_0000_0000));
    assert!(matches!(tracked, Err(Error::Unsupported(_))));
    gone("a segment at a place, by signals");
    checkout(&name, &Options::new().exclusive(true)).expect("the right call");
    let again = checkout(&name, &Options::new().exclusive(true));
    assert!(matches!(again, Err(MapError::Segment(Error::Exists(_)))));
    checkout(&name, &Options::new()).expect("it is still there");
}

/// Many that make one map at once: they all have the same.
#[test]
fn makers_of_one_map_share_it() {
    for _ in 0..20 {
        let name = Name::new("makers");
        let won = std::sync::atomic::AtomicU32::new(0);
        std::thread::scope(|scope| {
            for n in 0..8_u8 {
                let (name, won) = (&name, &won);
                scope.spawn(move || {
                    if checkout(name, &Options::new().exclusive(true)).is_ok() {
                        won.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    }
                    let mut map = checkout(name, &Options::new()).expect("checkout");
                    map.write(|batch| batch.insert(&[n], b"")).expect("write");
                });
            }
        });
        assert!(won.into_inner() <= 1);
        assert_eq!(
            checkout(&name, &Options::new())
                .expect("checkout")
                .len()
                .expect("len"),
            8
        );
    }
}

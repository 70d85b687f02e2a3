//! Bytes of a binding's own in objects: held as long as a record has them, and given back with it.

use std::ptr::NonNull;
use std::slice::from_ref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};

use fyris::{Options, SmallOp, Store};
use fyris_term::key::KeyBuf;
use fyris_term::value::IntBytes;
use fyris_term::{Blob, ForeignBlobs, Term, set_foreign_blobs};

/// A binding's binary: a count, and bytes behind it.
#[repr(C)]
struct Counted {
    holders: AtomicUsize,
    bytes: [u8; 1000],
}

/// The number of these that live.
static LIVING: AtomicUsize = AtomicUsize::new(0);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn counted<'c>(bytes: NonNull<u8>) -> &'c Counted {
    let before = std::mem::offset_of!(Counted, bytes);
    let address = bytes.addr().get() - before;
    // SAFETY: only bytes of `Counted` are foreign here; the block was exposed, and lives while it has holders.
    unsafe { &*std::ptr::with_exposed_provenance(address) }
}

fn release(bytes: NonNull<u8>) {
    let block = counted(bytes);
    // AcqRel: what other holders did with the bytes comes before they are freed.
    if block.holders.fetch_sub(1, Ordering::AcqRel) == 1 {
        let block = std::ptr::from_ref(block).cast_mut();
        // SAFETY: it came from a box, and nobody holds it any more.
        drop(unsafe { Box::from_raw(block) });
        LIVING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Returns new foreign bytes, all the same.
fn foreign(byte: u8) -> Blob {
    static BEGUN: OnceLock<()> = OnceLock::new();
    let counts = ForeignBlobs {
        // Relaxed: whoever counts one more has one.
        retain: |bytes| _ = counted(bytes).holders.fetch_add(1, Ordering::Relaxed),
        holders: |bytes| counted(bytes).holders.load(Ordering::Relaxed),
        release: |bytes| release(bytes),
    };
    // SAFETY: bytes with a holder are not freed, nor written.
    BEGUN.get_or_init(|| unsafe { set_foreign_blobs(counts) });
    LIVING.fetch_add(1, Ordering::SeqCst);
    let block = Box::into_raw(Box::new(Counted {
        holders: AtomicUsize::new(1),
        bytes: [byte; 1000],
    }));
    block.expose_provenance();
    // SAFETY: the block lives, and its one count becomes the blob's.
    unsafe { Blob::foreign(NonNull::new_unchecked(&raw mut (*block).bytes)) }
}

/// Waits until no more than this many live; other threads may be at work for a moment.
fn wait_for(most: usize) {
    let start = Instant::now();
    while LIVING.load(Ordering::SeqCst) > most {
        assert!(start.elapsed() < Duration::from_secs(60), "kept");
        std::thread::yield_now();
    }
}

/// Runs `f` alone, on a thread that ends, so that none of its garbage waits, and then nothing is to live.
fn leaves_nothing(f: impl FnOnce() + Send) {
    let _alone = ONE_AT_A_TIME.lock();
    std::thread::scope(|scope| scope.spawn(f).join().unwrap());
    wait_for(0);
}

fn object(key: i64, blob: Blob) -> Term {
    Term::tuple(vec![Term::Int(key), Term::from(blob), Term::Int(0)])
}

#[test]
fn they_are_what_other_bytes_are_and_go_with_their_object() {
    leaves_nothing(|| {
        let owner = Store::new().owner();
        for options in [Options::set(), Options::ordered_set(), Options::bag()] {
            let table = owner.new_table("t", &options).unwrap();
            let own = object(1, Blob::from(vec![7; 1000]));
            table.insert(&object(1, foreign(7))).unwrap();
            assert_eq!(table.lookup(&Term::Int(1)).unwrap()[..], *from_ref(&own));
            // Equal to bytes of Rust: the same object of a bag, and the one that is meant.
            table.insert(&object(1, foreign(8))).unwrap();
            table.insert(&own).unwrap();
            let other = object(1, Blob::from(vec![8; 1000]));
            table.delete_object(&other).unwrap();
            assert_eq!(table.lookup(&Term::Int(1)).unwrap(), [own]);
            (2..50).for_each(|key| table.insert(&object(key, foreign(7))).unwrap());
            table.delete_key(&Term::Int(2)).unwrap();
            table.delete().unwrap();
        }
    });
}

#[test]
fn an_update_beside_them_shares_them() {
    leaves_nothing(|| {
        let owner = Store::new().owner();
        let table = owner.new_table("t", &Options::set()).unwrap();
        let blob = foreign(1);
        table.insert(&object(1, blob.clone())).unwrap();
        let edit = [(3, Term::Int(5))];
        table.update_element(&Term::Int(1), &edit).unwrap();
        let found = table.lookup(&Term::Int(1)).unwrap();
        let [Term::Tuple(elements)] = &found[..] else {
            panic!("one object");
        };
        let shared = matches!(&elements[1], Term::Binary(content) if Blob::ptr_eq(content, &blob));
        assert!(shared && elements[2] == Term::Int(5));
        assert_eq!(LIVING.load(Ordering::SeqCst), 1);
    });
}

/// An element beside them is changed without looking at them, also to one of another length; not one that they are.
#[test]
fn a_quick_update_beside_them_shares_them() {
    leaves_nothing(|| {
        let owner = Store::new().owner();
        let table = owner.new_table("t", &Options::set()).unwrap();
        let key = KeyBuf::encode(&Term::Int(1));
        table.insert(&object(1, foreign(1))).unwrap();
        let pin = fyris::pin();
        for sum in (1..2000).step_by(7) {
            let op = |increment| SmallOp {
                position: Some(3),
                increment,
                limit: None,
            };
            let added = table.count_small(&key, &op(6), &pin).unwrap();
            assert_eq!(added, Some(sum + 5));
            let mut more = [0; 2];
            let ops = [op(0), op(1)];
            assert_eq!(table.count_all_small(&key, &ops, &mut more, &pin), Ok(true));
            assert_eq!(more, [sum + 5, sum + 6]);
            let large = IntBytes::new(i64::MAX);
            assert_eq!(
                table.overwrite(&key, 3, large.as_bytes(), &pin),
                Ok(Some(true))
            );
            let small = IntBytes::new(sum + 6);
            assert_eq!(
                table.overwrite(&key, 3, small.as_bytes(), &pin),
                Ok(Some(true))
            );
            assert_eq!(table.overwrite(&key, 2, small.as_bytes(), &pin), Ok(None));
        }
        assert_eq!(LIVING.load(Ordering::SeqCst), 1);
        let whole = Term::tuple(vec![
            Term::Int(1),
            Term::binary(vec![1; 1000]),
            Term::Int(2002),
        ]);
        assert_eq!(table.lookup(&Term::Int(1)).unwrap(), [whole]);
    });
}

/// Less than 256 KiB of replaced binaries wait at rest, and one more; one is in the table.
#[test]
#[cfg_attr(fyris_small, ignore = "a smaller bag")]
fn few_wait_at_rest() {
    leaves_nothing(|| {
        let owner = Store::new().owner();
        let table = owner.new_table("t", &Options::set()).unwrap();
        (0..2000).for_each(|_| table.insert(&object(1, foreign(1))).unwrap());
        wait_for((256 << 10) / 1000 + 2);
    });
}

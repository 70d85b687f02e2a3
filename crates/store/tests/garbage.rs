//! The memory that waits for a thread that stays pinned is what was retired since, and little more.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::mpsc;

use fyris::{Options, Store};
use fyris_term::Term;

/// Counts the bytes that are allocated now. Blocks of records come from elsewhere and are not among them; binaries are.
struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: hands everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller's contract.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// One test, as it counts for the whole process.
#[test]
#[cfg_attr(
    fyris_small,
    ignore = "a bag of four blocks pays the price of a round for four"
)]
fn garbage_costs_what_was_retired_and_little_more() {
    const TIMES: isize = 10_000;
    let owner = Store::new().owner();
    let table = owner.new_table("t", &Options::set()).unwrap();
    for size in [40, 64, 100, 255, 256, 1000] {
        // An equal object would be left where it is.
        let insert = |n: isize| {
            let object = Term::tuple(vec![Term::Int(1), Term::Binary(vec![n as u8; size].into())]);
            table.insert(&object).unwrap();
        };
        insert(-1);
        let before = LIVE.load(Ordering::Relaxed);
        let (pinned, is_pinned) = mpsc::channel();
        let (over, is_over) = mpsc::channel::<()>();
        let reader = std::thread::spawn(move || {
            let pin = fyris::pin();
            pinned.send(()).unwrap();
            let _ = is_over.recv();
            drop(pin);
        });
        is_pinned.recv().unwrap();
        (0..TIMES).for_each(insert);
        let each = (LIVE.load(Ordering::Relaxed) - before) / TIMES;
        assert!(
            each <= size as isize + 100,
            "{each} bytes for a binary of {size}"
        );
        drop(over);
        reader.join().unwrap();
        // At rest a thread keeps less than 256 KiB, and the capacity of some lists stays.
        let left = LIVE.load(Ordering::Relaxed) - before;
        assert!(
            left < 512 << 10,
            "{left} bytes stay after binaries of {size}"
        );
    }
}

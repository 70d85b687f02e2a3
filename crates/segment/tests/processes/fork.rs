//! A fork: the working copy stays with the parent.

use fyris_segment::{Error, PAGE, Segment, Shared, VersionedMap};

use crate::{Name, options};

/// Runs `child` in a fork and returns whether it ended well. Only what is safe in the fork of a threaded
/// process may run there: no test machinery, no panic.
fn forked(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child uses system calls and memory of its own, and exits without unwinding.
    match unsafe { libc::fork() } {
        0 => {
            let good = child();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!good)) }
        }
        pid => {
            let mut status = 0;
            // SAFETY: waits for our own child.
            unsafe { libc::waitpid(pid, &mut status, 0) };
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }
}

/// The child of a fork has its copy at the same addresses, when it has reattached.
#[test]
fn a_forked_child_is_placed_again() {
    let name = Name::new("fork-place");
    let address = 0x2100_0000_0000usize;
    let placed = options("userfault").place(PAGE..3 * PAGE, address);
    let mut segment = Segment::checkout(&name.0, 4 * PAGE, &placed).unwrap();
    let there = std::ptr::with_exposed_provenance_mut::<u64>(address);
    // SAFETY: placed there.
    unsafe { there.write_volatile(1) };
    segment.commit().unwrap();
    assert!(forked(|| {
        let back = segment.reattach().is_ok();
        // SAFETY: placed there again.
        let seen = unsafe { there.read_volatile() };
        // SAFETY: as above.
        unsafe { there.write_volatile(2) };
        back && seen == 1 && segment.commit().is_ok()
    }));
    segment.update().unwrap();
    // SAFETY: as above.
    assert_eq!(unsafe { there.read_volatile() }, 2);
}

#[test]
fn a_forked_child_is_told_and_may_reattach() {
    for tracking in ["auto", "signal"] {
        let name = Name::new("fork");
        let mut segment = Segment::checkout(&name.0, 4 * PAGE, &options(tracking)).unwrap();
        segment.as_mut_slice()[0] = 1;
        segment.commit().unwrap();
        segment.as_mut_slice()[1] = 2;
        let watcher = segment.watcher();
        let good = forked(|| {
            // In the child the trunk is not there: neither to look at nor to unmap.
            let unwatched = matches!(watcher.wait(None), Err(Error::Forked));
            drop(watcher);
            let refused = unwatched
                && matches!(segment.commit(), Err(Error::Forked))
                && matches!(segment.begin(), Err(Error::Forked))
                && matches!(segment.wait(None), Err(Error::Forked))
                && matches!(segment.update(), Err(Error::Forked))
                && segment.as_slice().is_empty()
                && !segment.is_behind();
            let reattached = segment.reattach().is_ok() && segment.as_slice()[..2] == [1, 0];
            segment.as_mut_slice()[PAGE] = 3;
            let committed = segment.commit().is_ok();
            // Leaves the slot behind: the parent's next commit does not mind.
            refused && reattached && committed
        });
        assert!(good, "{tracking}");
        segment.commit_merge().unwrap();
        assert_eq!((segment.as_slice()[1], segment.as_slice()[PAGE]), (2, 3));
        assert!(forked(|| {
            // Dropping in the child takes nothing from the parent.
            drop(segment);
            true
        }));
    }
}

/// A thread of the parent is inside a call when another one forks: in the child it never comes out.
#[test]
fn a_child_reattaches_what_a_thread_of_its_parent_was_inside() {
    ["auto", "signal"].into_iter().for_each(reattach_inside);
}

fn reattach_inside(tracking: &str) {
    let name = Name::new("fork-inside");
    let segment = Segment::checkout(&name.0, 4 * PAGE, &options(tracking)).unwrap();
    let map_name = Name::new("fork-inside-map");
    let map = VersionedMap::checkout(&map_name.0, 64 * PAGE, &options(tracking)).unwrap();
    let (segment, map) = (Shared::new(segment), Shared::new(map));
    let inside = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut segment, map) = (segment.lock().unwrap(), map.lock().unwrap());
            segment.as_mut_slice()[0] = 1;
            inside.wait();
            // The fork happens here.
            inside.wait();
            drop(map);
            segment.commit_merge().unwrap();
        });
        inside.wait();
        let good = forked(|| {
            let refused = matches!(segment.lock(), Err(Error::Forked))
                && matches!(map.lock(), Err(Error::Forked));
            let again = segment.reattach().is_ok() && map.reattach().is_ok();
            let works = segment.with(|segment| {
                segment.as_mut_slice()[PAGE] = 2;
                segment.commit_merge()
            });
            let wrote = map.with(|map| map.write(|batch| batch.insert(b"a", b"b").map(drop)));
            refused && again && works.is_ok() && wrote.is_ok() && segment.reattach().is_ok()
        });
        assert!(matches!(segment.lock(), Err(Error::Busy)));
        inside.wait();
        assert!(good);
    });
    let mut segment = segment.lock().unwrap();
    segment.update().unwrap();
    assert_eq!((segment.as_slice()[0], segment.as_slice()[PAGE]), (1, 2));
    let mut map = map.lock().unwrap();
    map.update().unwrap();
    assert_eq!(map.get(b"a").unwrap(), Some(&b"b"[..]));
}

/// Such values are never dropped in the child, and take no room of its table of views.
#[test]
fn views_that_a_fork_has_left_behind_take_no_room() {
    let name = Name::new("fork-views");
    let views = 200; // of 256
    let open = || Segment::checkout(&name.0, 4 * PAGE, &options("signal"));
    let ours: Vec<_> = (0..views).map(|_| Shared::new(open().unwrap())).collect();
    let inside: Vec<_> = ours.iter().map(|one| one.lock().unwrap()).collect();
    assert!(forked(|| {
        let again = ours.iter().all(|one| one.reattach().is_ok());
        again
            && ours.iter().all(|one| {
                one.with(|one| {
                    one.as_mut_slice()[PAGE] += 1;
                    one.discard()
                })
                .is_ok()
            })
    }));
    drop(inside);
    let mut one = ours[views - 1].lock().unwrap();
    one.as_mut_slice()[0] = 1;
    one.commit_merge().unwrap();
}

/// The handler of the parent's view stays installed in a child, the view does not. The handler must leave alone any
/// memory that the child maps at that place: a write to read-only memory there must kill, not succeed.
#[test]
fn a_forked_child_keeps_its_own_read_only_memory_read_only() {
    let name = Name::new("fork-fault");
    let mut segment = Segment::checkout(&name.0, 4 * PAGE, &options("signal")).unwrap();
    let at: *mut u8 = segment.as_mut_ptr();
    // SAFETY: the child maps memory where the view is not, and writes to it.
    match unsafe { libc::fork() } {
        // SAFETY: only where nothing is mapped; system calls and one write, then the end.
        0 => unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
            let got = libc::mmap(at.cast(), PAGE, libc::PROT_READ, flags, -1, 0);
            if got == at.cast() {
                at.write_volatile(1);
            }
            libc::_exit(0)
        },
        pid => {
            let mut status = 0;
            // SAFETY: waits for our own child.
            unsafe { libc::waitpid(pid, &mut status, 0) };
            assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV);
        }
    }
}

//! A fork: the working copy stays with the parent.

use fyris_segment::{Error, PAGE, Segment};

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

#[test]
fn a_forked_child_is_told_and_may_reattach() {
    for tracking in ["auto", "signal"] {
        let name = Name::new("fork");
        let mut segment = Segment::checkout(&name.0, 4 * PAGE, &options(tracking)).unwrap();
        segment.as_mut_slice()[0] = 1;
        segment.commit().unwrap();
        segment.as_mut_slice()[1] = 2;
        let good = forked(|| {
            let refused = matches!(segment.commit(), Err(Error::Forked))
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

/// The handler of the parent's view stays installed in a child, the view does not. Whatever the child maps at that
/// place is none of the handler's business: a write to read-only memory there must kill, not succeed.
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

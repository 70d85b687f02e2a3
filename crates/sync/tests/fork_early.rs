//! Forks while the first thread that pins finds out what the system can do.
#![cfg(all(target_os = "linux", not(any(loom, shuttle))))]

use fyris_sync::reclaim::pin;

/// Runs `f` in a child of this process; whether it returned `true` there, within some seconds.
fn in_child(f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls nothing but what goes on behind a fork: the allocator of the C library and what is
    // tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: ends a child that waits for ever, and one that has ended, without the destructors of the parent.
        unsafe {
            libc::alarm(20);
            libc::_exit(if f() { 0 } else { 1 });
        }
    }
    let mut status = 0;
    // SAFETY: waits for the child, and writes its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

/// This process never pins, so each of its children is one in which no thread has.
#[test]
fn a_child_does_not_wait_for_the_first_pin_of_another_thread() {
    let fresh = || {
        let first = std::thread::spawn(|| drop(pin()));
        let good = (0..20).all(|_| {
            in_child(|| {
                drop(pin());
                true
            })
        });
        first.join().is_ok() && good
    };
    assert!((0..10).all(|_| in_child(fresh)));
}

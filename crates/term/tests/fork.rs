//! A child of a fork can make and read terms, whatever another thread was at.
#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, Ordering};

use fyris_term::{Term, value};

/// Writes and reads a map that nothing is known of: names in all parts of their table, and the shape that they make.
fn interns(who: &str, round: usize) -> bool {
    let pairs: Vec<String> = (0..32)
        .map(|n| format!("'{who} {round} {n:02}' => {n}"))
        .collect();
    let map = Term::parse(&format!("#{{{}}}", pairs.join(", "))).expect("a map");
    let (mut bytes, mut blobs) = (Vec::new(), Vec::new());
    value::encode(&map, &mut bytes, &mut blobs);
    value::decode(&mut &bytes[..], &blobs).is_ok_and(|read| read == map)
}

/// Returns whether a child of this process interns what it likes, and ends.
fn child_interns(round: usize) -> bool {
    // SAFETY: the child calls the allocator of the C library, and what is tested.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: ends a child that waits for ever.
        unsafe { libc::alarm(20) };
        let good = std::panic::catch_unwind(|| interns("child", round)).unwrap_or(false);
        // SAFETY: ends the child, without the destructors of the parent.
        unsafe { libc::_exit(if good { 0 } else { 1 }) };
    }
    let mut status = 0;
    // SAFETY: waits for the child, and writes its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn a_child_interns_what_it_likes() {
    let over = AtomicBool::new(false);
    std::thread::scope(|s| {
        for who in ["one", "two"] {
            let over = &over;
            // Relaxed: the scope's end orders the rest.
            let rounds = (0..8000).take_while(|_| !over.load(Ordering::Relaxed));
            s.spawn(move || rounds.for_each(|round| assert!(interns(who, round))));
        }
        let good = (0..300).all(child_interns);
        over.store(true, Ordering::Relaxed);
        assert!(good, "a child waits for a thread that it does not have");
    });
    assert!(interns("parent", 0));
}

//! Pins make a fence where there is no `membarrier(2)`, as under some seccomp filters.
#![cfg(all(target_os = "linux", not(any(loom, shuttle, miri, fyris_sanitize))))]

mod common;

use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use common::{Counted, await_count};
use fyris_sync::reclaim::{Guard, PROTECT, pin, pin_owned};

/// Makes `membarrier` fail in this thread and those it starts, as on a system that does not have it.
fn refuse_membarrier() {
    let code = |code: u32, jt, jf, k| libc::sock_filter {
        code: code as u16,
        jt,
        jf,
        k,
    };
    let mut program = [
        code(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        code(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_membarrier as u32,
        ),
        code(
            libc::BPF_RET | libc::BPF_K,
            0,
            0,
            libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32,
        ),
        code(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: program.len() as u16,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: sets a flag of this thread, and hands the kernel a program of the length given.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &filter);
        assert_eq!(set, 0, "no filter: {}", std::io::Error::last_os_error());
        assert_eq!(
            libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0),
            -1
        );
    }
}

/// A counted block with a word that is wrong once it is reclaimed.
static FREED: AtomicUsize = AtomicUsize::new(0);

#[test]
fn pins_hold_without_membarrier() {
    refuse_membarrier();
    let new = || Box::into_raw(Box::new(Counted(&FREED)));
    let shared = AtomicPtr::new(new());
    let stop = AtomicBool::new(false);
    std::thread::scope(|s| {
        let (shared, stop) = (&shared, &stop);
        for turn in 0..2 {
            s.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    let (local, owned) = if turn == 0 {
                        (Some(pin()), None)
                    } else {
                        (None, Some(pin_owned()))
                    };
                    // SAFETY: reachable under the pin (R).
                    let block = unsafe { &*shared.load(PROTECT) };
                    assert!(std::ptr::eq(block.0, &FREED));
                    drop((local, owned));
                }
            });
        }
        let writers = [(); 2].map(|()| {
            s.spawn(move || {
                for turn in 0..20_000 {
                    let pin = pin();
                    // SAFETY: the swap took it out, and gives it to one thread.
                    unsafe { pin.retire(shared.swap(new(), Ordering::AcqRel)) };
                    if turn % 64 == 0 {
                        pin.flush_on_drop();
                    }
                }
            })
        });
        for writer in writers {
            writer.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
    });
    await_count(&FREED, 40_000);
    // SAFETY: the last one, which only this thread can still reach.
    drop(unsafe { Box::from_raw(shared.into_inner()) });
}

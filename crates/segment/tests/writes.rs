//! Writes to a copy are found, by commits whose cost does not grow with the segment.

// One range is one range.
#![allow(clippy::single_range_in_vec_init)]

mod names;

use std::io::{Read, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use fyris_segment::{Options, PAGE, Segment, Tracking};
use names::Name;

/// One test at a time: the faults of another thread are this process's.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Name {
    fn open(&self, size: usize, options: &Options) -> Segment {
        Segment::checkout(&self.0, size, options).unwrap()
    }
}

#[test]
fn scans_that_are_skipped_miss_nothing() {
    miss_nothing(&Name::new("faults"), &Options::new());
}

#[test]
fn scans_that_one_writer_skips_miss_nothing() {
    let options = Options::new().one_writer(true);
    miss_nothing(&Name::new("faults_of_one"), &options);
}

fn miss_nothing(name: &Name, options: &Options) {
    let _alone = alone();
    let mut ours = name.open(8 * PAGE, &options.clone().max_size(64 * PAGE));
    let mut theirs = name.open(0, options);
    let mut write = |ours: &mut Segment, at: usize, value: u8| {
        ours.as_mut_slice()[at] = value;
        ours.commit().unwrap();
        theirs.update().unwrap();
        theirs.as_slice()[at]
    };
    // The page gets hot, others are written to now and then, and it cools down. The log goes round twice.
    for n in 0..2500u32 {
        let value = n as u8;
        assert_eq!(write(&mut ours, 0, value), value);
        if n.is_multiple_of(7) {
            assert_eq!(write(&mut ours, PAGE * (n as usize % 5 + 1), value), value);
        }
    }
    // Written where no commit looks; then one looks there, and there was no fault since.
    let tracked = ours.tracking() == Tracking::Userfault;
    ours.scan_only(&[0..PAGE]).unwrap();
    ours.as_mut_slice()[7 * PAGE] = 9;
    for n in 0..10 {
        write(&mut ours, 0, n);
    }
    ours.scan_only(&[]).unwrap();
    ours.commit().unwrap();
    theirs.update().unwrap();
    assert!(!tracked || theirs.as_slice()[7 * PAGE] == 9);
    // What the segment grows by is looked at, too.
    ours.grow(20 * PAGE).unwrap();
    ours.as_mut_slice()[19 * PAGE] = 3;
    ours.commit().unwrap();
    theirs.update().unwrap();
    assert_eq!(theirs.as_slice()[19 * PAGE], 3);
}

/// Commits of nothing, and of a page that is written in every commit, also beside a process that lags.
#[test]
fn commits_cost_the_same_at_any_size() {
    let _alone = alone();
    for tracking in [Tracking::Auto, Tracking::Signal] {
        let options = Options::new().tracking(tracking);
        let open = |size| Segment::nameless(size, &options).unwrap();
        let mut segments = [1 << 20, 1 << 30].map(open);
        let _behind = segments.each_ref().map(|it| it.origin().checkout());
        let [mut small, mut large] = [0, 1].map(|_| Vec::new());
        for n in 0..2000 {
            for (segment, times) in segments.iter_mut().zip([&mut small, &mut large]) {
                if n % 2 == 0 {
                    segment.as_mut_slice()[8 * (n % 100)] = n as u8;
                }
                let start = Instant::now();
                segment.commit().unwrap();
                times.push(start.elapsed());
            }
        }
        let of_both = [small, large].map(|mut times| {
            times.sort_unstable();
            // Commits of nothing, and those of a page.
            [times[times.len() / 4], times[times.len() * 3 / 4]]
        });
        for (small, large) in of_both[0].into_iter().zip(of_both[1]) {
            assert!(large < 4 * small, "{tracking:?}: {small:?} {large:?}");
        }
    }
}

/// A sandbox may hide how many faults there were.
#[test]
fn nothing_is_missed_where_faults_are_not_told() {
    let sandboxed = std::thread::spawn(|| {
        let statement = |code, jt, k| libc::sock_filter { code, jt, jf: 0, k };
        let (load, equal, answer) = (0x20, 0x15, 0x06);
        let mut program = [
            statement(load, 0, 0),
            statement(equal, 1, libc::SYS_getrusage as u32),
            statement(answer, 0, libc::SECCOMP_RET_ALLOW),
            statement(answer, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        ];
        let program = libc::sock_fprog {
            len: program.len() as u16,
            filter: program.as_mut_ptr(),
        };
        // SAFETY: a filter for this thread alone.
        let set = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program)
        };
        assert_eq!(set, 0);
        miss_nothing(&Name::new("untold"), &Options::new());
    });
    sandboxed.join().unwrap();
}

/// Another process writes into the copy: that is noticed at once if it is asked for, and else with the next fault.
#[test]
fn writes_of_other_processes_are_found() {
    let _alone = alone();
    for at_once in [false, true] {
        let name = Name::new("foreign");
        let options = Options::new().foreign_writes(at_once);
        let mut ours = name.open(4 * PAGE, &options);
        if ours.tracking() != Tracking::Userfault {
            return;
        }
        let (mut told, mut tell) = std::io::pipe().unwrap();
        let (mut go_on, mut go) = std::io::pipe().unwrap();
        // SAFETY: the child uses system calls and memory of its own, and exits without unwinding.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let good = ours.reattach().is_ok() && ours.commit().is_ok();
            let address = ours.as_mut_ptr().addr().to_ne_bytes();
            let good = good && tell.write_all(&address).is_ok();
            let good = good && go_on.read_exact(&mut [0]).is_ok();
            let first = ours.commit().unwrap_or(0);
            ours.as_mut_slice()[2 * PAGE] = 1;
            let good = good && (first == 1 || !at_once) && ours.commit().is_ok();
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!good)) }
        }
        let mut address = [0; 8];
        told.read_exact(&mut address).unwrap();
        let mut seven = [7u8];
        let [here, there] = [
            seven.as_mut_ptr(),
            std::ptr::with_exposed_provenance_mut(usize::from_ne_bytes(address)),
        ]
        .map(|at| libc::iovec {
            iov_base: at.cast(),
            iov_len: 1,
        });
        // SAFETY: reads this thread's byte; the memory is the child's.
        let written = unsafe { libc::process_vm_writev(child, &here, 1, &there, 1, 0) };
        go.write_all(&[1]).unwrap();
        let mut status = 0;
        // SAFETY: waits for our own child.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert!(written != 1 || status == 0, "at once: {at_once}");
        ours.update().unwrap();
        assert_eq!(ours.as_slice()[2 * PAGE], 1);
        assert!(written != 1 || ours.as_slice()[0] == 7);
    }
}

//! What a program cannot have: the error that it gets, and what the library says of it.

use super::*;

/// Runs a program once; returns how it ended, and what it wrote to the two streams.
fn attempt(
    program: &str,
    arguments: &[&str],
    options: &Options,
) -> Option<(ExitStatus, String, String)> {
    let program = bench()?.join(program);
    let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
    let mut command = command(program.as_os_str(), &arguments, options).expect("to start");
    Some(finish(&mut command))
}

/// Runs `crash` once; returns its exit status, and what it wrote to the two streams.
fn meet(how: &str, options: &Options) -> Option<(Option<i32>, String, String)> {
    let (status, out, said) = attempt("crash", &[how], options)?;
    Some((status.code(), out, said))
}

/// A run in which two threads have changed one byte says so at its end, however it ends.
#[test]
fn lost_changes_are_told_of() {
    for (how, said) in [
        ("end", " (lost), by thread 2 before its call in work"),
        ("_exit", " (lost), by thread 2 before its call in work"),
        ("abort", ", one of them at 0x"),
    ] {
        let Some((status, out, told)) = attempt("atomics", &["2", "100", how], &Options::default())
        else {
            return;
        };
        match how {
            "abort" => assert_eq!(status.signal(), Some(libc::SIGABRT)),
            _ => assert_eq!((status.code(), &*out), (Some(0), "0 0 0 100\n")),
        }
        let line = "two threads changed a byte, neither seeing the other's change, ";
        assert_eq!(told.matches(line).count(), 1, "{how}: {told}");
        assert!(told.contains(said), "{how}: {told}");
    }
}

/// Others would keep their rights.
#[test]
fn rights_that_are_dropped_while_there_are_threads_end_the_program() {
    let Some((status, out, said)) = attempt("identity", &["2", "1", "within"], &Options::default())
    else {
        return;
    };
    assert_eq!((status.code(), &*out), (Some(120), ""), "{said}");
    assert!(
        said.contains("setuid: other threads would keep their rights"),
        "{said}"
    );
}

/// They would end the program later.
#[test]
fn limits_that_are_too_low_are_named() {
    for (limit, option) in [
        (libc::RLIMIT_AS, "(ulimit -v)"),
        (libc::RLIMIT_DATA, "(ulimit -d)"),
        (libc::RLIMIT_FSIZE, "(ulimit -f)"),
    ] {
        let Some(folder) = bench() else {
            return;
        };
        let program = folder.join("barriers");
        let mut command =
            command(program.as_os_str(), &["1".into()], &Options::default()).expect("to start");
        let low = libc::rlimit {
            rlim_cur: 8 << 30,
            rlim_max: 8 << 30,
        };
        // SAFETY: a system call on the new process.
        unsafe {
            command.pre_exec(move || {
                libc::setrlimit(limit, &low);
                Ok(())
            })
        };
        let (status, _, said) = finish(&mut command);
        assert_eq!(status.code(), Some(120), "{said}");
        assert!(said.contains(option), "{said}");
    }
}

/// The program ends when the first thread is created, or when a thread maps it.
#[test]
fn memory_that_threads_would_not_share_ends_the_program_by_name() {
    for how in ["huge", "fixed", "thread"] {
        let Some((status, _, said)) = attempt("mappings", &["2", "5", how], &Options::default())
        else {
            return;
        };
        assert_eq!(status.code(), Some(120), "{how}: {said}");
        assert!(
            said.contains("threads would not share the memory at"),
            "{said}"
        );
    }
}

/// Each has variables of its own, which is told.
#[test]
fn libraries_that_threads_load_each_for_itself_are_named() {
    let Some(folder) = bench() else {
        return;
    };
    let library = folder.join("plugin");
    let arguments = ["2", "5", library.to_str().expect("a path"), "late"];
    let (status, _, said) = attempt("plugins", &arguments, &Options::default()).expect("runs here");
    assert_eq!(status.code(), Some(0), "{said}");
    assert!(said.contains("have each loaded"), "{said}");
}

/// A heap that is larger than usual, and the largest.
#[test]
fn heaps_may_be_large() {
    for gigabytes in [2, 16, 64] {
        let options = Options {
            heap: gigabytes << 30,
            ..Options::default()
        };
        let Some((status, out, said)) = attempt("growth", &["2", "1", "600"], &options) else {
            return;
        };
        assert_eq!((status.code(), &*out), (Some(0), "all good\n"), "{said}");
    }
}

/// Another thread looks there.
#[test]
fn what_one_thread_has_mapped_is_named_where_others_miss_it() {
    let Some((status, _, said)) = attempt("mappings", &["2", "5", "file"], &Options::default())
    else {
        return;
    };
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{said}");
    assert!(said.contains("thread 2 has no memory at 0x"), "{said}");
    assert!(said.contains("thread 1 has mapped a file there"), "{said}");
}

#[test]
fn a_full_heap_is_an_error_and_said_once() {
    let options = Options {
        heap: 8 << 20,
        ..Options::default()
    };
    let Some((code, _, said)) = meet("heap", &options) else {
        return;
    };
    assert_eq!(code, Some(libc::ENOMEM), "{said}");
    assert_eq!(said.matches("the heap is full").count(), 1, "{said}");
    assert!(said.contains("--heap"), "{said}");
}

/// A stack that is full is named, unless the program handles that itself.
#[test]
fn a_stack_that_is_full_ends_the_program_by_name() {
    for (how, name) in [
        ("over", "thread 1 has used up its stack of 25165824 bytes"),
        ("main", "thread 0 has used up its stack of 8388608 bytes"),
        ("taken", ""),
    ] {
        let Some((status, out, said)) = attempt("stacks", &["2", "1", how], &Options::default())
        else {
            return;
        };
        assert!(out.ends_with("all good\n"), "{how}: {out}");
        match how {
            "taken" => assert_eq!((status.code(), &*said), (Some(3), "")),
            _ => assert_eq!(status.signal(), Some(libc::SIGSEGV), "{said}"),
        }
        assert!(said.contains(name), "{said}");
    }
}

/// A signal comes where the kernel cannot call its handler.
#[test]
fn signals_come_wherever_a_stack_is() {
    let Some((status, out, said)) = attempt("stacks", &["2", "1", "signal"], &Options::default())
    else {
        return;
    };
    assert_eq!((status.code(), &*said), (Some(0), ""), "{status}");
    assert!(out.ends_with("came 1\n"), "{out}");
}

/// Others wait for the turn of main, which computes.
#[test]
fn who_computes_for_long_is_named() {
    let Some((code, _, said)) = meet("spin", &Options::default()) else {
        return;
    };
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("thread 0 (process "), "{said}");
    assert!(said.contains("has computed for"), "{said}");
}

/// Main and the thread that creates the others count too.
#[test]
fn too_many_threads_are_an_error_until_some_have_ended() {
    for (threads, printed) in [(128, "126 and 126 more\n"), (5, "3 and 3 more\n")] {
        let options = Options {
            threads,
            ..Options::default()
        };
        let Some((code, out, said)) = meet("crowd", &options) else {
            return;
        };
        assert_eq!((code, &*out), (Some(libc::EAGAIN), printed), "{said}");
        let limit = format!("more than {threads} threads at once (see --threads)");
        assert!(said.contains(&limit), "{said}");
    }
}

#[test]
fn what_other_programs_would_share_is_an_error_with_a_name() {
    for (how, error, name) in [
        ("fork", libc::ENOSYS, "fork is not supported"),
        ("helpers", libc::ENOSYS, "aio_read is not supported"),
        ("locked", libc::ENOSYS, "mlockall is not supported"),
        ("numbers", libc::ENOSYS, ""),
        ("semaphore", libc::ENOSYS, "a semaphore that is shared"),
        ("named", libc::ENOSYS, "sem_open"),
        ("priority", libc::ENOTSUP, "a mutex that is of a protocol"),
        ("robust", libc::ENOTSUP, "a mutex that is robust"),
        ("shared", libc::ENOTSUP, "a mutex that is shared"),
    ] {
        let Some((code, _, said)) = meet(how, &Options::default()) else {
            return;
        };
        assert_eq!(code, Some(error), "{how}: {said}");
        assert!(said.contains(name), "{how}: {said}");
    }
}

/// With virtual clocks nothing is wrong with it: the deadline has passed, but the lock is free.
#[test]
fn a_wait_with_a_real_deadline_ends_the_program() {
    let options = Options {
        real_time: true,
        ..Options::default()
    };
    let Some((code, _, said)) = meet("timed", &options) else {
        return;
    };
    assert_eq!(code, Some(120), "{said}");
    assert!(said.contains("a timed wait with the real clock"), "{said}");
    let (code, _, said) = meet("timed", &Options::default()).expect("runs here");
    assert_eq!((code, &*said), (Some(0), ""));
}

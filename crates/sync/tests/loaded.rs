//! A library that uses mimalloc is loaded by a thread that ends, and used by those that get its id.
#![cfg(all(target_os = "linux", not(any(loom, shuttle, fyris_sanitize))))]

use std::ffi::CString;
use std::path::Path;
use std::process::Command;

/// Returns the id of the thread that `f` ran in.
fn in_thread(f: impl FnOnce() + Send) -> usize {
    std::thread::scope(|s| {
        let work = move || {
            f();
            // SAFETY: it has no preconditions.
            unsafe { libc::pthread_self() as usize }
        };
        s.spawn(work).join().expect("no panic")
    })
}

/// Builds `examples/loaded.rs`, with the flags that this test was built with.
fn build(target: &Path) {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--offline", "--quiet"]);
    cargo.args(["-p", "fyris-sync", "--example", "loaded", "--target-dir"]);
    let status = cargo.arg(target).status();
    assert!(status.expect("to run cargo").success());
}

#[test]
fn any_thread_may_load_a_library() {
    let exe = std::env::current_exe().expect("this test's path");
    // In TARGET/PROFILE/deps.
    let target = exe.ancestors().nth(3).expect("a folder");
    if !target.join("CACHEDIR.TAG").exists() {
        eprintln!("skipped: built for another system");
        return;
    }
    build(target);
    let path = target.join("debug/examples/libloaded.so");
    let path = CString::new(path.to_str().expect("a path")).expect("a path");
    let mut found = 0;
    let loader = in_thread(|| {
        // SAFETY: the library of `examples/loaded.rs`, and its function.
        unsafe {
            let library = libc::dlopen(path.as_ptr(), libc::RTLD_NOW);
            assert!(!library.is_null(), "{path:?}");
            found = libc::dlsym(library, c"loaded_use".as_ptr()) as usize;
        }
        assert_ne!(found, 0);
    });
    // SAFETY: what `examples/loaded.rs` declares.
    let use_it = unsafe { std::mem::transmute::<usize, extern "C" fn()>(found) };
    let ids: Vec<_> = (0..20).map(|_| in_thread(|| use_it())).collect();
    use_it();
    assert!(ids.contains(&loader), "or nothing was shown");
}

//! How a program begins: before `main`, and its `main` on a stack in the segment.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use fyris_dthreads_tools::record::{EVENTS, FILE_VARIABLE, MAGIC, THREADS, bytes};

use crate::calls::{descriptors, time};
use crate::common::places;
use crate::program;
use crate::shared::control::{control, keep_record, record};
use crate::shared::end;
use crate::shared::memory::{self, STACK_TOP};
use crate::shared::stacks;
use crate::system::{Inside, LOCAL, image, mask, noise, real, stack, sys};
use crate::threads::about;
use crate::turn::{fence, log, token};

/// Addresses are the same in every run.
const NO_RANDOM: u64 = 0x0004_0000;
/// Bytes of the heap, unless the program is told.
const HEAP: usize = 512 << 20;

#[used]
#[cfg_attr(not(test), unsafe(link_section = ".init_array"))]
static START: extern "C" fn(c_int, *const *const c_char, *const *const c_char) = start;

/// Sets everything up. The loader calls this before the program's own constructors.
extern "C" fn start(_: c_int, arguments: *const *const c_char, environment: *const *const c_char) {
    if cfg!(test) {
        return;
    }
    let inside = Inside::enter();
    refuse_limits();
    fix_addresses(arguments, environment);
    stack::apart(set_up);
    drop(inside);
}

/// Bytes that the library needs of what a process may be limited in: for itself, and for each byte of the heap. Most is
/// addresses, and holes in files.
const NEEDED: u64 = 28 << 30;
const NEEDED_EACH: u64 = 28;

/// Ends a program whose limits would end it later, in words that do not tell why.
fn refuse_limits() {
    let needed = NEEDED.saturating_add(NEEDED_EACH.saturating_mul(heap_limit() as u64));
    for (limit, option) in [
        (libc::RLIMIT_AS, "-v"),
        (libc::RLIMIT_DATA, "-d"),
        (libc::RLIMIT_FSIZE, "-f"),
    ] {
        let mut has = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: a struct of this frame.
        unsafe { libc::getrlimit(limit, &mut has) };
        if has.rlim_cur < needed {
            sys::say(format_args!(
                "the limit of {} bytes (ulimit {option}) is too low: {needed} are needed, most of them addresses only",
                has.rlim_cur
            ));
            sys::exit_now(sys::REFUSED);
        }
    }
}

/// Returns the number that an environment variable has.
fn number(name: &CStr) -> Option<usize> {
    sys::variable(name)?.parse().ok()
}

fn heap_limit() -> usize {
    let heap = number(c"FYRIS_DTHREADS_HEAP").unwrap_or(HEAP);
    heap.saturating_add(4095) & !4095
}

/// Starts the program again without random addresses, and with all its calls bound: a call that is bound when it is
/// made first is a change of memory, in each thread that makes it.
fn fix_addresses(arguments: *const *const c_char, environment: *const *const c_char) {
    const ASK: u64 = 0xffff_ffff;
    // SAFETY: plain system calls.
    let (is_random, is_fixed) = unsafe {
        let now = libc::syscall(libc::SYS_personality, ASK) as u64;
        let is_random = now & NO_RANDOM == 0 && sys::variable(c"FYRIS_DTHREADS_RANDOM").is_none();
        let fix = || libc::syscall(libc::SYS_personality, now | NO_RANDOM) >= 0;
        (is_random, is_random && fix())
    };
    let is_lazy = sys::variable(c"LD_BIND_NOW").is_none();
    if is_fixed || is_lazy {
        start_again(arguments, environment, is_lazy);
    }
    if is_random {
        sys::say(format_args!(
            "the system does not allow fixed addresses: what depends on addresses differs from run to run"
        ));
    }
}

/// Starts the program again; returns if that cannot be.
fn start_again(arguments: *const *const c_char, environment: *const *const c_char, bind: bool) {
    let mut variables: Vec<*const c_char> = Vec::new();
    if bind {
        variables.push(c"LD_BIND_NOW=1".as_ptr());
    }
    // SAFETY: the program's own arrays, which null ends; a path of this frame.
    unsafe {
        let given = (0..).map(|at| *environment.add(at));
        variables.extend(given.take_while(|text| !text.is_null()));
        variables.push(ptr::null());
        let again = |path: *const c_char| {
            libc::syscall(libc::SYS_execve, path, arguments, variables.as_ptr());
        };
        // By its own path, which names the process, unless the file has gone meanwhile.
        let mut path = [0; libc::PATH_MAX as usize];
        let link = c"/proc/self/exe".as_ptr();
        if libc::readlink(link, path.as_mut_ptr(), path.len() - 1) > 0 {
            again(path.as_ptr());
        }
        again(link);
    }
}

fn set_up() {
    let control = control();
    control.main_pid.set(sys::pid() as u64);
    control.began.set(real::now());
    control.time.set(time::EPOCH);
    LOCAL.time.set(time::EPOCH);
    let limit = number(c"FYRIS_DTHREADS_THREADS").unwrap_or(THREADS);
    let limit = limit.clamp(1, THREADS);
    control.limit.set(limit as u64);
    let heap = heap_limit();
    control
        .points
        .set(number(c"FYRIS_DTHREADS_TURN").unwrap_or(1) as u64);
    if sys::variable(c"FYRIS_DTHREADS_REAL_TIME").is_some() {
        time::leave_real();
    }
    if let Some(seed) = sys::variable(c"FYRIS_DTHREADS_NOISE") {
        noise::make(seed.parse().unwrap_or(1));
    }
    open_record();
    if sys::variable(c"FYRIS_DTHREADS_FENCE").is_some() {
        fence::build();
    }
    descriptors::keep_aside();
    places::prepare();
    let conflicts = sys::variable(c"FYRIS_DTHREADS_CONFLICTS").is_some();
    if let Err(error) = memory::make(&image::globals(), heap, limit, conflicts) {
        sys::say(format_args!(
            "cannot make the program's memory: {error} (userfaultfd with WP_ASYNC is needed: Linux 6.7, and no \
             container that forbids it)"
        ));
        sys::exit_now(sys::REFUSED);
    }
    image::find_ours();
    image::find_code();
    image::find_resolver();
    image::list_modules(record());
    // Only now: a run without a memory has no record.
    record().magic.set(MAGIC);
    control.thread(0).stack_low.set(STACK_TOP as u64);
    end::watch();
    stacks::watch();
    mask::note();
    about::note_name();
    // Programs that this one starts are ordinary ones.
    for name in [
        c"LD_PRELOAD",
        c"LD_BIND_NOW",
        c"FYRIS_DTHREADS_RECORD",
        c"FYRIS_DTHREADS_THREADS",
        c"FYRIS_DTHREADS_HEAP",
        c"FYRIS_DTHREADS_TURN",
        c"FYRIS_DTHREADS_REAL_TIME",
        c"FYRIS_DTHREADS_FENCE",
        c"FYRIS_DTHREADS_CONFLICTS",
        c"FYRIS_DTHREADS_NOISE",
        c"FYRIS_DTHREADS_RANDOM",
    ] {
        // SAFETY: the library's own call, before the program runs.
        unsafe { real::unsetenv()(name.as_ptr()) };
    }
    token::first();
}

/// Maps the record: a file, or memory.
fn open_record() {
    let name = CString::new(FILE_VARIABLE).unwrap_or_default();
    let at = match sys::variable(&name) {
        Some(path) => {
            log::keep_events();
            map_file(path)
        }
        None => sys::map_shared(bytes(0)),
    };
    if at.is_null() {
        sys::say(format_args!(
            "cannot map the record {:?}",
            sys::variable(&name)
        ));
        sys::exit_now(sys::REFUSED);
    }
    keep_record(at);
}

fn map_file(path: &str) -> *mut u8 {
    let Ok(path) = CString::new(path) else {
        return ptr::null_mut();
    };
    let len = bytes(EVENTS);
    // SAFETY: a file of this length is mapped; the descriptor is closed again.
    unsafe {
        let file = libc::open(path.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        if file < 0 || libc::ftruncate(file, len as libc::off_t) != 0 {
            return ptr::null_mut();
        }
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let at = libc::syscall(
            libc::SYS_mmap,
            0,
            len,
            protection,
            libc::MAP_SHARED,
            file,
            0,
        );
        libc::close(file);
        match at {
            -1 => ptr::null_mut(),
            at => ptr::with_exposed_provenance_mut(at as usize),
        }
    }
}

static MAIN: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());

/// libc's: calls `main` on the stack in the segment.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn __libc_start_main(
    main: real::Main,
    count: c_int,
    arguments: *mut *mut c_char,
    init: *mut c_void,
    end: *mut c_void,
    loader: *mut c_void,
    low: *mut c_void,
) -> c_int {
    // Relaxed: this thread reads it.
    MAIN.store(main as *mut c_void, Ordering::Relaxed);
    // SAFETY: as the caller promises.
    unsafe { real::__libc_start_main()(on_stack, count, arguments, init, end, loader, low) }
}

extern "C" fn on_stack(
    count: c_int,
    arguments: *mut *mut c_char,
    environment: *mut *mut c_char,
) -> c_int {
    // Relaxed: as above. SAFETY: the program's `main`.
    let main =
        unsafe { std::mem::transmute::<*mut c_void, real::Main>(MAIN.load(Ordering::Relaxed)) };
    if !LOCAL.on() {
        return main(count, arguments, environment);
    }
    let status = stack::program(STACK_TOP, || main(count, arguments, environment));
    program::begin_exit(status);
    status
}

//! The functions of libc that this library has in its own place.

use std::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use std::mem::transmute_copy;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::system::sys;

/// Returns the next definition of a symbol after this library's.
pub(crate) fn next(name: &CStr, found: &AtomicPtr<c_void>) -> *mut c_void {
    // Relaxed: the same address is found however often one looks.
    let known = found.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    // SAFETY: a name; the loader looks it up.
    let address = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if address.is_null() {
        sys::say(format_args!("libc has no {name:?}"));
        sys::exit_now(sys::REFUSED);
    }
    // Relaxed: as above.
    found.store(address, Ordering::Relaxed);
    address
}

/// Returns where a variable of libc is, or of the program in its place; null if there is none.
pub(crate) fn variable(name: &CStr) -> *mut c_void {
    // SAFETY: a name; the loader looks it up.
    unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) }
}

unsafe extern "C" {
    fn dladdr1(
        address: *const c_void,
        module: *mut libc::Dl_info,
        more: *mut *mut c_void,
        which: c_int,
    ) -> c_int;
}

/// Returns the bytes of a variable by its symbol; 0 if it has none.
pub(crate) fn size_of_variable(at: *const c_void) -> usize {
    const SYMBOL: c_int = 1;
    let mut symbol = ptr::null_mut();
    // SAFETY: zeros are a valid description, which the call fills; the symbol is one of the loaded module.
    unsafe {
        let mut module: libc::Dl_info = std::mem::zeroed();
        match dladdr1(at, &mut module, &mut symbol, SYMBOL) {
            0 => 0,
            _ if symbol.is_null() => 0,
            _ => (*symbol.cast::<libc::Elf64_Sym>()).st_size as usize,
        }
    }
}

macro_rules! real {
    ($($name:ident: $type:ty,)*) => {
        $(
            #[allow(non_snake_case, reason = "names of libc")]
            pub(crate) fn $name() -> $type {
                static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
                let name = const {
                    match CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    }
                };
                let address = next(name, &FOUND);
                // SAFETY: libc's function of this name has this type.
                unsafe { transmute_copy(&address) }
            }
        )*
    };
}

pub(crate) type Main = extern "C" fn(c_int, *mut *mut c_char, *mut *mut c_char) -> c_int;
pub(crate) type StartMain = unsafe extern "C" fn(
    Main,
    c_int,
    *mut *mut c_char,
    *mut c_void,
    *mut c_void,
    *mut c_void,
    *mut c_void,
) -> c_int;

/// A change of the rights of a process.
pub(crate) type Change = unsafe extern "C" fn(usize, usize, usize) -> c_int;

real! {
    __libc_start_main: StartMain,
    __cxa_thread_atexit_impl:
        unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int,
    __cxa_atexit: unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void, *mut c_void) -> c_int,
    __cxa_at_quick_exit: unsafe extern "C" fn(unsafe extern "C" fn(*mut c_void), *mut c_void) -> c_int,
    on_exit: unsafe extern "C" fn(unsafe extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int,
    __cxa_finalize: unsafe extern "C" fn(*mut c_void),
    clock_gettime: unsafe extern "C" fn(libc::clockid_t, *mut libc::timespec) -> c_int,
    exit: unsafe extern "C" fn(c_int) -> !,
    quick_exit: unsafe extern "C" fn(c_int) -> !,
    fork: unsafe extern "C" fn() -> libc::pid_t,
    sigaction: unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int,
    signal: unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t,
    sigaltstack: unsafe extern "C" fn(*const libc::stack_t, *mut libc::stack_t) -> c_int,
    sigprocmask: unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int,
    sigwait: unsafe extern "C" fn(*const libc::sigset_t, *mut c_int) -> c_int,
    sigwaitinfo: unsafe extern "C" fn(*const libc::sigset_t, *mut libc::siginfo_t) -> c_int,
    sigtimedwait:
        unsafe extern "C" fn(*const libc::sigset_t, *mut libc::siginfo_t, *const libc::timespec) -> c_int,
    sigsuspend: unsafe extern "C" fn(*const libc::sigset_t) -> c_int,
    pause: unsafe extern "C" fn() -> c_int,
    dlopen: unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void,
    unsetenv: unsafe extern "C" fn(*const c_char) -> c_int,
    _Fork: unsafe extern "C" fn() -> libc::pid_t,
    timer_create: unsafe extern "C" fn(libc::clockid_t, *mut libc::sigevent, *mut c_void) -> c_int,
    mq_notify: unsafe extern "C" fn(c_int, *const libc::sigevent) -> c_int,
    dup2: unsafe extern "C" fn(c_int, c_int) -> c_int,
    dup3: unsafe extern "C" fn(c_int, c_int, c_int) -> c_int,
    sbrk: unsafe extern "C" fn(isize) -> *mut c_void,
    setuid: Change,
    seteuid: Change,
    setreuid: Change,
    setresuid: Change,
    setgid: Change,
    setegid: Change,
    setregid: Change,
    setresgid: Change,
    setgroups: Change,
    initgroups: Change,
    tzset: unsafe extern "C" fn(),
    localtime: unsafe extern "C" fn(*const libc::time_t) -> *mut libc::tm,
    localtime_r: unsafe extern "C" fn(*const libc::time_t, *mut libc::tm) -> *mut libc::tm,
    mktime: unsafe extern "C" fn(*mut libc::tm) -> libc::time_t,
    newlocale: unsafe extern "C" fn(c_int, *const c_char, libc::locale_t) -> libc::locale_t,
    duplocale: unsafe extern "C" fn(libc::locale_t) -> libc::locale_t,
    freelocale: unsafe extern "C" fn(libc::locale_t),
    setlocale: unsafe extern "C" fn(c_int, *const c_char) -> *mut c_char,
    textdomain: unsafe extern "C" fn(*const c_char) -> *mut c_char,
    bindtextdomain: unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_char,
    bind_textdomain_codeset: unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_char,
    gettext: unsafe extern "C" fn(*const c_char) -> *mut c_char,
    dgettext: unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_char,
    dcgettext: unsafe extern "C" fn(*const c_char, *const c_char, c_int) -> *mut c_char,
    ngettext: unsafe extern "C" fn(*const c_char, *const c_char, c_ulong) -> *mut c_char,
    dngettext: unsafe extern "C" fn(*const c_char, *const c_char, *const c_char, c_ulong) -> *mut c_char,
    dcngettext:
        unsafe extern "C" fn(*const c_char, *const c_char, *const c_char, c_ulong, c_int) -> *mut c_char,
    syscall: unsafe extern "C" fn(std::ffi::c_long, usize, usize, usize, usize, usize, usize) -> std::ffi::c_long,
    pthread_setattr_default_np: unsafe extern "C" fn(*const libc::pthread_attr_t) -> c_int,
    pthread_attr_getdetachstate: unsafe extern "C" fn(*const libc::pthread_attr_t, *mut c_int) -> c_int,
    pthread_attr_getstacksize: unsafe extern "C" fn(*const libc::pthread_attr_t, *mut usize) -> c_int,
}

/// Returns the real time of a clock in nanoseconds.
pub(crate) fn clock(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the function of libc, which fills the struct.
    unsafe { clock_gettime()(id, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Returns the real monotonic time in nanoseconds.
pub(crate) fn now() -> u64 {
    clock(libc::CLOCK_MONOTONIC)
}

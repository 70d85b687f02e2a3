//! The thread that mimalloc takes for the program's first.
//!
//! mimalloc (3.3) remembers the thread that loads it by its id, the address of the thread's descriptor, and gives a
//! thread with that id memory that is there once, and gone when the thread has ended. The program's first thread keeps
//! its descriptor until the program ends. But a library may be loaded by any thread, and the C library hands the
//! descriptor of one that has ended to the next: that one would crash.
//!
//! So where another thread loads this code, one of our own is the first that mimalloc sees. The C library puts a
//! thread's descriptor on the stack that it was given, and this stack is used for no other thread. Invariant **FIRST**:
//! no other thread gets the id of the one that mimalloc takes for the program's first.

use std::cell::UnsafeCell;
use std::ffi::{c_char, c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr::null_mut;

/// Called when this code is loaded, before mimalloc's own constructor (which has no priority, or 101).
#[used]
#[unsafe(link_section = ".init_array.00099")]
static LOADED: extern "C" fn() = loaded;

unsafe extern "C" {
    /// mimalloc's constructor. A second call does nothing.
    fn _mi_auto_process_init();
}

/// Room for the variables of all libraries that a thread has its own of, too. What is not touched takes no memory.
const SIZE: usize = 1 << 20;

#[repr(align(4096))]
struct Stack(UnsafeCell<[u8; SIZE]>);

// SAFETY: used by the thread that `loaded` starts, and by nothing else.
unsafe impl Sync for Stack {}

static STACK: Stack = Stack(UnsafeCell::new([0; SIZE]));

extern "C" fn loaded() {
    // SAFETY: they have no preconditions.
    let first = unsafe { libc::gettid() == libc::getpid() };
    if !first && !cfg!(fyris_mutant = "sync_loader_is_first") {
        // Where the system refuses a thread, mimalloc's constructor takes the one that is there.
        start();
    }
}

/// Runs [`first`] in a thread on [`STACK`]. Returns an error code.
fn start() -> c_int {
    let mut attributes = MaybeUninit::uninit();
    let mut thread = MaybeUninit::uninit();
    // SAFETY: the attributes are made, used and destroyed; the stack is used for this thread only; the thread is
    // joined.
    unsafe {
        let mut failed = libc::pthread_attr_init(attributes.as_mut_ptr());
        if failed != 0 {
            return failed;
        }
        failed = libc::pthread_attr_setstack(attributes.as_mut_ptr(), STACK.0.get().cast(), SIZE);
        if failed == 0 {
            failed =
                libc::pthread_create(thread.as_mut_ptr(), attributes.as_ptr(), first, null_mut());
        }
        if failed == 0 {
            failed = libc::pthread_join(thread.assume_init(), null_mut());
        }
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        failed
    }
}

extern "C" fn silent(_: *const c_char, _: *mut c_void) {}

extern "C" fn first(_: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_self` has no preconditions. As the process's first thread does, this one calls the constructor
    // before anything of mimalloc's is used.
    unsafe {
        let descriptor = libc::pthread_self() as usize;
        // Elsewhere if the C library has put it there: then nothing is gained.
        let start = STACK.0.get().addr();
        if (start..start + SIZE).contains(&descriptor) {
            // Else the second call prints an empty line.
            libmimalloc_sys::mi_register_output(Some(silent), null_mut());
            _mi_auto_process_init();
        }
    }
    null_mut()
}

//! Changes of stack.
//!
//! The program's stacks are in the segment: an update may write to them, and what is there is committed. So the library
//! works on a stack of its own, private to each process. Invariant **APART**: from the taking of the token to passing
//! it on no frame of this library is on a stack in the segment, but the few words that the switch itself saves.

use std::arch::naked_asm;
use std::cell::Cell;
use std::mem::ManuallyDrop;

use crate::system::local::{Inside, LOCAL, Solo};
use crate::system::sys;

const LEN: usize = 1 << 20;

struct Own {
    whole: Cell<usize>,
    /// Where the next call apart begins: lower while the program runs above frames of the library.
    top: Cell<usize>,
    used: Cell<bool>,
}

static OWN: Solo<Own> = Solo::new(Own {
    whole: Cell::new(0),
    top: Cell::new(0),
    used: Cell::new(false),
});

/// Bytes below the stack pointer that a function may use.
const RED_ZONE: usize = 128;

/// Calls `function(argument, the former stack pointer)` with the stack pointer at `top`, and returns.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn call_on(top: usize, function: extern "C" fn(usize, usize), argument: usize) {
    naked_asm!(
        "push rbp",
        "mov rbp, rsp",
        "mov rsp, rdi",
        "mov rax, rsi",
        "mov rdi, rdx",
        "mov rsi, rbp",
        "call rax",
        "mov rsp, rbp",
        "pop rbp",
        "ret",
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn call_on(top: usize, function: extern "C" fn(usize, usize), argument: usize) {
    naked_asm!(
        "stp x29, x30, [sp, #-16]!",
        "mov x29, sp",
        "mov sp, x0",
        "mov x9, x1",
        "mov x0, x2",
        "mov x1, x29",
        "blr x9",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        "ret",
    )
}

/// Calls `work` on the library's own stack. The program's `errno` stays.
pub(crate) fn apart<R>(work: impl FnOnce() -> R) -> R {
    let inside = Inside::enter();
    if OWN.used.get() {
        let result = work();
        drop(inside);
        return result;
    }
    if OWN.top.get() == 0 {
        let low = sys::map_private(LEN);
        if low.is_null() {
            sys::say(format_args!("no memory for a stack"));
            sys::exit_now(sys::REFUSED);
        }
        OWN.whole.set(low.expose_provenance() + LEN);
        OWN.top.set(OWN.whole.get());
    }
    OWN.used.set(true);
    let result =
        sys::keep_error(|| on(OWN.top.get(), work, |from| LOCAL.stack.set(from - RED_ZONE)));
    OWN.used.set(false);
    drop(inside);
    result
}

/// Calls `work` on the stack that ends at `top`, a multiple of 16, where a stack of the program is to begin.
pub(crate) fn program<R>(top: usize, work: impl FnOnce() -> R) -> R {
    let used = OWN.used.replace(false);
    let inside = LOCAL.inside.replace(0);
    // What is called apart meanwhile must not overwrite the frames below this one.
    let own = OWN.top.get();
    if used {
        OWN.top.set((here() - 4096) & !15);
    }
    let result = on(top, work, |_| ());
    OWN.top.set(own);
    LOCAL.inside.set(inside);
    OWN.used.set(used);
    result
}

/// Goes on with `serve(slot)` at the beginning of the library's own stack; the frames below here are given up.
pub(crate) fn restart(slot: usize, serve: fn(usize) -> !) -> ! {
    OWN.top.set(OWN.whole.get());
    OWN.used.set(true);
    LOCAL.inside.set(1);
    let end = OWN.top.get();
    on(end, move || serve(slot), |_| ())
}

/// Returns an address on the present stack.
fn here() -> usize {
    let mark = 0u8;
    std::hint::black_box(&raw const mark).addr()
}

struct Task<F, R, G> {
    work: ManuallyDrop<F>,
    before: ManuallyDrop<G>,
    result: Option<R>,
}

fn on<R, F: FnOnce() -> R, G: FnOnce(usize)>(top: usize, work: F, before: G) -> R {
    extern "C" fn run<R, F: FnOnce() -> R, G: FnOnce(usize)>(task: usize, from: usize) {
        let task = std::ptr::with_exposed_provenance_mut::<Task<F, R, G>>(task);
        // SAFETY: the task of the frame below, which waits; each closure is taken once.
        unsafe {
            ManuallyDrop::take(&mut (*task).before)(from);
            let result = ManuallyDrop::take(&mut (*task).work)();
            (*task).result = Some(result);
        }
    }
    let mut task = Task {
        work: ManuallyDrop::new(work),
        before: ManuallyDrop::new(before),
        result: None,
    };
    let address = (&raw mut task).expose_provenance();
    // SAFETY: `top` is the end of a stack that no frame uses; `run` has the types of the task.
    unsafe { call_on(top, run::<R, F, G>, address) };
    task.result.expect("the work was done")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_done_apart_and_back_again() {
        let mut log = Vec::new();
        let outer = here();
        let value = apart(|| {
            log.push(here().abs_diff(outer) > LEN / 2);
            let before = here();
            apart(|| log.push(here().abs_diff(before) < LEN));
            7
        });
        assert_eq!((value, &log[..]), (7, &[true, true][..]));
        assert!(LOCAL.stack.get() <= outer && LOCAL.stack.get() > outer - 65536);
    }
}

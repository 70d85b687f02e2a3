//! Calls of libc with something done before and after, whatever their arguments are.
//!
//! A function that is exported so ([`around!`]) keeps the registers that may have arguments, does what is to be done
//! before, and jumps to libc's. If something is to be done afterwards it has given the call another return address
//! meanwhile. So functions with arguments in `...` need no other form, and one line exports one.

use std::arch::naked_asm;
use std::cell::Cell;
use std::ffi::{CStr, c_void};
use std::sync::atomic::AtomicPtr;

use crate::system::local::Solo;
use crate::system::{real, site, sys};

/// The registers of a call that may have arguments.
pub(crate) type Arguments = [usize; 6];

/// A function of libc, and what to do around a call of it.
#[repr(C)]
pub(crate) struct Around {
    pub(crate) name: &'static CStr,
    pub(crate) found: AtomicPtr<c_void>,
    /// Makes what is given to `after`; `None` if nothing is to be done then.
    pub(crate) before: fn(&Arguments) -> Option<u64>,
    pub(crate) after: fn(u64),
}

/// Exports functions of libc under their own names, each with what is done before and after.
macro_rules! around {
    ($before:expr, $after:expr; $($name:ident)*) => {
        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[allow(non_snake_case, reason = "names of libc")]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                static AROUND: $crate::system::around::Around = $crate::system::around::Around {
                    name: match std::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                        Ok(name) => name,
                        Err(_) => unreachable!(),
                    },
                    found: std::sync::atomic::AtomicPtr::new(std::ptr::null_mut()),
                    before: $before,
                    after: $after,
                };
                #[cfg(target_arch = "x86_64")]
                std::arch::naked_asm!(
                    "lea r11, [rip + {around}]",
                    "jmp {enter}",
                    around = sym AROUND,
                    enter = sym $crate::system::around::enter,
                );
                #[cfg(target_arch = "aarch64")]
                std::arch::naked_asm!(
                    "adrp x16, {around}",
                    "add x16, x16, :lo12:{around}",
                    "b {enter}",
                    around = sym AROUND,
                    enter = sym $crate::system::around::enter,
                );
            }
        )*
    };
}

pub(crate) use around;

/// Goes on to the function in `r11`. The frame is 216 bytes: what `before` has written, it alone reads.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter() {
    naked_asm!(
        "sub rsp, 216",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov [rsp + 48], rax",
        "movaps [rsp + 64], xmm0",
        "movaps [rsp + 80], xmm1",
        "movaps [rsp + 96], xmm2",
        "movaps [rsp + 112], xmm3",
        "movaps [rsp + 128], xmm4",
        "movaps [rsp + 144], xmm5",
        "movaps [rsp + 160], xmm6",
        "movaps [rsp + 176], xmm7",
        "mov rdi, r11",
        "mov rsi, rsp",
        "lea rdx, [rsp + 216]",
        "lea rcx, [rsp + 224]",
        "call {before}",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "movaps xmm0, [rsp + 64]",
        "movaps xmm1, [rsp + 80]",
        "movaps xmm2, [rsp + 96]",
        "movaps xmm3, [rsp + 112]",
        "movaps xmm4, [rsp + 128]",
        "movaps xmm5, [rsp + 144]",
        "movaps xmm6, [rsp + 160]",
        "movaps xmm7, [rsp + 176]",
        "add rsp, 216",
        "jmp r11",
        before = sym before,
    )
}

/// Where libc's function returns to: returns to the caller, with its results.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn leave() {
    naked_asm!(
        "sub rsp, 48",
        "mov [rsp], rax",
        "mov [rsp + 8], rdx",
        "movups [rsp + 16], xmm0",
        "lea rdi, [rsp + 48]",
        "call {after}",
        "mov [rsp + 40], rax",
        "mov rax, [rsp]",
        "mov rdx, [rsp + 8]",
        "movups xmm0, [rsp + 16]",
        "add rsp, 40",
        "ret",
        after = sym after,
    )
}

/// Goes on to the function in `x16`.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter() {
    naked_asm!(
        "stp x29, x30, [sp, #-224]!",
        "mov x29, sp",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "str x8, [sp, #80]",
        "stp q0, q1, [sp, #96]",
        "stp q2, q3, [sp, #128]",
        "stp q4, q5, [sp, #160]",
        "stp q6, q7, [sp, #192]",
        "mov x0, x16",
        "add x1, sp, #16",
        "add x2, sp, #8",
        "add x3, sp, #224",
        "bl {before}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldr x8, [sp, #80]",
        "ldp q0, q1, [sp, #96]",
        "ldp q2, q3, [sp, #128]",
        "ldp q4, q5, [sp, #160]",
        "ldp q6, q7, [sp, #192]",
        "ldp x29, x30, [sp], #224",
        "br x16",
        before = sym before,
    )
}

/// Where libc's function returns to: returns to the caller, with its results.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn leave() {
    naked_asm!(
        "stp x0, x1, [sp, #-48]!",
        "str q0, [sp, #16]",
        "add x0, sp, #48",
        "bl {after}",
        "mov x30, x0",
        "ldr q0, [sp, #16]",
        "ldp x0, x1, [sp], #48",
        "ret",
        after = sym after,
    )
}

/// Calls within each other for which something is done afterwards; for deeper ones nothing is done.
const DEPTH: usize = 64;

/// A call that is under way: the caller's stack pointer, where it is to return to, and what is done then.
#[derive(Clone, Copy)]
struct Frame {
    stack: usize,
    returns: usize,
    after: fn(u64),
    mark: u64,
}

struct Frames {
    all: [Cell<Frame>; DEPTH],
    len: Cell<usize>,
}

static FRAMES: Solo<Frames> = Solo::new(Frames {
    all: [const {
        Cell::new(Frame {
            stack: 0,
            returns: 0,
            after: |_| (),
            mark: 0,
        })
    }; DEPTH],
    len: Cell::new(0),
});

/// Does what comes before a call that returns to what `returns` points to; returns the address of libc's function.
extern "C" fn before(
    around: &'static Around,
    arguments: &Arguments,
    returns: *mut usize,
    stack: usize,
) -> *mut c_void {
    // SAFETY: the word with the return address, of the frame that calls this.
    let to = unsafe { returns.read() };
    site::note(to, stack);
    let len = room(stack);
    // libc's function alone says what the error is.
    if len < DEPTH
        && let Some(mark) = sys::keep_error(|| (around.before)(arguments))
    {
        FRAMES.all[len].set(Frame {
            stack,
            returns: to,
            after: around.after,
            mark,
        });
        FRAMES.len.set(len + 1);
        // SAFETY: as above; `leave` goes on there.
        unsafe { returns.write(leave as *const () as usize) };
    }
    real::next(around.name, &around.found)
}

/// Returns how many calls are under way. Where there is no room for another one forgets those that were left by a jump:
/// their frames were below the present one.
fn room(stack: usize) -> usize {
    static SAID: Solo<Cell<bool>> = Solo::new(Cell::new(false));
    let mut len = FRAMES.len.get();
    if len == DEPTH {
        while len > 0 && FRAMES.all[len - 1].get().stack <= stack {
            len -= 1;
        }
        FRAMES.len.set(len);
        if len == DEPTH && !SAID.replace(true) {
            sys::say(format_args!(
                "more than {DEPTH} calls of stdio, locales and time within each other: nothing is locked for the others"
            ));
        }
    }
    len
}

/// Does what comes after a call that was made with this stack pointer; returns the address to go on at.
extern "C" fn after(stack: usize) -> usize {
    let mut len = FRAMES.len.get();
    // Calls that were left by a jump are still on top.
    while len > 0 {
        len -= 1;
        let frame = FRAMES.all[len].get();
        if frame.stack == stack {
            FRAMES.len.set(len);
            site::note(frame.returns, stack);
            (frame.after)(frame.mark);
            return frame.returns;
        }
    }
    unreachable!("`leave` is only in the place of a return address that is kept")
}

/// Forgets the calls under way: another thread begins here.
pub(crate) fn forget() {
    FRAMES.len.set(0);
}

//! Atomic operations as turns: a breakpoint is in the place of each (`patch.rs`), and its handler takes the token, does
//! the instruction on the memory of then, commits, and goes on behind it. So counters, locks, reference counts and
//! queues that programs make of atomic operations are right, and their order is decided. A pause, with which a thread
//! waits for another one, is a turn of its own, and so is a system call about a futex past libc, as in OpenMP of gcc.
//! Any other one the program makes itself, at its copy: it may last, be ended by a signal, or make a process.
//!
//! A plain load is none: a thread that only loads until another has stored sees its own copy for ever.

use std::ffi::{c_int, c_void};
use std::ptr;

use fyris_dthreads_tools::record::Operation;

use crate::shared::end;
use crate::sync::futex;
use crate::system::atomics::Kind;
use crate::system::patch::{self, Site};
use crate::system::{LOCAL, apart, mask, on, site};
use crate::turn::take;

const INSTRUCTION: usize = libc::REG_RIP as usize;
const STACK: usize = libc::REG_RSP as usize;
/// The number of a system call, and what it returns.
const RESULT: usize = libc::REG_RAX as usize;
/// More bytes than the frames of the handler have below its description of where the program is.
const FRAMES: usize = 1024;
/// Bytes below the stack pointer that a function may use.
const RED_ZONE: usize = 128;

/// Makes atomic operations turns, before a thread is created: in all files that are loaded by now.
pub(crate) fn begin() {
    end::handle_breakpoints(on_breakpoint);
    held_back(patch::set_breakpoints);
}

/// Calls `work` with all signals held back but that of faults, as they are in the handler of a breakpoint: a handler of
/// the program could come to one that is not known yet, or use the stack on which the other handler is.
fn held_back(work: impl FnOnce()) {
    let before = mask::hold_back(end::ALL_BUT_FAULTS);
    work();
    mask::hold_back(before);
}

extern "C" fn on_breakpoint(signal: c_int, _: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's description of where it came, which it goes on by.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    let address = (registers[INSTRUCTION] as usize).wrapping_sub(1);
    let Some(site) = patch::site(address) else {
        // The program's own.
        end::die(signal)
    };
    let place = Interrupted {
        site,
        stack: registers[STACK] as usize,
        handlers: context.uc_stack,
        // SAFETY: the kernel's set is in the first word.
        mask: unsafe { (&raw const context.uc_sigmask).cast::<u64>().read() },
    };
    let is_futex = site.kind == Kind::SystemCall && registers[RESULT] == libc::SYS_futex;
    let all: *mut i64 = registers.as_mut_ptr();
    // SAFETY: the registers with which the program has come to the instruction, whose copy this is.
    let execute = || unsafe { patch::execute(all, site.copy) };
    let mut next = site.next;
    match site.kind {
        Kind::Atomic if on() => in_turn(&place, execute),
        Kind::Pause if on() => pause(&place),
        Kind::SystemCall if on() && is_futex => wait_or_wake(registers, &place),
        Kind::SystemCall => next = site.copy,
        Kind::Atomic | Kind::Pause => execute(),
    }
    // SAFETY: as above.
    unsafe { all.add(INSTRUCTION).write(next as i64) };
}

/// Where the program is: the instruction, its stack, that for handlers, and the signals that it holds back.
struct Interrupted {
    site: Site,
    stack: usize,
    handlers: libc::stack_t,
    mask: u64,
}

impl Interrupted {
    /// Notes it, and calls `work` on the library's stack.
    fn apart(&self, work: impl FnOnce()) {
        site::note(self.site.next, self.stack);
        apart(|| {
            end::share_stack(&self.handlers, ptr::from_ref(self).addr() - FRAMES);
            // The handler's frames are on a stack of their own.
            LOCAL.stack.set(self.stack - RED_ZONE);
            // Others may be served while the token is waited for.
            mask::hold_back(self.mask);
            work();
            mask::hold_back(end::ALL_BUT_FAULTS);
        });
    }
}

fn in_turn(place: &Interrupted, execute: impl FnOnce()) {
    place.apart(|| {
        let turn = take(Operation::Instruction, place.site.address as u64);
        held_back(execute);
        turn.pass();
    });
}

fn pause(place: &Interrupted) {
    place.apart(|| take(Operation::Yield, 0).pass_now());
}

/// Makes the system call of a futex, as the kernel takes and returns it.
fn wait_or_wake(registers: &mut [i64; 23], place: &Interrupted) {
    let [address, what, value, time] = [libc::REG_RDI, libc::REG_RSI, libc::REG_RDX, libc::REG_R10]
        .map(|at| registers[at as usize]);
    let time = ptr::with_exposed_provenance(time as usize);
    place.apart(|| {
        // SAFETY: as the program promises the kernel.
        let done = unsafe { futex::call(address as usize, what as c_int, value as u32, time) };
        registers[RESULT] = done.unwrap_or_else(|error| -i64::from(error));
    });
}

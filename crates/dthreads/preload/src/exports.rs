//! The calls that are synchronization points, as programs find them.
//!
//! Each notes its return address and the stack pointer, and jumps on, so the function behind it is called as by the
//! program itself.

use std::arch::naked_asm;
use std::mem::offset_of;

use crate::c11;
use crate::calls::{blocking, signals, time};
use crate::common::{environment, exits, streams};
use crate::program;
use crate::refused;
use crate::sync::{atomic, barrier, cond, guard, mutex, once, rwlock, semaphore, spin};
use crate::system::site::SITE;
use crate::system::{LOCAL, Local};
use crate::threads::{about, keys, thread};

/// Exports functions under their own names.
macro_rules! calls {
    ($($module:ident: $($name:ident)*;)*) => {
        $($(
            #[cfg(target_arch = "x86_64")]
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    "mov r11, [rsp]",
                    "mov [rip + {site}], r11",
                    "mov [rip + {site} + 8], rsp",
                    "jmp {function}",
                    site = sym SITE,
                    function = sym $module::$name,
                )
            }

            #[cfg(target_arch = "aarch64")]
            #[cfg_attr(not(test), unsafe(no_mangle))]
            #[unsafe(naked)]
            unsafe extern "C" fn $name() {
                naked_asm!(
                    "adrp x16, {site}",
                    "add x16, x16, :lo12:{site}",
                    "mov x17, sp",
                    "stp x30, x17, [x16]",
                    "b {function}",
                    site = sym SITE,
                    function = sym $module::$name,
                )
            }
        )*)*
    };
}

calls! {
    barrier: pthread_barrier_wait;
    blocking: read readv recvmsg recvfrom recv accept accept4 __read_chk ppoll poll __poll_chk pselect select
        epoll_pwait epoll_wait wait4 waitpid wait waitid;
    c11: thrd_create thrd_join thrd_detach thrd_yield thrd_sleep mtx_lock mtx_trylock mtx_timedlock mtx_unlock cnd_wait
        cnd_timedwait cnd_signal cnd_broadcast call_once tss_create tss_delete;
    cond: pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_cond_signal pthread_cond_broadcast;
    exits: __cxa_atexit __cxa_at_quick_exit on_exit __cxa_finalize;
    environment: setenv unsetenv putenv clearenv;
    keys: pthread_key_create pthread_key_delete;
    guard: __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort;
    mutex: pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock pthread_mutex_clocklock
        pthread_mutex_unlock;
    once: pthread_once;
    atomic: fyris_dthreads_atomic_begin fyris_dthreads_atomic_end;
    rwlock: pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_timedrdlock pthread_rwlock_clockrdlock
        pthread_rwlock_wrlock pthread_rwlock_trywrlock pthread_rwlock_timedwrlock pthread_rwlock_clockwrlock
        pthread_rwlock_unlock;
    program: sigaction signal;
    semaphore: sem_wait sem_timedwait sem_clockwait sem_trywait sem_post;
    signals: sigwait sigwaitinfo sigtimedwait sigsuspend pause kill;
    streams: flockfile ftrylockfile funlockfile;
    spin: pthread_spin_lock pthread_spin_trylock pthread_spin_unlock;
    about: pthread_kill;
    thread: pthread_setattr_default_np pthread_create pthread_join pthread_tryjoin_np pthread_timedjoin_np
        pthread_clockjoin_np pthread_detach;
    time: clock_nanosleep nanosleep usleep sleep sched_yield;
}

/// libc's `syscall`, which is a synchronization point if it is about a futex, and the program has called it: the
/// library makes all its system calls by it.
#[cfg(target_arch = "x86_64")]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    naked_asm!(
        "cmp edi, {futex}",
        "jne 2f",
        "cmp dword ptr [rip + {local} + {inside}], 0",
        "jne 2f",
        "mov r11, [rsp]",
        "mov [rip + {site}], r11",
        "mov [rip + {site} + 8], rsp",
        "2: jmp {function}",
        futex = const libc::SYS_futex,
        local = sym LOCAL,
        inside = const offset_of!(Local, inside),
        site = sym SITE,
        function = sym refused::syscall,
    )
}

#[cfg(target_arch = "aarch64")]
#[cfg_attr(not(test), unsafe(no_mangle))]
#[unsafe(naked)]
unsafe extern "C" fn syscall() {
    naked_asm!(
        "cmp w0, #{futex}",
        "b.ne 2f",
        "adrp x16, {local}",
        "add x16, x16, :lo12:{local}",
        "ldr w17, [x16, #{inside}]",
        "cbnz w17, 2f",
        "adrp x16, {site}",
        "add x16, x16, :lo12:{site}",
        "mov x17, sp",
        "stp x30, x17, [x16]",
        "2: b {function}",
        futex = const libc::SYS_futex,
        local = sym LOCAL,
        inside = const offset_of!(Local, inside),
        site = sym SITE,
        function = sym refused::syscall,
    )
}

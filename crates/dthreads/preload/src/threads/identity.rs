//! `setuid` and its kin. The kernel has the rights of each process by itself, libc's those of all threads at once. So a
//! program may change them while it has one thread; processes that wait for the next are of the former, and end before.

use std::ffi::c_int;

use fyris_dthreads_tools::record::Operation;

use crate::shared::control::{changed, control};
use crate::shared::end;
use crate::system::{LOCAL, on, real, sys};
use crate::threads::process;
use crate::turn::in_turn;

/// Makes the process the only one of the program, in a turn; ends the program if that has other threads.
fn be_alone(name: &str) {
    if !on() {
        return;
    }
    let is_alone = in_turn(Operation::Rights, 0, |_| {
        let is_alone = control().live.get() == 1 && LOCAL.me.get() == 0;
        if is_alone {
            process::retire_all();
        }
        is_alone
    });
    if !is_alone {
        sys::say(format_args!(
            "{name}: other threads would keep their rights: not supported while there are any"
        ));
        end::end(sys::REFUSED);
    }
    changed();
}

/// Exports functions of up to three arguments.
macro_rules! alone {
    ($($name:ident)*) => {
        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            unsafe extern "C" fn $name(a: usize, b: usize, c: usize) -> c_int {
                be_alone(stringify!($name));
                // SAFETY: as the caller promises.
                unsafe { real::$name()(a, b, c) }
            }
        )*
    };
}

alone! {
    setuid seteuid setreuid setresuid setgid setegid setregid setresgid setgroups initgroups
}

//! Locales and the time zone: each thread's own.
//!
//! libc has them in variables that are private to a process, with blocks behind them. So these blocks are private, too:
//! what one thread frees is there for the others as before. A thread begins with its creator's; a new time zone comes
//! to all threads by the variable `TZ`.

use std::cell::Cell;

use crate::shared::control::changed;
use crate::shared::variables::ZONES;
use crate::system::around::{Arguments, around};
use crate::system::{LOCAL, Solo, Stage, real};

/// The changes of `TZ` that libc has seen.
static SEEN: Solo<Cell<usize>> = Solo::new(Cell::new(0));

/// Makes blocks private from now on.
fn begin() -> Option<u64> {
    if LOCAL.is_inside() || LOCAL.stage.get() == Stage::Off {
        return None;
    }
    LOCAL.inside.set(LOCAL.inside.get() + 1);
    Some(0)
}

fn end(_: u64) {
    LOCAL.inside.set(LOCAL.inside.get() - 1);
}

/// Begins a call about the time zone: libc may not have seen the last change of its variable.
fn begin_time(_: &Arguments) -> Option<u64> {
    let begun = begin()?;
    see_zone();
    Some(begun)
}

fn see_zone() {
    if SEEN.replace(ZONES.get()) != ZONES.get() {
        // SAFETY: libc's function; the variable is read by this thread alone.
        unsafe { real::tzset()() };
        changed();
    }
}

/// Begins a call that changes what is asked for if argument `N` is given (invariant IMAGE).
fn begin_change<const N: usize>(arguments: &Arguments) -> Option<u64> {
    if arguments[N] != 0 {
        changed();
    }
    begin()
}

around! { begin_change::<0>, end; newlocale freelocale duplocale textdomain }
around! { begin_change::<1>, end; setlocale bindtextdomain bind_textdomain_codeset }
around! { |_| begin(), end; gettext dgettext dcgettext ngettext dngettext dcngettext }
around! { begin_time, end;
    tzset localtime localtime_r gmtime gmtime_r ctime ctime_r mktime timelocal timegm strftime strftime_l __strftime_l
    wcsftime wcsftime_l strptime strptime_l getdate getdate_r
}

//! Locales and the time zone: each thread's own.
//!
//! libc has them in variables that are private to a process, with blocks behind them. So these blocks are private, too:
//! what one thread frees is there for the others as before. A thread begins with its creator's; a new time zone comes
//! to all threads by the variable `TZ`. Texts that libc would return from there are copied to the heap, so they may be
//! given to other threads.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_ulong};

use libc::{locale_t, time_t, tm};

use crate::shared::arena;
use crate::shared::control::changed;
use crate::shared::variables::ZONES;
use crate::system::around::{Arguments, around};
use crate::system::{LOCAL, Lent, Solo, Stage, private, real};

/// The changes of `TZ` that libc has seen.
static SEEN: Solo<Cell<usize>> = Solo::new(Cell::new(0));
/// Texts of libc's that were copied, and where the copies are.
static COPIES: Solo<Lent<BTreeMap<Box<CStr>, usize>>> = Solo::new(Lent::new());
/// Locales that this process has made, or that from which it was forked.
static LOCALES: Solo<Lent<BTreeSet<usize>>> = Solo::new(Lent::new());

/// Makes room for what is noted, before the program begins.
pub(crate) fn prepare() {
    COPIES.put(BTreeMap::new());
    LOCALES.put(BTreeSet::new());
}

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

/// Makes a call with private blocks.
fn privately<R>(call: impl FnOnce() -> R) -> R {
    let begun = begin();
    let result = call();
    begun.inspect(|&begun| end(begun));
    result
}

/// Returns a text for the program that a call of libc has returned: one that others may read, too.
fn shared(text: *mut c_char) -> *mut c_char {
    let is_shared = text.is_null() || arena::owns(text.addr());
    if is_shared || LOCAL.is_inside() || LOCAL.stage.get() == Stage::Off {
        return text;
    }
    // SAFETY: a text of libc.
    let bytes = unsafe { CStr::from_ptr(text) };
    let known = || COPIES.with(|all| all.get(bytes).copied()).flatten();
    let copy = match privately(known) {
        Some(copy) => std::ptr::with_exposed_provenance_mut(copy),
        None => {
            // SAFETY: a text; the copy is one of the program's blocks, and stays.
            let copy = unsafe { libc::strdup(text) };
            let note =
                |all: &mut BTreeMap<_, _>| all.insert(bytes.into(), copy.expose_provenance());
            privately(|| COPIES.with(note));
            copy
        }
    };
    // Without memory it is this thread's own.
    if copy.is_null() { text } else { copy }
}

/// Exports functions that return a text, which may be one of their arguments. A call changes what a process has for
/// itself if the argument that is named behind `changed` is given (invariant IMAGE).
macro_rules! texts {
    ($($name:ident($($argument:ident: $type:ty),*) $(changed $new:ident)?;)*) => {
        $(
            #[cfg_attr(not(test), unsafe(no_mangle))]
            unsafe extern "C" fn $name($($argument: $type),*) -> *mut c_char {
                $(
                    if !$new.is_null() {
                        changed();
                    }
                )?
                // SAFETY: as the caller promises.
                let text = privately(|| unsafe { real::$name()($($argument),*) });
                match [$($argument as usize),*].contains(&text.addr()) {
                    true => text,
                    false => shared(text),
                }
            }
        )*
    };
}

texts! {
    setlocale(category: c_int, name: *const c_char) changed name;
    textdomain(domain: *const c_char) changed domain;
    bindtextdomain(domain: *const c_char, folder: *const c_char) changed folder;
    bind_textdomain_codeset(domain: *const c_char, code: *const c_char) changed code;
    gettext(text: *const c_char);
    dgettext(domain: *const c_char, text: *const c_char);
    dcgettext(domain: *const c_char, text: *const c_char, category: c_int);
    ngettext(one: *const c_char, more: *const c_char, count: c_ulong);
    dngettext(domain: *const c_char, one: *const c_char, more: *const c_char, count: c_ulong);
    dcngettext(domain: *const c_char, one: *const c_char, more: *const c_char, count: c_ulong, category: c_int);
}

/// Makes a locale by a call, from one that is this process's no more.
fn make(from: locale_t, call: impl FnOnce() -> locale_t) -> locale_t {
    changed();
    privately(|| {
        let made = call();
        LOCALES.with(|all| {
            if !made.is_null() {
                all.remove(&from.addr());
                all.insert(made.addr());
            }
        });
        made
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn newlocale(mask: c_int, name: *const c_char, base: locale_t) -> locale_t {
    // SAFETY: as the caller promises.
    make(base, || unsafe { real::newlocale()(mask, name, base) })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn duplocale(locale: locale_t) -> locale_t {
    // SAFETY: as the caller promises.
    make(std::ptr::null_mut(), || unsafe {
        real::duplocale()(locale)
    })
}

/// libc's; another process's locale is not there to be freed.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn freelocale(locale: locale_t) {
    changed();
    privately(|| {
        let ours = LOCALES.with(|all| all.remove(&locale.addr()));
        if ours != Some(false) {
            // SAFETY: as the caller promises.
            unsafe { real::freelocale()(locale) };
        }
    });
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

/// Gives a struct a name of the time zone that all threads may read.
unsafe fn with_zone(time: *mut tm) {
    // SAFETY: a struct that libc has filled, or null.
    unsafe {
        if let Some(time) = time.as_mut()
            && private::owns(time.tm_zone.cast())
        {
            time.tm_zone = shared(time.tm_zone.cast_mut());
        }
    }
}

/// Makes a call about the time zone.
fn in_zone<R>(call: impl FnOnce() -> R) -> R {
    privately(|| {
        if LOCAL.stage.get() != Stage::Off {
            see_zone();
        }
        call()
    })
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn localtime(time: *const time_t) -> *mut tm {
    // SAFETY: as the caller promises.
    unsafe {
        let parts = in_zone(|| real::localtime()(time));
        with_zone(parts);
        parts
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn localtime_r(time: *const time_t, parts: *mut tm) -> *mut tm {
    // SAFETY: as the caller promises.
    unsafe {
        let parts = in_zone(|| real::localtime_r()(time, parts));
        with_zone(parts);
        parts
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn mktime(parts: *mut tm) -> time_t {
    // SAFETY: as the caller promises.
    unsafe {
        let time = in_zone(|| real::mktime()(parts));
        with_zone(parts);
        time
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn timelocal(parts: *mut tm) -> time_t {
    // SAFETY: as the caller promises.
    unsafe { mktime(parts) }
}

around! { begin_time, end;
    tzset gmtime gmtime_r ctime ctime_r timegm strftime strftime_l __strftime_l wcsftime wcsftime_l strptime strptime_l
    getdate getdate_r
}

//! Watching: subscriptions to what changes in tables.

use std::ffi::{c_char, c_void};
use std::ops::Bound;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use ::fyris_term::Term;
use fyris::{MatchSpec, SubscribeOptions, Subscription, Table, TableRef, WatchFilter};

use super::event::fyris_event;
use super::store::owner;
use super::{fyris_store, fyris_table, not_forked, place, table};
use crate::args::{array, handle};
use crate::error::fyris_code::*;
use crate::error::{Failure, Outcome, answer, call, free, fyris_code, fyris_error, make};
use crate::term::{self, fyris_term};

/// What changes in tables, from the subscription on. Threads may share it: each event goes to one of them. It lasts
/// until it is closed or freed, or until its tables are deleted, whatever becomes of the rights to them.
///
/// What one call or one transaction changes in its tables is one event, which comes after the change can be seen.
/// Events come in the order of the changes of each key, and of calls that do not overlap. Writers never wait for who
/// reads: what does not fit into the queue is lost, and the queue says so.
pub struct fyris_subscription {
    /// `None` once it was closed. Held for steps only, never while somebody waits.
    open: Mutex<Option<Subscription>>,
    bell: Arc<Bell>,
    /// The tables, and their references when it began.
    tables: Vec<(Table, TableRef)>,
}

/// Wakes all who wait for a subscription: each looks what there is for it.
#[derive(Default)]
struct Bell {
    /// How often it was rung.
    times: Mutex<u64>,
    sleepers: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is left half done by a panic.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bell {
    fn rung(&self) -> u64 {
        *lock(&self.times)
    }

    fn ring(&self) {
        *lock(&self.times) += 1;
        self.sleepers.notify_all();
    }

    /// Sleeps until it was rung more often, or for some time.
    fn wait(&self, before: u64, time: Option<Duration>) {
        let (times, is_quiet) = (lock(&self.times), |times: &mut u64| *times == before);
        // What a panic has poisoned is good.
        match time {
            None => drop(self.sleepers.wait_while(times, is_quiet)),
            Some(time) => drop(self.sleepers.wait_timeout_while(times, time, is_quiet)),
        }
    }
}

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }
}

impl fyris_subscription {
    fn new(tables: Vec<Table>, begun: Subscription) -> fyris_subscription {
        let with_reference = |table: Table| {
            let reference = table.reference();
            (table, reference)
        };
        fyris_subscription {
            open: Mutex::new(Some(begun)),
            bell: Arc::default(),
            tables: tables.into_iter().map(with_reference).collect(),
        }
    }

    /// Waits for the next event until a moment; `None` if none came, or there are no more.
    fn wait(&self, end: Option<Instant>) -> Option<fyris_event> {
        let waker = Waker::from(Arc::clone(&self.bell));
        loop {
            let before = self.bell.rung();
            let mut context = Context::from_waker(&waker);
            let polled = lock(&self.open).as_mut()?.poll_event(&mut context);
            if let Poll::Ready(event) = polled {
                return Some(fyris_event::new(event?, |told| self.place_of(told)));
            }
            let left = end.map(|end| end.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return None;
            }
            self.bell.wait(before, left);
        }
    }

    /// Returns the place of a table that an event tells of. Its name may be another now.
    fn place_of(&self, told: &TableRef) -> usize {
        let is_it = |of: &(Table, TableRef)| of.0.reference() == *told || of.1 == *told;
        match &self.tables[..] {
            [_] => 0,
            tables => tables.iter().position(is_it).unwrap_or(usize::MAX),
        }
    }
}

/// Returns the moment after some milliseconds; `None` for ever, if that is negative.
fn end_of(millis: i64) -> Option<Instant> {
    let time = u64::try_from(millis).ok().map(Duration::from_millis)?;
    Instant::now().checked_add(time)
}

/// Returns the subscription that a handle is of.
///
/// # Safety
///
/// HANDLE: the subscription.
unsafe fn subscription<'a>(pointer: *const fyris_subscription) -> Outcome<&'a fyris_subscription> {
    // SAFETY: HANDLE: the subscription.
    let subscription = unsafe { handle(pointer, "the subscription") }?;
    not_forked()?;
    Ok(subscription)
}

/// Reads what is asked for: as `fyris_table_subscribe` says.
///
/// # Safety
///
/// HANDLE: the filter, or null.
unsafe fn filter_of(filter: *const fyris_term) -> Outcome<WatchFilter> {
    if filter.is_null() {
        return Ok(WatchFilter::all());
    }
    // SAFETY: HANDLE: the filter.
    let filter = &unsafe { handle(filter, "the filter") }?.0;
    let spec = |spec: &Term| -> Outcome<WatchFilter> {
        let spec = MatchSpec::compile(spec).map_err(fyris::Error::from)?;
        Ok(WatchFilter::matching(spec))
    };
    let parts = match filter {
        Term::List(_) => return spec(filter),
        Term::Tuple(parts) => &parts[..],
        one => std::slice::from_ref(one),
    };
    let word = parts.first().and_then(Term::as_atom);
    match (
        word.map_or("", |word| word.as_str()),
        &parts[1.min(parts.len())..],
    ) {
        ("all", []) => Ok(WatchFilter::all()),
        ("key", [key]) => Ok(WatchFilter::key(key.clone())),
        ("range", [from, to]) => Ok(WatchFilter::range((bound(from), bound(to)))),
        ("pattern", [pattern]) => Ok(WatchFilter::pattern(pattern)?),
        _ => {
            let text = format!(
                "{} is no filter: filters are all, {{key,Key}}, {{range,From,To}}, {{pattern,Pattern}} and match \
                 specifications",
                filter.brief(60)
            );
            Err(Failure::new(FYRIS_E_ARGUMENT, text))
        }
    }
}

fn bound(term: &Term) -> Bound<Term> {
    match term.as_atom() {
        Some(atom) if atom.as_str() == "_" => Bound::Unbounded,
        _ => Bound::Included(term.clone()),
    }
}

/// Reads the list of options.
///
/// # Safety
///
/// TEXT: the options, or null.
unsafe fn options_of(options: *const c_char) -> Outcome<SubscribeOptions> {
    if options.is_null() {
        return Ok(SubscribeOptions::new());
    }
    let known = "{from,snapshot}, {queue,Changes}, conflate";
    // SAFETY: TEXT: the options.
    let options = unsafe { term::options(options) }?;
    term::fold_options(options, known, SubscribeOptions::new(), with)
}

fn with(options: SubscribeOptions, option: &Term) -> Option<SubscribeOptions> {
    let word = |term: &Term, word: &str| term.as_atom().is_some_and(|atom| atom.as_str() == word);
    match option {
        Term::Tuple(parts) => match &parts[..] {
            [from, snapshot] if word(from, "from") && word(snapshot, "snapshot") => {
                Some(options.from_snapshot())
            }
            [queue, Term::Int(changes)] if word(queue, "queue") => {
                Some(options.queue(usize::try_from(*changes).ok()?))
            }
            _ => None,
        },
        other => word(other, "conflate").then(|| options.conflate()),
    }
}

/// Subscribes to what changes in a table. `filter` is what is asked for, a term: NULL or `all`; `{key, Key}`; `{range,
/// From, To}`, the keys of an `ordered_set` from one to the other, which both count, `'_'` being an open end;
/// `{pattern, Pattern}` or a match specification: objects that match, or of which it makes `true`, before the change or
/// after it.
///
/// `options` is a list in Erlang's syntax, or NULL for none: `{from, snapshot}` tells the objects first that are there
/// now, and then all changes since, none of which is missing or comes twice; `{queue, N}` is how many changes wait to
/// be read, at most (65,536 by default); `conflate` tells of the newest change of each key alone, of those that wait,
/// for tables with one object a key.
///
/// Fails with FYRIS_E_NO_TABLE, FYRIS_E_NO_ACCESS; FYRIS_E_TYPE for a range of a table without an order of keys, and to
/// conflate a bag; FYRIS_E_READ_ONLY for a snapshot, FYRIS_E_IN_TRANSACTION; FYRIS_E_ARGUMENT, FYRIS_E_SYNTAX.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_table_subscribe(
    handle: *const fyris_table,
    filter: *const fyris_term,
    options: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_subscription {
    make(err, || {
        // SAFETY: HANDLE: the table and the filter, or null.
        let (table, filter) = unsafe { (table(handle)?, filter_of(filter)?) };
        // SAFETY: TEXT: the options, or null.
        let begun = table.subscribe(&filter, &unsafe { options_of(options) }?)?;
        Ok(fyris_subscription::new(vec![table.clone()], begun))
    })
}

/// Subscribes to what changes in `count` tables of a store, as `fyris_table_subscribe` to one: what a transaction
/// changes in several of them is one event. The handles of the tables may be freed meanwhile.
///
/// Fails as that; FYRIS_E_ARGUMENT for a table of another store, one that is given twice, and for none.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_store_subscribe(
    store: *const fyris_store,
    tables: *const *mut fyris_table,
    count: usize,
    filter: *const fyris_term,
    options: *const c_char,
    err: *mut fyris_error,
) -> *mut fyris_subscription {
    make(err, || {
        // SAFETY: HANDLE: the store; ARRAY: the tables.
        let (owner, handles) =
            unsafe { (owner(store)?, array(tables, count, "the array of tables")?) };
        // SAFETY: HANDLE: each of the tables.
        let each = handles.iter().map(|&handle| unsafe { table(handle) });
        let live: Vec<&Table> = each.collect::<Outcome<_>>()?;
        // SAFETY: HANDLE: the filter, or null; TEXT: the options, or null.
        let (filter, options) = unsafe { (filter_of(filter)?, options_of(options)?) };
        let begun = owner.store().subscribe(&live, &filter, &options)?;
        let tables = live.into_iter().cloned().collect();
        Ok(fyris_subscription::new(tables, begun))
    })
}

/// Waits until there is an event, for `millis` milliseconds at most (for ever, if that is negative; 0 does not wait),
/// and puts it into `event`, yours to free; NULL if none came, or there are no more: `fyris_subscription_has_ended`
/// tells.
///
/// Fails with FYRIS_E_NULL, FYRIS_E_FORKED.
///
/// Threads: any; each event goes to one of them.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_subscription_next(
    handle: *const fyris_subscription,
    millis: i64,
    event: *mut *mut fyris_event,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let out = place(event)?;
        // SAFETY: HANDLE: the subscription.
        let next = unsafe { subscription(handle) }?.wait(end_of(millis));
        let next = next.map_or(std::ptr::null_mut(), |event| Box::into_raw(Box::new(event)));
        // SAFETY: OUT.
        unsafe { out.put(next) };
        Ok(())
    })
}

/// Is told of an event, which is borrowed until it returns. 0: go on; anything else: stop. It may block, and call what
/// it likes but `fyris_subscription_free` for this subscription; it must not leave by `longjmp` or an exception.
pub type fyris_on_event =
    Option<unsafe extern "C" fn(context: *mut c_void, event: *const fyris_event) -> i32>;

/// Calls a function for each event, in this thread, until it says stop, until `millis` milliseconds have passed (never,
/// if that is negative; with 0 for those that are there), or until there are no more: all three are FYRIS_OK. `context`
/// is handed on.
///
/// Fails with FYRIS_E_NULL, FYRIS_E_FORKED.
///
/// Threads: any; each event goes to one of them.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_subscription_each(
    handle: *const fyris_subscription,
    millis: i64,
    on_event: fyris_on_event,
    context: *mut c_void,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        let Some(on_event) = on_event else {
            return Err(Failure::new(FYRIS_E_NULL, "the function is NULL"));
        };
        // SAFETY: HANDLE: the subscription.
        let subscription = unsafe { subscription(handle) }?;
        let end = end_of(millis);
        while let Some(event) = subscription.wait(end) {
            // SAFETY: CALLBACK: a function of this type; the event lives until it returns.
            let said = unsafe { on_event(context, &event) };
            // Also if others write faster than it reads.
            let is_over = millis > 0 && end.is_some_and(|end| end <= Instant::now());
            if said != 0 || is_over {
                break;
            }
        }
        Ok(())
    })
}

/// Returns whether there are no more events: it was closed, or all its tables are deleted and all was told. True for
/// NULL.
///
/// Threads: any.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_subscription_has_ended(handle: *const fyris_subscription) -> bool {
    answer(true, || {
        // SAFETY: HANDLE: the subscription.
        let open = lock(&unsafe { subscription(handle) }?.open);
        Ok(open.as_ref().is_none_or(Subscription::has_ended))
    })
}

/// Ends a subscription, for threads as well that wait for it, which get no event; the handle stays, to be freed. What
/// was not read is gone. Does nothing to one that has ended.
///
/// Fails with FYRIS_E_NULL, FYRIS_E_FORKED.
///
/// Threads: any.
#[must_use]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_subscription_close(
    handle: *const fyris_subscription,
    err: *mut fyris_error,
) -> fyris_code {
    call(err, || {
        // SAFETY: HANDLE: the subscription.
        let subscription = unsafe { subscription(handle) }?;
        let closed = lock(&subscription.open).take();
        subscription.bell.ring();
        drop(closed);
        Ok(())
    })
}

/// Ends a subscription and frees its handle; no thread waits for it any more.
///
/// Threads: last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fyris_subscription_free(handle: *mut fyris_subscription) {
    // SAFETY: OWNED and THREAD: the last use.
    unsafe { free(handle) }
}

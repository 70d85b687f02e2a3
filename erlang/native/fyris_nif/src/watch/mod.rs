//! Messages of what changes in tables, for processes that have subscribed.
//!
//! # How
//!
//! The reference to a subscription is one to a resource, with which it ends ([`SubscriptionPlace`]). One thread sends
//! the messages of all: whoever writes puts a subscription into its list, by a waker, if it is not there already
//! ([`turns`]). The thread reads a number of events of the first in the list, makes a term of each in an environment of
//! its own, sends it, and goes on with the next subscription. It begins with the first subscription, and ends when
//! there are none.
//!
//! # Ends
//!
//! A subscription ends by `unsubscribe`, with its process, with the last reference to it, or with its tables. All of
//! these only say so and put it into the list: the thread is who drops it, with all that waits in its queue.
//!
//! The thread holds no reference, or a subscription that was forgotten would go on: for each turn it asks the machine
//! for one by its numbers. A message has one; so a subscription does not end by being forgotten while messages of it
//! wait.
//!
//! # Locks
//!
//! A message is sent with the subscription's [`Gate`] locked, so that after an end there is none; it is built before,
//! and to send it copies nothing. No lock is held while another one is taken, but for those of the machine.

mod message;
mod turns;

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

use fyris::{Error, Subscription};
use fyris_term::{Reference, Term as Owned};

pub(crate) use message::Tids;

use crate::call::{BAD, Fail};
use crate::kind::reference;
use crate::load;
use crate::machine::{Env, ErlNifEnv, ErlNifPid, MessageEnv, OwnTerm, ResourceCount, Term};
use crate::term::{self, Offered};

/// Events of one subscription that are sent before those of the next one.
const TURN: usize = 64;

/// How many messages a process wants.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Demand {
    All,
    /// So many; with none it waits until it is asked for more.
    Left(u64),
}

/// What is asked for each message.
struct Gate {
    demand: Demand,
    ended: bool,
}

/// A subscription, and who is told.
struct Watch {
    /// A local pid: one word, the same everywhere on the node.
    to: Term,
    /// The reference that stands in messages.
    reference: OnceLock<Reference>,
    tids: Tids,
    gate: Mutex<Gate>,
    /// Taken by the thread alone; nothing once it is dropped.
    subscription: Mutex<Option<Subscription>>,
    is_listed: AtomicBool,
    /// The resources that the filter refers to.
    _offered: Offered,
}

/// What the resource of a subscription holds.
pub(crate) struct SubscriptionPlace(Arc<Watch>);

/// What is to be sent.
pub(crate) struct Begun {
    pub(crate) subscription: Subscription,
    pub(crate) tids: Tids,
    pub(crate) offered: Offered,
}

/// Begins to send messages to a local process; returns the reference to the subscription. Fails if the process is not
/// alive.
pub(crate) fn begin(env: Env, begun: Begun, to: Term, demand: Demand) -> Result<Term, Fail> {
    turns::begin().map_err(|e| Error::BadArgument(format!("no thread to send messages: {e}")))?;
    let watch = Arc::new(Watch {
        to,
        reference: OnceLock::new(),
        tids: begun.tids,
        gate: Mutex::new(Gate {
            demand,
            ended: false,
        }),
        subscription: Mutex::new(Some(begun.subscription)),
        is_listed: AtomicBool::new(false),
        _offered: begun.offered,
    });
    let resource = load::new_resource(SubscriptionPlace(watch.clone()));
    let begun = watch.tell_apart(env, &resource).and_then(|term| {
        let is_alive = resource.monitor(env, to);
        is_alive.then_some(term).ok_or(Fail::Cause(&"receiver"))
    });
    match begun {
        Ok(_) => watch.list(),
        Err(_) => watch.end(),
    }
    begun
}

fn place<'t>(env: Env, term: Term) -> Result<&'t Arc<Watch>, Fail> {
    let place = load::resource::<SubscriptionPlace>(env, term).ok_or(BAD)?;
    Ok(&place.0)
}

/// Ends a subscription: when this returns no message comes any more.
pub(crate) fn end(env: Env, subscription: Term) -> Result<(), Fail> {
    place(env, subscription)?.end();
    Ok(())
}

/// Says how many messages are wanted from now on.
pub(crate) fn ask(env: Env, subscription: Term, demand: Demand) -> Result<(), Fail> {
    let watch = place(env, subscription)?;
    watch.gate().demand = demand;
    watch.list();
    Ok(())
}

/// Ends the subscription of a process that has ended.
///
/// # Safety
///
/// Called by the machine with a resource of the type `subscription`.
pub(crate) unsafe extern "C" fn down(
    _: *mut ErlNifEnv,
    object: *mut c_void,
    _: *const ErlNifPid,
    _: *const rustler::sys::ErlNifMonitor,
) {
    // SAFETY: the resource holds one.
    let SubscriptionPlace(watch) = unsafe { &*object.cast::<SubscriptionPlace>() };
    // A panic must not go further up; there is no caller to tell.
    let _ = catch_unwind(AssertUnwindSafe(|| watch.end()));
}

impl Drop for SubscriptionPlace {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Wake for Watch {
    fn wake(self: Arc<Watch>) {
        self.list();
    }
}

/// What became of an attempt to send a message.
enum Sent {
    One,
    /// There is none now, or none is wanted.
    None,
    /// There will be none any more.
    Ended,
}

impl Watch {
    fn gate(&self) -> MutexGuard<'_, Gate> {
        // Nothing is left half done by a panic.
        self.gate.lock().unwrap_or_else(|p| p.into_inner())
    }

    /// Notes the numbers by which the machine finds the resource; returns a term that refers to it.
    fn tell_apart(&self, env: Env, resource: &ResourceCount) -> Result<Term, Fail> {
        let term = resource.term(env);
        // The machine only finds what it has written.
        match term::by_external(env, term)? {
            Owned::Reference(numbers) => {
                self.reference.get_or_init(|| *numbers);
                Ok(term)
            }
            _ => Err(BAD),
        }
    }

    fn end(self: &Arc<Watch>) {
        self.gate().ended = true;
        self.list();
    }

    /// Puts it into the list of those that the thread looks at, unless it is there.
    fn list(self: &Arc<Watch>) {
        // AcqRel: pairs with the swap in `turn`, which sees what was said before.
        if !self.is_listed.swap(true, Ordering::AcqRel) {
            turns::add(self.clone());
        }
    }

    /// Sends what there is, so much at most; drops the subscription if it has ended.
    fn turn(self: &Arc<Watch>, messages: &mut MessageEnv) {
        // AcqRel: pairs with the swap in `list`: whoever comes from here on lists it again.
        if !cfg!(fyris_mutant = "nif_turn_unheard") {
            self.is_listed.swap(false, Ordering::AcqRel);
        }
        let mut subscription = self.subscription.lock().unwrap_or_else(|p| p.into_inner());
        let goes_on = match &mut *subscription {
            Some(subscription) => {
                // Of a panic the panic hook has told.
                let turn = AssertUnwindSafe(|| self.send_some(subscription, messages));
                catch_unwind(turn).unwrap_or(false)
            }
            None => return,
        };
        if cfg!(fyris_mutant = "nif_turn_unheard") {
            self.is_listed.swap(false, Ordering::AcqRel);
        }
        if !goes_on {
            drop(subscription.take());
            self.gate().ended = true;
            turns::end_one();
        }
    }

    /// Sends what there is; returns whether it goes on.
    fn send_some(
        self: &Arc<Watch>,
        subscription: &mut Subscription,
        messages: &mut MessageEnv,
    ) -> bool {
        let Some(own) = self.own_reference(messages) else {
            return false;
        };
        for _ in 0..TURN {
            match self.send_next(subscription, messages, &own) {
                Sent::One => {}
                Sent::None => return true,
                Sent::Ended => return false,
            }
        }
        self.list();
        true
    }

    /// Returns a term that refers to the subscription; `None` if nobody has one any more.
    fn own_reference(&self, messages: &mut MessageEnv) -> Option<OwnTerm> {
        let env = messages.env();
        let term = reference::make_by_external(env, self.reference.get()?)?;
        let is_there = load::resource::<SubscriptionPlace>(env, term).is_some();
        let own = is_there.then(|| OwnTerm::copy_of(term));
        messages.clear();
        own
    }

    fn send_next(
        self: &Arc<Watch>,
        subscription: &mut Subscription,
        messages: &mut MessageEnv,
        own: &OwnTerm,
    ) -> Sent {
        match *self.gate() {
            Gate { ended: true, .. } => return Sent::Ended,
            Gate {
                demand: Demand::Left(0),
                ..
            } => return Sent::None,
            _ => {}
        }
        let waker = Waker::from(self.clone());
        // What objects refer to is found as long as this is pinned (KEEPER).
        let pin = (!cfg!(fyris_mutant = "nif_told_unpinned")).then(fyris::pin);
        let event = match subscription.poll_event(&mut Context::from_waker(&waker)) {
            Poll::Ready(Some(event)) => event,
            Poll::Ready(None) => return Sent::Ended,
            Poll::Pending => return Sent::None,
        };
        let message = message::of_event(messages.env(), own, &event, &self.tids);
        drop(pin);
        let sent = message.is_none_or(|message| self.send(messages, message, own));
        // Not with the gate locked: the destroyer of a resource may run.
        messages.clear();
        match sent {
            true => Sent::One,
            false => Sent::Ended,
        }
    }

    /// Sends a message, unless it has ended; returns whether it goes on.
    fn send(&self, messages: &mut MessageEnv, message: Term, own: &OwnTerm) -> bool {
        let mut gate = self.gate();
        let ended = gate.ended && !cfg!(fyris_mutant = "nif_sent_after_end");
        if ended || !messages.send(self.to, message) {
            return false;
        }
        if let Demand::Left(left) = &mut gate.demand {
            *left = left.saturating_sub(1);
            if *left == 0 {
                let mut last = MessageEnv::new();
                let passive = message::of_passive(last.env(), own);
                return last.send(self.to, passive);
            }
        }
        true
    }
}

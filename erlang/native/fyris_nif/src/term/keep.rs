//! Keepers, by which objects keep alive what their terms refer to: resources of the machine.
//!
//! Of a reference its numbers are stored, which keep no resource alive. So an object with one to a resource has a
//! *keeper* ([`fyris::ResourceRefs`]) among its blobs: bytes that begin with a mark, and hold the resource until the
//! record is retired. The blobs of values are longer than any keeper; so a lookup need not compare the mark.
//!
//! # References to resources
//!
//! A resource of the machine (what `atomics:new/2` gives, a socket, a compiled expression) lives as long as terms refer
//! to it. For each resource that objects hold there is one environment of the machine with a term that refers to it
//! ([`Kept`]), and a count of its holders: records that are not retired, and calls that have read the reference and may
//! put it into records ([`offer`]). A keeper has the mark, the numbers of the reference, and the address of the `Kept`,
//! from which a lookup copies the term. Where there is no keeper (keys, results of match specifications), the `Kept` is
//! found by the numbers.
//!
//! Tids of our own are such references: an object with the tid of a table that is deleted keeps a few hundred bytes.
//!
//! **KEEPER**: a keeper's address is valid while a record with the keeper can be read. Each record counts as a holder
//! until it is retired, and the `Kept` is retired with the last holder, so not before any of these records: a reader of
//! one of them was pinned before. The collector is flushed then, so the `Kept` is freed when these pins end; retired
//! records among the garbage of other threads do not delay that. Until it is freed it is found by its numbers, so a
//! reader finds it as long as it is pinned.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard};

use fyris::{ObjectWriter, ResourceRefs};
use fyris_sync::reclaim::{self, Guard, Retire, pin};
use fyris_term::value::MAX_INLINE_BINARY;
use fyris_term::{Blob, Reference, Term as Owned};

use super::external;
use crate::kind::node::here;
use crate::kind::reference;
use crate::machine::{Env, OwnTerm, Term};

/// The bytes that an object holds besides its values.
type Keeper = Blob;

/// Bytes of a mark.
const MARK: usize = 32;

/// The beginning of keepers. It is random, so that no binary of a program has it.
static THE_MARK: LazyLock<[u8; MARK]> = LazyLock::new(|| {
    use std::hash::{BuildHasher, RandomState};
    let mut mark = [0; MARK];
    for (i, part) in mark.chunks_mut(8).enumerate() {
        part.copy_from_slice(&RandomState::new().hash_one(i).to_le_bytes());
    }
    mark
});

/// Tells the store how to handle keepers. To be called once.
pub(crate) fn begin() {
    fyris::set_resource_refs(ResourceRefs {
        is_resource_ref: |bytes| bytes.starts_with(&*THE_MARK),
        any: || count() > 0,
        find,
        again,
        retire,
        release,
    });
}

fn retire(keeper: &[u8]) -> bool {
    !cfg!(fyris_mutant = "nif_kept_till_freed") && give_up(keeper)
}

/// Does nothing: the resource was given up by [`retire`].
fn release(keeper: &[u8]) {
    if cfg!(fyris_mutant = "nif_kept_till_freed") {
        give_up(keeper);
    }
}

/// The gathering of what an object is to keep alive, while it is written: begun when a term comes that may refer to a
/// resource, since most objects have none.
pub(super) struct Gathering {
    has_begun: bool,
}

impl Gathering {
    /// Makes one that has not begun.
    #[inline]
    pub(super) fn new() -> Gathering {
        Gathering { has_begun: false }
    }

    /// Makes one for a value whose caller gathers ([`offer`]).
    pub(super) fn of_caller() -> Gathering {
        Gathering { has_begun: true }
    }

    /// Begins, if that was not done. From here on resources that terms refer to are met.
    #[inline]
    pub(super) fn begin(&mut self) {
        if !self.has_begun && !cfg!(fyris_mutant = "nif_holds_unasked") {
            self.has_begun = true;
            begin_meeting();
        }
    }

    /// Lets an object, of which everything `is_written`, hold the resources that were met.
    #[inline]
    pub(super) fn end(self, is_written: bool, out: &mut ObjectWriter<'_>) {
        if self.has_begun {
            let offered = end();
            if is_written {
                offered.into_keepers().for_each(|keeper| out.keep(keeper));
            }
        }
    }
}

/// The numbers of a reference.
type ReferenceNumbers = [u32; 3];

/// A term that refers to a resource, for lookups to copy, and the numbers of its reference.
struct Kept(OwnTerm, ReferenceNumbers);

/// The number of resources that are kept.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Returns the number of resources that are kept.
pub(crate) fn count() -> usize {
    // Relaxed: whose reference goes into an object was counted before, by this thread or by one that published a record
    // which this thread has found.
    COUNT.load(Ordering::Relaxed)
}

impl Kept {
    fn new(term: Term, numbers: ReferenceNumbers) -> NonNull<Kept> {
        // Relaxed: as in `count`.
        COUNT.fetch_add(1, Ordering::Relaxed);
        let kept = Box::new(Kept(OwnTerm::copy_of(term), numbers));
        NonNull::from(Box::leak(kept))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Relaxed: as in `count`.
        COUNT.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Retire for Kept {
    unsafe fn reclaim(kept: *mut Kept) {
        let forgotten = {
            let mut holders = holders();
            // SAFETY: not freed yet.
            let numbers = unsafe { (*kept).1 };
            // A new one may be in its place, for holders that came since.
            let is_it = |of: &Holders| std::ptr::eq(of.kept.as_ptr(), kept);
            match holders.get(&numbers).is_some_and(is_it) {
                true => holders.remove(&numbers),
                false => None,
            }
        };
        drop(forgotten);
        // Not under the lock: the destroyer of the resource may run.
        // SAFETY: it came from a box, in `Kept::new`, is retired once, and no thread finds it any more (KEEPER).
        drop(unsafe { Box::from_raw(kept) });
    }
}

/// The holders of a resource; none while its `Kept` waits for the collector.
struct Holders {
    count: usize,
    /// Not freed while this is in the map.
    kept: NonNull<Kept>,
    keeper: Keeper,
}

// SAFETY: a `Kept` belongs to no thread.
unsafe impl Send for Holders {}

impl Holders {
    fn new(numbers: ReferenceNumbers, term: Term) -> Holders {
        let kept = Kept::new(term, numbers);
        let address = kept.as_ptr().expose_provenance();
        let numbers = numbers.map(u32::to_ne_bytes);
        let parts = [
            &THE_MARK[..],
            numbers.as_flattened(),
            &address.to_ne_bytes(),
        ];
        Holders {
            count: 0,
            kept,
            keeper: parts.concat().into(),
        }
    }

    fn term(&self) -> &OwnTerm {
        // SAFETY: this is in the map, and `reclaim` takes it from there before it frees the `Kept`.
        unsafe { &self.kept.as_ref().0 }
    }

    /// Counts one more holder, and returns its keeper. In the place of a `Kept` that is retired comes a new one.
    fn add(&mut self, numbers: ReferenceNumbers) -> Keeper {
        if self.count == 0 {
            *self = Holders::new(numbers, self.term().get());
        }
        self.add_first()
    }

    /// Counts one more holder of a `Kept` that is not retired, and returns its keeper.
    fn add_first(&mut self) -> Keeper {
        self.count += 1;
        self.keeper.clone()
    }
}

type AllHolders = HashMap<ReferenceNumbers, Holders, foldhash::fast::RandomState>;

static HOLDERS: LazyLock<Mutex<AllHolders>> = LazyLock::new(Mutex::default);

fn holders() -> MutexGuard<'static, AllHolders> {
    HOLDERS
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The length of such a keeper.
const LENGTH: usize = MARK + size_of::<ReferenceNumbers>() + size_of::<usize>();
// The blobs of values are longer.
const _: () = assert!(LENGTH <= MAX_INLINE_BINARY);

/// Returns the numbers, and the address of what is kept, of such a keeper.
#[inline]
fn parts(keeper: &[u8]) -> Option<(ReferenceNumbers, *const Kept)> {
    let keeper: &[u8; LENGTH] = keeper.try_into().ok()?;
    debug_assert!(keeper.starts_with(&*THE_MARK));
    let (numbers, address) =
        keeper[MARK..].split_first_chunk::<{ size_of::<ReferenceNumbers>() }>()?;
    let (numbers, _) = numbers.as_chunks::<4>();
    let address = usize::from_ne_bytes(address.try_into().ok()?);
    let numbers = numbers
        .try_into()
        .map(|n: [[u8; 4]; 3]| n.map(u32::from_ne_bytes));
    Some((numbers.ok()?, std::ptr::with_exposed_provenance(address)))
}

/// Returns the keeper of a reference for one more record to hold, if its resource is kept.
fn find(reference: &Reference) -> Option<Keeper> {
    let numbers = numbers_of(reference)?;
    Some(holders().get_mut(&numbers)?.add(numbers))
}

/// Returns the keeper of what this one keeps, for one more record to hold.
fn again(keeper: &[u8]) -> Option<Keeper> {
    let (numbers, _) = parts(keeper)?;
    // There as long as the caller is pinned (KEEPER).
    Some(holders().get_mut(&numbers)?.add(numbers))
}

/// Returns the numbers of a local reference, as it is stored.
fn numbers_of(reference: &Reference) -> Option<ReferenceNumbers> {
    let is_local = reference.node == here() && reference.creation == 0;
    reference.ids[..].try_into().ok().filter(|_| is_local)
}

/// Counts one more holder of a resource, and returns its keeper.
fn hold((term, numbers): MetResource) -> Keeper {
    match holders().entry(numbers) {
        Entry::Occupied(mut of) => of.get_mut().add(numbers),
        Entry::Vacant(place) => place.insert(Holders::new(numbers, term)).add_first(),
    }
}

/// Counts one holder less, if the keeper is one of a reference. Returns whether that was the last: then the `Kept` is
/// retired, and the collector is to be flushed.
fn give_up(keeper: &[u8]) -> bool {
    let Some((numbers, _)) = parts(keeper) else {
        return false;
    };
    let retired = {
        let mut holders = holders();
        let Some(of) = holders.get_mut(&numbers) else {
            return false;
        };
        of.count -= 1;
        let retired = (of.count == 0).then_some(of.kept.as_ptr());
        if retired.is_some() && cfg!(fyris_mutant = "nif_kept_forgotten") {
            holders.remove(&numbers);
        }
        retired
    };
    match retired {
        Some(kept) if cfg!(fyris_mutant = "nif_kept_freed_at_once") => {
            // SAFETY: there is none; that is the mutant.
            unsafe { Kept::reclaim(kept) }
        }
        // SAFETY: no record that is found from now on has its address (KEEPER), and it has no holders again.
        Some(kept) => unsafe { pin().retire(kept) },
        None => {}
    }
    retired.is_some()
}

/// The keeper is looked for among the last blobs of an object, of which there may be any number.
const NEAR: usize = 8;

/// Returns the term of a reference to a resource that an object with these blobs holds, or another holder; `None` if
/// there is no holder.
pub(crate) fn kept_reference(
    env: Env,
    numbers: ReferenceNumbers,
    blobs: &[Keeper],
) -> Option<Term> {
    let mut near = blobs.iter().rev().take(NEAR).filter_map(|blob| parts(blob));
    if let Some((_, kept)) = near.find(|(of, _)| *of == numbers) {
        // SAFETY: the caller reads a record with this keeper under a pin (KEEPER).
        return Some(unsafe { &*kept }.0.copy_to(env));
    }
    let holders = holders();
    Some(holders.get(&numbers)?.term().copy_to(env))
}

/// The state of a list that a thread gathers. It is kept apart from the list, which has a destructor and is slower to
/// access; the stage is read for every object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GatheringState {
    /// Nothing is to be gathered.
    None,
    /// Under way, with nothing in the list.
    Begun,
    /// Under way, with something in the list.
    Met,
}

thread_local! {
    static STAGE: Cell<GatheringState> = const { Cell::new(GatheringState::None) };
    /// References to resources met by the offer under way.
    static MET: RefCell<Vec<MetResource>> = const { RefCell::new(Vec::new()) };
}

fn stage(new: GatheringState) -> GatheringState {
    STAGE.with(|stage| stage.replace(new))
}

/// A term that keeps a resource alive, and the numbers of the reference to it.
type MetResource = (Term, ReferenceNumbers);

/// Notes a reference to a resource, while an object is being written.
#[inline]
pub(crate) fn met_resource(term: Term, numbers: ReferenceNumbers) {
    if STAGE.with(Cell::get) != GatheringState::None {
        MET.with_borrow_mut(|met| met.push((term, numbers)));
        stage(GatheringState::Met);
    }
}

/// Notes the references to resources in a term that was read, while an object is being written.
pub(super) fn met(env: Env, term: Term, owned: &Owned) {
    if STAGE.with(Cell::get) == GatheringState::None {
        return;
    }
    fyris::each_reference(owned, &mut |reference| {
        let Some(numbers) = numbers_of(reference) else {
            return;
        };
        // Only in this form are references seen that a fun has captured.
        let itself = match owned {
            Owned::Reference(_) => term,
            _ => external::make(env, &Owned::Reference(Box::new(reference.clone()))),
        };
        if reference::is_of_resource(itself) {
            met_resource(itself, numbers);
        }
    });
}

/// Holds resources until it is dropped.
pub(crate) struct Offered(Vec<Keeper>);

impl Offered {
    #[inline]
    fn hold_all(met: Vec<MetResource>) -> Offered {
        if met.is_empty() {
            return Offered(Vec::new());
        }
        Offered(met.into_iter().map(hold).collect())
    }

    /// Holds the resources that terms refer to. The terms were made of objects, under a pin that has not ended.
    pub(crate) fn of(terms: &[Owned]) -> Offered {
        let mut keepers = Vec::new();
        if count() > 0 {
            let mut keep = |reference: &Reference| keepers.extend(find(reference));
            terms
                .iter()
                .for_each(|term| fyris::each_reference(term, &mut keep));
        }
        Offered(keepers)
    }

    /// Returns whether it holds none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keepers, for records that become the holders.
    fn into_keepers(mut self) -> impl Iterator<Item = Keeper> {
        std::mem::take(&mut self.0).into_iter()
    }
}

impl Drop for Offered {
    fn drop(&mut self) {
        let give_up = |flush, keeper: &Keeper| give_up(keeper) || flush;
        if self.0.iter().fold(false, give_up) {
            reclaim::flush();
        }
    }
}

/// Runs `read`, which reads terms. The resources that they refer to can get into objects until the other value is
/// dropped.
pub(crate) fn offer<R>(read: impl FnOnce() -> R) -> (R, Offered) {
    begin_meeting();
    let result = read();
    (result, end())
}

/// Begins to note the resources that are met.
fn begin_meeting() {
    if stage(GatheringState::Begun) == GatheringState::Met {
        // Of a call that panicked.
        MET.take();
    }
}

/// Ends that, and holds the resources that were met.
fn end() -> Offered {
    match stage(GatheringState::None) {
        GatheringState::Met => Offered::hold_all(MET.take()),
        _ => Offered(Vec::new()),
    }
}

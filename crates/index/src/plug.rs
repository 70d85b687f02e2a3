//! Indexes behind a pointer: the object-safe form of the seam.
//!
//! The indexes that most tables use are compiled into every operation above them. All others are reached through
//! [`DynIndex`] and [`DynOrderedIndex`], which every [`Index`] and [`OrderedIndex`] implements by itself. So a further
//! index costs one virtual call an operation, and neither code nor compile time in the operations. An
//! [`IndexFactory`] makes such indexes for whatever entries they are to hold.

use std::hash::Hash;
use std::ops::Bound;
#[cfg(feature = "libraries")]
use std::sync::Arc;

use fyris_sync::lock::Mutex;
use fyris_sync::reclaim::{Guard, LocalGuard, pin};

#[cfg(feature = "libraries")]
use crate::library::Status;
use crate::ordered::TreeKey;
use crate::{Action, Batch, Entry, Figures, Index, IndexOptions, OrderedIndex, Range};

/// The features of an index beyond finding and changing the entry of a key. An operation that needs what an index lacks
/// fails with an error that names it, and so does an option that would do nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Features {
    /// Its scans work, and the operations built on them.
    pub iteration: bool,
    /// Several threads may be in [`Index::upsert`] at a time. Otherwise they are let in one after another.
    pub concurrent_writers: bool,
    /// It has a use for [`IndexOptions::bucket_locks`].
    pub bucket_locks: bool,
    /// It has a use for [`IndexOptions::reader_groups`].
    pub reader_groups: bool,
}

impl Features {
    /// All of them.
    pub const ALL: Features = Features {
        iteration: true,
        concurrent_writers: true,
        bucket_locks: true,
        reader_groups: true,
    };

    /// Removes iteration from the features.
    #[must_use]
    pub fn without_iteration(self) -> Features {
        Features {
            iteration: false,
            ..self
        }
    }

    /// Removes concurrent writers from the features: there is one writer at a time.
    #[must_use]
    pub fn without_concurrent_writers(self) -> Features {
        Features {
            concurrent_writers: false,
            ..self
        }
    }

    /// Removes bucket locks from the features.
    #[must_use]
    pub fn without_bucket_locks(self) -> Features {
        Features {
            bucket_locks: false,
            ..self
        }
    }

    /// Removes all locks with options from the features: bucket locks and reader groups.
    #[must_use]
    pub fn without_lock_options(self) -> Features {
        Features {
            reader_groups: false,
            ..self.without_bucket_locks()
        }
    }
}

/// The key of an entry that a plugged index holds: compared and hashed as a whole, or read as bytes, whose order is
/// that of the keys.
pub trait PlugKey: Ord + Hash + TreeKey + 'static {
    /// Runs `f` on the key's bytes. Two keys are equal, or in order, as their bytes are.
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R;
}

impl PlugKey for u64 {
    fn with_bytes<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        f(&self.to_be_bytes())
    }
}

/// An entry that a plugged index holds.
pub trait PlugEntry: Entry<Key: PlugKey> + Send + Sync + 'static {}

impl<E: Entry<Key: PlugKey> + Send + Sync + 'static> PlugEntry for E {}

/// Makes indexes that tables are built on by name.
///
/// # Safety
///
/// The indexes keep the promises of [`Index`] and [`OrderedIndex`] about entries: one comes out of an operation only if
/// it is in the index or was during the operation, under the key that was asked for; an entry that [`Index::upsert`]
/// replaces or removes is not handed out to later operations; dropping an index disposes of each entry in it once. The
/// entries are freed on the strength of this.
pub unsafe trait IndexFactory: Send + Sync + 'static {
    /// Returns the features of its indexes.
    fn features(&self) -> Features {
        Features::ALL
    }

    /// Makes an empty index for tables without an order of keys; if nothing else is said, one for tables in the order of
    /// keys. `None` if there is none of the kind.
    fn build<E: PlugEntry>(&self, options: &IndexOptions) -> Option<Box<dyn DynIndex<E>>> {
        let ordered = self.build_ordered(options)?;
        Some(ordered)
    }

    /// Makes an empty index for tables in the order of keys. `None` if there is none of the kind.
    fn build_ordered<E: PlugEntry>(
        &self,
        options: &IndexOptions,
    ) -> Option<Box<dyn DynOrderedIndex<E>>> {
        _ = options;
        None
    }
}

/// Knows indexes by name, so that tables can be made on them: a store does. A crate of indexes puts its own in with a
/// function `register`.
pub trait Registry {
    /// The reason why a name is refused.
    type Error;

    /// Makes the indexes of a factory known under a name.
    ///
    /// # Errors
    ///
    /// The name is taken, or is none.
    fn add(&mut self, name: &str, factory: impl IndexFactory) -> Result<(), Self::Error>;
}

/// Makes a method of each line of a list, which names it in the object-safe trait and in that of indexes: `declare` in
/// the former, `call` for an index, `plug` for a plugged one.
macro_rules! methods {
    ($mode:ident $of:ident: $($dyn_name:ident = $name:ident $args:tt -> $out:ty;)*) => {
        $(methods! { @$mode $of $dyn_name $name $args -> $out })*
    };
    (
        @declare $of:ident $dyn_name:ident $name:ident
        ($($arg:ident: $ty:ty),* $(; $guard:ident $(, $out_arg:ident: $out_ty:ty)?)?) -> $out:ty
    ) => {
        #[doc = concat!("Works like [`", stringify!($of), "::", stringify!($name), "`].")]
        fn $dyn_name(
            &self $(, $arg: $ty)* $(, $guard: &LocalGuard $(, $out_arg: $out_ty)?)?
        ) -> $out;
    };
    (
        @call $of:ident $dyn_name:ident $name:ident
        ($($arg:ident: $ty:ty),* $(; $guard:ident $(, $out_arg:ident: $out_ty:ty)?)?) -> $out:ty
    ) => {
        fn $dyn_name(
            &self $(, $arg: $ty)* $(, $guard: &LocalGuard $(, $out_arg: $out_ty)?)?
        ) -> $out {
            $of::$name(self $(, $arg)* $(, $guard $(, $out_arg)?)?)
        }
    };
    (
        @plug $of:ident $dyn_name:ident $name:ident
        ($($arg:ident: $ty:ty),*; $guard:ident $(, $out_arg:ident: $out_ty:ty)?) -> $out:ty
    ) => {
        fn $name(&self $(, $arg: $ty)*, _: &impl Guard $(, $out_arg: $out_ty)?) -> $out {
            self.index.$dyn_name($($arg,)* &pin() $(, $out_arg)?)
        }
    };
    (@plug $of:ident $dyn_name:ident $name:ident () -> $out:ty) => {
        fn $name(&self) -> $out {
            self.index.$dyn_name()
        }
    };
}

/// The methods of [`Index`] but for `upsert` and `memory`.
macro_rules! index_methods {
    ($mode:ident) => {
        methods! {
            $mode Index:
            dyn_get = get(key: &E::Key; guard) -> Option<E>;
            dyn_scan = scan(range: Range<'_, E::Key>, want: usize; guard, out: &mut Batch<E>) -> bool;
            dyn_len = len() -> usize;
            dyn_is_empty = is_empty() -> bool;
            dyn_describe = describe(; guard) -> Figures;
            dyn_next_entry = next_entry(after: Option<&E::Key>; guard) -> Option<E>;
            dyn_split = split(parts: usize; guard, out: &mut Batch<E>) -> ();
            dyn_slots = slots() -> usize;
            dyn_slot = slot(slot: usize; guard, out: &mut Batch<E>) -> ();
        }
    };
}

/// The methods of [`OrderedIndex`].
macro_rules! ordered_methods {
    ($mode:ident) => {
        methods! {
            $mode OrderedIndex:
            dyn_seek = seek(from: Bound<&E::Key>; guard) -> Option<E>;
            dyn_seek_back = seek_back(from: Bound<&E::Key>; guard) -> Option<E>;
            dyn_scan_back = scan_back(
                range: Range<'_, E::Key>, want: usize; guard, out: &mut Batch<E>
            ) -> bool;
            dyn_estimated_rank = estimated_rank(bound: Bound<&E::Key>; guard) -> f64;
            dyn_counts = counts() -> bool;
            dyn_nth = nth(n: usize; guard) -> Option<E>;
            dyn_count = count(range: Range<'_, E::Key>; guard) -> Option<usize>;
        }
    };
}

/// [`Index`] behind a pointer; its methods do what those of the same name do. Their names differ, so that both traits
/// can be in scope.
pub trait DynIndex<E: Entry>: Send + Sync {
    index_methods!(declare);

    /// Calls `f` once on the entry of the key, or on its absence, under the slot's protection, and does as it says.
    fn dyn_upsert(
        &self,
        key: &E::Key,
        guard: &LocalGuard,
        f: &mut dyn FnMut(Option<E>) -> Action<E>,
    );

    /// Returns the number of bytes that the index itself has allocated, without the memory behind the entries. O(1).
    fn dyn_memory(&self) -> usize;
}

/// [`OrderedIndex`] behind a pointer; its methods do what those of the same name do.
pub trait DynOrderedIndex<E: Entry>: DynIndex<E> {
    ordered_methods!(declare);
}

impl<E: Entry, I: Index<E>> DynIndex<E> for I {
    index_methods!(call);

    fn dyn_upsert(
        &self,
        key: &E::Key,
        guard: &LocalGuard,
        f: &mut dyn FnMut(Option<E>) -> Action<E>,
    ) {
        Index::upsert(self, key, guard, |old| (f(old), ()));
    }

    fn dyn_memory(&self) -> usize {
        Index::memory(self)
    }
}

impl<E: Entry, I: OrderedIndex<E>> DynOrderedIndex<E> for I {
    ordered_methods!(call);
}

/// An index behind a pointer as an [`Index`] again. Each operation pins for itself: nested pins are cheap.
pub struct Plugged<D: ?Sized> {
    features: Features,
    /// Held by a writer of an index that takes one at a time.
    writer: Mutex<()>,
    /// Of an index from a library.
    #[cfg(feature = "libraries")]
    status: Option<Arc<Status>>,
    index: Box<D>,
}

impl<D: ?Sized> Plugged<D> {
    /// Makes an index with these features.
    pub fn new(index: Box<D>, features: Features) -> Self {
        Self {
            features,
            writer: Mutex::new(()),
            #[cfg(feature = "libraries")]
            status: None,
            index,
        }
    }

    #[cfg(feature = "libraries")]
    /// Makes an index from a library, with these features; `status` is that of the index.
    pub fn from_library(index: Box<D>, features: Features, status: Arc<Status>) -> Self {
        Self {
            status: Some(status),
            ..Self::new(index, features)
        }
    }

    #[cfg(feature = "libraries")]
    /// Returns the state of an index from a library that has been found at fault.
    #[inline]
    pub fn failed(&self) -> Option<&Status> {
        let status = self.status.as_deref()?;
        status.fault().map(|_| status)
    }

    /// Returns the features of the index.
    pub fn features(&self) -> Features {
        self.features
    }
}

impl<E: Entry, D: DynIndex<E> + ?Sized> Index<E> for Plugged<D> {
    index_methods!(plug);

    fn upsert<R>(
        &self,
        key: &E::Key,
        _: &impl Guard,
        f: impl FnOnce(Option<E>) -> (Action<E>, R),
    ) -> R {
        let writes_alone = !self.features.concurrent_writers;
        // A closure that panicked has changed nothing.
        let _writer = writes_alone.then(|| {
            self.writer
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        });
        let (mut f, mut result) = (Some(f), None);
        self.index
            .dyn_upsert(key, &pin(), &mut |old| match f.take() {
                Some(f) => {
                    let (action, out) = f(old);
                    result = Some(out);
                    action
                }
                None => Action::Keep,
            });
        result.expect("an index calls the closure of an upsert")
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.index.dyn_memory()
    }
}

impl<E: Entry, D: DynOrderedIndex<E> + ?Sized> OrderedIndex<E> for Plugged<D> {
    ordered_methods!(plug);
}

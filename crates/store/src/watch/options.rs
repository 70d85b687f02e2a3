//! How a subscription begins, and what it has room for.

#[cfg(doc)]
use super::event::WatchKind;

/// How a subscription begins, and what it has room for.
///
/// ```
/// use fyris::SubscribeOptions;
///
/// let all = SubscribeOptions::new().from_snapshot().queue(1_000_000);
/// assert_ne!(all, SubscribeOptions::new());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubscribeOptions {
    pub(super) queue: usize,
    pub(super) from_snapshot: bool,
    pub(super) conflate: bool,
}

/// The number of changes that a queue has room for where no other is asked for.
const QUEUE: usize = 65_536;

impl Default for SubscribeOptions {
    fn default() -> SubscribeOptions {
        SubscribeOptions {
            queue: QUEUE,
            from_snapshot: false,
            conflate: false,
        }
    }
}

impl SubscribeOptions {
    /// Returns the options for changes from now on, with room for 65,536 of them.
    ///
    /// ```
    /// assert_eq!(fyris::SubscribeOptions::new(), fyris::SubscribeOptions::default());
    /// ```
    pub fn new() -> SubscribeOptions {
        SubscribeOptions::default()
    }

    /// Sets the number of changes that wait to be read, at most. One step of changes always has room, however many they
    /// are. With 0 nothing is kept or copied: [`WatchKind::Overflow`] says how many changes there were, for who wants to
    /// know only whether something has changed.
    ///
    /// ```
    /// use fyris::{Options, Store, SubscribeOptions, WatchFilter, WatchKind, term};
    ///
    /// let owner = Store::new().owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let few = SubscribeOptions::new().queue(2);
    /// let mut changes = table.subscribe(&WatchFilter::all(), &few)?;
    /// table.insert_many((0..5).map(|n| term!({n})))?;
    /// let kinds: Vec<WatchKind> = std::iter::from_fn(|| changes.try_next()).map(|event| event.kind).collect();
    /// assert_eq!(kinds.len(), 3);
    /// assert_eq!(kinds[2], WatchKind::Overflow { lost: 3 });
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn queue(self, changes: usize) -> SubscribeOptions {
        SubscribeOptions {
            queue: changes,
            ..self
        }
    }

    /// Asks for the newest change of each key alone: of changes of a key that wait to be read, what was there before
    /// the first and what is there after the last, in the place of the last. What a transaction changes is then not
    /// told together. For tables with one object a key.
    ///
    /// ```
    /// use fyris::{Options, Store, SubscribeOptions, WatchFilter, term};
    ///
    /// let owner = Store::new().owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// let newest = SubscribeOptions::new().conflate();
    /// let mut changes = table.subscribe(&WatchFilter::all(), &newest)?;
    /// for n in 0..1000 {
    ///     table.insert(&term!({:price, n}))?;
    /// }
    /// let event = changes.try_next().expect("one");
    /// assert_eq!((&event.changes()[0].old, &event.changes()[0].new), (&None, &Some(term!({:price, 999}))));
    /// assert!(changes.try_next().is_none());
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn conflate(self) -> SubscribeOptions {
        SubscribeOptions {
            conflate: true,
            ..self
        }
    }

    /// Asks for the objects first that are there now, at one moment of all tables, and then for all changes since: none
    /// is missing, and none comes twice. Until they are read a [`Snapshot`](crate::Snapshot) keeps them.
    ///
    /// ```
    /// use fyris::{Options, Store, SubscribeOptions, WatchFilter, WatchKind, term};
    ///
    /// let owner = Store::new().owner();
    /// let table = owner.new_table("t", &Options::set())?;
    /// table.insert(&term!({1}))?;
    /// let from = SubscribeOptions::new().from_snapshot();
    /// let mut changes = table.subscribe(&WatchFilter::all(), &from)?;
    /// table.insert(&term!({2}))?;
    /// let kinds: Vec<WatchKind> = std::iter::from_fn(|| changes.try_next()).map(|event| event.kind).collect();
    /// let objects = vec![term!({1})];
    /// assert_eq!(kinds[0], WatchKind::Objects { table: table.reference(), objects });
    /// assert_eq!(kinds[1], WatchKind::Current);
    /// assert!(matches!(&kinds[2], WatchKind::Changes(changes) if changes[0].new == Some(term!({2}))));
    /// # Ok::<(), fyris::Error>(())
    /// ```
    pub fn from_snapshot(self) -> SubscribeOptions {
        SubscribeOptions {
            from_snapshot: true,
            ..self
        }
    }
}

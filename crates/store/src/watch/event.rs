//! What subscriptions are told.

use fyris_term::Term;

use crate::ids::TableRef;

/// What a subscription is told.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchEvent {
    /// The number of the event, from 1; what was lost counts as well.
    pub seq: u64,
    /// What happened.
    pub kind: WatchKind,
}

impl WatchEvent {
    /// Returns the changes of objects; none of other events.
    ///
    /// ```
    /// use fyris::{WatchEvent, WatchKind};
    ///
    /// let event = WatchEvent { seq: 1, kind: WatchKind::Current };
    /// assert!(event.changes().is_empty());
    /// ```
    pub fn changes(&self) -> &[ObjectChange] {
        match &self.kind {
            WatchKind::Changes(changes) => changes,
            _ => &[],
        }
    }
}

/// The kinds of events.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum WatchKind {
    /// Objects that were there when the subscription began, some of them.
    Objects {
        /// Their table.
        table: TableRef,
        /// The objects.
        objects: Vec<Term>,
    },
    /// All objects that were there have been told; from now on changes come.
    Current,
    /// What one call, or one transaction, has changed, of what was asked for; not empty.
    Changes(Vec<ObjectChange>),
    /// All objects of a table went at once.
    Cleared {
        /// The table.
        table: TableRef,
        /// How many there were.
        objects: usize,
    },
    /// A table was deleted; nothing more is told of it.
    Deleted {
        /// The table.
        table: TableRef,
    },
    /// Changes did not fit into the queue, here: what is known of the tables by this subscription is not what they hold
    /// any more.
    Overflow {
        /// How many, at most: also of those that only might have been wanted.
        lost: u64,
    },
}

/// The change of one object: `old` is what was there, `new` what is there since.
#[derive(Clone, Debug, PartialEq)]
pub struct ObjectChange {
    /// The table.
    pub table: TableRef,
    /// The object that is not there any more; `None` of one that came.
    pub old: Option<Term>,
    /// The object that is there; `None` of one that was deleted.
    pub new: Option<Term>,
}

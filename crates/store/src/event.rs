//! Events that the store sends to processes.

use fyris_term::Term;

use crate::ids::{ProcessId, TableRef};

/// A message from the store to a process.
///
/// ```
/// use fyris::{Event, Options, Store, Term};
///
/// let store = Store::new();
/// let (owner, heir) = (store.owner(), store.owner());
/// let options = Options::set().heir(heir.id(), Some(Term::atom("yours")));
/// let table = owner.new_table("t", &options)?.reference();
/// let from = owner.id();
/// drop(owner);
/// let data = Term::atom("yours");
/// assert_eq!(heir.try_event(), Some(Event::Transfer { table, from, data }));
/// # Ok::<(), fyris::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// `{'ETS-TRANSFER', Table, From, Data}`: the table is the receiver's now, and was so before the
    /// event was sent.
    Transfer {
        /// The table: its name if it is a named one.
        table: TableRef,
        /// The owner before.
        from: ProcessId,
        /// The data of the former owner, or of the heir option.
        data: Term,
    },
}

/// The receiver of events for processes.
///
/// Called without any lock of the store held, on the thread that caused the event; it may call the
/// store. It should not block.
pub type Sink = Box<dyn Fn(Event) + Send + Sync>;

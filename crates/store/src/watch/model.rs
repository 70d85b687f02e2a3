//! Watching under every interleaving: `ci/loom.sh`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

use fyris_sync::reclaim::{check, pin};
use fyris_sync::thread::spawn;
use fyris_term::Atom;

use super::announce::Announcement;
use super::filter::KeyFilter;
use super::queue::{Queued, Told, WatchQueue};
use super::watchers::{Queues, Watchers};
use crate::ids::{Protection, TableId, TableType};
use crate::key_kind::{Exact, KeyKind};
use crate::life::Life;
use crate::model::{Table, insert_list, key, look, record, table, value};
use crate::writer::Writer;

struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns whether the first event is there, and told.
fn has_next(queue: &WatchQueue, taken: &mut VecDeque<Queued>) -> bool {
    queue.take(taken);
    matches!(taken.front(), Some(Queued::Event(_, event)) if event.told().is_some())
}

/// Who found nothing, and waits, is woken by who tells.
#[test]
fn who_waits_for_an_event_is_woken() {
    check(|| {
        let (queue, woken) = (
            WatchQueue::new(10, Vec::new()),
            Arc::new(Woken(AtomicUsize::new(0))),
        );
        let waiting = queue.clone();
        let (wakes, mut taken) = (woken.clone(), VecDeque::new());
        let reader = spawn(move || {
            waiting.wait(&Waker::from(wakes));
            (has_next(&waiting, &mut taken), waiting, taken)
        });
        Announcement::new(Queues::from_elem(queue, 1), 1, std::iter::empty())
            .tell(|| Told::Nothing);
        let (found, queue, mut taken) = reader.join().expect("no panic");
        assert!(found || woken.0.load(Ordering::SeqCst) == 1);
        assert!(found || has_next(&queue, &mut taken));
    });
}

/// Returns what the events in a queue have changed under the first key, in their order.
fn changes(table: &Table, queue: &WatchQueue) -> Vec<(Option<i64>, Option<i64>)> {
    let (_pin, mut taken, mut all) = (pin(), VecDeque::new(), Vec::new());
    queue.take(&mut taken);
    for entry in taken {
        let Queued::Event(_, event) = entry else {
            panic!("there is room");
        };
        let Some(Told::Changes { changes, .. }) = event.told() else {
            panic!("all writes have ended");
        };
        for change in changes {
            let diff = change.diff();
            let content = diff.new.or(diff.old).expect("one of two");
            if *table.key_of(content.newest()) == *Exact::of(&key(1)) {
                let value = |content| value(table, content);
                all.push((diff.old.map(value), diff.new.map(value)));
            }
        }
    }
    all
}

/// A list and a writer of one of its keys: what is told of that key is a chain from what was there to what is.
#[test]
fn a_list_and_a_write_through_it_are_told_in_their_order() {
    check(|| {
        let (table, queue) = (
            table(TableType::Set, Some(0)),
            WatchQueue::new(100, vec![(TableId(0), KeyFilter::All)]),
        );
        let life = Life::new(Atom::new("t").expect("an atom"), Protection::Public, None);
        let watchers = Arc::new(Watchers::new(TableId(0), 1));
        assert!(watchers.enter(&queue, &life));
        let other = (table.clone(), watchers.clone());
        let writer = spawn(move || {
            let pin = pin();
            other
                .0
                .insert_one(record(1, 5), &Writer::watched(&pin, &other.1));
        });
        {
            let pin = pin();
            assert!(insert_list(
                &table,
                7,
                false,
                &Writer::watched(&pin, &watchers)
            ));
        }
        writer.join().expect("no panic");
        let told = changes(&table, &queue);
        assert_eq!((told.len(), told[0].0, told[0].1), (2, Some(0), told[1].0));
        assert_eq!(told[1].1.into_iter().collect::<Vec<_>>(), look(&table, 1));
    });
}

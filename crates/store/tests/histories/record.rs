//! What threads did, and whether it has an order.

use std::ops::Range;
use std::time::Duration;

use todc_utils::Specification;
use todc_utils::linearizability::WGLChecker;
use todc_utils::linearizability::history::{Action, History};

use super::PLACES;
use super::terms::FORMS;

/// The values of keys that are next to each other; 0 for a key that is not there.
pub(crate) type Values = Vec<i64>;

/// An operation, where it was done, and what it answered.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Lookup(usize, i64),
    Insert(usize, i64),
    InsertNew(usize, i64, bool),
    Delete(usize),
    Take(usize, i64),
    /// The sum, or 0 if the value is not stored as an integer.
    Count(usize, i64),
    /// One value for all keys of a table.
    InsertList(Range<usize>, i64),
    InsertNewList(Range<usize>, i64, bool),
    DeleteAll(Range<usize>),
    /// What it showed at first, and what else later.
    Snapshot(Range<usize>, Vec<Values>),
    /// What a transaction did, one after another; and whether it was committed.
    Transaction(Vec<Step>, bool),
}

/// What a single thread would see.
struct Sequential;

impl Specification for Sequential {
    type State = [i64; PLACES];
    type Operation = Step;

    fn init() -> Self::State {
        [0; PLACES]
    }

    fn apply(step: &Step, before: &Self::State) -> (bool, Self::State) {
        let mut state = *before;
        let is_right = match step {
            Step::Lookup(at, found) => state[*at] == *found,
            Step::Insert(at, value) => put(&mut state[*at..=*at], *value),
            Step::InsertNew(at, value, done) => put_new(&mut state[*at..=*at], *value) == *done,
            Step::Delete(at) => put(&mut state[*at..=*at], 0),
            Step::Take(at, found) => std::mem::take(&mut state[*at]) == *found,
            Step::Count(at, sum) => count(&mut state[*at]) == *sum,
            Step::InsertList(at, value) => put(&mut state[at.clone()], *value),
            Step::InsertNewList(at, value, done) => {
                put_new(&mut state[at.clone()], *value) == *done
            }
            Step::DeleteAll(at) => put(&mut state[at.clone()], 0),
            Step::Snapshot(at, shown) => shown.iter().all(|shown| *shown == state[at.clone()]),
            Step::Transaction(steps, committed) => {
                let mut is_right = true;
                for step in steps {
                    let (right, after) = Sequential::apply(step, &state);
                    (is_right, state) = (is_right && right, after);
                }
                if !committed {
                    state = *before;
                }
                is_right
            }
        };
        (is_right, state)
    }
}

fn put(places: &mut [i64], value: i64) -> bool {
    places.fill(value);
    true
}

fn put_new(places: &mut [i64], value: i64) -> bool {
    places.iter().all(|place| *place == 0) && put(places, value)
}

fn count(place: &mut i64) -> i64 {
    if *place == 0 || *place % FORMS != 0 {
        return 0;
    }
    *place += FORMS;
    *place
}

/// What one thread did between two times since the history began.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) thread: usize,
    pub(crate) begun: Duration,
    pub(crate) ended: Duration,
    pub(crate) step: Step,
}

/// Returns whether there is an order in which a single thread would see the same, and in which nothing comes before what
/// had ended when it began.
pub(crate) fn is_serializable(records: &[Record]) -> bool {
    let mut events = Vec::new();
    for record in records {
        // At one time a call comes before an end: the two may have overlapped.
        let (call, end) = (record.step.clone(), record.step.clone());
        events.push((record.begun, 0, record.thread, Action::Call(call)));
        events.push((record.ended, 1, record.thread, Action::Response(end)));
    }
    events.sort_by_key(|(time, kind, ..)| (*time, *kind));
    let actions = events
        .into_iter()
        .map(|(.., thread, action)| (thread, action));
    WGLChecker::<Sequential>::is_linearizable(History::from_actions(actions.collect()))
}

/// Returns a line for each, in their order.
pub(crate) fn written(records: &[Record]) -> String {
    let line = |record: &Record| {
        let (begun, ended) = (record.begun.as_nanos(), record.ended.as_nanos());
        let (thread, step) = (record.thread, &record.step);
        format!("thread {thread}, {begun:>7} to {ended:>7} ns: {step:?}\n")
    };
    records.iter().map(line).collect()
}

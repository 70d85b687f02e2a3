//! congee: an adaptive radix tree with optimistic locks, for 8-byte keys and values only. Its own issue 5
//! calls its scans unsound beside writers; here they run beside readers only.

use congee::Congee as Art;
use fyris_harness::{Seen, Subject};

pub struct Congee(Art<usize, usize>);

/// Entries a scan asks for at once.
const CHUNK: usize = 1024;

impl Subject<u64> for Congee {
    const ORDERED: bool = true;
    const ADDS: Option<bool> = Some(true);

    fn new() -> Self {
        Self(Art::default())
    }
    #[inline]
    fn insert(&self, key: &u64, value: u64) {
        let done = self.0.insert(*key as usize, value as usize, &self.0.pin());
        done.expect("congee: out of memory");
    }
    #[inline]
    fn get(&self, key: &u64) -> Option<u64> {
        self.0
            .get(&(*key as usize), &self.0.pin())
            .map(|value| value as u64)
    }
    #[inline]
    fn remove(&self, key: &u64) -> bool {
        self.0.remove(&(*key as usize), &self.0.pin()).is_some()
    }
    #[inline]
    fn add(&self, key: &u64) {
        self.0
            .compute_if_present(&(*key as usize), |value| Some(value + 1), &self.0.pin());
    }
    fn scan(&self) -> Seen {
        let (mut seen, mut from) = (Seen::default(), 0);
        let mut chunk = [(0, 0); CHUNK];
        loop {
            let got = self.0.range(&from, &usize::MAX, &mut chunk, &self.0.pin());
            chunk[..got]
                .iter()
                .for_each(|(_, value)| seen.add(*value as u64));
            match chunk[..got].last() {
                Some((last, _)) if got == CHUNK => from = last + 1,
                _ => return seen,
            }
        }
    }
    fn range(&self, from: &u64, limit: u64) -> Seen {
        let mut seen = Seen::default();
        let mut chunk = [(0, 0); 100];
        let want = chunk.len().min(limit as usize);
        let chunk = &mut chunk[..want];
        let got = self
            .0
            .range(&(*from as usize), &usize::MAX, chunk, &self.0.pin());
        chunk[..got]
            .iter()
            .for_each(|(_, value)| seen.add(*value as u64));
        seen
    }
}

//! Random schedules of skip lists, with more threads and higher nodes than loom can exhaust:
//! `RUSTFLAGS='--cfg shuttle --cfg fyris_small' cargo test -p fyris-classic --release --test shuttle_skip`.
#![cfg(shuttle)]

#[path = "../../index/tests/models/mod.rs"]
mod models;

use std::hash::{BuildHasher, Hasher};

use fyris_classic::SkipList;
use fyris_index::reclaim::check;

use models::Handle;

const SCHEDULES: usize = 2000;

/// Heights by the low bits of the key: as many nodes of each, one after another.
#[derive(Clone, Copy, Default)]
struct ByLowBits(u64);

impl BuildHasher for ByLowBits {
    type Hasher = Self;
    fn build_hasher(&self) -> Self {
        *self
    }
}

impl Hasher for ByLowBits {
    fn write(&mut self, _: &[u8]) {
        unreachable!("numbers are hashed");
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
    fn finish(&self) -> u64 {
        1 << (self.0 % 3)
    }
}

type List = SkipList<Handle, ByLowBits>;

#[test]
fn a_skip_list_keeps_its_order() {
    check(SCHEDULES, models::ordered::keeps_its_order::<List>);
}

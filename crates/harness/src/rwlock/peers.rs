//! Other people's locks, under the names they go by in the tables.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod posix;

use crossbeam_utils::sync::ShardedLock;

use super::contender::{Lock, LockContender};
use super::drive::Data;

/// Returns the locks; those of POSIX threads where the C library has preferences for them.
pub(super) fn all() -> Vec<LockContender> {
    let mut all = vec![
        LockContender::new::<std::sync::RwLock<Data>>("std::RwLock"),
        LockContender::new::<ParkingLot>("parking_lot"),
        LockContender::new::<Sharded>("ShardedLock"),
    ];
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    all.extend(posix::all());
    all
}

impl Lock for std::sync::RwLock<Data> {
    fn make() -> Self {
        Self::new(Data::default())
    }

    #[inline]
    fn read<R>(&self, f: impl FnOnce(&Data) -> R) -> R {
        f(&self.read().expect("no thread panics"))
    }

    #[inline]
    fn write<R>(&self, f: impl FnOnce(&mut Data) -> R) -> R {
        f(&mut self.write().expect("no thread panics"))
    }
}

struct ParkingLot(parking_lot::RwLock<Data>);

impl Lock for ParkingLot {
    fn make() -> Self {
        Self(parking_lot::RwLock::default())
    }

    #[inline]
    fn read<R>(&self, f: impl FnOnce(&Data) -> R) -> R {
        f(&self.0.read())
    }

    #[inline]
    fn write<R>(&self, f: impl FnOnce(&mut Data) -> R) -> R {
        f(&mut self.0.write())
    }
}

/// crossbeam's: a lock for each of eight shards, of which a reader takes one and a writer all.
struct Sharded(ShardedLock<Data>);

impl Lock for Sharded {
    fn make() -> Self {
        Self(ShardedLock::default())
    }

    #[inline]
    fn read<R>(&self, f: impl FnOnce(&Data) -> R) -> R {
        f(&self.0.read().expect("no thread panics"))
    }

    #[inline]
    fn write<R>(&self, f: impl FnOnce(&mut Data) -> R) -> R {
        f(&mut self.0.write().expect("no thread panics"))
    }
}

//! What libc keeps for the program as a whole, shared by its threads or private to each: streams (`streams`) and the
//! environment (`environment`) are shared, and used under locks; generators of random numbers (`random`) and what is
//! done at the end (`exits`) in turns; locales and the time zone are each thread's own (`places`). Uses `sync`.

pub(crate) mod environment;
pub(crate) mod exits;
pub(crate) mod places;
mod random;
pub(crate) mod streams;

use crate::shared::control::control;
use crate::system::LOCAL;

/// Returns whether no other thread lives, nor can before this one creates it. With the token here that is decided.
fn alone() -> bool {
    LOCAL.holding.get() && control().live.get() == 1
}

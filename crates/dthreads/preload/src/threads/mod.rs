//! Threads: their processes (`process`) and values (`keys`), on these the calls that make threads (`thread`) and ask
//! about them (`about`), or
//! about the rights of all (`identity`). Uses `calls` and `turn`.

pub(crate) mod about;
mod identity;
pub(crate) mod keys;
pub(crate) mod process;
pub(crate) mod thread;

//! Threads: their processes (`process`) and values (`keys`), on these the calls that make threads (`thread`) and ask
//! about them (`about`). Uses `calls` and `turn`.

pub(crate) mod about;
pub(crate) mod keys;
pub(crate) mod process;
pub(crate) mod thread;

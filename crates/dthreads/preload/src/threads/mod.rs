//! Threads: one in its process (`run`), its values (`keys`), the processes that are started for them (`process`), and
//! the calls that make threads (`thread`) and ask about them (`about`). Uses `calls` and `turn`.

pub(crate) mod about;
pub(crate) mod keys;
mod process;
pub(crate) mod run;
pub(crate) mod thread;

//! Calls of libc that are not about threads, in turns where others are to see what they do: memory (`malloc` and
//! `mapping`, on the `heap`), `time`, system calls that may wait (`blocking`), `signals`, `descriptors`. Uses
//! `turn`.

pub(crate) mod blocking;
pub(crate) mod descriptors;
pub(crate) mod heap;
mod malloc;
pub(crate) mod mapping;
pub(crate) mod signals;
pub(crate) mod time;

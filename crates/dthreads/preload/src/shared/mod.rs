//! What all processes of a program have in common: the library's words (`control`), by which they end together (`end`),
//! and have the same `handlers`; the program's memory (`memory`, with `conflicts`, and `variables` of libc), in which
//! are `stacks`, the blocks of the heap (`arena`) and its free pages (`runs`), with their `rights`, and what threads
//! have mapped for themselves (`own_maps`). Uses `system`. Nothing here takes the token: it is the caller's.

pub(crate) mod arena;
pub(crate) mod conflicts;
pub(crate) mod control;
pub(crate) mod end;
pub(crate) mod handlers;
pub(crate) mod memory;
pub(crate) mod own_maps;
pub(crate) mod rights;
pub(crate) mod runs;
pub(crate) mod stacks;
pub(crate) mod variables;

//! What libc keeps for the program as a whole, shared by its threads or private to each: streams (`streams`) and the
//! environment (`environment`) are shared, and used under locks; locales and the time zone are each thread's own
//! (`places`). Uses `sync`.

pub(crate) mod environment;
pub(crate) mod places;
pub(crate) mod streams;

//! What is printed: objects by the page (`display`, on `pager` and `paint`), in forms for programs (`format`), and the
//! progress of long commands. Uses nothing of the shell but errors and Ctrl-C.

pub(crate) mod display;
pub(crate) mod format;
mod pager;
mod paint;
pub(crate) mod progress;

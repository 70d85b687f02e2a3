//! What is printed: objects by the page (`display`, on `pager` and `paint`), rows under the names of columns (`rows`,
//! on `grid`), in forms for programs (`format`), to a terminal, a pipe or a file (`out`), and the progress of long
//! commands. Uses nothing of the shell but errors and Ctrl-C.
//!
//! No control character of a value, a name or a message comes to a terminal as it is (`format::printable`); pipes and
//! files get values as they are.

pub(crate) mod display;
pub(crate) mod format;
mod grid;
mod out;
mod pager;
mod paint;
pub(crate) mod progress;
mod rows;

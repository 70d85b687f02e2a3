//! From a line to a command (`command`), and at the prompt (`editor`) what may be typed next (`completion`). Uses the
//! list of commands and the language of queries, and runs nothing.

pub(crate) mod command;
mod completion;
pub(crate) mod editor;

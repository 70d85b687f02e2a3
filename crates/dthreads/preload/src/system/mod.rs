//! A process by itself: calls of the kernel (`sys`) and of libc (`real`), what the loader has mapped (`image`), the
//! program's `atomics` and how they are replaced (`patch`), what a process has for itself (`local`, `private`, `stack`,
//! `mask`, `noise`), where the program has called from (`site`), what is done around a call of libc (`around`). Knows
//! no other process.

pub(crate) mod around;
pub(crate) mod atomics;
pub(crate) mod image;
mod local;
pub(crate) mod mask;
pub(crate) mod noise;
#[cfg(target_arch = "x86_64")]
pub(crate) mod patch;
pub(crate) mod private;
pub(crate) mod real;
pub(crate) mod site;
pub(crate) mod stack;
pub(crate) mod sys;

pub(crate) use local::{Inside, LOCAL, Lent, Local, Solo, Stage, on};
pub(crate) use stack::apart;

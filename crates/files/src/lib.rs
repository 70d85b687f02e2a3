#![doc = include_str!("../README.md")]

pub mod dets;
pub mod disk_log;
mod error;
mod format;
mod inflated;
pub mod mnesia;
mod phash2;
mod source;

pub use error::FileError;
pub use format::{Format, format};
pub use inflated::Inflated;
pub use phash2::phash2;

//! The parts of the `fyris` program.

pub mod doctor;
pub mod dthreads;
pub mod info;
pub mod program;
pub mod shell;

use fyris::Store;

/// Makes a store that knows the indexes of all crates.
fn new_store() -> Store {
    #[cfg_attr(not(feature = "classic"), expect(unused_mut))]
    let mut store = Store::new();
    #[cfg(feature = "classic")]
    {
        fyris_classic::register(&mut store).expect("new names");
        fyris_judy::register(&mut store).expect("new names");
    }
    store
}

/// The examples of the project's README.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

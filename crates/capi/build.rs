//! Names the shared library: programs linked with it ask for `libfyris.so.0`, whatever file it was built as.
//!
//! Once loaded it stays: its threads, the destructors of its threads' values and its handlers of signals and forks may
//! run at any time.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfyris.so.0");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
}

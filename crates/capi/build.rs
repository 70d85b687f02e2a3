//! Names the shared library: programs linked with it ask for `libfyris.so.0`, whatever file it was built as.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libfyris.so.0");
}

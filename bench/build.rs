//! Looks for libJudy (Debian's `libjudy-dev`): with it there is a peer more, and a test that compares answers.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The compiler says where the library is, or its bare name if there is none.
    let asked = Command::new("cc")
        .arg("-print-file-name=libJudy.a")
        .output();
    let Ok(answer) = asked else { return };
    let path = String::from_utf8_lossy(&answer.stdout).trim().to_owned();
    if let Some(folder) = Path::new(&path).parent().filter(|_| path.starts_with('/')) {
        println!("cargo::rustc-cfg=libjudy");
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
}

//! `include/fyris.h` is what cbindgen makes of the source today. `FYRIS_BLESS=1` writes it anew.

use std::path::Path;

#[test]
fn the_header_is_fresh() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut made = Vec::new();
    let config = cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml");
    let bindings = cbindgen::Builder::new()
        .with_config(config)
        .with_src(here.join("src/lib.rs"))
        .generate();
    bindings.expect("a header").write(&mut made);
    let made = String::from_utf8(made).expect("text");
    let path = here.join("include/fyris.h");
    if std::env::var_os("FYRIS_BLESS").is_some() {
        std::fs::write(&path, &made).expect("to write the header");
    }
    let kept = std::fs::read_to_string(&path).expect("the header");
    assert!(
        made == kept,
        "include/fyris.h is stale: run FYRIS_BLESS=1 cargo test -p fyris-capi --test header"
    );
}

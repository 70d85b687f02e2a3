//! Files of dets, disk_log and Mnesia: none breaks the reader, and no more comes out than bytes went in.

#![no_main]

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use fyris_files::dets::Dets;
use fyris_files::disk_log::DiskLog;
use fyris_files::mnesia::Mnesia;
use fyris_files::{Format, format};
use libfuzzer_sys::fuzz_target;

static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let folder = match memory.is_dir() {
        true => memory.to_owned(),
        false => std::env::temp_dir(),
    };
    folder.join(format!("fyris-fuzz-{}", std::process::id()))
});

fuzz_target!(|input: &[u8]| {
    fs::write(&*PATH, input).expect("a file");
    let read = match format(&*PATH) {
        Ok(Some(Format::Dets)) => Dets::open(&*PATH).map_or(0, |dets| dets.rows().count()),
        Ok(Some(Format::DiskLog)) => DiskLog::open(&*PATH).map_or(0, |log| log.terms().count()),
        Ok(Some(Format::Mnesia)) => Mnesia::open(&*PATH).map_or(0, |mnesia| steps(&mnesia)),
        _ => 0,
    };
    assert!(read <= input.len() + 2, "{read} of {} bytes", input.len());
    fs::remove_file(&*PATH).expect("it is there");
});

fn steps(mnesia: &Mnesia) -> usize {
    let mut steps = 0;
    mnesia.replay(|_| {
        steps += 1;
        ControlFlow::Continue(())
    });
    steps
}

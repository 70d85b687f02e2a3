//! Names of segments for tests: unlinked at the end, and those that a killed test has left by the next one to start.

use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

use fyris_segment::Segment;

/// A name of one test's own: `test-WHAT-PID-NUMBER`.
pub(crate) struct Name(pub(crate) String);

impl Name {
    /// Makes a new name. The first one clears up after killed tests.
    pub(crate) fn new(test: &str) -> Name {
        static REAP: Once = Once::new();
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        REAP.call_once(reap);
        // Relaxed: only has to differ.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Name(format!("test-{test}-{}-{number}", std::process::id()))
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        let _ = Segment::unlink(&self.0);
    }
}

/// Unlinks the names of tests whose process is gone.
pub(crate) fn reap() {
    let Ok(files) = std::fs::read_dir("/dev/shm") else {
        return;
    };
    for file in files.flatten() {
        let file = file.file_name();
        let Some(name) = file.to_str().and_then(left_behind) else {
            continue;
        };
        let _ = Segment::unlink(name);
    }
}

/// Returns the name of the segment in this file (`fyris-USER-test-WHAT-PID-NUMBER`), if its test runs no more.
fn left_behind(file: &str) -> Option<&str> {
    let name = file.strip_prefix("fyris-")?.split_once('-')?.1;
    let (rest, number) = name.strip_prefix("test-")?.rsplit_once('-')?;
    let pid: u32 = rest.rsplit_once('-')?.1.parse().ok()?;
    number.parse::<u32>().ok()?;
    let gone = !Path::new(&format!("/proc/{pid}")).exists();
    gone.then_some(name)
}

//! Every operation on a segment whose shared part is overwritten meanwhile. Used by the test and by the fuzz target.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

use fyris_segment::{Choice, Doctor, Options, PAGE, Segment, Tracking};

/// Pages of the segment.
pub(crate) const PAGES: usize = 4;

/// One write of a hostile process: a word at an offset.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Edit {
    /// The offset in bytes; taken modulo the part before the frames, at a multiple of 4.
    pub(crate) at: u32,
    /// The value that is written.
    pub(crate) value: u64,
    /// Write eight bytes, or only four.
    pub(crate) wide: bool,
}

/// Slots, and replaced pages that may be kept.
const SLOTS: usize = 63;
const KEPT: usize = 6;
/// Entries of the log.
const LOG: u32 = 1024;
/// The length of header, slots, heads, log, kept frames and frame states of a segment of `PAGES` pages.
pub(crate) const SHARED: u32 = 4096 + 4096 + 4096 + LOG * 128 + 4096 + 12288;
/// The offset of the commit lock.
const LOCK: u32 = 192;

impl Edit {
    /// Writes it.
    pub(crate) fn apply(&self, file: &File) {
        let at = self.at % SHARED / 4 * 4;
        // A lock held by a living process is waited for, ten seconds long: not in here.
        let lock = (LOCK - 4..LOCK + 4).contains(&at);
        let value = if lock {
            self.value | 0xffff_00ff_ffff_00ff
        } else {
            self.value
        };
        let len = if self.wide { 8 } else { 4 };
        file.write_all_at(&value.to_le_bytes()[..len], u64::from(at))
            .expect("a write");
    }
}

/// Makes a segment with a few versions in its log, and no process attached.
pub(crate) fn make(path: &Path) {
    let options = Options::new()
        .tracking(Tracking::Declared)
        .max_size((PAGES + 1) * PAGE)
        .slots(SLOTS)
        .history(KEPT * PAGE);
    let mut a = Segment::checkout(path, PAGES * PAGE, &options).expect("a new segment");
    let _b = Segment::checkout(path, 0, &options).expect("a segment");
    for round in 0..20 {
        let at = round % PAGES * PAGE + 8 * round;
        a.as_mut_slice()[at] = round as u8;
        a.touch(at..at + 1).expect("in range");
        a.commit().expect("alone");
    }
}

/// Writes a copy of an image: what follows its last byte that is not zero stays a hole.
pub(crate) fn plant(path: &Path, image: &[u8]) {
    let end = image
        .iter()
        .rposition(|&byte| byte != 0)
        .map_or(0, |at| at + 1);
    std::fs::write(path, &image[..end]).expect("a copy");
    let file = OpenOptions::new().write(true).open(path).expect("the copy");
    file.set_len(image.len() as u64).expect("a hole");
}

/// Lets working copies lag behind the log: their bases are then kept, or they are evicted.
fn lag(path: &Path, segment: &mut Segment, spoil: &mut impl FnMut()) {
    let options = Options::new().tracking(Tracking::Declared);
    let mut laggards = Vec::new();
    for round in 0..3 * LOG {
        if round % LOG == LOG / 2 {
            spoil();
            laggards.extend(Segment::checkout(path, 0, &options));
        }
        let at = round as usize % PAGES * PAGE;
        if at >= segment.len() || segment.commit_merge().is_err() {
            break;
        }
        segment.as_mut_slice()[at] ^= 1;
        let _ = segment.touch(at..at + 1);
    }
    for laggard in &mut laggards {
        spoil();
        let _ = laggard.touch(0..1);
        let _ = (laggard.diff(), laggard.update_validated());
        spoil();
        let _ = (laggard.update(), laggard.commit_merge(), laggard.discard());
    }
}

/// Opens the segment and does everything to it, with `edits` in between. Any result will do, as long as every call
/// returns.
pub(crate) fn exercise(path: &Path, edits: &[Edit]) {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(path)
        .expect("the file");
    let mut edits = edits.iter();
    let mut spoil = || {
        if let Some(edit) = edits.next() {
            edit.apply(&file);
        }
    };
    spoil();
    spoil();
    let tracking = Tracking::Declared;
    let Ok(mut segment) = Segment::checkout(path, 0, &Options::new().tracking(tracking)) else {
        return;
    };
    for round in 0..6u8 {
        spoil();
        let _ = (
            segment.is_behind(),
            segment.trunk_version(),
            segment.incoming(),
        );
        spoil();
        let _ = segment.update();
        let len = segment.len();
        for page in 0..len / PAGE {
            let at = page * PAGE + usize::from(round);
            segment.as_mut_slice()[at] ^= round;
            let _ = segment.touch(at..at + 1);
        }
        let _ = segment.diff();
        spoil();
        let _ = match round % 3 {
            0 => segment.commit(),
            1 => segment.commit_merge(),
            _ => segment.commit_merge_validated(),
        };
        spoil();
        let _ = segment.update_validated();
        let _ = segment.update_with(|_| Choice::Incoming);
        spoil();
        let _ = segment.discard();
    }
    lag(path, &mut segment, &mut spoil);
    let _ = segment.grow((PAGES + 1) * PAGE);
    drop(segment);
    if let Ok(doctor) = Doctor::open(path) {
        spoil();
        let _ = (doctor.report(), doctor.repair(), doctor.check());
    }
}

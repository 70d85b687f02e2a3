//! The stage of a case: a segment, warm, and another process at its other end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use fyris_segment::{Options, PAGE, Segment};

use super::fit::{FittedLine, fit};
use crate::args::BenchArgs;
use crate::cpus::Cpus;
use crate::error::BenchError;
use crate::process::Partner;
use crate::rng::Rng;
use crate::shared::SharedMap;
use crate::stats::Samples;

/// Bytes of a word.
pub(super) const WORD: usize = 8;

/// The word of a page that this process writes to, and the partner's.
pub(super) const OWN_WORD: usize = 3;
pub(super) const PARTNER_WORD: usize = 200;

/// Pages that one commit of the warming writes.
const WARM: usize = 512;

/// The setting that a case needs.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Bytes of the segment.
    pub bytes: usize,
    /// Whether writes are declared, or else found.
    pub declared: bool,
    /// Whether the other process has another CPU.
    pub cross: bool,
}

/// The segment, the partner, and where in the order of pages they are.
pub(super) struct Stage {
    pub(super) segment: Segment,
    pub(super) partner: Partner,
    /// Plain memory that the partner writes to as well.
    pub(super) plain: SharedMap,
    declared: bool,
    quick: bool,
    order: Vec<usize>,
    cursor: usize,
    value: u64,
}

/// Returns a random order of the pages, the same in every process.
pub(super) fn order(pages: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..pages).collect();
    Rng::new(7).shuffle(&mut order);
    order
}

/// Nanoseconds since then.
pub(super) fn warm_ns(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64
}

/// Returns the options of both ends.
pub(super) fn options(declared: bool) -> Options {
    let options = Options::new().after_unlink(true);
    if declared {
        options.declared()
    } else {
        options
    }
}

impl Stage {
    /// Makes a segment and its partner, and warms both. Their names are gone when this returns.
    pub(super) fn set(args: &BenchArgs, setting: Setting, cpus: &Cpus) -> Result<Self, BenchError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Relaxed: only the numbers matter.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("fyris-harness-{}-{number}", std::process::id());
        let segment = Segment::checkout(
            &name,
            setting.bytes,
            &options(setting.declared).exclusive(true),
        )?;
        let plain_name = format!("{name}-plain");
        let plain = SharedMap::make(&plain_name, setting.bytes)?;
        let cpu = cpus
            .second()
            .filter(|_| setting.cross)
            .unwrap_or(cpus.first());
        let part = format!("{name} {} {} {cpu}", setting.bytes, setting.declared);
        let partner = join(args, &part);
        // Taken away before anything else can fail, so that nothing stays behind.
        Segment::unlink(&name)?;
        SharedMap::unlink(&plain_name)?;
        let mut stage = Self {
            segment,
            partner: partner?,
            plain,
            declared: setting.declared,
            quick: args.quick,
            order: order(setting.bytes / PAGE),
            cursor: 0,
            value: 0,
        };
        stage.warm()?;
        Ok(stage)
    }

    /// Touches every page, here and there, and makes every frame of the trunk that will be used.
    fn warm(&mut self) -> Result<(), BenchError> {
        for _ in 0..2 * self.order.len().div_ceil(WARM) {
            let pages = self.next_pages(WARM);
            self.write(&pages)?;
            self.segment.commit()?;
            self.partner.ask("update")?;
        }
        // SAFETY: the partner waits for a command.
        unsafe { self.plain.bytes_mut() }.fill(1);
        Ok(())
    }

    /// Returns the next pages of the order: places in it, for the partner.
    pub(super) fn next_places(&mut self, count: usize) -> (usize, usize) {
        let start = self.cursor;
        self.cursor = (start + count) % self.order.len();
        (start, count)
    }

    /// Returns the pages at these places.
    pub(super) fn pages(&self, (start, count): (usize, usize)) -> Vec<usize> {
        let all = self.order.iter().copied().cycle();
        all.skip(start).take(count).collect()
    }

    /// Returns the next pages of the order.
    pub(super) fn next_pages(&mut self, count: usize) -> Vec<usize> {
        let places = self.next_places(count);
        self.pages(places)
    }

    /// Returns the same pages, whenever it is called.
    pub(super) fn hot_pages(&self, count: usize) -> Vec<usize> {
        self.order[..count].to_vec()
    }

    /// Returns a value that no process has written yet.
    pub(super) fn next_value(&mut self) -> u64 {
        self.value += 1;
        self.value
    }

    /// Returns the value last given out.
    pub(super) fn value(&self) -> u64 {
        self.value
    }

    /// Writes a new word into each page; nanoseconds of it. Declares the writes first if that is how they are noticed.
    pub(super) fn write(&mut self, pages: &[usize]) -> Result<f64, BenchError> {
        let value = self.next_value();
        if self.declared {
            for &page in pages {
                let at = page * PAGE + OWN_WORD * WORD;
                self.segment.touch(at..at + WORD)?;
            }
        }
        let bytes = self.segment.as_mut_slice();
        let start = Instant::now();
        for &page in pages {
            write_word(bytes, page, OWN_WORD, value);
        }
        Ok(warm_ns(start))
    }

    /// Returns the number of rounds for a number of pages: more where they are quick.
    pub(super) fn rounds(&self, pages: usize) -> usize {
        let rounds = (4000 / pages.max(1)).clamp(8, 80);
        if self.quick {
            rounds.div_ceil(4)
        } else {
            rounds
        }
    }

    /// Times something at several numbers of pages; the line through the medians.
    pub(super) fn slope(
        &mut self,
        counts: &[usize],
        mut once: impl FnMut(&mut Self, usize) -> Result<f64, BenchError>,
    ) -> Result<FittedLine, BenchError> {
        let mut points = Vec::with_capacity(counts.len());
        for &count in counts {
            let mut samples = Samples::default();
            once(self, count)?;
            for _ in 0..self.rounds(count) {
                samples.push(once(self, count)?);
            }
            points.push((count as f64, samples.median()));
        }
        Ok(fit(&points))
    }

    /// Refuses a word that is not what it should be after an update.
    pub(super) fn check(&self, pages: &[usize], word: usize, value: u64) -> Result<(), BenchError> {
        let bytes = self.segment.as_slice();
        let wrong = |&&page: &&usize| read_word(bytes, page, word) != value;
        match pages.iter().find(wrong) {
            None => Ok(()),
            Some(&page) => Err(BenchError::WrongAnswer(format!(
                "word {word} of page {page} is {} after an update, and not {value}",
                read_word(bytes, page, word)
            ))),
        }
    }
}

fn join(args: &BenchArgs, part: &str) -> Result<Partner, BenchError> {
    let mut partner = Partner::start(args, part)?;
    partner.ask("join")?;
    Ok(partner)
}

/// Writes a word of a page.
#[inline]
pub(super) fn write_word(bytes: &mut [u8], page: usize, word: usize, value: u64) {
    let at = page * PAGE + word * WORD;
    bytes[at..at + WORD].copy_from_slice(&value.to_ne_bytes());
}

/// Returns a word of a page.
pub(super) fn read_word(bytes: &[u8], page: usize, word: usize) -> u64 {
    u64::from_ne_bytes(bytes.as_chunks().0[page * PAGE / WORD + word])
}

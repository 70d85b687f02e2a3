//! The other process's part.
//!
//! | command | what it does |
//! |---|---|
//! | `join` | checks the segment out and touches all of it |
//! | `update` | updates |
//! | `write START COUNT VALUE` | writes a word into each of these pages, in the common order, and commits |
//! | `fill START COUNT VALUE` | writes every word of them, and commits |
//! | `plain START COUNT VALUE` | writes every word of the same pages of the plain memory |

use fyris_segment::{PAGE, Segment};

use super::stage::{PARTNER_WORD, WORD, options, order, write_word};
use crate::args::BenchArgs;
use crate::cpus::bind;
use crate::error::BenchError;
use crate::process::{serve, word};
use crate::registry::Registry;
use crate::shared::SharedMap;

/// Plays the partner until the first process has no more commands.
pub(super) fn child(_: &BenchArgs, _: &Registry, part: &str) -> Result<(), BenchError> {
    let mut partner = None;
    serve(|line| {
        if line == "join" {
            partner = Some(PartnerState::join(part)?);
        } else {
            let none = || BenchError::Child("not joined".to_owned());
            partner.as_mut().ok_or_else(none)?.obey(line)?;
        }
        Ok(String::new())
    })
}

struct PartnerState {
    segment: Segment,
    plain: SharedMap,
    order: Vec<usize>,
}

impl PartnerState {
    fn join(part: &str) -> Result<Self, BenchError> {
        let words = &mut part.split(' ');
        let (name, bytes): (String, usize) = (word(words)?, word(words)?);
        let (declared, cpu): (bool, usize) = (word(words)?, word(words)?);
        bind(cpu)?;
        let segment = Segment::checkout(&name, bytes, &options(declared).create(false))?;
        Ok(Self {
            segment,
            plain: SharedMap::join(&format!("{name}-plain"), bytes)?,
            order: order(bytes / PAGE),
        })
    }

    fn obey(&mut self, line: &str) -> Result<(), BenchError> {
        let words = &mut line.split(' ');
        match words.next() {
            Some("update") => _ = self.segment.update()?,
            Some("write") => self.write(word(words)?, word(words)?, word(words)?)?,
            Some("fill") => self.fill(word(words)?, word(words)?, word(words)?)?,
            Some("plain") => self.plain(word(words)?, word(words)?, word(words)?),
            _ => return Err(BenchError::Child(format!("`{line}` is no command"))),
        }
        Ok(())
    }

    fn pages(&self, start: usize, count: usize) -> Vec<usize> {
        let all = self.order.iter().copied().cycle();
        all.skip(start).take(count).collect()
    }

    fn write(&mut self, start: usize, count: usize, value: u64) -> Result<(), BenchError> {
        for page in self.pages(start, count) {
            write_word(self.segment.as_mut_slice(), page, PARTNER_WORD, value);
        }
        self.segment.commit_merge()?;
        Ok(())
    }

    fn fill(&mut self, start: usize, count: usize, value: u64) -> Result<(), BenchError> {
        for page in self.pages(start, count) {
            fill_page(self.segment.as_mut_slice(), page, value);
        }
        self.segment.commit_merge()?;
        Ok(())
    }

    fn plain(&mut self, start: usize, count: usize, value: u64) {
        for page in self.pages(start, count) {
            // SAFETY: the first process waits for the answer.
            fill_page(unsafe { self.plain.bytes_mut() }, page, value);
        }
    }
}

fn fill_page(bytes: &mut [u8], page: usize, value: u64) {
    (0..PAGE / WORD).for_each(|word| write_word(bytes, page, word, value));
}

//! Updates and merges: what the process that reads pays for what the other has committed.

use std::time::Instant;

use fyris_segment::PAGE;

use super::local::SCATTERED;
use super::stage::{OWN_WORD, PARTNER_WORD, Stage, warm_ns};
use crate::error::BenchError;

pub(super) fn update_sparse(stage: &mut Stage) -> Result<f64, BenchError> {
    let once = |stage: &mut Stage, count| incoming(stage, count, "write");
    Ok(stage.slope(SCATTERED, once)?.slope)
}

pub(super) fn update_dense(stage: &mut Stage) -> Result<f64, BenchError> {
    let once = |stage: &mut Stage, count| incoming(stage, count, "fill");
    Ok(stage.slope(SCATTERED, once)?.slope)
}

pub(super) fn merge_sparse(stage: &mut Stage) -> Result<f64, BenchError> {
    Ok(stage.slope(SCATTERED, merge)?.slope)
}

/// Measures the update after the partner has committed changes to the next pages; returns nanoseconds.
fn incoming(stage: &mut Stage, count: usize, command: &str) -> Result<f64, BenchError> {
    let places = stage.next_places(count);
    let value = tell(stage, places, command)?;
    let ns = update(stage)?;
    stage.check(&stage.pages(places), PARTNER_WORD, value)?;
    Ok(ns)
}

/// Measures the same where this process has changed another word of each page.
fn merge(stage: &mut Stage, count: usize) -> Result<f64, BenchError> {
    let places = stage.next_places(count);
    let pages = stage.pages(places);
    stage.write(&pages)?;
    let own = stage.value();
    let value = tell(stage, places, "write")?;
    let ns = update(stage)?;
    stage.check(&pages, OWN_WORD, own)?;
    stage.check(&pages, PARTNER_WORD, value)?;
    stage.segment.commit()?;
    stage.partner.ask("update")?;
    Ok(ns)
}

/// Has the partner change these pages, to the value returned.
fn tell(stage: &mut Stage, places: (usize, usize), command: &str) -> Result<u64, BenchError> {
    let value = stage.next_value();
    let (start, count) = places;
    stage
        .partner
        .ask(&format!("{command} {start} {count} {value}"))?;
    Ok(value)
}

fn update(stage: &mut Stage) -> Result<f64, BenchError> {
    let start = Instant::now();
    stage.segment.update()?;
    Ok(warm_ns(start))
}

/// Measures the lower bound of `update_page_dense`: the partner's pages copied out of plain shared memory.
pub(super) fn memcpy_dense(stage: &mut Stage) -> Result<f64, BenchError> {
    let mut to = vec![1u8; stage.segment.len()];
    let line = stage.slope(SCATTERED, |stage, count| {
        let places = stage.next_places(count);
        let pages = stage.pages(places);
        tell(stage, places, "plain")?;
        // SAFETY: the partner has answered, and waits for a command.
        let from = unsafe { stage.plain.bytes() };
        let start = Instant::now();
        for page in pages {
            let page = page * PAGE..(page + 1) * PAGE;
            to[page.clone()].copy_from_slice(&from[page]);
        }
        Ok(warm_ns(start))
    })?;
    std::hint::black_box(&to);
    Ok(line.slope)
}

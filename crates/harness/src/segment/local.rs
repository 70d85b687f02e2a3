//! Faults and commits: what the process that writes pays.

use std::time::Instant;

use super::stage::{Stage, warm_ns};
use crate::error::BenchError;
use crate::stats::Samples;

/// Numbers of pages for a slope over scattered pages.
pub(super) const SCATTERED: &[usize] = &[10, 30, 100, 300, 1000];

/// Numbers of pages for a slope over a hot set, which has a hundred.
const HOT: &[usize] = &[10, 25, 50, 100];

/// Numbers of pages for a fixed cost.
const FEW: &[usize] = &[1, 2, 4, 8, 16, 32];

/// Commits after which a hot set is steady.
const STEADY: usize = 20;

/// The paper's number of pages.
const HUNDRED: usize = 100;

/// Updates without news between two looks at the clock.
const NOOPS: usize = 1000;

pub(super) fn fault_first(stage: &mut Stage) -> Result<f64, BenchError> {
    faults(stage, |stage| stage.next_pages(HUNDRED))
}

pub(super) fn fault_hot(stage: &mut Stage) -> Result<f64, BenchError> {
    for _ in 0..STEADY {
        let pages = stage.hot_pages(HUNDRED);
        stage.write(&pages)?;
        commit(stage)?;
    }
    faults(stage, |stage| stage.hot_pages(HUNDRED))
}

/// Nanoseconds of a write, to pages that were committed since the last.
fn faults(stage: &mut Stage, pages: fn(&mut Stage) -> Vec<usize>) -> Result<f64, BenchError> {
    let mut samples = Samples::default();
    for _ in 0..stage.rounds(HUNDRED) {
        let pages = pages(stage);
        samples.push(stage.write(&pages)? / pages.len() as f64);
        commit(stage)?;
    }
    Ok(samples.median())
}

pub(super) fn commit_fixed(stage: &mut Stage) -> Result<f64, BenchError> {
    Ok(stage.slope(FEW, commit_scattered)?.fixed)
}

pub(super) fn commit_page_scattered(stage: &mut Stage) -> Result<f64, BenchError> {
    Ok(stage.slope(SCATTERED, commit_scattered)?.slope)
}

pub(super) fn commit_page_hot(stage: &mut Stage) -> Result<f64, BenchError> {
    let line = stage.slope(HOT, |stage, count| {
        let pages = stage.hot_pages(count);
        // The set has another size than before: until it is steady, nothing is timed.
        let before = stage.rounds(count) / 4;
        for _ in 0..before.min(STEADY) {
            stage.write(&pages)?;
            commit(stage)?;
        }
        stage.write(&pages)?;
        commit(stage)
    })?;
    Ok(line.slope)
}

fn commit_scattered(stage: &mut Stage, count: usize) -> Result<f64, BenchError> {
    let pages = stage.next_pages(count);
    stage.write(&pages)?;
    commit(stage)
}

/// Commits, and has the partner update; nanoseconds of the commit.
fn commit(stage: &mut Stage) -> Result<f64, BenchError> {
    let start = Instant::now();
    stage.segment.commit()?;
    let ns = warm_ns(start);
    stage.partner.ask("update")?;
    Ok(ns)
}

pub(super) fn update_noop(stage: &mut Stage) -> Result<f64, BenchError> {
    let mut samples = Samples::default();
    for _ in 0..stage.rounds(HUNDRED) {
        let start = Instant::now();
        for _ in 0..NOOPS {
            stage.segment.update()?;
        }
        samples.push(warm_ns(start) / NOOPS as f64);
    }
    Ok(samples.median())
}

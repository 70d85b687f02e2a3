//! Measures commits by the size of the segment: of nothing, of a page that is written each time, and of one that was
//! not written before.
//!
//! `cargo run --release -p fyris-segment --example commit_sizes`: medians in microseconds, the sizes in turns.

use std::time::Instant;

use fyris_segment::{Error, Options, PAGE, Segment, Tracking};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const SIZES: [usize; 3] = [1 << 20, 64 << 20, 1 << 30];
const ROUNDS: usize = 5;
const COMMITS: usize = 2000;
/// Few of them are scans of a large segment.
const FRESH: usize = 200;

fn main() -> Result<(), Error> {
    println!(
        "{:<10} {:>9} {:>8} {:>8} {:>8} {:>8}",
        "tracking", "MiB", "nothing", "a page", "beside", "fresh"
    );
    for tracking in [Tracking::Userfault, Tracking::Signal] {
        let mut tables: Vec<Table> = SIZES
            .iter()
            .map(|&size| Table::new(size, tracking))
            .collect::<Result<_, _>>()?;
        for _ in 0..ROUNDS {
            tables.iter_mut().try_for_each(Table::measure)?;
        }
        for table in tables {
            let [nothing, hot, beside, fresh] = table.times.map(median);
            let mib = table.segment.len() >> 20;
            println!(
                "{:<10} {mib:>9} {nothing:>8.2} {hot:>8.2} {beside:>8.2} {fresh:>8.2}",
                tracking.name()
            );
        }
    }
    Ok(())
}

struct Table {
    segment: Segment,
    times: [Vec<f64>; 4],
    random: SmallRng,
}

impl Table {
    fn new(size: usize, tracking: Tracking) -> Result<Table, Error> {
        let segment = Segment::nameless(size, &Options::new().tracking(tracking))?;
        Ok(Table {
            segment,
            times: Default::default(),
            random: SmallRng::seed_from_u64(1),
        })
    }

    fn measure(&mut self) -> Result<(), Error> {
        for n in 0..COMMITS {
            self.commit(0, None)?;
            self.commit(1, Some(n % 100 * 8))?;
        }
        // A process that lags: every commit takes a frame that was not used before.
        let laggard = self.segment.origin().checkout()?;
        for n in 0..COMMITS / 4 {
            self.commit(2, Some(n % 100 * 8))?;
        }
        drop(laggard);
        for _ in 0..FRESH {
            let page = self.random.random_range(0..self.segment.len() / PAGE);
            self.commit(3, Some(page * PAGE))?;
        }
        Ok(())
    }

    fn commit(&mut self, case: usize, at: Option<usize>) -> Result<(), Error> {
        if let Some(at) = at {
            let byte = &mut self.segment.as_mut_slice()[at];
            *byte = byte.wrapping_add(1);
        }
        let start = Instant::now();
        self.segment.commit()?;
        self.times[case].push(start.elapsed().as_nanos() as f64 / 1e3);
        Ok(())
    }
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

//! A segment's log gets longer with it, while processes are at every place in it.

mod names;

use fyris_segment::{Doctor, Options, PAGE, Segment};
use names::Name;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Pages that the segment has, one after the other: the log has 1,024 entries at first, 8,192 in the end.
const SIZES: [usize; 6] = [3, 400, 600, 601, 1100, 2100];
const ROUNDS: usize = 150;

#[test]
fn who_lags_reads_on_whatever_the_log_has_grown_to() {
    for seed in 0..2 {
        let name = Name::new("growth");
        let options = Options::new().declared();
        let checkout = |options: &Options| {
            Segment::checkout(&name.0, PAGE, &options.clone().max_size(10_000 * PAGE)).unwrap()
        };
        let mut random = StdRng::seed_from_u64(seed);
        let mut writers = [(); 2].map(|()| checkout(&options));
        let read_only = options.clone().read_only(true);
        let mut readers: Vec<Segment> = (0..4).map(|_| checkout(&read_only)).collect();
        readers.push(checkout(&read_only.in_place(true)));
        let mut model = vec![0; PAGE];
        for pages in SIZES {
            let grower = &mut writers[pages % 2];
            grower.update().unwrap();
            grower.grow(pages * PAGE).unwrap();
            model.resize(pages * PAGE, 0);
            for _ in 0..ROUNDS {
                let writer = &mut writers[random.random_range(0..2)];
                writer.update().unwrap();
                for _ in 0..random.random_range(1..10) {
                    let at = random.random_range(0..model.len());
                    model[at] = random.random();
                    writer.touch(at..at + 1).unwrap();
                    writer.as_mut_slice()[at] = model[at];
                }
                writer.commit().unwrap();
                // Some are always near, some far behind.
                let reader = random.random_range(0..readers.len());
                if random.random_ratio(1, 1 << (3 * reader).min(9)) {
                    readers[reader].update().unwrap();
                    assert!(
                        readers[reader].as_slice() == model,
                        "{seed} {pages} {reader}"
                    );
                }
            }
            Doctor::open(&name.0).unwrap().check().unwrap();
        }
        for segment in readers.iter_mut().chain(&mut writers) {
            segment.update().unwrap();
            assert!(segment.as_slice() == model);
        }
        let report = Doctor::open(&name.0).unwrap().report().unwrap();
        assert_eq!(report.log_size, 8192);
    }
}

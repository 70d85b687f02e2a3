//! Sorting by numbers that are spread evenly, as hashes are and most keys that are integers.

/// Buckets of the first pass.
const BUCKETS: usize = 256;
/// The most items for which the first pass leaves little to do.
const MOST: usize = 8 * BUCKETS;
/// The most items of a bucket that are put in order by insertion.
const CROWD: u16 = 16;

/// Sorts items by their ranks, those of the same rank in any order: one pass by the upper bits of the ranks, if they
/// are spread over many buckets, and insertions within the buckets.
pub(crate) fn sort<T: Copy>(items: &mut Vec<(u64, T)>) {
    match scattered(items) {
        Some(scattered) => *items = scattered,
        None => return items.sort_unstable_by_key(|item| item.0),
    }
    for next in 1..items.len() {
        let item = items[next];
        let mut place = next;
        while place > 0 && items[place - 1].0 > item.0 {
            items[place] = items[place - 1];
            place -= 1;
        }
        items[place] = item;
    }
}

/// Returns the items in the order of their buckets; `None` if that would not help.
fn scattered<T: Copy>(items: &[(u64, T)]) -> Option<Vec<(u64, T)>> {
    let &first = items.first().filter(|_| items.len() <= MOST)?;
    let (least, most) = items
        .iter()
        .fold((first.0, first.0), |(least, most), item| {
            (least.min(item.0), most.max(item.0))
        });
    let bits = u64::BITS - (most - least).leading_zeros();
    let shift = bits.saturating_sub(BUCKETS.ilog2());
    let bucket = |rank: u64| ((rank - least) >> shift) as usize % BUCKETS;
    let mut ends = [0u16; BUCKETS];
    items.iter().for_each(|item| ends[bucket(item.0)] += 1);
    let mut end = 0;
    for of_bucket in &mut ends {
        if *of_bucket > CROWD {
            return None;
        }
        end += *of_bucket;
        *of_bucket = end;
    }
    let mut scattered = vec![first; items.len()];
    for item in items.iter().rev() {
        let end = &mut ends[bucket(item.0)];
        *end -= 1;
        scattered[usize::from(*end)] = *item;
    }
    Some(scattered)
}

//! Pseudo-random numbers: the same seed, the same workload.

/// Returns a bijection of the 64-bit numbers that leaves no visible order (the finalizer of SplitMix64).
pub(crate) fn scramble(index: u64) -> u64 {
    let mut z = index.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A small generator of pseudo-random numbers: the same seed, the same workload.
pub(crate) struct Rng(u64);

impl Rng {
    /// Returns a generator from a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(scramble(seed))
    }

    /// Returns the next number.
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        scramble(self.0)
    }

    /// Returns a number below `bound`, which is not zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Puts the items in random order.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_stays_below_and_shuffle_keeps_all() {
        let mut rng = Rng::new(1);
        assert!((0..1000).all(|_| rng.below(7) < 7));
        let mut items: Vec<u32> = (0..100).collect();
        rng.shuffle(&mut items);
        items.sort_unstable();
        assert!(items.into_iter().eq(0..100));
    }
}

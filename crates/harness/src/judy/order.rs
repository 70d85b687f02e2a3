//! The random order: the same here and in the Erlang program, made without a list of random numbers.

/// Returns the numbers below `n` in an order that looks random.
///
/// A permutation of the numbers below a power of two, by steps that can each be undone, without those from `n` on.
pub(super) fn shuffled(n: usize) -> Vec<u32> {
    let bits = usize::BITS - n.saturating_sub(1).leading_zeros();
    let (mask, half) = ((1u64 << bits) - 1, bits / 2 + 1);
    let mixed = |x: u64| {
        let x = (x * 0x9E37_79B1) & mask;
        let x = ((x ^ x >> half) * 0x85EB_CA6B) & mask;
        x ^ x >> half
    };
    let all = (0..=mask).map(mixed).filter(|x| *x < n as u64);
    all.map(|x| x as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::shuffled;

    #[test]
    fn every_number_comes_once_and_not_in_order() {
        for n in [1, 2, 3, 16, 700, 7000, 70_000] {
            let mut order = shuffled(n);
            let steps = order.windows(2).filter(|pair| pair[0] + 1 == pair[1]);
            assert!(n < 100 || steps.count() < n / 50);
            order.sort_unstable();
            assert!(order.into_iter().eq(0..n as u32));
        }
    }
}

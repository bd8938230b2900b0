//! How long to wait before a retry.

use std::time::Duration;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A wait drawn evenly from nothing to `base` times 2 to the power of `earlier_tries`, at most
/// `cap` ("full jitter"): callers that failed together don't come back together.
pub(super) fn full_jitter(
    random: &mut ChaCha8Rng,
    base: Duration,
    cap: Duration,
    earlier_tries: u32,
) -> Duration {
    let ceiling = base.saturating_mul(1 << earlier_tries.min(20)).min(cap);
    ceiling.mul_f64(random.random_range(0.0..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn waits_are_spread_over_the_whole_range_and_never_pass_the_cap() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let (base, cap) = (Duration::from_millis(10), Duration::from_millis(50));
        let waits: Vec<_> = (0..1000).map(|_| full_jitter(&mut random, base, cap, 9)).collect();
        assert!(waits.iter().all(|wait| *wait <= cap));
        assert!(waits.iter().any(|wait| *wait < cap / 10));
        assert!(waits.iter().any(|wait| *wait > cap * 9 / 10));
    }

    #[test]
    fn the_range_doubles_with_each_try() {
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let (base, cap) = (Duration::from_millis(10), Duration::from_secs(50));
        for tries in 0..8 {
            let longest = (0..300)
                .map(|_| full_jitter(&mut random, base, cap, tries))
                .max()
                .unwrap_or_default();
            assert!(longest <= base * (1 << tries));
            assert!(longest > base * (1 << tries) / 2);
        }
    }
}

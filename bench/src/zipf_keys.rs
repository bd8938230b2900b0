//! Keys by Zipf's law, by seed.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Draws key numbers: number `n`, counted from 0, about in proportion to `1 / (n + 1)`.
#[derive(Debug)]
pub(crate) struct ZipfKeys {
    /// For each key, how likely it or one before it is drawn.
    up_to: Vec<f64>,
    random: ChaCha8Rng,
}

impl ZipfKeys {
    /// Over so many keys.
    pub(crate) fn new(keys: usize, seed: u64) -> Self {
        let mut sum = 0.0;
        let mut up_to: Vec<f64> = (1..=keys)
            .map(|rank| {
                sum += 1.0 / rank as f64;
                sum
            })
            .collect();
        up_to.iter_mut().for_each(|part| *part /= sum);
        Self { up_to, random: ChaCha8Rng::seed_from_u64(seed) }
    }

    /// The next key.
    pub(crate) fn draw(&mut self) -> usize {
        let at: f64 = self.random.random();
        self.up_to.partition_point(|&part| part <= at).min(self.up_to.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_key_comes_twice_as_often_as_the_second() {
        let mut keys = ZipfKeys::new(1000, 7);
        let mut counts = vec![0_u32; 1000];
        (0..200_000).for_each(|_| counts[keys.draw()] += 1);
        let ratio = f64::from(counts[0]) / f64::from(counts[1]);
        assert!((1.8..2.2).contains(&ratio), "{ratio}");
        assert!(counts[999] < counts[99] && counts[99] < counts[9]);
    }

    #[test]
    fn a_seed_gives_the_same_keys_again() {
        let draw = |seed| -> Vec<usize> {
            let mut keys = ZipfKeys::new(100, seed);
            (0..50).map(|_| keys.draw()).collect()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}

//! The generator of `java.util.Random`, which Nexmark's events are defined by, and those of the
//! Yahoo Streaming Benchmark are drawn with.

/// A linear congruential generator of 48 bits, as the documentation of Java's class defines it.
#[derive(Clone, Debug)]
pub(super) struct JavaRandom {
    state: u64,
}

const MULTIPLIER: u64 = 0x5_DEEC_E66D;
const MASK: u64 = (1 << 48) - 1;

impl JavaRandom {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: (seed ^ MULTIPLIER) & MASK }
    }

    /// The next `bits` bits, 1 to 32.
    #[inline]
    fn next(&mut self, bits: u32) -> i32 {
        self.state = self.state.wrapping_mul(MULTIPLIER).wrapping_add(0xB) & MASK;
        (self.state >> (48 - bits)) as i32
    }

    /// `nextInt()`: any integer.
    #[inline]
    pub(super) fn any(&mut self) -> i32 {
        self.next(32)
    }

    /// `nextInt(bound)`: from 0 and below `bound`, which is positive.
    #[inline]
    pub(super) fn below(&mut self, bound: i32) -> i32 {
        let mut bits = self.next(31);
        if bound & (bound - 1) == 0 {
            return ((i64::from(bound) * i64::from(bits)) >> 31) as i32;
        }
        // Numbers from an incomplete last run of `bound` numbers would favour the low ones.
        loop {
            let value = bits % bound;
            if bits.checked_add(bound - 1 - value).is_some() {
                return value;
            }
            bits = self.next(31);
        }
    }

    /// `nextDouble()`: from 0 and below 1.
    #[inline]
    pub(super) fn fraction(&mut self) -> f64 {
        let high = i64::from(self.next(26)) << 27;
        (high + i64::from(self.next(27))) as f64 * (1.0 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_gives_what_java_gives() {
        // From OpenJDK 17.
        let mut random = JavaRandom::new(42);
        let ints: Vec<i32> = (0..4).map(|_| random.any()).collect();
        assert_eq!(ints, [-1_170_105_035, 234_785_527, -1_360_544_799, 205_897_768]);
        let mut random = JavaRandom::new(42);
        let bounded: Vec<i32> =
            [10, 16, 100, 10_000, 1_610_612_736].map(|bound| random.below(bound)).into();
        assert_eq!(bounded, [0, 0, 48, 8_884, 662_969_970]);
        let mut random = JavaRandom::new(42);
        let fractions = [random.fraction(), random.fraction()];
        assert_eq!(fractions, [0.7275636800328681, 0.6832234717598454]);
        // A bound that makes a fifth of the draws be drawn again.
        let mut random = JavaRandom::new(7);
        let mixed = (0..100_000).fold(0_i64, |sum, _| {
            sum.wrapping_mul(31).wrapping_add(random.below(1_610_612_736).into())
        });
        assert_eq!(mixed, -4_656_801_449_096_434_441);
    }
}

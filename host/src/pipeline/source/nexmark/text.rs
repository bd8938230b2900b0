//! The random texts and prices of Nexmark's events.

use crate::pipeline::source::java_random::JavaRandom;

/// The shortest text of words.
const SHORTEST: i32 = 3;

/// Appends lower-case letters with a `gap` for every thirteenth or so, 3 to `longest` - 1 in all
/// before gaps at either end are cut off where they are spaces.
pub(super) fn words(random: &mut JavaRandom, longest: i32, gap: u8, out: &mut Vec<u8>) {
    let start = out.len();
    for _ in 0..SHORTEST + random.below(longest - SHORTEST) {
        let byte = match random.below(13) {
            0 => gap,
            _ => b'a' + random.below(26) as u8,
        };
        out.push(byte);
    }
    if gap == b' ' {
        while out.len() > start && out.last() == Some(&b' ') {
            out.pop();
        }
        let spaces = out[start..].iter().take_while(|byte| **byte == b' ').count();
        out.drain(start..start + spaces);
    }
}

/// Appends the padding that brings an event of `size` bytes to `mean` bytes on average, as the
/// text of a JSON string.
///
/// Beam takes remainders of negative numbers too, so that the letters reach from `H` to `z` and
/// take in the six marks between `Z` and `a`. One of them is the backslash, which JSON escapes.
pub(super) fn extra(random: &mut JavaRandom, size: usize, mean: usize, out: &mut Vec<u8>) {
    let Some(missing) = mean.checked_sub(size) else { return };
    let delta = (missing as f64 * 0.2).round() as usize;
    let spread = match delta {
        0 => 0,
        _ => random.below(2 * delta as i32) as usize,
    };
    let mut left = missing - delta + spread;
    while left > 0 {
        let mut letters = random.any();
        for _ in 0..left.min(6) {
            let letter = (i32::from(b'a') + letters % 26) as u8;
            letters /= 26;
            if letter == b'\\' {
                out.push(b'\\');
            }
            out.push(letter);
        }
        left = left.saturating_sub(6);
    }
}

/// A price in cents: from 100 to 100,000,000, as likely in each power of ten.
pub(super) fn price(random: &mut JavaRandom) -> u64 {
    (10_f64.powf(random.fraction() * 6.0) * 100.0 + 0.5).floor() as u64
}

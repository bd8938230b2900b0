//! What comes in: batches and watermarks of two inputs.

use overspill::burst::Time;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) number: u64,
    pub(crate) time: i64,
}

/// A key.
pub(crate) type Key = Vec<u8>;

#[derive(Clone, Debug)]
pub(crate) enum Element {
    Batch(Vec<(Key, Record)>),
    Watermark { input: usize, watermark: i64 },
    Idle { input: usize },
}

/// Elements, each with the time from which on it is there.
pub(crate) type Input = Vec<(Time, Element)>;

/// How many inputs there are.
pub(crate) const INPUTS: usize = 2;

/// Batches that come at these times with so many records, and watermarks between them.
pub(crate) fn random_input(random: &mut ChaCha8Rng, arrivals: &[(Time, usize)]) -> Input {
    let keys = random.random_range(1..=12_u8);
    let hot = if random.random_bool(0.5) { 0.7 } else { 0.1 };
    // From one watermark in many batches to many in one.
    let watermarks = [0.1, 0.5, 2.0, 8.0][random.random_range(0..4)];
    let disorder = random.random_range(1..30_i64);
    let idles = if random.random_bool(0.3) { 0.1 } else { 0.0 };
    let mut input = Input::new();
    let (mut number, mut clock) = (0, [0_i64; INPUTS]);
    for (at, records) in arrivals {
        let batch = (0..*records)
            .map(|_| {
                let by = random.random_range(0..INPUTS);
                clock[by] += random.random_range(0..4);
                number += 1;
                let key = if random.random_bool(hot) { 0 } else { random.random_range(0..keys) };
                let time = clock[by] - random.random_range(0..=disorder);
                // Keys of several lengths.
                (vec![key; 1 + usize::from(key % 3)], Record { number, time })
            })
            .collect();
        input.push((*at, Element::Batch(batch)));
        let mut odds: f64 = watermarks;
        while random.random_bool(odds.clamp(0.0, 1.0)) {
            odds -= 1.0;
            let by = random.random_range(0..INPUTS);
            if random.random_bool(idles) {
                input.push((*at, Element::Idle { input: by }));
            }
            clock[by] += random.random_range(0..3);
            let watermark = clock[by] - random.random_range(0..=disorder);
            input.push((*at, Element::Watermark { input: by, watermark }));
        }
    }
    let end = input.last().map_or(Time(0), |(at, _)| *at);
    for by in 0..INPUTS {
        input.push((end, Element::Watermark { input: by, watermark: i64::MAX }));
    }
    input
}

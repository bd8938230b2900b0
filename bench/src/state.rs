//! What a look at keyed state and a commit of the key cost, one key at a time.
//!
//! ```text
//! hot         one key, over and over: what the code itself takes
//! keys        many keys at random: what waiting for memory adds
//! batches     the same, committed 256 keys at a time, as an operator does
//! disk        four times as much state as memory, keys at random: three of four come from disk
//! ```
//!
//! What counts is the time that the thread was on a processor; for the disk, the time that passes.

use std::time::Instant;

use anyhow::Result;
use overspill::state::{KeyChange, KeyedState, NewState, StateOptions};

use crate::harness::{Report, interleaved, processor_time};

/// How many keys there are where there are many.
const KEYS: u64 = 1 << 20;
/// How many looks and commits are one measurement.
const ROUNDS: u64 = 1 << 20;
/// How many keys are committed at once in batches.
const BATCH: usize = 256;
/// Keys and their bytes of state where most are on disk.
const ON_DISK: (u64, usize) = (1 << 18, 1024);

/// Measures.
///
/// # Errors
/// When the state fails.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let setting = format!("a get and a commit of one key, {KEYS} keys of 8 bytes where not said");
    let mut report = Report::new("state", setting);
    let mut hot = Case::new(1, 8, usize::MAX)?;
    let mut hot_kilobyte = Case::new(1, 1024, usize::MAX)?;
    let mut keys = Case::new(KEYS, 8, usize::MAX)?;
    let mut kilobytes = Case::new(KEYS / 8, 1024, usize::MAX)?;
    let cases = [0, 1, 2, 3, 4, 5];
    let figures = interleaved(&cases, repeats, |case| match case {
        0 => hot.single(),
        1 => hot_kilobyte.single(),
        2 => keys.single(),
        3 => kilobytes.single(),
        4 => keys.batches(),
        _ => kilobytes.batches(),
    })?;
    let names = [
        "one hot key, 8 bytes",
        "one hot key, 1 KiB",
        "keys at random, 8 bytes",
        "131,072 keys at random, 1 KiB",
        "keys at random, 8 bytes, 256 a commit",
        "131,072 keys at random, 1 KiB, 256 a commit",
    ];
    let mut hot = f64::NAN;
    for (name, figures) in names.iter().zip(&figures) {
        let median = report.figure(*name, "ns", figures);
        if hot.is_nan() {
            hot = median;
        }
    }
    drop((keys, kilobytes));
    let (keys, bytes) = ON_DISK;
    let mut disk = Case::new(keys, bytes, keys as usize * bytes / 4)?;
    let figures = interleaved(&[()], repeats.min(3), |()| disk.on_disk())?;
    report.figure("keys at random, 1 KiB, three of four on disk (elapsed)", "ns", &figures[0]);
    report.ratio("100 ns over a hot counter's get and commit", 100.0 / hot, Some(1.0));
    Ok(report)
}

struct Case {
    state: KeyedState,
    keys: u64,
    bytes: usize,
    random: u64,
}

impl Case {
    fn new(keys: u64, bytes: usize, memory: usize) -> Result<Self> {
        let options = StateOptions { memory, ..StateOptions::new("bench") };
        let mut case = Self { state: KeyedState::open(options)?, keys, bytes, random: 1 };
        for number in 0..keys {
            case.count(number)?;
        }
        Ok(case)
    }

    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.random >> 32) % self.keys
    }

    fn count(&mut self, number: u64) -> Result<()> {
        let key = key(number);
        let found = self.state.get(&key, 0)?;
        let mut state = [0; 1024];
        next(found.state, &mut state[..self.bytes]);
        let state = NewState::Replaced(&state[..self.bytes]);
        let change = KeyChange {
            key: &key,
            version: found.version,
            state,
            set: &[],
            cancelled: &[],
            fired: &[],
        };
        Ok(self.state.commit(0, &[change])?)
    }

    /// Nanoseconds of a processor a key.
    fn single(&mut self) -> Result<f64> {
        let start = processor_time();
        for _ in 0..ROUNDS {
            let number = self.draw();
            self.count(number)?;
        }
        Ok((processor_time() - start).as_nanos() as f64 / ROUNDS as f64)
    }

    /// The same, with many keys a commit.
    fn batches(&mut self) -> Result<f64> {
        let mut states = vec![0; BATCH * self.bytes];
        let mut taken = Vec::with_capacity(BATCH);
        let start = processor_time();
        let mut done = 0;
        while done < ROUNDS {
            taken.clear();
            let first = self.draw();
            for (index, state) in states.chunks_mut(self.bytes).enumerate() {
                // No key twice, and neighbours in number are far apart in memory.
                let number = (first + index as u64 * 4099) % self.keys;
                let key = key(number);
                let found = self.state.get(&key, 0)?;
                next(found.state, state);
                taken.push((key, found.version));
            }
            let changes: Vec<_> = taken
                .iter()
                .zip(states.chunks(self.bytes))
                .map(|((key, version), state)| KeyChange {
                    key,
                    version: *version,
                    state: NewState::Replaced(state),
                    set: &[],
                    cancelled: &[],
                    fired: &[],
                })
                .collect();
            self.state.commit(0, &changes)?;
            done += BATCH as u64;
        }
        Ok((processor_time() - start).as_nanos() as f64 / done as f64)
    }

    /// Nanoseconds that pass a key, over fewer rounds.
    fn on_disk(&mut self) -> Result<f64> {
        let rounds = ROUNDS / 16;
        let start = Instant::now();
        for _ in 0..rounds {
            let number = self.draw();
            self.count(number)?;
        }
        Ok(start.elapsed().as_nanos() as f64 / rounds as f64)
    }
}

/// A key of 16 bytes.
fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key-............";
    key[8..].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key
}

/// A counter, with padding.
fn next(old: Option<&[u8]>, new: &mut [u8]) {
    let count = old.and_then(|old| old.first_chunk()).map_or(0, |count| u64::from_le_bytes(*count));
    if let Some(old) = old {
        new.copy_from_slice(old);
    }
    if let Some(place) = new.first_chunk_mut() {
        *place = (count + 1).to_le_bytes();
    }
}

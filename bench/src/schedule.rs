//! What the schedule of keyed work costs, without any work: records of keys go in, leases come
//! out, and are released.
//!
//! ```text
//! apart       every key has one chunk of records when it is taken
//! piled up    keys are taken when 16 chunks wait for each, over as many watermarks
//! small       as the first, by state size: what choosing keys for a target adds
//! ```

use anyhow::{Context, Result};
use overspill::burst::Order;
use overspill::burst::keyed::{Chunk, KeySchedule, Prefer, Take};

use crate::harness::{Report, interleaved, processor_time};

/// How many keys there are.
const KEYS: u64 = 1 << 16;
/// How many chunks are one measurement.
const CHUNKS: u64 = 1 << 20;
/// Keys a batch, and a lease.
const BATCH: u64 = 256;

/// Records that are somewhere else.
struct Records;

impl Chunk for Records {
    fn records(&self) -> usize {
        1
    }
    fn bytes(&self) -> usize {
        100
    }
}

/// Measures.
///
/// # Errors
/// When a lease can't be released.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let setting = format!("{KEYS} keys of 16 bytes, {BATCH} a batch and a lease");
    let mut report = Report::new("schedule", setting);
    let cases = [(1, Prefer::Oldest), (16, Prefer::Oldest), (1, Prefer::SmallState)];
    let figures = interleaved(&cases, repeats, |(piled, prefer)| chunks(*piled, *prefer))?;
    let names = [
        "a chunk of a key: added, taken and released",
        "the same, 16 chunks a key over 16 watermarks",
        "the same as the first, taken by the size of the state",
    ];
    for (name, figures) in names.iter().zip(&figures) {
        report.figure(*name, "ns", figures);
    }
    Ok(report)
}

/// Nanoseconds of a processor a chunk.
fn chunks(piled: u64, prefer: Prefer) -> Result<f64> {
    let mut schedule = KeySchedule::new(Order::PerKey);
    let want = Take {
        most_keys: BATCH as usize,
        most_records: usize::MAX,
        most_bytes: usize::MAX,
        prefer,
    };
    let state_bytes = |key: &[u8]| usize::from(key[15]) * 10;
    let (mut watermark, mut added, mut first) = (0, 0, 0);
    let start = processor_time();
    while added < CHUNKS {
        for _ in 0..piled {
            schedule.begin_batch();
            for number in first..first + BATCH {
                schedule.add(&key(number % KEYS), Records);
            }
            watermark += 1;
            schedule.advance(watermark);
            added += BATCH;
        }
        first += BATCH * 4099;
        while let Some(lease) = schedule.take(want, state_bytes) {
            for key in &lease.keys {
                schedule.release(lease.token, &key.key, None).context("a lease is lost")?;
            }
        }
        schedule.passed();
    }
    Ok((processor_time() - start).as_nanos() as f64 / added as f64)
}

fn key(number: u64) -> [u8; 16] {
    let mut key = *b"key-............";
    key[8..].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    key
}

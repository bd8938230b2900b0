//! Emissions, and the rejections that partials have, too.

use super::columns::{Reasons, batch_len, cause_code, read_batch, read_cause, write_batch};
use super::{Reader, Writer, padded};
use crate::{Emission, Rejection, WireError};

/// Bytes of an emission's own fields, in front of its records.
const EMISSION_HEADER: usize = 24;
/// Bytes of a rejection, less its reason.
const REJECTION: usize = 16;

/// The bytes that the emission of the first `inputs` input records takes, headers and buffers.
pub(super) fn emission_len(emission: &Emission, inputs: usize) -> usize {
    let outputs = inputs.checked_sub(1).map_or(0, |last| emission.outputs_of(last).end);
    EMISSION_HEADER
        + batch_len(&emission.records().slice(0..outputs))
        + padded(4 * inputs)
        + rejections_len(emission.rejected_in(0..inputs))
}

pub(super) fn write_emission(out: &mut Writer, emission: &Emission) {
    let rejected = emission.rejected();
    out.len(emission.inputs());
    out.len(rejected.len());
    out.len(reasons_data(rejected));
    write_batch(out, emission.records());
    out.buffer(emission.ends().inner());
    write_rejections(out, rejected);
}

pub(super) fn read_emission(from: &mut Reader<'_>) -> Result<Emission, WireError> {
    let inputs = from.count_of_records("inputs")?;
    let count = from.u64("rejected")?;
    if count > inputs as u64 {
        return Err(WireError::Value {
            field: "rejected",
            found: count,
            expected: "at most one rejection an input record",
        });
    }
    let reasons_data = from.u64("reasons_data")?;
    let records = read_batch(from)?;
    let ends = from.numbers::<u32>("ends", inputs)?;
    let rejected = read_rejections(from, count as usize, reasons_data)?;
    Ok(Emission::new(inputs, records, ends, rejected)?)
}

pub(super) fn reasons_data(rejected: &[Rejection]) -> usize {
    rejected.iter().map(|rejection| rejection.reason.len()).sum()
}

pub(super) fn rejections_len(rejected: &[Rejection]) -> usize {
    REJECTION * rejected.len() + padded(reasons_data(rejected))
}

pub(super) fn write_rejections(out: &mut Writer, rejected: &[Rejection]) {
    let mut reason_end = 0;
    for rejection in rejected {
        reason_end += rejection.reason.len();
        out.u32(rejection.index);
        out.u32(cause_code(rejection.cause));
        out.len(reason_end);
    }
    for rejection in rejected {
        out.bytes(rejection.reason.as_bytes());
    }
    out.pad();
}

pub(super) fn read_rejections(
    from: &mut Reader<'_>,
    count: usize,
    reasons_data: u64,
) -> Result<Vec<Rejection>, WireError> {
    // Two 64-bit words each. They are here before anything is allocated for them.
    let words = from.numbers::<u64>("rejections", count.saturating_mul(2))?;
    let mut reasons = Reasons::read(from, reasons_data)?;
    let mut rejected = Vec::with_capacity(count);
    for row in words.chunks_exact(2) {
        let (index, cause) = (row[0] as u32, read_cause((row[0] >> 32) as u32)?);
        rejected.push(Rejection { index, cause, reason: reasons.next(row[1])? });
    }
    reasons.finish()?;
    Ok(rejected)
}

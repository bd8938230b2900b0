//! Shipments and their steps.

use super::super::columns::{
    BATCH_HEADER, batch_len, column_len, read_batch, read_bools, read_column, write_batch,
    write_bools, write_column,
};
use super::super::{Reader, Writer, padded};
use super::timers::{read_timers, timers_len, write_timers};
use crate::WireError;
use crate::keyed::{KeyedError, OptionalColumn, Shipment, ShipmentParts, Step};

/// Bytes of a shipment's own fields.
const SHIPMENT_HEADER: usize = 64;
/// Bytes of a step's own fields, in front of its records.
const STEP_HEADER: usize = 40;
/// The least that a step takes: without records, the leading zero of its values' offsets is left.
const SMALLEST_STEP: usize = STEP_HEADER + BATCH_HEADER + 8;

const FIRE_PROCESSING: u64 = 1;
const PRESENT: u64 = 2;
const HELD: u64 = 4;
const INPUTS: u64 = 1;

pub(in super::super) fn shipment_len(shipment: &Shipment) -> usize {
    let ShipmentParts { keys, states, held, timers, steps, .. } = shipment.parts();
    let flags = |flags: Option<&[bool]>| padded(flags.map_or(0, <[bool]>::len));
    SHIPMENT_HEADER
        + column_len(keys)
        + 8 * keys.len()
        + column_len(states.values())
        + flags(states.present())
        + flags(held.as_deref())
        + timers_len(timers, keys.len())
        + steps.iter().map(step_len).sum::<usize>()
}

fn step_len(step: &Step) -> usize {
    STEP_HEADER
        + batch_len(&step.records)
        + 2 * padded(4 * step.keys.len())
        + padded(step.inputs.as_ref().map_or(0, |inputs| inputs.len()))
}

pub(in super::super) fn write_shipment(out: &mut Writer, shipment: &Shipment) {
    let parts = shipment.parts();
    let mut flags = 0;
    for (is_set, flag) in [
        (parts.fire_processing, FIRE_PROCESSING),
        (parts.states.present().is_some(), PRESENT),
        (parts.held.is_some(), HELD),
    ] {
        flags |= if is_set { flag } else { 0 };
    }
    out.bytes(&parts.scope.to_le_bytes());
    out.len(parts.keys.len());
    out.len(parts.keys.data().len());
    out.len(parts.states.values().data().len());
    out.len(parts.timers.timers());
    out.len(parts.steps.len());
    out.u64(flags);
    write_column(out, &parts.keys);
    out.buffer(parts.tokens.inner());
    write_column(out, parts.states.values());
    for flags in [parts.states.present(), parts.held.as_deref()].into_iter().flatten() {
        write_bools(out, flags);
    }
    write_timers(out, &parts.timers);
    for step in &parts.steps {
        write_step(out, step);
    }
}

fn write_step(out: &mut Writer, step: &Step) {
    out.u64(step.watermark as u64);
    out.u64(step.then_watermark as u64);
    out.u64(step.processing_time as u64);
    out.len(step.keys.len());
    out.u64(if step.inputs.is_some() { INPUTS } else { 0 });
    write_batch(out, &step.records);
    out.buffer(step.keys.inner());
    out.buffer(step.record_ends.inner());
    if let Some(inputs) = &step.inputs {
        out.buffer(inputs);
    }
}

pub(in super::super) fn read_shipment(from: &mut Reader<'_>) -> Result<Shipment, WireError> {
    let scope = from.u128("scope")?;
    let count = from.count_of_records("keys")?;
    let keys_data = from.u64("keys_data")?;
    let states_data = from.u64("states_data")?;
    let timers = from.count_of_records("timers")?;
    let max_steps = from.limits().max_steps;
    let step_count = from.count("steps", "max_steps", max_steps)?;
    let expected = "a sum of 1 (fire_processing), 2 (present) and 4 (held)";
    let flags = from.flags("flags", FIRE_PROCESSING | PRESENT | HELD, expected)?;
    let column = |field| move |source| KeyedError::Column { field, source };
    let fields = ["keys.offsets", "keys.data"];
    let keys = read_column(from, fields, count, keys_data, column("keys"))?;
    let tokens = from.numbers("tokens", count)?;
    let fields = ["states.offsets", "states.data"];
    let states = read_column(from, fields, count, states_data, column("states"))?;
    let present = match flags & PRESENT {
        0 => None,
        _ => Some(read_some(from, "present", count, false)?),
    };
    let held = match flags & HELD {
        0 => None,
        _ => Some(read_some(from, "held", count, true)?),
    };
    let timers =
        read_timers(from, ["timers.times", "timers.domains", "timers.ends"], timers, count)?;
    let mut steps = Vec::with_capacity(step_count.min(from.left() / SMALLEST_STEP));
    let (mut records, max) = (0, from.limits().max_records);
    for _ in 0..step_count {
        let step = read_step(from)?;
        records += step.records.len();
        if records > max {
            let (field, found, limit, max) = ("records", records as u64, "max_records", max as u64);
            return Err(WireError::Limit { field, found, limit, max });
        }
        steps.push(step);
    }
    Ok(Shipment::new(ShipmentParts {
        scope,
        keys,
        tokens,
        states: OptionalColumn::new(states, present)?,
        held,
        timers,
        fire_processing: flags & FIRE_PROCESSING != 0,
        steps,
    })?)
}

/// Reads flags of which at least one has this value: otherwise they would have been left out.
fn read_some(
    from: &mut Reader<'_>,
    field: &'static str,
    count: usize,
    value: bool,
) -> Result<std::sync::Arc<[bool]>, WireError> {
    let flags = read_bools(from, field, count)?;
    match flags.contains(&value) {
        true => Ok(flags),
        false => Err(WireError::Value {
            field,
            found: u64::from(!value),
            expected: "at least one entry to differ; otherwise it is left out",
        }),
    }
}

fn read_step(from: &mut Reader<'_>) -> Result<Step, WireError> {
    let watermark = from.i64("watermark")?;
    let then_watermark = from.i64("then_watermark")?;
    let processing_time = from.i64("processing_time")?;
    let groups = from.count_of_records("groups")?;
    let flags = from.flags("flags", INPUTS, "0, or 1 (inputs)")?;
    let records = read_batch(from)?;
    Ok(Step {
        watermark,
        then_watermark,
        processing_time,
        keys: from.numbers("step.keys", groups)?,
        record_ends: from.numbers("record_ends", groups)?,
        inputs: match flags & INPUTS {
            0 => None,
            _ => Some(from.numbers("inputs", records.len())?),
        },
        records,
    })
}

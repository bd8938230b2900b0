//! When a source's records are due.

use std::time::Duration;

use super::error_code::ErrorCode;
use super::read::Fields;
use super::tree::Value;
use super::units::{MILLISECOND, YEAR};
use crate::pipeline::source::rate::{RateProfile, Sine, Spike, Step};

/// Records per second.
const MAX_RATE: f64 = 1e9;

/// Reads the key `rate` of a source.
pub(super) fn rate(fields: &Fields<'_, '_>) -> Option<RateProfile> {
    // A bare number is a constant rate.
    if let Some(Value::Integer(_) | Value::Float(_)) = fields.any("rate") {
        return positive_rate(fields, "rate").map(RateProfile::constant);
    }
    let rate = fields.table("rate")?;
    let base = rate.number("base", 0.0..=MAX_RATE, "records per second");
    if !rate.has("base") {
        rate.missing("base", "give the records per second, such as base = 60_000");
    }
    let time = |fields: &Fields<'_, '_>, key: &'static str, right: &str| {
        if !fields.has(key) {
            fields.missing(key, right);
        }
        fields.duration(key, Duration::ZERO..=YEAR)
    };
    let level = |fields: &Fields<'_, '_>| {
        if !fields.has("rate") {
            fields.missing("rate", "give the records per second, such as rate = 330_000");
        }
        fields.number("rate", 0.0..=MAX_RATE, "records per second")
    };
    let at = "give the time from the start of the run, such as at = \"10s\"";
    let step = |fields: Fields<'_, '_>| {
        let step = time(&fields, "at", at).zip(level(&fields));
        fields.finish();
        step.map(|(at, rate)| Step { at, rate })
    };
    let mut steps: Vec<Step> = rate.tables("steps").into_iter().filter_map(step).collect();
    steps.sort_by_key(|step| step.at);
    let spike = |fields: Fields<'_, '_>| {
        let length = "give how long it lasts, such as for = \"20s\"";
        let spike = time(&fields, "at", at).zip(level(&fields)).zip(time(&fields, "for", length));
        fields.finish();
        spike.map(|((at, rate), duration)| Spike { at, rate, duration })
    };
    let mut spikes: Vec<Spike> = rate.tables("spikes").into_iter().filter_map(spike).collect();
    spikes.sort_by_key(|spike| spike.at);
    for pair in spikes.windows(2) {
        if pair[0].at + pair[0].duration > pair[1].at {
            rate.report(
                ErrorCode::BAD_VALUE,
                "spikes",
                format!("the spike at {:?} lasts into the one at {:?}", pair[0].at, pair[1].at),
                "let a spike end before the next one begins",
            );
        }
    }
    let sine = rate.table("sine").and_then(|sine| sine_of(sine, base, &steps));
    rate.finish();
    Some(RateProfile { base: base?, steps, sine, spikes })
}

fn sine_of(fields: Fields<'_, '_>, base: Option<f64>, steps: &[Step]) -> Option<Sine> {
    for (key, right) in [
        ("amplitude", "give the records per second that the rate swings up and down"),
        ("period", "give the time that one swing takes, such as period = \"60s\""),
    ] {
        if !fields.has(key) {
            fields.missing(key, right);
        }
    }
    let amplitude = fields.number("amplitude", 0.0..=MAX_RATE, "records per second");
    let period = fields.duration("period", MILLISECOND..=YEAR);
    let lowest = steps.iter().map(|step| step.rate).fold(base.unwrap_or(MAX_RATE), f64::min);
    if let Some(amplitude) = amplitude.filter(|amplitude| *amplitude > lowest) {
        fields.report(
            ErrorCode::BAD_VALUE,
            "amplitude",
            format!("a swing of {amplitude} would take the rate below zero"),
            format!("it can be at most the lowest rate it swings around, {lowest}"),
        );
    }
    fields.finish();
    amplitude.zip(period).map(|(amplitude, period)| Sine { amplitude, period })
}

/// Reads a number of records per second that isn't zero.
pub(super) fn positive_rate(fields: &Fields<'_, '_>, key: &'static str) -> Option<f64> {
    fields.number(key, 0.001..=MAX_RATE, "records per second")
}

//! How an operator bursts.

use std::time::Duration;

use super::error_code::ErrorCode;
use super::read::{Fields, suggest};
use super::target::TargetDefinition;
use super::tree::Value;
use super::units::{DAY, MILLISECOND};

/// How an operator bursts.
#[derive(Clone, Debug)]
pub struct BurstDefinition {
    /// The targets, by their place in [`Pipeline::targets`](super::Pipeline::targets).
    pub targets: Vec<usize>,
    /// How long a record may take through this operator, queueing included, before part of the
    /// work is sent away.
    pub latency_target: Duration,
    /// Who decides what is sent away.
    pub offload: Offload,
}

/// Who decides what is sent away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offload {
    /// The controller, batch by batch.
    Auto,
    /// Nothing is sent away.
    Never,
    /// Everything is, as far as the targets take it.
    Always,
    /// This share of the batches is, 0 to 1.
    Share(f64),
}

/// Reads the table `burst` of an operator.
pub(super) fn burst(fields: Fields<'_, '_>, targets: &[TargetDefinition]) -> BurstDefinition {
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    let mut chosen = Vec::new();
    for (name, place) in fields.strings("targets").unwrap_or_default() {
        match names.iter().position(|known| *known == name) {
            Some(index) => chosen.push(index),
            None => fields.reader.report(
                ErrorCode::UNKNOWN_NAME,
                place,
                &fields.key("targets"),
                format!("there is no target \"{name}\""),
                match names.is_empty() {
                    true => format!("add a [[target]] with name = \"{name}\""),
                    false => suggest(&name, &names, "\"", "the targets are"),
                },
            ),
        }
    }
    let offload = offload(&fields).unwrap_or(Offload::Auto);
    if !fields.has("targets") {
        fields.missing("targets", "name the targets to burst to, such as targets = [\"here\"]");
    }
    let latency_target =
        fields.duration("latency_target", MILLISECOND..=DAY).unwrap_or(Duration::from_millis(50));
    fields.finish();
    BurstDefinition { targets: chosen, latency_target, offload }
}

fn offload(fields: &Fields<'_, '_>) -> Option<Offload> {
    match fields.any("offload")? {
        Value::Integer(_) | Value::Float(_) => {
            fields.number("offload", 0.0..=1.0, "(the share of the batches)").map(Offload::Share)
        }
        Value::String(_) => fields.choice(
            "offload",
            &[("auto", Offload::Auto), ("never", Offload::Never), ("always", Offload::Always)],
        ),
        other => {
            fields.report(
                ErrorCode::WRONG_TYPE,
                "offload",
                format!("expected a word or a number, found {}", other.kind()),
                "it can be \"auto\", \"never\", \"always\", or a share from 0 to 1",
            );
            None
        }
    }
}

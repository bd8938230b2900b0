//! Makes a shipment of leased keys: their states, their timers, and the records that wait.

use std::sync::Arc;

use overspill_protocol::keyed::{KeyedError, Shipment, ShipmentBuilder, StateEntry, StepBuilder};

use super::chunk::{Admitted, Chunk};
use crate::burst::keyed::Lease;
use crate::state::{KeyedState, StateError};

/// Why a shipment can't be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum ShipError {
    /// The state can't be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// It would hold more than a message can.
    #[error("its keys and records are too much for one shipment: {0}")]
    Shape(#[from] KeyedError),
}

/// The shipment for a lease, at the processing time `now`.
///
/// # Errors
/// When a state can't be read.
pub(super) fn ship(
    lease: &Lease<Chunk>,
    state: &mut KeyedState,
    scope: u128,
    now: i64,
) -> Result<Shipment, ShipError> {
    let mut shipment = ShipmentBuilder::new(scope, lease.keys.len());
    let event_up_to = lease.last_watermark();
    let processing_up_to = if lease.fire_processing { now } else { i64::MIN };
    for leased in &lease.keys {
        let timers = state.timers_of(&leased.key, event_up_to, processing_up_to);
        let found = state.get(&leased.key, now)?;
        let entry = found.state.map_or(StateEntry::Missing, StateEntry::Present);
        shipment.key(&leased.key, found.version, entry, timers);
    }
    let groups = lease.groups();
    let mut groups = groups.iter().peekable();
    for (number, step) in lease.steps.iter().enumerate() {
        let mut builder = StepBuilder::new(step.watermark, step.then_watermark, now);
        let mut sources: Vec<(&Arc<Admitted>, usize)> = Vec::new();
        while let Some(group) = groups.next_if(|group| group.step == number) {
            for leased in group.chunks {
                let admitted = &leased.chunk.of;
                // Groups come batch after batch for the most part.
                let known = sources.iter().rev().find(|(other, _)| Arc::ptr_eq(other, admitted));
                let source = match known {
                    Some((_, source)) => *source,
                    None => {
                        let source = builder.source(&admitted.grouped);
                        sources.push((admitted, source));
                        source
                    }
                };
                let key = group.key as u32;
                builder.push(key, source, leased.chunk.range(), admitted.input);
            }
        }
        shipment.step(builder.finish()?);
    }
    Ok(shipment.finish(lease.fire_processing)?)
}

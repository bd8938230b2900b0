//! What a keyed operator's answers make: envelopes for each outlet, in the order that was asked
//! for.

use overspill_protocol::keyed::{KeyedError, ShipmentAnswer};
use overspill_protocol::{Batch, BatchError, Column, Piece};

use super::chunk::Chunk;
use crate::burst::keyed::{Lease, StepId, TotalOrder};
use crate::pipeline::engine::ports::Outputs;
use crate::pipeline::envelope::Envelope;
use crate::pipeline::trace::Traces;

/// Why output can't be passed on.
#[derive(Debug, thiserror::Error)]
pub(super) enum OutputError {
    /// The keys are too much.
    #[error(transparent)]
    Keyed(#[from] KeyedError),
    /// The records are too much.
    #[error(transparent)]
    Batch(#[from] BatchError),
}

/// Output of one key in one step, held back until it is its turn.
type Held = (usize, Batch, Traces);

/// Passes the output of answers on.
pub(super) struct Output {
    /// Absent: as it comes, which is in order for each key.
    total: Option<TotalOrder<Held>>,
}

impl Output {
    /// In total order or per key.
    pub(super) fn new(total: bool) -> Self {
        Self { total: total.then(TotalOrder::new) }
    }

    /// Whether nothing is held back.
    pub(super) fn is_empty(&self) -> bool {
        self.total.as_ref().is_none_or(TotalOrder::is_empty)
    }

    /// Takes the answer for a lease.
    ///
    /// # Errors
    /// When the output is more than a batch can hold.
    pub(super) fn take(
        &mut self,
        lease: &Lease<Chunk>,
        keys: &Column,
        answer: &ShipmentAnswer,
        outputs: &mut Outputs,
    ) -> Result<(), OutputError> {
        if answer.records().is_empty() {
            return Ok(());
        }
        let mut traces = Traces::default();
        for leased in lease.keys.iter().flat_map(|key| &key.chunks) {
            traces.add(&leased.chunk.of.envelope.traces);
        }
        let records = answer.records_with_keys(keys)?;
        let outlets = answer.outlets();
        let taken = match &mut self.total {
            None => by_outlet(&records, outlets, |outlet, batch| {
                outputs.records(outlet, Envelope { batch, traces: traces.clone() });
            }),
            Some(total) => {
                let mut begin = 0;
                answer.chunks().iter().try_for_each(|chunk| {
                    let range = begin..chunk.end as usize;
                    begin = range.end;
                    let place = lease.place(chunk.key as usize, chunk.step as usize);
                    let outlets = outlets.map(|outlets| &outlets[range.clone()]);
                    by_outlet(&records.slice(range), outlets, |outlet, batch| {
                        if let Some(place) = place.clone() {
                            total.add(place, (outlet, batch, traces.clone()));
                        }
                    })
                })
            }
        };
        traces.finish();
        Ok(taken?)
    }

    /// Passes on what was held back for its turn, up to `frontier`.
    ///
    /// # Errors
    /// When neighbours together are more than a batch can hold.
    pub(super) fn drain(
        &mut self,
        frontier: StepId,
        outputs: &mut Outputs,
    ) -> Result<(), OutputError> {
        let Some(total) = &mut self.total else { return Ok(()) };
        let mut run: Option<(usize, Vec<Batch>, Traces)> = None;
        let mut send = |(outlet, batches, traces): (usize, Vec<Batch>, Traces)| {
            let batch = Batch::concat(&batches)?;
            outputs.records(outlet, Envelope { batch, traces });
            Ok::<_, BatchError>(())
        };
        for (outlet, batch, traces) in total.drain(frontier) {
            match &mut run {
                Some((same, batches, all)) if *same == outlet => {
                    batches.push(batch);
                    all.add(&traces);
                    traces.finish();
                }
                _ => {
                    if let Some(before) = run.replace((outlet, vec![batch], traces)) {
                        send(before)?;
                    }
                }
            }
        }
        run.map_or(Ok(()), &mut send)?;
        Ok(())
    }
}

/// Cuts records by the outlet each goes to.
fn by_outlet(
    records: &Batch,
    outlets: Option<&[u8]>,
    mut to: impl FnMut(usize, Batch),
) -> Result<(), BatchError> {
    let Some(outlets) = outlets else {
        to(0, records.clone());
        return Ok(());
    };
    let highest = outlets.iter().copied().max().unwrap_or(0);
    for outlet in 0..=highest {
        let places = outlets.iter().enumerate().filter(|(_, other)| **other == outlet);
        let pieces: Vec<Piece> =
            places.map(|(place, _)| Piece { source: 0, range: place..place + 1 }).collect();
        if !pieces.is_empty() {
            to(usize::from(outlet), Batch::gather(std::slice::from_ref(records), &pieces)?);
        }
    }
    Ok(())
}

//! How the driver of an operator sleeps.

use std::time::Instant;

use crossbeam_channel::Select;

use super::ports::{Inputs, Outputs};
use super::workers::Workers;

/// Sleeps until a lane has something to report, a successor takes something, something comes in
/// (unless `inputs` is absent, as nothing is wanted), the core wants to be turned, or `latest`.
pub(super) fn wait(workers: &Workers, inputs: Option<&Inputs>, outputs: &Outputs, latest: Instant) {
    let mut select = Select::new();
    workers.watch(&mut select);
    outputs.watch(&mut select);
    let mut deadline = workers.next_wake().map_or(latest, |wake| wake.min(latest));
    if let Some(inputs) = inputs {
        inputs.watch(&mut select);
        deadline = inputs.next_silence().map_or(deadline, |at| at.min(deadline));
    }
    // What is ready is found at the next turn; a time-out is a turn too.
    let _ = select.ready_deadline(deadline);
}

//! One attempt, from the call to what is known of it, and its end at its deadline.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use overspill_protocol::Response;

use super::answer::Meaning;
use super::{Answered, Call};
use crate::burst::Outcome;

/// What a target notes while an attempt is under way, so that it is known even when there is no
/// answer in time.
#[derive(Debug, Default)]
pub(super) struct Notes {
    bytes_out: AtomicU64,
}

impl Notes {
    /// Notes that this many bytes of invocation are sent.
    pub(super) fn sends(&self, bytes: usize) {
        self.bytes_out.store(bytes as u64, Ordering::Relaxed);
    }
}

/// What came of an attempt in time.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) meaning: Meaning,
    pub(super) bytes_in: u64,
    /// Whether it is the runner's first call.
    pub(super) first: bool,
    /// Which runner answered.
    pub(super) runner: Option<u64>,
}

impl From<Outcome<Response>> for Ended {
    fn from(outcome: Outcome<Response>) -> Self {
        Self { meaning: outcome.into(), bytes_in: 0, first: false, runner: None }
    }
}

/// Sees an attempt to its end, or gives up on it at the call's deadline.
pub(super) async fn until_deadline<F: Future<Output = Ended>>(
    call: &Call,
    notes: &Notes,
    attempt: F,
) -> Answered {
    let begun = Instant::now();
    let deadline = tokio::time::Instant::from_std(call.deadline);
    let ended = tokio::time::timeout_at(deadline, attempt)
        .await
        .unwrap_or_else(|_| Outcome::Lost { reason: "no answer in time".to_owned() }.into());
    let Ended { meaning: Meaning { outcome, cold, compute }, bytes_in, first, runner } = ended;
    Answered {
        outcome,
        round_trip: begun.elapsed(),
        cold: cold || first,
        bytes_out: notes.bytes_out.load(Ordering::Relaxed),
        bytes_in,
        compute,
        runner,
    }
}

//! Parts of batches, and the attempts at them.

use super::interface::{AttemptId, Lane, TargetId, Time};
use super::queue::{Class, Place};

/// A run of records of a batch that is not answered yet.
#[derive(Debug)]
pub(super) struct Part {
    /// The record after its last, counted in its batch.
    pub(super) to: usize,
    /// What sending it takes.
    pub(super) bytes: usize,
    /// The records that it counts for.
    pub(super) weight: usize,
    /// The attempts under way that are for exactly this part. While there is none, it waits.
    pub(super) attempts: Vec<AttemptId>,
    /// How often targets failed at it.
    pub(super) target_failures: u32,
    /// How often targets turned it away.
    pub(super) throttles: u32,
    /// How often a runner lacked the module for it, or a state that was left out.
    pub(super) module_requests: u32,
    /// How often local lanes failed at it.
    pub(super) local_failures: u32,
    /// No target may have it any more.
    pub(super) local_only: bool,
    /// The target that should not get it before this time.
    pub(super) avoid: Option<(TargetId, Time)>,
    /// A second attempt was started because the first took too long.
    pub(super) hedged: bool,
}

impl Part {
    pub(super) fn new(to: usize, bytes: usize, weight: usize, local_only: bool) -> Self {
        Self {
            to,
            bytes,
            weight,
            attempts: Vec::new(),
            target_failures: 0,
            throttles: 0,
            module_requests: 0,
            local_failures: 0,
            local_only,
            avoid: None,
            hedged: false,
        }
    }

    /// A piece of this part, with its history.
    pub(super) fn piece(&self, to: usize, bytes: usize, weight: usize) -> Self {
        Self {
            to,
            bytes,
            weight,
            attempts: Vec::new(),
            target_failures: self.target_failures,
            throttles: self.throttles,
            module_requests: self.module_requests,
            local_failures: self.local_failures,
            local_only: self.local_only,
            avoid: self.avoid,
            hedged: false,
        }
    }

    pub(super) fn class(&self) -> Class {
        if self.local_only { Class::LocalOnly } else { Class::Any }
    }
}

/// How it stands with an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is waited for.
    Active,
    /// Its deadline passed. Its answer is welcome if it comes before another.
    GivenUp,
    /// Nobody needs its answer, but its lane is taken until it ends.
    Cancelled,
}

/// One dispatch of a part to a lane.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) lane: Lane,
    pub(super) place: Place,
    pub(super) to: usize,
    /// The records that its work counts for.
    pub(super) weight: usize,
    pub(super) sent: Time,
    /// When the core gives up on it.
    pub(super) expires: Time,
    pub(super) with_module: bool,
    /// Sent while no runner was up: its round trip holds a start.
    pub(super) starting: bool,
    pub(super) stage: Stage,
}

impl Attempt {
    /// Into how many pieces its work could be cut.
    pub(super) fn records(&self) -> usize {
        self.to - self.place.1
    }
}

//! What an answer changes: state and timers at once, then dead letters.

use std::ops::Range;

use overspill_protocol::keyed::{RejectedRecord, ShipmentAnswer, StateChange, Timer, TimerLists};

use super::chunk::Chunk;
use crate::burst::keyed::Lease;
use crate::pipeline::dead_letters::DeadLetters;
use crate::state::{KeyChange, KeyedState, NewState, StateError};

/// Commits the answer for the keys of a lease, which had these versions: all of it, or with an
/// error nothing.
///
/// # Errors
/// When a limit of the state would be passed, or its disk fails.
pub(super) fn commit(
    state: &mut KeyedState,
    lease: &Lease<Chunk>,
    versions: &[u64],
    answer: &ShipmentAnswer,
    now: i64,
) -> Result<(), StateError> {
    let mut timers = Arena::default();
    let lists: Vec<[Range<usize>; 3]> = (0..lease.keys.len())
        .map(|key| {
            [answer.set(), answer.cancelled(), answer.fired()].map(|list| timers.add(list, key))
        })
        .collect();
    let changes: Vec<KeyChange<'_>> = lease
        .keys
        .iter()
        .zip(versions)
        .zip(&lists)
        .enumerate()
        .map(|(key, ((leased, &version), [set, cancelled, fired]))| KeyChange {
            key: &leased.key,
            version,
            state: match answer.state(key) {
                (StateChange::Unchanged, _) => NewState::Unchanged,
                (StateChange::Replaced, state) => NewState::Replaced(state),
                (StateChange::Cleared, _) => NewState::Cleared,
            },
            set: &timers.0[set.clone()],
            cancelled: &timers.0[cancelled.clone()],
            fired: &timers.0[fired.clone()],
        })
        .collect();
    state.commit(now, &changes)
}

/// Timers of several lists, end to end.
#[derive(Default)]
struct Arena(Vec<Timer>);

impl Arena {
    fn add(&mut self, lists: &TimerLists, key: usize) -> Range<usize> {
        let begin = self.0.len();
        if lists.timers() > 0 {
            self.0.extend(lists.get(key));
        }
        begin..self.0.len()
    }
}

/// Hands rejected records and timers to the dead letters; says how many records there were.
pub(super) fn bury(
    dead_letters: &DeadLetters,
    operator: &str,
    lease: &Lease<Chunk>,
    answer: &ShipmentAnswer,
) -> usize {
    for rejected in answer.rejected() {
        let Some((chunk, row)) = locate(lease, rejected) else { continue };
        let admitted = &chunk.of;
        let record = admitted.rows[row] as usize;
        let (cause, reason) = (rejected.cause, &rejected.reason);
        dead_letters.rejected(operator, &admitted.envelope, record, cause, reason);
    }
    for rejected in answer.rejected_timers() {
        let key = &lease.keys[rejected.key as usize].key;
        let (time, cause) = (rejected.timer.time, rejected.cause);
        dead_letters.rejected_timer(operator, key, time, cause, &rejected.reason);
    }
    answer.rejected().len()
}

/// The chunk that a record came with, and its row in the grouped batch.
fn locate<'a>(lease: &'a Lease<Chunk>, rejected: &RejectedRecord) -> Option<(&'a Chunk, usize)> {
    let mut index = rejected.index as usize;
    let leased = lease.keys.get(rejected.key as usize)?;
    for part in leased.chunks.iter().filter(|part| part.step == rejected.step as usize) {
        let range = part.chunk.range();
        if index < range.len() {
            return Some((&part.chunk, range.start + index));
        }
        index -= range.len();
    }
    None
}

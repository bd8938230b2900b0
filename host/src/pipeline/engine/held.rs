//! Which runner still has the state of which key, so that it need not be sent again.
//!
//! A runner keeps the states of the keys that it has answered for. When a key goes to it again,
//! and its state has the version that came of that answer, the state stays at home and only its
//! fingerprint is sent. A runner that has lost it, or has another state, does nothing but say so,
//! and the state is sent after all: what is noted here is a guess that costs time when it is
//! wrong, and never a result.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::RandomState;
use overspill_protocol::keyed::Shipment;

use crate::burst::TargetId;

/// How many keys are noted at the most; past that, all is forgotten and begins anew.
const MOST_KEYS: usize = 1 << 20;

/// What went to targets of the states of keys, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StateTraffic {
    /// Sent, each time it was.
    pub(super) sent: u64,
    /// The states of the keys that were worked on there, once each time they were.
    pub(super) touched: u64,
}

/// Who answered some work elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RemoteLane {
    pub(super) target: TargetId,
    /// Which of the target's runners, where that is known.
    pub(super) runner: Option<u64>,
}

/// Which runner has the state of which key.
#[derive(Debug, Default)]
pub(super) struct Held {
    /// By the hash of a key: where its state is, and in which version. Two keys with one hash
    /// would take turns at being forgotten.
    keys: HashMap<u64, ((TargetId, u64), u64), RandomState>,
    hasher: RandomState,
    traffic: StateTraffic,
}

impl Held {
    /// Leaves out the states that a runner of the target has, and says which runner that is. With
    /// states on several runners, it is the one that has most.
    pub(super) fn leave_out(
        &mut self,
        target: TargetId,
        shipment: Shipment,
    ) -> (Shipment, Option<u64>) {
        let mut counts: HashMap<u64, usize, RandomState> = HashMap::default();
        let places: Vec<Option<u64>> = (0..shipment.len())
            .map(|key| {
                let hash = self.hash(shipment.keys().value(key));
                let ((at, runner), version) = self.keys.get(&hash)?;
                (*at == target && *version == shipment.tokens()[key]).then_some(*runner)
            })
            .collect();
        places.iter().flatten().for_each(|runner| *counts.entry(*runner).or_default() += 1);
        let runner = counts.into_iter().max_by_key(|(runner, count)| (*count, *runner));
        let Some((runner, _)) = runner else { return (shipment, None) };
        (shipment.without_states(|key| places[key] == Some(runner)), Some(runner))
    }

    /// A shipment is on its way.
    pub(super) fn sent(&mut self, shipment: &Shipment) {
        self.traffic.sent += shipment.states().values().data().len() as u64;
    }

    /// What a lane answered for some keys of a shipment, which has all its states, is committed.
    pub(super) fn committed(&mut self, lane: RemoteLane, shipment: &Shipment, keys: Range<usize>) {
        for key in keys {
            let state = shipment.states().get(key);
            self.traffic.touched += state.map_or(0, |state| state.len() as u64);
            let Some(runner) = lane.runner else { continue };
            if self.keys.len() >= MOST_KEYS {
                self.keys.clear();
            }
            let version = shipment.tokens()[key] + 1;
            let lane = (lane.target, runner);
            self.keys.insert(self.hash(shipment.keys().value(key)), (lane, version));
        }
    }

    /// A runner lacks states that were left out of a shipment.
    pub(super) fn missed(&mut self, shipment: &Shipment) {
        for key in 0..shipment.len() {
            self.keys.remove(&self.hash(shipment.keys().value(key)));
        }
    }

    pub(super) fn traffic(&self) -> StateTraffic {
        self.traffic
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }
}

#[cfg(test)]
mod tests {
    use overspill_protocol::keyed::{ShipmentBuilder, StateEntry};

    use super::*;

    const HERE: TargetId = TargetId(0);
    const ELSEWHERE: TargetId = TargetId(1);

    /// Keys with their versions; each has a state of 64 bytes.
    fn shipment(keys: &[(&str, u64)]) -> Shipment {
        let mut shipment = ShipmentBuilder::new(7, keys.len());
        for (key, version) in keys {
            shipment.key(key.as_bytes(), *version, StateEntry::Present(&[7; 64]), []);
        }
        shipment.finish(false).expect("it is sound")
    }

    fn lane(target: TargetId, runner: u64) -> RemoteLane {
        RemoteLane { target, runner: Some(runner) }
    }

    #[test]
    fn a_state_is_left_out_where_a_runner_has_just_that_version() {
        let mut held = Held::default();
        held.committed(lane(HERE, 3), &shipment(&[("a", 1), ("b", 1), ("c", 1)]), 0..2);
        let next = shipment(&[("a", 2), ("b", 3), ("c", 2)]);
        let (sent, runner) = held.leave_out(HERE, next.clone());
        assert_eq!(runner, Some(3));
        assert_eq!(sent.held_keys().collect::<Vec<_>>(), [0]);
        held.sent(&sent);
        // A fingerprint of 16 bytes stands for the state that was left out.
        assert_eq!(held.traffic(), StateTraffic { sent: 16 + 2 * 64, touched: 2 * 64 });
        assert_eq!(held.leave_out(ELSEWHERE, next.clone()), (next, None));
    }

    #[test]
    fn the_runner_that_has_most_states_is_asked() {
        let mut held = Held::default();
        let all = shipment(&[("a", 1), ("b", 1), ("c", 1)]);
        held.committed(lane(HERE, 3), &all, 0..1);
        held.committed(lane(HERE, 4), &all, 1..3);
        let (sent, runner) = held.leave_out(HERE, shipment(&[("a", 2), ("b", 2), ("c", 2)]));
        assert_eq!(runner, Some(4));
        assert_eq!(sent.held_keys().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn after_a_miss_the_state_is_sent() {
        let mut held = Held::default();
        held.committed(lane(HERE, 3), &shipment(&[("a", 1)]), 0..1);
        let next = shipment(&[("a", 2)]);
        held.missed(&next);
        assert_eq!(held.leave_out(HERE, next.clone()), (next, None));
    }
}

//! Which runner still has the state of which key, so that it need not be sent again.
//!
//! A runner keeps the states of the keys that it has answered for. When a key goes to it again,
//! and its state has the version that came of that answer, the state stays at home and only its
//! fingerprint is sent. A runner that has lost it, or has another state, does nothing but say so,
//! and the state is sent after all: what is noted here is a guess that costs time when it is
//! wrong, and never a result.
//!
//! A wrong guess also costs the other states of its shipment, which are sent twice. So no more is
//! noted for a runner than it is likely to have room for: the states used last, less after a miss,
//! and slowly more again.

use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher as _;
use std::ops::Range;

use foldhash::fast::RandomState;
use overspill_protocol::keyed::{Shipment, ShipmentAnswer, StateChange};

use crate::burst::TargetId;

/// How many bytes of states a runner is trusted to keep, at the most: a runner keeps 64 MiB unless
/// it is told otherwise, for all operators.
const MOST_ROOM: usize = 48 << 20;
/// How many it is trusted to keep however often it missed.
const LEAST_ROOM: usize = 1 << 20;
/// What a state takes there beside its key and itself: about.
const OVERHEAD: usize = 160;

/// What went to targets of the states of keys, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StateTraffic {
    /// Sent, each time it was.
    pub(super) sent: u64,
    /// The states of the keys that were sent there to be worked on, once a lease.
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
    keys: HashMap<u64, Note, RandomState>,
    runners: HashMap<Runner, Kept, RandomState>,
    /// The hashes of the keys that were sent away and whose leases have not ended.
    away: HashSet<u64, RandomState>,
    hasher: RandomState,
    /// The number of the next note.
    next: u64,
    traffic: StateTraffic,
}

/// One of a target's runners.
type Runner = (TargetId, u64);

#[derive(Clone, Copy, Debug)]
struct Note {
    runner: Runner,
    version: u64,
    bytes: usize,
    number: u64,
}

/// What is noted for a runner.
#[derive(Debug)]
struct Kept {
    room: usize,
    bytes: usize,
    states: usize,
    /// By number: the hashes of keys, the oldest first. Those with a newer note are passed over.
    order: VecDeque<(u64, u64)>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { room: MOST_ROOM, bytes: 0, states: 0, order: VecDeque::new() }
    }
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
                let Note { runner: (at, runner), version, .. } = *self.keys.get(&hash)?;
                (at == target && version == shipment.tokens()[key]).then_some(runner)
            })
            .collect();
        places.iter().flatten().for_each(|runner| *counts.entry(*runner).or_default() += 1);
        let runner = counts.into_iter().max_by_key(|(runner, count)| (*count, *runner));
        let Some((runner, _)) = runner else { return (shipment, None) };
        (shipment.without_states(|key| places[key] == Some(runner)), Some(runner))
    }

    /// A shipment goes on its way.
    pub(super) fn sent(&mut self, shipment: &Shipment) {
        self.traffic.sent += bytes(shipment);
        for key in shipment.keys().iter() {
            self.away.insert(self.hasher.hash_one(key));
        }
    }

    /// A shipment that was to go without some states went to a runner that needs all of them.
    pub(super) fn sent_whole(&mut self, all: &Shipment, left_out: &Shipment) {
        self.traffic.sent += bytes(all).saturating_sub(bytes(left_out));
    }

    /// A lease ended. A key that was sent away in it was touched there, even if the answer that
    /// counts is not that of a runner, which is one of `remote`: a local lane was sooner.
    pub(super) fn home_again(&mut self, shipment: &Shipment, remote: &[Range<usize>]) {
        if self.away.is_empty() {
            return;
        }
        for (key, name) in shipment.keys().iter().enumerate() {
            let was_away = self.away.remove(&self.hasher.hash_one(name));
            if was_away && !remote.iter().any(|range| range.contains(&key)) {
                self.traffic.touched += shipment.states().get(key).map_or(0, <[u8]>::len) as u64;
            }
        }
    }

    /// What a lane answered for some keys of a shipment, which has all its states, is committed.
    /// `answer` answers all keys.
    pub(super) fn committed(
        &mut self,
        lane: RemoteLane,
        shipment: &Shipment,
        answer: &ShipmentAnswer,
        keys: Range<usize>,
    ) {
        for key in keys {
            let state = shipment.states().get(key);
            self.traffic.touched += state.map_or(0, |state| state.len() as u64);
            let Some(runner) = lane.runner else { continue };
            let left = match answer.state(key) {
                (StateChange::Unchanged, _) => state,
                (StateChange::Replaced, state) => Some(state),
                (StateChange::Cleared, _) => None,
            };
            let name = shipment.keys().value(key);
            let hash = self.hash(name);
            self.forget(hash);
            if let Some(state) = left {
                let bytes = OVERHEAD + name.len() + state.len();
                let version = shipment.tokens()[key] + 1;
                self.note((lane.target, runner), hash, version, bytes);
            }
        }
    }

    /// A runner, if it is known which, lacks states that were left out of a shipment.
    pub(super) fn missed(&mut self, lane: RemoteLane, shipment: &Shipment) {
        for key in 0..shipment.len() {
            self.forget(self.hash(shipment.keys().value(key)));
        }
        let Some(runner) = lane.runner.map(|runner| (lane.target, runner)) else { return };
        if let Some(kept) = self.runners.get_mut(&runner) {
            kept.room = (kept.bytes.min(kept.room) / 2).max(LEAST_ROOM);
            self.shrink(runner);
        }
    }

    fn note(&mut self, runner: Runner, hash: u64, version: u64, bytes: usize) {
        let number = self.next;
        self.next += 1;
        self.keys.insert(hash, Note { runner, version, bytes, number });
        let kept = self.runners.entry(runner).or_default();
        kept.room = (kept.room + bytes / 8).min(MOST_ROOM);
        kept.bytes += bytes;
        kept.states += 1;
        kept.order.push_back((number, hash));
        if kept.order.len() > 2 * kept.states + 64 {
            let keys = &self.keys;
            let newest = |number, hash| keys.get(&hash).is_some_and(|note| note.number == number);
            kept.order.retain(|&(number, hash)| newest(number, hash));
        }
        self.shrink(runner);
    }

    fn forget(&mut self, hash: u64) {
        let Some(note) = self.keys.remove(&hash) else { return };
        if let Some(kept) = self.runners.get_mut(&note.runner) {
            kept.bytes -= note.bytes;
            kept.states -= 1;
        }
    }

    /// Forgets what a runner has no room for.
    fn shrink(&mut self, runner: Runner) {
        while let Some(kept) = self.runners.get_mut(&runner)
            && kept.bytes > kept.room
            && let Some((number, hash)) = kept.order.pop_front()
        {
            if self.keys.get(&hash).is_some_and(|note| note.number == number) {
                self.forget(hash);
            }
        }
    }

    pub(super) fn traffic(&self) -> StateTraffic {
        self.traffic
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }
}

/// What of states a shipment has, in bytes.
fn bytes(shipment: &Shipment) -> u64 {
    shipment.states().values().data().len() as u64
}

#[cfg(test)]
mod tests {
    use overspill_protocol::keyed::{ShipmentAnswerBuilder, ShipmentBuilder, StateEntry};

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

    fn lane(runner: u64) -> RemoteLane {
        RemoteLane { target: HERE, runner: Some(runner) }
    }

    /// A runner answered for keys, and left all states as they were.
    fn commit(held: &mut Held, runner: u64, shipment: &Shipment, keys: Range<usize>) {
        let mut answer = ShipmentAnswerBuilder::default();
        for _ in 0..shipment.len() {
            answer.key(StateChange::Unchanged, b"", [], [], []);
        }
        let answer = answer.finish(shipment.keys()).expect("it is sound");
        held.committed(lane(runner), shipment, &answer, keys);
    }

    #[test]
    fn a_state_is_left_out_where_a_runner_has_just_that_version() {
        let mut held = Held::default();
        commit(&mut held, 3, &shipment(&[("a", 1), ("b", 1), ("c", 1)]), 0..2);
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
    fn a_state_that_was_sent_is_touched_once_though_a_local_lane_was_sooner() {
        let mut held = Held::default();
        let all = shipment(&[("a", 1), ("b", 1), ("c", 1)]);
        held.sent(&all.slice(0..2));
        commit(&mut held, 3, &all, 0..1);
        held.home_again(&all, std::slice::from_ref(&(0..1)));
        assert_eq!(held.traffic(), StateTraffic { sent: 2 * 64, touched: 2 * 64 });
        held.home_again(&all, &[]);
        assert_eq!(held.traffic().touched, 2 * 64, "it was counted when it came home");
    }

    #[test]
    fn the_runner_that_has_most_states_is_asked() {
        let mut held = Held::default();
        let all = shipment(&[("a", 1), ("b", 1), ("c", 1)]);
        commit(&mut held, 3, &all, 0..1);
        commit(&mut held, 4, &all, 1..3);
        let (sent, runner) = held.leave_out(HERE, shipment(&[("a", 2), ("b", 2), ("c", 2)]));
        assert_eq!(runner, Some(4));
        assert_eq!(sent.held_keys().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn after_a_miss_the_state_is_sent() {
        let mut held = Held::default();
        commit(&mut held, 3, &shipment(&[("a", 1)]), 0..1);
        let next = shipment(&[("a", 2)]);
        held.missed(lane(3), &next);
        assert_eq!(held.leave_out(HERE, next.clone()), (next, None));
    }

    #[test]
    fn no_more_is_noted_than_a_runner_has_room_for() {
        let mut held = Held::default();
        let mut noted = || {
            for number in 0..300_000_u32 {
                commit(&mut held, 3, &shipment(&[(&number.to_string(), 1)]), 0..1);
            }
            let mut known = |number: u32| {
                let one = shipment(&[(&number.to_string(), 2)]);
                held.leave_out(HERE, one).1.is_some()
            };
            assert!(!known(0) && known(299_999));
            let before = held.runners[&(HERE, 3)].bytes;
            held.missed(lane(3), &shipment(&[("299999", 2)]));
            let after = held.runners[&(HERE, 3)].bytes;
            assert!(before <= MOST_ROOM && after <= before / 2, "{before}, {after}");
            let states = held.runners[&(HERE, 3)].states;
            assert_eq!(states, held.keys.len());
            assert!(held.runners[&(HERE, 3)].order.len() <= 2 * states + 65);
        };
        noted();
        noted();
    }
}

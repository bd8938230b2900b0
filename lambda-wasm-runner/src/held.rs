//! States of keys that were answered here, for the next time: a hot key's state need not come
//! again.
//!
//! A state that is kept is used only where the host asks for the very same bytes, by their
//! fingerprint. So it doesn't matter what has become of the key since, whether the host has used
//! the answer, or in which order two answers for a key are kept: what isn't what the host has is a
//! miss, and then the host sends the state.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use overspill_protocol::keyed::{
    Fingerprint, OptionalColumnBuilder, Shipment, ShipmentAnswer, StateChange, StateEntry,
};

/// What an entry takes beside its key and its state, in bytes: about.
const OVERHEAD: usize = 160;
/// No state may take more than this part of the room.
const LARGEST_SHARE: usize = 4;

/// The states that are kept, within bounds. The least recently used go first.
pub(crate) struct Held {
    most: usize,
    states: Mutex<States>,
}

#[derive(Default)]
struct States {
    /// By the scope, which names the run and the operator, and the key.
    scopes: HashMap<u128, HashMap<Arc<[u8]>, Entry>>,
    /// Every use, the oldest first. Those that aren't the last of their entry are passed over.
    uses: VecDeque<Use>,
    next: u64,
    entries: usize,
    bytes: usize,
}

struct Entry {
    version: u64,
    state: Arc<[u8]>,
    last_use: u64,
}

struct Use {
    number: u64,
    scope: u128,
    key: Arc<[u8]>,
}

/// What is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeldStats {
    /// How many states.
    pub(crate) states: usize,
    /// How much memory they take, in bytes.
    pub(crate) bytes: usize,
}

impl Held {
    /// Room for `most` bytes. With 0 nothing is kept.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, states: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, States> {
        // A panic can leave nothing worse than states that are counted wrongly.
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much is kept now.
    pub(crate) fn stats(&self) -> HeldStats {
        let states = self.lock();
        HeldStats { states: states.entries, bytes: states.bytes }
    }

    /// The shipment with the states that were left out put in. `Err`: the keys whose states aren't
    /// here as the host has them.
    pub(crate) fn fill(&self, shipment: Shipment) -> Result<Shipment, Vec<u32>> {
        let (mut found, mut missing) = (Vec::new(), Vec::new());
        {
            let mut states = self.lock();
            for key in shipment.held_keys() {
                let state = states.get(shipment.scope(), shipment.keys().value(key));
                let StateEntry::Held(asked) = shipment.state(key) else { continue };
                match state.filter(|state| Fingerprint::of(Some(state)) == asked) {
                    Some(state) => found.push((key, state)),
                    None => missing.push(key as u32),
                }
            }
        }
        if !missing.is_empty() {
            return Err(missing);
        }
        let bytes = found.iter().map(|(_, state)| state.len()).sum::<usize>();
        let sent = shipment.states().values().data().len();
        let mut states = OptionalColumnBuilder::with_capacity(shipment.len(), sent + bytes);
        let mut found = found.into_iter().peekable();
        for (key, sent) in shipment.states().iter().enumerate() {
            match found.next_if(|(held, _)| *held == key) {
                Some((_, state)) => states.push(Some(&state)),
                None => states.push(sent),
            }
        }
        Ok(shipment.with_states(states.finish()).expect("there is one state for each key"))
    }

    /// Keeps the states of the keys that `answer` answers. `asked` has all states.
    pub(crate) fn keep(&self, asked: &Shipment, answer: &ShipmentAnswer) {
        if self.most == 0 {
            return;
        }
        let mut states = self.lock();
        for key in 0..answer.len() {
            let state = match answer.state(key) {
                (StateChange::Unchanged, _) => asked.states().get(key),
                (StateChange::Replaced, state) => Some(state),
                (StateChange::Cleared, _) => None,
            };
            // One that is as short as what it is recognised by is always sent.
            let state = state.filter(|state| state.len() > Fingerprint::LEN);
            let state = state.filter(|state| state.len() <= self.most / LARGEST_SHARE);
            let version = asked.tokens()[key].saturating_add(1);
            states.put(asked.scope(), asked.keys().value(key), version, state);
        }
        states.shrink(self.most);
    }
}

impl States {
    fn get(&mut self, scope: u128, key: &[u8]) -> Option<Arc<[u8]>> {
        let entries = self.scopes.get_mut(&scope)?;
        let (key, entry) =
            entries.get_key_value(key).map(|(key, _)| Arc::clone(key)).and_then(|key| {
                let entry = entries.get_mut(&key)?;
                Some((key, entry))
            })?;
        entry.last_use = self.next;
        let state = Arc::clone(&entry.state);
        self.used(scope, key);
        Some(state)
    }

    fn put(&mut self, scope: u128, key: &[u8], version: u64, state: Option<&[u8]>) {
        let entries = self.scopes.entry(scope).or_default();
        if let Some(entry) = entries.get(key) {
            // A lane that was given up on may answer after the one that took its place.
            if entry.version > version {
                return;
            }
        }
        let Some(state) = state else { return self.remove(scope, key) };
        let number = self.next;
        let key = match entries.get_key_value(key).map(|(key, _)| Arc::clone(key)) {
            Some(key) => {
                if let Some(entry) = entries.get_mut(&key) {
                    self.bytes = self.bytes - entry.state.len() + state.len();
                    if *entry.state != *state {
                        entry.state = state.into();
                    }
                    (entry.version, entry.last_use) = (version, number);
                }
                key
            }
            None => {
                let key: Arc<[u8]> = key.into();
                let entry = Entry { version, state: state.into(), last_use: number };
                entries.insert(Arc::clone(&key), entry);
                self.entries += 1;
                self.bytes += OVERHEAD + key.len() + state.len();
                key
            }
        };
        self.used(scope, key);
    }

    fn remove(&mut self, scope: u128, key: &[u8]) {
        let Some(entries) = self.scopes.get_mut(&scope) else { return };
        if let Some(entry) = entries.remove(key) {
            self.entries -= 1;
            self.bytes -= OVERHEAD + key.len() + entry.state.len();
        }
        if entries.is_empty() {
            self.scopes.remove(&scope);
        }
    }

    /// Notes a use, which has the number [`States::next`].
    fn used(&mut self, scope: u128, key: Arc<[u8]>) {
        self.uses.push_back(Use { number: self.next, scope, key });
        self.next += 1;
        if self.uses.len() > 2 * self.entries + 64 {
            let scopes = &self.scopes;
            self.uses.retain(|one| is_last(scopes, one));
        }
    }

    fn shrink(&mut self, most: usize) {
        while self.bytes > most {
            let Some(oldest) = self.uses.pop_front() else { return };
            if is_last(&self.scopes, &oldest) {
                self.remove(oldest.scope, &oldest.key);
            }
        }
    }
}

fn is_last(scopes: &HashMap<u128, HashMap<Arc<[u8]>, Entry>>, one: &Use) -> bool {
    let entry = scopes.get(&one.scope).and_then(|entries| entries.get(&one.key));
    entry.is_some_and(|entry| entry.last_use == one.number)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test that can't go on fails")]
mod tests {
    use overspill_protocol::Column;
    use overspill_protocol::keyed::{ShipmentAnswerBuilder, ShipmentBuilder};

    use super::*;

    fn state(text: &str) -> Vec<u8> {
        format!("{text:-<40}").into_bytes()
    }

    /// A shipment of keys with their versions and states.
    fn shipment(scope: u128, keys: &[(&str, u64, Option<&str>)]) -> Shipment {
        let mut builder = ShipmentBuilder::new(scope, keys.len());
        for &(key, token, text) in keys {
            let bytes = text.map(state);
            let entry = bytes.as_deref().map_or(StateEntry::Missing, StateEntry::Present);
            builder.key(key.as_bytes(), token, entry, []);
        }
        builder.finish(false).unwrap()
    }

    fn answer(keys: &Column, states: &[(StateChange, &str)]) -> ShipmentAnswer {
        let mut builder = ShipmentAnswerBuilder::default();
        for (change, text) in states {
            builder.key(*change, &state(text), [], [], []);
        }
        builder.finish(keys).unwrap()
    }

    fn keep(held: &Held, asked: &Shipment, states: &[(StateChange, &str)]) {
        held.keep(asked, &answer(asked.keys(), states));
    }

    #[test]
    fn a_state_that_was_answered_is_there_the_next_time() {
        let held = Held::new(1 << 20);
        let first = shipment(1, &[("a", 5, Some("old")), ("b", 9, Some("as it was"))]);
        keep(&held, &first, &[(StateChange::Replaced, "new"), (StateChange::Unchanged, "")]);
        let next = [("a", 6, Some("new")), ("c", 1, Some("sent")), ("b", 10, Some("as it was"))];
        let next = shipment(1, &next);
        let asked = next.clone().without_states(|key| key != 1);
        assert_eq!(asked.held_keys().count(), 2);
        assert_eq!(held.fill(asked), Ok(next));
        assert_eq!(held.stats().states, 2);
    }

    #[test]
    fn another_state_than_the_host_has_is_a_miss() {
        let held = Held::new(1 << 20);
        let first = shipment(1, &[("a", 5, None), ("b", 5, None), ("c", 5, Some("x"))]);
        let replaced = |text| (StateChange::Replaced, text);
        keep(&held, &first, &[replaced("new"), replaced("new"), (StateChange::Cleared, "")]);
        let asked = |scope, keys: &[_]| shipment(scope, keys).without_states(|_| true);
        // The same version, but another state: the answer was a zombie's.
        let zombie = asked(1, &[("a", 6, Some("other")), ("b", 6, Some("new"))]);
        assert_eq!(held.fill(zombie), Err(vec![0]));
        assert_eq!(held.fill(asked(2, &[("a", 6, Some("new"))])), Err(vec![0]), "another run");
        let gone = asked(1, &[("c", 6, Some("x")), ("d", 0, Some("never seen"))]);
        assert_eq!(held.fill(gone), Err(vec![0, 1]));
    }

    #[test]
    fn a_late_answer_does_not_take_the_place_of_a_later_state() {
        let held = Held::new(1 << 20);
        keep(&held, &shipment(1, &[("a", 8, None)]), &[(StateChange::Replaced, "later")]);
        keep(&held, &shipment(1, &[("a", 7, None)]), &[(StateChange::Replaced, "late")]);
        let asked = shipment(1, &[("a", 9, Some("later"))]);
        assert_eq!(held.fill(asked.clone().without_states(|_| true)), Ok(asked));
    }

    #[test]
    fn only_the_keys_that_were_answered_are_kept() {
        let held = Held::new(1 << 20);
        let two = shipment(1, &[("a", 1, Some("a")), ("b", 1, Some("b"))]);
        keep(&held, &two, &[(StateChange::Unchanged, "")]);
        assert_eq!(held.stats().states, 1);
        let asked = shipment(1, &[("a", 2, Some("a")), ("b", 2, Some("b"))]);
        assert_eq!(held.fill(asked.without_states(|_| true)), Err(vec![1]));
    }

    #[test]
    fn the_room_is_bounded_and_the_least_recently_used_state_goes_first() {
        let held = Held::new(10 * (OVERHEAD + 41));
        let is_there = |key: &str| {
            let asked = shipment(1, &[(key, 1, Some("s"))]);
            held.fill(asked.without_states(|_| true)).is_ok()
        };
        for number in 0..1_000_u64 {
            let key = format!("{}", (b'A' + (number % 50) as u8) as char);
            let one = shipment(1, &[(&key, number, Some("s"))]);
            keep(&held, &one, &[(StateChange::Unchanged, "")]);
            // One that is asked for now and then stays.
            assert!(is_there("A"), "after {number}");
            let stats = held.stats();
            assert!(stats.bytes <= held.most && stats.states <= 10, "{stats:?}");
        }
        assert!(held.lock().uses.len() <= 2 * 10 + 65);
        assert_eq!(held.stats().states, 10);
        let large = "x".repeat(held.most / LARGEST_SHARE + 1);
        keep(&held, &shipment(1, &[("A", 1_000, None)]), &[(StateChange::Replaced, &large)]);
        assert!(!is_there("A"));
        assert_eq!(held.stats().states, 9);
    }

    #[test]
    fn without_room_nothing_is_kept() {
        let held = Held::new(0);
        let one = shipment(1, &[("a", 1, Some("a"))]);
        keep(&held, &one, &[(StateChange::Unchanged, "")]);
        assert_eq!(held.stats(), HeldStats::default());
        assert_eq!(held.fill(one.clone()), Ok(one), "what is sent needs no room");
    }
}

//! The keyed state at home, in its simplest form: commits are fenced by each key's version, and
//! are all or nothing.

use std::collections::{BTreeMap, BTreeSet};

use super::input::Key;
use super::operator::{State, Timer};
use super::shipment::KeyAnswer;

#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) version: u64,
    pub(crate) state: Option<State>,
    pub(crate) timers: BTreeSet<Timer>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Home {
    pub(crate) keys: BTreeMap<Key, Kept>,
}

impl Home {
    pub(crate) fn get(&self, key: &[u8]) -> Kept {
        self.keys.get(key).cloned().unwrap_or_default()
    }

    /// The bytes of a key's state; some are big.
    pub(crate) fn bytes(&self, key: &[u8]) -> usize {
        let state = self.keys.get(key).and_then(|kept| kept.state);
        state.map_or(0, |state| 8 + (state.hash % 1000) as usize)
    }

    /// Commits all, or says which key's version is not the present one.
    pub(crate) fn commit(&mut self, answers: &[KeyAnswer]) -> Result<(), Key> {
        let stale = answers.iter().find(|a| self.get(&a.key).version != a.version);
        if let Some(answer) = stale {
            return Err(answer.key.clone());
        }
        for answer in answers {
            let kept = self.keys.entry(answer.key.clone()).or_default();
            kept.version += 1;
            kept.state = answer.state;
            kept.timers.retain(|t| !answer.fired.contains(t) && !answer.cancelled.contains(t));
            kept.timers.extend(&answer.set);
        }
        Ok(())
    }

    pub(crate) fn first_event_timer(&self, key: &[u8]) -> Option<i64> {
        let timers = &self.keys.get(key)?.timers;
        timers.iter().filter(|timer| matches!(timer, Timer::Event(_))).map(|t| t.time()).min()
    }

    pub(crate) fn first_processing_timer(&self, key: &[u8]) -> Option<i64> {
        let timers = &self.keys.get(key)?.timers;
        timers.iter().filter(|timer| matches!(timer, Timer::Processing(_))).map(|t| t.time()).min()
    }
}

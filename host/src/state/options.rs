//! What a keyed state is opened with.

use std::path::PathBuf;
use std::time::Duration;

use super::error::StateError;

/// What a keyed state is opened with. The settings are those of `state` in a pipeline file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateOptions {
    /// The operator's name, for messages.
    pub operator: String,
    /// `key_groups`: how many groups the keys fall into.
    pub key_groups: u16,
    /// `memory`: how many bytes are kept in memory; what is more goes to disk.
    pub memory: usize,
    /// `max_key`: how many bytes the state of one key may have.
    pub max_state: usize,
    /// `max_total`: how many bytes keys, states and timers may have in all, in memory and on disk.
    pub max_total: u64,
    /// `ttl`: how long after its last commit a key is dropped, by processing time, to the
    /// millisecond. Absent: never.
    pub ttl: Option<Duration>,
    /// `directory`: where a private folder is made for what doesn't fit into memory. Absent: where
    /// the system keeps temporary files.
    pub directory: Option<PathBuf>,
    /// The version of the states' layout, as the operator describes it.
    pub schema: u32,
}

impl StateOptions {
    /// The defaults, for an operator of this name.
    pub fn new(operator: impl Into<String>) -> Self {
        Self {
            operator: operator.into(),
            key_groups: 128,
            memory: 256 << 20,
            max_state: 1 << 20,
            max_total: 64 << 30,
            ttl: None,
            directory: None,
            schema: 0,
        }
    }

    /// How many bytes may be in memory for good.
    pub(super) fn most_pinned(&self) -> usize {
        self.memory - self.memory / 4
    }

    pub(super) fn check(&self) -> Result<(), StateError> {
        let wrong = |setting, reason: &str| {
            let operator = self.operator.clone();
            Err(StateError::Setting { operator, setting, reason: reason.to_owned() })
        };
        if self.key_groups == 0 {
            return wrong("key_groups", "there must be at least one group");
        }
        // Lengths of states are counted in 32 bits, as in the columns they travel in.
        if u32::try_from(self.max_state).is_err() {
            return wrong("max_key", "the state of a key must be shorter than 4 GiB");
        }
        if self.ttl.is_some_and(|ttl| ttl.as_millis() == 0) {
            return wrong("ttl", "a time to live is at least a millisecond; leave it out for none");
        }
        Ok(())
    }
}

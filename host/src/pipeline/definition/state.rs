//! Where an operator keeps the state of its keys.

use std::path::PathBuf;
use std::time::Duration;

use super::error_code::ErrorCode;
use super::read::Fields;
use super::units::{GIB, MIB, MILLISECOND, YEAR};

/// Where a keyed or aggregate operator keeps its state, and how much there may be of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDefinition {
    /// Into how many groups keys are hashed: the unit in which state will be spread and moved.
    pub key_groups: u16,
    /// How much state is kept in memory before it is spilled to disk, in bytes.
    pub memory: usize,
    /// The most that one key's state may have, in bytes.
    pub max_key: usize,
    /// The most that all keys may have, in memory and on disk, in bytes.
    pub max_total: u64,
    /// How long a key's state is kept after its last change, by the host's clock; absent: for
    /// ever.
    pub ttl: Option<Duration>,
    /// The folder to spill to; absent: a folder of its own among the temporary files.
    pub directory: Option<PathBuf>,
}

impl Default for StateDefinition {
    fn default() -> Self {
        Self {
            key_groups: 128,
            memory: 256 << 20,
            max_key: 1 << 20,
            max_total: 64 << 30,
            ttl: None,
            directory: None,
        }
    }
}

/// Reads the key `state` of an operator.
pub(super) fn state(fields: &Fields<'_, '_>) -> StateDefinition {
    let default = StateDefinition::default();
    let Some(fields) = fields.table("state") else { return default };
    let key_groups = fields.integer("key_groups", 1..=32_768).map(|groups| groups as u16);
    let state = StateDefinition {
        key_groups: key_groups.unwrap_or(default.key_groups),
        memory: fields.bytes("memory", MIB..=1_024 * GIB).unwrap_or(default.memory),
        max_key: fields.bytes("max_key", 1..=GIB).unwrap_or(default.max_key),
        max_total: fields
            .bytes("max_total", 1..=1 << 50)
            .map_or(default.max_total, |bytes| bytes as u64),
        ttl: fields.duration("ttl", MILLISECOND..=YEAR),
        directory: fields.folder("directory"),
    };
    if state.max_key as u64 > state.max_total {
        let key = if fields.has("max_key") { "max_key" } else { "max_total" };
        fields.report(
            ErrorCode::BAD_VALUE,
            key,
            format!(
                "one key may have {} bytes, and all keys together only {}",
                state.max_key, state.max_total
            ),
            "let `max_total` be at least `max_key`",
        );
    }
    fields.finish();
    state
}

//! Operators that keep a state for each key.

mod columns;
mod context;
mod output;
mod runner;
mod state;
mod timer_log;

pub(crate) use columns::range;
pub use columns::{Groups, Outcome, StateChange, TimeDomain, Timer, Timers};
pub use context::Context;
pub use runner::KeyedRunner;
pub use state::KeyState;

use crate::{Description, Rejection, SettingError, Settings, StateCodec};

/// An operator that keeps a state for each key, and can set timers.
///
/// It must be pure: what a key's record does depends on the record, the key's state, the
/// watermark, the clock of the host and the settings alone. The state is a value: it comes in with
/// a key's records, and goes out again. So a key's work can run anywhere, as long as one place at
/// a time has the key. Where the host cuts a key's records into calls shows nowhere.
pub trait Keyed: Sized + 'static {
    /// What the operator says of itself.
    const DESCRIPTION: Description;

    /// What it keeps for each key.
    type State;

    /// How a state becomes bytes: [`crate::Postcard`] for types that serde knows,
    /// [`crate::LittleEndian`] for numbers, [`crate::Raw`] for bytes, or one of your own.
    type Codec: StateCodec<Self::State>;

    /// Sets the operator up, once, before the first record.
    ///
    /// `settings` holds exactly the settings that [`Self::DESCRIPTION`] lists.
    ///
    /// # Errors
    /// When a setting's value is one that the operator can't take. The pipeline then doesn't
    /// start.
    fn new(settings: &Settings) -> Result<Self, SettingError>;

    /// Processes one record of a key.
    ///
    /// # Errors
    /// When the record's data is wrong. It is then as if it had never come: what it has done to
    /// the state, its output and its timers are taken back. That costs little when it is found out
    /// before the state is touched; afterwards it costs the key's records of this call again.
    fn process(
        &self,
        record: KeyedRecord<'_>,
        state: &mut KeyState<Self::State>,
        context: &mut Context<'_>,
    ) -> Result<(), Rejection>;

    /// A timer of a key has fired, and is gone. A timer that this sets for the same clock must be
    /// later than the one that fired.
    fn on_timer(&self, timer: Timer, state: &mut KeyState<Self::State>, context: &mut Context<'_>) {
        let _ = (timer, state, context);
    }
}

/// A keyed operator that can read the states that its older versions have left. It is exported by
/// `export!(migrating keyed Name)`.
pub trait MigrateState: Keyed {
    /// Reads a state whose layout has the number `from_schema`, which is lower than
    /// [`Description::state_schema`].
    ///
    /// # Errors
    /// When it can't be read: why. The pipeline then keeps the old component.
    fn migrate_state(from_schema: u32, state: &[u8]) -> Result<Self::State, String>;
}

/// One input record of a key, borrowed from its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyedRecord<'a> {
    /// The payload.
    pub value: &'a [u8],
    /// The key.
    pub key: &'a [u8],
    /// The event time in milliseconds since 1970-01-01T00:00:00 UTC, if it has one.
    pub timestamp: Option<i64>,
    /// The number of the input that it came by: its place among [`Description::inputs`].
    pub input: u8,
}

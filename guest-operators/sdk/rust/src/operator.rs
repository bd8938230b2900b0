//! The trait that an author implements, and what it takes and returns.

use std::borrow::Cow;

use crate::{Description, Emitter, SettingError, Settings};

/// An operator that looks at each record on its own, and turns it into none, one or many.
///
/// It must be pure: what it emits depends on the record and the settings alone. It may keep
/// caches behind interior mutability, never anything that shows in its output.
pub trait FlatMap: Sized + 'static {
    /// What the operator says of itself.
    const DESCRIPTION: Description;

    /// Sets the operator up, once, before the first record.
    ///
    /// `settings` holds exactly the settings that [`Self::DESCRIPTION`] lists: the SDK has put in
    /// the defaults, and has refused unknown ones.
    ///
    /// # Errors
    /// When a setting's value is one that the operator can't take. The pipeline then doesn't
    /// start.
    fn new(settings: &Settings) -> Result<Self, SettingError>;

    /// Processes one record: what it becomes goes to `out`.
    ///
    /// # Errors
    /// When the record's data is wrong. It then makes no output: what it has emitted so far is
    /// taken back. A panic is for bugs; it costs the host a search for the record that did it.
    fn flat_map(&self, record: Record<'_>, out: &mut Emitter) -> Result<(), Rejection>;
}

/// One input record, borrowed from its batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// The payload.
    pub value: &'a [u8],
    /// The key; empty when it has none.
    pub key: &'a [u8],
    /// The event time in milliseconds since 1970-01-01T00:00:00 UTC, if it has one.
    pub timestamp: Option<i64>,
}

/// Why a record was not processed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    pub(crate) reason: Cow<'static, str>,
}

impl Rejection {
    /// A rejection with a reason, for the person who reads the dead letters: what was expected
    /// and what was found.
    pub fn new(reason: impl Into<Cow<'static, str>>) -> Self {
        Self { reason: reason.into() }
    }

    /// The reason.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

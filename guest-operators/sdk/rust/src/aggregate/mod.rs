//! Operators whose state merges in any order.

mod columns;
mod runner;

pub use columns::{Partials, RecordGroups, Results};
pub use runner::AggregateRunner;

use crate::{Description, Emitter, KeyedRecord, Rejection, SettingError, Settings, StateCodec};

/// An operator whose state for a key can be made in parts, which merge in any order.
///
/// So a hot key's records can be worked on in many places at once, and no state is shipped. Its
/// laws, for all partials `a`, `b` and `c`, where `none` is the default:
///
/// - merging is associative and commutative: `a + b` is `b + a`, and `(a + b) + c` is `a + (b + c)`;
/// - `none` changes nothing: `none + a` is `a`;
/// - accumulating some records and then others into one partial gives the same as accumulating
///   them into two and merging these.
///
/// "The same" means the same bytes, or at least bytes of which [`Self::finish`] makes the same
/// output. Sums of floating-point numbers, say, break the laws.
pub trait Aggregate: Sized + 'static {
    /// What the operator says of itself.
    const DESCRIPTION: Description;

    /// What it makes of a key's records. The default is that of no record.
    type Partial: Default;

    /// How a partial becomes bytes: [`crate::Postcard`] for types that serde knows, or another.
    type Codec: StateCodec<Self::Partial>;

    /// Sets the operator up, once, before the first record.
    ///
    /// `settings` holds exactly the settings that [`Self::DESCRIPTION`] lists.
    ///
    /// # Errors
    /// When a setting's value is one that the operator can't take. The pipeline then doesn't
    /// start.
    fn new(settings: &Settings) -> Result<Self, SettingError>;

    /// Adds a record to a partial.
    ///
    /// # Errors
    /// When the record's data is wrong. The partial is then brought back to what it was, by
    /// accumulating the records before it once more: best find it out before the partial is
    /// changed, and return [`Rejection`] from there.
    fn accumulate(
        &self,
        record: KeyedRecord<'_>,
        partial: &mut Self::Partial,
    ) -> Result<(), Rejection>;

    /// Merges another partial of the key into one.
    fn merge(&self, partial: &mut Self::Partial, other: Self::Partial);

    /// Turns a finished partial into output. An output record has the key, and the event time
    /// `time`, unless they are set. `time` is the end of the partial's window, or the watermark
    /// where there is no window, in milliseconds since 1970-01-01T00:00:00 UTC.
    fn finish(&self, key: &[u8], partial: Self::Partial, time: i64, out: &mut Emitter);
}

//! Work by key: what goes to a lane for an operator with a state for each key, and what comes back.
//!
//! A key is in one place at a time. When a lane gets keys, it gets a [`Shipment`]: for each key
//! its state, its timers that can fire, and its *steps*, which are the records that wait with the
//! watermarks between them. The [`ShipmentAnswer`] has, for each key, what becomes of its state
//! and timers, and its output by step. The host commits it all at once, or none of it.
//!
//! ```text
//!           step 0          step 1        step 2
//!  key a    a1 a2 | W=10    a3 | W=20          |          state, timers ->  state, timers
//!  key b    b1    |            |         b2 b3 |  ...  -> outputs of (step, key), rising
//! ```
//!
//! An `aggregate` operator needs no state: it is sent [`KeyedRecords`] and answers with
//! [`Partials`], which are merged at home.

mod aggregate;
mod answer;
mod answer_builder;
mod error;
mod fingerprint;
mod optional_column;
mod parts;
mod shipment;
mod step;
mod timer;
mod unique;

pub use aggregate::{KeyedRecords, Partials};
pub use answer::{
    Chunk, RejectedRecord, RejectedTimer, ShipmentAnswer, ShipmentAnswerParts, StateChange,
};
pub use answer_builder::{KeyEffects, ShipmentAnswerBuilder};
pub use error::KeyedError;
pub(crate) use error::rising;
pub use fingerprint::Fingerprint;
pub use optional_column::{OptionalColumn, OptionalColumnBuilder};
pub use shipment::{Shipment, ShipmentBuilder, ShipmentParts, StateEntry};
pub use step::{Step, StepBuilder};
pub use timer::{TimeDomain, Timer, TimerLists, TimerListsBuilder};

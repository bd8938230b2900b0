//! The burst core: which lane runs which batch, and how the answers become one ordered stream.
//!
//! ```text
//! submit(now, work) -> [queue of parts] -> poll(now): Run on a lane
//!                             ^                 |
//!                             |                 v
//!                       retry, rest      handle(now, Answered)
//!                             |                 |
//!                             +-----------------+--> [merge] -> poll(now): Emit in order
//! ```
//!
//! It is a set of state machines without clock, socket or file: time and observations come in as
//! arguments, and what is to be done comes out as an [`Action`]. The embedded pipeline, a
//! connector for another engine and the simulator turn the same machines.

mod interface;

pub use interface::{
    Action, Answer, AttemptId, Event, Lane, Outcome, Sequence, TargetId, Time, Work,
};

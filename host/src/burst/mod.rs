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
//!
//! [`Core`] ties them together. `queue` holds the parts that wait and `merge` the batches that
//! are not emitted; `local` and `remote` are the lanes, with `limit`, `breaker` and `backoff` for
//! targets that throttle or fail; `rate` measures, and [`controller`](Observation) decides.
//!
//! [`find_bottleneck`] names the operator of a graph that holds the others back.
//!
//! [`keyed`] says which keys of a stateful operator can be worked on, and [`WatermarkMerge`] and
//! [`Gate`] when a watermark goes on.

mod backoff;
mod bottleneck;
mod breaker;
mod controller;
mod core;
mod decision;
mod interface;
pub mod keyed;
mod limit;
mod local;
mod merge;
mod part;
mod policy;
mod queue;
mod rate;
mod remote;
mod snapshot;
mod watermark;

pub use self::core::Core;
pub use bottleneck::{Bottleneck, QueueHistory, StageLoad, find_bottleneck};
pub use breaker::BreakerState;
pub use controller::{Assessment, Observation, Pressure};
pub use decision::{Decision, DecisionKind, Reason};
pub use interface::{
    Action, Answer, AttemptId, Event, Hint, Lane, Outcome, Sequence, TargetId, Time, Wants, Work,
};
pub use policy::{LocalPolicy, Offload, Order, Policy, Price, Runners, TargetPolicy};
pub use remote::Counts;
pub use snapshot::{BurstTimes, Snapshot, TargetSnapshot};
pub use watermark::{Gate, WatermarkMerge};

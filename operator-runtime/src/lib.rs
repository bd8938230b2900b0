//! Runs operators: loads components, keeps instances, runs batches within limits.

mod cache;
mod convert;
mod description;
mod engine;
mod epoch;
mod error;
mod instance;
mod join;
mod limits;
mod load;
mod pool;
mod run;
mod wasi;
mod world;

pub use description::{Description, Kind, Setting};
pub use error::{ConfigureError, Fault, InstanceError, LoadError, RunError, RuntimeError};
pub use limits::{LimitExceeded, LimitName, Limits};
pub use load::{Operator, Runtime, RuntimeOptions};
pub use pool::{Instance, Pool};
pub use run::{Call, Run, RunReport};

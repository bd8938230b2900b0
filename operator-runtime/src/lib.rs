//! Runs operators: loads a component, keeps instances of it, and runs batches within limits.
//!
//! ```text
//!  component bytes --load--> Operator --pool(settings, limits)--> Pool --take--> Instance --+
//!     |  world and imports checked (world)         instances are recycled            |      |
//!     +--> compiled once, kept on disk (cache)     when they have had their time     |     run
//!                                                                                    |      |
//!  Batch --lowered into the guest's memory (convert)--> flat-map --lifted, checked---+      |
//!            a fault: new instance, the batch is halved, the bad record is rejected (run)   |
//!                                                                                           v
//!                                                              Emission + what it took <--- Run
//! ```
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use overspill_operator_runtime::{Call, Limits, Runtime, RuntimeOptions};
//! use overspill_protocol::{Batch, Column};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let runtime = Runtime::new(RuntimeOptions::default())?;
//! let operator = runtime.load(&std::fs::read("tokenizer.wasm")?)?;
//! println!("{} {}", operator.description().name, operator.description().version);
//!
//! // One pool for each set of settings; one instance for each thread.
//! let limits = Limits { deadline: Duration::from_secs(2), ..Limits::default() };
//! let pool = operator.pool(&[], limits)?;
//! let mut instance = pool.take()?;
//!
//! let batch = Batch::from_values(Column::from_values(["The quick", "brown fox"]));
//! let run = instance.run(&batch, &Call { processing_time: 0, ..Call::default() })?;
//! for token in run.emission.records().values().iter() {
//!     println!("{}", String::from_utf8_lossy(token));
//! }
//! for rejection in run.emission.rejected() {
//!     println!("record {}: {}", rejection.index, rejection.reason);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! What a guest gets is its batch and settings, and nothing else: no files, no network, no
//! environment, no time but the batch's, no randomness but what is drawn from the batch. NaNs are
//! canonical. So the same guest call gives the same bytes on every machine.
//!
//! What a guest can do to the host is be slow up to its deadline, and be large up to its limits.
//! Traps, time-outs, passed limits and broken promises are found, and cost the record that caused
//! them: it comes back as a rejection, and the others go on.
//!
//! This crate never opens a socket, never decides where a batch runs, never retries what isn't a
//! guest's fault, and keeps nothing of a batch once it has answered.

mod aggregate;
mod cache;
mod calls;
mod convert;
mod description;
mod engine;
mod epoch;
mod error;
mod functions;
mod instance;
mod limits;
mod load;
mod migrate;
mod pool;
mod run;
mod shipment;
mod wasi;
mod world;

pub use aggregate::{AccumulateRun, Finished};
pub use description::{Description, Kind, Setting};
pub use error::{ConfigureError, Fault, InstanceError, LoadError, RunError, RuntimeError};
pub use limits::{LimitExceeded, LimitName, Limits};
pub use load::{Operator, Runtime, RuntimeOptions};
pub use pool::{Instance, Pool};
pub use run::{Call, Run, RunReport};
pub use shipment::KeyedRun;

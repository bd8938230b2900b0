//! What travels between the host and a runner, and the columns that records travel in.
//!
//! ```text
//! Request -> Invocation -> bytes ~~network~~> bytes -> Invocation -> Request -> operator
//!                                                                                  |
//! Response <- Reply <- bytes <~~~~~~~~~~~~~~~~~~~~~~~ bytes <- Reply <- Response <-+
//! ```
//!
//! A [`Request`] is of one of three kinds, as operators are: records on their own (a [`Batch`],
//! answered by an [`Emission`]), keys with their states (a [`Shipment`](keyed::Shipment), see
//! [`keyed`]), or records by key for partial states. Whatever comes from outside (a guest, a file,
//! the network) is checked where it enters: none of them can be had in a broken state. This crate never
//! opens a socket, never runs a guest, and knows neither `tokio` nor `wasmtime`.
//!
//! ```
//! use std::time::Duration;
//!
//! use overspill_protocol::{
//!     Batch, CallLimits, Column, Compression, Digest, Emission, Invocation, Limits, Reply, Report,
//!     Request, Response,
//! };
//!
//! // The host asks ...
//! let invocation = Invocation {
//!     id: 1,
//!     module: Digest::of(b"the bytes of a component"),
//!     settings: vec![("language".into(), "en".into())],
//!     processing_time: 1_700_000_000_000,
//!     deadline: Duration::from_secs(5),
//!     max_reply: 6 << 20,
//!     limits: CallLimits::default(),
//!     work: Batch::from_values(Column::from_values(["to be", "or not to be"])).into(),
//! };
//! let request = invocation.encode(Compression::None);
//!
//! // ... the runner answers: two words came of the first record, four of the second ...
//! let asked = Invocation::decode(request, &Limits::default())?;
//! let words = Column::from_values(["to", "be", "or", "not", "to", "be"]);
//! let emission = Emission::new(asked.work.len(), Batch::from_values(words), vec![2, 6], vec![])?;
//! let report = Report { compute: Duration::from_micros(3), cold: false, memory: 1 << 20 };
//! let reply = Reply::answer(&asked, Response::FlatMap(emission), report);
//! let response = reply.encode(Compression::None);
//!
//! // ... and the host takes the records, with the keys and times that they inherit.
//! let Reply::Done { answer: Response::FlatMap(emission), .. } =
//!     Reply::decode(response, &Limits::default())?
//! else {
//!     panic!("the whole batch was done");
//! };
//! let Request::FlatMap(batch) = &invocation.work else { panic!("as it was asked") };
//! let records = emission.into_records(batch)?;
//! assert_eq!(records.values().value(3), b"not");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod column;
mod compression;
mod digest;
mod emission;
mod error;
mod gather;
mod invocation;
mod joining;
pub mod keyed;
mod limits;
mod reply;
pub mod wire;
mod work;

pub use batch::{Batch, BatchError, NO_EVENT_TIME};
pub use column::{Column, ColumnBuilder, ColumnError};
pub use compression::Compression;
pub use digest::{Digest, DigestError};
pub use emission::{Cause, Emission, EmissionError, Rejection};
pub use error::WireError;
pub use gather::Piece;
pub use invocation::Invocation;
pub use limits::Limits;
pub use reply::{FailCode, RejectCode, Reply, Report};
pub use work::{CallLimits, Request, Response, ResponseError};

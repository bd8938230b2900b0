//! What travels between the host and a runner, and the columns that records travel in.
//!
//! ```text
//! records -> Batch -> Invocation -> bytes ~~network~~> bytes -> Invocation -> Batch -> operator
//!                                                                                        |
//! Emission <- Reply <- bytes <~~~~~~~~~~~~~~~~~~~~~~~~ bytes <- Reply <- Emission <------+
//! ```
//!
//! Whatever comes from outside (a guest, a file, the network) is checked where it enters: a
//! [`Column`], a [`Batch`] and an [`Emission`] can't be had in a broken state. This crate never
//! opens a socket, never runs a guest, and knows neither `tokio` nor `wasmtime`.

mod batch;
mod column;
mod compression;
mod digest;
mod emission;
mod error;
mod invocation;
mod limits;
mod reply;
pub mod wire;

pub use batch::{Batch, BatchError, NO_EVENT_TIME};
pub use column::{Column, ColumnBuilder, ColumnError};
pub use compression::Compression;
pub use digest::{Digest, DigestError};
pub use emission::{Cause, Emission, EmissionError, Rejection};
pub use error::WireError;
pub use invocation::Invocation;
pub use limits::Limits;
pub use reply::{FailCode, RejectCode, Reply, Report};

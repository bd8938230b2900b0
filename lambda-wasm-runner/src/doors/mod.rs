//! One file a transport.

pub mod azure;
pub mod http;
pub mod lambda;

//! Takes bodies off the wire, within bounds of size, memory and time.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::error::Refused;

/// What is reserved for a body before its first byte has come. A larger body grows as it comes.
const RESERVED: usize = 1 << 20;
/// Memory is counted in units of this many bytes.
const UNIT: usize = 1024;

/// Receives the bodies of all connections.
pub(super) struct Receiver {
    /// The memory that all bodies together may take while they arrive, in [`UNIT`]s.
    memory: Semaphore,
    timeout: Duration,
}

impl Receiver {
    pub(super) fn new(memory: usize, timeout: Duration) -> Self {
        Self { memory: Semaphore::new((memory / UNIT).min(Semaphore::MAX_PERMITS)), timeout }
    }

    /// The body of `request`, of at most `limit` bytes, which `argument` sets.
    pub(super) async fn receive(
        &self,
        request: Request,
        limit: usize,
        argument: &'static str,
    ) -> Result<Bytes, Refused> {
        let body = request.into_body();
        let announced = body.size_hint();
        if announced.lower() > limit as u64 {
            return Err(Refused::too_large(limit, argument));
        }
        // A body that doesn't say how long it is may become as long as the limit.
        let most = announced.upper().map_or(limit, |upper| upper.min(limit as u64) as usize);
        let units = u32::try_from(most / UNIT + 1).unwrap_or(u32::MAX);
        let Ok(_memory) = self.memory.try_acquire_many(units) else {
            return Err(Refused::no_memory());
        };
        match timeout(self.timeout, collect(body, limit, most, argument)).await {
            Ok(result) => result,
            Err(_) => Err(Refused::too_slow()),
        }
    }

    /// Takes the body off the wire and forgets it, up to `limit` bytes.
    pub(super) async fn discard(&self, request: Request, limit: usize) {
        let mut body = request.into_body();
        let drop_all = async {
            let mut seen = 0;
            while let Some(Ok(frame)) = body.frame().await {
                seen += frame.data_ref().map_or(0, Bytes::len);
                if seen > limit {
                    break;
                }
            }
        };
        // Late or not, the answer is the same.
        let _ = timeout(self.timeout, drop_all).await;
    }
}

async fn collect(
    mut body: Body,
    limit: usize,
    most: usize,
    argument: &'static str,
) -> Result<Bytes, Refused> {
    let mut first: Option<Bytes> = None;
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Refused::cut_short(&error))?;
        let Ok(data) = frame.into_data() else { continue };
        if bytes.len() + first.as_ref().map_or(0, Bytes::len) + data.len() > limit {
            return Err(Refused::too_large(limit, argument));
        }
        if first.is_none() && bytes.is_empty() {
            // Often the only one, and then nothing is copied.
            first = Some(data);
            continue;
        }
        if let Some(first) = first.take() {
            bytes.reserve(most.min(RESERVED));
            bytes.extend_from_slice(&first);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(first.unwrap_or_else(|| bytes.freeze()))
}

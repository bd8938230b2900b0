//! Where work can run other than here.
//!
//! ```text
//! Call -> [http   ] -> a runner somewhere, by URL  ---+
//!         [process] -> a runner on this machine    ---+-> answer -> Answered { outcome, .. }
//! ```
//!
//! A target makes one attempt a call and says how it ended: retries, limits, breakers and hedges
//! are the burst core's. What an answer means is decided in one place, `answer.rs`, for all
//! targets alike.

mod answer;
mod attempt;
mod http;
mod process;
mod secret;

use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use bytes::Bytes;
use overspill_protocol::{Digest, Invocation, Request, Response};

use crate::burst::{AttemptId, Outcome};

pub use http::{Http, HttpOptions};
pub use process::{Process, ProcessOptions};
pub use secret::{Secret, SecretError};

/// A future behind a pointer, so that targets of several kinds fit in one list.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A component: what a target sends to a runner that lacks it.
#[derive(Clone, Debug)]
pub struct Module {
    /// The SHA-256 of the bytes.
    pub digest: Digest,
    /// The component.
    pub bytes: Bytes,
}

impl Module {
    /// The component that `bytes` are.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { digest: Digest::of(&bytes), bytes }
    }
}

/// One attempt to make.
#[derive(Clone, Debug)]
pub struct Call {
    /// What the burst core calls it.
    pub attempt: AttemptId,
    /// What to send.
    pub invocation: Invocation,
    /// Whether to send the component first.
    pub with_module: bool,
    /// When to give up.
    pub deadline: Instant,
    /// The runner to send it to if it is up and has a free slot: one that [`Answered::runner`] has
    /// named, which may still have states of these keys.
    pub prefer: Option<u64>,
    /// What to send to any other runner: the same work with all states. Where it is absent and
    /// states were left out, the outcome is [`Outcome::NeedState`] then, and nothing is sent.
    pub with_states: Option<Request>,
}

/// How an attempt ended.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What came of it. An answer is of the same kind as the work, for no more of it than was
    /// sent, and names nothing that isn't in it.
    pub outcome: Outcome<Response>,
    /// From the call to the outcome.
    pub round_trip: Duration,
    /// Whether the runner had to start, load, compile or instantiate for it.
    pub cold: bool,
    /// Bytes of the invocation on the wire, without headers and without the component.
    pub bytes_out: u64,
    /// Bytes of the reply on the wire, without headers.
    pub bytes_in: u64,
    /// The time that the runner spent inside the component.
    pub compute: Duration,
    /// Which runner answered, by a number of the target's own, to be preferred by a later call.
    /// Behind a URL there is one as far as this host can tell. `None`: none did.
    pub runner: Option<u64>,
}

/// A change in a target that no call of its driver brought about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TargetEvent {
    /// The number of runners that are up and take calls is now this.
    Runners {
        /// How many.
        up: usize,
    },
    /// A runner could not be started, or ended before it took calls.
    StartFailed {
        /// What was tried, why it failed, and what to do.
        reason: String,
    },
}

/// Who is told of a target's events. Called on the target's own threads: it must not block.
pub type Observer = Box<dyn Fn(TargetEvent) + Send + Sync>;

/// Where work can run other than here.
pub trait Target: Send + Sync {
    /// The target's name in the pipeline file.
    fn name(&self) -> &str;

    /// The largest message that it takes and gives, in bytes.
    fn max_payload(&self) -> usize;

    /// Makes one attempt. Always ends, at the call's deadline at the latest. Dropping the future
    /// cancels the call.
    fn invoke(&self, call: Call) -> BoxFuture<'_, Answered>;

    /// Asks for this many runners, and returns at once. A target whose runners come and go by
    /// themselves ignores it.
    fn scale(&self, runners: usize);

    /// How many runners are up and take calls.
    fn runners_up(&self) -> usize;

    /// Tells `observer` of every event from now on, beginning with the number of runners now.
    fn observe(&self, observer: Observer);

    /// Stops all that the target has started, and returns when it has ended. Calls that run may
    /// finish first, within a grace period.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// A target can't be set up.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// Its URL is unusable.
    #[error("target `{target}`: `url` is `{url}`: {reason}")]
    Url {
        /// The target's name.
        target: String,
        /// The URL.
        url: String,
        /// What is wrong with it, and what would be right.
        reason: String,
    },
    /// Its token can't stand in a header.
    #[error("target `{target}`: the token has characters that can't stand in an HTTP header")]
    Token {
        /// The target's name.
        target: String,
    },
    /// The HTTP client can't be made.
    #[error("target `{target}`: cannot set up its HTTP client: {reason}")]
    Client {
        /// The target's name.
        target: String,
        /// Why.
        reason: String,
    },
    /// The runner's executable isn't there.
    #[error(
        "target `{target}`: there is no runner at {looked}: build it with `cargo build --release \
         -p overspill-runner`, or say where it is with `runner` or `OVERSPILL_RUNNER`"
    )]
    NoRunner {
        /// The target's name.
        target: String,
        /// Where it was looked for.
        looked: String,
    },
    /// An option has a value that makes no sense.
    #[error("target `{target}`: `{option}` is {found}, expected {expected}")]
    Option {
        /// The target's name.
        target: String,
        /// The option.
        option: &'static str,
        /// Its value.
        found: usize,
        /// What would be right.
        expected: &'static str,
    },
    /// It was made outside a tokio runtime.
    #[error("target `{target}` needs a tokio runtime: make it inside one")]
    NoTokio {
        /// The target's name.
        target: String,
    },
}

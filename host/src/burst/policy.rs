//! What an operator's owner decides: its latency target, its lanes, its targets and their limits.

use std::time::Duration;

use super::interface::Time;

/// When work goes to a target.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Offload {
    /// When the latency target would be missed otherwise, and it pays.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Every batch, as long as a target takes it; local lanes are the fallback.
    Always,
    /// This share of the batches (0 to 1), spread evenly, as with [`Offload::Always`]; the others
    /// are processed locally.
    Share(f64),
}

/// In which order the answers for an operator's input leave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// As if one thread processed the input, record after record.
    #[default]
    Total,
    /// Those for one key keep their order; one key may overtake another.
    PerKey,
    /// As they come.
    None,
}

/// The rules for one operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// How long a record may wait and be processed before other lanes are called in.
    /// Default 50 ms.
    pub latency_target: Duration,
    /// How many records the core holds (waiting, running, or answered and waiting for their turn)
    /// before it holds its source back. Default 1,000,000.
    pub queue_records: usize,
    /// The same in bytes. Default 256 MiB.
    pub queue_bytes: usize,
    /// In which order batches are emitted. Default [`Order::Total`].
    pub order: Order,
    /// The lanes of this process.
    pub local: LocalPolicy,
    /// Where work can be sent, in order of preference among equals. Default: nowhere.
    pub targets: Vec<TargetPolicy>,
    /// When work goes to a target. Default [`Offload::Auto`].
    pub offload: Offload,
    /// The least leverage (local processor time a record, over this host's processor time an
    /// offloaded record) at which offloading is allowed. Below 1 it makes a busy host busier.
    /// Default 1; 0 turns the rule off.
    pub min_leverage: f64,
    /// How long after a refusal for its leverage one batch is sent to measure again. Default 30 s.
    pub leverage_probe: Duration,
    /// Whether a batch at the head of the merge that a target keeps for far longer than usual is
    /// run again on a local lane, the first answer winning. Default true.
    pub hedge: bool,
    /// With [`Offload::Always`] and [`Offload::Share`]: how long a batch waits for a target before
    /// a local lane may take it. Default 5 s.
    pub forced_patience: Duration,
    /// When the overload that a run is about begins, if that is known: what is sent before it is
    /// none of its burst in [`super::BurstTimes`]. Default: not known.
    pub overload_from: Option<Time>,
    /// How long after an attempt's deadline the core gives up on a driver that reports nothing.
    /// Default 250 ms.
    pub grace: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            latency_target: Duration::from_millis(50),
            queue_records: 1_000_000,
            queue_bytes: 256 << 20,
            order: Order::Total,
            local: LocalPolicy::default(),
            targets: Vec::new(),
            offload: Offload::Auto,
            min_leverage: 1.0,
            leverage_probe: Duration::from_secs(30),
            hedge: true,
            forced_patience: Duration::from_secs(5),
            overload_from: None,
            grace: Duration::from_millis(250),
        }
    }
}

/// The lanes of this process.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalPolicy {
    /// How many lanes (threads). At least 1, because they are the fallback. Default 1.
    pub lanes: usize,
    /// How much work a lane is given at once: one to run, the others so that it never waits for
    /// the driver. Default 2.
    pub depth: usize,
    /// How long an attempt may take. Default 60 s, which is above what the runtime's own limits
    /// for a call allow.
    pub attempt_timeout: Duration,
    /// How often local lanes try a piece of work before the operator is stopped. Default 3.
    pub max_attempts: u32,
}

impl Default for LocalPolicy {
    fn default() -> Self {
        Self { lanes: 1, depth: 2, attempt_timeout: Duration::from_secs(60), max_attempts: 3 }
    }
}

/// Who runs a target's runners.
#[derive(Clone, Debug, PartialEq)]
pub enum Runners {
    /// Somebody else: they are there, or appear as calls come (a URL, a cloud function).
    Standing,
    /// The driver starts and stops them as [`super::Action::Scale`] says.
    Started {
        /// The most that may run at once.
        max: usize,
        /// How many calls one runner takes at once.
        slots: usize,
        /// After how long without need they are stopped. Default 10 s.
        idle: Duration,
        /// How long a start takes, until one has been measured. Default 150 ms.
        expected_start: Duration,
    },
}

impl Runners {
    /// Runners that the driver starts, with the default times.
    pub fn started(max: usize, slots: usize) -> Self {
        Self::Started {
            max,
            slots,
            idle: Duration::from_secs(10),
            expected_start: Duration::from_millis(150),
        }
    }
}

/// What a target costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// US dollars a call.
    pub per_call: f64,
    /// US dollars a second of a call's round trip.
    pub per_second: f64,
}

/// The rules for one target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetPolicy {
    /// For logs and metrics.
    pub name: String,
    /// Who runs its runners. Default [`Runners::Standing`].
    pub runners: Runners,
    /// The most calls under way at once. Default 256.
    pub max_in_flight: usize,
    /// The concurrency limit to begin with; it doubles each round trip until the first throttle.
    /// Default 8. Not used for [`Runners::Started`], whose slots are known: there the limit begins
    /// at `max_in_flight`.
    pub initial_limit: usize,
    /// The most bytes of a call's work. Bigger work is cut. Default 64 MiB.
    pub max_payload: usize,
    /// How often targets may fail at a piece of work before only local lanes may have it.
    /// Default 3.
    pub max_attempts: u32,
    /// How long a call may take, a cold start included. Default 10 s.
    pub attempt_timeout: Duration,
    /// The mean of the first wait before a retry is half of this; it doubles with each retry.
    /// Default 20 ms.
    pub backoff_base: Duration,
    /// The longest wait before a retry. Default 2 s.
    pub backoff_cap: Duration,
    /// How many failures in a row open the breaker. Failures within 10 ms count once, because
    /// one dead runner takes all of its calls with it. Default 5.
    pub breaker_failures: u32,
    /// How long the breaker stays open at first; it doubles with each failed probe, up to 32
    /// times this. Default 1 s.
    pub breaker_open: Duration,
    /// The round trip that is expected until one has been measured. Default 25 ms.
    pub expected_latency: Duration,
    /// What calls cost. Default: nothing.
    pub price: Price,
    /// US dollars after which nothing more is sent. Default: no limit.
    pub budget: Option<f64>,
}

impl TargetPolicy {
    /// A standing target with the defaults.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            runners: Runners::Standing,
            max_in_flight: 256,
            initial_limit: 8,
            max_payload: 64 << 20,
            max_attempts: 3,
            attempt_timeout: Duration::from_secs(10),
            backoff_base: Duration::from_millis(20),
            backoff_cap: Duration::from_secs(2),
            breaker_failures: 5,
            breaker_open: Duration::from_secs(1),
            expected_latency: Duration::from_millis(25),
            price: Price::default(),
            budget: None,
        }
    }
}

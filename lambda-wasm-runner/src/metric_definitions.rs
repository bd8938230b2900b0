//! Every metric of the runner, with its description.

use metrics::{Counter, Gauge, Histogram, Unit};
use metrics::{counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram};

const INVOCATIONS: &str = "overspill_runner_invocations_total";
const RECORDS_IN: &str = "overspill_runner_records_in_total";
const RECORDS_OUT: &str = "overspill_runner_records_out_total";
const REJECTED_RECORDS: &str = "overspill_runner_records_rejected_total";
const REQUEST_BYTES: &str = "overspill_runner_request_bytes_total";
const REPLY_BYTES: &str = "overspill_runner_reply_bytes_total";
const COLD_STARTS: &str = "overspill_runner_cold_starts_total";
const UPLOADS: &str = "overspill_runner_uploads_total";
const REFUSED: &str = "overspill_runner_requests_refused_total";
const IN_FLIGHT: &str = "overspill_runner_in_flight";
const CONNECTIONS: &str = "overspill_runner_connections";
const MODULES: &str = "overspill_runner_modules_loaded";
const HELD_STATES: &str = "overspill_runner_held_states";
const HELD_BYTES: &str = "overspill_runner_held_state_bytes";
const HELD_HITS: &str = "overspill_runner_held_state_hits_total";
const HELD_MISSES: &str = "overspill_runner_held_state_misses_total";
const SERVICE: &str = "overspill_runner_service_seconds";
const COMPUTE: &str = "overspill_runner_compute_seconds";
const QUEUED: &str = "overspill_runner_queued_seconds";

/// The outcomes that [`INVOCATIONS`] tells apart, in the order of [`Metrics::invocations`].
const OUTCOMES: [&str; 7] =
    ["done", "partial", "need-module", "need-state", "rejected", "overloaded", "failed"];

/// Handles to the metrics of the hot path, so that none is looked up by name for each call.
pub(crate) struct Metrics {
    invocations: [Counter; OUTCOMES.len()],
    pub(crate) records_in: Counter,
    pub(crate) records_out: Counter,
    pub(crate) records_rejected: Counter,
    pub(crate) request_bytes: Counter,
    pub(crate) reply_bytes: Counter,
    pub(crate) cold_starts: Counter,
    pub(crate) uploads: Counter,
    pub(crate) in_flight: Gauge,
    pub(crate) connections: Gauge,
    pub(crate) modules: Gauge,
    pub(crate) held_states: Gauge,
    pub(crate) held_bytes: Gauge,
    pub(crate) held_hits: Counter,
    pub(crate) held_misses: Counter,
    pub(crate) service: Histogram,
    pub(crate) compute: Histogram,
    pub(crate) queued: Histogram,
}

/// How an invocation ended, for [`Metrics::invocation`].
#[derive(Clone, Copy)]
pub(crate) enum Ended {
    Done,
    Partial,
    NeedModule,
    NeedState,
    Rejected,
    Overloaded,
    Failed,
}

impl Metrics {
    /// The metrics of the recorder that is installed.
    pub(crate) fn new() -> Self {
        describe_counter!(INVOCATIONS, "Invocations answered, by outcome");
        describe_counter!(RECORDS_IN, "Records that were processed");
        describe_counter!(RECORDS_OUT, "Records that processing made");
        describe_counter!(REJECTED_RECORDS, "Records that an operator rejected or trapped on");
        describe_counter!(REQUEST_BYTES, Unit::Bytes, "Invocations received, as they travel");
        describe_counter!(REPLY_BYTES, Unit::Bytes, "Replies sent, as they travel");
        describe_counter!(COLD_STARTS, "Invocations that had to load, compile or instantiate");
        describe_counter!(UPLOADS, "Components uploaded by callers");
        describe_counter!(REFUSED, "Requests refused before they were an invocation, by code");
        describe_gauge!(IN_FLIGHT, "Invocations that run or wait for their turn");
        describe_gauge!(CONNECTIONS, "Connections that are open");
        describe_gauge!(MODULES, "Components that are loaded");
        describe_gauge!(HELD_STATES, "States of keys that are kept for the next time");
        describe_gauge!(HELD_BYTES, Unit::Bytes, "Memory of the states that are kept");
        describe_counter!(HELD_HITS, "States that were left out of a shipment and were here");
        describe_counter!(HELD_MISSES, "States that were left out of a shipment and weren't here");
        describe_histogram!(
            SERVICE,
            Unit::Seconds,
            "From an invocation's last byte received to its reply ready to be sent"
        );
        describe_histogram!(COMPUTE, Unit::Seconds, "Time spent inside the component");
        describe_histogram!(QUEUED, Unit::Seconds, "How long an invocation waited for its turn");
        Self {
            invocations: OUTCOMES.map(|outcome| counter!(INVOCATIONS, "outcome" => outcome)),
            records_in: counter!(RECORDS_IN),
            records_out: counter!(RECORDS_OUT),
            records_rejected: counter!(REJECTED_RECORDS),
            request_bytes: counter!(REQUEST_BYTES),
            reply_bytes: counter!(REPLY_BYTES),
            cold_starts: counter!(COLD_STARTS),
            uploads: counter!(UPLOADS),
            in_flight: gauge!(IN_FLIGHT),
            connections: gauge!(CONNECTIONS),
            modules: gauge!(MODULES),
            held_states: gauge!(HELD_STATES),
            held_bytes: gauge!(HELD_BYTES),
            held_hits: counter!(HELD_HITS),
            held_misses: counter!(HELD_MISSES),
            service: histogram!(SERVICE),
            compute: histogram!(COMPUTE),
            queued: histogram!(QUEUED),
        }
    }

    /// Counts an invocation.
    pub(crate) fn invocation(&self, ended: Ended) {
        self.invocations[ended as usize].increment(1);
    }

    /// Counts a request that was refused with an error of this code.
    pub(crate) fn refused(&self, code: &'static str) {
        counter!(REFUSED, "code" => code).increment(1);
    }
}

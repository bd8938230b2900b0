//! Every metric of a run: its name, kind, unit and meaning, in one table.

use std::net::SocketAddr;
use std::time::Duration;

use metrics::{Label, Unit};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};

use crate::pipeline::progress::{
    OperatorProgress, Progress, SinkProgress, SourceProgress, StateProgress, TargetProgress,
};

/// What a metric counts or shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// A value of the moment.
    Gauge,
    /// How values are distributed.
    Histogram,
}

/// A metric.
#[derive(Clone, Copy, Debug)]
pub struct MetricDefinition {
    /// Its name, as Prometheus shows it.
    pub name: &'static str,
    /// What it counts or shows.
    pub kind: MetricKind,
    /// In which unit.
    pub unit: Unit,
    /// What it means.
    pub description: &'static str,
}

macro_rules! definitions {
    ($($constant:ident = $kind:ident $name:literal in $unit:ident: $description:literal;)*) => {
        $(
            #[doc = $description]
            pub const $constant: MetricDefinition = MetricDefinition {
                name: $name,
                kind: MetricKind::$kind,
                unit: Unit::$unit,
                description: $description,
            };
        )*
        /// All metrics.
        pub const METRICS: &[MetricDefinition] = &[$($constant),*];
    };
}

definitions! {
    SOURCE_RECORDS = Counter "overspill_source_records_total" in Count:
        "Records that a source handed over.";
    SOURCE_REJECTED = Counter "overspill_source_rejected_records_total" in Count:
        "Records that a source could not accept.";
    SOURCE_BACKLOG = Gauge "overspill_source_backlog_records" in Count:
        "Records that are due at a source and have not been handed over.";
    SOURCE_WATERMARK = Gauge "overspill_source_watermark_seconds" in Seconds:
        "Event time before which the source expects no more records, since 1970-01-01.";
    OPERATOR_INPUT = Counter "overspill_operator_input_records_total" in Count:
        "Input records whose answer the operator passed on.";
    OPERATOR_OUTPUT = Counter "overspill_operator_output_records_total" in Count:
        "Records that the operator passed on.";
    OPERATOR_REJECTED = Counter "overspill_operator_rejected_records_total" in Count:
        "Input records that went to the dead letters.";
    OPERATOR_QUEUE_RECORDS = Gauge "overspill_operator_queue_records" in Count:
        "Input records that wait for a lane or are in one.";
    OPERATOR_QUEUE_BYTES = Gauge "overspill_operator_queue_bytes" in Bytes:
        "Size of the input records that wait for a lane or are in one.";
    OPERATOR_QUEUE_CAPACITY = Gauge "overspill_operator_queue_capacity_records" in Count:
        "The most records that the operator's queue may hold.";
    OPERATOR_LANES = Gauge "overspill_operator_lanes" in Count:
        "Local lanes of the operator.";
    OPERATOR_BUSY = Gauge "overspill_operator_busy_ratio" in Percent:
        "Share of the time in which the local lanes were busy, 0 to 1.";
    OPERATOR_SERVICE = Gauge "overspill_operator_service_seconds" in Seconds:
        "Local processing time of one record, smoothed.";
    OPERATOR_MEMORY = Gauge "overspill_operator_memory_bytes" in Bytes:
        "Linear memory of the operator's local instances.";
    OPERATOR_OFFLOADED = Counter "overspill_operator_offloaded_records_total" in Count:
        "Input records whose answer came from a remote lane.";
    OPERATOR_OFFLOADED_SHARE = Gauge "overspill_operator_offloaded_ratio" in Percent:
        "Share of the input records answered since the last progress that came from remote lanes, 0 to 1.";
    OPERATOR_IN_FLIGHT = Gauge "overspill_operator_in_flight_records" in Count:
        "Input records that are at targets.";
    OPERATOR_DUPLICATES = Counter "overspill_operator_duplicates_dropped_total" in Count:
        "Answers that were dropped because their records had been answered already.";
    OPERATOR_LEVERAGE = Gauge "overspill_operator_leverage_ratio" in Count:
        "Local processor time of a record over the host's processor time for offloading one; below 1, bursting would make things worse.";
    OPERATOR_BURSTING = Gauge "overspill_operator_bursting" in Count:
        "1 while the operator bursts, else 0.";
    OPERATOR_PREDICTED_WAIT = Gauge "overspill_operator_predicted_wait_seconds" in Seconds:
        "After how long a record that arrives now would be done by the local lanes alone.";
    OPERATOR_FLUID_BOUND = Gauge "overspill_operator_fluid_bound_records_per_second" in Count:
        "Records a second that should be served elsewhere, by the fluid bound.";
    OPERATOR_DECISIONS = Counter "overspill_operator_offload_decisions_total" in Count:
        "How often the controller sent a piece of work to a target or kept it, by reason.";
    OPERATOR_LATENCY = Histogram "overspill_operator_latency_seconds" in Seconds:
        "Latency of input records in the operator, from when it took them to when their results went on.";
    OPERATOR_WATERMARK = Gauge "overspill_operator_watermark_seconds" in Seconds:
        "Event time before which the operator passes on no more records, since 1970-01-01.";
    OPERATOR_LATE = Counter "overspill_operator_late_records_total" in Count:
        "Records that came after their windows had closed.";
    OPERATOR_STATE_KEYS = Gauge "overspill_operator_state_keys" in Count:
        "Keys that have a state or timers.";
    OPERATOR_STATE_BYTES = Gauge "overspill_operator_state_bytes" in Bytes:
        "Size of the state of all keys, in memory and on disk.";
    OPERATOR_STATE_SPILLED = Gauge "overspill_operator_state_spilled_bytes" in Bytes:
        "Size of the state that is on disk.";
    OPERATOR_TIMERS = Gauge "overspill_operator_timers" in Count:
        "Timers that are set.";
    OPERATOR_STATE_SENT = Counter "overspill_operator_state_sent_bytes_total" in Bytes:
        "State that was sent to targets.";
    OPERATOR_STATE_TOUCHED = Counter "overspill_operator_state_touched_bytes_total" in Bytes:
        "State of the keys that targets worked on.";
    OPERATOR_BOTTLENECK = Gauge "overspill_operator_bottleneck" in Count:
        "1 while this operator holds the others up, else 0.";
    TARGET_RUNNERS_UP = Gauge "overspill_target_runners_up" in Count:
        "Runners of the target that are up.";
    TARGET_RUNNERS_WANTED = Gauge "overspill_target_runners_wanted" in Count:
        "Runners of the target that are wanted.";
    TARGET_IN_FLIGHT = Gauge "overspill_target_in_flight_calls" in Count:
        "Calls to the target under way.";
    TARGET_LIMIT = Gauge "overspill_target_limit_calls" in Count:
        "The most calls to the target that may be under way now.";
    TARGET_CALLS = Counter "overspill_target_calls_total" in Count:
        "Calls that the target answered.";
    TARGET_RECORDS = Counter "overspill_target_records_total" in Count:
        "Records that the target answered.";
    TARGET_COLD_STARTS = Counter "overspill_target_cold_starts_total" in Count:
        "Calls that had to wait for a start, a load or a compilation at the target.";
    TARGET_THROTTLES = Counter "overspill_target_throttles_total" in Count:
        "Calls that the target turned away as too many.";
    TARGET_ERRORS = Counter "overspill_target_errors_total" in Count:
        "Calls to the target that failed or were lost.";
    TARGET_LATENCY_P50 = Gauge "overspill_target_latency_p50_seconds" in Seconds:
        "Median round trip of the last calls to the target.";
    TARGET_LATENCY_P99 = Gauge "overspill_target_latency_p99_seconds" in Seconds:
        "Round trip that 99 of 100 of the last calls to the target stayed under.";
    TARGET_BREAKER = Gauge "overspill_target_breaker_open" in Count:
        "1 while the target's circuit breaker keeps calls away, else 0.";
    TARGET_LATENCY = Histogram "overspill_target_latency_seconds" in Seconds:
        "Round trip of calls to the target, whatever came of them.";
    TARGET_SPEND = Gauge "overspill_target_spend_dollars" in Count:
        "Estimated spend at the target since the start of the run, in US dollars.";
    SINK_RECORDS = Counter "overspill_sink_records_total" in Count:
        "Records that a sink wrote.";
    SINK_BYTES = Counter "overspill_sink_bytes_total" in Bytes:
        "Bytes that a sink wrote.";
    DONE_RECORDS = Counter "overspill_done_records_total" in Count:
        "Records of the sources whose results have all reached a sink.";
    LATENCY = Histogram "overspill_latency_seconds" in Seconds:
        "Latency of source records, from when each was due to when its results reached a sink.";
}

/// The upper bounds of the latency histograms' buckets, in seconds.
const LATENCY_BUCKETS: [f64; 19] = [
    0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0,
    20.0, 50.0, 100.0,
];

/// Why metrics can't be served.
#[derive(Debug, thiserror::Error)]
#[error(
    "OS0016: metrics can't be served at {address}: {cause}; give another address with --metrics \
     or [metrics] listen"
)]
pub struct MetricsError {
    address: SocketAddr,
    cause: String,
}

/// An exporter with our buckets.
fn builder() -> PrometheusBuilder {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("latency_seconds".to_owned()), &LATENCY_BUCKETS)
        .expect("there are buckets")
}

/// Serves the metrics of this process for Prometheus, at any path of `address`, until the process
/// ends. Whoever reaches the address can read them.
///
/// # Errors
/// When the address can't be listened at, or this process serves metrics already.
pub fn serve(address: SocketAddr) -> Result<(), MetricsError> {
    let failed = |cause: String| MetricsError { address, cause };
    // The exporter would report a busy port from its own thread, where nobody sees it.
    drop(std::net::TcpListener::bind(address).map_err(|cause| failed(cause.to_string()))?);
    builder().with_http_listener(address).install().map_err(|cause| failed(cause.to_string()))?;
    describe();
    Ok(())
}

/// Tells the recorder what each metric means.
fn describe() {
    for metric in METRICS {
        let MetricDefinition { name, unit, description, .. } = *metric;
        match metric.kind {
            MetricKind::Counter => metrics::describe_counter!(name, unit, description),
            MetricKind::Gauge => metrics::describe_gauge!(name, unit, description),
            MetricKind::Histogram => metrics::describe_histogram!(name, unit, description),
        }
    }
}

/// Publishes the state of a run. `before` is the state that was published last.
pub fn publish(before: &Progress, now: &Progress) {
    for source in &now.sources {
        publish_source(source);
    }
    let new = OperatorProgress::default();
    for (index, operator) in now.operators.iter().enumerate() {
        publish_operator(before.operators.get(index).unwrap_or(&new), operator);
    }
    for sink in &now.sinks {
        publish_sink(sink);
    }
    counter(DONE_RECORDS, &[], now.done_records);
    let latency = metrics::histogram!(LATENCY.name);
    for (value, records) in &now.latency.values {
        latency.record_many(value.as_secs_f64(), usize::try_from(*records).unwrap_or(usize::MAX));
    }
}

fn publish_source(now: &SourceProgress) {
    let labels = [Label::new("source", now.name.clone())];
    counter(SOURCE_RECORDS, &labels, now.records);
    counter(SOURCE_REJECTED, &labels, now.rejected);
    gauge(SOURCE_BACKLOG, &labels, now.backlog_records as f64);
    if let Some(watermark) = now.watermark {
        gauge(SOURCE_WATERMARK, &labels, watermark as f64 / 1e3);
    }
}

fn publish_sink(now: &SinkProgress) {
    let labels = [Label::new("sink", now.name.clone())];
    counter(SINK_RECORDS, &labels, now.records);
    counter(SINK_BYTES, &labels, now.bytes);
}

fn publish_state(labels: &[Label], now: StateProgress) {
    gauge(OPERATOR_STATE_KEYS, labels, now.keys as f64);
    gauge(OPERATOR_STATE_BYTES, labels, now.bytes as f64);
    gauge(OPERATOR_STATE_SPILLED, labels, now.spilled_bytes as f64);
    gauge(OPERATOR_TIMERS, labels, now.timers as f64);
    counter(OPERATOR_STATE_SENT, labels, now.state_bytes_sent);
    counter(OPERATOR_STATE_TOUCHED, labels, now.state_bytes_touched);
}

fn publish_operator(before: &OperatorProgress, now: &OperatorProgress) {
    let labels = [Label::new("operator", now.name.clone())];
    counter(OPERATOR_INPUT, &labels, now.records_in);
    counter(OPERATOR_OUTPUT, &labels, now.records_out);
    counter(OPERATOR_REJECTED, &labels, now.rejected);
    gauge(OPERATOR_QUEUE_RECORDS, &labels, now.queue_records as f64);
    gauge(OPERATOR_QUEUE_BYTES, &labels, now.queue_bytes as f64);
    gauge(OPERATOR_QUEUE_CAPACITY, &labels, now.queue_capacity_records as f64);
    gauge(OPERATOR_LANES, &labels, now.lanes as f64);
    gauge(OPERATOR_BUSY, &labels, now.busy_share);
    gauge(OPERATOR_SERVICE, &labels, now.service_time.as_secs_f64());
    gauge(OPERATOR_MEMORY, &labels, now.memory_bytes as f64);
    counter(OPERATOR_OFFLOADED, &labels, now.offloaded_records);
    let input = now.records_in.saturating_sub(before.records_in);
    let offloaded = now.offloaded_records.saturating_sub(before.offloaded_records);
    let share = if input == 0 { 0.0 } else { (offloaded as f64 / input as f64).min(1.0) };
    gauge(OPERATOR_OFFLOADED_SHARE, &labels, share);
    gauge(OPERATOR_IN_FLIGHT, &labels, now.in_flight_records as f64);
    counter(OPERATOR_DUPLICATES, &labels, now.duplicates_dropped);
    if let Some(leverage) = now.leverage {
        gauge(OPERATOR_LEVERAGE, &labels, leverage);
    }
    gauge(OPERATOR_BURSTING, &labels, f64::from(u8::from(now.bursting)));
    gauge(OPERATOR_PREDICTED_WAIT, &labels, now.predicted_wait.as_secs_f64());
    gauge(OPERATOR_FLUID_BOUND, &labels, now.fluid_bound);
    for (reason, times) in &now.decisions {
        let labels = [Label::new("operator", now.name.clone()), Label::new("reason", *reason)];
        counter(OPERATOR_DECISIONS, &labels, *times);
    }
    counter(OPERATOR_LATE, &labels, now.late_records);
    if let Some(watermark) = now.watermark {
        gauge(OPERATOR_WATERMARK, &labels, watermark as f64 / 1e3);
    }
    if let Some(state) = now.state {
        publish_state(&labels, state);
    }
    gauge(OPERATOR_BOTTLENECK, &labels, f64::from(u8::from(now.bottleneck.is_some())));
    for target in &now.targets {
        publish_target(&now.name, target);
    }
}

/// Where an operator's driver records how long records took through it.
pub fn operator_latency(operator: &str) -> metrics::Histogram {
    let labels = [Label::new("operator", operator.to_owned())];
    metrics::histogram!(OPERATOR_LATENCY.name, labels.iter())
}

/// Where the round trips of an operator's calls to a target are recorded.
pub fn target_latency(operator: &str, target: &str) -> metrics::Histogram {
    let labels =
        [Label::new("operator", operator.to_owned()), Label::new("target", target.to_owned())];
    metrics::histogram!(TARGET_LATENCY.name, labels.iter())
}

fn publish_target(operator: &str, now: &TargetProgress) {
    let labels =
        [Label::new("operator", operator.to_owned()), Label::new("target", now.name.clone())];
    let seconds = |time: Duration| time.as_secs_f64();
    gauge(TARGET_RUNNERS_UP, &labels, now.runners_up as f64);
    gauge(TARGET_RUNNERS_WANTED, &labels, now.runners_wanted as f64);
    gauge(TARGET_IN_FLIGHT, &labels, now.in_flight as f64);
    gauge(TARGET_LIMIT, &labels, now.limit as f64);
    counter(TARGET_CALLS, &labels, now.calls);
    counter(TARGET_RECORDS, &labels, now.records);
    counter(TARGET_COLD_STARTS, &labels, now.cold_starts);
    counter(TARGET_THROTTLES, &labels, now.throttles);
    counter(TARGET_ERRORS, &labels, now.errors);
    gauge(TARGET_LATENCY_P50, &labels, seconds(now.latency_p50));
    gauge(TARGET_LATENCY_P99, &labels, seconds(now.latency_p99));
    let open = now.state == "open" || now.state == "probing";
    gauge(TARGET_BREAKER, &labels, f64::from(u8::from(open)));
    gauge(TARGET_SPEND, &labels, now.cost_usd);
}

fn counter(metric: MetricDefinition, labels: &[Label], value: u64) {
    metrics::counter!(metric.name, labels.iter()).absolute(value);
}

fn gauge(metric: MetricDefinition, labels: &[Label], value: f64) {
    metrics::gauge!(metric.name, labels.iter()).set(value);
}

#[cfg(test)]
mod tests;

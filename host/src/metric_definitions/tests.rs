//! What Prometheus is shown.

use super::*;
use crate::pipeline::progress::LatencyWindow;

fn progress() -> Progress {
    let target = TargetProgress { name: "here".into(), calls: 12, ..Default::default() };
    let mut progress = Progress::default();
    progress.sources.push(SourceProgress {
        name: "bids".into(),
        records: 41,
        watermark: Some(1_500),
        ..Default::default()
    });
    progress.operators.push(OperatorProgress {
        name: "tokenizer".into(),
        records_in: 40,
        offloaded_records: 10,
        leverage: Some(3.5),
        decisions: vec![("pressure", 7)],
        watermark: Some(2_000),
        state: Some(StateProgress { keys: 3, ..Default::default() }),
        targets: vec![target],
        ..Default::default()
    });
    let latency = LatencyWindow {
        values: vec![(Duration::from_millis(4), 30), (Duration::from_millis(40), 10)],
        ..Default::default()
    };
    progress.sinks.push(SinkProgress { name: "out".into(), ..Default::default() });
    progress.latency = latency;
    progress
}

fn published() -> String {
    let recorder = builder().build_recorder();
    metrics::with_local_recorder(&recorder, || {
        describe();
        publish(&Progress::default(), &progress());
        operator_latency("tokenizer").record(0.003);
        target_latency("tokenizer", "here").record(0.02);
    });
    recorder.handle().render()
}

#[test]
fn every_metric_is_published_with_its_kind_and_description() {
    let text = published();
    for metric in METRICS {
        let kind = match metric.kind {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram => "histogram",
        };
        let kind = format!("# TYPE {} {kind}\n", metric.name);
        assert!(text.contains(&kind), "`{kind}` is not in:\n{text}");
        let help = format!("# HELP {} {}\n", metric.name, metric.description);
        assert!(text.contains(&help), "`{help}` is not in:\n{text}");
    }
}

#[test]
fn names_are_unique_and_say_their_unit() {
    for (index, metric) in METRICS.iter().enumerate() {
        let MetricDefinition { name, kind, unit, .. } = *metric;
        assert!(METRICS[..index].iter().all(|other| other.name != name), "{name}");
        assert!(name.starts_with("overspill_"), "{name}");
        assert_eq!(name.ends_with("_total"), kind == MetricKind::Counter, "{name}");
        let suffix = match unit {
            Unit::Seconds => "_seconds",
            Unit::Bytes => "_bytes",
            Unit::Percent => "_ratio",
            _ => "",
        };
        assert!(name.trim_end_matches("_total").ends_with(suffix), "{name}");
    }
}

#[test]
fn values_carry_the_names_of_operator_and_target() {
    let text = published();
    for line in [
        "overspill_source_records_total{source=\"bids\"} 41\n",
        "overspill_source_watermark_seconds{source=\"bids\"} 1.5\n",
        "overspill_operator_state_keys{operator=\"tokenizer\"} 3\n",
        "overspill_operator_input_records_total{operator=\"tokenizer\"} 40\n",
        "overspill_operator_offloaded_ratio{operator=\"tokenizer\"} 0.25\n",
        "overspill_target_calls_total{operator=\"tokenizer\",target=\"here\"} 12\n",
        "overspill_latency_seconds_bucket{le=\"0.005\"} 30\n",
        "overspill_operator_offload_decisions_total{operator=\"tokenizer\",reason=\"pressure\"} 7\n",
        "overspill_operator_latency_seconds_bucket{operator=\"tokenizer\",le=\"0.005\"} 1\n",
        "overspill_target_latency_seconds_bucket{operator=\"tokenizer\",target=\"here\",le=\"0.02\"} 1\n",
        "overspill_latency_seconds_count 40\n",
    ] {
        assert!(text.contains(line), "`{line}` is not in:\n{text}");
    }
}

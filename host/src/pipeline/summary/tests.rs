//! What people and machines are told at the end of a run.

use std::path::Path;

use serde_json::Value;

use super::*;

fn pipeline() -> Pipeline {
    let text = r#"
        [source]
        kind = "nexmark"
        rate = { base = 60_000, spikes = [{ at = "10s", rate = 330_000, for = "20s" }] }
        [sink]
        kind = "count"
    "#;
    Pipeline::parse(Path::new("demo.toml"), text, &[]).unwrap()
}

fn report() -> Report {
    let target =
        TargetProgress { name: "here".into(), calls: 7, cost_usd: 0.25, ..Default::default() };
    let operator = OperatorProgress {
        name: "tokenizer".into(),
        records_in: 1_000,
        rejected: 3,
        offloaded_records: 250,
        duplicates_dropped: 4,
        targets: vec![target.clone(), TargetProgress { name: "web".into(), ..target }],
        ..Default::default()
    };
    Report {
        progress: Progress {
            sources: vec![SourceProgress { records: 1_000, rejected: 2, ..Default::default() }],
            operators: vec![operator],
            sinks: vec![SinkProgress { records: 5_000, ..Default::default() }],
            ..Default::default()
        },
        audit: AuditReport {
            records: 999,
            lost: 1,
            latency: Latency { p99: Duration::from_micros(1_500), ..Default::default() },
            spike: Some(Latency { records: 600, ..Default::default() }),
            ..Default::default()
        },
        burst: BurstTimes {
            onset: Some(Time(10_000_000)),
            first_offload: Some(Time(10_050_000)),
            ..Default::default()
        },
        wall: Duration::from_secs(3),
        ..Default::default()
    }
}

#[test]
fn the_json_summary_has_the_promised_keys() {
    let summary: Value =
        serde_json::from_str(&Summary::new(&pipeline(), &report()).to_json()).unwrap();
    for (pointer, expected) in [
        ("/records_in", 1_002.into()),
        ("/records_out", 5_000.into()),
        ("/offloaded_records", 250.into()),
        ("/offloaded_share", 0.25.into()),
        ("/duplicates_dropped", 4.into()),
        ("/rejected", 5.into()),
        ("/lost", 1.into()),
        ("/latency_ms/p50", 0.0.into()),
        ("/latency_ms/p99", 1.5.into()),
        ("/latency_ms/p999", 0.0.into()),
        ("/latency_ms/max", 0.0.into()),
        ("/spike_latency_ms/p99", 0.0.into()),
        ("/burst/onset_ms", 10_000.0.into()),
        ("/burst/first_offload_ms", 10_050.0.into()),
        ("/burst/first_remote_result_ms", Value::Null),
        ("/burst/last_offload_ms", Value::Null),
        ("/targets/1/name", "web".into()),
        ("/targets/0/calls", 7.into()),
        ("/cost_usd", 0.5.into()),
        ("/records_per_second", 333.0.into()),
    ] {
        assert_eq!(summary.pointer(pointer), Some(&expected), "{pointer}");
    }
}

#[test]
fn a_loss_is_no_sound_end() {
    let mut report = report();
    assert!(!Summary::new(&pipeline(), &report).is_sound());
    report.audit.lost = 0;
    assert!(Summary::new(&pipeline(), &report).is_sound());
    report.audit.order_violations = 1;
    assert!(!Summary::new(&pipeline(), &report).is_sound());
}

#[test]
fn people_see_the_same_numbers() {
    let text = Summary::new(&pipeline(), &report()).to_string();
    for part in [
        "from 10.0 s on",
        "1,002 in, 5,000 out, 5 rejected, 1 lost",
        "p99 1.5 ms",
        "250 records, 25.0%",
        "first offload after 50 ms",
        "web for tokenizer",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

#[test]
fn thousands_are_grouped() {
    let shown = [0, 999, 1_000, 12_345, 1_234_567].map(grouped);
    assert_eq!(shown, ["0", "999", "1,000", "12,345", "1,234,567"]);
}

#[test]
fn a_graph_shows_its_ends_its_state_and_what_held_it_up() {
    let mut report = report();
    let progress = &mut report.progress;
    progress.sources[0].name = "people".into();
    progress.sources.push(SourceProgress {
        name: "auctions".into(),
        records: 30,
        ..Default::default()
    });
    progress.sinks[0].name = "sold".into();
    progress.sinks.push(SinkProgress { name: "late".into(), records: 2, ..Default::default() });
    let operator = &mut progress.operators[0];
    operator.kind = "keyed";
    operator.late_records = 2;
    operator.state = Some(StateProgress {
        keys: 1_500,
        bytes: 3 << 20,
        spilled_bytes: 1 << 20,
        timers: 4,
        state_bytes_sent: 2_048,
        state_bytes_touched: 4_096,
    });
    operator.bottleneck = Some("for 2.0 s; tokenizer is the bottleneck: 9 records wait".into());
    let summary = Summary::new(&pipeline(), &report);
    let text = summary.to_string();
    for part in [
        "1,032 in, 5,002 out",
        "source      auctions: 30 in, 0 rejected",
        "tokenizer: 1,500 keys, 3 MiB, 4 timers, 1 MiB on disk; sent 2 KiB for 4 KiB worked on",
        "late        tokenizer: 2 records",
        "sink        late: 2 out, 0 B",
        "bottleneck  tokenizer: for 2.0 s; 9 records wait",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
    let json: Value = serde_json::from_str(&summary.to_json()).unwrap();
    for (pointer, expected) in [
        ("/sources/1/records", 30.into()),
        ("/sinks/1/name", "late".into()),
        ("/operators/0/kind", "keyed".into()),
        ("/operators/0/state/state_bytes_touched", 4_096.into()),
        ("/operators/0/late_records", 2.into()),
    ] {
        assert_eq!(json.pointer(pointer), Some(&expected), "{pointer}");
    }
    assert!(json["operators"][0]["bottleneck"].as_str().unwrap().contains("9 records wait"));
}

//! The Yahoo Streaming Benchmark, bursting, against a recount of its events by a program of its
//! own: every view is counted once.
//!
//! The benchmark and the recount: bench/ysb/README.md.

#[path = "common/guests.rs"]
mod guests;
#[path = "common/killing.rs"]
mod killing;
#[path = "common/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

use serde_json::Value as Json;
use toml::{Table, Value, toml};

use self::guests::guest;
use self::killing::{kill_runners, seeded};
use self::program::{start, summary};

/// Two runner processes.
const RUNNERS: i64 = 2;

fn benchmark() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/ysb")
}

fn path_value(path: &Path) -> Value {
    path.to_str().expect("the path is text").into()
}

/// The events, with stray and late ones; no view may be lost because it comes late.
fn source() -> Table {
    toml! {
        kind = "ysb"
        events = 300_000
        event_time_rate = 2_000
        skew = true
        watermark = { out_of_orderness = "61s" }
    }
}

/// Writes the events into a file, as the benchmark's original writes a log.
fn write_log(folder: &Path) -> PathBuf {
    let log = folder.join("events.ndjson");
    let mut pipeline = Table::new();
    pipeline.insert("source".to_owned(), source().into());
    let mut sink = toml! { kind = "file" };
    sink.insert("path".to_owned(), path_value(&log));
    pipeline.insert("sink".to_owned(), sink.into());
    let file = folder.join("log.toml");
    fs::write(&file, pipeline.to_string()).expect("a pipeline can be written");
    sound_summary(start(&file));
    log
}

/// A pipeline of the benchmark over these events, with all work of its operators sent away and its
/// rows in a file.
fn offloaded(folder: &Path, name: &str) -> (PathBuf, PathBuf) {
    let text = fs::read_to_string(benchmark().join(name)).expect("the pipeline is committed");
    let mut pipeline: Table = text.parse().expect("it is TOML");
    let mut source = source();
    // Slow enough that runners are there before the events have passed.
    source.insert("rate".to_owned(), 60_000.into());
    pipeline.insert("source".to_owned(), source.into());
    let operators = pipeline.get_mut("operator").and_then(Value::as_array_mut);
    for operator in operators.expect("there are some").iter_mut().filter_map(Value::as_table_mut) {
        let component = operator["component"].as_str().expect("a component is named").to_owned();
        let name = Path::new(&component).file_stem().and_then(|name| name.to_str());
        let component = guest(name.expect("it is a file with a name in plain letters"));
        operator.insert("component".to_owned(), path_value(&component));
        let burst = toml! { targets = ["away"] offload = "always" };
        operator.insert("burst".to_owned(), burst.into());
    }
    let mut target = toml! { name = "away" kind = "process" };
    target.insert("max_runners".to_owned(), RUNNERS.into());
    pipeline.insert("target".to_owned(), Value::Array(vec![target.into()]));
    let rows = folder.join("rows");
    let mut sink = toml! { kind = "file" };
    sink.insert("path".to_owned(), path_value(&rows));
    pipeline.insert("sink".to_owned(), sink.into());
    let file = folder.join(name);
    fs::write(&file, pipeline.to_string()).expect("a pipeline can be written");
    (file, rows)
}

/// The summary of a run that lost nothing.
fn sound_summary(child: Child) -> Json {
    let summary = summary(child);
    assert_eq!((&summary["lost"], &summary["rejected"]), (&0.into(), &0.into()), "{summary}");
    summary
}

/// Counts the events again, and compares.
fn assert_counts(log: &Path, rows: &Path) {
    let output = Command::new("python3")
        .arg(benchmark().join("recount.py"))
        .arg(log)
        .arg("--against")
        .arg(rows)
        .output()
        .expect("Python 3 is installed");
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "the counts are not those of the log:\n{said}{failed}");
    println!("{said}");
}

fn counts_are_those_of_the_log(pipeline: &str) {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let log = write_log(folder.path());
    let (pipeline, rows) = offloaded(folder.path(), pipeline);
    let summary = sound_summary(start(&pipeline));
    let operators = summary["operators"].as_array().expect("there are operators");
    for operator in operators {
        assert!(operator["offloaded_records"].as_u64() > Some(0), "none offloaded: {operator}");
    }
    assert_counts(&log, &rows);
}

#[test]
fn counts_by_state_that_travels_are_those_of_the_log() {
    counts_are_those_of_the_log("ysb.toml");
}

#[test]
fn counts_by_partials_that_merge_are_those_of_the_log() {
    counts_are_those_of_the_log("ysb-aggregate.toml");
}

#[test]
fn killing_runners_at_random_neither_loses_a_view_nor_counts_one_twice() {
    let mut random = seeded();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let log = write_log(folder.path());
    let mut killed = 0;
    for name in ["ysb.toml", "ysb-aggregate.toml"] {
        let (pipeline, rows) = offloaded(folder.path(), name);
        let mut host = start(&pipeline);
        killed += kill_runners(&mut host, &mut random, 20..150);
        sound_summary(host);
        assert_counts(&log, &rows);
    }
    assert!(killed > 0, "no runner was killed: the test has shown nothing");
    println!("{killed} runners killed");
}

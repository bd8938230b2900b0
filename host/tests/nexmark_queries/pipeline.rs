//! Runs a query's pipeline as a user would, with its output in a file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;
use toml::{Table, Value, toml};

/// What is changed in a pipeline before it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// All of its operators' work is sent to runner processes.
    Offloaded,
    /// The events of each thousand come in an order of their own: up to two seconds late.
    Disordered,
}

/// The folder of the benchmark.
pub(super) fn benchmark() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/nexmark")
}

/// The rows that the pipeline of a query writes, in its order.
pub(super) fn rows_of(query: &str, changes: &[Change]) -> Vec<String> {
    let path = benchmark().join("queries").join(format!("{query}.toml"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let mut pipeline: Table = text.parse().unwrap_or_else(|error| panic!("{path:?}: {error}"));
    let folder = tempfile::tempdir().expect("a scratch folder");
    let output = folder.path().join("rows");
    write_to(&mut pipeline, &output);
    for operator in tables(&mut pipeline, "operator") {
        let component = operator["component"].as_str().expect("a component is named").to_owned();
        let file = Path::new(&component).file_name().expect("it is a file");
        operator.insert("component".to_owned(), path_value(&guests().join(file)));
    }
    for change in changes {
        match change {
            Change::Offloaded => offload(&mut pipeline),
            Change::Disordered => {
                let source = pipeline.get_mut("source").and_then(Value::as_table_mut);
                let source = source.expect("there is one source");
                source.insert("out_of_order_group_size".to_owned(), 1_000.into());
            }
        }
    }
    let summary = run(folder.path(), &pipeline.to_string());
    if changes.contains(&Change::Offloaded) {
        for operator in summary["operators"].as_array().expect("there are operators") {
            let offloaded = operator["offloaded_records"].as_u64();
            assert!(offloaded > Some(0), "nothing was offloaded: {operator}");
        }
    }
    let rows = fs::read_to_string(&output).expect("the rows were written");
    rows.lines().map(str::to_owned).collect()
}

/// Runs a pipeline, in which nothing may be lost or rejected: its summary.
pub(super) fn run(folder: &Path, definition: &str) -> Json {
    let pipeline = folder.join("pipeline.toml");
    fs::write(&pipeline, definition).expect("a pipeline can be written");
    let output = Command::new(env!("CARGO_BIN_EXE_overspill"))
        .arg("run")
        .arg(&pipeline)
        .args(["--json", "--quiet"])
        .output()
        .expect("overspill starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "overspill ended with {}:\n{said}", output.status);
    let summary: Json = serde_json::from_slice(&output.stdout).expect("the summary is JSON");
    assert_eq!((&summary["lost"], &summary["rejected"]), (&0.into(), &0.into()), "{summary}");
    summary
}

/// Lets the pipeline's sink write lines to a file.
fn write_to(pipeline: &mut Table, output: &Path) {
    let sink = pipeline.get_mut("sink").and_then(Value::as_table_mut).expect("there is one sink");
    sink.retain(|key, _| key == "input" || key == "name");
    sink.insert("kind".to_owned(), "file".into());
    sink.insert("format".to_owned(), "lines".into());
    sink.insert("path".to_owned(), path_value(output));
}

fn offload(pipeline: &mut Table) {
    // Slow enough that runners are there before the events have passed.
    let source = pipeline.get_mut("source").and_then(Value::as_table_mut);
    source.expect("there is one source").insert("rate".to_owned(), 40_000.into());
    for operator in tables(pipeline, "operator") {
        let burst = toml! { targets = ["away"] offload = "always" };
        operator.insert("burst".to_owned(), burst.into());
    }
    let target = toml! { name = "away" kind = "process" max_runners = 2 };
    pipeline.insert("target".to_owned(), Value::Array(vec![target.into()]));
}

fn tables<'p>(pipeline: &'p mut Table, key: &str) -> impl Iterator<Item = &'p mut Table> {
    let tables = pipeline.get_mut(key).and_then(Value::as_array_mut).expect("there are some");
    tables.iter_mut().filter_map(Value::as_table_mut)
}

fn path_value(path: &Path) -> Value {
    path.to_str().expect("the path is text").into()
}

fn guests() -> PathBuf {
    let folder = std::env::var_os("OVERSPILL_GUESTS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/guests"),
        PathBuf::from,
    );
    let found = folder.canonicalize();
    found.unwrap_or_else(|_| panic!("{folder:?} is missing: run `cargo xtask guests` first"))
}

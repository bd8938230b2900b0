//! The real program, as the tests run it.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Starts `overspill run` on a pipeline.
pub(crate) fn start(pipeline: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_overspill"))
        .arg("run")
        .arg(pipeline)
        .args(["--json", "--quiet"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("overspill starts")
}

/// Waits for its end: its summary.
pub(crate) fn summary(child: Child) -> Value {
    let output = child.wait_with_output().expect("overspill ends");
    assert!(output.status.success(), "overspill ended with {}", output.status);
    serde_json::from_slice(&output.stdout).expect("the summary is JSON")
}

//! A folder with a pipeline and what it names, and the command.

use std::path::Path;
use std::process::{Command, Output};

use crate::guests::guest;

/// The pipeline of the golden files.
pub(crate) const GRAPH: &str = include_str!("golden/graph.toml");

/// Real components, of all kinds.
const COMPONENTS: [&str; 6] = [
    "tokenizer",
    "counter",
    "windowed-count",
    "count-aggregate",
    "nexmark-q3",
    "hostile-picky-configure",
];

/// A folder with `pipeline.toml` and files for what the pipelines here name.
pub(crate) fn folder(pipeline: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pipeline.toml"), pipeline).unwrap();
    std::fs::write(folder.path().join("people.ndjson"), "{}\n").unwrap();
    for component in ["count.wasm", "join.wasm"] {
        std::fs::write(folder.path().join(component), "no component").unwrap();
    }
    for name in COMPONENTS {
        std::os::unix::fs::symlink(guest(name), folder.path().join(format!("{name}.wasm")))
            .unwrap();
    }
    folder
}

pub(crate) fn check(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_overspill"))
        .args(["check", "pipeline.toml"])
        .args(args)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// What it prints of a pipeline that is good.
pub(crate) fn printed(pipeline: &str, args: &[&str]) -> String {
    let folder = folder(pipeline);
    let output = check(folder.path(), args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// What it says of a pipeline that is bad.
pub(crate) fn told(pipeline: &str, args: &[&str]) -> String {
    let folder = folder(pipeline);
    let output = check(folder.path(), args);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(output.stdout.is_empty());
    errors
}

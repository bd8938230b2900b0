//! The `overspill` command as a user meets it: usage, errors, exit codes.
#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

use std::path::Path;
use std::process::{Command, Output};

fn overspill(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_overspill")).args(args).current_dir(folder).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn folder(pipeline: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pipeline.toml"), pipeline).unwrap();
    folder
}

const COUNT: &str = r#"
[source]
kind = "nexmark"
events = 10_000
only = "bid"
rate = { base = 100_000, spikes = [{ at = "1s", rate = 200_000, for = "2s" }] }
[sink]
kind = "count"
"#;

#[test]
fn help_has_examples_and_exit_codes() {
    let folder = tempfile::tempdir().unwrap();
    for args in [&["--help"][..], &["run", "--help"]] {
        let output = overspill(folder.path(), args);
        assert_eq!(output.status.code(), Some(0));
        let text = stdout(&output);
        assert!(text.contains("Examples:") && text.contains("Exit codes:"), "{text}");
        assert!(text.contains("--set operator.tokenizer.burst.offload=never"), "{text}");
    }
}

#[test]
fn wrong_usage_is_code_2() {
    let folder = folder(COUNT);
    for args in [
        &[][..],
        &["walk"],
        &["run"],
        &["run", "pipeline.toml", "--fast"],
        &["run", "pipeline.toml", "--set", "lanes"],
        &["run", "pipeline.toml", "--metrics", "nowhere"],
        &["run", "no-such.toml"],
        &["check", "pipeline.toml", "--set", "source.kind=line"],
    ] {
        let output = overspill(folder.path(), args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", stderr(&output));
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{args:?}");
    }
}

#[test]
fn a_bad_pipeline_file_is_told_by_file_line_and_key() {
    let folder = folder(&COUNT.replace("only", "onyl").replace("\"count\"", "\"cuont\""));
    for command in ["run", "check"] {
        let output = overspill(folder.path(), &[command, "pipeline.toml"]);
        let text = stderr(&output);
        assert!(text.contains("pipeline.toml:5: `source.onyl`"), "{text}");
        assert!(text.contains("did you mean `only`?"), "{text}");
        assert!(text.contains("pipeline.toml:8: `sink.kind`"), "{text}");
        assert!(text.contains("2 errors"), "{text}");
    }
}

#[test]
fn check_shows_the_chain_and_runs_nothing() {
    let folder = folder(COUNT);
    let output = overspill(folder.path(), &["check", "pipeline.toml"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    for part in [
        "pipeline: source -> sink",
        "Nexmark bids, 100000 a second, 200000 from 1s for 2s",
        "counts",
    ] {
        assert!(text.contains(part), "`{part}` is not in:\n{text}");
    }
}

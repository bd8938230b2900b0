//! The slow operator of a graph is named, and not the one before it that it blocks.

#[path = "common/guests.rs"]
mod guests;

use std::process::Command;

use serde_json::Value;

use self::guests::guest;

/// A source, three operators one after another of which one takes 20,000 records a second, a sink.
fn bottlenecks(slow: &str) -> Vec<(String, Option<String>)> {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let mut pipeline = "[source]\nkind = \"nexmark\"\nonly = \"bid\"\nevents = 40_000\n".to_owned();
    for (name, component) in [("first", "identity"), ("second", "counter"), ("third", "identity")] {
        pipeline += &format!(
            "[[operator]]\nname = \"{name}\"\ncomponent = {:?}\nqueue = {{ records = 5_000 }}\n{}",
            guest(component),
            if name == slow { "max_rate_per_lane = 20_000\n" } else { "" }
        );
    }
    pipeline += "[sink]\nkind = \"count\"\n";
    let file = folder.path().join("pipeline.toml");
    std::fs::write(&file, pipeline).expect("a pipeline can be written");
    let output = Command::new(env!("CARGO_BIN_EXE_overspill"))
        .args(["run", "--json", "--quiet"])
        .arg(&file)
        .output()
        .expect("overspill runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("the summary is JSON");
    let operators = summary["operators"].as_array().expect("operators are listed");
    operators
        .iter()
        .map(|operator| {
            let text = |field: &str| operator[field].as_str().map(str::to_owned);
            (text("name").expect("it has a name"), text("bottleneck"))
        })
        .collect()
}

#[test]
fn the_slow_operator_is_named_and_not_the_one_it_blocks() {
    for slow in ["first", "second", "third"] {
        for (name, why) in bottlenecks(slow) {
            assert_eq!(why.is_some(), name == slow, "{slow} is slow; {name}: {why:?}");
        }
    }
}

//! Keys by Zipf's law with a kilobyte of state each, half of them worked on in runner processes:
//! the counts are exact, and little more state is moved than is touched.
//!
//! It is the small form, of 20 MB, of what `overspill-bench zipf` does with a gigabyte.

#[path = "common/guests.rs"]
mod guests;
#[path = "common/program.rs"]
mod program;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use self::guests::guest;
use self::program::{start, summary};

const KEYS: usize = 20_000;
const DRAWN: usize = 100_000;

/// Each key once, then keys by Zipf's law.
fn keys(seed: u64) -> Vec<usize> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut sum = 0.0;
    let sums: Vec<f64> = (1..=KEYS)
        .map(|rank| {
            sum += 1.0 / rank as f64;
            sum
        })
        .collect();
    let drawn = (0..DRAWN).map(|_| {
        let at = random.random_range(0.0..sum);
        sums.partition_point(|&up_to| up_to <= at)
    });
    (0..KEYS).chain(drawn).collect()
}

fn run(folder: &Path, memory: &str) -> Value {
    let text = format!(
        "[source]\nkind = \"ndjson\"\npath = {:?}\nkey_field = \"k\"\n\
         [[operator]]\nname = \"counts\"\ncomponent = {:?}\nsettings = {{ pad = 1000 }}\n\
         state = {{ memory = \"{memory}\" }}\n\
         burst = {{ targets = [\"away\"], offload = 0.5 }}\n\
         [[target]]\nname = \"away\"\nkind = \"process\"\n\
         [sink]\nkind = \"file\"\npath = {:?}\nformat = \"ndjson\"\n",
        folder.join("input.ndjson"),
        guest("counter"),
        folder.join("output.ndjson"),
    );
    let pipeline = folder.join("pipeline.toml");
    fs::write(&pipeline, text).expect("a pipeline can be written");
    summary(start(&pipeline))
}

/// Each key's counts go from 1 up, in order, to how often it came.
fn assert_exact(output: &Path, keys: &[usize]) {
    let mut wanted: HashMap<String, u64> = HashMap::new();
    keys.iter().for_each(|key| *wanted.entry(format!("key-{key}")).or_default() += 1);
    let mut found: HashMap<String, u64> = HashMap::new();
    for line in fs::read_to_string(output).expect("the output is text").lines() {
        let record: Value = serde_json::from_str(line).expect("a line is JSON");
        let key = record["key"].as_str().expect("a key");
        let count = found.entry(key.to_owned()).or_default();
        *count += 1;
        assert_eq!(record["value"].as_str(), Some(count.to_string().as_str()), "key {key}");
    }
    assert_eq!(found, wanted);
}

#[test]
fn a_burst_moves_little_more_state_than_it_touches() {
    for (seed, memory) in [(1, "256MiB"), (2, "4MiB")] {
        let folder = tempfile::tempdir().expect("a scratch folder");
        let keys = keys(seed);
        let mut input = String::new();
        for key in &keys {
            writeln!(input, "{{\"k\":\"key-{key}\"}}").expect("memory takes it");
        }
        fs::write(folder.path().join("input.ndjson"), input).expect("the input can be written");
        let summary = run(folder.path(), memory);
        assert_exact(&folder.path().join("output.ndjson"), &keys);
        assert_eq!((&summary["lost"], &summary["rejected"]), (&0.into(), &0.into()), "{summary}");
        let state = &summary["operators"][0]["state"];
        let number = |name: &str| state[name].as_f64().expect("a number");
        assert!(number("bytes") >= 20e6, "{state}");
        assert_eq!(number("spilled_bytes") > 10e6, memory == "4MiB", "{state}");
        let (sent, touched) = (number("state_bytes_sent"), number("state_bytes_touched"));
        assert!(touched > 1e6, "hardly anything was sent away: {summary}");
        assert!(sent <= 1.1 * touched, "{sent} bytes moved, {touched} touched");
    }
}

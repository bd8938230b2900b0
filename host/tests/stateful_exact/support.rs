//! The input, the pipeline and the recount of these tests.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::Command;

use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use tempfile::TempDir;

use crate::guests;

/// Records with keys and times, and what should come of them.
pub(crate) struct Case {
    pub(crate) folder: TempDir,
    records: usize,
}

impl Case {
    /// `records` records with some of `keys` keys, of which a few have most; out of order by less
    /// than half a second.
    pub(crate) fn new(records: usize, keys: usize, seed: u64) -> Self {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let folder = tempfile::tempdir().expect("a scratch folder");
        let mut input = Vec::new();
        for record in 0..records {
            // A product of two draws: small numbers are far more likely.
            let key = random.random_range(0..keys) * random.random_range(0..keys) / keys;
            let time = record as i64 * 3 + random.random_range(0..500) - 250;
            writeln!(input, "{{\"k\":\"key-{key}\",\"t\":{time}}}").expect("memory takes it");
        }
        fs::write(folder.path().join("input.ndjson"), input).expect("the input can be written");
        let case = Self { folder, records };
        let expected = case.path("expected");
        fs::create_dir(&expected).expect("a scratch folder");
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/stateful_exact/recount.py");
        let status = Command::new("python3")
            .arg(script)
            .args([case.path("input.ndjson"), expected])
            .status()
            .expect("Python runs");
        assert!(status.success(), "the recount failed: {status}");
        case
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The pipeline: a running count of each key, and of the counts tumbling windows, sessions, and
    /// totals in sliding windows.
    pub(crate) fn pipeline(&self, offload: &str, order: &str, lanes: usize) -> PathBuf {
        let offload = match offload.parse::<f64>() {
            Ok(share) => share.to_string(),
            Err(_) => format!("\"{offload}\""),
        };
        let mut text = format!(
            "name = \"stateful\"\n\
             [source]\nkind = \"ndjson\"\npath = \"{}\"\nkey_field = \"k\"\ntime_field = \"t\"\n\
             watermark = {{ out_of_orderness = \"1s\" }}\n\
             batch = {{ records = 500 }}\n\
             [[target]]\nname = \"away\"\nkind = \"process\"\nmax_runners = 2\nslots = 2\n",
            self.path("input.ndjson").display()
        );
        let operators = [
            ("counts", "counter", "source", "", ""),
            ("windows", "windowed-count", "counts", "settings = { size = \"1s\" }", ""),
            ("sessions", "windowed-count", "counts", "settings = { session = \"700ms\" }", ""),
            (
                "totals",
                "count-aggregate",
                "counts",
                "window = { sliding = \"4s\", every = \"1s\" }",
                "none",
            ),
        ];
        for (name, guest, input, more, own_order) in operators {
            let order = if own_order.is_empty() { order } else { own_order };
            text += &format!(
                "[[operator]]\nname = \"{name}\"\ncomponent = \"{}\"\ninput = \"{input}\"\n\
                 lanes = {lanes}\norder = \"{order}\"\n{more}\n# state\n\
                 burst = {{ targets = [\"away\"], offload = {offload} }}\n\
                 [[sink]]\nname = \"{name}-out\"\nkind = \"file\"\npath = \"{}\"\n\
                 format = \"ndjson\"\ninput = \"{name}\"\n",
                guests::guest(guest).display(),
                self.path(&format!("{name}.ndjson")).display(),
            );
        }
        let pipeline = self.path("pipeline.toml");
        fs::write(&pipeline, text).expect("a pipeline can be written");
        pipeline
    }

    /// Checks all that the last run wrote; with `total`, also that the counts stand in the order of
    /// the input's batches.
    pub(crate) fn assert_exact(&self, summary: &Value, total: bool) {
        for fault in ["lost", "rejected", "duplicates", "order_violations"] {
            assert_eq!(summary[fault], 0, "{fault} in {summary}");
        }
        assert_eq!(summary["records_in"], self.records);
        let counts = self.written("counts");
        self.assert_same("counts", &counts, |line| {
            let [key, count, time] = line;
            format!("{key} {count} {time}")
        });
        // Each key's counts rise, in the order in which they were written.
        let mut last = std::collections::HashMap::new();
        for [key, count, _] in &counts {
            let count: u64 = count.parse().expect("a count is a number");
            let before = last.insert(key, count).unwrap_or(0);
            assert_eq!(count, before + 1, "the counts of {key} are out of order");
        }
        if total {
            // A batch is out of order by half a second at the most, and 500 records take 1.5 s.
            let mut latest = -2_100;
            for [.., time] in &counts {
                let time: i64 = time.parse().expect("a time is a number");
                assert!(time > latest - 2_100, "a batch has overtaken another");
                latest = latest.max(time);
            }
        }
        for name in ["windows", "sessions"] {
            self.assert_same(name, &self.written(name), |[key, value, _]| format!("{key} {value}"));
        }
        self.assert_same("totals", &self.written("totals"), |[key, value, time]| {
            format!("{key} {time} {value}")
        });
    }

    /// Key, value and time of each record that a sink wrote.
    fn written(&self, name: &str) -> Vec<[String; 3]> {
        let text = fs::read_to_string(self.path(&format!("{name}.ndjson"))).expect("it is there");
        text.lines()
            .map(|line| {
                let record: Value = serde_json::from_str(line).expect("a record is JSON");
                let text = |field: &str| match &record[field] {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                [text("key"), text("value"), text("time")]
            })
            .collect()
    }

    fn assert_same(
        &self,
        name: &str,
        written: &[[String; 3]],
        form: impl Fn(&[String; 3]) -> String,
    ) {
        let mut found: Vec<String> = written.iter().map(form).collect();
        found.sort_unstable();
        let expected = fs::read_to_string(self.path("expected").join(format!("{name}.txt")));
        let expected = expected.expect("the recount wrote it");
        let differs =
            expected.lines().zip(&found).find(|(expected, found)| *expected != found.as_str());
        assert_eq!(differs, None, "{name}: expected and found differ");
        assert_eq!(expected.lines().count(), found.len(), "{name}: another number of records");
    }
}

//! A pipeline file and what it names.

use std::path::PathBuf;

use overspill::pipeline::definition::{Pipeline, Problems};

/// A folder with a component, an input and the given pipeline file.
pub(crate) struct Folder(pub(crate) tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("tokenizer.wasm"), b"not looked into").unwrap();
        std::fs::write(folder.path().join("in.txt"), b"a b\n").unwrap();
        Self(folder)
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.0.path().join("pipeline.toml")
    }

    pub(crate) fn parse(
        &self,
        text: &str,
        overrides: &[(&str, &str)],
    ) -> Result<Pipeline, Problems> {
        let overrides: Vec<(String, String)> =
            overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Pipeline::parse(&self.file(), text, &overrides)
    }
}

/// A file without a fault.
pub(crate) const GOOD: &str = r#"
name = "words"
[source]
kind = "lines"
path = "in.txt"
[[operator]]
name = "tokenizer"
component = "tokenizer.wasm"
input = "source"
lanes = 2
burst = { targets = ["here"], offload = "auto" }
[[target]]
name = "here"
kind = "process"
[sink]
kind = "file"
path = "out.txt"
input = "tokenizer"
"#;

/// A graph without a fault: two sources, a flatmap, a windowed aggregate, a join, a side output
/// and two sinks.
pub(crate) const GRAPH: &str = r#"
[[source]]
name = "people"
kind = "ndjson"
path = "in.txt"
time_field = "at"
watermark = { out_of_orderness = "4s", idle = "10s" }
[[source]]
name = "bids"
kind = "nexmark"
[[operator]]
name = "join"
component = "tokenizer.wasm"
input = { people = "people", bids = ["bids", "counts.late"] }
key_by = "bid.auction"
order = "per-key"
state = { key_groups = 64, memory = "1MiB", max_key = "1KiB", max_total = "1GiB", ttl = "1h" }
[[operator]]
name = "counts"
component = "tokenizer.wasm"
input = "bids"
key_by = "auction"
window = { sliding = "10s", every = "2s", allowed_lateness = "5s" }
[[sink]]
name = "joined"
kind = "count"
input = "join"
[[sink]]
name = "counted"
kind = "count"
input = ["counts", "join.odd"]
"#;

/// A change to a file, and what the error must say: code, line, key, what is wrong, what would
/// be right.
pub(crate) struct Bad {
    pub(crate) replace: &'static str,
    pub(crate) by: &'static str,
    pub(crate) expect: [&'static str; 5],
}

impl Bad {
    fn problems(&self, folder: &Folder, good: &str) -> Problems {
        let text = good.replacen(self.replace, self.by, 1);
        assert_ne!(text, good, "`{}` is not in the file", self.replace);
        folder.parse(&text, &[]).expect_err(self.by)
    }

    pub(crate) fn is_told(&self, folder: &Folder, good: &str) {
        let problems = self.problems(folder, good);
        let told = problems.iter().map(ToString::to_string).find(|problem| {
            problem.contains("pipeline.toml") && self.expect.iter().all(|p| problem.contains(p))
        });
        assert!(told.is_some(), "after `{}`: expected {:?} in:\n{problems}", self.by, self.expect);
    }

    pub(crate) fn gives_at_most(&self, allowed: usize, folder: &Folder, good: &str) {
        let problems = self.problems(folder, good);
        assert!(problems.iter().len() <= allowed, "after `{}`:\n{problems}", self.by);
    }
}

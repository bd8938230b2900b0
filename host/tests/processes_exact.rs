//! Real text through the real program, with real runner processes: byte for byte what coreutils
//! make of it, whatever happens to the runners.

#[path = "common/guests.rs"]
mod guests;
#[path = "common/killing.rs"]
mod killing;
#[path = "common/program.rs"]
mod program;

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use self::guests::guest;
use self::killing::{kill_runners, seeded};
use self::program::{start, summary};

/// The licences that every Debian and Ubuntu has, one after another.
fn licences() -> Vec<u8> {
    let mut files: Vec<_> = fs::read_dir("/usr/share/common-licenses")
        .expect("a Debian or Ubuntu has its licences there")
        .map(|entry| entry.expect("the folder can be listed").path())
        .collect();
    files.sort();
    files.iter().flat_map(|file| fs::read(file).expect("a licence can be read")).collect()
}

/// Writes the licences, repeated until there are `bytes` of them.
fn write_text(path: &Path, bytes: usize) {
    let text = licences();
    let mut file = File::create(path).expect("a scratch file can be created");
    for _ in 0..bytes.div_ceil(text.len()) {
        file.write_all(&text).expect("there is room for the text");
    }
}

/// What coreutils make of it: lower case, a token a line, nothing else.
fn reference(text: &Path, output: &Path) {
    let script = r#"tr 'A-Z' 'a-z' <"$1" | tr -s ' \t\n\r\v\f' '\n' | sed '/^$/d' >"$2""#;
    let status = Command::new("sh")
        .args(["-c", script, "reference"])
        .args([text, output])
        .env("LC_ALL", "C")
        .status()
        .expect("a shell runs");
    assert!(status.success(), "coreutils failed: {status}");
}

/// Two runner processes, started as they are needed.
const PROCESSES: &str = r#"
[[target]]
name = "away"
kind = "process"
max_runners = 2
slots = 2
"#;

/// A pipeline that sends everything to `target`, which is called `away`.
fn write_pipeline(folder: &Path, text: &Path, component: &Path, target: &str) -> PathBuf {
    let pipeline = folder.join("pipeline.toml");
    let definition = format!(
        r#"
name = "exact"

[source]
kind = "lines"
path = "{text}"

[[operator]]
name = "tokenizer"
component = "{component}"
input = "source"
queue = {{ records = 200_000, bytes = "64MiB" }}
burst = {{ targets = ["away"], offload = "always" }}
{target}
[sink]
kind = "file"
path = "{output}"
input = "tokenizer"
"#,
        text = text.display(),
        component = component.display(),
        output = folder.join("output.txt").display(),
    );
    fs::write(&pipeline, definition).expect("a pipeline can be written");
    pipeline
}

fn assert_same(expected: &Path, found: &Path) {
    let status = Command::new("cmp").args([expected, found]).status().expect("cmp runs");
    assert!(status.success(), "{} differs from what coreutils say", found.display());
}

/// A runner that somebody else has started, behind a URL.
struct StandingRunner {
    process: Child,
    url: String,
    /// Where its token is, for the pipeline.
    token_file: PathBuf,
}

impl StandingRunner {
    fn start(folder: &Path, component: &Path) -> Self {
        let token_file = folder.join("token");
        fs::write(&token_file, "0123456789abcdef-for-this-test-only\n")
            .expect("a token can be written");
        let program = std::env::current_exe().expect("this program has a place");
        let runner = program.ancestors().nth(2).expect("cargo's folders").join("overspill-runner");
        let mut process = Command::new(&runner)
            .args(["--listen", "127.0.0.1:0", "--announce", "--token-file"])
            .arg(&token_file)
            .arg("--modules")
            .arg(component.parent().expect("a component lies in a folder"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| {
                let build = "cargo build --release --workspace --bin overspill-runner";
                panic!("{}: {error}: run `{build}` first", runner.display())
            });
        let mut line = String::new();
        let output = process.stdout.as_mut().expect("its output was asked for");
        BufReader::new(output).read_line(&mut line).expect("the runner announces itself");
        let ready: Value = serde_json::from_str(&line).expect("the announcement is JSON");
        let address = ready["listening"].as_str().expect("it says where it listens");
        Self { process, url: format!("http://{address}"), token_file }
    }
}

impl Drop for StandingRunner {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_hundred_megabytes_of_licences_come_back_as_coreutils_would_write_them() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (text, expected) = (folder.path().join("text.txt"), folder.path().join("expected.txt"));
    write_text(&text, 100_000_000);
    reference(&text, &expected);
    let pipeline = write_pipeline(folder.path(), &text, &guest("tokenizer"), PROCESSES);
    let summary = summary(start(&pipeline));
    assert_eq!(summary["lost"], 0);
    assert_eq!(summary["rejected"], 0);
    let (offloaded, records) = (&summary["offloaded_records"], &summary["records_in"]);
    assert!(
        offloaded.as_f64() > records.as_f64().map(|records| records * 0.9),
        "bursting was forced on, and yet only {offloaded} of {records} were offloaded"
    );
    assert_same(&expected, &folder.path().join("output.txt"));
}

#[test]
fn a_runner_behind_a_url_gives_the_same_text_and_is_paid_by_the_price_in_the_file() {
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (text, expected) = (folder.path().join("text.txt"), folder.path().join("expected.txt"));
    write_text(&text, 10_000_000);
    reference(&text, &expected);
    let modules = folder.path().join("modules");
    fs::create_dir(&modules).expect("a scratch folder");
    let tokenizer = modules.join("tokenizer.wasm");
    fs::copy(guest("tokenizer"), &tokenizer).expect("a component can be copied");
    let runner = StandingRunner::start(folder.path(), &tokenizer);
    let target = format!(
        "[[target]]\nname = \"away\"\nkind = \"http\"\nurl = \"{}\"\ntoken_file = \"{}\"\n\
         price = {{ call = 0.001, compute_second = 0.0 }}\n",
        runner.url,
        runner.token_file.display()
    );
    let pipeline = write_pipeline(folder.path(), &text, &tokenizer, &target);
    let summary = summary(start(&pipeline));
    assert_eq!(summary["lost"], 0);
    let calls = summary["targets"][0]["calls"].as_f64().expect("calls are counted");
    let cost = summary["cost_usd"].as_f64().expect("the cost is a number");
    assert!(calls > 50.0 && (cost - calls * 0.001).abs() < calls * 0.0005, "{summary}");
    assert_same(&expected, &folder.path().join("output.txt"));
}

#[test]
fn killing_runners_at_random_ten_times_over_changes_not_a_byte() {
    let mut random = seeded();
    let folder = tempfile::tempdir().expect("a scratch folder");
    let (text, expected) = (folder.path().join("text.txt"), folder.path().join("expected.txt"));
    write_text(&text, 40_000_000);
    reference(&text, &expected);
    let tokenizer = guest("tokenizer");
    let mut killed = 0;
    for round in 0..10 {
        let pipeline = write_pipeline(folder.path(), &text, &tokenizer, PROCESSES);
        let mut host = start(&pipeline);
        killed += kill_runners(&mut host, &mut random, 10..120);
        let summary = summary(host);
        assert_eq!(summary["lost"], 0, "round {round}");
        assert_same(&expected, &folder.path().join("output.txt"));
    }
    assert!(killed >= 10, "only {killed} runners were killed: the test has shown nothing");
    println!("{killed} runners killed");
}

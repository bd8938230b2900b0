//! `overspill run` from the outside, on pipelines without operators and with the tokenizer.
#![expect(clippy::unwrap_used, reason = "a test may fail by panic")]

#[path = "common/guests.rs"]
mod guests;

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use self::guests::guest;

fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overspill"));
    command.arg("run").arg("pipeline.toml").args(args).current_dir(folder);
    command
}

fn run(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

fn summary(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{text}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn folder(pipeline: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("pipeline.toml"), pipeline).unwrap();
    folder
}

fn tokenizer(source: &str, sink: &str) -> tempfile::TempDir {
    folder(&format!(
        "{source}\n[[operator]]\nname = \"tokenizer\"\ncomponent = {:?}\n{sink}",
        guest("tokenizer")
    ))
}

#[test]
fn lines_reach_the_file_and_the_summary_counts_them() {
    let folder = folder(
        "[source]\nkind = \"lines\"\npath = \"in.txt\"\nrepeat = 3\n\
         [sink]\nkind = \"file\"\npath = \"out.txt\"\n",
    );
    let text = "one\n\ntwo words\nthree".repeat(1_000);
    std::fs::write(folder.path().join("in.txt"), &text).unwrap();
    let output = run(folder.path(), &["--json", "--timeline", "timeline.ndjson"]);
    let summary = summary(&output);
    let once = text + "\n";
    let written = std::fs::read_to_string(folder.path().join("out.txt")).unwrap();
    assert!(written == once.repeat(3), "the file differs from three times the input");
    let lines = written.lines().count();
    for (key, expected) in [
        ("records_in", lines),
        ("records_out", lines),
        ("lost", 0),
        ("duplicates", 0),
        ("rejected", 0),
    ] {
        assert_eq!(summary[key], expected, "{key}");
    }
    let timeline = std::fs::read_to_string(folder.path().join("timeline.ndjson")).unwrap();
    let done: u64 = timeline
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["records_done"].as_u64().unwrap())
        .sum();
    assert_eq!(done, lines as u64, "the time series adds up to the whole");
}

#[test]
fn records_on_standard_output_are_not_mixed_with_the_summary() {
    let folder = folder("[source]\nkind = \"lines\"\npath = \"-\"\n[sink]\nkind = \"stdout\"\n");
    let mut child = command(folder.path(), &["--json", "--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"a\nb\xff\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, b"a\nb\xff\n");
    let summary: Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!(summary["records_out"], 2);
}

#[test]
fn broken_json_goes_to_the_dead_letters_with_its_line() {
    let folder = folder(
        "[source]\nkind = \"ndjson\"\npath = \"in.ndjson\"\n[sink]\nkind = \"count\"\n\
         [dead_letters]\npath = \"dead.ndjson\"\n",
    );
    std::fs::write(folder.path().join("in.ndjson"), "{}\n{\n[1]\n").unwrap();
    let summary = summary(&run(folder.path(), &["--json"]));
    assert_eq!(
        (&summary["records_in"], &summary["records_out"], &summary["rejected"], &summary["lost"]),
        (&3.into(), &2.into(), &1.into(), &0.into())
    );
    let dead = std::fs::read_to_string(folder.path().join("dead.ndjson")).unwrap();
    let letter: Value = serde_json::from_str(&dead).unwrap();
    assert_eq!((&letter["line"], &letter["value"]), (&2.into(), &"{".into()));
}

#[test]
fn latency_counts_from_when_an_event_was_due() {
    let folder = folder(
        "[source]\nkind = \"nexmark\"\nrate = 20_000\nduration = \"500ms\"\n\
         batch = { records = 100, linger = \"5ms\" }\n[sink]\nkind = \"count\"\n",
    );
    let summary = summary(&run(folder.path(), &["--json"]));
    assert_eq!(summary["records_in"], 10_000);
    let p50 = summary["latency_ms"]["p50"].as_f64().unwrap();
    assert!((0.1..250.0).contains(&p50), "a batch fills in 5 ms, so p50 is not {p50} ms");
}

#[test]
fn a_full_disk_is_code_1_and_names_the_sink() {
    let folder = folder(
        "[source]\nkind = \"nexmark\"\nevents = 100_000\n\
         [sink]\nkind = \"file\"\npath = \"/dev/full\"\n",
    );
    let output = run(folder.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("/dev/full") && text.contains("OS0013"), "{text}");
}

#[test]
fn an_interrupt_drains_and_the_summary_says_so() {
    let folder = folder("[source]\nkind = \"nexmark\"\nrate = 10_000\n[sink]\nkind = \"count\"\n");
    let child = command(folder.path(), &["--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    let process = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(process, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let summary = summary(&output);
    assert_eq!((&summary["stopped"], &summary["lost"]), (&true.into(), &0.into()));
    assert_eq!(summary["records_in"], summary["records_out"]);
    assert!(summary["records_out"].as_u64().unwrap() > 0);
}

#[test]
fn metrics_are_served_while_it_runs() {
    let folder = folder("[source]\nkind = \"nexmark\"\nrate = 10_000\n[sink]\nkind = \"count\"\n");
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = command(folder.path(), &["--metrics", &port.to_string(), "--quiet"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    let text = loop {
        let text = get(port).unwrap_or_default();
        if text.contains("overspill_sink_records_total{") {
            break text;
        }
        assert!(Instant::now() < deadline, "no metrics within 20 s; last answer:\n{text}");
        std::thread::sleep(Duration::from_millis(50));
    };
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(text.contains("# HELP overspill_latency_seconds Latency"), "{text}");
}

fn get(port: u16) -> std::io::Result<String> {
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn the_first_record_is_out_while_the_input_is_still_open() {
    let folder =
        tokenizer("[source]\nkind = \"lines\"\npath = \"-\"", "[sink]\nkind = \"stdout\"\n");
    let mut child = command(folder.path(), &["--quiet"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"Hello World\n").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "hello\n");
    drop(stdin);
    child.wait().unwrap();
}

//! How the runner starts, is watched, and ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::{Runner, TOKEN, guest, guests, invocation};
use overspill_protocol::{Compression, Digest, Limits, Reply};

#[test]
fn work_in_flight_is_finished_before_the_end() {
    let guests = guests();
    let mut runner = Runner::start(&["--modules", guests.to_str().unwrap()]);
    let mut slow = invocation(Digest::of(&guest("spin")), &["x"]);
    slow.settings = vec![("iterations-per-record".into(), "400000000".into())];
    let message = slow.encode(Compression::None);
    let mut client = runner.connect();
    let worker =
        std::thread::spawn(move || client.request("POST", "/v1/invoke", Some(TOKEN), &message));
    runner.wait_until_busy();
    runner.terminate();
    let response = worker.join().unwrap();
    let reply = Reply::decode(response.body, &Limits::default()).unwrap();
    assert!(matches!(reply, Reply::Done { .. }), "{reply:?}");
    assert_eq!(runner.exit_code(Duration::from_secs(10)), Some(0));
    assert!(std::net::TcpStream::connect(&runner.address).is_err());
}

#[test]
fn work_that_outlasts_the_grace_period_is_left() {
    let guests = guests();
    let mut runner = Runner::start(&["--modules", guests.to_str().unwrap(), "--grace", "100"]);
    let mut endless = invocation(Digest::of(&guest("spin")), &["x"]);
    endless.settings = vec![("iterations-per-record".into(), u64::MAX.to_string())];
    let message = endless.encode(Compression::None);
    let mut client = runner.connect();
    client.send(crate::support::head("POST", "/v1/invoke", Some(TOKEN), message.len()).as_bytes());
    client.send(&message);
    runner.wait_until_busy();
    runner.terminate();
    assert_eq!(runner.exit_code(Duration::from_secs(5)), Some(0));
}

#[test]
fn an_idle_runner_ends_at_once() {
    let mut runner = Runner::start(&[]);
    let mut idle = runner.connect();
    assert_eq!(idle.request("GET", "/readyz", Some(TOKEN), b"").status, 200);
    runner.terminate();
    assert_eq!(runner.exit_code(Duration::from_secs(5)), Some(0));
}

#[test]
fn an_answer_lies_where_its_columns_need_not_be_copied() {
    let guests = guests();
    let runner = Runner::start(&["--modules", guests.to_str().unwrap()]);
    let module = Digest::of(&guest("tokenizer"));
    let mut connection = runner.connect();
    for lines in [1, 10, 1_000, 50_000] {
        let message = invocation(module, &vec!["a b"; lines]).encode(Compression::None);
        let response = connection.request("POST", "/v1/invoke", Some(TOKEN), &message);
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), Some("application/vnd.overspill"));
        assert_eq!(response.head % 8, 0, "a head of {} bytes", response.head);
    }
}

#[test]
fn what_it_has_done_can_be_read_as_metrics() {
    let guests = guests();
    let runner = Runner::start(&["--modules", guests.to_str().unwrap()]);
    let module = Digest::of(&guest("tokenizer"));
    assert!(matches!(runner.invoke(&invocation(module, &["a b", "c"])), Reply::Done { .. }));
    assert_eq!(runner.request("POST", "/v1/invoke", b"nonsense").status, 400);
    let text = runner.metrics();
    for line in [
        "overspill_runner_invocations_total{outcome=\"done\"} 1",
        "overspill_runner_records_in_total 2",
        "overspill_runner_records_out_total 3",
        "overspill_runner_cold_starts_total 1",
        "overspill_runner_in_flight 0",
        "overspill_runner_requests_refused_total{code=\"malformed\"} 1",
        "# HELP overspill_runner_service_seconds ",
    ] {
        assert!(text.contains(line), "no `{line}` in:\n{text}");
    }
}

#[test]
fn a_runner_ends_with_the_one_that_started_it_and_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_overspill-runner"))
        .args(["--listen", "unix:", "--token-stdin", "--exit-with-parent", "--announce"])
        .env("TMPDIR", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "{TOKEN}").unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let announced: serde_json::Value = serde_json::from_str(&line).unwrap();
    let socket = announced["listening"].as_str().unwrap().strip_prefix("unix:").unwrap();
    let socket = std::path::Path::new(socket);
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(socket.parent().unwrap()), 0o700);
    assert_eq!(mode(socket), 0o600);
    assert!(child.try_wait().unwrap().is_none());
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_token_is_not_on_the_command_line() {
    let runner = Runner::start(&[]);
    let _ = runner.request("GET", "/readyz", b"");
    let help = Command::new(env!("CARGO_BIN_EXE_overspill-runner")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("--token-file") && !help.contains("--token "), "{help}");
}

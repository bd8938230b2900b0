//! Runners on this machine: started, called, killed, stopped.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{call, eventually, guest, record_events, runner, spin};
use overspill::burst::Outcome;
use overspill::target::{Module, Process, ProcessOptions, Target, TargetEvent};
use overspill_operator_runtime::{Runtime, RuntimeOptions};
use overspill_protocol::{Column, Response};
use tokio::io::{AsyncBufReadExt as _, BufReader};

pub(crate) fn options(module: Module) -> ProcessOptions {
    ProcessOptions { runner: Some(runner()), ..ProcessOptions::new("here", module) }
}

/// The processes that this one has started and that haven't ended.
fn children() -> Vec<u32> {
    let path = format!("/proc/self/task/{}/children", std::process::id());
    let mut children: Vec<u32> = Vec::new();
    for task in std::fs::read_dir(Path::new(&path).parent().unwrap().parent().unwrap()).unwrap() {
        let text = std::fs::read_to_string(task.unwrap().path().join("children"));
        children
            .extend(text.unwrap_or_default().split_whitespace().map(|n| n.parse::<u32>().unwrap()));
    }
    children
}

fn command_line(process: u32) -> String {
    let bytes = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).replace('\0', " ")
}

#[tokio::test]
async fn a_call_starts_a_runner_which_asks_for_the_component_and_answers() {
    let module = guest("tokenizer");
    let target = Process::new(options(module.clone())).unwrap();
    let events = record_events(&target);
    let first = target.invoke(call(&module, &["Big data", "x"])).await;
    assert_eq!(first.outcome, Outcome::NeedModule);
    assert!(first.cold);
    let mut second = call(&module, &["Big data", "x"]);
    second.with_module = true;
    let answered = target.invoke(second).await;
    let Outcome::Done(Response::FlatMap(emission)) = answered.outcome else {
        panic!("{answered:?}")
    };
    assert_eq!(*emission.records().values(), Column::from_values(["big", "data", "x"]));
    assert_eq!(emission.ends()[..], [2, 3]);
    assert!(answered.bytes_out > 0 && answered.bytes_in > 0 && !answered.compute.is_zero());
    assert_eq!(target.runners_up(), 1);
    target.shutdown().await;
    let up = |up| TargetEvent::Runners { up };
    assert_eq!(*events.lock().unwrap(), [up(0), up(1), up(0)]);
}

#[tokio::test]
async fn a_runner_finds_what_the_host_has_compiled() {
    let module = guest("tokenizer");
    let cache = tempfile::tempdir().unwrap();
    let runtime = Runtime::new(RuntimeOptions {
        cache_dir: Some(cache.path().to_owned()),
        ..Default::default()
    })
    .unwrap();
    runtime.load(&module.bytes).unwrap();
    let target = Process::new(ProcessOptions {
        cache: Some(cache.path().to_owned()),
        ..options(module.clone())
    })
    .unwrap();
    let answered = target.invoke(call(&module, &["a"])).await;
    assert!(matches!(answered.outcome, Outcome::Done(_)), "{answered:?}");
    println!("from no runner to the first answer: {:?}", answered.round_trip);
    target.shutdown().await;
}

#[tokio::test]
async fn runners_come_and_go_as_they_are_wanted() {
    let module = guest("tokenizer");
    let target =
        Process::new(ProcessOptions { max_runners: 2, ..options(module.clone()) }).unwrap();
    target.scale(9);
    eventually("two runners", || target.runners_up() == 2).await;
    target.scale(1);
    eventually("one runner", || target.runners_up() == 1).await;
    target.scale(0);
    eventually("no runner", || target.runners_up() == 0).await;
    target.shutdown().await;
}

#[tokio::test]
async fn a_runner_without_work_is_stopped() {
    let module = guest("tokenizer");
    let idle = Duration::from_millis(100);
    let target = Process::new(ProcessOptions { idle, ..options(module.clone()) }).unwrap();
    target.scale(1);
    eventually("a runner", || target.runners_up() == 1).await;
    eventually("no runner", || target.runners_up() == 0).await;
    // The next call starts one again.
    assert_eq!(target.invoke(call(&module, &["a"])).await.outcome, Outcome::NeedModule);
    target.shutdown().await;
}

#[tokio::test]
async fn the_calls_of_a_killed_runner_are_lost_at_once_and_the_next_one_works() {
    let module = guest("spin");
    // Other tests have runners at the same time: this one's are known by their grace period.
    let grace = Duration::from_millis(4321);
    let target =
        Arc::new(Process::new(ProcessOptions { grace, ..options(module.clone()) }).unwrap());
    let mut warm = spin(&module, 1);
    warm.with_module = true;
    let warm = target.invoke(warm).await;
    assert!(matches!(warm.outcome, Outcome::Done(_)), "{warm:?}");
    let runners: Vec<u32> =
        children().into_iter().filter(|&c| command_line(c).contains("4321")).collect();
    assert_eq!(runners.len(), 1);
    // Half a minute, were it not killed.
    let slow = spin(&module, 15_000_000_000);
    let calling = Arc::clone(&target);
    let attempt = tokio::spawn(async move { calling.invoke(slow).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    for child in runners {
        let _ = Command::new("kill").args(["-KILL", &child.to_string()]).status().unwrap();
    }
    let answered = attempt.await.unwrap();
    assert!(matches!(answered.outcome, Outcome::Lost { .. }), "{answered:?}");
    let mut again = spin(&module, 1);
    again.with_module = true;
    let again = target.invoke(again).await;
    assert!(matches!(again.outcome, Outcome::Done(_)), "{again:?}");
    target.shutdown().await;
}

#[tokio::test]
async fn a_call_beyond_all_slots_is_turned_away_and_a_dropped_one_makes_room() {
    let module = guest("spin");
    let target =
        Arc::new(Process::new(ProcessOptions { slots: 1, ..options(module.clone()) }).unwrap());
    let mut warm = spin(&module, 1);
    warm.with_module = true;
    assert!(matches!(target.invoke(warm).await.outcome, Outcome::Done(_)));
    let calling = Arc::clone(&target);
    let slow = spin(&module, 300_000_000);
    let attempt = tokio::spawn(async move { calling.invoke(slow).await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let turned_away = target.invoke(spin(&module, 1)).await;
    assert!(matches!(turned_away.outcome, Outcome::Overloaded { .. }), "{turned_away:?}");
    attempt.abort();
    assert!(attempt.await.unwrap_err().is_cancelled());
    // The runner's thread may still be at it; the call waits there, and gets its answer.
    let next = target.invoke(spin(&module, 1)).await;
    assert!(matches!(next.outcome, Outcome::Done(_)), "{next:?}");
    target.shutdown().await;
}

#[tokio::test]
async fn a_call_is_given_up_at_its_deadline() {
    let module = guest("spin");
    let target = Process::new(options(module.clone())).unwrap();
    let mut warm = spin(&module, 1);
    warm.with_module = true;
    assert!(matches!(target.invoke(warm).await.outcome, Outcome::Done(_)));
    let mut slow = spin(&module, 1_000_000_000);
    let time = Duration::from_millis(100);
    slow.deadline = Instant::now() + time;
    let answered = target.invoke(slow).await;
    assert!(matches!(answered.outcome, Outcome::Lost { .. }), "{answered:?}");
    assert!(answered.round_trip < 5 * time, "{answered:?}");
    target.shutdown().await;
}

#[tokio::test]
async fn a_runner_that_cannot_start_is_reported_with_the_reason_and_tried_again_later() {
    let module = guest("tokenizer");
    let target = Process::new(ProcessOptions {
        runner: Some("/bin/false".into()),
        ..options(module.clone())
    })
    .unwrap();
    let events = record_events(&target);
    let answered = target.invoke(call(&module, &["a"])).await;
    let Outcome::Failed { reason, retryable: true } = answered.outcome else {
        panic!("{answered:?}")
    };
    assert!(reason.contains("/bin/false") && reason.contains("exit status: 1"), "{reason}");
    eventually("two failed starts", || {
        let failed = |event: &&TargetEvent| matches!(event, TargetEvent::StartFailed { .. });
        events.lock().unwrap().iter().filter(failed).count() >= 2
    })
    .await;
    target.shutdown().await;
}

#[tokio::test]
async fn a_missing_runner_is_named() {
    let options =
        ProcessOptions { runner: Some("no/such/runner".into()), ..options(guest("tokenizer")) };
    let error = Process::new(options).err().unwrap().to_string();
    assert!(error.contains("no/such/runner") && error.contains("cargo build"), "{error}");
}

#[tokio::test]
async fn neither_arguments_nor_environment_show_the_token_or_the_hosts_secrets() {
    let module = guest("tokenizer");
    let target = Process::new(options(module)).unwrap();
    target.scale(1);
    eventually("a runner", || target.runners_up() == 1).await;
    let mut seen = 0;
    for child in children() {
        let arguments = command_line(child);
        if !arguments.contains("overspill-runner") {
            continue;
        }
        seen += 1;
        assert!(arguments.contains("--token-stdin"), "{arguments}");
        let words: Vec<&str> = arguments.split(' ').collect();
        // The digest is the only thing that looks like a token.
        let long = |word: &&&str| word.len() >= 32 && !word.contains('/');
        assert_eq!(words.iter().filter(long).count(), 1, "{arguments}");
        let bytes = std::fs::read(format!("/proc/{child}/environ")).unwrap_or_default();
        let environment = String::from_utf8_lossy(&bytes);
        let names = environment.split('\0').filter_map(|e| e.split_once('=')).map(|e| e.0);
        for name in names {
            assert!(["TMPDIR", "RUST_LOG", "RUST_BACKTRACE"].contains(&name), "{name}");
        }
    }
    assert!(seen > 0);
    target.shutdown().await;
}

/// Not a test of its own: what `a_host_that_is_killed_leaves_no_runner` starts and kills.
#[tokio::test]
#[ignore = "runs as a part of another test"]
async fn host_to_be_killed() {
    let target = Process::new(options(guest("tokenizer"))).unwrap();
    target.scale(1);
    eventually("a runner", || target.runners_up() == 1).await;
    println!("runners: {:?}", children());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_host_that_is_killed_leaves_no_runner() {
    let sockets = tempfile::tempdir().unwrap();
    let mut host = tokio::process::Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "process::host_to_be_killed", "--nocapture"])
        .env("TMPDIR", sockets.path())
        .stdout(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(host.stdout.take().unwrap()).lines();
    let runner = loop {
        let line = lines.next_line().await.unwrap().expect("the host ended too early");
        if let Some((_, list)) = line.split_once("runners: [") {
            break list.trim_end_matches(']').parse::<u32>().unwrap();
        }
    };
    assert!(command_line(runner).contains("overspill-runner"));
    assert_eq!(std::fs::read_dir(sockets.path()).unwrap().count(), 1);
    // On Unix this is SIGKILL: the host has no chance to clean up.
    host.kill().await.unwrap();
    eventually("no runner", || !command_line(runner).contains("overspill-runner")).await;
    assert_eq!(std::fs::read_dir(sockets.path()).unwrap().count(), 0);
}

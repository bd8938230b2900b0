//! Keyed work and partial sums through real runners: the same as here, with states left out,
//! missed, and lost with their runner.

use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::http::{start_runner, target as http};
use crate::process::options;
use crate::support::{call, guest};
use overspill::burst::Outcome;
use overspill::target::{Answered, Call, Module, Process, ProcessOptions, Target};
use overspill_operator_runtime::{Call as LocalCall, Instance, Limits, Runtime, RuntimeOptions};
use overspill_protocol::keyed::{
    KeyedRecords, Shipment, ShipmentAnswer, ShipmentBuilder, StateChange, StateEntry, StepBuilder,
};
use overspill_protocol::{Batch, CallLimits, Cause, Column, Request, Response};

/// The states of the counter in these tests, in bytes.
const STATE: usize = 500;

fn settings(module: &Module) -> Vec<(String, String)> {
    match module.digest == guest("counter").digest {
        true => vec![("pad".into(), STATE.to_string())],
        false => Vec::new(),
    }
}

/// An instance of a component here.
fn local(module: &Module) -> Instance {
    let runtime = Runtime::new(RuntimeOptions::default()).unwrap();
    let operator = runtime.load(&module.bytes).unwrap();
    operator.pool(&settings(module), Limits::default()).unwrap().take().unwrap()
}

/// Keys with their states, each with a record in each of two steps, and `ann` with another.
fn shipment(keys: &[(&str, u64, Option<&[u8]>)]) -> Shipment {
    static SCOPE: AtomicU64 = AtomicU64::new(1);
    scoped(SCOPE.fetch_add(1, Ordering::Relaxed).into(), keys)
}

fn scoped(scope: u128, keys: &[(&str, u64, Option<&[u8]>)]) -> Shipment {
    let mut builder = ShipmentBuilder::new(scope, keys.len());
    for &(key, version, state) in keys {
        let state = state.map_or(StateEntry::Missing, StateEntry::Present);
        builder.key(key.as_bytes(), version, state, []);
    }
    for (watermark, then) in [(i64::MIN, 10), (10, 20)] {
        let mut step = StepBuilder::new(watermark, then, 1_000);
        let values = Column::from_values(["x", "y"]);
        let times = Some(vec![then, then + 1].into());
        let source = step.source(&Batch::new(values, None, times).unwrap());
        for (number, (key, ..)) in keys.iter().enumerate() {
            step.push(number as u32, source, 0..if *key == "ann" { 2 } else { 1 }, 0);
        }
        builder.step(step.finish().unwrap());
    }
    builder.finish(false).unwrap()
}

/// A call with some work, which brings the component along.
fn work(module: &Module, work: Request, prefer: Option<u64>) -> Call {
    let mut call = call(module, &[]);
    call.invocation.settings = settings(module);
    call.invocation.work = work;
    Call { with_module: true, prefer, ..call }
}

async fn ship(
    target: &dyn Target,
    module: &Module,
    shipment: &Shipment,
    prefer: Option<u64>,
) -> Answered {
    target.invoke(work(module, Request::Keyed(shipment.clone()), prefer)).await
}

fn done(answered: Answered) -> (ShipmentAnswer, u64, u64) {
    let Answered { outcome: Outcome::Done(Response::Keyed(answer)), .. } = answered else {
        panic!("{answered:?}")
    };
    (answer, answered.runner.unwrap(), answered.bytes_out)
}

/// What follows on an answer: the same keys with their new states.
fn next(asked: &Shipment, answer: &ShipmentAnswer) -> Shipment {
    let keys: Vec<_> = (0..answer.len())
        .map(|key| {
            let state = match answer.state(key) {
                (StateChange::Replaced, state) => Some(state),
                (StateChange::Unchanged, _) => asked.states().get(key),
                (StateChange::Cleared, _) => None,
            };
            (str::from_utf8(asked.keys().value(key)).unwrap(), asked.tokens()[key] + 1, state)
        })
        .collect();
    scoped(asked.scope(), &keys)
}

fn here(instance: &mut Instance, shipment: &Shipment) -> ShipmentAnswer {
    instance.run_keyed(shipment, &LocalCall::default()).unwrap().answer
}

/// Counts two times, the second time with the states left out; and then with one that the runner
/// doesn't have. Everything is as it is here.
async fn count_with_states_left_out(target: &dyn Target, module: &Module) -> (Shipment, u64) {
    let mut local = local(module);
    let first = shipment(&[("ann", 0, None), ("bob", 0, None), ("cid", 3, None)]);
    let (answer, runner, _) = done(ship(target, module, &first, None).await);
    assert_eq!(answer, here(&mut local, &first));
    let values = Column::from_values(["1", "2", "1", "1", "3", "4", "2", "2"]);
    assert_eq!(*answer.records().values(), values);
    assert_eq!(answer.state(0).1.len(), STATE);

    let second = next(&first, &answer);
    let (sent, _, whole) = done(ship(target, module, &second, None).await);
    assert_eq!(sent, here(&mut local, &second));
    // The runner has gone on to the state after it: what it is asked for now is that.
    let third = next(&second, &sent);
    let short = third.clone().without_states(|_| true);
    let (answer, again, bytes) = done(ship(target, module, &short, Some(runner)).await);
    assert_eq!((&answer, again), (&here(&mut local, &third), runner));
    // Two of the three states are the same, which compresses well.
    assert!(whole - bytes > STATE as u64, "{bytes} bytes instead of {whole}");

    // Another lane has come to another state of the same version.
    let expected = next(&third, &answer);
    let other = vec![b'z'; STATE];
    let keys: Vec<_> = (0..3)
        .map(|key| {
            let state = if key == 1 { Some(&other[..]) } else { expected.states().get(key) };
            let name = str::from_utf8(expected.keys().value(key)).unwrap();
            (name, expected.tokens()[key], state)
        })
        .collect();
    let missed = scoped(expected.scope(), &keys).without_states(|_| true);
    let answered = ship(target, module, &missed, Some(runner)).await;
    assert_eq!(answered.outcome, Outcome::NeedState);
    // Nothing was done: the same runner still has what it had.
    let short = expected.clone().without_states(|key| key != 2);
    let (answer, again, _) = done(ship(target, module, &short, Some(runner)).await);
    assert_eq!((&answer, again), (&here(&mut local, &expected), runner));
    (next(&expected, &answer), runner)
}

#[tokio::test]
async fn a_key_goes_back_to_its_runner_without_its_state() {
    let module = guest("counter");
    let target = Process::new(options(module.clone())).unwrap();
    count_with_states_left_out(&target, &module).await;
    target.shutdown().await;
}

#[tokio::test]
async fn a_key_goes_back_to_its_runner_without_its_state_by_url() {
    let module = guest("counter");
    let (_runner, url) = start_runner(&["--trust", &module.digest.to_string()]).await;
    count_with_states_left_out(&http(&url, &module, crate::http::TOKEN), &module).await;
}

#[tokio::test]
async fn a_runner_that_keeps_no_states_asks_for_them() {
    let module = guest("counter");
    let held_states = 0;
    let target = Process::new(ProcessOptions { held_states, ..options(module.clone()) }).unwrap();
    let first = shipment(&[("ann", 0, None)]);
    let (answer, runner, _) = done(ship(&target, &module, &first, None).await);
    let second = next(&first, &answer);
    let short = second.clone().without_states(|_| true);
    let answered = ship(&target, &module, &short, Some(runner)).await;
    assert_eq!(answered.outcome, Outcome::NeedState);
    assert_eq!(done(ship(&target, &module, &second, None).await).0.len(), 1);
    target.shutdown().await;
}

#[tokio::test]
async fn the_states_of_a_killed_runner_are_sent_again() {
    let module = guest("counter");
    let options = ProcessOptions { max_runners: 2, ..options(module.clone()) };
    let target = Process::new(options).unwrap();
    let (shipment, runner) = count_with_states_left_out(&target, &module).await;
    let short = shipment.clone().without_states(|_| true);
    // The numbers of process runners are those of their processes.
    let status = Command::new("kill").args(["-9", &runner.to_string()]).status().unwrap();
    assert!(status.success());
    let answered = loop {
        let answered = ship(&target, &module, &short, Some(runner)).await;
        match answered.outcome {
            // Its connection breaks before its end is noticed.
            Outcome::Lost { .. } => {}
            _ => break answered,
        }
    };
    assert_eq!(answered.outcome, Outcome::NeedState);
    assert_eq!((answered.bytes_out, answered.runner), (0, None), "nobody else was asked");
    let (answer, other, _) = done(ship(&target, &module, &shipment, Some(runner)).await);
    assert_ne!(other, runner);
    assert_eq!(answer, here(&mut local(&module), &shipment));
    target.shutdown().await;
}

#[tokio::test]
async fn an_answer_is_cut_by_keys_where_it_would_be_too_large() {
    let module = guest("counter");
    let target = Process::new(options(module.clone())).unwrap();
    let keys: Vec<String> = (0..100).map(|key| format!("key {key}")).collect();
    let keys: Vec<_> = keys.iter().map(|key| (&**key, 0, None)).collect();
    let all = shipment(&keys);
    let mut call = work(&module, Request::Keyed(all.clone()), None);
    call.invocation.max_reply = 20 * STATE;
    let (part, runner, _) = done(target.invoke(call).await);
    assert!((1..40).contains(&part.len()), "{} keys", part.len());
    let mut local = local(&module);
    assert_eq!(part, here(&mut local, &all).first(part.len()));
    // Of the keys that weren't answered, the runner keeps nothing.
    let rest = all.slice(part.len()..all.len());
    let (answer, ..) = done(ship(&target, &module, &rest, Some(runner)).await);
    assert_eq!(answer, here(&mut local, &rest));
    target.shutdown().await;
}

#[tokio::test]
async fn records_by_key_become_the_same_partials_as_here() {
    let module = guest("count-aggregate");
    let target = Process::new(options(module.clone())).unwrap();
    let keys = Column::from_values(["ann", "bob"]);
    let records = Batch::from_values(Column::from_values(["1", "no number", "40", "2"]));
    let asked = KeyedRecords::new(keys.clone(), records, vec![3, 4]).unwrap();
    let answered = target.invoke(work(&module, Request::Accumulate(asked.clone()), None)).await;
    let Outcome::Done(Response::Accumulate(partials)) = answered.outcome else {
        panic!("{answered:?}")
    };
    let (mut local, call) = (local(&module), LocalCall::default());
    assert_eq!(partials, local.accumulate(&asked, &call).unwrap().partials);
    assert_eq!(partials.rejected().len(), 1);
    let finished = local.finish(&keys, partials.values(), 7, &call).unwrap();
    assert_eq!(*finished.records.values(), Column::from_values(["2 41", "1 2"]));
    target.shutdown().await;
}

#[tokio::test]
async fn work_for_another_kind_of_operator_is_refused() {
    let module = guest("count-aggregate");
    let target = Process::new(options(module.clone())).unwrap();
    let answered = ship(&target, &module, &shipment(&[("ann", 0, None)]), None).await;
    let Outcome::Failed { reason, retryable: false } = answered.outcome else {
        panic!("{answered:?}")
    };
    assert!(reason.contains("this call is for keyed ones"), "{reason}");
    target.shutdown().await;
}

#[tokio::test]
async fn the_pipelines_limits_hold_in_a_runner_and_its_own_are_nobodys_fault() {
    let module = guest("counter");
    let deadline = Duration::from_millis(40);
    let (_runner, url) =
        start_runner(&["--trust", &module.digest.to_string(), "--guest-deadline", "40"]).await;
    let target = http(&url, &module, crate::http::TOKEN);
    let shipment = shipment(&[("ann", 0, None)]);

    let mut call = work(&module, Request::Keyed(shipment.clone()), None);
    call.invocation.limits = CallLimits { state: STATE - 1, ..CallLimits::default() };
    let (answer, ..) = done(target.invoke(call).await);
    assert_eq!(answer.rejected().len(), shipment.records());
    assert!(answer.rejected().iter().all(|rejected| rejected.cause == Cause::State));

    // Records that take longer than the runner allows, but not longer than the pipeline does.
    let slow = |limits: CallLimits| {
        let mut call = work(&module, Request::Keyed(shipment.clone()), None);
        call.invocation.settings.push(("iterations-per-record".into(), "100000000".into()));
        call.invocation.limits = limits;
        target.invoke(call)
    };
    let answered = slow(CallLimits::default()).await;
    assert!(matches!(answered.outcome, Outcome::Failed { .. }), "{answered:?}");
    let (answer, ..) = done(slow(CallLimits { deadline, ..CallLimits::default() }).await);
    assert!(answer.rejected().iter().all(|rejected| rejected.cause == Cause::Deadline));
    assert_eq!(answer.rejected().len(), shipment.records());
}

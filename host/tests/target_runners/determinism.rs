//! The same batch gives the same bytes wherever it runs: NaNs, random bytes and clocks included.

use crate::support::{call, guest, runner};
use overspill::burst::Outcome;
use overspill::target::{Process, ProcessOptions, Target};
use overspill_operator_runtime::{Call, Limits, Runtime, RuntimeOptions};
use overspill_protocol::{Emission, Request, Response};

const LINES: [&str; 3] = ["a record", "another", ""];
const PROCESSING_TIME: i64 = 1_700_000_000_123;

/// What a runner process that knows nothing of any other answers.
async fn from_a_runner() -> Emission {
    let module = guest("hostile-entropy");
    let options = ProcessOptions { runner: Some(runner()), ..ProcessOptions::new("one", module) };
    let module = options.module.clone();
    let target = Process::new(options).unwrap();
    let mut call = call(&module, &LINES);
    call.with_module = true;
    call.invocation.processing_time = PROCESSING_TIME;
    let answered = target.invoke(call).await;
    target.shutdown().await;
    let Outcome::Done(Response::FlatMap(emission)) = answered.outcome else {
        panic!("{answered:?}")
    };
    emission
}

#[tokio::test]
async fn two_runners_and_the_local_lane_give_the_same_bytes_for_the_same_batch() {
    let (first, second) = (from_a_runner().await, from_a_runner().await);
    assert!(first.records().values().data().len() > 100, "{first:?}");
    assert_eq!(first, second);

    let module = guest("hostile-entropy");
    let without_cache = RuntimeOptions { cache_dir: None, ..RuntimeOptions::default() };
    let operator = Runtime::new(without_cache).unwrap().load(&module.bytes).unwrap();
    let Request::FlatMap(batch) = call(&module, &LINES).invocation.work else { panic!() };
    let mut instance = operator.pool(&[], Limits::default()).unwrap().take().unwrap();
    let call = Call { processing_time: PROCESSING_TIME, budget: None, max_output: None };
    assert_eq!(instance.run(&batch, &call).unwrap().emission, first);
}

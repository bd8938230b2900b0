//! What a call costs this host: run with `--ignored --nocapture --test-threads 1`.

use std::time::{Duration, Instant};

use overspill::burst::Outcome;
use overspill::target::{Call, Http, HttpOptions, Module, Process, ProcessOptions, Target};
use overspill_operator_runtime::{Runtime, RuntimeOptions};
use overspill_protocol::{Batch, Column, Compression};
use rustix::time::{ClockId, clock_gettime};

use crate::http::{TOKEN, start_runner};
use crate::support::{call, guest, runner};

const ROUNDS: u32 = 21;
const CALLS: u32 = 250;

/// The processor time of this thread, on which all of a call's work here happens.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The processor time of this thread in user space and in the kernel, in ticks of 10 ms.
fn ticks() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    (fields[11].parse().unwrap(), fields[12].parse().unwrap())
}

/// 1,024 lines of 58 bytes, ten words each: 64 KiB out, and 96 KiB back from the tokenizer.
fn lines() -> Batch {
    let line = "alpha bravo charl delta echoo foxtr golfs hotel india juli";
    Batch::from_values(Column::from_values((0..1024).map(|_| line)))
}

async fn measure(name: &str, target: &dyn Target, module: &Module) {
    let batch = lines();
    let next = || {
        let mut call = call(module, &[]);
        call.invocation.work = batch.clone().into();
        call
    };
    let with_module = Call { with_module: true, ..next() };
    let answered = target.invoke(with_module).await;
    assert!(matches!(answered.outcome, Outcome::Done(_)), "{:?}", answered.outcome);
    for _ in 0..200 {
        target.invoke(next()).await;
    }
    let (begun, before) = (Instant::now(), ticks());
    let (mut compute, mut sizes) = (Duration::ZERO, (0, 0));
    let mut costs = Vec::new();
    for _ in 0..ROUNDS {
        let cpu = processor_time();
        for _ in 0..CALLS {
            let answered = target.invoke(next()).await;
            assert!(matches!(answered.outcome, Outcome::Done(_)), "{:?}", answered.outcome);
            compute += answered.compute;
            sizes = (answered.bytes_out, answered.bytes_in);
        }
        costs.push((processor_time() - cpu) / CALLS);
    }
    costs.sort_unstable();
    let (user, kernel) = (ticks().0 - before.0, ticks().1 - before.1);
    println!(
        "{name}: {:?} of this host's processor a call (median of {ROUNDS} rounds of {CALLS}; best \
         {:?}; {user} to {kernel} ticks in user space and kernel), round trip {:?}, of which guest \
         {:?}; {} bytes out, {} in",
        costs[costs.len() / 2],
        costs[0],
        begun.elapsed() / (ROUNDS * CALLS),
        compute / (ROUNDS * CALLS),
        sizes.0,
        sizes.1
    );
}

#[tokio::test]
#[ignore = "a measurement"]
async fn cost_of_a_call_through_each_target() {
    let module = guest("tokenizer");
    let process = Process::new(ProcessOptions {
        runner: Some(runner()),
        ..ProcessOptions::new("here", module.clone())
    })
    .unwrap();
    measure("process, Unix socket", &process, &module).await;
    process.shutdown().await;
    let trust = ["--trust", &module.digest.to_string(), "--compress", "never"];
    let (_runner, url) = start_runner(&trust).await;
    for compression in [Compression::None, Compression::Auto] {
        let http = Http::new(HttpOptions {
            name: "there".to_owned(),
            url: url.clone(),
            token: Some(overspill::target::Secret::new(TOKEN)),
            insecure_http: false,
            module: module.clone(),
            connect_timeout: Duration::from_secs(2),
            max_payload: 1 << 20,
            compression,
        })
        .unwrap();
        measure(&format!("http, loopback TCP, {compression:?}"), &http, &module).await;
    }
    let batch = lines();
    let mut call = call(&module, &[]);
    call.invocation.work = batch.into();
    let cpu = processor_time();
    for _ in 0..CALLS {
        std::hint::black_box(call.invocation.encode(Compression::None));
    }
    println!("encoding alone: {:?}", (processor_time() - cpu) / CALLS);
}

#[tokio::test]
#[ignore = "a measurement"]
async fn time_from_no_runner_to_the_first_answer() {
    let module = guest("tokenizer");
    let cache = tempfile::tempdir().unwrap();
    let cache_dir = Some(cache.path().to_owned());
    Runtime::new(RuntimeOptions { cache_dir: cache_dir.clone(), ..Default::default() })
        .unwrap()
        .load(&module.bytes)
        .unwrap();
    let mut times = Vec::new();
    for _ in 0..20 {
        let target = Process::new(ProcessOptions {
            runner: Some(runner()),
            cache: cache_dir.clone(),
            ..ProcessOptions::new("here", module.clone())
        })
        .unwrap();
        let answered = target.invoke(call(&module, &["a b"])).await;
        assert!(matches!(answered.outcome, Outcome::Done(_)), "{:?}", answered.outcome);
        times.push(answered.round_trip);
        target.shutdown().await;
    }
    times.sort_unstable();
    println!("from no runner to the first answer: median {:?}, worst {:?}", times[10], times[19]);
}

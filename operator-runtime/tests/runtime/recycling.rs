//! Instances come back, and go when they have had their time.

use std::time::Duration;

use overspill_operator_runtime::{Call, Limits, RuntimeOptions};

use crate::common::{batch, guest, pool, runtime_with};

const GUEST: &str = "hostile-huge-output";

#[test]
fn an_instance_comes_back_to_its_pool_and_is_used_again() {
    let pool = pool(GUEST, Limits::default());
    assert_eq!(pool.idle_instances(), 1, "one is made at once");
    for round in 0..3 {
        let mut instance = pool.take().expect("an instance");
        assert_eq!(pool.idle_instances(), 0);
        let run = instance.run(&batch(&["a"]), &Call::default()).expect("a run");
        assert_eq!(run.report.fresh_instance, round == 0);
        drop(instance);
        assert_eq!(pool.idle_instances(), 1);
    }
}

#[test]
fn an_instance_is_not_kept_after_so_many_calls() {
    let runtime = runtime_with(RuntimeOptions { recycle_calls: 3, ..RuntimeOptions::default() });
    let operator = runtime.load(&guest(GUEST)).expect("an operator");
    let pool = operator.pool(&[], Limits::default()).expect("a pool");
    let mut instance = pool.take().expect("an instance");
    let fresh: Vec<bool> = (0..7)
        .map(|_| {
            let run = instance.run(&batch(&["a"]), &Call::default()).expect("a run");
            run.report.fresh_instance
        })
        .collect();
    assert_eq!(fresh, [true, false, false, true, false, false, true]);
}

#[test]
fn the_memory_of_a_long_lived_instance_stays_bounded() {
    let recycle_memory = 8 << 20;
    let runtime = runtime_with(RuntimeOptions { recycle_memory, ..RuntimeOptions::default() });
    let operator = runtime.load(&guest(GUEST)).expect("an operator");
    let pool = operator.pool(&[], Limits::default()).expect("a pool");
    let mut instance = pool.take().expect("an instance");
    let mut fresh = 0;
    for round in 0..60 {
        // Every tenth batch needs much memory, the others need little.
        let value = if round % 10 == 0 { "20000000" } else { "10" };
        let run = instance.run(&batch(&[value]), &Call::default()).expect("a run");
        assert_eq!(run.emission.records().len(), 1);
        fresh += u32::from(run.report.fresh_instance);
        if round % 10 != 0 {
            assert!(instance.memory() <= recycle_memory, "{} bytes", instance.memory());
        }
    }
    assert_eq!(fresh, 1 + 6, "the first one, and one after each large batch");
    drop(instance);
    assert!(pool.idle_memory() <= recycle_memory);
}

#[test]
fn a_pool_keeps_no_more_idle_instances_than_it_may() {
    let options = RuntimeOptions { idle_instances: 2, ..RuntimeOptions::default() };
    let operator = runtime_with(options).load(&guest(GUEST)).expect("an operator");
    let pool = operator.pool(&[], Limits::default()).expect("a pool");
    let taken: Vec<_> = (0..5).map(|_| pool.take().expect("an instance")).collect();
    drop(taken);
    assert_eq!(pool.idle_instances(), 2);
}

#[test]
fn threads_share_a_pool() {
    let pool = pool(GUEST, Limits { deadline: Duration::from_secs(60), ..Limits::default() });
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let pool = &pool;
            scope.spawn(move || {
                for round in 1..50 {
                    let value = (thread * 100 + round).to_string();
                    let mut instance = pool.take().expect("an instance");
                    let run = instance.run(&batch(&[&value]), &Call::default()).expect("a run");
                    let len = run.emission.records().values().value(0).len();
                    assert_eq!(len.to_string(), value);
                }
            });
        }
    });
    assert!(pool.idle_instances() <= 4);
}

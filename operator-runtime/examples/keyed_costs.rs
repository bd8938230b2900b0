//! What a keyed record costs in the executor and the component: nanoseconds a record, for batches
//! of few and many keys.
//!
//! `cargo run --release --example keyed_costs -- target/guests/counter.wasm`

use std::time::Instant;

use overspill_operator_runtime::{Call, Limits, Runtime, RuntimeOptions};
use overspill_protocol::keyed::{Shipment, ShipmentBuilder, StateEntry, StepBuilder};
use overspill_protocol::{Batch, Column};

const RECORDS: usize = 1024;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("which component?")?;
    // With a number of keys there is time for a profile.
    let only: Option<usize> = std::env::args().nth(2).map(|keys| keys.parse()).transpose()?;
    let runs = if only.is_some() { 20_000 } else { 300 };
    let runtime = Runtime::new(RuntimeOptions::default())?;
    let pool = runtime.load(&std::fs::read(path)?)?.pool(&[], Limits::default())?;
    let mut instance = pool.take()?;
    println!("{:>6} {:>6} {:>10} {:>10}", "keys", "steps", "guest", "executor");
    for steps in [1, 8] {
        for keys in [1, 16, 128, 1024] {
            if only.is_some_and(|only| only != keys) {
                continue;
            }
            let shipment = shipment(keys, steps)?;
            let mut best = [u128::MAX; 2];
            for _ in 0..runs {
                let begun = Instant::now();
                let run = instance.run_keyed(&shipment, &Call::default())?;
                let taken = begun.elapsed();
                assert_eq!(run.answer.records().len(), RECORDS);
                let parts = [run.report.compute, taken - run.report.compute];
                for (best, part) in best.iter_mut().zip(parts) {
                    *best = part.as_nanos().min(*best);
                }
            }
            let [guest, executor] =
                best.map(|nanos| format!("{:.1}", nanos as f64 / RECORDS as f64));
            println!("{keys:>6} {steps:>6} {guest:>10} {executor:>10}");
        }
    }
    Ok(())
}

/// Records of 20 bytes, spread over keys that have a state of 8 bytes each.
fn shipment(keys: usize, steps: usize) -> Result<Shipment, Box<dyn std::error::Error>> {
    let mut builder = ShipmentBuilder::new(1, keys);
    for key in 0..keys {
        let name = format!("key-{key:08}");
        builder.key(name.as_bytes(), 1, StateEntry::Present(&[7, 0, 0, 0, 0, 0, 0, 0]), []);
    }
    let values = Column::from_values((0..RECORDS / steps).map(|record| format!("{record:020}")));
    let times = (0..RECORDS as i64 / steps as i64).collect::<Vec<_>>().into();
    let batch = Batch::new(values, None, Some(times))?;
    for number in 0..steps {
        let mut step = StepBuilder::new(0, 0, 0);
        let source = step.source(&batch);
        let in_step = keys.min(RECORDS / steps);
        let each = RECORDS / steps / in_step;
        for key in 0..in_step {
            let key_number = (key * keys / in_step + number % (keys / in_step)) as u32;
            step.push(key_number, source, key * each..(key + 1) * each, 0);
        }
        builder.step(step.finish()?);
    }
    Ok(builder.finish(false)?)
}

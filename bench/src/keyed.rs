//! What WebAssembly costs a keyed operator: a counter in Rust over the host's own state, and the
//! counter component over the same state.
//!
//! ```text
//! native   group by key -> get -> count, write the output ---------------------> commit
//! Wasm     group by key -> get -> shipment -> component, every limit on -> answer -> commit
//! ```
//!
//! Both put out the same records. The two are measured in turn, each over a state of its own, with
//! one batch after another; what counts is the time that the thread was on a processor.

use std::hash::BuildHasher;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use overspill::state::{KeyChange, KeyedState, NewState, StateOptions};
use overspill_operator_runtime::{Call, Instance, Limits, Runtime, RuntimeOptions};
use overspill_protocol::keyed::{ShipmentBuilder, StateChange, StateEntry, StepBuilder};
use overspill_protocol::{Batch, Column, ColumnBuilder, Piece};

use crate::harness::{Report, interleaved, processor_time};
use crate::program;
use crate::zipf_keys::ZipfKeys;

/// Records and keys of each case, and how the keys come.
const CASES: [(usize, usize, &str); 3] = [
    (1024, 100, "1,024 records a batch, 100 keys"),
    (4096, 10_000, "4,096 records a batch, 10,000 keys"),
    (4096, 1_000_000, "4,096 records a batch, 1,000,000 keys"),
];
/// How many records are one measurement.
const RECORDS: usize = 1 << 18;

/// Measures.
///
/// # Errors
/// When the component isn't built, or the two disagree.
pub(crate) fn run(repeats: usize) -> Result<Report> {
    let runtime = Runtime::new(RuntimeOptions::default())?;
    let path = program::guest("counter")?;
    let instance = || load(&runtime, &path);
    let setting = "a counter of 8 bytes a key, keys by Zipf's law, records of 16 bytes";
    let mut report = Report::new("keyed", setting);
    for (records, keys, name) in CASES {
        let batches = batches(records, keys);
        let mut native = Native { grouper: Grouper::default(), state: state()? };
        let mut wasm = Wasm { grouper: Grouper::default(), state: state()?, instance: instance()? };
        for batch in &batches {
            let (expected, found) = (native.run(batch)?, wasm.run(batch)?);
            ensure!(expected == found, "the component and the native counter disagree");
        }
        let mut grouper = Grouper::default();
        let figures = interleaved(&[0, 1, 2], repeats, |case| {
            let start = processor_time();
            for batch in &batches {
                match case {
                    0 => drop(grouper.group(batch)),
                    1 => drop(native.run(batch)?),
                    _ => drop(wasm.run(batch)?),
                }
            }
            Ok((processor_time() - start).as_nanos() as f64 / (batches.len() * records) as f64)
        })?;
        report.figure(format!("{name}: grouping alone"), "ns/record", &figures[0]);
        report.figure(format!("{name}: native"), "ns/record", &figures[1]);
        report.figure(format!("{name}: Wasm"), "ns/record", &figures[2]);
        let mut costs: Vec<f64> =
            figures[1].iter().zip(&figures[2]).map(|(native, wasm)| native / wasm).collect();
        costs.sort_by(f64::total_cmp);
        let name = format!("{name}: native's cost over Wasm's");
        report.ratio(name, costs[costs.len() / 2], Some(0.5));
    }
    Ok(report)
}

fn load(runtime: &Runtime, path: &Path) -> Result<Instance> {
    let bytes = std::fs::read(path).with_context(|| format!("no {}", path.display()))?;
    Ok(runtime.load(&bytes)?.pool(&[], Limits::default())?.take()?)
}

fn state() -> Result<KeyedState> {
    Ok(KeyedState::open(StateOptions { memory: usize::MAX, ..StateOptions::new("counter") })?)
}

fn batches(records: usize, keys: usize) -> Vec<Batch> {
    let mut zipf = ZipfKeys::new(keys, 1);
    (0..RECORDS / records)
        .map(|_| {
            let keys = (0..records).map(|_| {
                let number = zipf.draw() as u64;
                format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            });
            let keys: Vec<String> = keys.collect();
            let values = Column::from_values((0..records).map(|record| format!("{record:016}")));
            Batch::new(values, Some(Column::from_values(keys)), None).expect("as many keys")
        })
        .collect()
}

/// Records by key, as both sides take them.
struct Grouped {
    batch: Batch,
    keys: Vec<u32>,
    ends: Vec<u32>,
}

/// Puts the records of a batch together by key, as the engine does.
#[derive(Default)]
struct Grouper {
    hasher: RandomState,
    table: HashTable<u32>,
}

impl Grouper {
    fn group(&mut self, batch: &Batch) -> Grouped {
        let keys = batch.keys().expect("the batches have keys");
        self.table.clear();
        // The first record of each group, how many it has, and the group of each record.
        let (mut firsts, mut counts, mut groups) = (Vec::new(), Vec::new(), Vec::new());
        for (record, key) in keys.iter().enumerate() {
            let hash = self.hasher.hash_one(key);
            let same = |group: &u32| keys.value(firsts[*group as usize] as usize) == key;
            let group = self.table.find(hash, same).copied().unwrap_or_else(|| {
                let group = firsts.len() as u32;
                firsts.push(record as u32);
                counts.push(0_u32);
                self.table.insert_unique(hash, group, |group| {
                    self.hasher.hash_one(keys.value(firsts[*group as usize] as usize))
                });
                group
            });
            counts[group as usize] += 1;
            groups.push(group);
        }
        let mut end = 0;
        let ends: Vec<u32> = counts
            .iter_mut()
            .map(|count| {
                let begin = end;
                end += *count;
                *count = begin;
                end
            })
            .collect();
        let mut rows = vec![0; groups.len()];
        for (record, &group) in groups.iter().enumerate() {
            rows[counts[group as usize] as usize] = record;
            counts[group as usize] += 1;
        }
        let pieces: Vec<Piece> =
            rows.into_iter().map(|row| Piece { source: 0, range: row..row + 1 }).collect();
        let plain = batch.without_keys();
        let batch = Batch::gather(&[plain], &pieces).expect("no more records than there were");
        Grouped { batch, keys: firsts, ends }
    }
}

struct Native {
    grouper: Grouper,
    state: KeyedState,
}

impl Native {
    /// The counts, group after group.
    fn run(&mut self, batch: &Batch) -> Result<Column> {
        let grouped = self.grouper.group(batch);
        let keys = batch.keys().context("no keys")?;
        let mut output = ColumnBuilder::with_capacity(batch.len(), batch.len() * 4);
        let (mut states, mut begin) = (Vec::with_capacity(grouped.keys.len()), 0);
        for (&first, &end) in grouped.keys.iter().zip(&grouped.ends) {
            let found = self.state.get(keys.value(first as usize), 0)?;
            let mut count = match found.state {
                Some(state) => u64::from_le_bytes(state.try_into().context("8 bytes")?),
                None => 0,
            };
            for _ in begin..end {
                count += 1;
                output.push(itoa::Buffer::new().format(count).as_bytes());
            }
            begin = end;
            states.push((count.to_le_bytes(), found.version));
        }
        let changes: Vec<KeyChange<'_>> = grouped
            .keys
            .iter()
            .zip(&states)
            .map(|(&first, (state, version))| KeyChange {
                key: keys.value(first as usize),
                version: *version,
                state: NewState::Replaced(state),
                set: &[],
                cancelled: &[],
                fired: &[],
            })
            .collect();
        self.state.commit(0, &changes)?;
        Ok(output.finish())
    }
}

struct Wasm {
    grouper: Grouper,
    state: KeyedState,
    instance: Instance,
}

impl Wasm {
    fn run(&mut self, batch: &Batch) -> Result<Column> {
        let grouped = self.grouper.group(batch);
        let keys = batch.keys().context("no keys")?;
        let mut shipment = ShipmentBuilder::new(1, grouped.keys.len());
        let mut step = StepBuilder::new(i64::MIN, i64::MIN, 0);
        let source = step.source(&grouped.batch);
        let mut begin = 0;
        for (index, (&first, &end)) in grouped.keys.iter().zip(&grouped.ends).enumerate() {
            let key = keys.value(first as usize);
            let timers = self.state.timers_of(key, i64::MIN, i64::MIN);
            let found = self.state.get(key, 0)?;
            let entry = found.state.map_or(StateEntry::Missing, StateEntry::Present);
            shipment.key(key, found.version, entry, timers);
            step.push(index as u32, source, begin as usize..end as usize, 0);
            begin = end;
        }
        shipment.step(step.finish()?);
        let shipment = shipment.finish(false)?;
        let answer = self.instance.run_keyed(&shipment, &Call::default())?.answer;
        ensure!(answer.len() == shipment.len(), "the component has not done every key");
        let changes: Vec<KeyChange<'_>> = shipment
            .keys()
            .iter()
            .zip(shipment.tokens())
            .enumerate()
            .map(|(index, (key, &version))| KeyChange {
                key,
                version,
                state: match answer.state(index) {
                    (StateChange::Unchanged, _) => NewState::Unchanged,
                    (StateChange::Replaced, state) => NewState::Replaced(state),
                    (StateChange::Cleared, _) => NewState::Cleared,
                },
                set: &[],
                cancelled: &[],
                fired: &[],
            })
            .collect();
        self.state.commit(0, &changes)?;
        Ok(answer.records().values().clone())
    }
}

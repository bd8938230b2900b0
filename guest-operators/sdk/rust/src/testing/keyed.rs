//! A host for one keyed operator.

use std::collections::{BTreeMap, BTreeSet};

use super::text;
use crate::{
    Batch, Column, Groups, Keyed, KeyedRunner, NO_TIME, Outcome, SettingError, Settings,
    StateChange, TimeDomain, Timer, Timers,
};

/// A host for one keyed operator: it keeps the states and the timers of all keys, and calls the
/// operator as the real one does.
///
/// Records are gathered into calls of [`KeyedHost::calls_of`] records, one unless it is set. How
/// they are cut into calls must not show in an operator's output.
#[derive(Debug)]
pub struct KeyedHost<O> {
    runner: KeyedRunner<O>,
    states: BTreeMap<Vec<u8>, Vec<u8>>,
    timers: BTreeMap<Vec<u8>, BTreeSet<Timer>>,
    watermark: i64,
    processing_time: i64,
    /// Records that wait for the next call, by key in the order of their first record.
    waiting: Vec<(Vec<u8>, Vec<Waiting>)>,
    most: usize,
    outputs: Vec<OutputRecord>,
    rejected: Vec<String>,
}

#[derive(Debug)]
struct Waiting {
    value: Vec<u8>,
    time: i64,
    input: u8,
}

/// One output record.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OutputRecord {
    /// The key.
    pub key: String,
    /// The value, as text.
    pub value: String,
    /// The value's bytes.
    pub bytes: Vec<u8>,
    /// The event time, if it has one.
    pub timestamp: Option<i64>,
    /// The number of the output it goes to: 0 for the main one.
    pub outlet: u8,
}

impl<O: Keyed> KeyedHost<O> {
    /// An operator that has been set up as a pipeline would.
    ///
    /// # Errors
    /// When the operator doesn't take the settings.
    pub fn new(settings: &[(&str, &str)]) -> Result<Self, SettingError> {
        let settings = Settings::new(&O::DESCRIPTION, settings.iter().copied())?;
        Ok(Self {
            runner: KeyedRunner::new(O::new(&settings)?),
            states: BTreeMap::new(),
            timers: BTreeMap::new(),
            watermark: i64::MIN,
            processing_time: 0,
            waiting: Vec::new(),
            most: 1,
            outputs: Vec::new(),
            rejected: Vec::new(),
        })
    }

    /// The same, with calls of up to so many records.
    #[must_use]
    pub fn calls_of(self, records: usize) -> Self {
        Self { most: records.max(1), ..self }
    }

    /// Hands the operator a record.
    pub fn record(
        &mut self,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        time: impl Into<Option<i64>>,
    ) {
        self.record_by(0, key, value, time);
    }

    /// Hands the operator a record that comes by an input of this number.
    pub fn record_by(
        &mut self,
        input: u8,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        time: impl Into<Option<i64>>,
    ) {
        let (key, value) = (key.as_ref(), value.as_ref().to_vec());
        let record = Waiting { value, time: time.into().unwrap_or(NO_TIME), input };
        match self.waiting.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push(record),
            None => self.waiting.push((key.to_vec(), vec![record])),
        }
        if self.waiting.iter().map(|group| group.1.len()).sum::<usize>() >= self.most {
            self.flush();
        }
    }

    /// Raises the watermark, and fires the timers that it reaches.
    pub fn watermark(&mut self, watermark: i64) {
        self.flush();
        self.watermark = self.watermark.max(watermark);
        self.fire(TimeDomain::EventTime, self.watermark);
    }

    /// Sets the clock, and fires the timers that it reaches.
    pub fn processing_time(&mut self, time: i64) {
        self.flush();
        self.processing_time = time;
        self.fire(TimeDomain::ProcessingTime, time);
    }

    /// The output records since the last call of this.
    pub fn take(&mut self) -> Vec<OutputRecord> {
        self.flush();
        std::mem::take(&mut self.outputs)
    }

    /// The values of the output records since they were last taken.
    pub fn take_values(&mut self) -> Vec<String> {
        self.take().into_iter().map(|output| output.value).collect()
    }

    /// Why records were rejected, since the last call of this.
    pub fn take_rejected(&mut self) -> Vec<String> {
        self.flush();
        std::mem::take(&mut self.rejected)
    }

    /// The state of a key.
    pub fn state(&mut self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.flush();
        self.states.get(key.as_ref()).cloned()
    }

    /// The timers of a key, by rising time.
    pub fn timers(&mut self, key: impl AsRef<[u8]>) -> Vec<Timer> {
        self.flush();
        self.timers.get(key.as_ref()).into_iter().flatten().copied().collect()
    }

    /// Calls the operator with the records that wait.
    fn flush(&mut self) {
        if self.waiting.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.waiting);
        let (mut times, mut inputs) = (Vec::new(), Vec::new());
        let (mut values, mut record_ends) = (Column::default(), Vec::new());
        for record in waiting.iter().flat_map(|group| &group.1) {
            values.push(&record.value);
            times.push(record.time);
            inputs.push(record.input);
        }
        for group in &waiting {
            let before = record_ends.last().copied().unwrap_or(0);
            record_ends.push(before + group.1.len() as u32);
        }
        let keys: Column = waiting.iter().map(|group| &group.0).collect();
        let records = Batch { values, keys: None, timestamps: Some(times) };
        let fired = Timers { timers: Vec::new(), ends: vec![0; keys.len()] };
        self.call(keys, records, record_ends, Some(inputs), fired);
    }

    /// Fires the timers up to `time`, and those that are set thereby.
    fn fire(&mut self, domain: TimeDomain, time: i64) {
        loop {
            let (mut keys, mut fired) = (Column::default(), Timers::default());
            for (key, timers) in &mut self.timers {
                let due = |timer: &Timer| timer.domain == domain && timer.time <= time;
                let all: Vec<Timer> = timers.iter().copied().filter(due).collect();
                if !all.is_empty() {
                    timers.retain(|timer| !due(timer));
                    keys.push(key);
                    fired.timers.extend(all);
                    fired.ends.push(fired.timers.len() as u32);
                }
            }
            if keys.is_empty() {
                return;
            }
            let record_ends = vec![0; keys.len()];
            self.call(keys, Batch::default(), record_ends, None, fired);
        }
    }

    fn call(
        &mut self,
        keys: Column,
        records: Batch,
        record_ends: Vec<u32>,
        inputs: Option<Vec<u8>>,
        fired: Timers,
    ) {
        let states: Vec<_> = keys.iter().map(|key| self.states.get(key)).collect();
        let groups = Groups {
            present: Some(states.iter().map(Option::is_some).collect()),
            states: states.iter().map(|state| state.map_or(&[][..], Vec::as_slice)).collect(),
            keys,
            records,
            record_ends,
            inputs,
            fired,
            watermark: self.watermark,
            processing_time: self.processing_time,
        };
        let outcome = self.runner.run(&groups);
        self.commit(&groups, &outcome);
    }

    fn commit(&mut self, groups: &Groups, outcome: &Outcome) {
        let mut output = 0;
        for (group, key) in groups.keys.iter().enumerate() {
            match outcome.changes[group] {
                StateChange::Unchanged => {}
                StateChange::Replaced => {
                    self.states.insert(key.to_vec(), outcome.states.get(group).to_vec());
                }
                StateChange::Cleared => drop(self.states.remove(key)),
            }
            let timers = self.timers.entry(key.to_vec()).or_default();
            timers.extend(outcome.set.get(group));
            timers.retain(|timer| !outcome.cancelled.get(group).contains(timer));
            let usual = usual_time(groups, group);
            while output < outcome.ends[group] as usize {
                let records = &outcome.records;
                let key = records.keys.as_ref().map_or(key, |keys| keys.get(output));
                let time = records.timestamps.as_ref().map_or(usual, |times| times[output]);
                self.outputs.push(OutputRecord {
                    key: text(key),
                    value: text(records.values.get(output)),
                    bytes: records.values.get(output).to_vec(),
                    timestamp: Some(time).filter(|&time| time != NO_TIME),
                    outlet: outcome.outlets.as_ref().map_or(0, |outlets| outlets[output]),
                });
                output += 1;
            }
        }
        self.rejected.extend(outcome.rejected.iter().map(|rejected| rejected.reason.clone()));
    }
}

/// What the contract says of output records without a time.
fn usual_time(groups: &Groups, group: usize) -> i64 {
    let times = groups.records.timestamps.as_deref().unwrap_or_default();
    let records = crate::keyed::range(&groups.record_ends, group);
    let records = times.get(records).unwrap_or_default().iter().copied();
    let fired = groups.fired.get(group).iter().map(|timer| timer.time);
    records.chain(fired).max().unwrap_or(NO_TIME)
}

//! Lines of text, and JSON values a line, as records.

use std::time::Instant;

use overspill_protocol::{Batch, Column, ColumnBuilder};

use super::line_reader::{Filled, LineReader};
use super::pacer::{Pacer, Turn};
use super::{Backlog, Source, SourceError, Sourced, Unreadable};
use crate::pipeline::definition::{Input, SourceDefinition};
use crate::pipeline::envelope::DueTimes;
use crate::pipeline::json_field::JsonFields;
use crate::pipeline::run_clock::{RunClock, StopSignal};

/// A batch of long lines ends here, however few they are.
const BATCH_BYTES: usize = 16 << 20;

/// Reads a record a line.
pub(super) struct LineSource {
    reader: LineReader,
    pacer: Pacer,
    /// How the lines are read as JSON; absent for plain text.
    json: Option<JsonFields>,
    /// The mean size of the lines so far, so that a batch is allocated once.
    mean: usize,
}

impl LineSource {
    pub(super) fn open(
        definition: &SourceDefinition,
        input: &Input,
        repeat: u64,
        json: Option<JsonFields>,
        clock: RunClock,
    ) -> Result<Self, SourceError> {
        let reader = LineReader::open(input, repeat)?;
        Ok(Self { reader, pacer: Pacer::new(definition, u64::MAX, clock), json, mean: 128 })
    }

    /// Reads up to as many records as it is the turn of.
    fn read(&mut self, turn: &Turn, stop: &StopSignal) -> Result<Sourced, SourceError> {
        let mut records = Records::with_capacity(turn.records, self.mean, self.json.as_ref());
        let mut first = None;
        let mut ended = false;
        while !ended {
            self.reader.lines(|line, value| {
                records.push(line, value);
                !records.is_full(turn.records)
            });
            if !records.is_empty() {
                first.get_or_insert_with(|| self.pacer.clock.now());
            }
            if records.is_full(turn.records) {
                break;
            }
            // The first record at hand starts the clock of the batch.
            let until =
                first.map(|first| self.pacer.clock.instant(first) + self.pacer.batch.linger);
            if until.is_some_and(|until| until <= Instant::now()) {
                break;
            }
            match self.reader.fill(stop, until)? {
                Filled::More => {}
                Filled::TimedOut | Filled::Stopped => break,
                Filled::Ended => ended = true,
            }
        }
        self.pacer.made(records.values.len());
        if ended {
            self.pacer.ended();
        }
        let due = turn.due(records.values.len(), first.unwrap_or_default());
        if let Some(mean) = records.values.bytes().checked_div(records.values.len()) {
            self.mean = mean;
        }
        Ok(records.finish(due))
    }
}

impl Source for LineSource {
    fn next(&mut self, stop: &StopSignal) -> Result<Option<Sourced>, SourceError> {
        loop {
            let Some(turn) = self.pacer.turn(stop) else { return Ok(None) };
            let sourced = self.read(&turn, stop)?;
            if !sourced.batch.is_empty() || !sourced.rejected.is_empty() {
                return Ok(Some(sourced));
            }
        }
    }

    fn backlog(&self) -> Backlog {
        self.pacer.backlog()
    }
}

/// The records of a batch in the making.
struct Records<'j> {
    values: ColumnBuilder,
    keys: Option<ColumnBuilder>,
    times: Option<Vec<i64>>,
    rejected: Vec<Unreadable>,
    json: Option<&'j JsonFields>,
}

impl<'j> Records<'j> {
    fn with_capacity(records: usize, mean: usize, json: Option<&'j JsonFields>) -> Self {
        // A fifth more than the mean: most batches then fit without growing.
        let bytes = (records * (mean + mean / 5)).min(BATCH_BYTES);
        Self {
            values: ColumnBuilder::with_capacity(records, bytes),
            keys: json.filter(|json| json.key.is_some()).map(|_| ColumnBuilder::default()),
            times: json.filter(|json| json.time.is_some()).map(|_| Vec::new()),
            rejected: Vec::new(),
            json,
        }
    }

    fn is_empty(&self) -> bool {
        self.values.is_empty() && self.rejected.is_empty()
    }

    /// Whether there is enough for one batch, or for one go of the dead letters.
    fn is_full(&self, records: usize) -> bool {
        self.values.len() >= records
            || self.values.bytes() >= BATCH_BYTES
            || self.rejected.len() >= records
    }

    fn push(&mut self, line: u64, value: &[u8]) {
        if let Some(json) = self.json {
            // A blank line holds no value, which NDJSON allows.
            if value.trim_ascii().is_empty() {
                return;
            }
            match json.read(value) {
                Ok(found) => {
                    if let (Some(keys), Some(key)) = (&mut self.keys, &found.key) {
                        keys.push(key);
                    }
                    if let (Some(times), Some(time)) = (&mut self.times, found.time) {
                        times.push(time);
                    }
                }
                Err(reason) => {
                    self.rejected.push(Unreadable { line, reason, value: value.to_vec() });
                    return;
                }
            }
        }
        self.values.push(value);
    }

    fn finish(self, due: DueTimes) -> Sourced {
        let keys: Option<Column> = self.keys.map(ColumnBuilder::finish);
        let batch = Batch::new(self.values.finish(), keys, self.times.map(Into::into))
            .expect("every record has got its key and its time");
        Sourced { batch, due, rejected: self.rejected }
    }
}

#[cfg(test)]
mod tests;

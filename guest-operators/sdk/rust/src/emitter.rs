//! Where an operator puts its output.

use std::fmt;

use crate::overrides::Overrides;
use crate::{Column, Outlet};

/// Takes the output of an operator, straight into the columns of the emission.
///
/// An output record has the key and the event time of the record that made it, unless they are
/// set.
#[derive(Debug)]
pub struct Emitter {
    /// The values' bytes: those up to `used` count, those behind it are room to write in.
    data: Vec<u8>,
    used: usize,
    /// The values' ends: as many count as there are `records`.
    ends: Vec<u32>,
    records: usize,
    pub(crate) keys: Overrides<Column>,
    pub(crate) timestamps: Overrides<Vec<i64>>,
    /// The outlets of the records up to the last one that went to a side output.
    outlets: Vec<u8>,
}

/// One output record, for [`Emitter::emit_with`].
#[derive(Clone, Copy, Debug)]
pub struct Output<'a> {
    value: &'a [u8],
    key: Option<&'a [u8]>,
    timestamp: Option<i64>,
}

impl<'a> Output<'a> {
    /// An output record that inherits key and event time.
    pub fn new(value: &'a [u8]) -> Self {
        Self { value, key: None, timestamp: None }
    }

    /// Sets its key.
    pub fn key(self, key: &'a [u8]) -> Self {
        Self { key: Some(key), ..self }
    }

    /// Sets its event time, in milliseconds since 1970-01-01T00:00:00 UTC.
    pub fn timestamp(self, timestamp: i64) -> Self {
        Self { timestamp: Some(timestamp), ..self }
    }
}

/// A place in the output where many bytes and values can be written at once, for operators that
/// count nanoseconds. See [`Emitter::window`] and [`Emitter::commit`].
#[derive(Debug)]
pub struct Window<'a> {
    /// Room for the values' bytes, with undefined content. Values lie in it end to end from its
    /// start.
    pub data: &'a mut [u8],
    /// Room for where each value ends, as [`Self::base`] plus its end in `data`; undefined
    /// content.
    pub ends: &'a mut [u32],
    /// What the start of `data` counts as.
    pub base: u32,
}

impl Emitter {
    /// An emitter with room for about so many bytes and records.
    pub(crate) fn with_capacity(bytes: usize, records: usize) -> Self {
        Self {
            data: vec![0; bytes],
            used: 0,
            ends: vec![0; records],
            records: 0,
            keys: Overrides::default(),
            timestamps: Overrides::default(),
            outlets: Vec::new(),
        }
    }

    /// Emits a record with the key and the event time of the input record.
    #[inline(always)]
    pub fn emit(&mut self, value: &[u8]) {
        self.room(value.len(), 1);
        self.data[self.used..][..value.len()].copy_from_slice(value);
        self.used += value.len();
        self.end_value();
    }

    /// Emits a record with a key or an event time of its own.
    ///
    /// Where only some output records of a batch set an event time and its input records have
    /// none, the others get `i64::MIN`, since a column has an entry for every record.
    pub fn emit_with(&mut self, output: Output<'_>) {
        if let Some(key) = output.key {
            self.keys.entries.push(key);
            self.keys.note(self.records);
        }
        if let Some(timestamp) = output.timestamp {
            self.timestamps.entries.push(timestamp);
            self.timestamps.note(self.records);
        }
        self.emit(output.value);
    }

    /// Writes a value in place, piece by piece, through [`fmt::Write`] or [`std::io::Write`].
    /// Nothing is emitted before [`ValueWriter::finish`].
    #[inline]
    pub fn value_writer(&mut self) -> ValueWriter<'_> {
        ValueWriter { written: 0, emitter: self }
    }

    /// Room to write up to `values` values of up to `bytes` bytes altogether, at once. Nothing is
    /// emitted before [`Emitter::commit`].
    #[inline]
    pub fn window(&mut self, bytes: usize, values: usize) -> Window<'_> {
        self.room(bytes, values);
        Window {
            base: self.used as u32,
            data: &mut self.data[self.used..],
            ends: &mut self.ends[self.records..],
        }
    }

    /// Emits what has been written to the last [`Emitter::window`]: the first `values` of its
    /// ends, and of its data the `bytes` that they cover.
    ///
    /// # Panics
    /// When there was no room for so many, or the last value doesn't end at `bytes`. That the
    /// ends rise is checked only in debug builds: the host checks it again.
    #[inline]
    pub fn commit(&mut self, values: usize, bytes: usize) {
        let ends = &self.ends[self.records..][..values];
        assert!(bytes <= self.data.len() - self.used, "more bytes than the window has");
        let last = ends.last().map_or(self.used, |&end| end as usize);
        assert!(last == self.used + bytes, "the last value doesn't end where the bytes do");
        debug_assert!(ends.is_sorted(), "the ends don't rise");
        self.used += bytes;
        self.records += values;
    }

    /// How many records have been emitted in this batch.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.records
    }

    /// Takes back every record from `records` on.
    pub(crate) fn roll_back(&mut self, records: usize) {
        self.records = records;
        self.used = records.checked_sub(1).map_or(0, |last| self.ends[last] as usize);
        let keys = self.keys.truncate(records);
        let column = &mut self.keys.entries;
        column.ends.truncate(keys);
        column.data.truncate(column.ends.last().map_or(0, |&end| end as usize));
        let timestamps = self.timestamps.truncate(records);
        self.timestamps.entries.truncate(timestamps);
        self.outlets.truncate(records);
    }

    /// The next record goes to an outlet.
    pub(crate) fn note_outlet(&mut self, outlet: Outlet) {
        if outlet != Outlet::MAIN {
            self.outlets.resize(self.records, Outlet::MAIN.number());
            self.outlets.push(outlet.number());
        }
    }

    /// The outlet of each record, if any went to a side output.
    pub(crate) fn take_outlets(&mut self) -> Option<Vec<u8>> {
        let mut outlets = std::mem::take(&mut self.outlets);
        if outlets.is_empty() {
            return None;
        }
        outlets.resize(self.records, Outlet::MAIN.number());
        Some(outlets)
    }

    /// The key of each record, if any has set one. `ends` has an entry for each place that records
    /// inherit from, and `inherited` gives the key of one.
    pub(crate) fn full_keys<'k>(
        &mut self,
        ends: &[u32],
        inherited: impl Fn(usize) -> &'k [u8],
    ) -> Option<Column> {
        if self.keys.is_empty() {
            return None;
        }
        if self.keys.covers(self.records) {
            return Some(std::mem::take(&mut self.keys.entries));
        }
        let set = &self.keys.entries;
        let mut full = Column::default();
        self.keys.fill(
            ends,
            &mut full,
            |full, place| full.push(inherited(place)),
            |full, entry| full.push(set.get(entry)),
        );
        Some(full)
    }

    /// The event time of each record, if any has set one; as [`Self::full_keys`].
    pub(crate) fn full_timestamps(
        &mut self,
        ends: &[u32],
        inherited: impl Fn(usize) -> i64,
    ) -> Option<Vec<i64>> {
        if self.timestamps.is_empty() { None } else { Some(self.all_timestamps(ends, inherited)) }
    }

    /// The event time of each record.
    pub(crate) fn all_timestamps(
        &mut self,
        ends: &[u32],
        inherited: impl Fn(usize) -> i64,
    ) -> Vec<i64> {
        if self.timestamps.covers(self.records) {
            return std::mem::take(&mut self.timestamps.entries);
        }
        if self.timestamps.is_empty() {
            let mut full = vec![0; self.records];
            let mut begin = 0;
            for (place, &end) in ends.iter().enumerate() {
                full[begin..end as usize].fill(inherited(place));
                begin = end as usize;
            }
            return full;
        }
        let set = &self.timestamps.entries;
        let mut full = Vec::with_capacity(self.records);
        self.timestamps.fill(
            ends,
            &mut full,
            |full, place| full.push(inherited(place)),
            |full, entry| full.push(set[entry]),
        );
        full
    }

    /// The values emitted.
    pub(crate) fn take_values(&mut self) -> Column {
        let (mut ends, mut data) = (std::mem::take(&mut self.ends), std::mem::take(&mut self.data));
        ends.truncate(self.records);
        data.truncate(self.used);
        Column { ends, data }
    }

    #[inline]
    fn room(&mut self, bytes: usize, values: usize) {
        if self.data.len() - self.used < bytes {
            grow(&mut self.data, self.used, bytes);
        }
        if self.ends.len() - self.records < values {
            grow(&mut self.ends, self.records, values);
        }
    }

    #[inline]
    fn end_value(&mut self) {
        self.ends[self.records] = self.used as u32;
        self.records += 1;
    }
}

/// Makes room for `more` entries behind the first `used` ones, and at least doubles it, so that
/// growing stays rare.
#[cold]
#[inline(never)]
fn grow<T: Copy + Default>(entries: &mut Vec<T>, used: usize, more: usize) {
    let needed = used + more;
    assert!(u32::try_from(needed).is_ok(), "the output of a batch holds at most 4 GiB");
    entries.resize(needed.max(2 * entries.len()).max(64), T::default());
}

/// A value that is being written. See [`Emitter::value_writer`].
#[derive(Debug)]
pub struct ValueWriter<'a> {
    emitter: &'a mut Emitter,
    written: usize,
}

impl ValueWriter<'_> {
    /// Adds bytes to the value.
    #[inline]
    pub fn push(&mut self, bytes: &[u8]) {
        self.emitter.room(self.written + bytes.len(), 1);
        let at = self.emitter.used + self.written;
        self.emitter.data[at..][..bytes.len()].copy_from_slice(bytes);
        self.written += bytes.len();
    }

    /// Emits the value, with the key and the event time of the input record.
    #[inline]
    pub fn finish(self) {
        self.emitter.room(self.written, 1);
        self.emitter.used += self.written;
        self.emitter.end_value();
    }

    /// Emits the value with a key of its own.
    pub fn finish_with_key(self, key: &[u8]) {
        self.emitter.keys.entries.push(key);
        self.emitter.keys.note(self.emitter.records);
        self.finish();
    }
}

impl fmt::Write for ValueWriter<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push(text.as_bytes());
        Ok(())
    }
}

impl std::io::Write for ValueWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.push(bytes);
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.push(bytes);
        Ok(())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

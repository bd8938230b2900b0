//! Builds columns, batches and emissions from what an untrusted guest may hand over, and compares
//! with a plain model of the contract: one row a record.

#![no_main]

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use overspill_protocol::{Batch, Cause, Column, Emission, NO_EVENT_TIME, Rejection};

#[derive(Arbitrary, Debug)]
struct RawColumn {
    ends: Vec<u8>,
    /// Now and then an end that is far off.
    wild: Option<(u8, u32)>,
    data: Vec<u8>,
    /// Makes the last end right, so that the rest is tested more often.
    honest: bool,
}

impl RawColumn {
    fn ends(&self) -> Vec<u32> {
        let mut ends: Vec<u32> = self.ends.iter().map(|&end| end.into()).collect();
        if let Some((index, end)) = self.wild {
            if let Some(place) = ends.get_mut(usize::from(index)) {
                *place = end;
            }
        }
        if self.honest {
            ends.sort_unstable();
            ends.iter_mut().for_each(|end| *end = (*end).min(self.data.len() as u32));
            if let Some(last) = ends.last_mut() {
                *last = self.data.len() as u32;
            }
        }
        ends
    }

    fn model(&self) -> Option<Vec<Vec<u8>>> {
        let (mut begin, mut rows) = (0, Vec::new());
        for end in self.ends() {
            rows.push(self.data.get(begin..end as usize)?.to_vec());
            begin = end as usize;
        }
        (begin == self.data.len()).then_some(rows)
    }

    fn column(&self) -> Option<Column> {
        let column = Column::from_ends(&self.ends(), self.data.clone()).ok();
        let model = self.model();
        assert_eq!(column.is_some(), model.is_some());
        if let (Some(column), Some(model)) = (&column, model) {
            assert!(column.iter().eq(model.iter().map(Vec::as_slice)));
            assert_eq!(*column.ends(), *self.ends());
        }
        column
    }
}

#[derive(Arbitrary, Debug)]
struct RawBatch {
    values: RawColumn,
    keys: Option<RawColumn>,
    timestamps: Option<Vec<i64>>,
}

impl RawBatch {
    fn batch(&self) -> Option<Batch> {
        let values = self.values.column()?;
        let keys = match &self.keys {
            Some(keys) => Some(keys.column()?),
            None => None,
        };
        let fits = keys.as_ref().is_none_or(|keys| keys.len() == values.len())
            && self.timestamps.as_ref().is_none_or(|times| times.len() == values.len());
        let batch = Batch::new(values, keys, self.timestamps.clone().map(Into::into)).ok();
        assert_eq!(batch.is_some(), fits);
        batch
    }
}

/// A record as the contract means it.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    value: Vec<u8>,
    key: Option<Vec<u8>>,
    time: Option<i64>,
}

fn rows(batch: &Batch) -> Vec<Row> {
    (0..batch.len())
        .map(|i| Row {
            value: batch.values().value(i).to_vec(),
            key: batch.keys().map(|keys| keys.value(i).to_vec()),
            time: batch.timestamps().map(|times| times[i]),
        })
        .collect()
}

/// With what absence means put in its place.
fn explicit(mut rows: Vec<Row>) -> Vec<Row> {
    for row in &mut rows {
        row.key.get_or_insert_default();
        row.time.get_or_insert(NO_EVENT_TIME);
    }
    rows
}

#[derive(Arbitrary, Debug)]
struct Input {
    input: RawBatch,
    output: RawBatch,
    other: RawBatch,
    ends: Vec<u8>,
    honest: bool,
    rejected: Vec<u8>,
    cut: u8,
}

fuzz_target!(|raw: Input| {
    let Some(input) = raw.input.batch() else { return };
    let Some(output) = raw.output.batch() else { return };

    let cut = usize::from(raw.cut) % (output.len() + 1);
    let parts = [output.slice(0..cut), output.slice(cut..output.len())];
    assert_eq!(Batch::concat(&parts).as_ref().map(rows), Ok(rows(&output)));
    if let Some(other) = raw.other.batch() {
        let both = Batch::concat(&[output.clone(), other.clone()]).unwrap();
        let expected = [rows(&output), rows(&other)].concat();
        assert_eq!(explicit(rows(&both)), explicit(expected));
    }

    let mut ends: Vec<u32> = raw.ends.iter().map(|&end| end.into()).collect();
    if raw.honest {
        ends.resize(input.len(), 0);
        ends.sort_unstable();
        ends.iter_mut().for_each(|end| *end = (*end).min(output.len() as u32));
        if let Some(last) = ends.last_mut() {
            *last = output.len() as u32;
        }
    }
    let rejected: Vec<_> = raw
        .rejected
        .iter()
        .map(|&index| Rejection {
            index: index.into(),
            cause: Cause::Operator,
            reason: index.to_string(),
        })
        .collect();
    let outputs_of = |i: usize| ends[i].checked_sub(if i == 0 { 0 } else { ends[i - 1] });
    let sound = ends.len() == input.len()
        && (0..ends.len()).all(|i| outputs_of(i).is_some())
        && ends.last().copied().unwrap_or(0) as usize == output.len()
        && rejected.is_sorted_by_key(|r| r.index)
        && rejected.windows(2).all(|pair| pair[0].index != pair[1].index)
        && rejected
            .iter()
            .all(|r| (r.index as usize) < ends.len() && outputs_of(r.index as usize) == Some(0));
    let emission = Emission::new(input.len(), output.clone(), ends.clone(), rejected.clone());
    assert_eq!(emission.is_ok(), sound, "{emission:?}");
    let Ok(emission) = emission else { return };

    // Inheritance, record by record.
    let (from, mut expected) = (rows(&input), Vec::new());
    for (i, origin) in from.iter().enumerate() {
        for mut row in rows(&output.slice(emission.outputs_of(i))) {
            row.key = row.key.or_else(|| origin.key.clone());
            row.time = row.time.or(origin.time);
            expected.push(row);
        }
    }
    let resolved = emission.clone().resolve(&input).unwrap();
    assert_eq!(rows(resolved.records()), expected);

    // Cut in two and joined again, with every way to join.
    let cut = usize::from(raw.cut) % (input.len() + 1);
    let halves = [0..cut, cut..input.len()];
    let inputs = halves.clone().map(|half| input.slice(half));
    let [first, second] = halves.map(|half| emission.slice(half));
    assert_eq!(first.rejected().len() + second.rejected().len(), rejected.len());
    let joined = Emission::concat(vec![first.clone(), second.clone()]).unwrap();
    assert_eq!(joined.ends(), emission.ends());
    assert_eq!(joined.rejected(), emission.rejected());
    assert_eq!(rows(joined.records()), rows(emission.records()));
    // One half sets what the other inherits.
    let set = first.resolve(&inputs[0]).unwrap();
    let mixed = vec![(set.clone(), &inputs[0]), (second.clone(), &inputs[1])];
    let joined = Emission::concat_with(mixed).unwrap().into_records(&input).unwrap();
    assert_eq!(explicit(rows(&joined)), explicit(expected.clone()));
    let both = vec![set, second.resolve(&inputs[1]).unwrap()];
    let joined = Emission::concat_resolved(both).unwrap();
    assert_eq!(explicit(rows(joined.records())), explicit(expected));
});

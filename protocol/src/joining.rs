//! Emissions of the parts of a batch, joined; and what their records inherit from the input.
//!
//! An absent column in an emission means that each output record inherits it from the input
//! record that made it. So two parts of a batch may differ in which columns they have: an operator
//! may set the event times of one half and leave those of the other. Such parts can be joined only
//! once each has been *resolved* against its own input, because after that an absent column means
//! the same in all of them: there is nothing.

use crate::{Batch, BatchError, Emission, EmissionError, Rejection};

impl Emission {
    /// The emission with the columns filled in that its records inherit from `input`, the batch
    /// that it was made from. What is absent after that, the input doesn't have either.
    ///
    /// Costs nothing when there is nothing to inherit; when each input record made one output
    /// record, the input's columns are shared.
    ///
    /// # Errors
    /// When `input` has another number of records than the emission answers, or the inherited
    /// keys are longer than offsets can address.
    pub fn resolve(mut self, input: &Batch) -> Result<Self, EmissionError> {
        if input.len() != self.inputs() {
            return Err(EmissionError::Inputs { found: self.inputs(), inputs: input.len() });
        }
        let keys = input.keys().filter(|_| self.records.keys().is_none());
        let timestamps = input.timestamps().filter(|_| self.records.timestamps().is_none());
        if keys.is_none() && timestamps.is_none() {
            return Ok(self);
        }
        let (keys, timestamps) = if self.is_one_to_one() {
            (keys.cloned(), timestamps.cloned())
        } else {
            let keys = keys.map(|keys| keys.repeat(self.output_counts())).transpose();
            let timestamps = timestamps.map(|timestamps| {
                let mut inherited = Vec::with_capacity(self.records.len());
                for (&timestamp, &end) in timestamps.iter().zip(self.ends.iter()) {
                    inherited.resize(end as usize, timestamp);
                }
                inherited.into()
            });
            (keys.map_err(|source| BatchError::Column { column: "keys", source })?, timestamps)
        };
        self.records = self.records.with(keys, timestamps);
        Ok(self)
    }

    /// The output records, with the columns filled in that they inherit from `input`: see
    /// [`Emission::resolve`].
    ///
    /// # Errors
    /// As [`Emission::resolve`].
    pub fn into_records(self, input: &Batch) -> Result<Batch, EmissionError> {
        Ok(self.resolve(input)?.records)
    }

    fn is_one_to_one(&self) -> bool {
        self.records.len() == self.inputs()
            && self.ends.iter().zip(1..).all(|(&end, one)| end == one)
    }

    fn output_counts(&self) -> impl Iterator<Item = usize> + Clone {
        (0..self.inputs()).map(|index| self.outputs_of(index).len())
    }

    /// The emission of a batch that was processed in parts: `parts` in the order of their input.
    /// Parts without output records may lack any column.
    ///
    /// # Errors
    /// [`EmissionError::Mixed`] when one part's records inherit what another's set: use
    /// [`Emission::concat_with`] or [`Emission::concat_resolved`]. Otherwise when the parts
    /// together are more than can be counted or addressed.
    pub fn concat(parts: Vec<Self>) -> Result<Self, EmissionError> {
        let records = || parts.iter().map(|part| &part.records).filter(|part| !part.is_empty());
        for (column, is_mixed) in [
            ("keys", is_mixed(records().map(|records| records.keys().is_some()))),
            ("timestamps", is_mixed(records().map(|records| records.timestamps().is_some()))),
        ] {
            if is_mixed {
                return Err(EmissionError::Mixed { column });
            }
        }
        Self::concat_resolved(parts)
    }

    /// As [`Emission::concat`], with the batch that each part was made from. A column that some
    /// parts set and others inherit is filled in from their inputs; one that all inherit stays
    /// absent, to be inherited later from the whole input.
    ///
    /// # Errors
    /// As [`Emission::concat_resolved`] and [`Emission::resolve`].
    pub fn concat_with(parts: Vec<(Self, &Batch)>) -> Result<Self, EmissionError> {
        let records = || parts.iter().map(|(part, _)| &part.records).filter(|r| !r.is_empty());
        let keys = is_mixed(records().map(|records| records.keys().is_some()));
        let timestamps = is_mixed(records().map(|records| records.timestamps().is_some()));
        let resolved = parts.into_iter().map(|(part, input)| {
            if input.len() != part.inputs() {
                return Err(EmissionError::Inputs { found: part.inputs(), inputs: input.len() });
            }
            let inherited = Batch::new(
                input.values().clone(),
                input.keys().filter(|_| keys).cloned(),
                input.timestamps().filter(|_| timestamps).cloned(),
            );
            part.resolve(&inherited?)
        });
        Self::concat_resolved(resolved.collect::<Result<_, _>>()?)
    }

    /// As [`Emission::concat`], for parts of which each has gone through [`Emission::resolve`]:
    /// an absent column then means that there is nothing to inherit, and it is filled as
    /// [`Batch::concat`] does.
    ///
    /// # Errors
    /// When the parts together are more than can be counted or addressed.
    pub fn concat_resolved(mut parts: Vec<Self>) -> Result<Self, EmissionError> {
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        let count = |of, records: u64| match u32::try_from(records) {
            Ok(_) => Ok(records as usize),
            Err(_) => Err(EmissionError::TooMany { of, records }),
        };
        let inputs = count("input", parts.iter().map(|part| part.inputs() as u64).sum())?;
        count("output", parts.iter().map(|part| part.records.len() as u64).sum())?;
        let mut ends = Vec::with_capacity(inputs);
        let mut rejected = Vec::with_capacity(parts.iter().map(|part| part.rejected.len()).sum());
        let mut records = Vec::with_capacity(parts.len());
        let mut outputs = 0_u32;
        for part in parts {
            let base = ends.len() as u32;
            // Wrapping, so that the loop can be vectorised: all have been counted above.
            ends.extend(part.ends.iter().map(|end| end.wrapping_add(outputs)));
            outputs += part.records.len() as u32;
            rejected.extend(
                part.rejected
                    .into_iter()
                    .map(|rejection| Rejection { index: base + rejection.index, ..rejection }),
            );
            records.push(part.records);
        }
        Ok(Self { records: Batch::concat(&records)?, ends: ends.into(), rejected })
    }
}

/// Whether some are and some aren't.
fn is_mixed(mut are: impl Iterator<Item = bool>) -> bool {
    are.next().is_some_and(|first| are.any(|other| other != first))
}

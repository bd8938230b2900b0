//! What the embedded pipeline gives the burst core to distribute, and what comes back: batches and
//! emissions, shipments of keys, records by key and their partials.

use std::ops::Range;

use overspill_protocol::keyed::{KeyedError, KeyedRecords, Partials, Shipment, ShipmentAnswer};
use overspill_protocol::{Batch, Emission, EmissionError, Request, Response};

use super::held::RemoteLane;
use crate::burst::{Answer, Work};
use crate::state::KeyGroup;

/// What can be done in one place.
#[derive(Clone, Debug)]
pub(super) struct OperatorWork {
    /// The records, and what goes with them.
    pub(super) request: Request,
    /// What a guest's clock shows, in milliseconds since 1970-01-01T00:00:00 UTC. Taken once,
    /// when the records reach the operator, so that a second attempt gives the same answer.
    pub(super) processing_time: i64,
    /// Its keys, a bit each by their hash, where keys may overtake each other; else all bits.
    pub(super) key_mask: u128,
}

impl OperatorWork {
    /// Work that keeps its place among all other.
    pub(super) fn new(request: Request, processing_time: i64) -> Self {
        Self { request, processing_time, key_mask: u128::MAX }
    }

    /// Records that keep their place among those of their keys.
    pub(super) fn per_key(batch: Batch, processing_time: i64) -> Self {
        let bit = |key: &[u8]| 1_u128 << KeyGroup::of(key, 128).number();
        let key_mask = match batch.keys() {
            Some(keys) => keys.iter().map(bit).fold(0, |mask, bit| mask | bit),
            None => bit(b""),
        };
        Self { request: Request::FlatMap(batch), processing_time, key_mask }
    }

    /// How many input records it has, however it can be cut.
    pub(super) fn input_records(&self) -> usize {
        match &self.request {
            Request::FlatMap(batch) => batch.len(),
            Request::Keyed(shipment) => shipment.records(),
            Request::Accumulate(groups) => groups.records().len(),
        }
    }

    /// The answer that a lane gives to the first part of it: a remote one, or one of this process.
    pub(super) fn answered(
        &self,
        response: Response,
        remote: Option<RemoteLane>,
    ) -> OperatorAnswer {
        let part = match (response, &self.request) {
            (Response::FlatMap(emission), Request::FlatMap(batch)) => {
                let input = batch.slice(0..emission.inputs());
                Part::FlatMap { emission, input }
            }
            (Response::Keyed(answer), Request::Keyed(shipment)) => {
                let records = match answer.len() == shipment.len() {
                    true => shipment.records(),
                    false => shipment.slice(0..answer.len()).records(),
                };
                Part::Keyed { answer, records }
            }
            (Response::Accumulate(partials), Request::Accumulate(groups)) => {
                let ends = groups.record_ends();
                let records = partials.len().checked_sub(1).map_or(0, |last| ends[last] as usize);
                Part::Accumulate { partials, records }
            }
            (response, _) => unreachable!("targets check the kind of an answer: {response:?}"),
        };
        OperatorAnswer(vec![(part, remote)])
    }
}

/// The unit that can be cut is a record, or where records belong to keys, a key.
impl Work for OperatorWork {
    type Answer = OperatorAnswer;

    fn records(&self) -> usize {
        match &self.request {
            Request::FlatMap(batch) => batch.len(),
            Request::Keyed(shipment) => shipment.len(),
            Request::Accumulate(groups) => groups.len(),
        }
    }

    fn key_mask(&self) -> u128 {
        self.key_mask
    }

    fn weight(&self) -> usize {
        match &self.request {
            // A key that is there only for its timers is some work too.
            Request::Keyed(shipment) => shipment.records().max(shipment.len()),
            _ => self.input_records(),
        }
    }

    fn bytes(&self) -> usize {
        match &self.request {
            Request::FlatMap(batch) => batch.bytes(),
            Request::Keyed(shipment) => shipment.bytes(),
            Request::Accumulate(groups) => groups.bytes(),
        }
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        let request = match &self.request {
            Request::FlatMap(batch) => Request::FlatMap(batch.slice(from..to)),
            Request::Keyed(shipment) => Request::Keyed(shipment.slice(from..to)),
            Request::Accumulate(groups) => Request::Accumulate(groups.slice(from..to)),
        };
        Self { request, processing_time: self.processing_time, key_mask: self.key_mask }
    }
}

/// The answer for some work, in the parts in which it came: each for the next units of the work,
/// with the remote lane that it came from. They are joined once, when all is there.
#[derive(Clone, Debug)]
pub(super) struct OperatorAnswer(Vec<(Part, Option<RemoteLane>)>);

#[derive(Clone, Debug)]
enum Part {
    /// An emission stands beside its records: two emissions of which only one left its times or
    /// keys to be inherited can be joined only with their inputs at hand.
    FlatMap { emission: Emission, input: Batch },
    /// For keys with so many records.
    Keyed { answer: ShipmentAnswer, records: usize },
    /// For groups with so many records.
    Accumulate { partials: Partials, records: usize },
}

impl Part {
    fn units(&self) -> usize {
        match self {
            Self::FlatMap { emission, .. } => emission.inputs(),
            Self::Keyed { answer, .. } => answer.len(),
            Self::Accumulate { partials, .. } => partials.len(),
        }
    }

    fn records(&self) -> usize {
        match self {
            Self::FlatMap { emission, .. } => emission.inputs(),
            Self::Keyed { records, .. } | Self::Accumulate { records, .. } => *records,
        }
    }
}

impl OperatorAnswer {
    /// How many of the input records remote lanes answered.
    pub(super) fn offloaded(&self) -> usize {
        let remote = self.0.iter().filter(|(_, remote)| remote.is_some());
        remote.map(|(part, _)| part.records()).sum()
    }

    /// The units that remote lanes answered, with the lane of each run of them.
    pub(super) fn remote_units(&self) -> Vec<(Range<usize>, RemoteLane)> {
        let mut begin = 0;
        let unit = |(part, remote): &(Part, Option<RemoteLane>)| {
            let range = begin..begin + part.units();
            begin = range.end;
            remote.map(|lane| (range, lane))
        };
        self.0.iter().filter_map(unit).collect()
    }

    /// The emission for all records of a batch.
    ///
    /// # Errors
    /// When all output together is more than a batch can hold.
    pub(super) fn into_emission(self) -> Result<Emission, EmissionError> {
        let (mut emissions, mut inputs) = (Vec::new(), Vec::new());
        for (part, _) in self.0 {
            if let Part::FlatMap { emission, input } = part {
                emissions.push(emission);
                inputs.push(input);
            }
        }
        if emissions.len() == 1 {
            // As it nearly always is: nothing to join.
            return Ok(emissions.remove(0));
        }
        Emission::concat_with(emissions.into_iter().zip(&inputs).collect())
    }

    /// The answer for all keys of a shipment.
    ///
    /// # Errors
    /// When all output together is more than a batch can hold.
    pub(super) fn into_keyed(self, asked: &Shipment) -> Result<ShipmentAnswer, KeyedError> {
        let mut answers: Vec<ShipmentAnswer> = self
            .0
            .into_iter()
            .filter_map(|(part, _)| match part {
                Part::Keyed { answer, .. } => Some(answer),
                _ => None,
            })
            .collect();
        if answers.len() == 1 {
            return Ok(answers.remove(0));
        }
        ShipmentAnswer::concat(answers, asked.keys())
    }

    /// The partials for all groups.
    ///
    /// # Errors
    /// When they are more than a column can hold.
    pub(super) fn into_partials(self, asked: &KeyedRecords) -> Result<Partials, KeyedError> {
        let mut all: Vec<Partials> = self
            .0
            .into_iter()
            .filter_map(|(part, _)| match part {
                Part::Accumulate { partials, .. } => Some(partials),
                _ => None,
            })
            .collect();
        if all.len() == 1 {
            return Ok(all.remove(0));
        }
        Partials::concat(all, asked)
    }
}

impl Answer for OperatorAnswer {
    fn records(&self) -> usize {
        self.0.iter().map(|(part, _)| part.units()).sum()
    }

    fn join(parts: Vec<Self>) -> Result<Self, String> {
        Ok(Self(parts.into_iter().flat_map(|part| part.0).collect()))
    }
}

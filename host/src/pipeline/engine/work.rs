//! What the embedded pipeline gives the burst core to distribute: batches, and their emissions.

use overspill_protocol::{Batch, Emission, EmissionError};

use crate::burst::{Answer, Work};

/// A run of records for one operator.
#[derive(Clone, Debug)]
pub(super) struct OperatorWork {
    /// The records.
    pub(super) batch: Batch,
    /// What a guest's clock shows, in milliseconds since 1970-01-01T00:00:00 UTC. Taken once,
    /// when the batch reaches the operator, so that a second attempt gives the same answer.
    pub(super) processing_time: i64,
}

impl Work for OperatorWork {
    type Answer = OperatorAnswer;

    fn records(&self) -> usize {
        self.batch.len()
    }

    fn bytes(&self) -> usize {
        self.batch.bytes()
    }

    fn slice(&self, from: usize, to: usize) -> Self {
        Self { batch: self.batch.slice(from..to), processing_time: self.processing_time }
    }
}

/// The emission for a run of records, in the parts in which it came.
///
/// Each part stands beside its records: two emissions of which only one left its times or keys
/// to be inherited can be joined only with their inputs at hand. They are joined once, when the
/// whole batch is there.
#[derive(Clone, Debug)]
pub(super) struct OperatorAnswer(Vec<Part>);

#[derive(Clone, Debug)]
struct Part {
    emission: Emission,
    input: Batch,
    remote: bool,
}

impl OperatorAnswer {
    /// The answer for the first `emission.inputs()` records of `batch`, by a `remote` lane or a
    /// local one.
    pub(super) fn new(emission: Emission, batch: &Batch, remote: bool) -> Self {
        let input = batch.slice(0..emission.inputs());
        Self(vec![Part { emission, input, remote }])
    }

    /// How many of the input records remote lanes answered.
    pub(super) fn offloaded(&self) -> usize {
        let remote = self.0.iter().filter(|part| part.remote);
        remote.map(|part| part.emission.inputs()).sum()
    }

    /// The emission for all records.
    ///
    /// # Errors
    /// When all output together is more than a batch can hold.
    pub(super) fn into_emission(mut self) -> Result<Emission, EmissionError> {
        if self.0.len() == 1 {
            // As it nearly always is: nothing to join.
            return Ok(self.0.remove(0).emission);
        }
        let (parts, inputs): (Vec<_>, Vec<_>) =
            self.0.into_iter().map(|part| (part.emission, part.input)).unzip();
        Emission::concat_with(parts.into_iter().zip(&inputs).collect())
    }
}

impl Answer for OperatorAnswer {
    fn records(&self) -> usize {
        self.0.iter().map(|part| part.emission.inputs()).sum()
    }

    fn join(parts: Vec<Self>) -> Result<Self, String> {
        Ok(Self(parts.into_iter().flat_map(|part| part.0).collect()))
    }
}

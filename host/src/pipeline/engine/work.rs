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
pub(super) struct OperatorAnswer(Vec<(Emission, Batch)>);

impl OperatorAnswer {
    /// The answer for the first `emission.inputs()` records of `batch`.
    pub(super) fn new(emission: Emission, batch: &Batch) -> Self {
        let input = batch.slice(0..emission.inputs());
        Self(vec![(emission, input)])
    }

    /// The emission for all records.
    ///
    /// # Errors
    /// When all output together is more than a batch can hold.
    pub(super) fn into_emission(self) -> Result<Emission, EmissionError> {
        let (parts, inputs): (Vec<_>, Vec<_>) = self.0.into_iter().unzip();
        match <[Emission; 1]>::try_from(parts) {
            // As it nearly always is: nothing to join.
            Ok([whole]) => Ok(whole),
            Err(parts) => Emission::concat_with(parts.into_iter().zip(&inputs).collect()),
        }
    }
}

impl Answer for OperatorAnswer {
    fn records(&self) -> usize {
        self.0.iter().map(|(emission, _)| emission.inputs()).sum()
    }

    fn join(parts: Vec<Self>) -> Result<Self, String> {
        Ok(Self(parts.into_iter().flat_map(|part| part.0).collect()))
    }
}

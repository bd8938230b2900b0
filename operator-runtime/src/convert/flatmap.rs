//! `flat-map`.

use overspill_protocol::{Emission, EmissionError};
use wasmtime::component::{ComponentType, Lift, TypedFunc};

use super::{LiftedBatch, LiftedRejection, RawBatch, rejections};

/// `flat-map`.
pub(crate) type FlatMapFunc = TypedFunc<(RawBatch<'static>,), (RawEmission,)>;

/// An emission as a guest hands it over: nothing of it is checked yet.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawEmission {
    records: LiftedBatch,
    ends: Vec<u32>,
    rejected: Vec<LiftedRejection>,
}

impl RawEmission {
    /// The emission, if it keeps the contract for a batch of `inputs` records.
    pub(crate) fn check(self, inputs: usize) -> Result<Emission, EmissionError> {
        Emission::new(inputs, self.records.check()?, self.ends, rejections(self.rejected))
    }
}

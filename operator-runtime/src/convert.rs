//! Columns to guest and back, and the shapes of the contract as wasmtime reads them.
//!
//! Nothing is copied on the way in but into the guest's memory, and once on the way out.

use std::borrow::Cow;

use overspill_protocol::{Batch, Cause, Column, Emission, EmissionError, Rejection};
use wasmtime::component::{ComponentType, Lift, Lower, TypedFunc};

/// `describe`.
pub(crate) type DescribeFunc = TypedFunc<(), (RawDescription,)>;
/// `configure`.
pub(crate) type ConfigureFunc =
    TypedFunc<(&'static [(String, String)],), (Result<(), RawSettingError>,)>;
/// `flat-map`.
pub(crate) type FlatMapFunc = TypedFunc<(RawBatch<'static>,), (RawEmission,)>;

#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct RawColumn<'a> {
    ends: &'a [u32],
    data: &'a [u8],
}

/// A batch as it is lowered into a guest.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct RawBatch<'a> {
    values: RawColumn<'a>,
    keys: Option<RawColumn<'a>>,
    timestamps: Option<&'a [i64]>,
}

/// A batch whose ends are at hand without Arrow's leading offset.
pub(crate) struct Borrowed<'a> {
    batch: &'a Batch,
    value_ends: Cow<'a, [u32]>,
    key_ends: Option<Cow<'a, [u32]>>,
}

impl<'a> Borrowed<'a> {
    pub(crate) fn new(batch: &'a Batch) -> Self {
        Self { batch, value_ends: batch.values().ends(), key_ends: batch.keys().map(Column::ends) }
    }

    pub(crate) fn raw(&self) -> RawBatch<'_> {
        RawBatch {
            values: RawColumn { ends: &self.value_ends, data: self.batch.values().data() },
            keys: self
                .batch
                .keys()
                .zip(self.key_ends.as_ref())
                .map(|(keys, ends)| RawColumn { ends, data: keys.data() }),
            timestamps: self.batch.timestamps().map(|timestamps| &timestamps[..]),
        }
    }
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct LiftedColumn {
    ends: Vec<u32>,
    data: Vec<u8>,
}

impl LiftedColumn {
    fn check(self, column: &'static str) -> Result<Column, EmissionError> {
        Column::from_ends(&self.ends, self.data).map_err(|source| {
            EmissionError::Records(overspill_protocol::BatchError::Column { column, source })
        })
    }
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct LiftedBatch {
    values: LiftedColumn,
    keys: Option<LiftedColumn>,
    timestamps: Option<Vec<i64>>,
}

#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct LiftedRejection {
    index: u32,
    reason: String,
}

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
        let LiftedBatch { values, keys, timestamps } = self.records;
        let records = Batch::new(
            values.check("values")?,
            keys.map(|keys| keys.check("keys")).transpose()?,
            timestamps.map(Into::into),
        )?;
        let rejected = self
            .rejected
            .into_iter()
            .map(|LiftedRejection { index, reason }| Rejection {
                index,
                cause: Cause::Operator,
                reason,
            })
            .collect();
        Emission::new(inputs, records, self.ends, rejected)
    }
}

/// What `configure` returns when it refuses.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawSettingError {
    pub(crate) name: String,
    pub(crate) reason: String,
}

/// `kind`.
#[derive(ComponentType, Lift, Clone, Copy, Debug, PartialEq, Eq)]
#[expect(dead_code, reason = "wasmtime makes the variants out of guest memory")]
#[component(enum)]
#[repr(u8)]
pub(crate) enum RawKind {
    #[component(name = "flatmap")]
    Flatmap,
    #[component(name = "keyed")]
    Keyed,
    #[component(name = "aggregate")]
    Aggregate,
}

/// `setting`.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawSetting {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) default: Option<String>,
}

/// `description`.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct RawDescription {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) kind: RawKind,
    pub(crate) contract: String,
    #[component(name = "state-schema")]
    pub(crate) state_schema: u32,
    pub(crate) settings: Vec<RawSetting>,
    pub(crate) inputs: Vec<String>,
    #[component(name = "side-outputs")]
    pub(crate) side_outputs: Vec<String>,
}

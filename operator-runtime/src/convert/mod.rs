//! Columns to guest and back, and the shapes of the contract as wasmtime reads them.
//!
//! Nothing is copied on the way in but into the guest's memory, and once on the way out. A file
//! an interface; what several of them use is here.

mod aggregate;
mod describe;
mod flatmap;
mod keyed;

use std::borrow::Cow;

use overspill_protocol::{Batch, BatchError, Cause, Column, Rejection};
use wasmtime::component::{ComponentType, Lift, Lower};

pub(crate) use self::aggregate::{AccumulateFunc, BorrowedGroups, FinishFunc, MergeFunc};
pub(crate) use self::describe::{
    ConfigureFunc, DescribeFunc, RawDescription, RawKind, RawSettingError,
};
pub(crate) use self::flatmap::FlatMapFunc;
pub(crate) use self::keyed::{BorrowedKeyed, MigrateFunc, ProcessFunc};

/// A column as it is lowered into a guest.
#[derive(Clone, Copy, ComponentType, Lower)]
#[component(record)]
pub(crate) struct RawColumn<'a> {
    ends: &'a [u32],
    data: &'a [u8],
}

/// A column whose ends are at hand without Arrow's leading offset.
pub(crate) struct BorrowedColumn<'a> {
    ends: Cow<'a, [u32]>,
    data: &'a [u8],
}

impl<'a> BorrowedColumn<'a> {
    pub(crate) fn new(column: &'a Column) -> Self {
        Self { ends: column.ends(), data: column.data() }
    }

    pub(crate) fn raw(&self) -> RawColumn<'_> {
        RawColumn { ends: &self.ends, data: self.data }
    }
}

/// A batch as it is lowered into a guest.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct RawBatch<'a> {
    values: RawColumn<'a>,
    keys: Option<RawColumn<'a>>,
    timestamps: Option<&'a [i64]>,
}

/// A batch whose columns are at hand as a guest gets them.
pub(crate) struct Borrowed<'a> {
    values: BorrowedColumn<'a>,
    keys: Option<BorrowedColumn<'a>>,
    timestamps: Option<&'a [i64]>,
}

impl<'a> Borrowed<'a> {
    pub(crate) fn new(batch: &'a Batch) -> Self {
        Self {
            values: BorrowedColumn::new(batch.values()),
            keys: batch.keys().map(BorrowedColumn::new),
            timestamps: batch.timestamps().map(|timestamps| &timestamps[..]),
        }
    }

    pub(crate) fn raw(&self) -> RawBatch<'_> {
        RawBatch {
            values: self.values.raw(),
            keys: self.keys.as_ref().map(BorrowedColumn::raw),
            timestamps: self.timestamps,
        }
    }
}

/// A column as a guest hands it over.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct LiftedColumn {
    ends: Vec<u32>,
    data: Vec<u8>,
}

impl LiftedColumn {
    /// The column; `name` is its name in the contract.
    pub(crate) fn check(self, name: &'static str) -> Result<Column, BatchError> {
        Column::from_ends(&self.ends, self.data)
            .map_err(|source| BatchError::Column { column: name, source })
    }
}

/// A batch as a guest hands it over.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct LiftedBatch {
    values: LiftedColumn,
    keys: Option<LiftedColumn>,
    timestamps: Option<Vec<i64>>,
}

impl LiftedBatch {
    fn check(self) -> Result<Batch, BatchError> {
        let Self { values, keys, timestamps } = self;
        Batch::new(
            values.check("values")?,
            keys.map(|keys| keys.check("keys")).transpose()?,
            timestamps.map(Into::into),
        )
    }
}

/// A rejection as a guest hands it over.
#[derive(ComponentType, Lift)]
#[component(record)]
pub(crate) struct LiftedRejection {
    index: u32,
    reason: String,
}

fn rejections(lifted: Vec<LiftedRejection>) -> Vec<Rejection> {
    let rejection =
        |LiftedRejection { index, reason }| Rejection { index, cause: Cause::Operator, reason };
    lifted.into_iter().map(rejection).collect()
}
